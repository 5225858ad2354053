"""Names that pages of a knowledge base have beside their titles: redirects and the texts of links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from whichone.corpus.names import Named
from whichone.files.folder import Folder
from whichone.files.tables import DEFAULT_MEMORY, connect, tables_sql

if TYPE_CHECKING:
    from whichone.knowledge.engine.engines import Engine

_BATCH = 65_536
LONGEST = 80
"""Texts of links longer than so many characters are phrases, not names."""


def names_of_pages(
    kb: Folder, memory: str = DEFAULT_MEMORY, engine: Engine | None = None
) -> Iterator[tuple[str, Named]]:
    """Page and name for every redirect, and every text of links with how often it leads there.

    An engine with workers counts them there.
    """
    if engine is not None and engine.shared:
        yield from _names(kb, engine.query)
        return
    with connect(memory) as connection:
        yield from _names(kb, lambda query: connection.sql(query).to_arrow_reader(_BATCH))


def _names(kb: Folder, run: Callable[[str], Iterable[Any]]) -> Iterator[tuple[str, Named]]:
    if kb.has("redirects.parquet"):
        query = f"""select target_page, title from {_files(kb, "redirects")}
            where target_page is not null"""
        for page, title in _rows(run(query)):
            yield page, Named(title.replace("_", " "), "redirect")
    if kb.has("links.parquet"):
        query = f"""select target_page, trim(text) as name, count(*) as times
            from {_files(kb, "links")} where target_page is not null
            and length(trim(text)) between 1 and {LONGEST} group by 1, 2"""
        for page, text, count in _rows(run(query)):
            yield page, Named(text, "anchor", int(count))


def _files(kb: Folder, table: str) -> str:
    return tables_sql(file.resolve() for file in kb.parts(table))


def _rows(batches: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
