"""What a knowledge base adds: further names of the pages, their popularity, and their facts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.knowledge.tables import KIND
from whichone.retrieval.namesake.relations import Stems, contains, stems

NAME_KINDS = ("label", "alias", "title", "redirect")


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
        self._properties = self._entity_properties()

    def names(self) -> Iterator[tuple[str, int]]:
        """Name and page for every label, alias, title and redirect."""
        table = self._folder.table("names", ["entity", "name", "kind"])
        table = table.filter(
            pc.and_(
                pc.is_in(table["entity"], pa.array(list(self._pages), pa.string())),
                pc.is_in(table["kind"], pa.array(NAME_KINDS)),
            )
        )
        for entity, name in zip(
            table["entity"].to_pylist(), table["name"].to_pylist(), strict=True
        ):
            for page in self._pages[entity]:
                yield name, page

    def popularity(self) -> dict[int, float]:
        """Views of the pages of the corpus."""
        popularity: dict[int, float] = {}
        if self._folder.has("views.parquet"):
            table = self._folder.table("views", ["title", "views"])
            for title, views in zip(
                table["title"].to_pylist(), table["views"].to_pylist(), strict=True
            ):
                page = self._titles.get(title)
                if page is not None:
                    popularity[page] = popularity.get(page, 0.0) + float(views or 0)
        return popularity

    def asked_properties(self, page: int, words: Stems) -> list[str]:
        """Labels of the properties of a page's entity that the question's words name."""
        properties = self._properties.get(self._entity.get(page, ""), ())
        return [self._labels[p][0] for p in properties if contains(words, self._labels[p][1])]

    def _property_labels(self) -> dict[str, tuple[str, Stems]]:
        table = self._folder.table("properties", ["property", "label"])
        pairs = zip(table["property"].to_pylist(), table["label"].to_pylist(), strict=True)
        return {p: (label, stems(label)) for p, label in pairs if label and stems(label)}

    def _entity_properties(self) -> dict[str, list[str]]:
        table = self._folder.table("facts", ["entity", "property"])
        table = table.filter(pc.is_in(table["entity"], pa.array(list(self._pages), pa.string())))
        all_properties: dict[str, dict[str, None]] = {}
        for entity, known in zip(
            table["entity"].to_pylist(), table["property"].to_pylist(), strict=True
        ):
            if known in self._labels:
                all_properties.setdefault(entity, {})[known] = None
        return {entity: list(properties) for entity, properties in all_properties.items()}
