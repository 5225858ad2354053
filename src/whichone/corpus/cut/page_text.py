"""The running text of a KILT-shaped page: what of its paragraphs a passage is cut from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from whichone.knowledge.tables import BULLET, SECTION

_MARK = re.compile(r"(?:-|\d+\.)[ ]?")


def text_paragraphs(
    paragraphs: Sequence[str], *, keep_lists: bool = False, keep_headings: bool = False
) -> Iterator[str]:
    """The paragraphs that are text; the title is not, list items and headings on demand."""
    for paragraph in paragraphs[1:]:
        line = paragraph.strip()
        if line.startswith(BULLET):
            line = _MARK.sub("", line.removeprefix(BULLET), count=1) if keep_lists else ""
        elif line.startswith(SECTION):
            line = line.removeprefix(SECTION).replace(".:", ": ") if keep_headings else ""
        if line:
            yield line
