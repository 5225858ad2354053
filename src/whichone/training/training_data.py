"""From what a user names to what is learned from, what training is watched on, and what is never seen."""

import functools
import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, Protocol

import msgspec
from msgspec.structs import replace

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark, over_corpus
from whichone.benchmarks.benchmark_tables import KIND as BENCHMARK
from whichone.benchmarks.relations import question_in_words
from whichone.corpus.corpus import Corpus as Passages
from whichone.corpus.cut import Cut
from whichone.corpus.save import make_corpus
from whichone.errors import NAMED, BadInput, Missing, UsageError
from whichone.files.arrow_records import MappedRecords, Selection
from whichone.files.folder import file_hash, folder_kinds
from whichone.files.lines import open_binary, read_json_lines
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.names import name_key, without_parentheses
from whichone.options import Option
from whichone.progress import progress, talk
from whichone.records import Output, Provenance, Query
from whichone.runs.retrieve import default_index_folder
from whichone.runs.run import open_corpus
from whichone.training import held_out
from whichone.training.examples import Example, ExampleMaker, each_dpr, each_example, nothing_to_learn
from whichone.training.trainer import TrainingSettings

# What a user names as training data: benchmarks, knowledge bases, and the files of the papers.
# A folder is a benchmark, a knowledge base (EntityQuestions are built of it) or a paper's own. A file's
# first records say what it is: our examples, DPR's training json, or what a paper offers to read
# (`SOURCES`). Papers' files contain no passages, so they need a corpus.


EXAMPLES, DPR = "examples", "DPR's json"
_HEAD = 1 << 20


class TrainingCorpus(msgspec.Struct, frozen=True):
    """Where the pages are that a question file speaks of: passages, a knowledge base or a corpus folder."""

    passages: Annotated[
        str | None,
        Option(
            "The corpus of sources that contain none (KILT, EntityQuestions): .jsonl, .tsv, BEIR.",
            kind="path",
        ),
    ] = None
    knowledge: Annotated[str | None, Option("Or a knowledge base as their corpus.", kind="path")] = None
    folder: Annotated[
        str | None,
        Option(
            "Or a corpus that exists (`whichone corpus`); one for all sources.",
            flags=("--corpus",),
            kind="exists",
        ),
    ] = None

    def check(self) -> None:
        if self.passages and self.knowledge:
            raise UsageError("give a knowledge base or passages, not both")
        if self.folder and (self.passages or self.knowledge):
            raise UsageError("give --corpus, or --passages or --knowledge to make one of")


class TrainingSource(Protocol):
    """A paper's question files as training data."""

    title: str  # What users call the files

    def reads(self, head: bytes) -> bool:
        """Whether a file that begins so is one of them."""
        ...

    def reads_folder(self, folder: Path) -> bool:
        """Whether a folder that is none of ours has such files in it."""
        ...

    def benchmark(
        self, source: Path, files: Sequence[Path], corpus: TrainingCorpus, work: Path, place: Path
    ) -> Benchmark:
        """The questions as a benchmark at `place`, over the corpus that all sources share (`given_corpus`)."""
        ...


def _offered() -> dict[str, TrainingSource]:
    sources: list[TrainingSource] = [kind() for kind in registry.every("sources").values()]
    return {source.title: source for source in sources}


def kind_of(source: str | Path) -> str:
    """What a source is, recognised by its manifest or its first record."""
    place = Path(source)
    if str(source).startswith("builtin/") and not place.exists():
        return BENCHMARK
    if not place.exists():
        raise Missing("there is no such file or folder", where=str(source))
    if place.is_dir():
        if (held := dict(folder_kinds(place)).get(place)) in (BENCHMARK, KNOWLEDGE_BASE):
            return held
        if held is None and not (place / ".partial").exists():
            for title, offered in _offered().items():
                if offered.reads_folder(place):
                    return title
        return BENCHMARK  # whose opening says what is wrong with it
    with open_binary(place) as file:
        head = file.read(_HEAD)
    for kind, marks in (
        (DPR, (b'"positive_ctxs"', b'"question"')),
        (EXAMPLES, (b'"positive"', b'"question"')),
    ):
        if all(mark in head for mark in marks):
            return kind
    for title, offered in _offered().items():
        if offered.reads(head):
            return title
    raise BadInput(
        "this is no training data that is known here",
        file=place,
        hint="a benchmark, a knowledge base, examples.jsonl of a training, DPR's json,"
        " a KILT .jsonl with outputs, or EntityQuestions .json",
    )


