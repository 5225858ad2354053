"""A knowledge base in, a benchmark of questions about several bearers out."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.relations import LANGUAGES, Relation, read_relations, spoken_relations
from whichone.corpus.cut import ARTICLE, Cut, cut_corpus, cut_passages
from whichone.corpus.page_names import names_of_pages
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.tables import DEFAULT_MEMORY
from whichone.knowledge.engines import Engine, Tables, open_tables
from whichone.knowledge.knowledge_tables import KIND
from whichone.papers.ambigdocs.ambigdocs_records import TASK
from whichone.papers.ambigdocs.properties import (
    Draft,
    failed_rule,
    people_properties,
    property_rules,
    question_of_label,
)
from whichone.papers.ambigdocs.shared_names import (
    LEAST,
    MOST,
    BearerPage,
    BuiltQuestion,
    Statement,
    SurfaceName,
    bearer_pages,
    bearer_table,
    built_queries,
    built_sets,
    count_groups,
    in_rows,
    joined,
    listed_names,
    property_labels,
    shared_facts,
    shared_names,
    usable_name,
    value_labels,
    value_types,
)
from whichone.papers.ambigdocs.statements import Look, Stated, entailment_by, stated
from whichone.records import Passage

if TYPE_CHECKING:
    from ibis.expr.types import Table


# The funnel of a build: how much there was, and how much each filter left.


class Funnel:
    """Counts in the order in which they were made."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def count(self, what: str, amount: int = 1) -> None:
        self._counts[what] = self._counts.get(what, 0) + amount

    def counts(self) -> dict[str, int]:
        return dict(self._counts)


def rows(counts: Mapping[str, int]) -> list[dict[str, object]]:
    """The funnel as a table."""
    return [{"step": step, "count": count} for step, count in counts.items()]


# AmbigDocs without a model: names, a fact several bearers have, passages that state it, a template.


NameSource = Literal["auto", "disambiguation", "shared"]
TOO_NARROW = frozenset({"P136", "P264", "P407"})
"""EntityQuestions asks for a genre by "What type of music", but books and films have one too; and so on."""


def surface_names(
    tables: Tables, source: NameSource, language: str, funnel: Funnel
) -> list[SurfaceName]:
    """The names to ask about: with 2 to 10 bearers, written so that a question can contain them.

    "auto" takes disambiguation pages where the knowledge base has any, else shared names.
    """
    surface_names: list[SurfaceName] = []
    if source in ("auto", "disambiguation"):
        surface_names = joined(listed_names(tables))
        funnel.count("names of disambiguation pages", len(surface_names))
    if source == "shared" or (source == "auto" and not surface_names):
        surface_names = joined(shared_names(tables, language))
        funnel.count(f"names that {LEAST} to {MOST} entities with a page share", len(surface_names))
    readable = [name for name in surface_names if usable_name(name.name)]
    funnel.count("names that begin with a letter or hold one", len(readable))
    kept = [name for name in readable if LEAST <= len(name.pages) <= MOST]
    funnel.count(f"names with {LEAST} to {MOST} bearers", len(kept))
    funnel.count("bearers", sum(len(name.pages) for name in kept))
    funnel.count("pairs of bearers", sum(len(n.pages) * (len(n.pages) - 1) // 2 for n in kept))
    return kept


def distinct(
    statements: Sequence[Statement], name: SurfaceName, question: str
) -> tuple[list[Statement], list[str]]:
    """The statements that can appear in one question, best-known bearer first, and why others cannot.

    Every pair must pass the paper's filters, but one: an answer may be part of another.
    """
    kept: list[Statement] = []
    reasons: list[str] = []
    for statement in statements:
        failed = next(
            (
                rule
                for other in kept
                if (rule := failed_rule(_draft(name, question, other, statement), contained=True))
                is not None
            ),
            None,
        )
        if failed is None:
            kept.append(statement)
        else:
            reasons.append(failed)
    return kept, reasons


def _draft(name: SurfaceName, question: str, item: Statement, other: Statement) -> Draft:
    titles = (item.bearer.title, other.bearer.title)
    return Draft(name.name, titles, question, (item.answer, other.answer))


def general_templates(language: str = "en") -> dict[str, Relation]:
    """The questions of EntityQuestions that fit any bearer; in English also those of other properties."""
    general = {key: r for key, r in spoken_relations(language).items() if key not in TOO_NARROW}
    if language != "en":
        return general
    own = {
        key: Relation(key, key, rule.question)
        for key, rule in property_rules().items()
        if rule.question is not None
    }
    return general | own


def ask(
    prop: str,
    label: str | None,
    name: str,
    templates: Mapping[str, Relation],
    language: str = "en",
    *,
    people: Collection[str] = (),
) -> str | None:
    """The question for a property of a name; None where none would be grammatical.

    Only English asks by a label alone; `people` are the properties whose values are people.
    """
    if prop in templates:
        return templates[prop].ask(name)
    if not label or language != "en":
        return None
    return question_of_label(label, name, person=prop in people)


def questions(
    names: Sequence[SurfaceName],
    values: Iterable[Stated],
    *,
    properties: Mapping[str, str],
    funnel: Funnel,
    templates: Mapping[str, Relation] | None = None,
    language: str = "en",
    people: Collection[str] = (),
) -> Iterator[BuiltQuestion]:
    """A question for every name and property that at least two bearers' passages answer differently."""
    templates = general_templates(language) if templates is None else templates
    by_key = {name.key: name for name in names}
    ordered = sorted(values, key=lambda s: (s.key, s.property))
    kept_questions = 0
    for (key, prop), group in itertools.groupby(ordered, lambda s: (s.key, s.property)):
        statements = [asked.statement for asked in group]
        if len(statements) < LEAST:
            continue
        funnel.count("  passages of two bearers or more state it")
        question = ask(
            prop, properties.get(prop), by_key[key].name, templates, language, people=people
        )
        if question is None:
            funnel.count("    no grammatical question can be made")
            continue
        statements.sort(key=lambda s: (-(s.bearer.popularity or 0.0), s.bearer.page))
        kept, reasons = distinct(statements, by_key[key], question)
        for reason in reasons:
            funnel.count(f"    bearers left out: {reason}")
        if len(kept) < LEAST:
            funnel.count("    fewer than two bearers left")
            continue
        kept_questions += 1
        yield BuiltQuestion(by_key[key], prop, question, tuple(kept))
    funnel.count("questions", kept_questions)


# A knowledge base in, a benchmark of questions about several bearers out.


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
