"""AmbigDocs without a model: names, a fact several bearers have, passages that state it, a template."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from whichone.benchmarks.relations import Relation, spoken_relations
from whichone.papers.ambigdocs.bearers import (
    LEAST,
    MOST,
    SurfaceName,
    joined,
    listed_names,
    shared_names,
    usable_name,
)
from whichone.papers.ambigdocs.built import BuiltQuestion, Statement
from whichone.papers.ambigdocs.filter_rules import Draft, failed_rule
from whichone.papers.ambigdocs.funnel import Funnel
from whichone.papers.ambigdocs.properties import property_rules, question_of_label
from whichone.papers.ambigdocs.statements import Stated

if TYPE_CHECKING:
    from whichone.knowledge.engines import Tables

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
