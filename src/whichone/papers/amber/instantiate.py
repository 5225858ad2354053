"""Queries from tuples: a question, a slot to fill, a true and a false claim."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from whichone.benchmarks.relations import Account
from whichone.papers.amber.collection import NAME_SLOT, OBJECT_SLOT, QUALIFIER_SLOT, Collection
from whichone.papers.amber.false_claims import FalseValues, false_values
from whichone.papers.amber.model import AmberBearer, AmberSet, AmberTuple
from whichone.papers.amber.published import choose_template, fill, query_id
from whichone.papers.amber.relations import Pipeline
from whichone.papers.amber.rules import Rules
from whichone.papers.amber.values import ValueBook
from whichone.papers.amber.wording import clean_template, cleaned
from whichone.records import Output, Provenance, Query, Role

TASKS = ("qa", "sf", "fc")
SEPARATOR = " [SEP] "
SUPPORTS, REFUTES = "SUPPORTS", "REFUTES"
MADE_UP = {
    "en": ("What is the {label} of {who}?", "The {label} of {who} is {value}."),
    "es": ("¿Qué se indica como «{label}» de {who}?", "«{label}» de {who}: {value}."),
    "fr": ("Qu'indique-t-on comme « {label} » de {who} ?", "« {label} » de {who} : {value}."),
    "de": ("Was ist „{label}“ von {who}?", "„{label}“ von {who} ist {value}."),
}
"""Question and claim for a property without templates, from its label."""
_SLOT = re.compile(r"(\$(?:name|object|qualifier))")


class _SharedByQueries(msgspec.Struct, frozen=True, gc=False):
    """A tuple with what all its queries share."""

    name: str
    name_set: str
    bearer: AmberBearer
    fact: AmberTuple
    role: Role | None
    answers: tuple[str, ...]
    provenance: tuple[tuple[Provenance, ...], ...]
    attributes: dict[str, Any]


@lru_cache(maxsize=1 << 10)
def _pieces(template: str) -> list[str]:
    """A template cut at its slots, the slots among the pieces."""
    return _SLOT.split(template)


class Instantiation:
    """Everything that turns a tuple into queries."""

    def __init__(
        self,
        collection: Collection,
        rules: Rules,
        false_values: FalseValues,
        account: Account,
        *,
        language: str = "en",
        ranked: bool = True,
    ) -> None:
        self.collection = collection
        self.rules = rules
        self.false_values = false_values
        self.account = account
        self.language = language
        self.ranked = ranked

    @classmethod
    def of(
        cls, pipeline: Pipeline, book: ValueBook, sets: Sequence[AmberSet], account: Account
    ) -> Instantiation:
        """With what a pipeline's collection, rules and values say."""
        return cls(
            pipeline.collection,
            pipeline.rules,
            false_values(pipeline, book, sets),
            account,
            language=pipeline.language,
            ranked=pipeline.popularity != "none",
        )

    def queries(self, sets: Sequence[AmberSet], tasks: Sequence[str] = TASKS) -> Iterator[Query]:
        """All queries, task by task, set by set."""
        makers = {"qa": self._question, "sf": self._slot, "fc": self._claims}
        tuples = [
            self._shared_by_queries(amber_set.name, name_set, bearer, fact)
            for amber_set in sets
            for name_set in (set_id(self.collection, amber_set.name),)
            for bearer in amber_set.bearers
            for fact in bearer.tuples
        ]
        for task in tasks:
            for row in tuples:
                for text, answers, claimed in makers[task](row):
                    yield self._query(task, row, text, answers, claimed)

    def _shared_by_queries(
        self, name: str, name_set: str, bearer: AmberBearer, fact: AmberTuple
    ) -> _SharedByQueries:
        values, additional = fact.answers(), fact.extra_answers()
        return _SharedByQueries(
            name=name,
            name_set=name_set,
            bearer=bearer,
            fact=fact,
            role=("head" if bearer.is_head else "tail") if self.ranked else None,
            answers=(*values, *additional)
            if self.rules.extra_answers
            else tuple(dict.fromkeys(values)),
            provenance=tuple((Provenance(page=p.page, title=p.title),) for p in fact.pages),
            attributes={
                "collection": self.collection.key,
                "property_label": fact.label,
                "values": list(values),
                "additional_values": list(additional),
                **({"qualifier": bearer.qualifier} if self.collection.qualifier else {}),
            },
        )

    def _question(self, shared: _SharedByQueries) -> Iterator[tuple[str, tuple[str, ...], str]]:
        fact = shared.fact
        templates = self.collection.questions(fact.property, self.language) or (
            self._made_up(0, fact.label),
        )
        template = self._worded(choose_template(shared.bearer.entity, fact.property, templates))
        yield self._finished(template, self._fill(template, shared)), shared.answers, ""

    def _slot(self, shared: _SharedByQueries) -> Iterator[tuple[str, tuple[str, ...], str]]:
        who = self._fill(self._who(), shared)
        yield f"{who}{SEPARATOR}{shared.fact.label}", shared.answers, ""

    def _claims(self, shared: _SharedByQueries) -> Iterator[tuple[str, tuple[str, ...], str]]:
        fact = shared.fact
        templates = self.collection.claims(fact.property, self.language) or (
            self._made_up(1, fact.label),
        )
        template = self._worded(choose_template(shared.bearer.entity, fact.property, templates))
        true = next(value.names[0] for value in fact.values if value.found)
        yield self._finished(template, self._fill(template, shared, true)), (SUPPORTS,), true
        false = self.false_values.other_than(fact)
        if false is None:
            self.account.remark(
                f"{fact.property} has no other value for a false claim about {shared.name!r}; "
                "only the true claim is made (the released program stops here)"
            )
            return
        yield self._finished(template, self._fill(template, shared, false)), (REFUTES,), false

    @property
    def _clean(self) -> bool:
        return self.rules.wording == "clean" and self.language == "en"

    def _worded(self, template: str) -> str:
        return clean_template(template) if self._clean else template

    def _finished(self, template: str, text: str) -> str:
        return cleaned(text, template) if self._clean else text

    def _made_up(self, kind: int, label: str) -> str:
        """A question (0) or claim (1) for a property without templates in the language."""
        template = MADE_UP[self.language][kind]
        return template.format(label=label, who=self._who(), value=OBJECT_SLOT)

    def _who(self) -> str:
        """How a made-up template names the bearer."""
        if self.collection.qualifier:
            return f"{NAME_SLOT} ({QUALIFIER_SLOT})"
        return NAME_SLOT

    def _fill(self, template: str, shared: _SharedByQueries, value: str = "") -> str:
        if self.rules.name == "published" and not self.collection.qualifier:
            return fill(template, shared.name, value)
        given = {
            NAME_SLOT: shared.name,
            OBJECT_SLOT: value,
            QUALIFIER_SLOT: shared.bearer.qualifier,
        }
        return "".join([given.get(piece, piece) for piece in _pieces(template)])

    def _query(
        self, task: str, shared: _SharedByQueries, text: str, answers: tuple[str, ...], claimed: str
    ) -> Query:
        entity = shared.bearer.entity
        return Query(
            id=query_id(shared.fact.id, text),
            task=task,
            input=text,
            outputs=(
                Output(
                    answer=answers[0],
                    aliases=answers[1:],
                    entity=entity,
                    provenance=shared.provenance,
                ),
            ),
            language=self.language,
            name=shared.name,
            name_set=shared.name_set,
            role=shared.role,
            relation=shared.fact.property,
            entity=entity,
            attributes={**shared.attributes, "claimed": claimed} if claimed else shared.attributes,
        )


def set_id(collection: Collection, name: str) -> str:
    """A name set's id in a benchmark: sets of several collections can share a folder."""
    return f"{collection.key}:{name}"
