"""What a knowledge base says of the entities of a corpus, as stems that a question may share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.corpus import Corpus
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.retrieval.namesake.relations import Stems, stems

_INSTANCE_OF = "P31"


class StemmedFact(msgspec.Struct, frozen=True):
    """A fact as words: its property's label, its value, and what kinds of thing the value is."""

    property: Stems
    value: Stems
    value_types: tuple[Stems, ...] = ()


class EntityFacts:
    """Facts and types of the entities that the pages of a corpus are about; read once."""

    def __init__(self, path: str | Path, corpus: Corpus) -> None:
        self._folder = Folder.open(path, KIND)
        entities = self._entities_of(corpus)
        facts = self._filtered("facts", ["entity", "property", "kind", "value"], "entity", entities)
        facts = facts.filter(pc.not_equal(facts["property"], _INSTANCE_OF))
        named = facts.filter(pc.equal(facts["kind"], "entity"))["value"].unique().to_pylist()
        labels, types = self._about([*entities, *named])
        kinds = sorted({t for held in types.values() for t in held})
        labels |= self._about(kinds)[0]
        properties = self._property_labels()
        self._types = {
            e: tuple(stems(labels[t]) for t in types.get(e, ()) if labels.get(t)) for e in entities
        }
        self._facts: dict[str, list[StemmedFact]] = {}
        for row in facts.to_pylist():
            value = labels.get(row["value"], "") if row["kind"] == "entity" else row["value"]
            value_types = tuple(
                stems(labels[t]) for t in types.get(row["value"], ()) if labels.get(t)
            )
            fact = StemmedFact(properties.get(row["property"], ()), stems(value or ""), value_types)
            self._facts.setdefault(row["entity"], []).append(fact)

    def facts(self, entity: str | None) -> list[StemmedFact]:
        return self._facts.get(entity or "", [])

    def types(self, entity: str | None) -> tuple[Stems, ...]:
        return self._types.get(entity or "", ())

    def _entities_of(self, corpus: Corpus) -> list[str]:
        entities = []
        for batch in self._folder.table("pages", ["page", "entity"]).to_batches(65_536):
            rows = corpus.page_rows(batch["page"].to_pylist())
            about = zip(rows, batch["entity"].to_pylist(), strict=True)
            entities += [e for row, e in about if row is not None and e is not None]
        return entities

    def _filtered(self, name: str, columns: list[str], by: str, values: Iterable[str]) -> pa.Table:
        table = self._folder.table(name, columns)
        return table.filter(pc.is_in(table[by], pa.array(list(values), pa.string())))

    def _about(self, entities: Iterable[str]) -> tuple[dict[str, str], Mapping[str, list[str]]]:
        table = self._filtered("entities", ["entity", "label", "types"], "entity", entities)
        rows = table.to_pylist()
        labels = {row["entity"]: row["label"] for row in rows if row["label"]}
        return labels, {row["entity"]: row["types"] or [] for row in rows}

    def _property_labels(self) -> dict[str, Stems]:
        table = self._folder.table("properties", ["property", "label"])
        return {row["property"]: stems(row["label"]) for row in table.to_pylist() if row["label"]}
