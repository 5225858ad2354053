"""A real PostgreSQL, started for these tests on a socket of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, Missing, UsageError
from whichone.records import Question
from whichone.runs.runner import run_retriever

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def program(name: str) -> str:
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return shutil.which(name) or str(places[0])


def as_somebody(*command: str) -> None:
    """PostgreSQL refuses to run as root."""
    prefix = ["runuser", "-u", "nobody", "--"] if os.getuid() == 0 else []
    done = subprocess.run([*prefix, *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def dsn() -> Iterator[str]:
    pytest.importorskip("psycopg")
    place = Path(tempfile.mkdtemp(prefix="pg"))  # the path of a socket has to be short
    if os.getuid() == 0:
        shutil.chown(place, "nobody")
    data, log = place / "data", str(place / "log")
    as_somebody(program("initdb"), "-D", str(data), "-A", "trust", "-U", "me", "-E", "UTF8", "-N")
    control = program("pg_ctl")
    options = f"-k {place} -c listen_addresses= -c fsync=off"
    as_somebody(control, "-D", str(data), "-l", log, "-w", "-o", options, "start")
    yield f"host={place} user=me dbname=postgres"
    as_somebody(control, "-D", str(data), "-m", "immediate", "-w", "stop")
    shutil.rmtree(place, ignore_errors=True)


def connected(dsn: str) -> Any:
    import psycopg

    return psycopg.connect(dsn, autocommit=True)


def test_full_text_search(small: Benchmark, tmp_path: Path, dsn: str) -> None:
    from whichone.retrieval.adapters.postgres import Postgres

    system = Postgres.over(small.corpus, tmp_path, dsn=dsn)
    run = run_retriever(system, small, tmp_path / "run", k=3, name="postgres")
    assert run.ranked_pages() == {f"q{n}": [f"w:{n}"] for n in range(10)}
    first = run.rankings.to_pylist()[0]
    assert (first["passage"], first["page"]) == ("w:0#0", "w:0")
    assert dsn not in (tmp_path / "run" / "manifest.json").read_text()
    system._connection.close()


def test_a_table_that_is_there_is_used_and_must_be_whole(
    small: Benchmark, tmp_path: Path, dsn: str
) -> None:
    from whichone.retrieval.adapters.postgres import Postgres

    with connected(dsn) as connection:
        first = Postgres(small.corpus, connection, language="simple")
        again = Postgres(small.corpus, connection, language="simple")
        assert (again.table, again.language) == (first.table, "simple")
        connection.execute(f'delete from "{first.table}" where number = 3')
        with pytest.raises(BadInput, match="19 rows where the corpus has 20"):
            Postgres(small.corpus, connection, language="simple")


@pytest.mark.parametrize(
    "text", ["", "?!", "it's \\ a ' \" trap & | ! <-> :*", "nul\0byte", "word " * 20_000]
)
def test_questions_that_are_no_search(small: Benchmark, dsn: str, text: str) -> None:
    from whichone.retrieval.adapters.postgres import Postgres

    with connected(dsn) as connection:
        (ranking,) = Postgres(small.corpus, connection).search([Question(id="q", text=text)], 5)
        assert ranking.passages == ()


def test_a_table_of_yours(small: Benchmark, dsn: str) -> None:
    from whichone.retrieval.adapters.postgres import Postgres

    with connected(dsn) as connection:
        connection.execute("create schema if not exists own")
        connection.execute("create table own.articles (doc text, body text)")
        for row in small.passages.to_pylist():
            connection.execute(
                "insert into own.articles values (%s, %s)", [row["title"], row["text"]]
            )
        told = {"table": "own.articles", "text_column": "body"}
        system = Postgres(
            small.corpus, connection, ids="metadata:doc:title", rank="ts_rank", **told
        )
        (ranking,) = system.search(small.questions()[6:7], 5)
        assert ranking.passages == ("w:6",)
        with pytest.raises(BadInput, match="ids=metadata:doc:title"):
            list(
                Postgres(small.corpus, connection, ids="page", **told).search(
                    small.questions()[:1], 5
                )
            )
        with pytest.raises(UsageError, match="which column"):
            Postgres(small.corpus, connection, **told)


def test_what_cannot_be(small: Benchmark, tmp_path: Path, dsn: str) -> None:
    from whichone.retrieval.adapters.postgres import Postgres

    with pytest.raises(Missing, match="does not answer"):
        Postgres.over(small.corpus, tmp_path, dsn=f"host={tmp_path} user=me dbname=postgres")
    with connected(dsn) as connection:
        with pytest.raises(UsageError, match="klingon"):
            Postgres(small.corpus, connection, language="klingon")
        with pytest.raises(UsageError, match="rank is one of"):
            Postgres(small.corpus, connection, rank="drop table")
