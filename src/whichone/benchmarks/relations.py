"""Relations and the question each is asked by; EntityQuestions' own 24 are in `relations.toml`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from whichone.errors import BadInput, UsageError
from whichone.files.lines import NOT_JSON, read_bytes
from whichone.records import Query, Question

if TYPE_CHECKING:
    from ibis.expr.types import Table

SLOT = "$name"
LANGUAGES = ("de", "en", "es", "fr")  # Those that questions are there in


class Relation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A property with its question; `reworded` asks the same in other words."""

    label: str
    question: str
    reworded: str | None = None
    types: tuple[str, ...] = ()  # Of what types the question makes sense; none: of all that have the relation
    values: tuple[str, ...] = ()  # Of what types its answers are; none: of any
    id: str = ""

    def ask(self, name: str, *, reworded: bool = False) -> str:
        return (self.reworded if reworded and self.reworded else self.question).replace(SLOT, name)

    def name_in(self, question: str) -> str | None:
        """The name a question was asked with, in either wording; None when it fits neither."""
        for template in (self.question, self.reworded):
            if template is None:
                continue
            before, after = template.split(SLOT)
            fits = question.startswith(before) and question.endswith(after)
            if fits and len(question) > len(before) + len(after):
                return question[len(before) : len(question) - len(after)]
        return None


def read_relations(path: str | Path) -> dict[str, Relation]:
    """Relations of a TOML file: a table a property, with `label`, `question`, `reworded`, `types`, `values`."""
    path = Path(path)
    return _decode(read_bytes(path), str(path))


@cache
def published_relations() -> dict[str, Relation]:
    """The 24 of the paper."""
    return _decode(files("whichone.benchmarks").joinpath("relations.toml").read_bytes(), "relations.toml")


@cache
def spoken_relations(language: str) -> dict[str, Relation]:
    """The same relations asked in another language; a language without questions is refused, never mixed."""
    if language == "en":
        return published_relations()
    name = f"relations_{language.partition('-')[0]}.toml"
    file = files("whichone.benchmarks").joinpath(name)
    if language.partition("-")[0] not in LANGUAGES:
        raise UsageError(
            f"there are no questions in {language!r}, and English ones are not mixed with its names",
            hint="de, en, es and fr are there; write others into a file: a table a property with label and question",
        )
    english = published_relations()
    return {
        key: msgspec.structs.replace(
            relation,
            types=relation.types or english[key].types,
            values=relation.values or english[key].values,
        )
        if key in english
        else relation
        for key, relation in _decode(file.read_bytes(), name).items()
    }


def _decode(data: bytes, where: str) -> dict[str, Relation]:
    try:
        entries = msgspec.toml.decode(data, type=dict[str, Relation])
    except NOT_JSON as error:
        raise BadInput(f"not a file of relations: {error}", file=where) from error
    for key, entry in entries.items():
        for text in (entry.question, entry.reworded):
            if text is not None and text.count(SLOT) != 1:
                raise BadInput(f"{key}: {text!r} must hold {SLOT} once", file=where)
    return {key: msgspec.structs.replace(entry, id=key) for key, entry in entries.items()}


def frequent_values(facts: Table, most: int = 200) -> Table:
    """The most frequent values of each property (`frequency_rank` from 0), equally frequent ones by value."""
    import ibis

    counted = facts.group_by(["property", "kind", "value"]).agg(times=facts.count())
    order = [ibis.desc(counted.times), counted.value]
    ranked = counted.mutate(frequency_rank=ibis.row_number().over(group_by="property", order_by=order))
    return ranked.filter(ranked.frequency_rank < most)


def labels() -> dict[str, str]:
    return {key: relation.label for key, relation in published_relations().items()}


EXAMPLES = 5


class Step(msgspec.Struct):
    """One filter: what it looks at, how many it kept and removed, and a few of the removed."""

    name: str
    unit: str
    kept: int = 0
    removed: int = 0
    examples: list[str] = []

    def remove(self, example: str) -> None:
        self.removed += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(example)


class Account(msgspec.Struct):
    """The steps of a build in order, and remarks for whoever reads its output.

    Every line of a unit has what the line of that unit before it had, less what it removed.
    """

    steps: list[Step] = []
    remarks: list[str] = []

    def step(
        self, name: str, unit: str, kept: int = 0, removed: int = 0, examples: Iterable[str] = ()
    ) -> Step:
        step = Step(name, unit, kept, removed, [*examples])
        self.steps.append(step)
        return step

    def after(self, name: str, unit: str, kept: int) -> Step:
        """A filter that left so many of what the last line of this unit had."""
        had = next((s.kept for s in reversed(self.steps) if s.unit == unit), kept)
        return self.step(name, unit, kept, had - kept)

    def remark(self, text: str) -> None:
        if text not in self.remarks:
            self.remarks.append(text)

    def counts(self) -> list[dict[str, Any]]:
        return [{"step": s.name, "unit": s.unit, "kept": s.kept, "removed": s.removed} for s in self.steps]


TEMPLATES = "template_questions"


def template_questions(query: Query) -> tuple[str, ...]:
    """The questions that a record itself offers for its slot, in KILT's `meta` or as an attribute."""
    record = query.attributes.get("kilt")
    meta: Any = record.get("meta") if isinstance(record, Mapping) else None
    held = meta.get(TEMPLATES) if isinstance(meta, Mapping) else None
    return tuple(str(text) for text in (held or query.attributes.get(TEMPLATES) or ()) if str(text).strip())


def question_in_words(query: Query) -> str:
    """One of its templates at random, always the same one (KILT, appendix C); a slot without any by ours."""
    if not (templates := template_questions(query)):
        from whichone.reading.checkpoint import as_question  # imports what reads checkpoints

        return as_question(query.question())
    number = int.from_bytes(hashlib.sha256(query.id.encode()).digest()[:8], "big")
    return templates[number % len(templates)]


def worded(query: Query) -> Question:
    """What a reader of questions is asked: a template in place of the slot where there is one."""
    question = query.question()
    if not template_questions(query):
        return question
    return msgspec.structs.replace(question, text=question_in_words(query))
