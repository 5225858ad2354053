"""`postgres`: PostgreSQL's full text search.

A question's lexemes are joined by "or", since few passages hold all words of a question, and
`ts_rank_cd` or `ts_rank` orders what matches.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing, UsageError
from whichone.progress import progress
from whichone.retrieval.adapters.adapted import Adapted, Hit, missing
from whichone.text.language import SNOWBALL, base_code

_RANKS = ("ts_rank", "ts_rank_cd")


def connected(dsn: str) -> Any:
    """A connection to PostgreSQL, where every statement is a transaction of its own."""
    try:
        import psycopg
    except ImportError as error:
        raise missing("psycopg", error) from error
    try:
        return psycopg.connect(dsn, autocommit=True)
    except psycopg.OperationalError as error:
        raise Missing(
            f"PostgreSQL does not answer: {error}".strip(),
            hint="-o dsn='host=... dbname=... user=...', the password in PGPASSWORD",
        ) from error


class Postgres(Adapted):
    """Ranks rows by PostgreSQL's full text search.

    `dsn` says where the server is, or the usual PG... variables; the dsn is not kept in the run.
    Without `table` one is made of the benchmark's passages. A table of yours needs `text_column`,
    and `ids` says which column contains the ids, as metadata:COLUMN.
    """

    def __init__(
        self,
        corpus: Corpus,
        connection: Any,
        *,
        table: str | None = None,
        text_column: str = "text",
        language: str = "english",
        rank: str = "ts_rank_cd",
        normalisation: int = 1,
        ids: str | None = None,
    ) -> None:
        if table is not None and ids is None:
            raise UsageError("which column contains the ids?", hint="-o ids=metadata:COLUMN")
        if rank not in _RANKS:
            raise UsageError(f"rank is one of {', '.join(_RANKS)}, not {rank!r}")
        super().__init__(corpus, ids=ids or "metadata:passage")
        self._connection, self._text = connection, text_column
        self.language, self.rank, self.normalisation = language, rank, int(normalisation)
        self._own = table is None
        self.table = table or f"whichone_{corpus.hash[:16]}_{language}"
        if self._own:
            self._make(corpus)
        self._query = self._compose()

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        work: Path,
        *,
        dsn: str = "",
        table: str | None = None,
        text_column: str = "text",
        language: str = "",
        rank: str = "ts_rank_cd",
        normalisation: int = 1,
        ids: str | None = None,
    ) -> Postgres:
        return cls(
            corpus,
            connected(dsn),
            table=table,
            text_column=text_column,
            language=language or _configuration(corpus.language),
            rank=rank,
            normalisation=normalisation,
            ids=ids,
        )

    def describe(self) -> dict[str, Any]:
        return {
            "retriever": "postgres",
            "language": self.language,
            "rank": self.rank,
            "normalisation": self.normalisation,
            **({} if self._own else {"table": self.table, "text_column": self._text}),
            "ids": self.rule.text,
        }

    def close(self) -> None:
        self._connection.close()

    def hits(self, texts: list[str], k: int) -> list[list[Hit]]:
        hits = []
        for text in texts:
            values = {"text": text.replace("\0", " "), "k": k}
            rows = self._connection.execute(self._query, values).fetchall()
            hits.append([Hit("", float(score), payload) for payload, score in rows])
        return hits

    def _compose(self) -> Any:
        """One statement; the ids come back as the row without its text, as JSON."""
        from psycopg import sql

        held = sql.Identifier("words") if self._own else self._vector()
        return sql.SQL(
            """with asked as (
                select coalesce(string_agg('''' || replace(replace(
                    lexeme, '\\', '\\\\'), '''', '''''') || '''', ' | '), '')::tsquery as q
                from unnest(to_tsvector({language}::regconfig, %(text)s))
            )
            select {row}, {rank}({held}, q, {norm}) as score
            from {table} t, asked where {held} @@ q
            order by score desc, {order} limit %(k)s"""
        ).format(
            language=sql.Literal(self.language),
            row=sql.SQL("jsonb_build_object('passage', passage, 'page', page)")
            if self._own
            else sql.SQL("to_jsonb(t) - {}").format(sql.Literal(self._text)),
            rank=sql.SQL(self.rank),
            held=held,
            norm=sql.Literal(self.normalisation),
            table=sql.Identifier(*self.table.split(".")),
            order=sql.SQL("number" if self._own else "t.ctid"),
        )

    def _vector(self) -> Any:
        from psycopg import sql

        return sql.SQL("to_tsvector({}::regconfig, t.{})").format(
            sql.Literal(self.language), sql.Identifier(self._text)
        )

    def _make(self, corpus: Corpus) -> None:
        """The whole table in one transaction: it is there, or it is not."""
        from psycopg import errors, sql

        table = sql.Identifier(self.table)
        if self._connection.execute("select to_regclass(%s)", [self.table]).fetchone()[0]:
            self._check_count(corpus, table)
            return
        create = """create table {} (number bigint primary key, passage text, page text, title text,
            text text, words tsvector generated always as (
                setweight(to_tsvector({language}, coalesce(title, '')), 'A')
                || to_tsvector({language}, coalesce(text, ''))) stored)"""
        language = sql.SQL("{}::regconfig").format(sql.Literal(self.language))
        try:
            with self._connection.transaction():
                self._connection.execute(sql.SQL(create).format(table, language=language))
                self._copy(corpus, table)
                self._connection.execute(
                    sql.SQL("create index on {} using gin (words)").format(table)
                )
            self._connection.execute(sql.SQL("analyze {}").format(table))
        except errors.UndefinedObject as error:
            raise UsageError(
                f"PostgreSQL: {error}", hint="-o language=english|simple|..."
            ) from error

    def _copy(self, corpus: Corpus, table: Any) -> None:
        from psycopg import sql

        copy = sql.SQL("copy {} (number, passage, page, title, text) from stdin").format(table)
        rows = corpus.passages.num_rows
        with (
            progress("filling", rows, "passages") as advance,
            self._connection.cursor() as cursor,
            cursor.copy(copy) as out,
        ):
            for number, p in enumerate(corpus.passage_records()):
                text, title = (part.replace("\0", " ") for part in (p.text, p.title))
                out.write_row((number, p.id, p.page, title, text))
                advance(1)

    def _check_count(self, corpus: Corpus, table: Any) -> None:
        from psycopg import sql

        query = sql.SQL("select count(*) from {}").format(table)
        count = self._connection.execute(query).fetchone()[0]
        if count != corpus.passages.num_rows:
            raise BadInput(
                f"{count} rows where the corpus has {corpus.passages.num_rows} passages",
                where=f"PostgreSQL, table {self.table}",
                hint="drop the table: it is made again",
            )


def _configuration(language: str) -> str:
    """PostgreSQL's text search configuration of a language: its Snowball stemmers, else `simple`."""
    code = base_code(language)
    return "english" if code == "en" else SNOWBALL.get(code, "simple")
