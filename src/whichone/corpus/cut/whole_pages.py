"""A page as one passage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whichone.corpus.cut.page_text import text_paragraphs


def whole_page(paragraphs: Sequence[str], *, keep_lists: bool = True) -> Iterator[str]:
    """All of a page's text; headings too, as nothing is cut away by a length."""
    text = "\n".join(text_paragraphs(paragraphs, keep_lists=keep_lists, keep_headings=True))
    if text:
        yield text
