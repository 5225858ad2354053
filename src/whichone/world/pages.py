"""The Markdown in which a world's pages are written: `# Title`, headings, list items, categories."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from whichone.errors import BadInput
from whichone.world.markup import plain_text
from whichone.world.model import Block

_HEADING = re.compile(r"(#{2,5}) +(\S.*)")
_CATEGORY = re.compile(r"Category: *(\S.*)")


class PageText(msgspec.Struct, frozen=True, kw_only=True):
    """One page as written in a Markdown file, and where."""

    title: str
    blocks: tuple[Block, ...]
    categories: tuple[str, ...]
    file: str
    line: int

    def words(self) -> list[str]:
        """The words of the page as AmbER counts them: title and headings included."""
        texts = [self.title, *(plain_text(block.text)[0] for block in self.blocks)]
        return " ".join(texts).split()

    def running_words(self) -> int:
        """How many words a reader reads: title and headings left out."""
        texts = (plain_text(block.text)[0] for block in self.blocks if block.kind != "heading")
        return len(" ".join(texts).split())


def read_pages(path: Path) -> list[PageText]:
    """All pages of one Markdown file."""
    pages: list[PageText] = []
    lines = path.read_text(encoding="utf-8").splitlines()
    starts = [n for n, line in enumerate(lines) if line.startswith("# ")]
    stray = next((n for n, line in enumerate(lines[: starts[0] if starts else None]) if line), None)
    if stray is not None:
        raise BadInput("text before the first `# Title`", file=path, line=stray + 1)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        blocks, categories = _blocks(lines[start + 1 : end], path, start + 2)
        pages.append(
            PageText(
                title=lines[start][2:].strip(),
                blocks=tuple(blocks),
                categories=tuple(categories),
                file=str(path),
                line=start + 1,
            )
        )
    return pages


def _blocks(lines: list[str], path: Path, first: int) -> tuple[list[Block], list[str]]:
    blocks: list[Block] = []
    categories: list[str] = []
    paragraph: list[str] = []

    def close() -> None:
        if paragraph:
            blocks.append(Block("paragraph", " ".join(paragraph)))
            paragraph.clear()

    for number, raw in enumerate(lines, first):
        line = raw.strip()
        if heading := _HEADING.fullmatch(line):
            close()
            blocks.append(Block("heading", heading[2], len(heading[1])))
        elif category := _CATEGORY.fullmatch(line):
            close()
            categories.append(category[1])
        elif line.startswith("- "):
            close()
            blocks.append(Block("bullet", line[2:].strip()))
        elif raw.startswith("  ") and line and not paragraph and _last_is_bullet(blocks):
            blocks[-1] = Block("bullet", f"{blocks[-1].text} {line}")
        elif line.startswith("#"):
            raise BadInput("a heading needs `## ` to `##### `", file=path, line=number)
        elif line:
            paragraph.append(line)
        else:
            close()
    close()
    return blocks, categories


def _last_is_bullet(blocks: list[Block]) -> bool:
    return bool(blocks) and blocks[-1].kind == "bullet"
