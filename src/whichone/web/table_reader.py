"""Rankings and passages as they lie on disk, a few rows at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from whichone.corpus.corpus import Corpus
from whichone.records import page_of

TOP = 10
_LEAST_LETTERS = 40
"""A passage shorter than this is not taken to be what a longer text is about."""


def _words(column: str) -> str:
    """SQL for a text's letters and digits, lower-case, one blank between and around words."""
    return f"' ' || trim(regexp_replace(lower({column}), '[^\\p{{L}}\\p{{N}}]+', ' ', 'g')) || ' '"


class TableReader:
    """Reads single questions and pages out of Parquet tables; the engine's memory is bounded."""

    def __init__(self, memory: str = "256MB") -> None:
        self._memory = memory
        self._engine: Any = None
        self._starting = threading.Lock()
        self._local = threading.local()

    def _cursor(self) -> Any:
        """Of an engine that starts when it is first asked: many visits need none."""
        import duckdb

        with self._starting:
            if self._engine is None:
                config: Any = {"memory_limit": self._memory, "threads": 1}
                self._engine = duckdb.connect(config=config)
            return self._engine.cursor()

    def _rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        cursor = getattr(self._local, "cursor", None)
        if cursor is None:
            cursor = self._local.cursor = self._cursor()
        return list(cursor.execute(sql, values).fetchall())

    def top(
        self, rankings: Path, questions: Sequence[str], most: int = TOP
    ) -> dict[str, list[tuple[int, str, float]]]:
        """For each question its first results: rank, passage or page id, score."""
        if not questions:
            return {}
        marks = ", ".join("?" * len(questions))
        rows = self._rows(
            f"select question, rank, passage, score from read_parquet(?) "
            f"where question in ({marks}) and rank <= ? order by question, rank",
            [str(rankings), *questions, most],
        )
        passages: dict[str, list[tuple[int, str, float]]] = {}
        for question, rank, passage, score in rows:
            passages.setdefault(question, []).append((rank, passage, score))
        return passages

    def answer(self, answers: Path, question: str) -> dict[str, Any] | None:
        """What a reader answered to a question: its text (None for a refusal), its passages, its notes."""
        asks = "asks" if "asks" in pq.read_schema(answers).names else "null as asks"
        rows = self._rows(
            f"select text, passages, notes, {asks} from read_parquet(?) where question = ? limit 1",
            [str(answers), question],
        )
        if not rows:
            return None
        text, passages, notes, asks = rows[0]
        return {"text": text, "passages": passages or [], "notes": notes, "asks": asks}

    def passages(self, corpus: Corpus, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Title and text by passage id; a page id gives the page's first passage."""
        wanted = sorted(set(ids))
        places = corpus.page_rows(wanted)
        first = {
            page: corpus.rows_of(place).start
            for page, place in zip(wanted, places, strict=True)
            if place is not None
        }
        known = {i: r for i, r in zip(wanted, corpus.rows(wanted), strict=True) if r is not None}
        rows = first | known
        texts = corpus.take(list(rows.values()), ["title", "text"]).to_pylist()
        return {i: (t["title"], t["text"]) for i, t in zip(rows, texts, strict=True)}

    def pages(self, corpus: Corpus, ids: Iterable[str]) -> dict[str, tuple[str, list[str]]]:
        """Title and all passages of pages, in their order."""
        pages: dict[str, tuple[str, list[str]]] = {}
        for identity, title, text in self.passages_of(corpus, ids):
            pages.setdefault(page_of(identity), (title, []))[1].append(text)
        return pages

    def holding(self, corpus: Corpus, texts: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
        """For each text the passages (id, title) that contain its words, or whose words it contains."""
        if not texts:
            return {}
        cursor = self._cursor()
        cursor.register("passages", corpus.passages)
        rows = cursor.execute(
            f"with corpus as (select id, page, n, title, {_words('text')} as words from passages), "
            f"wanted as (select t as text, {_words('t')} as words from (select unnest(?) as t)) "
            "select wanted.text, id, title from corpus, wanted where contains(corpus.words, wanted.words) "
            "or (length(corpus.words) > ? and contains(wanted.words, corpus.words)) order by page, n",
            [list(texts), _LEAST_LETTERS],
        ).fetchall()
        hits: dict[str, list[tuple[str, str]]] = {}
        for text, identity, title in rows:
            hits.setdefault(text, []).append((identity, title))
        return hits

    def passages_of(self, corpus: Corpus, pages: Iterable[str]) -> list[tuple[str, str, str]]:
        """Id, title and text of every passage of some pages, in their order."""
        places = [p for p in corpus.page_rows(sorted(set(pages))) if p is not None]
        rows = [row for place in places for row in corpus.rows_of(place)]
        table = corpus.take(rows, ["id", "title", "text"])
        return [(row["id"], row["title"], row["text"]) for row in table.to_pylist()]
