"""Before any benchmark: which names of a corpus are shared, by whom, and how much they are asked about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import KIND as BENCHMARK
from whichone.corpus.corpus import KIND as CORPUS
from whichone.corpus.corpus import Corpus
from whichone.corpus.passage_files import PassageFields, read_passages, read_records
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.manifest import MANIFEST
from whichone.measures.worst import ASKING
from whichone.names import name_key, title_key
from whichone.records import Passage
from whichone.retrieval.bm25.analysis import LUCENE_STOP_WORDS

_WORD = re.compile(r"\w+(?:['’-]\w+)*")
MOST = 20
_LONGEST = 6


class SharedName(msgspec.Struct, kw_only=True):
    """A name, who has it, and how often it is asked about."""

    name: str
    bearers: list[str]
    documents: int
    questions: int = 0
    example: str = ""


class Audit(msgspec.Struct, kw_only=True):
    corpus: str
    documents: int
    names: int
    shared: int
    affected_documents: int
    questions: int | None
    affected_questions: int | None
    worst: list[SharedName]


def audit(
    corpus: str | Path,
    *,
    log: str | Path | None = None,
    question: str = "question",
    fields: PassageFields | None = None,
) -> Audit:
    """Names shared by two or more bearers: entities where the corpus says them, else pages."""
    bearers: dict[str, dict[str, str]] = {}
    pages: dict[str, str] = {}
    shown: dict[str, str] = {}
    own: Counter[str] = Counter()
    for passage in _passages(corpus, fields or PassageFields()):
        if passage.page in pages:
            continue
        key = title_key(passage.title)
        pages[passage.page] = key
        own[key] += 1
        shown.setdefault(key, passage.title)
        bearers.setdefault(key, {}).setdefault(passage.entity or passage.page, passage.title)
    if not pages:
        raise BadInput("there are no documents in it", file=corpus)
    shared = {
        key: SharedName(
            name=re.sub(r"\s*\([^()]*\)", "", shown[key]).strip() or shown[key],
            bearers=[f"{title} ({who})" for who, title in sorted(who_bears.items())],
            documents=own[key],
        )
        for key, who_bears in bearers.items()
        if key and len(who_bears) > 1
    }
    asked, affected = _asked(log, question, shared, bearers) if log is not None else (None, None)
    worst = sorted(shared.values(), key=lambda s: (-s.questions, -len(s.bearers), s.name))[:MOST]
    return Audit(
        corpus=str(corpus),
        documents=len(pages),
        names=len(bearers),
        shared=len(shared),
        affected_documents=sum(s.documents for s in shared.values()),
        questions=asked,
        affected_questions=affected,
        worst=worst,
    )


def _passages(corpus: str | Path, fields: PassageFields) -> Iterable[Passage]:
    if str(corpus).startswith("builtin/"):
        return Benchmark.open(corpus).corpus.passage_records()
    if (Path(corpus) / MANIFEST).exists():
        folder = Folder.open(corpus, (CORPUS, BENCHMARK))
        opened = Corpus.open(corpus) if folder.manifest.kind == CORPUS else Benchmark(folder).corpus
        return opened.passage_records()
    return read_passages(corpus, fields)


def _asked(
    log: str | Path, field: str, shared: dict[str, SharedName], known: Container[str]
) -> tuple[int, int]:
    """How many logged questions there are, and how many of them name a shared name."""
    total = affected = 0
    for text in _texts(log, field):
        total += 1
        shared_keys = {key for key in _named(text, known) if key in shared}
        affected += bool(shared_keys)
        for key in shared_keys:
            shared[key].questions += 1
            shared[key].example = shared[key].example or text
    if not total:
        raise BadInput("there are no questions in it", file=log)
    return total, affected


def _texts(log: str | Path, field: str) -> Iterator[str]:
    """Questions of a log: a field of records, or the lines of a plain text."""
    if Path(log).suffix == ".txt":
        yield from filter(None, map(str.strip, Path(log).read_text("utf-8").splitlines()))
        return
    for line, record in read_records(log):
        if field not in record:
            raise BadInput(
                f"the record has no field {field!r}",
                file=log,
                line=line,
                hint="name it: --question",
            )
        yield str(record[field])


def _named(text: str, known: Container[str]) -> set[str]:
    """The known names in a text, the longest first at each word: "San José" does not name "San"."""
    words = _WORD.findall(text)
    keys: set[str] = set()
    start = 0
    while start < len(words):
        for end in range(min(start + _LONGEST, len(words)), start, -1):
            key = re.sub(r"['’]s$", "", name_key(" ".join(words[start:end])))
            if key in known and (end - start > 1 or _is_name(words, start)):
                keys.add(key)
                start = end - 1
                break
        start += 1
    return keys


def _is_name(words: Sequence[str], place: int) -> bool:
    """Whether a single word is used as a name: "More" is also a word, and "John" a part of many names.

    Words that are in every text never are. In a question with capitals it has one, and its neighbours
    have none.
    """
    capital = [word[:1].isupper() for word in words]
    if words[place].lower() in LUCENE_STOP_WORDS | ASKING:
        return False
    beside = capital[max(1, place - 1) : place] + capital[place + 1 : place + 2]
    return not any(capital[1:]) or (capital[place] and not any(beside))


def in_words(audit_report: Audit) -> str:
    """The audit as a page of Markdown that needs no knowledge of search."""
    share = audit_report.affected_documents / audit_report.documents
    lines = [
        f"# Shared names in {Path(audit_report.corpus).name}",
        "",
        f"**{audit_report.shared:,} of {audit_report.names:,} names belong to more than one entry.** They are on",
        f"{audit_report.affected_documents:,} of {audit_report.documents:,} documents ({share:.1%}). Whoever asks about",
        "one of these names without saying which one is meant may get an answer about somebody else.",
        "",
    ]
    if audit_report.questions is not None and audit_report.affected_questions is not None:
        asked = audit_report.affected_questions / audit_report.questions
        lines += [
            f"**{audit_report.affected_questions:,} of {audit_report.questions:,} logged questions ({asked:.1%}) name one of them.**",
            "",
        ]
    if audit_report.worst:
        lines += [
            f"## The {len(audit_report.worst)} worst",
            "",
            "| name | bearers | documents | questions | who |",
            "| --- | ---: | ---: | ---: | --- |",
        ]
        lines += [
            f"| {s.name} | {len(s.bearers):,} | {s.documents:,} | {s.questions:,} | {_who(s)} |"
            for s in audit_report.worst
        ]
    lines += [
        "",
        "What to do next: `whichone import questions` or `whichone build catalogue` makes a benchmark of",
        "these names, and `whichone check` tests your search on it.",
    ]
    return "\n".join(lines) + "\n"


def _who(shared: SharedName) -> str:
    first = "; ".join(shared.bearers[:3]).replace("|", "/")
    more = len(shared.bearers) - 3
    return f"{first}; and {more:,} more" if more > 0 else first