def source_benchmark(source: str | Path, corpus: TrainingCorpus, work: Path) -> Benchmark:
    """The benchmark that a source is or becomes; what was made once is in `work`."""
    if (kind := kind_of(source)) == BENCHMARK:
        return Benchmark.open(source)
    if kind == KNOWLEDGE_BASE:
        place = _place(work, kind, [Path(source) / "manifest.json"])
        if not place.exists():
            talk(f"{source}: building EntityQuestions of the knowledge base")
            registry.find("training_builds", "knowledge base")(source, place)
        return Benchmark.open(place)
    _need_corpus(source, kind, corpus)
    files = [Path(source)] if Path(source).is_file() else sorted(Path(source).rglob("*.json*"))
    place = _place(work, kind, [*files, *_files_of(corpus)])
    if place.exists():
        return Benchmark.open(place)
    with over_corpus(shared_corpus(corpus, work)):
        return _offered()[kind].benchmark(Path(source), files, corpus, work, place)


def shared_corpus(corpus: TrainingCorpus, work: Path) -> Passages:
    """The one corpus that the questions of all sources are asked of; what was made once is in `work`."""
    if corpus.folder:
        return open_corpus(corpus.folder)
    made_of = corpus.passages or corpus.knowledge or ""
    place = _place(work, "corpus", _files_of(corpus))
    if (place / "manifest.json").exists():
        return Passages.open(place)
    talk(f"{made_of}: made into a corpus for all sources")
    return make_corpus(made_of, place, cut=Cut(way="words", size=100))


def _files_of(corpus: TrainingCorpus) -> list[Path]:
    if corpus.passages:
        return [Path(corpus.passages)]
    return [Path(corpus.folder or corpus.knowledge or "") / "manifest.json"]


def _need_corpus(source: str | Path, kind: str, corpus: TrainingCorpus) -> None:
    corpus.check()
    if not (corpus.passages or corpus.knowledge or corpus.folder):
        raise UsageError(
            f"a file of {kind} contains questions, not passages",
            where=str(source),
            hint="name the corpus: --corpus CORPUS, --passages FILE (.jsonl, .tsv, BEIR) or --knowledge KB",
        )


def _place(work: Path, kind: str, files: Sequence[Path]) -> Path:
    """A folder that only what it is made of decides."""
    digest = hashlib.sha256(kind.encode())
    for named in files:
        for file in [named] if named.is_file() else sorted(named.glob("corpus.jsonl*")):
            state = file.stat()
            digest.update(f"{file.name}\0{_hash(file, state.st_mtime_ns, state.st_size)}\0".encode())
    work.mkdir(parents=True, exist_ok=True)
    return work / digest.hexdigest()[:12]


@functools.cache
def _hash(file: Path, changed: int, size: int) -> str:
    """Of a large file of passages, which every source names, once."""
    return file_hash(file)


Disjoint = Literal["splits", "names", "tokens"]
SIMILAR = "similar"  # The set of EntityQuestions' reworded questions
WATCHED = 0.1  # Share of the names to learn from by which training stops early
# The mark of what is not learned from where reworded questions alone are wanted.
OTHER_WORDING = "in other words"


class LearningPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Which data, and what must not be learned from.

    `disjoint` says what may not be shared: "splits" trusts a benchmark's own splits within a relation,
    "names" trusts none, "tokens" asks that no word of a name be shared either. Of questions without a
    relation none are left out by `relations`.
    """

    sources: tuple[str, ...] = ()
    held_out: Annotated[
        float, Option("Share of names never seen, of a benchmark without a training split.")
    ] = 0.2
    test: Annotated[
        tuple[str, ...], Option("A benchmark whose names must not be learned from.", kind="path")
    ] = ()
    dev: Annotated[
        tuple[str, ...],
        Option(
            "A benchmark whose dev records choose the best epoch and end the training; their names must not be "
            "learned from.",
            kind="path",
        ),
    ] = ()
    drop_leaks: Annotated[bool, Option("Leave out examples that share a name with test data.")] = False
    disjoint: Annotated[
        Disjoint,
        Option(
            "What training and test may not share: names, but within a relation in a benchmark's own "
            "splits (splits), names everywhere (names), or no word of a name either (tokens)."
        ),
    ] = "splits"
    learn_from_dev: Annotated[
        bool, Option("Learn from records marked dev or test as well; without it they are refused.")
    ] = False
    similar: Annotated[bool, Option("Learn from reworded questions (EntityQuestions' FT w/ similar).")] = (
        False
    )
    relations: Annotated[
        tuple[str, ...],
        Option(
            "Of questions that have a relation, learn from this one's alone: P19. Several may be named.",
            flags=("--relation",),
        ),
    ] = ()
    # Ask slots by their published template questions, as readers of questions are asked.
    in_words: bool = False
    corpus: TrainingCorpus = TrainingCorpus()

    def wants(self, record: Example | Query) -> bool:
        """Whether a record is learned from where only some relations are."""
        return not (self.relations and record.relation) or record.relation in self.relations


class LearningSource(msgspec.Struct, Generic[held_out.A], frozen=True):
    """What one source gives to learn from: queries of its benchmark, or examples of a file with passages."""

    name: str
    records: Sequence[held_out.A]
    taken: held_out.Taken
    test: Sequence[Query] = ()  # What of it is never seen
    own_split: bool = False
    benchmark: Any = None


def learned_sources(
    plan: LearningPlan, seed: int, work: Path
) -> tuple[list[LearningSource[Any]], Sequence[Query]]:
    """What each source gives, and all queries that are never learned from; both are on disk.

    Refused, or left out, is what test data have the names of.
    """
    if not plan.sources:
        raise UsageError("nothing to learn from", hint="name benchmarks or files of examples")
    sources = [_source(name, plan, seed, work) for name in plan.sources]
    named: MappedRecords[Query] = MappedRecords(Query)
    named.extend(q for place in plan.test for q in Benchmark.open(place).queries)
    apart = {source.benchmark.id for source in sources if source.own_split}
    for watched in dev_sources(plan):  # dev records of those are not learned from
        named.extend(() if watched.benchmark.id in apart else watched.records)
    unseen = MappedRecords(Query, work).extend(query for source in sources for query in source.test)
    unseen.extend(named)
    if plan.relations and not any(source.records for source in sources):
        raise BadInput(
            f"no question to learn from is of {', '.join(plan.relations)}",
            file=", ".join(plan.sources),
            hint="relations are named as the benchmark names them: P19 (`whichone show BENCH`)",
        )
    tokens = plan.disjoint == "tokens"
    tests = [held_out.HeldOutKeys(source.test, tokens=tokens) for source in sources]
    others = held_out.HeldOutKeys(named, tokens=tokens)
    kept: list[LearningSource[Any]] = []
    for number, source in enumerate(sources):
        own = source.own_split and plan.disjoint == "splits" and len(source.test) > 0
        within = [held_out.HeldOutKeys(source.test, within_relation=True)] if own else []
        across = [keys for n, keys in enumerate(tests) if n != number or not own] + [others]
        records = source.records
        if plan.drop_leaks:
            for keys in (within, across):
                records = held_out.without(records, held_out.Leaks(records, keys))
        for keys in (within, across):
            held_out.refuse(held_out.Leaks(records, keys))
        dropped = len(source.records) - len(records)
        taken = replace(source.taken, taken=source.taken.taken - dropped, shared=dropped)
        kept.append(replace(source, records=records, taken=taken))
    if not any(source.records for source in kept):
        raise BadInput("every example shares something with the test data")
    return kept, unseen


def _source(name: str, plan: LearningPlan, seed: int, work: Path) -> LearningSource[Any]:
    if (examples := {EXAMPLES: each_example, DPR: each_dpr}.get(kind_of(name))) is not None:
        return _of_file(name, examples, plan, work)
    return taken_queries(name, source_benchmark(name, plan.corpus, work), plan, seed, work)


def _of_file(
    name: str, examples: Callable[[str], Iterator[Example]], plan: LearningPlan, work: Path
) -> LearningSource[Example]:
    """A file's examples: read twice, first for the marks alone."""
    whole = held_out.split_mark(Path(name).name)

    def marked() -> Iterator[tuple[Example, str | None]]:
        return ((e, held_out.split_mark(e.split) or whole) for e in examples(name))

    every, left = held_out.taken_marks(
        name, (mark for _, mark in marked()), learn_from_dev=plan.learn_from_dev
    )
    records, other = MappedRecords(Example, work), 0
    for example, mark in marked():
        if every or mark == held_out.TRAIN:
            other += not plan.wants(example)
            if plan.wants(example):
                records.append(example)
    return LearningSource(name, records, held_out.Taken(name, len(records), left, other_relations=other))


