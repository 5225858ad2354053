"""KILT's files as a benchmark: over a knowledge base, over anybody's passages, or for scoring only."""

import contextlib
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark, given_corpus, save_benchmark
from whichone.benchmarks.benchmark_tables import UsedSets
from whichone.benchmarks.gold import GoldCheck, gold_titles, move_gold, titles_asked
from whichone.corpus.corpus import Corpus
from whichone.corpus.cut import ARTICLE, Cut, cut_corpus
from whichone.corpus.page_names import names_of_pages
from whichone.corpus.passage_files import PassageFields, pages_by_title, plain_title, sets_from_titles
from whichone.corpus.save import PageNames, corpus_beside
from whichone.errors import BadInput, UsageError, sample
from whichone.files.arrow_records import KeyedTable, MappedRecords, Seen, blocks
from whichone.files.folder import file_hash
from whichone.names import title_key
from whichone.options import OnError, Option
from whichone.papers.kilt.kilt_files import Originals, ReadFile, read_file, unique_ids
from whichone.papers.kilt.kilt_record import PAPER, SOURCE, Split, Task, dataset_and_split, page_problems
from whichone.papers.kilt.snapshot_pages import GoldNamesakes, Snapshot
from whichone.progress import talk
from whichone.records import NameSet, Passage, Query
from whichone.training.held_out import TRAIN, split_mark
from whichone.training.training_data import TrainingCorpus as TrainingDataCorpus

BLOCK = 4_096
SKIPPED = "skipped.jsonl"
SHOWN = 100  # So many queries with problems are described
# So many queries are looked up in a knowledge base together: each time its tables of names are read.
GOLD_AT_ONCE = 50_000


def page_lengths(
    snapshot: Snapshot, queries: Iterable[Query], near: str | Path | None
) -> KeyedTable[list[int]]:
    """For each gold page that the knowledge base has, how many characters each of its paragraphs has."""
    wanted = Seen()
    for block in blocks(queries, BLOCK):
        pages = [page for query in block for page in query.gold_pages()]
        wanted.add(pages, [0] * len(pages))
    pairs = (
        (pages[place], lengths[offsets[place] : offsets[place + 1]])
        for pages, lengths, offsets in snapshot.paragraph_lengths()
        for place, known in enumerate(wanted.numbers_of(pages))
        if known is not None
    )
    return KeyedTable.of_pairs(pairs, pa.list_(pa.int32()), lambda table: table["value"].to_pylist(), near)


class KiltCorpus(msgspec.Struct):
    """What the queries are asked of: passages, name sets, and what could not be found there."""

    queries: Sequence[Query]
    passages: pa.RecordBatchReader | Corpus | list[Passage]
    names: PageNames = ()
    sets: Iterable[NameSet] = ()
    problems: dict[str, list[str]] = {}  # Of the first queries that have some
    problem_count: int = 0
    origin: str = "The files name pages but hold no text: it can be scored, not searched."

    def note(self, query: Query, problems: list[str]) -> None:
        if problems:
            self.problem_count += 1
            if len(self.problems) < SHOWN:
                self.problems[query.id] = problems


class KiltPlan(msgspec.Struct, frozen=True, kw_only=True):
    dataset: Annotated[str | None, Option("Of all files; else recognised by their names.")] = None
    task: Annotated[Task | None, Option("Of files that are none of the eleven datasets.")] = None
    split: Annotated[Split | None, Option("Where the file's name does not say it.")] = None
    knowledge: Annotated[str | None, Option("A knowledge base.", kind="exists")] = None
    passages: Annotated[str | None, Option("A file of your own passages.", kind="exists")] = None
    page_field: Annotated[str | None, Option("Field of the passages that contains the page id.")] = None
    words: Annotated[int, Option("Words a passage; 0 keeps pages whole.")] = 100
    originals: Annotated[
        tuple[str, ...], Option("TriviaQA's own files or archive, for its questions.", kind="exists")
    ] = ()
    on_error: OnError = "fail"
    source: str = SOURCE


def read_kilt(
    files: Sequence[str | Path], plan: KiltPlan, held: Corpus | None = None, near: str | Path | None = None
) -> tuple[list[ReadFile], KiltCorpus]:
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
    queries = read[0].queries if len(read) == 1 else MappedRecords(Query, near).extend(unique_ids(read))
    if not queries:
        raise BadInput("there are no records", file=files[0] if files else None)
    for part in read:
        if part.without_input:
            talk(
                f"{part.path.name}: {part.without_input} of {len(part.queries)} records have no input; "
                "KILT publishes ids only, join TriviaQA's own questions with --originals FILE"
            )
    if plan.knowledge:
        return read, _over_knowledge(queries, plan, near)
    if plan.passages:
        origin = f"Asked of the passages of `{Path(plan.passages).name}`."
        with contextlib.ExitStack() as stack:
            if held is None:
                place = stack.enter_context(tempfile.TemporaryDirectory())
                held = stack.enter_context(_passages(Path(place) / "kilt", plan))
            return read, _over_titles(queries, held, held, origin, plan.passages, near)
    if (given := given_corpus()) is not None:
        origin = f"Asked of the corpus {given.id}."
        where = str(given.folder.root) if given.folder is not None else given.id
        return read, _over_titles(queries, given, [], origin, where, near)
    return read, KiltCorpus(queries=queries, passages=[])


