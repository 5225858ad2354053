"""`pgvector`: vectors in a table of PostgreSQL, searched by the extension pgvector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing, UsageError
from whichone.retrieval.adapters.adapted import Hit
from whichone.retrieval.adapters.postgres import connected
from whichone.retrieval.adapters.vector_store import VectorCollection
from whichone.retrieval.dense.encoder import Encoder, Vectors

_DISTANCES = {
    "inner": ("<#>", "-({})", "vector_ip_ops"),  # the negative inner product
    "cosine": ("<=>", "1 - ({})", "vector_cosine_ops"),
    "l2": ("<->", "-({})", "vector_l2_ops"),
}
_MOST = 1_000  # of hnsw.ef_search


class PgVector(VectorCollection):
    """Searches a table with a column of vectors; one of the corpus' passages is made when none is named.

    `dsn` says where the server is, or the usual PG... variables; it is not kept in the run. `table` and `column`
    are yours, `distance` is inner, cosine or l2, as your index has it, and `ids` says which column has the ids, as
    metadata:COLUMN. `probes` is for an index of the kind ivfflat.
    """

    def __init__(
        self,
        corpus: Corpus,
        connection: Any,
        *,
        table: str | None = None,
        column: str = "embedding",
        distance: str = "inner",
        probes: int | str | None = None,
        encoder: Encoder | str = "auto",
        ids: str | None = None,
        work: Path | None = None,
    ) -> None:
        if distance not in _DISTANCES:
            raise UsageError(f"distance is one of {', '.join(_DISTANCES)}, not {distance!r}")
        super().__init__(corpus, encoder=encoder, collection=table, ids=ids, work=work)
        self._connection, self._column, self.distance = connection, column, distance
        self._probes = int(probes) if probes else None
        if self.own and not self._whole(corpus):
            self._make(corpus)
        self.check_size(self._size(), "PostgreSQL")
        self._query = self._compose()

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        work: Path,
        *,
        dsn: str = "",
        table: str | None = None,
        column: str = "embedding",
        distance: str = "inner",
        probes: int | str | None = None,
        encoder: Encoder | str = "auto",
        ids: str | None = None,
    ) -> PgVector:
        return cls(
            corpus,
            connected(dsn),
            table=table,
            column=column,
            distance=distance,
            probes=probes,
            encoder=encoder,
            ids=ids,
            work=work,
        )

    def describe(self) -> dict[str, Any]:
        return {
            "retriever": "pgvector",
            **self.details(),
            "distance": self.distance,
            **({"probes": self._probes} if self._probes else {}),
            "ids": self.rule.text,
        }

    def close(self) -> None:
        self._connection.close()

    def hits(self, texts: list[str], k: int) -> list[list[Hit]]:
        # an index of the kind hnsw gives 40 rows and no more unless it is told
        self._connection.execute(f"set hnsw.ef_search = {max(40, min(int(k), _MOST))}")
        if self._probes:
            self._connection.execute(f"set ivfflat.probes = {self._probes}")
        results = []
        for vector in self.question_vectors(texts):
            rows = self._connection.execute(self._query, {"asked": as_text(vector), "k": k})
            results.append([Hit("", float(score), record) for record, score in rows.fetchall()])
        return results

    def _compose(self) -> Any:
        from psycopg import sql

        operator, score, _ = _DISTANCES[self.distance]
        distance = sql.SQL("t.{} " + operator + " %(asked)s::vector").format(
            sql.Identifier(self._column)
        )
        query = "select to_jsonb(t) - {column}, " + score.replace("{}", "{distance}")
        return sql.SQL(query + " from {table} t order by {distance} limit %(k)s").format(
            column=sql.Literal(self._column), distance=distance, table=self._table()
        )

    def _table(self) -> Any:
        from psycopg import sql

        return sql.Identifier(*self.collection.split("."))

    def _whole(self, corpus: Corpus) -> bool:
        from psycopg import sql

        known = self._connection.execute("select to_regclass(%s)", [self.collection]).fetchone()
        if known[0] is None:
            return False
        count = sql.SQL("select count(*) from {}").format(self._table())
        rows = self._connection.execute(count).fetchone()[0]
        if rows != len(corpus):
            raise BadInput(
                f"{rows} rows where the corpus has {len(corpus)} passages",
                where=f"PostgreSQL, table {self.collection}",
                hint="drop the table: it is made again",
            )
        return True

    def _make(self, corpus: Corpus) -> None:
        """The whole table in one transaction, searched exactly: no index is made."""
        from psycopg import errors, sql

        try:
            self._connection.execute("create extension if not exists vector")
        except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
            raise Missing(
                "this PostgreSQL has no pgvector", hint="install the extension on its server"
            ) from error
        create = (
            "create table {} (number bigint primary key, passage text, page text, {} vector({}))"
        )
        copy = sql.SQL("copy {} (number, passage, page, {}) from stdin").format(
            self._table(), sql.Identifier(self._column)
        )
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.execute(
                sql.SQL(create).format(
                    self._table(), sql.Identifier(self._column), sql.Literal(self.encoder.size)
                )
            )
            with cursor.copy(copy) as out:
                for records, vectors in self.fill(corpus):
                    for record, vector in zip(records, vectors, strict=True):
                        place = (record["number"], record["passage"], record["page"])
                        out.write_row((*place, as_text(vector)))

    def _size(self) -> int | None:
        from psycopg import errors, sql

        query = sql.SQL("select vector_dims({}) from {} where {} is not null limit 1").format(
            sql.Identifier(self._column), self._table(), sql.Identifier(self._column)
        )
        try:
            row = self._connection.execute(query).fetchone()
        except (errors.UndefinedTable, errors.UndefinedColumn, errors.UndefinedFunction) as error:
            raise Missing(f"PostgreSQL: {str(error).splitlines()[0]}") from error
        return None if row is None else int(row[0])


def as_text(vector: Vectors) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(map(repr, vector.tolist())) + "]"