class TrainingData(msgspec.Struct, frozen=True):
    """Examples, which are on disk, and the queries that are never learned from."""

    learn: Sequence[Example]
    watch: Sequence[Example]
    never_seen: Sequence[Query]
    taken: list[held_out.Taken] = []


def training_data(plan: LearningPlan, settings: TrainingSettings, work: Path) -> TrainingData:
    """Examples of all sources to learn from, and those by which training stops: of `dev`, or of some names."""
    sources, unseen = learned_sources(plan, settings.seed, work)
    examples, dev, taken = MappedRecords(Example, work), MappedRecords(Example, work), []
    for source in sources:
        own = source.name if settings.per_source else ""
        taken.append(_add_examples(source, examples, plan, settings, own))
        held_out.report_taken(taken[-1])
    for source in dev_sources(plan):
        _add_examples(source, dev, plan, settings, "")
    learn, watch = (examples, dev) if plan.dev else watched(examples, settings.seed)
    talk(
        f"{len(learn)} examples to learn from ({kinds_text(learn, settings.kinds)}), {len(watch)} to stop by"
    )
    return TrainingData(learn, watch, unseen, taken)


def dev_sources(plan: LearningPlan) -> Iterator[LearningSource[Query]]:
    """The benchmarks to stop by: records marked dev, else those not marked train, else all."""
    for place in plan.dev:
        benchmark = Benchmark.open(place)
        marked = list(held_out.all_queries(benchmark))
        queries = [q for q, mark in marked if mark == held_out.DEV] or [
            q for q, mark in marked if mark != held_out.TRAIN
        ]
        queries = queries or [q for q, _ in marked]
        yield LearningSource(place, queries, held_out.Taken(place, len(queries)), benchmark=benchmark)


def watched(examples: Sequence[Example], seed: int) -> tuple[Sequence[Example], Sequence[Example]]:
    """The examples to learn from, and those of some names by which training stops early."""
    learn, watch = array("q"), array("q")
    for place, example in enumerate(examples):
        (watch if held_out.share_of(example.name or example.id, seed + 1) < WATCHED else learn).append(place)
    return Selection(examples, learn), Selection(examples, watch)


def kinds_text(examples: Iterable[Example], wanted: Sequence[str]) -> str:
    """What is learned from; an example may contain more kinds of wrong passages than were asked for."""
    there = Counter(n.kind for e in examples for n in e.negatives if n.kind in (*wanted, "given"))
    named = ", ".join(f"{n} {kind}" for kind, n in sorted(there.items())) if wanted else ""
    return f"negatives: {named or 'of the batch only'}"


def _add_examples(
    source: LearningSource[Any],
    examples: MappedRecords[Example],
    plan: LearningPlan,
    settings: TrainingSettings,
    own: str,
) -> held_out.Taken:
    """The examples of a source, added to those of the others; what was taken of it."""
    if source.benchmark is None:
        examples.extend(replace(e, source=own) if own else e for e in source.records)
        return source.taken
    maker = ExampleMaker(
        source.benchmark,
        default_index_folder(source.benchmark.corpus),
        kinds=settings.kinds,
        most=max(4, settings.hard),
        seed=settings.seed,
    )
    lacking: list[str] = []
    first, lost = len(examples), 0
    with progress(f"examples of {Path(source.name).name}", len(source.records)) as advance:
        for query, example in maker.stream(source.records):
            advance(1)
            if example is None:
                lost += 1
                lacking += [query.id] if len(lacking) < NAMED else []
                continue
            asked = question_in_words(query) if plan.in_words else example.question
            examples.append(replace(example, question=asked, source=own))
    if len(examples) == first and len(source.records):
        raise nothing_to_learn(lacking)
    return replace(source.taken, taken=len(examples) - first, without_passage=lost)


