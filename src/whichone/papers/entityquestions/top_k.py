"""Top-k retrieval accuracy: the share of questions with an answer among their first k passages."""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta

from whichone.errors import BadInput, Missing, UsageError
from whichone.files.json_records import FilePart, decode_whole, parts
from whichone.files.lines import NOT_JSON
from whichone.files.pools import available_cores, run_in_order
from whichone.measures.matchers import (
    AnswerTokens,
    MatchedText,
    Matcher,
    PreparedAnswers,
    TokenMatcher,
    any_found,
    find_matcher,
)
from whichone.options import Depths, Option, takes
from whichone.records import grouped
from whichone.text.normalisers import TOKEN

# Looking for an answer in passages that are still raw, lower-cased JSON strings, one a line.
# Every passage that contains the answer shows a certain piece of ASCII, so one search for that piece
# over all passages of a question leaves few to decode. The search is exact as long as
# - the case of ASCII letters is ignored;
# - a passage with an ASCII letter or digit written as an escape (`\u0041`) is decoded;
# - a passage with a Kelvin sign is decoded: the one character beyond ASCII whose lower case is ASCII.
# Where the whole answer appears there verbatim between two ASCII characters that belong to no word,
# no decoding is needed at all.


_ASCII_RUN = re.compile(r"[a-z0-9]+(?![^\x00-\x7f])")
_VERBATIM = re.compile(r"[a-z0-9 .,;:'&()!?+*#%$@_-]+")  # never escaped in JSON
_HIDDEN = re.compile(rb"\\u(?:00[3-7]|212a)")
_KELVIN_SIGN = re.compile("\u212a".encode())
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789")
_BETWEEN = frozenset(range(128)) - _WORD - frozenset(b"\\")
_QUOTE = ord('"')
_LONGEST_ESCAPE = 6
_SHORT = 5


class RawLines(msgspec.Struct, frozen=True):
    """Raw JSON strings, lower-cased, one a line; `ends` are the places after each line's end."""

    text: bytes
    ends: list[int]


def as_lines(strings: Sequence[msgspec.Raw]) -> RawLines | None:
    """None when not all are strings (a title may be null)."""
    views = [memoryview(string) for string in strings]
    if {view[0] for view in views} - {_QUOTE}:
        return None
    ends = list(accumulate([view.nbytes + 1 for view in views]))
    return RawLines(b"\n".join(views).lower(), ends)


class Needle(msgspec.Struct, frozen=True):
    """A piece of ASCII that a passage must show to hold an answer.

    `word_start`, `word_end`: the piece appears at the start or end of its token. `verbatim` is the
    whole answer where it is plain ASCII, `offset` the place of the piece in it.
    """

    piece: bytes
    word_start: bool
    word_end: bool
    verbatim: bytes | None
    offset: int

    def found_in(self, lines: RawLines) -> tuple[set[int], set[int]]:
        """Numbers of the lines that contain the answer, and of those that must be looked at."""
        certain: set[int] = set()
        possible: set[int] = set()
        text, ends = lines.text, lines.ends
        search = self._search(text)
        at = search(0)
        while at >= 0:
            if self._stands_verbatim(text, at):
                line = bisect(ends, at)
                certain.add(line)
                at = search(ends[line])
                continue
            if self._may_be_the_token(text, at):
                possible.add(bisect(ends, at))
            at = search(at + 1)
        return certain, possible - certain

    def _search(self, text: bytes) -> Callable[[int], int]:
        """Finds the next place of the piece at or after a position; -1 when there is none."""
        if len(self.piece) >= _SHORT:
            return partial(text.find, self.piece)
        ending = rb"(?![a-z0-9])" if self.word_end else b""
        starting = rb"(?:(?<![a-z0-9]%b)|(?<=\\[bfnrt]%b)|(?<=\\u[0-9a-f]{4}%b))"
        starting = starting.replace(b"%b", self.piece) if self.word_start else b""
        pattern = re.compile(self.piece + starting + ending)  # short pieces appear in many words

        def search(start: int) -> int:
            match = pattern.search(text, start)
            return -1 if match is None else match.start()

        return search

    def _stands_verbatim(self, lines: bytes, at: int) -> bool:
        start = at - self.offset
        return (
            self.verbatim is not None
            and start > 0
            and lines.startswith(self.verbatim, start)
            and lines[start - 1] in _BETWEEN
            and lines[start + len(self.verbatim)] in _BETWEEN
        )

    def _may_be_the_token(self, lines: bytes, at: int) -> bool:
        """False when a letter or digit beside the piece shows that it is part of another word."""
        if self.word_end and lines[at + len(self.piece)] in _WORD:
            return False
        if self.word_start and lines[at - 1] in _WORD:
            return b"\\" in lines[max(0, at - _LONGEST_ESCAPE) : at]
        return True


