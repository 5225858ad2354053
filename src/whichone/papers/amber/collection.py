"""Collections: which types of entities, which properties, and the templates that ask for them."""

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.lines import read_json, read_toml
from whichone.records import Provenance, Query, grouped, page_id

FOLDER = Path(__file__).parent / "collections"
PUBLISHED = ("human", "nonhuman")  # The paper's collections, AmbER-H and AmbER-N
NAME_SLOT, OBJECT_SLOT, QUALIFIER_SLOT = "$name", "$object", "$qualifier"

Popularity = Literal["views", "sitelinks", "links", "none"]


class EntityType(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    properties: tuple[str, ...]
    label: str = ""


class PropertyTemplates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a property is asked for and claimed, by language; what is missing is made from the label."""

    label: str = ""
    questions: Mapping[str, tuple[str, ...]] = {}
    claims: Mapping[str, tuple[str, ...]] = {}


class Collection(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What AmbER sets are made of; `different_types` asks for bearers of different types (AmbER-N).

    In a catalogue every entry has the same properties, so that none tells two namesakes apart. There
    `qualifier` names the property whose value does, and questions say it: "Paris (Texas)".
    """

    name: str
    types: Mapping[str, EntityType]
    key: str = ""
    description: str = ""
    popularity: Popularity = "views"
    different_types: bool = False
    qualifier: str | None = None
    properties: Mapping[str, PropertyTemplates] = {}

    @property
    def property_ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(p for t in self.types.values() for p in t.properties))

    @property
    def wanted(self) -> tuple[str, ...]:
        """Every property, and the qualifier."""
        return (*self.property_ids, *([self.qualifier] if self.qualifier else []))

    def templates(self, prop: str) -> PropertyTemplates:
        return self.properties.get(prop, PropertyTemplates())

    def label(self, prop: str) -> str:
        return self.templates(prop).label


def builtin_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_collection(name_or_file: str) -> Collection:
    builtin = FOLDER / f"{name_or_file}.toml"
    path = builtin if builtin.is_file() else Path(name_or_file)
    if not path.is_file():
        raise UsageError(
            f"there is no collection {name_or_file!r} and no such file",
            hint=did_you_mean(name_or_file, builtin_names()),
        )
    document = read_json(path) if path.suffix == ".json" else read_toml(path, dict)
    collection = parse_collection(document, path)
    return collection if collection.key else msgspec.structs.replace(collection, key=path.stem)


def parse_collection(document: Any, path: str | Path) -> Collection:
    try:
        collection = msgspec.convert(document, Collection)
    except msgspec.ValidationError as error:
        raise BadInput(f"not a collection: {error}", file=path) from error
    qualifier = (QUALIFIER_SLOT,) if collection.qualifier else ()
    wrong = [
        f"the {kind} template {text!r} of {prop} ({language}) has no slot {' and '.join(missing)}"
        for prop, templates in collection.properties.items()
        for kind, by_language, slots in (
            ("question", templates.questions, (NAME_SLOT, *qualifier)),
            ("claim", templates.claims, (NAME_SLOT, OBJECT_SLOT, *qualifier)),
        )
        for language, texts in by_language.items()
        for text in texts
        if (missing := [slot for slot in slots if slot not in text])
    ]
    if not collection.property_ids:
        wrong.append("no type has a property")
    if wrong:
        raise BadInput(
            "; ".join(wrong),
            file=path,
            hint=f"a question needs {NAME_SLOT}, a claim {NAME_SLOT} and {OBJECT_SLOT}",
        )
    return collection


def labels() -> dict[str, str]:
    """Words for the ids of the published collections' properties and types."""
    words: dict[str, str] = {}
    for name in PUBLISHED:
        collection = load_collection(name)
        words |= {key: known.label for key, known in collection.properties.items()}
        words |= {entity_type.id: entity_type.label for entity_type in collection.types.values()}
    return words


load_builtin = functools.cache(load_collection)  # asked for every fact of a benchmark


