"""Bearers as the pages of the explorer call them: by what tells them apart."""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.bearer_labels import distinct_labels, with_title
from whichone.records import Bearer
from whichone.web.explorer import queries as index_queries
from whichone.web.served_folder import ServedBenchmark


class SetLabels(msgspec.Struct, frozen=True):
    """The bearers of one name, by entity and by page."""

    by_entity: Mapping[str, str] = {}
    by_page: Mapping[str, str] = {}

    def page(self, page: str, title: str) -> str:
        """A page's bearer, after the page's own title where that says something else."""
        label = self.by_page.get(page)
        return with_title(label, title) if label is not None else title


NOBODY = SetLabels()


def set_labels(served: ServedBenchmark, index: Path, n: int | None) -> SetLabels:
    """Labels of a name set by its number in the index of its benchmark."""
    return NOBODY if n is None else _labels(served.folder.root, served.key, index, n)


@functools.lru_cache(4096)
def _labels(root: Path, key: str, index: Path, n: int) -> SetLabels:
    """Looked up once: an index and a corpus are named by their content."""
    from whichone.web.served_folder import corpus_of

    with index_queries.opened(index) as database:
        bearers = _bearers(database, n)
        said = database.execute(
            "select distinct entity, qualifier from queries where n = ? and qualifier <> '' order by q",
            (n,),
        ).fetchall()
    attributes: dict[str, list[str]] = {}
    for entity, qualifier in said:
        attributes.setdefault(entity, []).append(qualifier)
    labels = distinct_labels(bearers, corpus_of(root, key), attributes)
    named = list(zip(bearers, labels, strict=True))
    return SetLabels(
        {bearer.entity: label for bearer, label in named},
        {page: label for bearer, label in named for page in bearer.pages},
    )


def _bearers(database: sqlite3.Connection, n: int) -> list[Bearer]:
    rows = database.execute(
        "select entity, label, types, pages from bearers where n = ? order by rank", (n,)
    )
    return [
        Bearer(
            entity=entity,
            label=label,
            types=tuple(json.loads(types)),
            pages=tuple(json.loads(pages)),
        )
        for entity, label, types, pages in rows
    ]


def with_about(served: ServedBenchmark, index: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Adds to each query of a list whom it is about."""
    for row in rows:
        row["about"] = set_labels(served, index, row["n"]).by_entity.get(row["entity"] or "")
