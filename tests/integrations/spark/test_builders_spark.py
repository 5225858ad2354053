"""Every builder on a real master with two workers: the same files as DuckDB writes."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from whichone.benchmarks.benchmark_tables import KIND as BENCHMARK
from whichone.benchmarks.by_name import builtin_knowledge_base
from whichone.corpus.corpus import KIND as CORPUS
from whichone.files.folder import Folder
from whichone.knowledge import knowledge_tables as knowledge_knowledge_tables
from whichone.knowledge.engines import PageRow, knowledge_tables, look_on_pages, opened_engine
from whichone.options import EngineOptions

if TYPE_CHECKING:
    from conftest import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.java]
cloudpickle = pytest.importorskip("pyspark.cloudpickle")


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return builtin_knowledge_base(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize(
    "paper",
    [
        ["amber", "--collection", "human"],
        ["entityquestions", "--buckets", "P19", "--least-facts", "5", "--least-answers", "3"],
        ["ambigdocs"],
        ["ambigdocs", "--names", "shared"],
    ],
    ids=["amber", "entityquestions", "ambigdocs", "ambigdocs of shared names"],
)
def test_the_same_benchmark(paper: list[str], kb: Path, tmp_path: Path, lasting_cluster: Cluster) -> None:
    hashes = {}
    for engine in ("duckdb", "spark"):
        out = tmp_path / engine
        command = ["build", paper[0], str(kb), str(out), *paper[1:], "--engine", engine]
        ended = subprocess.run(
            [sys.executable, "-m", "whichone", *command, "--master", lasting_cluster.url],
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert ended.returncode == 0, ended.stderr
        folder = Folder.open(out, BENCHMARK)
        corpus = Folder.open(out / "corpus", CORPUS)
        assert folder.manifest.parents["corpus"] == corpus.content_hash
        hashes[engine] = folder.content_hash, corpus.content_hash
    assert hashes["spark"] == hashes["duckdb"]
    assert not list(kb.parent.glob(".whichone-*")), "scratch is removed"


PAGES = 150_000
"""More than two row groups, which two workers can read at once."""


def wide_knowledge_base(path: Path) -> Folder:
    with Folder.create(path, knowledge_knowledge_tables.KIND) as folder:
        for schema in knowledge_knowledge_tables.ALL:
            if schema is not knowledge_knowledge_tables.PAGES:
                folder.write(schema, schema.empty())
                continue
            numbers = [str(n) for n in range(PAGES)]
            columns: dict[str, Any] = {name: [None] * PAGES for name in schema.schema.names}
            columns["page"] = columns["title"] = columns["entity"] = numbers
            columns["kind"] = ["article"] * PAGES
            columns["position"] = list(range(PAGES))
            columns["paragraphs"] = [[f"Text of {n}"] for n in numbers]
            folder.write(schema, schema.from_columns(columns))
        folder.commit(name="wide")
    return Folder.open(path, knowledge_knowledge_tables.KIND)


def read_by(page: PageRow, meeting: str) -> bytes:
    """Which worker read a page: its process runs below that worker's folder.

    Whoever comes to the meeting first waits for the other, who would else find all work done.
    """
    assert page.paragraphs == [f"Text of {page.page}"]
    Path(meeting, str(Path.cwd()).replace("/", "_")).touch()
    deadline = time.monotonic() + 120
    while len(list(Path(meeting).iterdir())) < 2:
        assert time.monotonic() < deadline, "no other worker reads"
        time.sleep(0.1)
    return f"{page.page} {page.asked.decode()} {Path.cwd()}".encode()


def test_two_workers_read_one_path(
    tmp_path: Path, lasting_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    folder = wide_knowledge_base(tmp_path / "kb")
    with opened_engine(folder, EngineOptions(engine="spark", master=lasting_cluster.url)) as engine:
        session = engine.session  # type: ignore[attr-defined]
        session.conf.set("spark.sql.files.maxPartitionBytes", str(64 << 10))
        both_workers(session)
        own = knowledge_tables(engine, folder)
        asked = ((str(n), b"%d" % n) for n in range(0, PAGES, 10))
        (tmp_path / "meeting").mkdir()
        reading = functools.partial(read_by, meeting=str(tmp_path / "meeting"))
        lines = look_on_pages(own.engine, own.pages, "page", asked, reading)
        seen = [line.decode().split(" ", 2) for line in lines]
    assert sorted(int(page) for page, *_ in seen) == list(range(0, PAGES, 10))
    assert all(page == given for page, given, _ in seen)
    readers = {f for f in lasting_cluster.folders for *_, at in seen if Path(at).is_relative_to(f)}
    assert readers == set(lasting_cluster.folders)


def both_workers(session: Any) -> None:
    """Wait until both are there: one alone would have read everything before the other came."""
    deadline = time.monotonic() + 120
    while session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
        assert time.monotonic() < deadline, "a worker did not come"
        time.sleep(0.1)


def test_rows_come_through_files_a_batch_at_a_time(
    tmp_path: Path, lasting_cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    folder = wide_knowledge_base(tmp_path / "kb")
    with opened_engine(folder, EngineOptions(engine="spark", master=lasting_cluster.url)) as engine:
        own = knowledge_tables(engine, folder)
        given = engine.table(pa.table({"entity": ["7", "11"]}))
        known = own.pages.semi_join(given, "entity").order_by("position")
        assert [row["page"] for row in own.rows(known.select("page"))] == ["7", "11"]
        batches = list(engine.batches(own.pages.select("position").order_by("position")))
        assert len(batches) > 1
        places = [place for batch in batches for place in batch.column(0).to_pylist()]
        assert places == list(range(PAGES))