def needle(answer: str) -> Needle | None:
    """The needle of a decomposed answer; None when no piece of ASCII is sure to show.

    The character before a non-ASCII one may be part of a composed letter in the passage, so it
    is left out of the piece.
    """
    runs = [
        (match.end() - match.start(), token, match)
        for token in TOKEN.finditer(answer)
        for match in _ASCII_RUN.finditer(token.group().lower())
    ]
    if not runs:
        return None
    _, token, run = max(runs, key=lambda scored: scored[0])
    plain = answer.isascii() and _VERBATIM.fullmatch(answer.lower()) is not None
    return Needle(
        piece=run.group().encode(),
        word_start=run.start() == 0,
        word_end=run.end() == len(token.group().lower()),
        verbatim=answer.strip().lower().encode() if plain else None,
        offset=token.start() + run.start() - (len(answer) - len(answer.lstrip())),
    )


def hidden_lines(lines: RawLines) -> set[int]:
    """Numbers of the lines in which a byte search may overlook a piece."""
    patterns = [_HIDDEN] if lines.text.isascii() else [_HIDDEN, _KELVIN_SIGN]
    return {bisect(lines.ends, match.start()) for p in patterns for match in p.finditer(lines.text)}


_NO_TITLE = msgspec.Raw(b'""')

_decode_text = msgspec.json.Decoder(str).decode
_decode_title = msgspec.json.Decoder(str | None).decode


class RawPassage(msgspec.Struct):
    text: msgspec.Raw
    title: msgspec.Raw = _NO_TITLE
    has_answer: bool | int | None = None

    def passage(self) -> MatchedText:
        return StoredPassage(_decode_text(self.text), self.decoded_title(), self.has_answer).passage()

    def decoded_title(self) -> str:
        return cast("str | None", _decode_title(self.title)) or ""


class RawResult(msgspec.Struct):
    question: str
    answers: list[str]
    ctxs: list[RawPassage]
    relation: str | None = None


def ranks_with_answer(answers: PreparedAnswers, passages: list[RawPassage]) -> list[int]:
    """Which passages (from 0) hold one of the answers, in order."""
    matcher = answers.matcher
    assert isinstance(matcher, TokenMatcher)
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
        if any_found(doubtful[rank], matcher.passage_text(title, _decode_text(passages[rank].text))):
            hits.add(rank)
    return sorted(hits)


def _search(answer: AnswerTokens, columns: list[RawLines | None], passages: int) -> tuple[set[int], set[int]]:
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


class StoredPassage(msgspec.Struct):
    text: str
    title: str | None = None
    has_answer: bool | int | None = None

    def passage(self) -> MatchedText:
        flag = None if self.has_answer is None else bool(self.has_answer)
        return MatchedText(self.title or "", self.text, flag)


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
    relation: str | None = None  # Where the record itself says it; else its file is of one relation


def by_relation(files: Mapping[str, Sequence[Labels]]) -> dict[str, list[Labels]]:
    """Questions under the relation that their record names, else under the name of their file."""
    return grouped(
        (labels.relation or name, labels) for name, questions in files.items() for labels in questions
    )


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


SMALL = 8 << 20  # Bytes of input below which starting processes costs more than it gains


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
    part: FilePart
    matcher: str
    empty_answers: bool


class TopKOptions(msgspec.Struct, frozen=True, kw_only=True):
    depths: Depths = (1, 5, 20, 100)
    matcher: Annotated[
        str,
        Option(
            "How an answer is looked for: dpr, dpr-title, dpr-regex, dpr-kilt, entityquestions, "
            "string-title, title, substring or has-answer.",
            flags=("--match",),
            metavar="NAME",
        ),
    ] = "dpr"
    empty_answers: Annotated[
        Literal["error", "match"],
        Option("An answer without tokens: refuse it, or count every passage a hit as published."),
    ] = "error"
    workers: Annotated[int | None, Option("Default: every core."), Meta(ge=1)] = None


@takes(TopKOptions)
def label_files(paths: Sequence[str | Path], plan: TopKOptions) -> Iterator[tuple[Path, list[Labels]]]:
    """Each file with the labels of its questions, in the order given."""
    matcher, empty_answers = plan.matcher, plan.empty_answers == "match"
    find_matcher(matcher)
    tasks = (_Task(p, matcher, empty_answers) for path in paths for p in parts(path))
    size = sum(Path(path).stat().st_size for path in paths if Path(path).exists())
    workers = 1 if size < SMALL else plan.workers or available_cores()
    current: list[_Labelled | None] = []
    remaining = [Path(path) for path in paths]
    for part_of, labelled in run_in_order(_label_part, tasks, workers):
        while str(remaining[0]) != part_of:
            yield remaining[0], _whole(remaining.pop(0), current, matcher, empty_answers)
            current = []
        current.append(labelled)
    for path in remaining:
        yield path, _whole(path, current, matcher, empty_answers)


