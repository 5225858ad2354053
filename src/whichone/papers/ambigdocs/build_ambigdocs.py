"""A knowledge base in, a benchmark of questions about several bearers out."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark, card_text, save_benchmark
from whichone.benchmarks.relations import LANGUAGES, SLOT, Relation, read_relations, spoken_relations
from whichone.corpus.cut import ARTICLE, Cut, cut_corpus, origin_of
from whichone.corpus.page_names import names_of_pages
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.knowledge.engines import Engine, Tables, open_tables
from whichone.knowledge.knowledge_tables import KIND, language_asked
from whichone.options import EngineOptions, Option, Seed
from whichone.papers.ambigdocs import shared_names
from whichone.papers.ambigdocs.ambigdocs_files import TASK
from whichone.papers.ambigdocs.properties import (
    Draft,
    failed_rule,
    people_properties,
    property_rules,
    question_of_label,
    tensed,
)
from whichone.papers.ambigdocs.statements import ByRule, Look, Stated, entailment_by, part_of, stated
from whichone.text.normalisers import normalize

if TYPE_CHECKING:
    from ibis.expr.types import Table


NameSource = Literal["auto", "disambiguation", "shared"]
# EntityQuestions asks for a genre by "What type of music", but books and films have one too; and so on.
TOO_NARROW = frozenset({"P136", "P264", "P407"})


def surface_names(
    tables: Tables, source: NameSource, language: str, funnel: Counter[str]
) -> list[shared_names.SurfaceName]:
    """The names to ask about: with 2 to 10 bearers, written so that a question can contain them.

    "auto" takes disambiguation pages where the knowledge base has any, else shared names.
    """
    surface_names: list[shared_names.SurfaceName] = []
    if source in ("auto", "disambiguation"):
        surface_names = shared_names.joined(shared_names.listed_names(tables))
        funnel["names of disambiguation pages"] += len(surface_names)
    if source == "shared" or (source == "auto" and not surface_names):
        surface_names = shared_names.joined(shared_names.shared_names(tables, language))
        funnel[f"names that {shared_names.LEAST} to {shared_names.MOST} entities with a page share"] += len(
            surface_names
        )
    readable = [name for name in surface_names if shared_names.usable_name(name.name)]
    funnel["names that begin with a letter or hold one"] += len(readable)
    kept = [name for name in readable if shared_names.LEAST <= len(name.pages) <= shared_names.MOST]
    funnel[f"names with {shared_names.LEAST} to {shared_names.MOST} bearers"] += len(kept)
    funnel["bearers"] += sum(len(name.pages) for name in kept)
    funnel["pairs of bearers"] += sum(len(n.pages) * (len(n.pages) - 1) // 2 for n in kept)
    return kept


def distinct(
    statements: Sequence[shared_names.BearerStatement], name: shared_names.SurfaceName, question: str
) -> tuple[list[shared_names.BearerStatement], list[str]]:
    """The statements that can appear in one question, best-known bearer first, and why others cannot.

    Every bearer needs an answer that is right of no other; of several that its page states the first such is
    taken. Every pair must pass the paper's filters, but one: an answer may be part of another.
    """
    kept: list[shared_names.BearerStatement] = []
    reasons: list[str] = []
    for statement in statements:
        if (together := _told_apart([*kept, statement])) is None:
            reasons.append("the same answer")
            continue
        last = together[-1]
        drafts = (
            Draft(name.name, (o.bearer.title, last.bearer.title), question, (o.answer, last.answer))
            for o in together[:-1]
        )
        if failed := next(filter(None, (failed_rule(draft, contained=True) for draft in drafts)), None):
            reasons.append(failed)
        else:
            kept = together
    return kept, reasons


def _told_apart(
    statements: Sequence[shared_names.BearerStatement],
) -> list[shared_names.BearerStatement] | None:
    """Each with an answer that no other accepts, whole or as a further name's words; None where one has none."""
    chosen = []
    for n, statement in enumerate(statements):
        others = [other for k, other in enumerate(statements) if k != n]
        own = [v for v in statement.values if not any(_accepts(other, v.forms) for other in others)]
        if own:
            chosen.append(statement.answered_by(own[0]))
        elif not statement.values and not any(_accepts(o, (statement.answer,)) for o in others):
            chosen.append(statement)
        else:
            return None
    return chosen


def _accepts(statement: shared_names.BearerStatement, forms: Sequence[str]) -> bool:
    """Whether a statement takes one of these for right: "Harvard" is a name of one school and part of another's."""
    return not statement.accepted.isdisjoint(map(normalize, forms)) or any(
        part_of(alias, forms[0]) for alias in statement.aliases
    )