def import_kilt(files: Sequence[str | Path], out: str | Path, plan: KiltPlan) -> Benchmark:
    with contextlib.ExitStack() as stack:
        held = stack.enter_context(_passages(out, plan)) if plan.passages else None
        read, corpus = read_kilt(files, plan, held, out)
        bad = [error for part in read for error in part.bad]
        skipped = [{"file": e.file, "line": e.line, "ids": e.ids, "error": e.message} for e in bad]
        counts = summary(read, corpus)
        datasets = [part.dataset for part in read if part.dataset]
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
        return save_benchmark(
            out,
            name="-".join(dict.fromkeys(d.name for d in datasets))
            if 0 < len(datasets) <= 3
            else ("kilt" if datasets else Path(files[0]).name.split(".")[0]),
            queries=corpus.queries,
            passages=corpus.passages,
            names=corpus.names,
            sets=corpus.sets,
            card="\n".join([*lines, "", f"Counts: {counts_text}.", "", PAPER, ""]),
            parameters={"format": "kilt", **msgspec.to_builtins(plan)},
            sources=[
                {"file": part.path.name, "sha256": file_hash(part.path)}
                | ({"licence": d.licence, "citation": d.citation} if (d := part.dataset) else {})
                for part in read
            ],
            counts=counts,
            allow_no_gold=True,
            files={SKIPPED: msgspec.json.Encoder().encode_lines(skipped)} if bad else None,
        )


def summary(read: Sequence[ReadFile], corpus: KiltCorpus) -> dict[str, int]:
    counts = {
        "queries": len(corpus.queries),
        "without_output": 0,
        "without_provenance": 0,
        "without_input": sum(part.without_input for part in read),
        "skipped": sum(len(part.bad) for part in read),
        "gold_problems": corpus.problem_count,
    }
    shared_names: Counter[bool] = Counter()
    for query in corpus.queries:
        gold = bool(query.gold_pages())
        counts["without_output"] += not query.outputs
        counts["without_provenance"] += bool(query.outputs) and not gold
        if gold and "shared_name" in query.attributes:
            shared_names[bool(query.attributes["shared_name"])] += 1
    return {**counts, "about_shared_names": shared_names[True]} if shared_names else counts


def _over_knowledge(queries: Sequence[Query], plan: KiltPlan, near: str | Path | None) -> KiltCorpus:
    base = plan.knowledge or ""
    snapshot = Snapshot(base)
    placed, sets, check = MappedRecords(Query, near), UsedSets(near), GoldCheck()
    cut = Cut(way="words", size=plan.words) if plan.words else Cut(way="pages")
    corpus = KiltCorpus(
        queries=placed,
        passages=cut_corpus(snapshot.folder, cut, kind=ARTICLE),
        names=names_of_pages(snapshot.folder),
        sets=sets,
        problems={},
        origin=f"Asked of the articles of the knowledge base {Path(base).name}.",
    )
    lengths = page_lengths(snapshot, queries, near)
    for block in blocks(queries, GOLD_AT_ONCE):
        gold = sorted({page for query in block for page in query.gold_pages()})
        known = {page: own for page, own in zip(gold, lengths.many(gold), strict=True) if own is not None}
        for query in block:
            corpus.note(query, page_problems(query, known))
        check.add(block, known)
        namesakes = GoldNamesakes(base, gold)
        results = [namesakes.place(query) for query in block]
        sets.add(s for s in namesakes.sets.values() if s.id in {query.name_set for query in results})
        placed.extend(results)
    _report_problems(corpus)
    check.end(base)
    return corpus


def _passages(out: str | Path, plan: KiltPlan) -> contextlib.AbstractContextManager[Corpus]:
    file = plan.passages or ""
    return corpus_beside(out, file, PassageFields(page=plan.page_field), plan.source, name=Path(file).name)


def _over_titles(
    queries: Sequence[Query],
    asked: Corpus,
    passages: Corpus | list[Passage],
    origin: str,
    place: str,
    near: str | Path | None,
) -> KiltCorpus:
    placed, used, check = MappedRecords(Query, near), UsedSets(near), GoldCheck()
    result = KiltCorpus(queries=placed, passages=passages, sets=used, problems={}, origin=origin)
    for block in blocks(queries, BLOCK):
        gold = {page for query in block for page in query.gold_pages()}
        titles = titles_asked(asked, gold, gold_titles(block))
        by_title = pages_by_title((page, plain_title(title)) for page, title in titles.items())
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


def _moved(query: Query, titles: Mapping[str, str], by_title: Mapping[str, str]) -> tuple[Query, list[str]]:
    """Gold by page id where the corpus has it, else by title; its own id stays for the way out."""
    lost: list[str] = []

    def moved(entry: Any) -> Any:
        if entry.page in titles:
            return entry
        if (page := by_title.get(plain_title(entry.title or ""))) is None:
            lost.append(entry.page)
            return entry
        kept = {"wikipedia_id": entry.page.partition(":")[2], **entry.attributes}
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


def _report_problems(corpus: KiltCorpus) -> None:
    if corpus.problems:
        first = [f"{query}: {problem_list[0]}" for query, problem_list in corpus.problems.items()]
        shown = sample(first, 3, count=corpus.problem_count)
        talk(f"{corpus.problem_count} records have gold that the corpus does not hold: {shown}")


class KiltFiles:
    """A .jsonl of KILT's with outputs."""

    title = "KILT"

    def reads(self, head: bytes) -> bool:
        return b'"id"' in head and b'"output"' in head

    def reads_folder(self, folder: Path) -> bool:
        return False

    def benchmark(
        self, source: Path, files: Sequence[Path], corpus: TrainingDataCorpus, work: Path, place: Path
    ) -> Benchmark:
        """A file of anybody's own is to learn from, unless its name says dev or test."""
        known = all(dataset_and_split(file) for file in files)
        split = None if known else split_mark(files[0].name) or TRAIN
        plan = msgspec.convert({"knowledge": corpus.knowledge, "split": split}, KiltPlan)
        return import_kilt(files, place, plan)
