"""The pages of a knowledge base for mapping and checking: by id, title, address or entity, many at once.

Everything that a dataset refers to is asked for together, so that the tables are read once and
never held.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whichone.files.folder import Folder
from whichone.files.tables import read_batches
from whichone.knowledge.formats.wiki_site import clean_title, site_for
from whichone.knowledge.knowledge_tables import KIND
from whichone.knowledge.lookup import read_address

Lengths = npt.NDArray[np.int64]
_ENTITY = re.compile(r"Q\d+")


class SnapshotPage(msgspec.Struct, frozen=True):
    """A page as evidence needs it."""

    page: str
    title: str
    entity: str | None
    paragraphs: Sequence[str]


class Snapshot:
    """Pages of one knowledge base, through its redirects."""

    def __init__(self, base: str | Path) -> None:
        self.folder = Folder.open(base, KIND)

    def resolve(self, references: Iterable[str]) -> dict[str, str]:
        """The page of each id, title, address or Wikidata id; those that no page answers to are left out."""
        wanted = {reference: _forms(reference) for reference in set(references)}
        forms = {form for listed in wanted.values() for form in listed}
        numbers = {form for form in forms if form.isdigit()}
        ids = self._ids(numbers | {form for form in forms if ":" in form})
        ids |= self._entities({form for form in forms if _ENTITY.fullmatch(form)})
        titles = self._titles(forms)
        redirects = self._redirects(forms - titles.keys())
        resolved = {}
        for reference, listed in wanted.items():
            for form in listed:
                page = ids.get(form) or titles.get(form) or redirects.get(form)
                if page:
                    resolved[reference] = page
                    break
        return resolved

    def pages(self, ids: Iterable[str]) -> Iterator[SnapshotPage]:
        """The pages with these ids and their text, in the order of the table."""
        columns = ["page", "title", "entity", "paragraphs"]
        for batch in self._rows("pages", columns, "page", ids):
            for row in batch.to_pylist():
                yield SnapshotPage(
                    row["page"], row["title"], row["entity"], tuple(row["paragraphs"] or ())
                )

    def every_page(self) -> Iterator[SnapshotPage]:
        """All pages with their text, one batch at a time."""
        for batch in self._batches("pages", ["page", "title", "entity", "paragraphs"]):
            for row in batch.to_pylist():
                yield SnapshotPage(
                    row["page"], row["title"], row["entity"], tuple(row["paragraphs"] or ())
                )

    def paragraph_lengths(self) -> Iterator[tuple[list[str], Lengths, Lengths]]:
        """Pages in blocks, the lengths of all their paragraphs, and where those of each page begin and end."""
        for batch in self._batches("pages", ["page", "paragraphs"]):
            paragraphs = batch["paragraphs"].fill_null([])
            ends = np.cumsum(pc.list_value_length(paragraphs).to_numpy(zero_copy_only=False))
            lengths = pc.fill_null(pc.utf8_length(paragraphs.flatten()), 0).to_numpy()
            offsets = np.concatenate([np.zeros(1, np.int64), ends]).astype(np.int64)
            yield batch["page"].to_pylist(), lengths, offsets

    def _ids(self, numbers: set[str]) -> dict[str, str]:
        """Page ids by themselves and by their number in the wiki."""
        ids = {}
        wanted = pa.array(sorted(numbers), pa.string())
        for batch in self._batches("pages", ["page"]):
            own = pc.replace_substring_regex(batch["page"], "^[^:]*:", "")
            mask = pc.or_(pc.is_in(own, value_set=wanted), pc.is_in(batch["page"], wanted))
            for page in batch.filter(mask)["page"].to_pylist():
                ids[page] = page
                ids.setdefault(page.partition(":")[2], page)
        return ids

    def _entities(self, entities: set[str]) -> dict[str, str]:
        """The article about each entity; the first, where there are several."""
        all_entities: dict[str, str] = {}
        for batch in self._rows("pages", ["page", "entity", "kind"], "entity", entities):
            for row in batch.to_pylist():
                if row["kind"] == "article":
                    all_entities.setdefault(row["entity"], row["page"])
        return all_entities

    def names(self, ids: set[str]) -> tuple[dict[str, str], dict[str, list[str]]]:
        """Labels and aliases of entities, labels of properties."""
        labels: dict[str, str] = {}
        aliases: dict[str, list[str]] = {}
        columns = ["entity", "name", "kind"]
        for batch in self._rows("names", columns, "entity", ids):
            for row in batch.to_pylist():
                if row["kind"] == "label":
                    labels[row["entity"]] = row["name"]
                elif row["kind"] == "alias":
                    aliases.setdefault(row["entity"], []).append(row["name"])
        for batch in self._rows("properties", ["property", "label"], "property", ids):
            labels |= {row["property"]: row["label"] for row in batch.to_pylist() if row["label"]}
        return labels, aliases

    def _titles(self, titles: set[str]) -> dict[str, str]:
        all_titles: dict[str, str] = {}
        for batch in self._rows("pages", ["page", "title"], "title", titles):
            for row in batch.to_pylist():
                all_titles[row["title"]] = min(
                    row["page"], all_titles.get(row["title"], row["page"])
                )
        return all_titles

    def _redirects(self, titles: set[str]) -> dict[str, str]:
        if not self.folder.has("redirects.parquet"):
            return {}
        redirects = {}
        for batch in self._rows("redirects", ["title", "target_page"], "title", titles):
            for row in batch.to_pylist():
                if row["target_page"]:
                    redirects[row["title"]] = row["target_page"]
        return redirects

    def _rows(
        self, table: str, columns: list[str], key: str, values: Iterable[str]
    ) -> Iterator[pa.RecordBatch]:
        wanted = pa.array(sorted(set(values)), pa.string())
        if not len(wanted):
            return
        for batch in self._batches(table, columns):
            chosen = batch.filter(pc.is_in(batch[key], value_set=wanted))
            if chosen.num_rows:
                yield chosen

    def _batches(self, table: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        yield from read_batches(self.folder.parts(table), 4096, columns)


def _forms(reference: str) -> list[str]:
    """What a reference may be called in the tables, the most literal first."""
    text = reference.strip()
    if "://" in text or text.startswith("//"):
        asked = read_address(text)
        text = asked.number or asked.title
    site = site_for("enwiki", "en")
    forms = [text, text.replace("_", " ").strip(), clean_title(text, site)]
    if "#" in text:
        forms.append(clean_title(text.partition("#")[0], site))
    return list(dict.fromkeys(form for form in forms if form))
