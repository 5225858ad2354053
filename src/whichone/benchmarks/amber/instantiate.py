"""Queries from tuples: a question, a slot to fill, a true and a false claim."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from whichone.benchmarks.amber.account import Account
from whichone.benchmarks.amber.collection import NAME_SLOT, OBJECT_SLOT, QUALIFIER_SLOT, Collection
from whichone.benchmarks.amber.false_claims import FalseValues, false_values
from whichone.benchmarks.amber.model import AmberBearer, AmberSet, AmberTuple
from whichone.benchmarks.amber.published import choose_template, fill, query_id
from whichone.benchmarks.amber.relations import Pipeline
from whichone.benchmarks.amber.rules import Rules
from whichone.benchmarks.amber.values import ValueBook
from whichone.records import Output, Provenance, Query, Role

TASKS = ("qa", "sf", "fc")
SEPARATOR = " [SEP] "
SUPPORTS, REFUTES = "SUPPORTS", "REFUTES"
MADE_UP = {
    "en": ("What is the {label} of {who}?", "The {label} of {who} is {value}."),
    "de": ("Was ist „{label}“ von {who}?", "„{label}“ von {who} ist {value}."),
}
"""Question and claim for a property without templates, from its label."""
_SLOT = re.compile(r"\$(?:name|object|qualifier)")


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
        for task in tasks:
            for amber_set in sets:
                for bearer in amber_set.bearers:
                    for fact in bearer.tuples:
                        for text, answers, kept in makers[task](amber_set.name, bearer, fact):
                            yield self._query(task, amber_set, bearer, fact, text, answers, kept)

    def _answers(self, fact: AmberTuple) -> tuple[str, ...]:
        if self.rules.extra_answers:
            return (*fact.answers(), *fact.extra_answers())
        return tuple(dict.fromkeys(fact.answers()))

    def _question(
        self, name: str, bearer: AmberBearer, fact: AmberTuple
    ) -> Iterator[tuple[str, tuple[str, ...], str]]:
        templates = self.collection.questions(fact.property, self.language) or (
            self._made_up(0, fact.label),
        )
        template = choose_template(bearer.entity, fact.property, templates)
        yield self._fill(template, name, bearer), self._answers(fact), ""

    def _slot(
        self, name: str, bearer: AmberBearer, fact: AmberTuple
    ) -> Iterator[tuple[str, tuple[str, ...], str]]:
        who = self._fill(self._who(), name, bearer)
        yield f"{who}{SEPARATOR}{fact.label}", self._answers(fact), ""

    def _claims(
        self, name: str, bearer: AmberBearer, fact: AmberTuple
    ) -> Iterator[tuple[str, tuple[str, ...], str]]:
        templates = self.collection.claims(fact.property, self.language) or (
            self._made_up(1, fact.label),
        )
        template = choose_template(bearer.entity, fact.property, templates)
        true = next(value.names[0] for value in fact.values if value.found)
        yield self._fill(template, name, bearer, true), (SUPPORTS,), true
        false = self.false_values.other_than(fact)
        if false is None:
            self.account.remark(
                f"{fact.property} has no other value for a false claim about {name!r}; "
                "only the true claim is made (the released program stops here)"
            )
            return
        yield self._fill(template, name, bearer, false), (REFUTES,), false

    def _made_up(self, kind: int, label: str) -> str:
        """A question (0) or claim (1) for a property without templates in the language."""
        template = MADE_UP.get(self.language, MADE_UP["en"])[kind]
        return template.format(label=label, who=self._who(), value=OBJECT_SLOT)

    def _who(self) -> str:
        """How a made-up template names the bearer."""
        if self.collection.qualifier:
            return f"{NAME_SLOT} ({QUALIFIER_SLOT})"
        return NAME_SLOT

    def _fill(self, template: str, name: str, bearer: AmberBearer, value: str = "") -> str:
        if self.rules.name == "published" and not self.collection.qualifier:
            return fill(template, name, value)
        given = {NAME_SLOT: name, OBJECT_SLOT: value, QUALIFIER_SLOT: bearer.qualifier}
        return _SLOT.sub(lambda slot: given[slot[0]], template)

    def _query(
        self,
        task: str,
        amber_set: AmberSet,
        bearer: AmberBearer,
        fact: AmberTuple,
        text: str,
        answers: tuple[str, ...],
        claimed: str,
    ) -> Query:
        role: Role | None = ("head" if bearer.is_head else "tail") if self.ranked else None
        attributes = {
            "collection": self.collection.key,
            "property_label": fact.label,
            "values": list(fact.answers()),
            "additional_values": list(fact.extra_answers()),
        }
        if claimed:
            attributes["claimed"] = claimed
        return Query(
            id=query_id(fact.id, text),
            task=task,
            input=text,
            outputs=(
                Output(
                    answer=answers[0],
                    aliases=answers[1:],
                    entity=bearer.entity,
                    provenance=tuple((Provenance(page=p.page, title=p.title),) for p in fact.pages),
                ),
            ),
            language=self.language,
            name=amber_set.name,
            name_set=set_id(self.collection, amber_set.name),
            role=role,
            relation=fact.property,
            entity=bearer.entity,
            attributes=attributes,
        )


def set_id(collection: Collection, name: str) -> str:
    """A name set's id in a benchmark: sets of several collections can share a folder."""
    return f"{collection.key}:{name}"
