"""Queries from tuples: a question, a slot to fill, a true and a false claim."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from whichone.benchmarks.relations import Account, Step
from whichone.files.lines import read_toml
from whichone.papers.amber.alignment import (
    MostFrequentInKnowledgeBase,
    MostFrequentInTuples,
    ValueBook,
    choose_template,
    fill,
    query_id,
)
from whichone.papers.amber.collection import (
    NAME_SLOT,
    OBJECT_SLOT,
    QUALIFIER_SLOT,
    AmberBearer,
    AmberSet,
    AmberTuple,
    Collection,
)
from whichone.papers.amber.distinguishing import Pipeline
from whichone.records import Output, Provenance, Query, Role

# Clean English for queries: the released templates without their mistakes, and grammar around what fills them.
# `--wording published` keeps the released texts, on which published query ids depend.


CLEAN: dict[str, str] = read_toml(Path(__file__).with_name("clean.toml"), dict)

_NO_ARTICLE = re.compile(
    r"\bthe (?=(?:World War|Operation|D-Day|Desert Storm|Vietnam\b(?! War))|[\w’']+[’']s )"
)
_STOPS = re.compile(r"[.?!][.?!]+$")
_ONE = re.compile(r"\b(1|one) seasons\b", re.I)
_WERE_ONE = re.compile(r"\bThere were (1|one) season\b", re.I)
_A = re.compile(r"\b([Aa])n? (?=[“\"']?([\w]+))")
_VOWEL = re.compile(r"(?i:[aeiou])")
_SOUNDS_CONSONANT = re.compile(r"(?i)(?:uni|use|usu|eu|ewe|one\b|once\b|ut[aeiou])")
_SOUNDS_VOWEL = re.compile(r"(?i:honou?r|hour|heir|honest)|8|11\b|18\b|[FHLMNRSX](?=[A-Z.]|\b)")
_NOUN_AFTER = re.compile(r"\$object (movement|position|industry)")
_BY_ORGANISATION = re.compile(
    r"\bby (?=[A-Z][\w’' -]*\b(?:Army|Navy|Force|Forces|Brigade|Brigades|Front|Party|Police|Guard|Union)\.$)"
)
ARTICLES_OF_TEMPLATES = ("a $object", "an $object")


def clean_template(template: str) -> str:
    return CLEAN.get(template, template)


def cleaned(text: str, template: str) -> str:
    """A filled template: articles, numbers and stops agree with what was put in."""
    if any(article in template for article in ARTICLES_OF_TEMPLATES):
        text = _A.sub(_article, text)
    if "the $object" in template or "the $name" in template:
        text = _NO_ARTICLE.sub("", text)
        text = re.sub(r"\bthe (?=[Tt]he )", "", text)
    if match := _NOUN_AFTER.search(template):
        text = re.sub(rf"\b({match[1]}) {match[1]}\b", r"\1", text, flags=re.I)
    if "the team $object" in template:
        text = re.sub(r"\bthe team (?=.*\bteam\.$)", "the ", text, flags=re.I)
    if "by $object" in template:
        text = _BY_ORGANISATION.sub("by the ", text)
    if "season" in text.lower():
        text = _WERE_ONE.sub(r"There was \1 season", _ONE.sub(r"\1 season", text))
    return _STOPS.sub(lambda stops: stops[0][-1], text)


def _article(match: re.Match[str]) -> str:
    word = match[2]
    vowel = (_VOWEL.match(word) and not _SOUNDS_CONSONANT.match(word)) or _SOUNDS_VOWEL.match(word)
    return f"{match[1]}{'n' if vowel else ''} "


TASKS = ("qa", "sf", "fc")
SEPARATOR = " [SEP] "
SUPPORTS, REFUTES = "SUPPORTS", "REFUTES"
# Question and claim for a property without templates, from its label.
MADE_UP = {
    "en": ("What is the {label} of {who}?", "The {label} of {who} is {value}."),
    "es": ("¿Qué se indica como «{label}» de {who}?", "«{label}» de {who}: {value}."),
    "fr": ("Qu'indique-t-on comme « {label} » de {who} ?", "« {label} » de {who} : {value}."),
    "de": ("Was ist „{label}“ von {who}?", "„{label}“ von {who} ist {value}."),
}
# A template cut at its slots, the slots among the pieces.
_pieces = lru_cache(1 << 10)(re.compile(r"(\$(?:name|object|qualifier))").split)


class _SharedByQueries(msgspec.Struct, frozen=True, gc=False):
    name: str
    name_set: str
    bearer: AmberBearer
    fact: AmberTuple
    role: Role | None
    answers: tuple[str, ...]
    provenance: tuple[tuple[Provenance, ...], ...]
    attributes: dict[str, Any]


class Instantiation:
    def __init__(
        self, pipeline: Pipeline, book: ValueBook, sets: Sequence[AmberSet], account: Account
    ) -> None:
        self.collection, self.rules = pipeline.collection, pipeline.rules
        self.language, self.ranked = pipeline.language, pipeline.ranked
        self.sets, self.account = sets, account
        self._pipeline, self._book = pipeline, book
        self._clean = self.rules.wording == "clean" and self.language == "en"
        # How a made-up template names the bearer.
        self._who = f"{NAME_SLOT} ({QUALIFIER_SLOT})" if self.collection.qualifier else NAME_SLOT
        self._claims_of: Counter[str] = Counter()

    @cached_property
    def false_values(self) -> MostFrequentInTuples | MostFrequentInKnowledgeBase:
        if self.rules.false_value == "tuples":
            return MostFrequentInTuples(self.sets)
        return MostFrequentInKnowledgeBase(self._pipeline, self._book, self.sets, self.account)

    @cached_property
    def _claimed(self) -> Step:
        most = self.rules.most_claims
        return self.account.step(f"no more than {most} claims on one bearer", "claims")

    def queries(self, tasks: Sequence[str] = TASKS) -> Iterator[Query]:
        makers = {"qa": self._question, "sf": self._slot, "fc": self._claims}
        tuples = [
            self._shared_by_queries(amber_set.name, bearer, fact)
            for amber_set in self.sets
            for bearer in amber_set.bearers
            for fact in bearer.tuples
        ]
        for task in tasks:
            for row in tuples:
                for text, answers, claimed in makers[task](row):
                    yield self._query(task, row, text, answers, claimed)

    def _shared_by_queries(self, name: str, bearer: AmberBearer, fact: AmberTuple) -> _SharedByQueries:
        values, additional = fact.answers(), fact.extra_answers()
        return _SharedByQueries(
            name=name,
            name_set=set_id(self.collection, name),
            bearer=bearer,
            fact=fact,
            role=("head" if bearer.is_head else "tail") if self.ranked else None,
            answers=(*values, *additional) if self.rules.extra_answers else tuple(dict.fromkeys(values)),
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
        yield self._finished(self._template(0, shared), shared), shared.answers, ""

    def _slot(self, shared: _SharedByQueries) -> Iterator[tuple[str, tuple[str, ...], str]]:
        yield f"{self._fill(self._who, shared)}{SEPARATOR}{shared.fact.label}", shared.answers, ""

    def _claims(self, shared: _SharedByQueries) -> Iterator[tuple[str, tuple[str, ...], str]]:
        fact, entity = shared.fact, shared.bearer.entity
        false = self.false_values.other_than(entity, fact)
        claims = 1 if false is None else 2
        if self.rules.most_claims:
            if self._claims_of[entity] + claims > self.rules.most_claims:
                for _ in range(claims):
                    self._claimed.remove(f"{shared.name}: {entity} {fact.property}")
                return
            self._claims_of[entity] += claims
            self._claimed.kept += claims
        template = self._template(1, shared)
        true = next(value.names[0] for value in fact.values if value.found)
        yield self._finished(template, shared, true), (SUPPORTS,), true
        if false is None:
            self.account.remark(
                f"{fact.property} has no other value for a false claim about {shared.name!r}; "
                "only the true claim is made (the released program stops here)"
            )
            return
        yield self._finished(template, shared, false), (REFUTES,), false

    def _template(self, kind: Literal[0, 1], shared: _SharedByQueries) -> str:
        """The question (0) or claim (1) that asks for a fact; one made of its label where there is none."""
        fact, known = shared.fact, self.collection.templates(shared.fact.property)
        if not (templates := (known.questions, known.claims)[kind].get(self.language, ())):
            made_up = MADE_UP[self.language][kind]
            templates = (made_up.format(label=fact.label, who=self._who, value=OBJECT_SLOT),)
        template = choose_template(shared.bearer.entity, fact.property, templates)
        return clean_template(template) if self._clean else template

    def _finished(self, template: str, shared: _SharedByQueries, value: str = "") -> str:
        text = self._fill(template, shared, value)
        return cleaned(text, template) if self._clean else text

    def _fill(self, template: str, shared: _SharedByQueries, value: str = "") -> str:
        if self.rules.name == "published" and not self.collection.qualifier:
            return fill(template, shared.name, value)
        given = {NAME_SLOT: shared.name, OBJECT_SLOT: value, QUALIFIER_SLOT: shared.bearer.qualifier}
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
                Output(answer=answers[0], aliases=answers[1:], entity=entity, provenance=shared.provenance),
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
