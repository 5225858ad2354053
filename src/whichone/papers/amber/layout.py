"""The released files' layout: `amber_set_tuples.jsonl` and the three `amber_sets.jsonl`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from whichone.papers.amber.model import AmberBearer, AmberSet, AmberTuple, PageRef, Value
from whichone.records import Provenance, Query, page_id

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
    if views is None:
        return None
    return math.log10(views) if views > 0 else 0.0


def tuple_record(amber_set: AmberSet) -> dict[str, Any]:
    """One line of `amber_set_tuples.jsonl`."""
    return {
        "name": amber_set.name,
        "qids": {bearer.entity: _bearer_record(bearer) for bearer in amber_set.bearers},
    }


def _bearer_record(bearer: AmberBearer) -> dict[str, Any]:
    return {
        "popularity": published_popularity(bearer.popularity),
        "is_head": bearer.is_head,
        "aliases": list(bearer.names),
        "entity_types": list(bearer.types),
        "pids": {fact.property: _fact_record(fact) for fact in bearer.tuples},
        "wikipedia": _pages(bearer.pages),
    }


def _fact_record(fact: AmberTuple) -> dict[str, Any]:
    return {
        "values": [_value_record(value) for value in fact.values],
        "property": fact.label,
        "provenance": _pages(fact.pages),
        "amber_id": fact.id,
    }


def _value_record(value: Value) -> dict[str, Any]:
    names = {"aliases": list(value.names), "additional_aliases": list(value.extra)}
    if value.kind == "entity":
        return {
            "type": "wikibase-item",
            "qid": value.value,
            **names,
            "entity_types": list(value.types),
            "found_in_passage": value.found,
        }
    record: dict[str, Any] = {"type": value.kind}
    if value.kind == "quantity":
        record["amount"] = value.value
        record["unit"] = "1" if value.unit is None else f"{_UNIT}{value.unit}"
    return {**record, **names, "found_in_passage": value.found}


def _pages(pages: Iterable[PageRef]) -> list[dict[str, Any]]:
    return [page_record(ref.page, ref.title) for ref in pages]


def set_records(
    sets: Iterable[Mapping[str, Any]], queries: Iterable[Query]
) -> Iterator[dict[str, Any]]:
    """Lines of one task's `amber_sets.jsonl`: every bearer, with its queries of that task."""
    by_bearer: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for query in queries:
        key = (query.name or "", query.entity or "")
        by_bearer.setdefault(key, []).append(query_record(query))
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
            "provenance": [
                page_record(p.page, p.title) for group in output.provenance for p in group
            ],
            "meta": {
                "values": query.attributes.get("values", answers),
                "additional_values": query.attributes.get("additional_values", []),
            },
        },
        "meta": {"pid": query.relation},
    }


def provenance(
    records: Iterable[Mapping[str, Any]], source: str
) -> tuple[tuple[Provenance, ...], ...]:
    """Gold pages of a released record, any one of which suffices."""
    return tuple(
        (Provenance(page=page_id(source, record["wikipedia_id"]), title=record.get("title")),)
        for record in records
    )
