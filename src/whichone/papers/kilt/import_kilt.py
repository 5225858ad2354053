"""KILT's files as a benchmark: over a knowledge base, over anybody's passages, or for scoring only."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark, given_corpus, save_benchmark
from whichone.benchmarks.benchmark_tables import UsedSets
from whichone.benchmarks.gold import GoldCheck, gold_titles, move_gold, titles_asked
from whichone.corpus.corpus import Corpus as GivenCorpus
from whichone.corpus.cut import ARTICLE, Cut, cut_corpus
from whichone.corpus.make import corpus_beside
from whichone.corpus.page_names import names_of_pages
from whichone.corpus.passage_files import (
    PassageFields,
    plain_title,
    sets_from_titles,
)
from whichone.corpus.save import PageNames
from whichone.errors import BadInput, UsageError, sample
from whichone.files.arrow_records import Seen, Spool, blocks, existing
from whichone.files.folder import file_hash
from whichone.names import title_key
from whichone.papers.kilt.kilt_files import Originals, ReadFile, read_file, unique_ids
from whichone.papers.kilt.kilt_record import (
    PAPER,
    SOURCE,
    Dataset,
    dataset_and_split,
    page_problems,
)
from whichone.papers.kilt.snapshot_pages import Namesakes, Snapshot
from whichone.progress import talk
from whichone.records import NameSet, Passage, Query
from whichone.training.held_out import TRAIN, split_mark
from whichone.training.training_data import Corpus as TrainingDataCorpus

# The lengths of the paragraphs of gold pages, on disk, by one reading of a knowledge base.


_BLOCK = 4_096


class PageLengths:
    """For each gold page that the knowledge base has, how many characters each of its paragraphs has."""

    def __init__(
        self, snapshot: Snapshot, queries: Iterable[Query], near: str | Path | None = None
    ) -> None:
        self._numbers = Seen(near)
        mentions = 0
        for block in blocks(queries, _BLOCK):
            pages = [page for query in block for page in query.gold_pages()]
            self._numbers.add(pages, range(mentions, mentions + len(pages)))
            mentions += len(pages)
        with (
            tempfile.TemporaryFile(dir=existing(near)) as starts,
            tempfile.TemporaryFile(dir=existing(near)) as lengths,
        ):
            starts.truncate(8 * (mentions + 1))
            self._starts: npt.NDArray[np.int64] = np.memmap(starts, np.int64, "r+")
            """By the number of a page where its lengths are, after how many there are; 0 where it is unknown."""
            np.zeros(1, np.int32).tofile(lengths)
            self._read(snapshot, lengths)
            self._lengths: npt.NDArray[np.int32] = np.memmap(lengths, np.int32, "r")

    def _read(self, snapshot: Snapshot, lengths: IO[bytes]) -> None:
        at = 1
        for pages, per_page, offsets in snapshot.paragraph_lengths():
            for place, number in enumerate(self._numbers.numbers(pages)):
                if number is not None:
                    own = per_page[offsets[place] : offsets[place + 1]]
                    np.concatenate([[len(own)], own]).astype(np.int32).tofile(lengths)
                    self._starts[number] = at
                    at += len(own) + 1
        lengths.flush()

    def of(self, pages: Sequence[str]) -> dict[str, list[int]]:
        """The lengths of those that the knowledge base has."""
        known: dict[str, list[int]] = {}
        for page, number in zip(pages, self._numbers.numbers(pages), strict=True):
            start = 0 if number is None else int(self._starts[number])
            if start:
                count = int(self._lengths[start])
                known[page] = self._lengths[start + 1 : start + 1 + count].tolist()
        return known


# KILT's files as a benchmark: over a knowledge base, over anybody's passages, or for scoring only.


SKIPPED = "skipped.jsonl"
SHOWN = 100
"""So many queries with problems are described."""
BLOCK = 4_096
GOLD_AT_ONCE = 50_000
"""So many queries are looked up in a knowledge base together: each time its tables of names are read."""


class Corpus(msgspec.Struct):
    """What the queries are asked of: passages, name sets, and what could not be found there."""

    queries: Sequence[Query]
    passages: pa.RecordBatchReader | GivenCorpus | list[Passage]
    names: PageNames = ()
    sets: Iterable[NameSet] = ()
    problems: dict[str, list[str]] = {}
    """Of the first queries that have some."""
    problem_count: int = 0
    origin: str = "The files name pages but hold no text: it can be scored, not searched."

    def note(self, query: Query, problems: list[str]) -> None:
        if problems:
            self.problem_count += 1
            if len(self.problems) < SHOWN:
                self.problems[query.id] = problems


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How to read the files."""

    dataset: str | None = None
    task: str | None = None
    split: str | None = None
    originals: tuple[str, ...] = ()
    knowledge: str | None = None
    passages: str | None = None
    passage_fields: PassageFields = PassageFields()
    words: int = 100
    source: str = SOURCE
    on_error: str = "fail"


