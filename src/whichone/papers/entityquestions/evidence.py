"""Which passages of a subject's page contain an answer; each page is cut and tokenised once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from whichone.corpus.cut import Cut, cut_page
from whichone.knowledge.engines import PageRow, look_on_pages
from whichone.papers.entityquestions.fact import EntityFact
from whichone.text.normalisers import decomposed, is_sublist, tokens

if TYPE_CHECKING:
    from whichone.knowledge.engines import Tables


class _Asked(msgspec.Struct, frozen=True):
    key: str
    answers: tuple[str, ...]


class _Stated(msgspec.Struct, frozen=True):
    key: str
    passages: tuple[int, ...]


_ASKED = msgspec.msgpack.Decoder(list[_Asked])
_STATED = msgspec.msgpack.Decoder(list[_Stated])


def evidence(tables: Tables, facts: Sequence[EntityFact], cut: Cut) -> dict[str, tuple[int, ...]]:
    """By the facts' keys: the passages (from 0) of the subject's page that contain an answer."""
    seen = look_on_pages(tables.engine, tables.pages, "page", _asked(facts), _Look(cut))
    return {found.key: found.passages for stated in seen for found in _STATED.decode(stated)}


def _asked(facts: Sequence[EntityFact]) -> Iterator[tuple[str, bytes]]:
    by_page: dict[str, list[EntityFact]] = {}
    for fact in facts:
        by_page.setdefault(fact.page, []).append(fact)
    for page, own in by_page.items():
        yield page, msgspec.msgpack.encode([_Asked(fact.key, fact.answers()) for fact in own])


class _Look:
    """Looks for answers, token by token, on one page."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut

    def __call__(self, page: PageRow) -> bytes | None:
        wanted = [
            (asked.key, [own for answer in asked.answers if (own := tokens(decomposed(answer)))])
            for asked in _ASKED.decode(page.asked)
        ]
        seen: dict[str, list[int]] = {}
        for place, text in enumerate(cut_page(page.paragraphs or (), self._cut)):
            words = tokens(decomposed(text))
            present = set(words)
            for key, answers in wanted:
                if any(present.issuperset(a) and is_sublist(a, words) for a in answers):
                    seen.setdefault(key, []).append(place)
        if not seen:
            return None
        return msgspec.msgpack.encode([_Stated(key, tuple(at)) for key, at in seen.items()])
