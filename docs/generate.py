"""Write the generated pages of the reference: every command's help, and every name one can type.

python docs/generate.py            # writes docs/reference/
python docs/generate.py --check    # exits 1 when a page is stale
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from whichone.catalogue_of_names import listed
from whichone.cli import whichone

HERE = Path(__file__).resolve().parent / "reference"


def commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each command's full name and help text, as a terminal of 100 columns shows it."""
    context = click.Context(
        command, info_name=" ".join(path), max_content_width=100, terminal_width=100
    )
    yield " ".join(path), command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                yield from commands(child, (*path, name))


def pages() -> dict[str, str]:
    lines = ["# Commands", "", "What `--help` prints; this page is generated.", ""]
    for name, text in commands(whichone, ("whichone",)):
        lines += [f"## {name}", "", "```text", text.rstrip(), "```", ""]
    names = ["# Names", "", "Everything one can type by name; this page is generated.", ""]
    for kind in ("measures", "retrievers", "readers", "exports"):
        rows = listed(kind)
        if rows:
            names += [f"## {kind.capitalize()}", "", "| name | what |", "| --- | --- |"]
            names += [f"| `{row['name']}` | {row['what']} |" for row in rows]
            names.append("")
    return {"commands.md": "\n".join(lines), "names.md": "\n".join(names)}


def main() -> int:
    made = pages()
    stale = [
        n
        for n, text in made.items()
        if not (HERE / n).exists() or (HERE / n).read_text("utf-8") != text
    ]
    if "--check" in sys.argv:
        print("\n".join(f"stale: docs/reference/{name}" for name in stale))
        return int(bool(stale))
    HERE.mkdir(exist_ok=True)
    for name, text in made.items():
        (HERE / name).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