def read_kilt(
    files: Sequence[str | Path],
    plan: Plan,
    held: GivenCorpus | None = None,
    near: str | Path | None = None,
) -> tuple[list[ReadFile], Corpus]:
    """Everything but the writing: what `--dry-run` does. `held` is the plan's passages as a corpus.

    Queries are on the disk of `near`.
    """
    if plan.knowledge and plan.passages:
        raise UsageError("give a knowledge base or passages, not both")
    originals = Originals(plan.originals) if plan.originals else None
    read = [
        read_file(
            file,
            name=plan.dataset,
            task=plan.task,
            split=plan.split,
            originals=originals,
            source=plan.source,
            on_error=plan.on_error,
            near=near,
        )
        for file in files
    ]
    queries = (
        read[0].queries if len(read) == 1 else Spool(Query, near).extend(unique_ids(read, near))
    )
    if not queries:
        raise BadInput("there are no records", file=files[0] if files else None)
    _report_inputs(read)
    if plan.knowledge:
        return read, _over_knowledge(queries, plan, near)
    if plan.passages and held is not None:
        return read, _over_passages(queries, plan, held, near)
    if plan.passages:
        with (
            tempfile.TemporaryDirectory() as place,
            _passages(Path(place) / "kilt", plan) as created,
        ):
            return read, _over_passages(queries, plan, created, near)
    if (given := given_corpus()) is not None:
        return read, _over_corpus(queries, given, near)
    return read, Corpus(queries=queries, passages=[])


def import_kilt(files: Sequence[str | Path], out: str | Path, plan: Plan) -> Benchmark:
    """Write the benchmark."""
    with contextlib.ExitStack() as stack:
        held = stack.enter_context(_passages(out, plan)) if plan.passages else None
        read, corpus = read_kilt(files, plan, held, out)
        bad = [error for part in read for error in part.bad]
        counts = summary(read, corpus)
        datasets = _datasets(read)
        return save_benchmark(
            out,
            name="-".join(dict.fromkeys(d.name for d in datasets))
            if 0 < len(datasets) <= 3
            else ("kilt" if datasets else Path(files[0]).name.split(".")[0]),
            queries=corpus.queries,
            passages=corpus.passages,
            names=corpus.names,
            sets=corpus.sets,
            card=_card(read, corpus, counts),
            parameters={"format": "kilt", **msgspec.to_builtins(plan)},
            sources=[
                {"file": part.path.name, "sha256": file_hash(part.path), **_licence(part.dataset)}
                for part in read
            ],
            counts=counts,
            allow_no_gold=True,
            files={SKIPPED: b"".join(_line(error) for error in bad)} if bad else None,
        )