def type_name(collection: str, types: Sequence[str], relation: str) -> str | None:
    """The type of a built-in collection that an entity is asked about as; None for other collections."""
    if collection not in builtin_names():
        return None
    for key, entity_type in load_builtin(collection).types.items():
        if entity_type.id in types and relation in entity_type.properties:
            return entity_type.label or key
    return None


class PageRef(msgspec.Struct, frozen=True, gc=False):
    page: str
    title: str


class AmberValue(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One value of a tuple: all its names, and whether one of them appears in a page's beginning.

    `value` is an entity id, an amount as Wikidata writes it, or a text, by `kind`. `extra` are the
    further answers of the released program: number words, and the names of those who use the value.
    """

    kind: str
    value: str
    unit: str | None = None
    names: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    found: bool = False


class AmberTuple(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: str
    property: str
    label: str
    values: tuple[AmberValue, ...]
    pages: tuple[PageRef, ...]

    def answers(self) -> tuple[str, ...]:
        """The names of all values in order, repeated ones too."""
        return tuple(name for value in self.values for name in value.names)

    def extra_answers(self) -> tuple[str, ...]:
        return tuple(name for value in self.values for name in value.extra)


class AmberBearer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entity that has the set's name; without tuples it stays in the set, without queries."""

    entity: str
    label: str
    popularity: float | None
    is_head: bool
    names: tuple[str, ...]
    types: tuple[str, ...]
    tuples: tuple[AmberTuple, ...]
    pages: tuple[PageRef, ...]
    qualifier: str = ""


class AmberSet(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    name: str
    bearers: tuple[AmberBearer, ...]

    @property
    def queried(self) -> tuple[AmberBearer, ...]:
        return tuple(bearer for bearer in self.bearers if bearer.tuples)


TUPLES_FILE = "amber_set_tuples.jsonl"
SETS_FILE = "amber_sets.jsonl"
_UNIT = "http://www.wikidata.org/entity/"


def wikipedia_id(page: str) -> str:
    """A page's id without its source: `enwiki:12` is 12."""
    return page.partition(":")[2] or page


def page_record(page: str, title: str | None) -> dict[str, Any]:
    return {"wikipedia_id": wikipedia_id(page), "title": title or ""}


def published_popularity(views: float | None) -> float | None:
    """The released files give the logarithm of the views to the base of ten."""
    return None if views is None else _log10(views)


def tuple_record(amber_set: AmberSet) -> dict[str, Any]:
    """One line of `amber_set_tuples.jsonl`."""
    return {
        "name": amber_set.name,
        "qids": {
            bearer.entity: {
                "popularity": published_popularity(bearer.popularity),
                "is_head": bearer.is_head,
                "aliases": list(bearer.names),
                "entity_types": list(bearer.types),
                "pids": {
                    fact.property: {
                        "values": [_value_record(value) for value in fact.values],
                        "property": fact.label,
                        "provenance": _pages(fact.pages),
                        "amber_id": fact.id,
                    }
                    for fact in bearer.tuples
                },
                "wikipedia": _pages(bearer.pages),
            }
            for bearer in amber_set.bearers
        },
    }


def _value_record(value: AmberValue) -> dict[str, Any]:
    own: dict[str, Any] = {"type": value.kind}
    if value.kind == "entity":
        own = {"type": "wikibase-item", "qid": value.value}
    elif value.kind == "quantity":
        own |= {"amount": value.value, "unit": "1" if value.unit is None else f"{_UNIT}{value.unit}"}
    return {
        **own,
        "aliases": list(value.names),
        "additional_aliases": list(value.extra),
        **({"entity_types": list(value.types)} if value.kind == "entity" else {}),
        "found_in_passage": value.found,
    }


def _pages(pages: Iterable[PageRef]) -> list[dict[str, Any]]:
    return [page_record(ref.page, ref.title) for ref in pages]


def set_records(sets: Iterable[Mapping[str, Any]], queries: Iterable[Query]) -> Iterator[dict[str, Any]]:
    """Lines of one task's `amber_sets.jsonl`: every bearer, with its queries of that task."""
    by_bearer = grouped(((query.name or "", query.entity or ""), query_record(query)) for query in queries)
    for line in sets:
        name = line["name"]
        yield {
            "name": name,
            "qids": {
                entity: {
                    "is_head": bearer["is_head"],
                    "popularity": bearer["popularity"],
                    "wikipedia": bearer["wikipedia"],
                    "queries": by_bearer.get((name, entity), []),
                }
                for entity, bearer in line["qids"].items()
            },
        }


def query_record(query: Query) -> dict[str, Any]:
    """One query as the released files write it; a fact-checking answer is a text, others are lists."""
    output = query.outputs[0]
    answers = [text for text in (output.answer, *output.aliases) if text is not None]
    return {
        "id": query.id,
        "input": query.input,
        "output": {
            "answer": answers[0] if query.task == "fc" and answers else answers,
            "provenance": [page_record(p.page, p.title) for group in output.provenance for p in group],
            "meta": {
                "values": query.attributes.get("values", answers),
                "additional_values": query.attributes.get("additional_values", []),
            },
        },
        "meta": {"pid": query.relation},
    }


def provenance(records: Iterable[Mapping[str, Any]], source: str) -> tuple[tuple[Provenance, ...], ...]:
    """Gold pages of a released record, any one of which suffices."""
    return tuple(
        (Provenance(page=page_id(source, record["wikipedia_id"]), title=record.get("title")),)
        for record in records
    )


class AmberRules(msgspec.Struct, frozen=True, kw_only=True):
    """Every decision on which the paper and its program differ, or which one of them leaves open.

    The defaults are the paper's.
    """

    name: Literal["paper", "published"] = "paper"
    same_name: Literal["exact", "key"] = "key"
    head_among: Literal["typed", "all"] = "typed"
    gap: float = 0.10
    gap_scale: Literal["views", "log10"] = "views"
    gap_denominator: Literal["tail", "mean"] = "tail"
    different_types: bool = True
    deprecated_facts: bool = False
    other_value_kinds: bool = True
    value_needs_views: bool = False
    disambiguation_pages: bool = False
    empty_names_match: bool = False
    false_value: Literal["knowledge base", "tuples"] = "knowledge base"
    extra_answers: bool = False
    wording: Literal["clean", "published"] = "clean"  # published: with the mistakes of the templates
    most_claims: int = 10  # on one bearer, under whatever names; 0: any number
    tokens: int = 350  # of a page, from its beginning (paper, section 3.2)
    min_name_share: float = 0.0  # of the links to a bearer, that use the name; the paper takes every alias


PAPER = AmberRules()
RULES_PUBLISHED = AmberRules(
    name="published", same_name="exact", head_among="all", gap_scale="log10", gap_denominator="mean",
    different_types=False, deprecated_facts=True, other_value_kinds=False, value_needs_views=True,
    disambiguation_pages=True, empty_names_match=True, false_value="tuples", extra_answers=True,
    wording="published", most_claims=0,
)  # fmt: skip


def rules_called(name: str, **given: Any) -> AmberRules:
    """One of the two sets of rules, with those of its fields that are given and not None."""
    if name not in ("paper", "published"):
        raise UsageError(f"there are no rules called {name!r}", hint="paper or published")
    rules = PAPER if name == "paper" else RULES_PUBLISHED
    rules = msgspec.structs.replace(rules, **{k: v for k, v in given.items() if v is not None})
    if not (rules.gap >= 0 and math.isfinite(rules.gap)):
        raise UsageError(f"--gap is a share of 0 or more, such as 0.1, not {rules.gap}")
    if not 0 <= rules.min_name_share <= 1:
        raise UsageError(f"--min-name-share is between 0 and 1, not {rules.min_name_share}")
    return rules


def popularity_gap(rules: AmberRules, head: float, tail: float) -> float:
    """By how much the head is more popular than the most popular tail, as a share."""
    if rules.gap_scale == "log10":
        head, tail = _log10(head), _log10(tail)
    below = tail if rules.gap_denominator == "tail" else (head + tail) / 2
    if below == 0:
        # The released program divides by zero here; nobody has a lead over nobody.
        return 0.0 if head == tail else math.inf
    return (head - tail) / below


def _log10(views: float) -> float:
    return math.log10(views) if views > 0 else 0.0
