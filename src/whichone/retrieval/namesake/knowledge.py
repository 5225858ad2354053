"""What a knowledge base adds: further names of the pages, their popularity, and their facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.knowledge.tables import KIND
from whichone.retrieval.namesake.relations import Stems, contains, stems

NAME_KINDS = ("label", "alias", "title", "redirect")


class Knowledge:
    """Names, facts and views of the entities that pages of a corpus are about."""

    def __init__(self, path: str | Path, pages: Mapping[str, int]) -> None:
        self._folder = Folder.open(path, KIND)
        self.id = f"{self._folder.manifest.name or 'knowledge'}-{self._folder.content_hash[:12]}"
        table = self._folder.table("pages", ["page", "entity", "title"])
        table = table.filter(pc.is_in(table["page"], pa.array(list(pages), pa.string())))
        if not table.num_rows:
            raise BadInput(
                "none of the corpus' pages is in this knowledge base",
                file=self._folder.root,
                hint="name the knowledge base that the benchmark was made from",
            )
        self._pages: dict[str, list[str]] = {}
        self._entity: dict[str, str] = {}
        self._titles: dict[str, str] = {}
        for row in table.to_pylist():
            self._titles[row["title"]] = row["page"]
            if row["entity"] is not None:
                self._pages.setdefault(row["entity"], []).append(row["page"])
                self._entity[row["page"]] = row["entity"]
        self._labels = self._property_labels()
        self._properties = self._entity_properties()

    def names(self) -> Iterator[tuple[str, str]]:
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

    def popularity(self) -> dict[str, float]:
        """Views of the pages of the corpus."""
        found: dict[str, float] = {}
        if self._folder.has("views.parquet"):
            table = self._folder.table("views", ["title", "views"])
            for title, views in zip(
                table["title"].to_pylist(), table["views"].to_pylist(), strict=True
            ):
                page = self._titles.get(title)
                if page is not None:
                    found[page] = found.get(page, 0.0) + float(views or 0)
        return found

    def asked_properties(self, page: str, words: Stems) -> list[str]:
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
        found: dict[str, dict[str, None]] = {}
        for entity, known in zip(
            table["entity"].to_pylist(), table["property"].to_pylist(), strict=True
        ):
            if known in self._labels:
                found.setdefault(entity, {})[known] = None
        return {entity: list(properties) for entity, properties in found.items()}
