"""AmbigDocs' released files to a benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import (
    Benchmark,
    check_queries,
    given_corpus,
    save_benchmark,
)
from whichone.benchmarks.benchmark_tables import PageIds
from whichone.benchmarks.gold import check_gold, gold_titles, move_gold, titles_asked
from whichone.corpus.corpus import Corpus
from whichone.corpus.passage_files import plain_title
from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.folder import file_hash
from whichone.papers.ambigdocs.files import read_questions
from whichone.papers.ambigdocs.passages import PassageBook
from whichone.papers.ambigdocs.pids import PidReport, check_pids, read_passage_file
from whichone.papers.ambigdocs.queries import name_sets, query_of
from whichone.papers.ambigdocs.records import AmbigQuestion
from whichone.records import Provenance, Query

CORPORA = {"gold": "the gold passages", "titles": "all passages of the bearers' pages"}

CARD = """# AmbigDocs

Questions about a shared name with an answer for each of its bearers (Lee, Ye and Choi 2024),
imported from released files. Texts are from Wikipedia (CC BY-SA), questions and answers Apache-2.0.

| split | questions |
| --- | ---: |
{splits}

Corpus: {corpus}.
"""


def import_ambigdocs(
    paths: Sequence[str | Path],
    out: str | Path | None,
    *,
    passage_file: str | Path | None = None,
    corpus: str = "gold",
) -> tuple[Benchmark | None, dict[str, Any]]:
    """Files of one or more splits to a benchmark; also what was counted on the way.

    `corpus` is "gold", the gold passages, or "titles", all passages of the bearers' pages in the
    passage file. Without `out` the files are only checked.
    """
    if corpus not in CORPORA:
        raise UsageError(f"there is no corpus {corpus!r}", hint=did_you_mean(corpus, CORPORA))
    if corpus == "titles" and passage_file is None:
        raise UsageError("a corpus of all passages of the titles needs a passage file")
    splits = {split_name(path): list(read_questions(path)) for path in paths}
    if len(splits) < len(paths):
        raise UsageError("two files have the same name, so their splits cannot be distinguished")
    report: PidReport | None = None
    if passage_file is not None:
        splits, report = _check_splits(splits, passage_file)
    book = PassageBook("ambigdocs")
    queries = list(_queries(splits, book, paths))
    if corpus == "titles" and passage_file is not None:
        titles = {d.title for questions in splits.values() for q in questions for d in q.documents}
        for passage in read_passage_file(passage_file):
            if passage.title in titles:
                book.add(passage)
    counts = _counts(splits, book, report)
    given = given_corpus()
    if given is not None:
        queries = _in_corpus(queries, given)
        counts |= check_gold(queries, PageIds(given), paths[0])
    if out is None:
        check_queries(queries, allow_no_gold=True)
        return None, counts
    benchmark = save_benchmark(
        out,
        name="ambigdocs",
        queries=queries,
        sets=name_sets(queries),
        passages=book.passages(),
        card=_card(splits, f"the corpus {given.id}" if given else CORPORA[corpus]),
        parameters={} if given else {"corpus": corpus},
        sources=[{"file": Path(p).name, "sha256": file_hash(Path(p))} for p in paths],
        counts=counts,
        allow_no_gold=True,
        gold_file=paths[0],
    )
    return benchmark, counts


def _in_corpus(queries: Sequence[Query], corpus: Corpus) -> list[Query]:
    """Gold as a corpus has it: the passage of the same pid and title, else the page of the title."""
    titles = titles_asked(corpus, (), gold_titles(queries))
    by_title = {plain_title(title): page for page, title in titles.items()}

    def moved(entry: Provenance) -> Provenance:
        page = by_title.get(plain_title(entry.title or ""))
        if page is None:
            return msgspec.structs.replace(entry, passage=None)
        row = corpus.by_source_id([str(entry.attributes.get("pid", ""))])[0]
        results = corpus.take([row], ["id", "page"]).to_pylist()[0] if row is not None else {}
        own = results["id"] if results.get("page") == page else None
        return msgspec.structs.replace(entry, page=page, passage=own)

    return [move_gold(query, moved) for query in queries]


def split_name(path: str | Path) -> str:
    """`test.json.gz` is the split "test"."""
    return Path(path).name.partition(".")[0]


def _check_splits(
    splits: Mapping[str, Sequence[AmbigQuestion]], passage_file: str | Path
) -> tuple[dict[str, list[AmbigQuestion]], PidReport]:
    together = [question for questions in splits.values() for question in questions]
    checked, report = check_pids(together, read_passage_file(passage_file))
    rest = iter(checked)
    return {split: [next(rest) for _ in qs] for split, qs in splits.items()}, report


def _queries(
    splits: Mapping[str, Sequence[AmbigQuestion]], book: PassageBook, paths: Sequence[str | Path]
) -> Iterator[Query]:
    """Ids are the files' qids; where two splits share one, every id begins with its split."""
    for (split, questions), path in zip(splits.items(), paths, strict=True):
        twice = [qid for qid, n in Counter(q.qid for q in questions).items() if n > 1]
        if twice:
            raise BadInput(f"{len(twice)} qids of {split} occur twice", file=path, ids=twice)
    seen = Counter(q.qid for questions in splits.values() for q in questions)
    shared = any(n > 1 for n in seen.values())
    for split, questions in splits.items():
        for question in questions:
            id = f"{split}/{question.qid}" if shared else question.qid
            yield query_of(question, book, split=split, id=id)


def _counts(
    splits: Mapping[str, Sequence[AmbigQuestion]], book: PassageBook, report: PidReport | None
) -> dict[str, Any]:
    questions = [q for listed in splits.values() for q in listed]
    documents = [d for q in questions for d in q.documents]
    counts: dict[str, Any] = {
        "splits": {split: len(listed) for split, listed in splits.items()},
        "documents": len(documents),
        "passages": len(book.passages()),
        "documents_without_answer": sum(d.answer is None for d in documents),
        "questions_without_documents": [q.qid for q in questions if not q.documents][:20],
        "pids_of_two_texts": len(book.conflicts),
    }
    if report is not None:
        counts["pids"] = {
            "agree": report.agree,
            "missing": len(report.missing),
            "other_title": len(report.other_title),
            "other_text": len(report.other_text),
            "filled": len(report.filled),
            "examples": [*report.missing, *report.other_title, *report.other_text][:20],
        }
    return counts


def _card(splits: Mapping[str, Sequence[AmbigQuestion]], corpus: str) -> str:
    rows = "\n".join(f"| {split} | {len(listed)} |" for split, listed in splits.items())
    return CARD.format(splits=rows, corpus=corpus)
