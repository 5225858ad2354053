"""`whichone build amber`: a knowledge base in, a benchmark of AmbER sets out."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, Unpack

import msgspec
import numpy as np
import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark, card_text, given_corpus, save_benchmark
from whichone.benchmarks.relations import Account
from whichone.corpus.corpus import PASSAGES
from whichone.corpus.cut import Cut, Way, cut_corpus, origin_of
from whichone.corpus.page_names import names_of_pages
from whichone.corpus.save import made_meanwhile
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.files.output import one_at_a_time
from whichone.knowledge.engines import knowledge_tables, opened_engine
from whichone.knowledge.knowledge_tables import KIND, language_asked
from whichone.options import EngineOptions, Option
from whichone.papers.amber.alignment import value_book
from whichone.papers.amber.amber_tables import property_shares, set_statistics
from whichone.papers.amber.auto_properties import with_properties
from whichone.papers.amber.collection import (
    PAPER,
    PUBLISHED,
    TUPLES_FILE,
    AmberRules,
    AmberSet,
    Collection,
    Popularity,
    load_collection,
    rules_called,
    tuple_record,
)
from whichone.papers.amber.distinguishing import Pipeline
from whichone.papers.amber.instantiate import TASKS, Instantiation, set_id
from whichone.papers.amber.one_name import NameFigure, check_before, draw
from whichone.papers.amber.sets import amber_sets, relational_steps
from whichone.records import Bearer, NameSet, Query, without_collector

Extent = Literal["all", "sets", "none"]


class BuiltSets(msgspec.Struct):
    sets: list[AmberSet]
    queries: list[Query]
    account: Account


class AmberOptions(msgspec.Struct, frozen=True, kw_only=True):
    rules: Annotated[
        Literal["paper", "published"], Option("The paper's rules, or exactly what the released program does.")
    ] = "paper"
    gap: Annotated[float | None, Option("Smallest lead of the head, such as 0.1.")] = None
    gap_scale: Annotated[Literal["views", "log10"] | None, Option("What the lead is measured on.")] = None
    gap_denominator: Annotated[Literal["tail", "mean"] | None, Option("What the lead is divided by.")] = None
    wording: Annotated[
        Literal["clean", "published"] | None,
        Option(
            "Clean English, or the released templates with their mistakes; clean unless --rules published."
        ),
    ] = None
    popularity: Annotated[
        Popularity | None, Option("What makes a head; the collection says, views if it does not.")
    ] = None
    min_name_share: Annotated[
        float | None,
        Option("Only names that this share of the links to a bearer use, such as 0.01.", metavar="SHARE"),
    ] = None
    properties: Annotated[
        tuple[str, ...],
        Option(
            "Instead of the collection's: those that are selective and stated in pages, or these.",
            kind="words",
            metavar="auto|P,P,...",
        ),
    ] = ()
    language: Annotated[
        str, Option("Language of names and templates; en, of a knowledge base in no other.")
    ] = ""
    tasks: Annotated[tuple[str, ...], Option("Tasks to make queries for.", kind="words")] = TASKS
    pages: Annotated[Extent, Option("Passages of all pages, of the bearers' pages only, or none.")] = "all"
    passages: Annotated[Way, Option("How pages are cut.")] = "words"
    passage_size: Annotated[int, Option("Words or tokens of a passage.")] = 100

    def chosen_rules(self) -> AmberRules:
        given = ("gap", "gap_scale", "gap_denominator", "min_name_share", "wording")
        return rules_called(self.rules, **{name: getattr(self, name) for name in given})


class How(TypedDict, total=False):
    """How the pipeline runs: what every way into it may be given."""

    popularity: Popularity | None
    language: str
    engine: EngineOptions
    properties: Sequence[str]  # In place of the collection's own; ("auto",) finds them


@contextmanager
def opened_pipeline(
    kb: Folder, collection: Collection, rules: AmberRules, **how: Unpack[How]
) -> Iterator[Pipeline]:
    language = language_asked(kb, how.get("language", ""))
    with opened_engine(kb, how.get("engine")) as opened:
        pipeline = Pipeline(
            opened,
            knowledge_tables(opened, kb),
            collection,
            rules,
            popularity=how.get("popularity") or collection.popularity,
            language=language,
        )
        if properties := how.get("properties"):
            pipeline.collection = with_properties(pipeline, properties)
        yield pipeline


def build(pipeline: Pipeline, where: str, tasks: Sequence[str] = TASKS) -> BuiltSets:
    """Checks, relations, values, alignment, queries: everything but the writing."""
    account = check_before(pipeline, where)
    pipeline.run()
    relational_steps(pipeline, account)
    book = value_book(pipeline, claims="fc" in tasks)
    sets = amber_sets(pipeline, book, account)
    return BuiltSets(sets, list(Instantiation(pipeline, book, sets, account).queries(tasks)), account)


def explain_in(
    kb: str | Path,
    name: str,
    collections: Sequence[Collection],
    rules: AmberRules = PAPER,
    **how: Unpack[How],
) -> list[NameFigure]:
    """One name as the paper's Figure 3 draws it, in each collection that has it; an error where none does."""
    figures, errors = [], []
    for collection in collections:
        try:
            with opened_pipeline(Folder.open(kb, KIND), collection, rules, **how) as pipeline:
                figures.append(draw(pipeline, name, str(kb)))
        except BadInput as error:
            errors.append(error)
    if not figures:
        raise errors[0]
    return figures


