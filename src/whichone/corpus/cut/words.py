"""DPR's passages: a page's words cut into disjoint stretches of a hundred."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whichone.corpus.cut.page_text import text_paragraphs

SIZE = 100


def word_passages(
    paragraphs: Sequence[str], *, size: int = SIZE, keep_lists: bool = False
) -> Iterator[str]:
    """Words are what blanks separate; the last stretch is as short as it is."""
    words: list[str] = []
    for line in text_paragraphs(paragraphs, keep_lists=keep_lists):
        words += line.split()
    for start in range(0, len(words), size):
        yield " ".join(words[start : start + size])