def general_templates(language: str = "en") -> dict[str, Relation]:
    """The questions of EntityQuestions that fit any bearer; in English also those of other properties."""
    general = {key: r for key, r in spoken_relations(language).items() if key not in TOO_NARROW}
    own = property_rules() if language == "en" else {}
    return general | {k: Relation(k, r.question, id=k) for k, r in own.items() if r.question}


def ask(
    prop: str,
    label: str | None,
    name: str,
    templates: Mapping[str, Relation],
    language: str = "en",
    *,
    people: Collection[str] = (),
    past: Collection[bool] = (),
) -> str | None:
    """The question for a property of a name; None where none would be grammatical.

    Only English asks by a label alone, and in the tense of the bearers; `people` are the properties whose
    values are people.
    """
    template = templates[prop].question if prop in templates else None
    if template is None and label and language == "en":
        template = question_of_label(label, SLOT, person=prop in people)
    if template is not None and language == "en":
        template = tensed(template, prop, past)
    return None if template is None else template.replace(SLOT, name)


def questions(
    names: Sequence[shared_names.SurfaceName],
    values: Iterable[Stated],
    *,
    properties: Mapping[str, str],
    funnel: Counter[str],
    templates: Mapping[str, Relation] | None = None,
    language: str = "en",
    people: Collection[str] = (),
) -> Iterator[shared_names.BuiltQuestion]:
    """A question for every name and property that at least two bearers' passages answer differently."""
    templates = general_templates(language) if templates is None else templates
    by_key = {name.key: name for name in names}
    ordered = sorted(values, key=lambda s: (s.key, s.property))
    for (key, prop), group in itertools.groupby(ordered, lambda s: (s.key, s.property)):
        statements = [asked.statement for asked in group]
        if len(statements) < shared_names.LEAST:
            continue
        funnel["  passages of two bearers or more state it"] += 1
        wording = functools.partial(
            ask, prop, properties.get(prop), by_key[key].name, templates, language, people=people
        )
        if (question := wording()) is None:
            funnel["    no grammatical question can be made"] += 1
            continue
        statements.sort(key=lambda s: (-(s.bearer.popularity or 0.0), s.bearer.page))
        kept, reasons = distinct(statements, by_key[key], question)
        for reason in reasons:
            funnel[f"    bearers left out: {reason}"] += 1
        if len(kept) < shared_names.LEAST:
            funnel["    fewer than two bearers left"] += 1
            continue
        text = wording(past=[s.past for s in kept]) or question
        yield shared_names.BuiltQuestion(by_key[key], prop, text, tuple(kept))


class AmbigDocsOptions(msgspec.Struct, frozen=True, kw_only=True):
    names: Annotated[
        NameSource,
        Option("Names from disambiguation pages, or those that entities share; auto: the first there are."),
    ] = "auto"
    properties: Annotated[tuple[str, ...], Option("Ask only for these: P106,P19.", kind="words")] = ()
    language: Annotated[
        str, Option("Language of names and answers; en, of a knowledge base in no other.")
    ] = ""
    words: Annotated[int, Option("Words a passage.")] = 100
    corpus_pages: Annotated[
        Literal["all", "bearers"],
        Option("Passages of all articles, or only of the bearers' pages.", flags=("--pages",)),
    ] = msgspec.field(default="all", name="corpus")
    seed: Seed = 0
    templates: Annotated[
        str | None,
        Option("A TOML file of questions by property, beside those of EntityQuestions.", kind="exists"),
    ] = None
    entailment: Annotated[
        str,
        Option(
            "Does a passage state the fact? By rule (English), by an NLI model's folder or name, or not asked.",
            metavar="rule|none|MODEL",
        ),
    ] = "rule"

    def cut(self) -> Cut:
        return Cut(way="words", size=self.words, keep_lists=True)


class BuilderModels(msgspec.Struct, frozen=True, kw_only=True):
    """The models that write, answer and judge questions as in the paper; without an endpoint no model is asked."""

    endpoint: Annotated[str | None, Option("Build as the paper does, with a model at this URL.")] = None
    model: Annotated[str | None, Option("Its name: writes, answers, and judges if no other does.")] = None
    judge_model: Annotated[str | None, Option("Another model at the endpoint, to judge.")] = None
    concurrency: Annotated[int, Option("Names worked on at a time.")] = 4
    cache: Annotated[str | None, Option("File of calls already made, or none; default: yours.")] = None


def in_language(options: AmbigDocsOptions, kb: Folder) -> AmbigDocsOptions:
    return msgspec.structs.replace(options, language=language_asked(kb, options.language))