def taken_queries(
    source: str, benchmark: Benchmark, plan: LearningPlan, seed: int, near: Path | None = None
) -> LearningSource[Query]:
    """Those marked train where anything is marked, and all else unseen; otherwise split by name.

    A benchmark that was built of a knowledge base to learn from is marked for nobody else. Both kinds of
    queries are on the disk of `near`.
    """
    if not 0 <= plan.held_out < 1:
        raise UsageError("the held-out share is 0 or more and below 1")
    has_facts = next(training_facts(benchmark, similar=plan.similar), None) is not None
    free = plan.learn_from_dev or (not has_facts and kind_of(source) == KNOWLEDGE_BASE)
    counts = Counter(
        (query.attributes.get("set") == SIMILAR, mark) for query, mark in held_out.all_queries(benchmark)
    )
    wording = _wording(benchmark, counts, has_facts, similar=plan.similar)

    def records() -> Iterator[tuple[Query, str | None, str | None]]:
        """Queries with their own mark, and the mark by which they are taken."""
        for query, mark in held_out.all_queries(benchmark):
            wanted = wording is None or (query.attributes.get("set") == SIMILAR) is wording
            yield query, mark, mark if wanted else OTHER_WORDING
        for fact in training_facts(benchmark, similar=plan.similar):
            yield fact, held_out.TRAIN, held_out.TRAIN

    every, left = held_out.taken_marks(source, (mark for _, _, mark in records()), learn_from_dev=free)
    own_split = not free and (has_facts or any(mark for _, mark in counts))
    train, unseen = MappedRecords(Query, near), MappedRecords(Query, near)
    other = 0
    for query, own, mark in records():
        learn = every or mark == held_out.TRAIN
        if not own_split:
            learn = learn and held_out.share_of(held_out.name_of(query), seed) >= plan.held_out
        if learn and plan.wants(query):
            train.append(query)
        other += learn and not plan.wants(query)
        if (own != held_out.TRAIN) if own_split else not learn:
            unseen.append(query)
    taken = held_out.Taken(source, len(train), left, other_relations=other)
    if not own_split:
        taken = replace(taken, left={}, names_held_out=len(unseen))
    return LearningSource(source, train, taken, unseen, own_split, benchmark)


def _wording(
    benchmark: Benchmark, counts: Mapping[tuple[bool, str | None], int], facts: bool, *, similar: bool
) -> bool | None:
    """Whether reworded questions are learned from, or the others; None for both.

    The release asks the same facts in both wordings, so that together they would be learned twice.
    """
    known = bool(facts or counts.get((similar, held_out.TRAIN)))
    if similar and not known:
        raise UsageError(
            f"{benchmark.name} has no reworded questions to learn from",
            hint="build entityquestions with relations that have some (P19, P159, P170), or import similar/",
        )
    return similar if known and (similar or len({reworded for reworded, _ in counts}) > 1) else None


def training_facts(benchmark: Benchmark, *, similar: bool = False) -> Iterator[Query]:
    """The token-disjoint training facts that built EntityQuestions keep beside their queries.

    `similar` takes them as they are asked in other words, and those alone that can be.
    """
    if not benchmark.folder.has("train.jsonl"):
        return
    file = benchmark.folder.path("train.jsonl")
    titles = benchmark.page_titles
    for line, fact in read_json_lines(file):
        try:
            if similar and "reworded" not in fact:
                continue
            yield _training_query(fact, titles, "reworded" if similar else "question")
        except (KeyError, TypeError) as error:
            raise BadInput(f"not a training fact: {error!r}", file=file, line=line) from error


def _training_query(fact: dict[str, Any], titles: Mapping[str, str], wording: str) -> Query:
    page = fact["page"]
    gold = ((Provenance(page=page, title=titles.get(page)),),)
    answer, *aliases = fact["answers"]
    bare = without_parentheses(titles.get(page, ""))  # a question may use another of its names
    return Query(
        id=f"train-{fact['id']}",
        task="EntityQuestions",
        input=fact[wording],
        outputs=(Output(answer=answer, aliases=tuple(aliases), provenance=gold),),
        name=bare if bare and name_key(bare) in name_key(fact["question"]) else None,
        relation=fact["relation"],
        entity=fact["subject"],
        attributes={"split": "train"},
    )