def _whole(path: Path, pieces: list[_Labelled | None], matcher: str, empty_answers: bool) -> list[Labels]:
    """The labels of a file from those of its parts; a part that was cut wrongly is None."""
    if any(piece is None for piece in pieces):
        pieces = [_label(decode_whole(path, list[StoredResult]), find_matcher(matcher), empty_answers)]
    labels: list[Labels] = []
    for piece in pieces:
        assert piece is not None
        if (wrong := piece.problem) is not None:
            which = f"question {len(labels) + wrong.at} (from 0), {wrong.question!r}"
            raise BadInput(f"{which}: {wrong.message}", file=path, hint=wrong.hint)
        labels.extend(piece.labels)
    if not labels:
        raise BadInput("there is no question in the file", file=path)
    return labels


_RESULTS = msgspec.json.Decoder(list[RawResult])


def _label_part(task: _Task) -> tuple[str, _Labelled | None]:
    """The part's file and its labels; None of a part that is no array of results, as after a wrong cut or damage."""
    try:
        results = _RESULTS.decode(task.part.array())
        return task.part.path, _label(results, find_matcher(task.matcher), task.empty_answers)
    except NOT_JSON:
        return task.part.path, None


def _label(results: Sequence[RawResult | StoredResult], matcher: Matcher, empty_answers: bool) -> _Labelled:
    labels: list[Labels] = []
    for at, result in enumerate(results):
        try:
            empty = [a for a in result.answers if not empty_answers and matcher.matches_everything(a)]
            if empty:
                raise BadInput(
                    f"answer {empty[0]!r} has no tokens and would be found in every passage",
                    hint="remove it, or give --empty-answers match for the published behaviour",
                )
            hits = _hits(result, matcher.prepare(result.answers))
        except BadInput as error:
            return _Labelled(labels, _Problem(at, result.question, error.message, error.hint))
        labels.append(Labels(result.question, len(result.ctxs), tuple(hits), result.relation))
    return _Labelled(labels)


def _hits(result: RawResult | StoredResult, answers: PreparedAnswers) -> list[int]:
    if isinstance(result, RawResult) and isinstance(answers.matcher, TokenMatcher):
        return ranks_with_answer(answers, result.ctxs)
    passages: Sequence[RawPassage | StoredPassage] = result.ctxs
    return [rank for rank, ctx in enumerate(passages) if answers.found_in(ctx.passage())]


_FORMAT = r"\.(?:json|jsonl)(?:\.(?:gz|bz2|zst))?$"


class TopK(msgspec.Struct, frozen=True):
    """Fractions by k. Macro: the mean over files; micro: over all questions of all files."""

    relations: dict[str, dict[str, float]]
    macro: dict[str, float]
    micro: dict[str, float]


def top_k(files: Mapping[str, Sequence[Labels]], depths: Sequence[int]) -> TopK:
    """Every depth at once; a question with fewer than k passages, or none, is no special case."""
    hits = {
        name: {k: sum(question.hits[0] < k for question in labels if question.hits) for k in depths}
        for name, labels in files.items()
    }
    questions = sum(len(labels) for labels in files.values())
    relations = {
        name: {str(k): hits[name][k] / len(labels) for k in depths} for name, labels in files.items()
    }
    macro = {str(k): sum(by_k[str(k)] for by_k in relations.values()) / len(files) for k in depths}
    micro = {str(k): sum(by_k[k] for by_k in hits.values()) / questions for k in depths}
    return TopK(relations, macro, micro)


def relation_name(path: Path) -> str:
    """`P106` for `P106.test.json`, `P19_similar` for `P19_similar.dev.json.gz`: base name, no split."""
    return re.sub(rf"(?:\.(?:train|dev|test))?{_FORMAT}", "", path.name)


def relation_names(paths: Sequence[Path]) -> list[str]:
    """A name for each file; where base names repeat, the folder goes in front (`P19/bucket0`)."""
    names = [relation_name(path) for path in paths]
    counts = Counter(names)
    names = [
        f"{path.absolute().parent.name}/{name}" if counts[name] > 1 else name
        for path, name in zip(paths, names, strict=True)
    ]
    for name, count in Counter(names).items():
        if count > 1:
            raise UsageError(
                f"{count} files would be called {name!r}", hint="score them apart, or rename them"
            )
    return names


def result_files(arguments: Iterable[str | Path]) -> list[Path]:
    """The files named, and for a folder the result files in it, by base name as published."""
    files: list[Path] = []
    for argument in map(Path, arguments):
        if argument.is_dir():
            if not (inside := [p for p in argument.iterdir() if re.search(_FORMAT, p.name)]):
                raise BadInput("there is no .json or .jsonl file in the folder", file=argument)
            files.extend(inside)
        elif argument.exists():
            files.append(argument)
        else:
            raise Missing("no such file", where=str(argument))
    return sorted(files, key=lambda path: (path.name, str(path)))
