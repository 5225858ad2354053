"""A page cut into passages of a hundred words, as the passages of `psgs_w100.tsv` are."""

from __future__ import annotations

from collections.abc import Sequence

from whichone.records import Passage, passage_id

WORDS = 100


def page_text(title: str, paragraphs: Sequence[str]) -> str:
    """The running text of KILT-shaped paragraphs: no title line, no headings, no list marks."""
    lines = []
    for number, paragraph in enumerate(paragraphs):
        line = paragraph.strip()
        if line.startswith("Section::::") or (number == 0 and line == title):
            continue
        lines.append(line.removeprefix("BULLET::::").lstrip("-*# "))
    return " ".join(line for line in lines if line)


def page_passages(
    page: str, title: str, paragraphs: Sequence[str], words: int = WORDS
) -> list[Passage]:
    """Stretches of `words` words without overlap; a page without text has none."""
    found = page_text(title, paragraphs).split()
    return [
        Passage(
            id=passage_id(page, n),
            page=page,
            title=title,
            text=" ".join(found[start : start + words]),
        )
        for n, start in enumerate(range(0, len(found), words))
    ]
