"""The card of a built benchmark: what it contains, how it was made, what it must be cited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whichone.benchmarks.benchmark import licence_text
from whichone.benchmarks.relations import Account
from whichone.files.folder import Folder
from whichone.papers.amber.collection import Collection
from whichone.papers.amber.rules import Rules


def card(
    collection: Collection,
    rules: Rules,
    statistics: Mapping[str, Any],
    shares: Sequence[Mapping[str, Any]],
    account: Account,
    kb: Folder,
) -> str:
    """Markdown: a summary, the paper's Tables 4 and 3, what was removed, sources and licence."""
    what = collection.description or "Names borne by several entities"
    made_by = "paper" if rules.name == "paper" else "released program"
    lines = [
        f"# {collection.name}",
        "",
        f"{what}: AmbER sets (Chen and others, ACL 2021), made by the rules of the {made_by}.",
        "",
        "| | |",
        "| --- | ---: |",
        *(f"| {_words(key)} | {_number(value)} |" for key, value in statistics.items()),
        "",
        "| type | property | share of tuples |",
        "| --- | --- | ---: |",
        *(
            f"| {row['type']} | {row['label']} ({row['property']}) | {100 * row['share']:.2f} % |"
            for row in shares
        ),
        "",
        "| filter | kept | removed | |",
        "| --- | ---: | ---: | --- |",
        *(f"| {s.name} | {s.kept} | {s.removed} | {s.unit} |" for s in account.steps),
        "",
        *(f"- {remark}" for remark in account.remarks),
        "",
        "Sources: "
        + (", ".join(str(s.get("file")) for s in kb.manifest.sources) or "not recorded"),
        "",
        licence_text(kb.manifest.sources),
    ]
    return "\n".join(lines) + "\n"


def _words(key: str) -> str:
    return key.replace("_", " ")


def _number(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}"