def summary(read: Sequence[ReadFile], corpus: Corpus) -> dict[str, int]:
    counts = {
        "queries": len(corpus.queries),
        "without_output": 0,
        "without_provenance": 0,
        "without_input": sum(part.without_input for part in read),
        "skipped": sum(len(part.bad) for part in read),
        "gold_problems": corpus.problem_count,
    }
    placed, shared_names = False, 0
    for query in corpus.queries:
        gold = bool(query.gold_pages())
        counts["without_output"] += not query.outputs
        counts["without_provenance"] += bool(query.outputs) and not gold
        placed = placed or (gold and "shared_name" in query.attributes)
        shared_names += bool(gold and query.attributes.get("shared_name"))
    return {**counts, "shared_names": shared_names} if placed else counts


def _over_knowledge(queries: Sequence[Query], plan: Plan, near: str | Path | None) -> Corpus:
    base = plan.knowledge or ""
    snapshot = Snapshot(base)
    placed, sets, check = Spool(Query, near), UsedSets(near), GoldCheck()
    corpus = Corpus(
        queries=placed,
        passages=corpus_of(snapshot, plan.words),
        names=names_of_pages(snapshot.folder),
        sets=sets,
        problems={},
        origin=f"Asked of the articles of the knowledge base {Path(base).name}.",
    )
    lengths = PageLengths(snapshot, queries, near)
    for block in blocks(queries, GOLD_AT_ONCE):
        gold = sorted({page for query in block for page in query.gold_pages()})
        known = lengths.of(gold)
        for query in block:
            corpus.note(query, page_problems(query, known))
        check.add(block, known)
        namesakes = Namesakes(base, gold)
        results = [namesakes.place(query) for query in block]
        used = {query.name_set for query in results}
        sets.add(s for s in namesakes.sets.values() if s.id in used)
        placed.extend(results)
    _report_problems(corpus)
    check.end(base)
    return corpus


def corpus_of(snapshot: Snapshot, words: int) -> pa.RecordBatchReader:
    """Every article as passages of a number of words; 0 keeps each page whole."""
    cut = Cut(way="words", size=words) if words else Cut(way="pages")
    return cut_corpus(snapshot.folder, cut, kind=ARTICLE)


def _over_corpus(queries: Sequence[Query], corpus: GivenCorpus, near: str | Path | None) -> Corpus:
    place = str(corpus.folder.root) if corpus.folder is not None else corpus.id
    result = Corpus(
        queries=(), passages=[], problems={}, origin=f"Asked of the corpus {corpus.id}."
    )
    return _over_titles(queries, corpus, result, place, near)


def _passages(out: str | Path, plan: Plan) -> contextlib.AbstractContextManager[GivenCorpus]:
    """The passages of the plan's file, as a corpus beside the benchmark."""
    file = plan.passages or ""
    return corpus_beside(out, file, plan.passage_fields, plan.source, name=Path(file).name)


def _over_passages(
    queries: Sequence[Query], plan: Plan, held: GivenCorpus, near: str | Path | None
) -> Corpus:
    file = plan.passages or ""
    text = f"Asked of the passages of `{Path(file).name}`."
    result = Corpus(queries=(), passages=held, problems={}, origin=text)
    return _over_titles(queries, held, result, file, near)


def _over_titles(
    queries: Sequence[Query],
    asked: GivenCorpus,
    result: Corpus,
    place: str,
    near: str | Path | None,
) -> Corpus:
    """The result with its queries placed in the corpus by page id or title."""
    placed, used, check = Spool(Query, near), UsedSets(near), GoldCheck()
    result.queries, result.sets = placed, used
    for block in blocks(queries, BLOCK):
        gold = {page for query in block for page in query.gold_pages()}
        titles = titles_asked(asked, gold, gold_titles(block))
        by_title = {plain_title(title): page for page, title in titles.items()}
        sets = sets_from_titles(titles)
        results = []
        for query in block:
            moved, lost = _moved(query, titles, by_title)
            result.note(query, [f"no page {page}" for page in lost])
            results.append(_with_title_set(moved, titles, sets))
        check.add(results, titles)
        used.add(sets.values())
        placed.extend(results)
    _report_problems(result)
    check.end(place)
    return result


