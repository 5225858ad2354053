"""A knowledge base in, a benchmark of questions about several bearers out."""

from __future__ import annotations

import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from whichone.benchmarks.ambigdocs.bearers import SurfaceName, rows
from whichone.benchmarks.ambigdocs.build import (
    BuiltQuestion,
    NameSource,
    PageTokens,
    questions,
    surface_names,
)
from whichone.benchmarks.ambigdocs.funnel import Funnel
from whichone.benchmarks.ambigdocs.page_passages import WORDS, page_passages
from whichone.benchmarks.ambigdocs.queries import TASK, set_id
from whichone.benchmarks.ambigdocs.shared_facts import (
    BearerPage,
    bearer_pages,
    bearer_table,
    property_labels,
    shared_facts,
    value_labels,
)
from whichone.benchmarks.ambigdocs.splits import split_names
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.entityquestions.relations import published_relations, read_relations
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.files.tables import DEFAULT_MEMORY
from whichone.knowledge.tables import KIND
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query, page_of

if TYPE_CHECKING:
    from ibis.expr.types import Table

    from whichone.benchmarks.amber.names import Tables

CARD = """# AmbigDocs without a model

Questions about a shared name of 2 to 10 bearers: a property that at least two of them have, asked by
a template, with each bearer's own value as its answer and a passage of its page that states it.
Splits are by name, 70/10/20. Names from {source}. Passages of {words} words; corpus: {corpus}.

| step | count |
| --- | ---: |
{funnel}
"""


class BuildOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a build depends on, all of it in the manifest."""

    names: NameSource = "auto"
    properties: tuple[str, ...] = ()
    language: str = "en"
    words: int = WORDS
    corpus: str = "all"
    seed: int = 0
    templates: str | None = None


def build_options(**values: Any) -> BuildOptions:
    """Options from plain values, checked."""
    if values.get("words", WORDS) < 1:
        raise UsageError("a passage has at least one word")
    return msgspec.convert(values, BuildOptions)


def build_ambigdocs(
    kb: str | Path,
    out: str | Path,
    options: BuildOptions | None = None,
    *,
    memory: str = DEFAULT_MEMORY,
) -> tuple[Benchmark, dict[str, int]]:
    """The benchmark, and the funnel that it came through."""
    from whichone.benchmarks.amber.relations import duckdb_tables

    options = options or BuildOptions()
    folder = Folder.open(kb, KIND)
    funnel = Funnel()
    with (
        tempfile.TemporaryDirectory(prefix="whichone-") as spill,
        duckdb_tables(folder, memory, Path(spill)) as (_, tables),
    ):
        names = surface_names(tables, options.names, options.language, funnel)
        bearers = bearer_table(names)
        about = bearer_pages(tables, bearers)
        passages = list(_passages(folder, options.words, about))
        built = list(_questions(tables, names, bearers, about, passages, options, funnel))
        if not built:
            raise BadInput(
                "no question could be made", file=kb, hint=f"the funnel: {funnel.counts()}"
            )
    if options.corpus == "all":
        passages = list(_passages(folder, options.words))
    queries, sets = _queries(built, options.seed), _sets(built, about)
    counts = funnel.counts()
    benchmark = save_benchmark(
        out,
        name=TASK,
        queries=queries,
        sets=sets,
        passages=passages,
        card=_card(options, counts),
        parameters={"builder": "ambigdocs", **msgspec.to_builtins(options)},
        parents={"knowledge base": folder.content_hash},
        sources=folder.manifest.sources,
        counts={"funnel": counts},
    )
    return benchmark, counts


def _questions(
    tables: Tables,
    names: Sequence[SurfaceName],
    bearers: Table,
    about: Mapping[str, BearerPage],
    passages: Sequence[Passage],
    options: BuildOptions,
    funnel: Funnel,
) -> Iterator[BuiltQuestion]:
    facts = list(rows(shared_facts(tables, bearers, options.properties)))
    ids = [f["value"] for f in facts if f["kind"] == "entity"]
    ids += [f["unit"] for f in facts if f["unit"]]
    by_page: dict[str, list[Passage]] = {}
    for passage in passages:
        by_page.setdefault(passage.page, []).append(passage)
    templates = dict(published_relations())
    if options.templates is not None:
        templates |= read_relations(options.templates)
    yield from questions(
        names,
        facts,
        bearers=about,
        pages=PageTokens(by_page),
        labels=value_labels(tables, ids, options.language),
        properties=property_labels(tables),
        funnel=funnel,
        templates=templates,
    )


def _passages(kb: Folder, words: int, only: Container[str] | None = None) -> Iterator[Passage]:
    """Passages of all articles, or of some pages only; the pages are streamed."""
    import pyarrow.parquet as pq

    columns = ["page", "title", "kind", "paragraphs"]
    with pq.ParquetFile(kb.path("pages.parquet")) as file:
        for batch in file.iter_batches(batch_size=1_000, columns=columns):
            for row in batch.to_pylist():
                if row["kind"] == "article" and (only is None or row["page"] in only):
                    yield from page_passages(row["page"], row["title"], row["paragraphs"], words)


def _queries(built: Sequence[BuiltQuestion], seed: int) -> list[Query]:
    splits = split_names((question.name.key for question in built), seed)
    order = {"train": 0, "dev": 1, "test": 2}
    queries = [_query(question, splits[question.name.key]) for question in built]
    return sorted(queries, key=lambda q: (order[q.attributes["split"]], q.id))


def _query(question: BuiltQuestion, split: str) -> Query:
    outputs = tuple(
        Output(
            answer=one.answer,
            aliases=one.aliases,
            entity=one.bearer.entity,
            provenance=(
                (
                    Provenance(
                        page=page_of(one.passage), passage=one.passage, title=one.bearer.title
                    ),
                ),
            ),
            attributes={"popularity": one.bearer.popularity},
        )
        for one in question.statements
    )
    return Query(
        id=f"{set_id(question.name.name)}/{question.property}",
        task=TASK,
        input=question.question,
        outputs=outputs,
        name=question.name.name,
        name_set=set_id(question.name.name),
        relation=question.property,
        attributes={"split": split, "bearers": len(outputs)},
    )


def _sets(built: Sequence[BuiltQuestion], about: Mapping[str, BearerPage]) -> list[NameSet]:
    """The names asked about with all their bearers, the most popular first and head."""
    names = {question.name.key: question.name for question in built}
    return [
        NameSet(
            id=set_id(name.name),
            name=name.name,
            collection=TASK,
            bearers=_ranked([about[page] for page in name.pages]),
        )
        for name in names.values()
    ]


def _ranked(pages: Sequence[BearerPage]) -> tuple[Bearer, ...]:
    known = all(page.popularity is not None for page in pages)
    ranked = sorted(pages, key=lambda p: (-(p.popularity or 0.0), p.page)) if known else pages
    return tuple(
        Bearer(
            entity=page.entity,
            label=page.title,
            role=None if not known else "head" if rank == 0 else "tail",
            popularity=page.popularity,
            pages=(page.page,),
        )
        for rank, page in enumerate(ranked)
    )


def _card(options: BuildOptions, counts: Mapping[str, int]) -> str:
    sources = {
        "auto": "disambiguation pages where there are any, else shared names",
        "disambiguation": "disambiguation pages",
        "shared": "shared names",
    }
    return CARD.format(
        source=sources[options.names],
        words=options.words,
        corpus="all articles" if options.corpus == "all" else "the bearers' pages",
        funnel="\n".join(f"| {step.strip()} | {count} |" for step, count in counts.items()),
    )