def build_ambigdocs(
    kb: str | Path,
    out: str | Path,
    options: AmbigDocsOptions | None = None,
    engine: EngineOptions | None = None,
) -> tuple[Benchmark, dict[str, int]]:
    """The benchmark, and the funnel that it came through.

    With the engine `spark` the relations and the pages' texts are on the workers.
    """
    folder = Folder.open(kb, KIND)
    options = in_language(options or AmbigDocsOptions(), folder)
    funnel = Counter[str]()
    with open_tables(folder, engine) as tables:
        names = surface_names(tables, options.names, options.language, funnel)
        bearers = shared_names.bearer_table(tables, names)
        about = shared_names.bearer_pages(tables, bearers)
        built = list(_questions(tables, bearers, names, about, options, funnel))
        funnel["questions"] += len(built)
        if not built:
            raise BadInput("no question could be made", file=kb, hint=f"the funnel: {dict(funnel)}")
        header = {"builder": "ambigdocs", "options": msgspec.to_builtins(options)}
        tables.engine.release()
        benchmark = save_built(folder, out, built, about, options, funnel, header, engine=tables.engine)
    return benchmark, dict(funnel)


def build_builtin(kb: Path, out: Path) -> Benchmark:
    """AmbigDocs of the built-in world: 75 questions about a shared name, with an answer for each of its bearers."""
    return build_ambigdocs(kb, out)[0]


def save_built(
    kb: Folder,
    out: str | Path,
    built: Sequence[shared_names.BuiltQuestion],
    about: Mapping[str, shared_names.BearerPage],
    options: AmbigDocsOptions,
    funnel: Counter[str],
    parameters: Mapping[str, Any],
    *,
    engine: Engine | None = None,
) -> Benchmark:
    """Built questions as a benchmark over all articles, or over the bearers' passages only."""
    pages: dict[str, Any] = {"kind": ARTICLE} if options.corpus_pages == "all" else {"only": about}
    models = "models" in parameters
    judged = entailment_by(options.entailment, options.language)
    sources = {
        "auto": "disambiguation pages where there are any, else shared names",
        "disambiguation": "disambiguation pages",
        "shared": "shared names",
    }
    return save_benchmark(
        out,
        name=TASK,
        queries=shared_names.built_queries(built, options.seed, options.language),
        sets=shared_names.built_sets(built, about),
        passages=cut_corpus(kb, options.cut(), **pages, engine=engine),
        names=names_of_pages(kb, engine=engine),
        origin=origin_of(kb, options.cut(), ARTICLE) if options.corpus_pages == "all" else None,
        card=card_text(
            Path(__file__).with_name("card.md"),
            models=models,
            options=options,
            source=sources[options.names],
            entailment="judged by a model" if models else judged.describe(),
            by_rule=not models and isinstance(judged, ByRule),
            names=Counter(len(name.pages) for name in {question.name for question in built}),
            asked=Counter(len(question.statements) for question in built),
            funnel=funnel,
        ),
        parameters=parameters,
        parents={"knowledge base": kb.content_hash},
        sources=kb.manifest.sources,
        counts={"funnel": dict(funnel)},
    )


def _questions(
    tables: Tables,
    bearers: Table,
    names: Sequence[shared_names.SurfaceName],
    about: Mapping[str, shared_names.BearerPage],
    options: AmbigDocsOptions,
    funnel: Counter[str],
) -> Iterator[shared_names.BuiltQuestion]:
    facts = shared_names.shared_facts(tables, bearers, options.properties)
    funnel["properties that two bearers have"] += facts.group_by(["key", "property"]).aggregate([]).num_rows
    own_values = facts.filter(pc.equal(facts["kind"], "entity"))["value"].unique().to_pylist()
    common = shared_names.common_values(tables, facts["property"].unique().to_pylist())
    entities = [*own_values, *itertools.chain.from_iterable(common.values())]
    units = facts["unit"].drop_null().unique().to_pylist()
    labels = shared_names.value_labels(tables, [*entities, *units], options.language)
    own = read_relations(options.templates) if options.templates is not None else {}
    templates = (
        own if own and options.language not in LANGUAGES else general_templates(options.language) | own
    )
    labelled = tables.rows(tables.properties.select("property", "label"))
    properties = {row["property"]: row["label"] for row in labelled if row["label"]}
    looking = Look(
        options.cut(),
        options.entailment,
        options.language,
        {
            prop: [named for value in values if (named := tuple(labels.get(value, ())))]
            for prop, values in common.items()
        },
        shared_names.ended(tables, bearers),
    )
    entailment_by(options.entailment, options.language)  # a model that is not there is an error now
    result = stated(tables, shared_names.in_rows(facts), about, labels, looking, properties=properties)
    yield from questions(
        names,
        sorted(result, key=lambda s: (s.statement.bearer.page, s.key, s.property)),
        properties=properties,
        funnel=funnel,
        templates=templates,
        language=options.language,
        people=people_properties(
            {(f["property"], f["value"]) for f in shared_names.in_rows(facts) if f["kind"] == "entity"},
            tables.types_of(tables.listed("entity", own_values)),
        ),
    )
