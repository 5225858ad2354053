"""The passages of AmbigDocs files: one id for each, whatever the file says of them."""

from __future__ import annotations

from whichone.papers.ambigdocs.records import Document
from whichone.records import Passage, page_id, passage_id

_MOST = 2**31 - 1


class PassageBook:
    """Gives every different passage an id, `source:title#n`, where n is its pid if that is a number.

    A passage without a numeric pid, or with the pid of another text of its page, gets the first
    free number of its page; the latter are listed in `conflicts`.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.conflicts: list[str] = []
        self._pages: dict[str, dict[int, Passage]] = {}
        self._known: dict[tuple[str, str, str | None], str] = {}

    def add(self, document: Document) -> str:
        """The id of this document's passage."""
        key = (document.title, document.text, document.pid)
        if key not in self._known:
            self._known[key] = self._register(document)
        return self._known[key]

    def _register(self, document: Document) -> str:
        page = page_id(self.source, document.title)
        numbers = self._pages.setdefault(page, {})
        n = _number(document.pid)
        if n is None or n in numbers:
            if n is not None:
                self.conflicts.append(f"{document.title}: pid {document.pid} has two texts")
            n = next(free for free in range(_MOST) if free not in numbers)
        place = passage_id(page, n)
        numbers[n] = Passage(
            id=place, page=page, title=document.title, text=document.text, source_id=document.pid
        )
        return place

    def passages(self) -> list[Passage]:
        return [passage for numbers in self._pages.values() for passage in numbers.values()]


def _number(pid: str | None) -> int | None:
    if pid is None or not pid.isascii() or not pid.isdigit():
        return None
    return int(pid) if int(pid) <= _MOST else None
