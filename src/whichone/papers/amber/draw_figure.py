"""Figure 3 on a terminal: the head in red, tails in blue, what was dropped in grey."""

from __future__ import annotations

from whichone.papers.amber.figure import DrawnBearer, Figure


def print_figure(figure: Figure) -> None:
    """A tree of bearers, facts and queries on stdout."""
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(figure.name, style="bold"))
    for bearer in figure.bearers:
        branch = tree.add(Text(_heading(bearer), style=_style(bearer)))
        for fact in bearer.facts:
            line = f"{fact.label} ({fact.property}): {', '.join(fact.values)}"
            if fact.dropped:
                branch.add(Text(f"{line}  [{fact.dropped}]", style="bright_black"))
                continue
            leaf = branch.add(Text(line))
            for query in fact.queries:
                leaf.add(Text(query, style="italic"))
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(console.width, 140))
    console.print(tree)
    console.print(Text(figure.verdict))


def _heading(bearer: DrawnBearer) -> str:
    parts = [f"{bearer.label} ({bearer.entity})"]
    if bearer.role:
        parts.append(bearer.role)
    if bearer.popularity is not None:
        parts.append(f"popularity {bearer.popularity:,.0f}")
    if bearer.dropped:
        parts.append(f"[{bearer.dropped}]")
    return ", ".join(parts)


def _style(bearer: DrawnBearer) -> str:
    if bearer.dropped:
        return "bright_black"
    return {"head": "bold red", "tail": "bold blue"}.get(bearer.role or "", "bold")
