"""Which passages of a DPR results file hold an answer: every passage, every question, every core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput
from whichone.files.json_records import Part, decode_whole, parts
from whichone.files.lines import NOT_JSON
from whichone.files.pools import workers_in_order
from whichone.measures.matchers import Matcher, Passage, PreparedAnswers, TokenAnswers, find_matcher
from whichone.measures.matching.raw_passages import RawPassage, RawResult, ranks_with_answer


class StoredPassage(msgspec.Struct):
    text: str
    title: str | None = None
    has_answer: bool | int | None = None

    def passage(self) -> Passage:
        flag = None if self.has_answer is None else bool(self.has_answer)
        return Passage(self.title or "", self.text, flag)


class StoredResult(msgspec.Struct):
    """What is read of a result: DPR's `score` and `id` play no part in matching."""

    question: str
    answers: list[str]
    ctxs: list[StoredPassage]
    relation: str | None = None


class Labels(msgspec.Struct, frozen=True):
    """One question's passages: how many, and which of them (from 0) hold an answer."""

    question: str
    passages: int
    hits: tuple[int, ...]
    relation: str | None = None
    """Where the record itself says it; else its file is of one relation."""

    def hit_at(self, k: int) -> bool:
        return bool(self.hits) and self.hits[0] < k


def by_relation(files: Mapping[str, Sequence[Labels]]) -> dict[str, list[Labels]]:
    """Questions under the relation that their record names, else under the name of their file."""
    grouped: dict[str, list[Labels]] = {}
    for name, questions in files.items():
        for labels in questions:
            grouped.setdefault(labels.relation or name, []).append(labels)
    return grouped


def per_query_rows(files: Mapping[str, Sequence[Labels]]) -> list[dict[str, Any]]:
    """One row a question; `first_hit` and `hits` are ranks from 1."""
    return [
        {
            "relation": name,
            "index": index,
            "question": labels.question,
            "passages": labels.passages,
            "first_hit": labels.hits[0] + 1 if labels.hits else None,
            "hits": [rank + 1 for rank in labels.hits],
        }
        for name, questions in files.items()
        for index, labels in enumerate(questions)
    ]


class _Problem(msgspec.Struct, frozen=True):
    """Why a question cannot be scored; `at` counts questions within the part."""

    at: int
    question: str
    message: str
    hint: str | None


class _Labelled(msgspec.Struct, frozen=True):
    labels: list[Labels]
    problem: _Problem | None = None


class _Task(msgspec.Struct, frozen=True):
    part: Part
    matcher: str
    empty_answers: bool


def label_files(
    paths: Sequence[str | Path],
    matcher: str,
    *,
    empty_answers: bool = False,
    workers: int | None = None,
) -> Iterator[tuple[Path, list[Labels]]]:
    """Each file with the labels of its questions, in the order given.

    An answer without tokens would make every passage a hit: an error, unless `empty_answers`.
    """
    find_matcher(matcher)
    tasks = (_Task(p, matcher, empty_answers) for path in paths for p in parts(path))
    done = workers_in_order(_label_part, tasks, _size(paths), workers)
    current: list[_Labelled | None] = []
    remaining = [Path(path) for path in paths]
    for task, labelled in done:
        while str(remaining[0]) != task.part.path:
            yield remaining[0], _whole(remaining.pop(0), current, matcher, empty_answers)
            current = []
        current.append(labelled)
    for path in remaining:
        yield path, _whole(path, current, matcher, empty_answers)


def _size(paths: Iterable[str | Path]) -> int:
    return sum(Path(path).stat().st_size for path in paths if Path(path).exists())


def _whole(
    path: Path, pieces: list[_Labelled | None], matcher: str, empty_answers: bool
) -> list[Labels]:
    """The labels of a file from those of its parts; a part that was cut wrongly is None."""
    if any(piece is None for piece in pieces):
        results = decode_whole(path, list[StoredResult])
        pieces = [_label(results, find_matcher(matcher), empty_answers)]
    labels: list[Labels] = []
    for piece in pieces:
        assert piece is not None
        if piece.problem is not None:
            raise _bad_question(path, len(labels) + piece.problem.at, piece.problem)
        labels.extend(piece.labels)
    if not labels:
        raise BadInput("there is no question in the file", file=path)
    return labels


def _bad_question(path: Path, index: int, problem: _Problem) -> BadInput:
    return BadInput(
        f"question {index} (from 0), {problem.question!r}: {problem.message}",
        file=path,
        hint=problem.hint,
    )


_RESULTS = msgspec.json.Decoder(list[RawResult])


def _label_part(task: _Task) -> _Labelled | None:
    """None when the part is not an array of results, which a wrong cut or a damaged file gives."""
    try:
        results = _RESULTS.decode(task.part.array())
        return _label(results, find_matcher(task.matcher), task.empty_answers)
    except NOT_JSON:
        return None


def _label(
    results: Sequence[RawResult | StoredResult], matcher: Matcher, empty_answers: bool
) -> _Labelled:
    labels: list[Labels] = []
    for at, result in enumerate(results):
        try:
            if not empty_answers:
                refuse_empty_answers(matcher, result.answers)
            hits = _hits(result, matcher.prepare(result.answers))
        except BadInput as error:
            return _Labelled(labels, _Problem(at, result.question, error.message, error.hint))
        labels.append(Labels(result.question, len(result.ctxs), tuple(hits), result.relation))
    return _Labelled(labels)


def _hits(result: RawResult | StoredResult, answers: PreparedAnswers) -> list[int]:
    if isinstance(result, RawResult) and isinstance(answers, TokenAnswers):
        return ranks_with_answer(answers, result.ctxs)
    passages: Sequence[RawPassage | StoredPassage] = result.ctxs
    return [rank for rank, ctx in enumerate(passages) if answers.found_in(ctx.passage())]


def refuse_empty_answers(matcher: Matcher, answers: Sequence[str]) -> None:
    for answer in answers:
        if matcher.matches_everything(answer):
            raise BadInput(
                f"answer {answer!r} has no tokens and would be found in every passage",
                hint="remove it, or give --empty-answers match for the published behaviour",
            )
