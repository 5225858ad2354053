"""LongMemEval as a benchmark: sessions are pages, gold is the sessions that an answer rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.files.folder import file_hash
from whichone.papers.longmemeval.files import Record, Turn, read_longmemeval
from whichone.records import Output, Passage, Provenance, Query, page_id, passage_id

SOURCE = "longmemeval"
Unit = Literal["round", "session"]
"""What a passage is: a user's turn with the reply to it, or a whole session (the paper tries both)."""

CARD = """# LongMemEval

Questions about what a user said in earlier chat sessions (Wu and others, ICLR 2025). {questions:,} questions over the
{pages:,} sessions of all of them, {passages:,} passages (one a {unit}). In the paper every question has a history of its
own; here they are searched together, and `--retriever given` shows each question its own.

| question type | questions |
| --- | ---: |
{types}

{abstention:,} questions (`abstention`) cannot be answered from the sessions: a system should decline.

Licence and attribution: MIT, as its authors release it; some filler chats come from ShareGPT and UltraChat.
"""


class _Sessions:
    """Sessions as pages, each once: two questions may share one, or give it another date."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.passages: list[Passage] = []
        self._pages: dict[tuple[str, str, tuple[Turn, ...]], str] = {}
        self._times: Counter[str] = Counter()
        self.evidence: dict[str, tuple[str, ...]] = {}
        """By page, the passages with a turn that has the answer."""
        self.of_page: dict[str, tuple[str, ...]] = {}

    def page(self, session: str, date: str, turns: tuple[Turn, ...]) -> str:
        known = self._pages.get((session, date, turns))
        if known is not None:
            return known
        self._times[session] += 1
        again = self._times[session]
        page = page_id(SOURCE, session if again == 1 else f"{session}/{again}")
        self._pages[session, date, turns] = page
        parts = [turns] if self.unit == "session" else list(rounds(turns))
        title = f"Chat of {date}" if date else f"Chat {session}"
        passages = [
            Passage(id=passage_id(page, n), page=page, title=title, text=_text(part))
            for n, part in enumerate(parts)
        ]
        self.passages += passages
        self.of_page[page] = tuple(passage.id for passage in passages)
        self.evidence[page] = tuple(
            passage.id
            for passage, part in zip(passages, parts, strict=True)
            if any(turn.has_answer for turn in part)
        )
        return page


def rounds(turns: Sequence[Turn]) -> Iterator[tuple[Turn, ...]]:
    """A session cut before each turn of the user."""
    started: list[Turn] = []
    for turn in turns:
        if turn.role == "user" and started:
            yield tuple(started)
            started = []
        started.append(turn)
    if started:
        yield tuple(started)


def _text(turns: Sequence[Turn]) -> str:
    return "\n".join(f"{turn.role}: {turn.content.strip()}" for turn in turns)


def import_longmemeval(
    path: str | Path,
    out: str | Path,
    *,
    member: str | None = None,
    unit: Unit = "round",
    dated: bool = False,
    name: str = "longmemeval",
) -> Benchmark:
    """The benchmark of a file or archive; `dated` puts the day of the question behind it."""
    records = read_longmemeval(path, member)
    sessions = _Sessions(unit)
    queries = [_query(record, sessions, dated) for record in records]
    types = Counter(record.question_type for record in records)
    return save_benchmark(
        out,
        name=name,
        queries=queries,
        passages=sessions.passages,
        card=CARD.format(
            questions=len(queries),
            pages=len(sessions.of_page),
            passages=len(sessions.passages),
            unit=unit,
            types="\n".join(f"| {kind} | {n:,} |" for kind, n in sorted(types.items())),
            abstention=sum(record.abstention for record in records),
        ),
        parameters={"unit": unit, "dated": dated, "member": member},
        sources=[{"file": Path(path).name, "sha256": file_hash(Path(path))}],
        counts={"sessions": len(sessions.of_page), "passages": len(sessions.passages)},
        gold_file=path,
    )


def _query(record: Record, sessions: _Sessions, dated: bool) -> Query:
    dates = record.haystack_dates or ("",) * len(record.haystack_session_ids)
    own = {
        session: sessions.page(session, date, turns)
        for session, date, turns in zip(
            record.haystack_session_ids, dates, record.haystack_sessions, strict=True
        )
    }
    attributes: dict[str, Any] = {
        "question_type": record.question_type,
        "abstention": record.abstention,
        "answer_sessions": len(record.answer_session_ids),
        "documents": [passage for page in own.values() for passage in sessions.of_page[page]],
    }
    if record.question_date:
        attributes["question_date"] = record.question_date
    when = f" (asked on {record.question_date})" if dated and record.question_date else ""
    return Query(
        id=record.question_id,
        task="qa",
        input=record.question + when,
        outputs=(
            Output(
                answer=str(record.answer),
                provenance=(tuple(_evidence(record, own, sessions)),),
            ),
        ),
        attributes=attributes,
    )


def _evidence(record: Record, own: dict[str, str], sessions: _Sessions) -> Iterator[Provenance]:
    """All answer sessions together are the evidence; the marked rounds where turns are marked."""
    for session in dict.fromkeys(record.answer_session_ids):
        page = own[session]
        for passage in sessions.evidence[page] or (None,):
            yield Provenance(page=page, passage=passage)
