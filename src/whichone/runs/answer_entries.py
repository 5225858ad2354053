"""The journal of a reading: one entry a question, kept as it comes, and the tables made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from whichone.files.folder import Folder
from whichone.progress import talk
from whichone.protocols import USAGE
from whichone.records import Answer, Query, ReadingTask
from whichone.runs.answers import ANSWERS, LEFT_OUT, TIMING, Answers
from whichone.runs.results import FAILURES
from whichone.runs.settings import Shown


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the journal: one question's answer, and what it took."""

    answer: Answer
    shown: tuple[str, ...] = ()
    usage: dict[str, Any] = {}


def entry_of(task: ReadingTask, answer: Answer, seconds: float) -> Entry:
    notes = dict(answer.notes)
    usage = {"seconds": seconds, **notes.pop(USAGE, {})}
    return Entry(
        msgspec.structs.replace(answer, notes=notes), tuple(p.id for p in task.passages), usage
    )


def begin(folder: Folder, identity: Mapping[str, Any]) -> dict[str, Entry]:
    """Answers that were already given, if they belong to this very work; failures not among them."""
    folder.journal.mend()
    entries = folder.journal.read()
    if entries and entries[0] == identity:
        all_entries = [msgspec.convert(entry, Entry) for entry in entries[1:]]
        kept = {e.answer.question: e for e in all_entries if not e.answer.error}
        if kept:
            talk(f"going on with {folder.root}: {len(kept):,} questions are answered")
        return kept
    if entries:
        talk(f"{folder.root}: what was begun there was other work; starting over")
    for file in folder.partial.iterdir():
        file.unlink()
    folder.journal.append(identity)
    return {}


def finished_entries(answers: Answers) -> dict[str, Entry]:
    """What finished answers contain, without the questions that failed or got an empty reply."""
    usage = {row.pop("question"): row for row in answers.folder.table(TIMING.name).to_pylist()}
    return {
        question: Entry(
            answer,
            answers.shown.get(question, ()),
            {k: v for k, v in usage.get(question, {}).items() if v is not None},
        )
        for question, answer in answers.answers.items()
        if answer.notes.get("form") != "empty"
    }


def write_tables(
    folder: Folder,
    queries: Sequence[Query],
    entries: Mapping[str, Entry],
    shown: Mapping[str, Shown],
) -> dict[str, Any]:
    """The tables, from the journal's entries in the benchmark's order; what to count."""
    encode = msgspec.json.encode
    read = [entries[q.id] for q in queries if q.id in entries]
    good = [e for e in read if e.answer.error is None]
    answers = [
        {
            "question": e.answer.question,
            "text": e.answer.text,
            "asks": e.answer.asks,
            "passages": list(e.answer.passages),
            "shown": list(e.shown),
            "score": e.answer.score,
            "notes": encode(e.answer.notes).decode() if e.answer.notes else None,
        }
        for e in good
    ]
    failures = [
        {"question": e.answer.question, "error": e.answer.error} for e in read if e.answer.error
    ]
    left_out = [{"question": q.id, "reason": s} for q in queries if (s := shown[q.id].left_out)]
    folder.write(ANSWERS, ANSWERS.from_rows(answers))
    folder.write(FAILURES, FAILURES.from_rows(failures))
    folder.write(LEFT_OUT, LEFT_OUT.from_rows(left_out))
    folder.write(
        TIMING, TIMING.from_rows([{"question": e.answer.question, **e.usage} for e in read])
    )
    return {
        "questions": len(queries),
        "answered": sum(e.answer.text is not None for e in good),
        "asked": sum(e.answer.asks is not None for e in good),
        "refused": sum(e.answer.text is None and e.answer.asks is None for e in good),
        "empty": sum(e.answer.text is not None and not e.answer.text.strip() for e in good),
        "failures": len(failures),
        "left_out": len(left_out),
        "shown_nothing": sum(not e.shown for e in read),
        "passages_beyond_depth": sum(shown[e.answer.question].cut for e in read),
    }


def latency(entries: Mapping[str, Entry]) -> dict[str, Any]:
    import numpy as np

    asked = [e.usage for e in entries.values() if not e.usage.get("cached")]
    seconds = [usage["seconds"] for usage in asked if "seconds" in usage]
    if not seconds:
        return {}
    p50, p95 = np.percentile(seconds, [50, 95])
    return {"latency_p50": round(float(p50), 6), "latency_p95": round(float(p95), 6)}
