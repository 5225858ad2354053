"""`whichone build amber`: a knowledge base in, a benchmark of AmbER sets out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict, Unpack

import msgspec
import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.relations import Account
from whichone.corpus.cut import Cut
from whichone.corpus.page_names import names_of_pages
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.tables import DEFAULT_MEMORY
from whichone.knowledge.engines import knowledge_tables, opened_engine
from whichone.knowledge.knowledge_tables import KIND
from whichone.papers.amber.auto_properties import with_properties
from whichone.papers.amber.before import check_before
from whichone.papers.amber.card import card
from whichone.papers.amber.collection import Collection, Popularity
from whichone.papers.amber.corpus import Extent, corpus
from whichone.papers.amber.explain import relational_steps
from whichone.papers.amber.figure import Figure, draw
from whichone.papers.amber.instantiate import TASKS, Instantiation, set_id
from whichone.papers.amber.layout import TUPLES_FILE, tuple_record
from whichone.papers.amber.model import AmberSet
from whichone.papers.amber.relations import Pipeline
from whichone.papers.amber.rules import PAPER, Rules
from whichone.papers.amber.sets import amber_sets
from whichone.papers.amber.statistics import property_shares, set_statistics
from whichone.papers.amber.values import value_book
from whichone.records import Bearer, NameSet, Query, without_collector


class Built(msgspec.Struct):
    """What a build made: sets, queries, and the account of what was removed on the way."""

    sets: list[AmberSet]
    queries: list[Query]
    account: Account


class How(TypedDict, total=False):
    """How the pipeline runs: what every way into it may be given."""

    popularity: Popularity | None
    language: str
    memory: str
    engine: str
    master: str | None
    properties: Sequence[str]
    """In place of the collection's own; ("auto",) finds them."""


@contextmanager
def opened_pipeline(
    kb: Folder, collection: Collection, rules: Rules, **how: Unpack[How]
) -> Iterator[Pipeline]:
    """The pipeline over a knowledge base, on DuckDB or on Spark."""
    with opened_engine(
        how.get("engine", "duckdb"),
        kb,
        memory=how.get("memory", DEFAULT_MEMORY),
        master=how.get("master"),
    ) as opened:
        pipeline = Pipeline(
            opened,
            knowledge_tables(opened, kb),
            collection,
            rules,
            popularity=how.get("popularity") or collection.popularity,
            language=how.get("language", "en"),
        )
        if properties := how.get("properties"):
            pipeline.collection = with_properties(pipeline, properties)
        yield pipeline


def build(pipeline: Pipeline, where: str, tasks: Sequence[str] = TASKS) -> Built:
    """Checks, relations, values, alignment, queries: everything but the writing."""
    account = check_before(pipeline, where)
    pipeline.run()
    relational_steps(pipeline, account)
    book = value_book(pipeline)
    sets = amber_sets(pipeline, book, account)
    instantiation = Instantiation.of(pipeline, book, sets, account)
    return Built(sets, list(instantiation.queries(sets, tasks)), account)


def explain_name(
    kb_path: str | Path,
    name: str,
    collection: Collection,
    rules: Rules = PAPER,
    **how: Unpack[How],
) -> Figure:
    """One name as the paper's Figure 3 draws it; nothing is written."""
    kb = Folder.open(kb_path, KIND)
    with opened_pipeline(kb, collection, rules, **how) as pipeline:
        return draw(pipeline, name, str(kb_path))


def explain_in(
    kb: str | Path, name: str, collections: Sequence[Collection], rules: Rules, **how: Unpack[How]
) -> list[Figure]:
    """The name in each of several collections that has it; an error where none does."""
    figures, errors = [], []
    for collection in collections:
        try:
            figures.append(explain_name(kb, name, collection, rules, **how))
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
    rules: Rules = PAPER,
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
    with opened_pipeline(kb, collection, rules, **how) as pipeline:
        built = build(pipeline, str(kb_path), tasks)
        _remark_on_views(kb, rules, built.account)
        if not built.sets:
            raise _nothing_left(built.account, kb_path)
        parameters = {
            "collection": msgspec.to_builtins(pipeline.collection),
            "rules": msgspec.to_builtins(rules),
            "popularity": pipeline.popularity,
            "language": pipeline.language,
            "tasks": list(tasks),
            "corpus": {"extent": extent, **msgspec.to_builtins(cut)},
        }
        pipeline.engine.release()
        passages = corpus(kb, built.sets, extent, cut, pipeline.engine)
        return _save(out, kb, pipeline, built, passages, parameters), built.account


def _nothing_left(account: Account, kb_path: str | Path) -> BadInput:
    steps = "; ".join(
        f"{s.name}: {s.kept} {s.unit} kept, {s.removed} removed" for s in account.steps
    )
    return BadInput(
        f"no AmbER set is left ({steps})",
        file=kb_path,
        hint="where all entries have the same properties, give the collection a qualifier, the "
        "property that tells namesakes apart; --explain NAME shows one name",
    )


def _save(
    out: str | Path,
    kb: Folder,
    pipeline: Pipeline,
    built: Built,
    passages: pa.RecordBatchReader,
    parameters: dict[str, Any],
) -> Benchmark:
    collection = pipeline.collection
    sets = name_sets(collection, built.sets, ranked=pipeline.popularity != "none")
    statistics = set_statistics(sets, built.queries)
    shares = property_shares(collection, built.sets)
    counts: dict[str, Any] = {
        **statistics,
        "properties": shares,
        "steps": built.account.counts(),
        "remarks": built.account.remarks,
    }
    lines = b"".join(msgspec.json.encode(tuple_record(s)) + b"\n" for s in built.sets)
    return save_benchmark(
        out,
        name=f"amber-{collection.key}",
        queries=built.queries,
        sets=sets,
        passages=passages,
        names=names_of_pages(kb, engine=pipeline.engine),
        card=card(collection, pipeline.rules, statistics, shares, built.account, kb),
        parameters=parameters,
        sources=kb.manifest.sources,
        parents={"knowledge base": kb.content_hash},
        counts=counts,
        files={TUPLES_FILE: lines},
    )


def _remark_on_views(kb: Folder, rules: Rules, account: Account) -> None:
    """The released program takes a title's last line of views; a knowledge base adds them up."""
    for source in kb.manifest.sources:
        if source.get("kind") == "views" and rules.name == "published":
            read_by = source.get("parameters", {}).get("rules")
            if read_by not in (None, "published"):
                account.remark(
                    f"the views of {source.get('file')} were {read_by}; to read them exactly as the "
                    "released program does, ingest them with --views-rules published"
                )


def name_sets(collection: Collection, sets: Sequence[AmberSet], *, ranked: bool) -> list[NameSet]:
    """The sets as the benchmark keeps them: head first, then by popularity."""
    all_sets = []
    for amber_set in sets:
        ordered = sorted(
            amber_set.bearers, key=lambda b: (not b.is_head, -(b.popularity or 0), b.entity)
        )
        bearers = tuple(
            Bearer(
                entity=b.entity,
                label=b.label,
                role=("head" if b.is_head else "tail") if ranked else None,
                popularity=b.popularity,
                types=b.types,
                pages=tuple(ref.page for ref in b.pages),
            )
            for b in ordered
        )
        all_sets.append(
            NameSet(
                id=set_id(collection, amber_set.name),
                name=amber_set.name,
                collection=collection.key,
                bearers=bearers,
            )
        )
    return all_sets
