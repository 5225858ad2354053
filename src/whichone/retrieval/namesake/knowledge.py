"""What a knowledge base adds: further names of the pages, their popularity, and their facts."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.retrieval.namesake.relations import Stems, contains, stems

OF_PAGES = ("title", "redirect")
NAME_KINDS = ("label", "alias", *OF_PAGES)
_INSTANCE_OF = "P31"
_YEAR = re.compile(r"\d{4}")


class Fact(NamedTuple):
    """A fact as words that a question may have."""

    property: str
    value: str
    property_stems: Stems
    value_stems: Stems


class Knowledge:
    """Names, facts and views of the entities that pages of a corpus are about; pages by their rows."""

    def __init__(self, path: str | Path, corpus: Corpus) -> None:
        self._folder = Folder.open(path, KIND)
        self.id = f"{self._folder.manifest.name or 'knowledge'}-{self._folder.content_hash[:12]}"
        self._pages: dict[str, list[int]] = {}
        self._entity: dict[int, str] = {}
        self._titles: dict[str, int] = {}
        table = self._folder.table("pages", ["page", "entity", "title"])
        for batch in table.to_batches(max_chunksize=65_536):
            columns = (batch[name].to_pylist() for name in ("page", "entity", "title"))
            rows = corpus.page_rows(batch["page"].to_pylist())
            for row, (_, entity, title) in zip(rows, zip(*columns, strict=True), strict=True):
                if row is None:
                    continue
                self._titles[title] = row
                if entity is not None:
                    self._pages.setdefault(entity, []).append(row)
                    self._entity[row] = entity
        if not self._titles:
            raise BadInput(
                "none of the corpus' pages is in this knowledge base",
                file=self._folder.root,
                hint="name the knowledge base that the corpus was made from",
            )
        self._labels = self._property_labels()
        self._facts = self._entity_facts()
        self._places = _runs(self._facts["entity"])
        self.facts = functools.lru_cache(20_000)(self._read_facts)

    def entity(self, page: int) -> str | None:
        """Whom a page is about."""
        return self._entity.get(page)

    def names(self) -> Iterator[tuple[str, int]]:
        """Name and page for every label, alias, title and redirect.

        Where an entity has several documents here, a title is that of one of them and no name of the entity.
        """
        several = [entity for entity, pages in self._pages.items() if len(pages) > 1]
        table = self._folder.table("names", ["entity", "name", "kind"])
        of_document = pc.and_(
            pc.is_in(table["kind"], pa.array(OF_PAGES)),
            pc.is_in(table["entity"], pa.array(several, pa.string())),
        )
        known = pc.and_(
            pc.is_in(table["entity"], pa.array(list(self._pages), pa.string())),
            pc.is_in(table["kind"], pa.array(NAME_KINDS)),
        )
        table = table.filter(pc.and_not(known, of_document))
        for entity, name in zip(
            table["entity"].to_pylist(), table["name"].to_pylist(), strict=True
        ):
            for page in self._pages[entity]:
                yield name, page

    def popularity(self) -> dict[int, float]:
        """Views of the pages of the corpus; a catalogue's are of its entities, and so of all their documents."""
        popularity: dict[int, float] = {}
        if self._folder.has("views.parquet"):
            table = self._folder.table("views", ["title", "views"])
            for title, views in zip(
                table["title"].to_pylist(), table["views"].to_pylist(), strict=True
            ):
                own = self._titles.get(title)
                for page in self._pages.get(title, ()) if own is None else (own,):
                    popularity[page] = popularity.get(page, 0.0) + float(views or 0)
        return popularity

    def asked_properties(self, page: int, words: Stems) -> list[str]:
        """Labels of the properties of a page's entity that the question's words name."""
        labels = {f.property: f.property_stems for f in self.facts(self._entity.get(page, ""))}
        return [label for label, own in labels.items() if own and contains(words, own)]

    def _property_labels(self) -> dict[str, tuple[str, Stems]]:
        table = self._folder.table("properties", ["property", "label"])
        pairs = zip(table["property"].to_pylist(), table["label"].to_pylist(), strict=True)
        return {p: (label, stems(label)) for p, label in pairs if label and stems(label)}

    def _entity_facts(self) -> pa.Table:
        """The facts of all entities with a page here, by entity; of values that are entities their labels."""
        table = self._folder.table("facts", ["entity", "property", "kind", "value"])
        table = table.filter(pc.is_in(table["entity"], pa.array(list(self._pages), pa.string())))
        if not self._folder.has("entities.parquet"):
            return table
        named = table.filter(pc.equal(table["kind"], "entity"))["value"].unique()
        entities = self._folder.table("entities", ["entity", "label"])
        entities = entities.filter(pc.is_in(entities["entity"], named)).combine_chunks()
        places = pc.index_in(table["value"], entities["entity"])
        is_entity = pc.equal(table["kind"], "entity")
        value = pc.if_else(is_entity, entities["label"].take(places), table["value"])
        return table.set_column(table.column_names.index("value"), "value", value)

    def _read_facts(self, entity: str) -> tuple[Fact, ...]:
        first, end = self._places.get(entity, (0, 0))
        rows = self._facts.slice(first, end - first).to_pylist() if end > first else []
        return tuple(fact for row in rows if (fact := self._fact(row)) is not None)

    def _fact(self, row: dict[str, Any]) -> Fact | None:
        """Numbers without their sign, of times the year; a value without a label says nothing."""
        label, own = self._labels.get(row["property"], ("", ()))
        text = row["value"] or ""
        if row["kind"] == "quantity":
            text = text.lstrip("+")
        elif row["kind"] == "time":
            year = _YEAR.search(text)
            text = year.group() if year is not None else ""
        if row["property"] == _INSTANCE_OF:
            text = ""  # of which kind it is, the page says too
        return Fact(label, text, own, stems(text)) if label else None


def _runs(entities: pa.ChunkedArray) -> dict[str, tuple[int, int]]:
    """Where each entity's rows begin and end; they are together."""
    if not len(entities):
        return {}
    runs = pc.run_end_encode(entities.combine_chunks())
    ends = runs.run_ends.to_pylist()
    starts = [0, *ends[:-1]]
    return dict(zip(runs.values.to_pylist(), zip(starts, ends, strict=True), strict=True))
