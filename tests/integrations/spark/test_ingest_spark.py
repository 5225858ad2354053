"""The same tables from Spark, also when a machine of the cluster is lost on the way."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whichone.files.folder import file_hash

if TYPE_CHECKING:
    from conftest import Cluster

pytestmark = [pytest.mark.slow, pytest.mark.java]
pytest.importorskip("pyspark")


def entity(n: int) -> str:
    value = {"entity-type": "item", "id": f"Q{n * 7 % 9_000}"}
    snak = {"snaktype": "value", "datavalue": {"type": "wikibase-entityid", "value": value}}
    record = {
        "type": "item",
        "id": f"Q{n}",
        "labels": {"en": {"language": "en", "value": f"Name {n % 700}"}},
        "claims": {f"P{p}": [{"mainsnak": snak, "rank": "normal"}] for p in range(31, 45)},
        "sitelinks": {"enwiki": {"site": "enwiki", "title": f"Page {n}"}},
    }
    return json.dumps(record, separators=(",", ":"))


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Plain, in twelve parts: more than a wave of a cluster of two cores."""
    path = tmp_path_factory.mktemp("dump") / "wikidata.json"
    path.write_text("[\n" + ",\n".join(map(entity, range(7_200))) + "\n]\n")
    assert path.stat().st_size > 11 << 20
    return path


@pytest.fixture(scope="module")
def expected(dump: Path) -> dict[str, bytes]:
    kb = dump.with_name("kb")
    ended = ingest(dump, kb, "--workers", "1")
    _, said = ended.communicate()
    assert ended.returncode == 0, said
    return content(kb)


def ingest(dump: Path, kb: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "whichone", "ingest", "--wikidata", str(dump), *options, str(kb)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )


def content(kb: Path) -> dict[str, str]:
    return {str(p.relative_to(kb)): file_hash(p) for p in sorted(kb.rglob("*")) if p.is_file()}


def test_spark_on_this_machine_gives_the_same_bytes(
    dump: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    process = ingest(dump, tmp_path / "kb", "--engine", "spark", "--master", "local[2]")
    _, said = process.communicate(timeout=400)
    assert process.returncode == 0, said
    assert content(tmp_path / "kb") == expected


def test_a_cluster_that_loses_a_machine_finishes(
    dump: Path, expected: dict[str, bytes], tmp_path: Path, cluster: Cluster
) -> None:
    url, workers, _ = cluster
    kb = tmp_path / "kb"
    process = ingest(dump, kb, "--engine", "spark", "--master", url, "--memory", "1GB")
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline:
        if list(kb.glob(".partial/wikidata-*/part-*.entities.parquet")):
            break
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()[1]
    os.killpg(workers[0].pid, signal.SIGKILL)
    _, said = process.communicate(timeout=400)
    assert process.returncode == 0, said
    assert content(kb) == expected


def test_compressed_files_and_errors(tmp_path: Path) -> None:
    """One session for several runs: what cannot be split, and what cannot be read."""
    from whichone.errors import BadInput
    from whichone.files.folder import Folder
    from whichone.knowledge.formats.wikidata import WikidataDump
    from whichone.knowledge.ingest import ingest as take_in
    from whichone.knowledge.ingest import select
    from whichone.knowledge.ingest_options import IngestOptions
    from whichone.knowledge.knowledge_tables import KIND

    data = ("[\n" + ",\n".join(map(entity, range(300))) + "\n]\n").encode()
    (tmp_path / "w.json.bz2").write_bytes(bz2.compress(data, 1))
    (tmp_path / "w.json.gz").write_bytes(gzip.compress(data))
    (tmp_path / "bad.json").write_bytes(data.replace(b'"id":"Q7",', b'"id":7,'))
    spark = IngestOptions(engine="spark", master="local[2]")
    hashes = set()
    for name, options in [("w.json.bz2", spark), ("w.json.gz", spark), ("w.json.bz2", IngestOptions())]:
        kb = tmp_path / f"{name}-{options.engine}"
        take_in(kb, [WikidataDump(tmp_path / name, select())], options)
        hashes.add(Folder.open(kb, KIND).content_hash)
    assert len(hashes) == 1
    with pytest.raises(BadInput, match=r"bad\.json: not a Wikidata entity"):
        take_in(tmp_path / "kb", [WikidataDump(tmp_path / "bad.json", select())], spark)
