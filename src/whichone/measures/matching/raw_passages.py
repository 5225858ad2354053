"""Passages of a DPR results file, decoded only where an answer may appear in them."""

from __future__ import annotations

from typing import cast

import msgspec

from whichone.measures.matchers import AnswerTokens, Passage, TokenAnswers, any_found
from whichone.measures.matching.needles import Lines, as_lines, hidden_lines, needle

_NO_TITLE = msgspec.Raw(b'""')

_decode_text = msgspec.json.Decoder(str).decode
_decode_title = msgspec.json.Decoder(str | None).decode


class RawPassage(msgspec.Struct):
    text: msgspec.Raw
    title: msgspec.Raw = _NO_TITLE
    has_answer: bool | int | None = None

    def passage(self) -> Passage:
        flag = None if self.has_answer is None else bool(self.has_answer)
        return Passage(self.decoded_title(), _decode_text(self.text), flag)

    def decoded_title(self) -> str:
        return cast("str | None", _decode_title(self.title)) or ""


class RawResult(msgspec.Struct):
    question: str
    answers: list[str]
    ctxs: list[RawPassage]
    relation: str | None = None


def ranks_with_answer(answers: TokenAnswers, passages: list[RawPassage]) -> list[int]:
    """Which passages (from 0) hold one of the answers, in order."""
    matcher = answers.matcher
    columns = [as_lines([passage.text for passage in passages])]
    if matcher.title_joint is not None:
        columns.append(as_lines([passage.title for passage in passages]))
    hits: set[int] = set()
    hidden = {rank for lines in columns if lines is not None for rank in hidden_lines(lines)}
    doubtful: dict[int, list[AnswerTokens]] = {}
    for answer in answers.answers:
        certain, possible = _search(answer, columns, len(passages))
        hits |= certain
        for rank in possible | hidden:
            doubtful.setdefault(rank, []).append(answer)
    for rank in doubtful.keys() - hits:
        title = passages[rank].decoded_title() if matcher.title_joint is not None else ""
        text = matcher.passage_text(title, _decode_text(passages[rank].text))
        if any_found(doubtful[rank], text):
            hits.add(rank)
    return sorted(hits)


def _search(
    answer: AnswerTokens, columns: list[Lines | None], passages: int
) -> tuple[set[int], set[int]]:
    """The passages that contain the answer, and those that must be looked at."""
    sought = needle(answer.text)
    certain: set[int] = set()
    possible: set[int] = set()
    for lines in columns:
        if sought is None or lines is None:
            return set(), set(range(passages))
        matches, perhaps = sought.found_in(lines)
        certain |= matches
        possible |= perhaps
    return certain, possible