@without_collector()
def build_amber(
    kb_path: str | Path,
    out: str | Path,
    collection: Collection,
    rules: AmberRules = PAPER,
    *,
    tasks: Sequence[str] = TASKS,
    extent: Extent = "all",
    cut: Cut | None = None,
    **how: Unpack[How],
) -> tuple[Benchmark, Account]:
    """Build AmbER sets of a collection and write them as a benchmark.

    `extent` and `cut` say which pages are the corpus and how they are cut into passages.
    """
    kb, cut = Folder.open(kb_path, KIND), cut or Cut()
    origin = origin_of(kb, cut) if extent == "all" and given_corpus() is None else None
    language = language_asked(kb, how.get("language", ""))
    with (
        made_meanwhile(kb, cut, origin, language, out) as wait,
        opened_pipeline(kb, collection, rules, **how) as pipeline,
    ):
        built = build(pipeline, str(kb_path), tasks)
        _remark_on_views(kb, rules, built.account)
        if not built.sets:
            steps = "; ".join(
                f"{s.name}: {s.kept} {s.unit} kept, {s.removed} removed" for s in built.account.steps
            )
            raise BadInput(
                f"no AmbER set is left ({steps})",
                file=kb_path,
                hint="where all entries have the same properties, give the collection a qualifier, the "
                "property that tells namesakes apart; --explain NAME shows one name",
            )
        parameters = {
            "collection": msgspec.to_builtins(pipeline.collection),
            "rules": msgspec.to_builtins(rules),
            "popularity": pipeline.popularity,
            "language": pipeline.language,
            "tasks": list(tasks),
            "corpus": {"extent": extent, **msgspec.to_builtins(cut)},
        }
        pipeline.engine.release()
        passages = PASSAGES.empty().to_reader()
        if extent != "none":
            bearers = (bearer for amber_set in built.sets for bearer in amber_set.bearers)
            only = None if extent == "all" else {ref.page for b in bearers for ref in b.pages}
            passages = cut_corpus(kb, cut, only=only, engine=pipeline.engine)
        sets = name_sets(pipeline.collection, built.sets, ranked=pipeline.ranked)
        statistics = set_statistics(sets, built.queries)
        shares = property_shares(pipeline.collection, built.sets)
        wait()
        benchmark = save_benchmark(
            out,
            name=f"amber-{pipeline.collection.key}",
            queries=built.queries,
            sets=sets,
            passages=passages,
            names=names_of_pages(kb, engine=pipeline.engine) if extent != "none" else (),
            origin=origin,
            card=card_text(
                Path(__file__).with_name("card.md"),
                collection=pipeline.collection,
                rules=rules,
                statistics=statistics,
                shares=shares,
                account=built.account,
            ),
            parameters=parameters,
            sources=kb.manifest.sources,
            parents={"knowledge base": kb.content_hash},
            counts={
                **statistics,
                "properties": shares,
                "steps": built.account.counts(),
                "remarks": built.account.remarks,
            },
            files={TUPLES_FILE: b"".join(msgspec.json.encode(tuple_record(s)) + b"\n" for s in built.sets)},
        )
    return benchmark, built.account


