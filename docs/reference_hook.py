"""What the site needs when it is built: tables of names and of measured figures, and helps that Markdown leaves as they are."""

from __future__ import annotations

import csv
import inspect
import re
from pathlib import Path
from typing import Any

import click

from whichone.cli import whichone
from whichone.cli.folder_commands import listed

DATA = Path(__file__).parent / "data"
FOLDED = re.compile(r"^\[(?P<title>[^\]]+)\]\((?:\.\./)*data/(?P<file>[\w-]+\.csv)\)$", re.M)
KINDS = ("measures", "retrievers", "readers", "exports")


def on_startup(**_: Any) -> None:
    prepare(whichone, "whichone")


def prepare(command: click.Command, name: str) -> None:
    """Call a command by the word that one types, and turn the examples of its help into a block of code."""
    command.name = name
    words = inspect.cleandoc(command.help or "")
    command.help = re.sub(r"\x08\n(.+?)(?=\n\s*\n|\Z)", code_block, words, flags=re.S)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for word in command.list_commands(context):
            if child := command.get_command(context, word):
                prepare(child, word)


def code_block(found: re.Match[str]) -> str:
    return "\n".join(["```text", *map(str.strip, found[1].splitlines()), "```"])


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Each table of `data` that a line is a link to, folded; the page of names followed by a table for each kind of them."""
    if page.file.src_uri == "reference/names.md":
        return "\n".join([markdown, *map(table, KINDS)])
    return FOLDED.sub(folded, markdown)


def folded(found: re.Match[str]) -> str:
    with (DATA / found["file"]).open(encoding="utf-8", newline="") as file:
        header, *rows = ([cell.replace("|", "\\|") for cell in row] for row in csv.reader(file))
    kinds = [
        "---:" if n and all(re.match(r"[-−+.\d]|$", row[n]) for row in rows) else "---"
        for n in range(len(header))
    ]
    lines = [f"| {' | '.join(cells)} |" for cells in (header, kinds, *rows)]
    opened = f'<details markdown="1"><summary>{found["title"]}</summary>'
    return "\n".join([opened, "", *lines, "", "</details>"])


def table(kind: str) -> str:
    rows = listed(kind)
    lines = [f"## {kind.capitalize()}", "", f"| {' | '.join(rows[0])} |"]
    lines.append(f"| {' | '.join('---' for _ in rows[0])} |")
    for row in rows:
        named = {**row, "name": f"`{row['name']}`"}
        lines.append(f"| {' | '.join(named.values())} |")
    return "\n".join([*lines, ""])
