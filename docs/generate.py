"""Write the generated pages of the reference: every command's help, every name one can type, the Python calls.

python docs/generate.py            # writes docs/reference/
python docs/generate.py --check    # exits 1 when a page is stale
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import whichone as whichone_package
from whichone import protocols, records
from whichone.cli import whichone
from whichone.cli.folder_commands import listed

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


def python_page() -> str:
    """What one can import: signatures and docstrings of the public names, records and protocols."""
    lines = ["# Python", "", "Signatures and docstrings; this page is generated.", ""]
    for name in sorted(whichone_package.__all__):
        thing = getattr(whichone_package, name)
        if not isinstance(thing, str):
            lines += described(f"whichone.{name}", thing)
    lines += ["## Protocols", "", "What a retriever and a reader of your own must have.", ""]
    for thing in (protocols.Retriever, protocols.Reader):
        lines += described(f"whichone.protocols.{thing.__name__}", thing, level=3)
    lines += [
        "## Records",
        "",
        "Frozen, compared by value; `None` and empty fields may be left out.",
        "",
    ]
    for thing in vars(records).values():
        if isinstance(thing, type) and records.Record in thing.__mro__[1:]:
            lines += record_lines(thing)
    return "\n".join(lines)


def described(name: str, thing: Any, level: int = 2) -> list[str]:
    """A function, or a class with its public methods and properties."""
    lines = [f"{'#' * level} {name}", ""]
    if not isinstance(thing, type):
        return [
            *lines,
            f"```text\n{name}{signature(thing)}\n```",
            "",
            inspect.getdoc(thing) or "",
            "",
        ]
    lines += [inspect.getdoc(thing) or "", ""]
    for key, member in members(thing).items():
        member = getattr(member, "__func__", getattr(member, "func", member))
        if key.startswith("_") or not (callable(member) or isinstance(member, property)):
            continue
        call = "" if isinstance(member, property) or key in cached(thing) else signature(member)
        told = (inspect.getdoc(member) or "").partition("\n\n")[0].replace("\n", " ")
        lines.append(f"- `{key}{call}`" + (f": {told}" if told else ""))
    return [*lines, ""]


def members(thing: type) -> dict[str, Any]:
    """Of the class and of those that it is made from, in the order of the source."""
    return {k: m for one in reversed(thing.__mro__[:-1]) for k, m in vars(one).items()}


def cached(thing: type) -> set[str]:
    return {k for k, m in members(thing).items() if isinstance(m, functools.cached_property)}


def signature(thing: Any) -> str:
    """As it is written, without self and without quotes around types."""
    found = inspect.signature(thing)
    kept = [p for name, p in found.parameters.items() if name not in ("self", "cls")]
    return str(found.replace(parameters=kept)).replace("'", "")


def record_lines(record: type) -> list[str]:
    told = inspect.cleandoc(vars(record).get("__doc__") or "")
    told = told.partition("\n\n")[0].replace("\n", " ")
    fields = ", ".join(f"`{name}`" for name in record.__struct_fields__)  # type: ignore[attr-defined]
    return [f"- **{record.__name__}** ({fields})" + (f": {told}" if told else "")]


def pages() -> dict[str, str]:
    lines = ["# Commands", "", "What `--help` prints; this page is generated.", ""]
    for name, text in commands(whichone, ("whichone",)):
        lines += [f"## {name}", "", "```text", text.rstrip(), "```", ""]
    names = ["# Names", "", "Everything one can type by name; this page is generated.", ""]
    for kind in ("measures", "retrievers", "readers", "exports"):
        rows = listed(kind)
        if rows:
            named = [{**row, "name": f"`{row['name']}`"} for row in rows]
            names += [f"## {kind.capitalize()}", "", f"| {' | '.join(rows[0])} |"]
            names += [f"| {' | '.join('---' for _ in rows[0])} |"]
            names += [f"| {' | '.join(row.values())} |" for row in named]
            names.append("")
    return {
        "commands.md": "\n".join(lines),
        "names.md": "\n".join(names),
        "python.md": python_page(),
    }


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