def _moved(
    query: Query, titles: Mapping[str, str], by_title: Mapping[str, str]
) -> tuple[Query, list[str]]:
    """Gold by page id where the corpus has it, else by title; its own id stays for the way out."""
    lost: list[str] = []

    def moved(entry: Any) -> Any:
        if entry.page in titles:
            return entry
        page = by_title.get(plain_title(entry.title or ""))
        if page is None:
            lost.append(entry.page)
            return entry
        own = entry.page.partition(":")[2]
        kept = {"wikipedia_id": own, **entry.attributes}
        return msgspec.structs.replace(entry, page=page, attributes=kept)

    return move_gold(query, moved), lost


def _with_title_set(query: Query, titles: Mapping[str, str], sets: Mapping[str, NameSet]) -> Query:
    keys = [title_key(titles[page]) for page in sorted(query.gold_pages()) if page in titles]
    name_set = next((sets[key] for key in keys if key in sets), None)
    return msgspec.structs.replace(
        query,
        name_set=name_set.id if name_set else None,
        attributes={**query.attributes, "shared_name": name_set is not None if keys else None},
    )


def _report_problems(corpus: Corpus) -> None:
    if corpus.problems:
        first = [f"{query}: {problem_list[0]}" for query, problem_list in corpus.problems.items()]
        shown = sample(first, 3, count=corpus.problem_count)
        talk(f"{corpus.problem_count} records have gold that the corpus does not hold: {shown}")


def _report_inputs(read: Sequence[ReadFile]) -> None:
    for part in read:
        if part.without_input:
            talk(
                f"{part.path.name}: {part.without_input} of {len(part.queries)} records have no input; "
                "KILT publishes ids only, join TriviaQA's own questions with --originals FILE"
            )


def _datasets(read: Sequence[ReadFile]) -> list[Dataset]:
    return [part.dataset for part in read if part.dataset]


def _licence(known: Dataset | None) -> dict[str, str]:
    return {"licence": known.licence, "citation": known.citation} if known else {}


def _line(error: BadInput) -> bytes:
    problem = {"file": error.file, "line": error.line, "ids": error.ids, "error": error.message}
    return msgspec.json.encode(problem) + b"\n"


def _card(read: Sequence[ReadFile], corpus: Corpus, counts: Mapping[str, int]) -> str:
    lines = ["# KILT", "", corpus.origin, ""]
    for part in read:
        title = part.dataset.title if part.dataset else part.path.name
        lines.append(f"- {title}, {part.split}: {len(part.queries):,} records")
        if part.dataset:
            lines.append(f"  metric {part.dataset.metric}; licence: {part.dataset.licence}")
            lines.append(f"  {part.dataset.citation}")
    counts_text = ", ".join(
        f"{key.replace('_', ' ')} {value:,}" for key, value in counts.items() if value
    )
    return "\n".join([*lines, "", f"Counts: {counts_text}.", "", PAPER, ""])


# KILT's files as training data.


class KiltFiles:
    """A .jsonl of KILT's with outputs."""

    title = "KILT"

    def reads(self, head: bytes) -> bool:
        return b'"id"' in head and b'"output"' in head

    def reads_folder(self, folder: Path) -> bool:
        return False

    def benchmark(
        self,
        source: Path,
        files: Sequence[Path],
        corpus: TrainingDataCorpus,
        work: Path,
        place: Path,
    ) -> Benchmark:
        return import_kilt(
            files,
            place,
            Plan(knowledge=corpus.knowledge, split=_split(files)),
        )


def _split(files: Sequence[Path]) -> str | None:
    """A file of anybody's own is to learn from, unless its name says dev or test."""
    if all(dataset_and_split(file) for file in files):
        return None
    return split_mark(files[0].name) or TRAIN
