"""A knowledge base as users meet it: opened from its folder, asked for names and tables."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from whichone.files.folder import Folder
from whichone.knowledge.lookup import Lookup
from whichone.knowledge.tables import KIND


class KnowledgeBase:
    """Entities, their names, facts, pages and views."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder

    @classmethod
    def open(cls, path: str | Path) -> KnowledgeBase:
        return cls(Folder.open(path, KIND))

    @property
    def id(self) -> str:
        """Its name and the first 12 hex digits of its content's hash."""
        return f"{self.folder.manifest.name or 'knowledge'}-{self.folder.content_hash[:12]}"

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """One of its tables: entities, names, facts, properties, pages, links, redirects, views."""
        return self.folder.table(name, columns)

    @functools.cached_property
    def lookup(self) -> Lookup:
        """Finds bearers of names, pages and facts on disk."""
        return Lookup.open(self.folder.root)
