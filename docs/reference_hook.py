"""What the site's reference needs when it is built: the tables of names, and helps that Markdown leaves as they are."""

from __future__ import annotations

import inspect
import re
from typing import Any

import click

from whichone.cli import whichone
from whichone.cli.folder_commands import listed

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
    """The page of names followed by a table for each kind of them."""
    if page.file.src_uri != "reference/names.md":
        return markdown
    return "\n".join([markdown, *map(table, KINDS)])


def table(kind: str) -> str:
    rows = listed(kind)
    lines = [f"## {kind.capitalize()}", "", f"| {' | '.join(rows[0])} |"]
    lines.append(f"| {' | '.join('---' for _ in rows[0])} |")
    for row in rows:
        named = {**row, "name": f"`{row['name']}`"}
        lines.append(f"| {' | '.join(named.values())} |")
    return "\n".join([*lines, ""])
