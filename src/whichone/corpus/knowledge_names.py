"""Names that pages of a knowledge base have beside their titles: redirects and the texts of links."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whichone.corpus.names import Named
from whichone.files.folder import Folder
from whichone.files.tables import DEFAULT_MEMORY, connect

_BATCH = 65_536
LONGEST = 80
"""Texts of links longer than so many characters are phrases, not names."""


def names_of_pages(kb: Folder, memory: str = DEFAULT_MEMORY) -> Iterator[tuple[str, Named]]:
    """Page and name for every redirect, and every text of links with how often it leads there."""
    with connect(memory) as connection:
        if kb.has("redirects.parquet"):
            rows = _rows(
                connection,
                "select target_page, title, 1 from read_parquet(?) "
                "where target_page is not null order by 1, 2",
                str(kb.path("redirects.parquet")),
            )
            for page, title, _ in rows:
                yield page, Named(title.replace("_", " "), "redirect")
        if kb.has("links.parquet"):
            rows = _rows(
                connection,
                "select target_page, trim(text) as name, count(*) from read_parquet(?) "
                f"where target_page is not null and length(trim(text)) between 1 and {LONGEST} "
                "group by 1, 2 order by 1, 2",
                str(kb.path("links.parquet")),
            )
            for page, text, count in rows:
                yield page, Named(text, "anchor", int(count))


def _rows(connection: Any, query: str, file: str) -> Iterator[tuple[Any, ...]]:
    result = connection.execute(query, [file])
    while rows := result.fetchmany(_BATCH):
        yield from rows
