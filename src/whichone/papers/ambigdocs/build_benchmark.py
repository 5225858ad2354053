"""A knowledge base in, a benchmark of questions about several bearers out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.relations import LANGUAGES, read_relations
from whichone.corpus.cut import ARTICLE, Cut, cut_corpus, cut_passages
from whichone.corpus.page_names import names_of_pages
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.tables import DEFAULT_MEMORY
from whichone.knowledge.engines import Engine, Tables, open_tables
from whichone.knowledge.knowledge_tables import KIND
from whichone.papers.ambigdocs.bearers import SurfaceName, in_rows
from whichone.papers.ambigdocs.build import (
    NameSource,
    general_templates,
    questions,
    surface_names,
)
from whichone.papers.ambigdocs.built import BuiltQuestion, built_queries, built_sets
from whichone.papers.ambigdocs.entailment import entailment_by
from whichone.papers.ambigdocs.funnel import Funnel
from whichone.papers.ambigdocs.properties import people_properties
from whichone.papers.ambigdocs.queries import TASK
from whichone.papers.ambigdocs.shared_facts import (
    BearerPage,
    bearer_pages,
    bearer_table,
    count_groups,
    property_labels,
    shared_facts,
    value_labels,
    value_types,
)
from whichone.papers.ambigdocs.statements import Look, stated
from whichone.records import Passage

if TYPE_CHECKING:
    from ibis.expr.types import Table

CARD = """# AmbigDocs, built

Questions about a shared name of 2 to 10 bearers, with each bearer's own answer and a passage of its
page that states it: {how}. Splits are by name, 70/10/20. Names from {source}. Passages of {words} words; corpus: {corpus}.
Statements: {entailment}.

| bearers | names that have so many | questions that ask about so many |
| ---: | ---: | ---: |
{bearers}

| step | count |
| --- | ---: |
{funnel}
"""


class BuildOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a build depends on, all of it in the manifest."""

    names: NameSource = "auto"
    properties: tuple[str, ...] = ()
    language: str = "en"
    words: int = 100
    corpus: str = "all"
    seed: int = 0
    templates: str | None = None
    entailment: str = "rule"
    """`rule`, `none`, or an NLI model: what decides whether a passage states a fact."""


def build_options(**values: Any) -> BuildOptions:
    """Options from plain values, checked."""
    return msgspec.convert(values, BuildOptions)


def build_ambigdocs(
    kb: str | Path,
    out: str | Path,
    options: BuildOptions | None = None,
    *,
    memory: str = DEFAULT_MEMORY,
    engine: str = "duckdb",
    master: str | None = None,
) -> tuple[Benchmark, dict[str, int]]:
    """The benchmark, and the funnel that it came through.

    With the engine `spark` the relations and the pages' texts are on the workers of `master`.
    """
    options = options or BuildOptions()
    folder = Folder.open(kb, KIND)
    funnel = Funnel()
    with open_tables(folder, memory, engine, master) as tables:
        names = surface_names(tables, options.names, options.language, funnel)
        bearers = bearer_table(tables, names)
        about = bearer_pages(tables, bearers)
        built = list(_questions(tables, bearers, names, about, options, funnel))
        if not built:
            hint = f"the funnel: {funnel.counts()}"
            raise BadInput("no question could be made", file=kb, hint=hint)
        header = {"builder": "ambigdocs", "options": msgspec.to_builtins(options)}
        tables.engine.release()
        benchmark = save_built(
            folder, out, built, about, options, funnel, header, engine=tables.engine
        )
    return benchmark, funnel.counts()


def build_builtin(kb: Path, out: Path) -> Benchmark:
    """AmbigDocs' questions of the built-in world: one answer for each bearer."""
    return build_ambigdocs(kb, out)[0]


def save_built(
    kb: Folder,
    out: str | Path,
    built: Sequence[BuiltQuestion],
    about: Mapping[str, BearerPage],
    options: BuildOptions,
    funnel: Funnel,
    parameters: Mapping[str, Any],
    *,
    engine: Engine | None = None,
) -> Benchmark:
    """Built questions as a benchmark over all articles, or over the bearers' passages only."""
    pages: dict[str, Any] = {"kind": ARTICLE} if options.corpus == "all" else {"only": about}
    counts = funnel.counts()
    return save_benchmark(
        out,
        name=TASK,
        queries=built_queries(built, options.seed, options.language),
        sets=built_sets(built, about),
        passages=cut_corpus(kb, _cut(options), **pages, engine=engine),
        names=names_of_pages(kb, engine=engine),
        card=_card(options, counts, "models" in parameters, built, about),
        parameters=parameters,
        parents={"knowledge base": kb.content_hash},
        sources=kb.manifest.sources,
        counts={"funnel": counts},
    )


def _questions(
    tables: Tables,
    bearers: Table,
    names: Sequence[SurfaceName],
    about: Mapping[str, BearerPage],
    options: BuildOptions,
    funnel: Funnel,
) -> Iterator[BuiltQuestion]:
    facts = shared_facts(tables, bearers, options.properties)
    funnel.count("properties that two bearers have", count_groups(facts))
    entities = facts.filter(pc.equal(facts["kind"], "entity"))["value"].unique().to_pylist()
    units = facts["unit"].drop_null().unique().to_pylist()
    labels = value_labels(tables, [*entities, *units], options.language)
    own = read_relations(options.templates) if options.templates is not None else {}
    templates = (
        own
        if own and options.language not in LANGUAGES
        else general_templates(options.language) | own
    )
    properties = property_labels(tables)
    looking = Look(_cut(options), options.entailment, options.language)
    entailment_by(options.entailment, options.language)  # a model that is not there is an error now
    result = stated(tables, in_rows(facts), about, labels, looking, properties=properties)
    yield from questions(
        names,
        sorted(result, key=lambda s: (s.statement.bearer.page, s.key, s.property)),
        properties=properties,
        funnel=funnel,
        templates=templates,
        language=options.language,
        people=people_properties(
            {(f["property"], f["value"]) for f in in_rows(facts) if f["kind"] == "entity"},
            value_types(tables, entities),
        ),
    )


def page_passages(kb: Folder, options: BuildOptions, pages: Container[str]) -> Iterator[Passage]:
    """The passages of some pages, in order of page, streamed."""
    return cut_passages(kb, _cut(options), only=pages)


def _cut(options: BuildOptions) -> Cut:
    return Cut(way="words", size=options.words, keep_lists=True)


def _bearers(built: Sequence[BuiltQuestion]) -> str:
    """How many bearers the names have that are asked about, and how many the questions have."""
    names = Counter(len(name.pages) for name in {question.name for question in built})
    asked = Counter(len(question.statements) for question in built)
    return "\n".join(
        f"| {number} | {names[number]} | {asked[number]} |" for number in sorted({*names, *asked})
    )


def _card(
    options: BuildOptions,
    counts: Mapping[str, int],
    models: bool,
    built: Sequence[BuiltQuestion],
    about: Mapping[str, BearerPage],
) -> str:
    sources = {
        "auto": "disambiguation pages where there are any, else shared names",
        "disambiguation": "disambiguation pages",
        "shared": "shared names",
    }
    template = "a property that at least two bearers have, asked by a template"
    return CARD.format(
        how="written, answered and judged by models" if models else template,
        source=sources[options.names],
        words=options.words,
        corpus="all articles" if options.corpus == "all" else "the bearers' pages",
        entailment="judged by a model"
        if models
        else entailment_by(options.entailment, options.language).describe(),
        bearers=_bearers(built),
        funnel="\n".join(f"| {step.strip()} | {count} |" for step, count in counts.items()),
    )