def _remark_on_views(kb: Folder, rules: AmberRules, account: Account) -> None:
    """The released program takes a title's last line of views; a knowledge base adds them up."""
    for source in kb.manifest.sources:
        read_by = source.get("parameters", {}).get("rules") if source.get("kind") == "views" else None
        if rules.name == "published" and read_by not in (None, "published"):
            account.remark(
                f"the views of {source.get('file')} were {read_by}; to read them exactly as the "
                "released program does, ingest them with --views-rules published"
            )


def name_sets(collection: Collection, sets: Sequence[AmberSet], *, ranked: bool) -> list[NameSet]:
    """The sets as the benchmark keeps them: head first, then by popularity."""
    return [
        NameSet(
            id=set_id(collection, amber_set.name),
            name=amber_set.name,
            collection=collection.key,
            bearers=tuple(
                Bearer(
                    entity=b.entity,
                    label=b.label,
                    role=("head" if b.is_head else "tail") if ranked else None,
                    popularity=b.popularity,
                    types=b.types,
                    pages=tuple(ref.page for ref in b.pages),
                )
                for b in sorted(
                    amber_set.bearers, key=lambda b: (not b.is_head, -(b.popularity or 0), b.entity)
                )
            ),
        )
        for amber_set in sets
    ]


def build_builtin(kb: Path, out: Path) -> Benchmark:
    """AmbER sets of the built-in world: 85 shared names, three tasks.

    Both collections are over one corpus.
    """
    with tempfile.TemporaryDirectory() as temporary:
        parts = [build_amber(kb, Path(temporary) / name, load_collection(name))[0] for name in PUBLISHED]
        counts = {"sets": sum(len(part.sets) for part in parts)}
        return _together(out, parts, name="builtin-amber", passages=parts[0].passages, counts=counts)


def build_collections(
    kb: str | Path,
    out: str | Path,
    collections: Sequence[Collection],
    rules: AmberRules = PAPER,
    *,
    extent: Extent = "all",
    **options: Any,
) -> tuple[Benchmark, list[Account]]:
    """One benchmark of one collection or several; `options` are those of `build_amber`."""
    if len({collection.key for collection in collections}) < len(collections):
        raise UsageError("a collection is named twice", hint="each --collection once")
    if len(collections) == 1:
        benchmark, account = build_amber(kb, out, collections[0], rules, extent=extent, **options)
        return benchmark, [account]
    with _beside(Path(out)) as temporary:
        built = [
            build_amber(
                kb,
                temporary / str(number),
                collection,
                rules,
                extent="none" if number and extent == "all" else extent,
                **options,
            )
            for number, collection in enumerate(collections)
        ]
        parts = [part for part, _ in built]
        queries = [query for part in parts for query in part.queries]
        benchmark = _together(
            out,
            parts,
            name=f"amber-{'-'.join(collection.key for collection in collections)}",
            passages=_passages(parts) if extent == "sets" else parts[0].passages,
            names=names_of_pages(Folder.open(kb, KIND)),
            counts={
                **set_statistics([s for part in parts for s in part.sets], queries),
                "collections": {part.name: part.folder.manifest.counts for part in parts},
            },
        )
    return benchmark, [account for _, account in built]


def _together(out: str | Path, parts: Sequence[Benchmark], **options: Any) -> Benchmark:
    manifests = [part.folder.manifest for part in parts]
    cut = {"corpus": manifests[0].parameters["corpus"]}
    return save_benchmark(
        out,
        queries=[query for part in parts for query in part.queries],
        sets=[name_set for part in parts for name_set in part.sets],
        card="\n".join(part.card for part in parts),
        parameters={m.name: {**m.parameters, **cut} for m in manifests},
        sources=manifests[0].sources,
        parents=manifests[0].parents,
        files={TUPLES_FILE: b"".join(p.folder.path(TUPLES_FILE).read_bytes() for p in parts)},
        **options,
    )


def _passages(parts: Sequence[Benchmark]) -> pa.Table:
    table = pa.concat_tables([part.passages for part in parts])
    _, first = np.unique(table["id"].to_numpy(zero_copy_only=False), return_index=True)
    return table.take(np.sort(first))


@contextmanager
def _beside(out: Path) -> Iterator[Path]:
    """Where parts are built, on the disk that the whole goes to; what a killed build left there goes."""
    place = out.with_name(f".{out.name}.collections")
    with one_at_a_time(place):
        place.mkdir(exist_ok=True)  # its last owner removed it
        for left in (path for path in place.iterdir() if path.is_dir()):
            shutil.rmtree(left)
        try:
            yield place
        finally:
            shutil.rmtree(place)
