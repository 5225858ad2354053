"""A real master with two workers, and the comparison with the released program's files, which is written for DuckDB."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

# what lives for seconds is not worth the second compiler, nor 200 parts of a few rows each
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).resolve().parent / "conf"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "papers" / "amber"))


class Cluster(NamedTuple):
    url: str
    workers: list[subprocess.Popen[bytes]]
    folders: list[Path]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A master and two workers of one core each, as processes on loopback."""
    yield from started(tmp_path)


@pytest.fixture(scope="module")
def lasting_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The same for all tests of a file."""
    yield from started(tmp_path_factory.mktemp("cluster"))


def started(place: Path) -> Iterator[Cluster]:
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    host = ("--host", "127.0.0.1")
    master = spark_class("master.Master", *host, "--port", str(port), "--webui-port", "0")
    small = ("--cores", "1", "--memory", "1500m", "--webui-port", "0")
    folders = [place / f"work{n}" for n in range(2)]
    workers = [
        spark_class("worker.Worker", *host, *small, "--work-dir", str(folder), url) for folder in folders
    ]
    try:
        yield Cluster(url, workers, folders)
    finally:
        for process in (*workers, master):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def spark_class(name: str, *arguments: str) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    return subprocess.Popen(
        [str(home / "bin/spark-class"), f"org.apache.spark.deploy.{name}", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"},
    )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
