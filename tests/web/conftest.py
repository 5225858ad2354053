"""The application over a small benchmark with runs on disk, and real databases."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from leaderboards import make_board
from small_benchmark import answer_by, small_benchmark
from web_server import opened, postgres_server

from whichone.benchmarks.benchmark import Benchmark
from whichone.web.site_settings import SiteSettings


@pytest.fixture(scope="session")
def served_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    benchmark = small_benchmark(root / "small")
    answer_by(benchmark, root / "runs" / "perfect", "perfect", 0)
    answer_by(benchmark, root / "runs" / "second", "second", 1)
    return root


@pytest.fixture
def settings(served_folder: Path, tmp_path: Path) -> SiteSettings:
    """Over a copy of the folder, so that what one test makes is not there for the next."""
    return SiteSettings(
        folder=shutil.copytree(served_folder, tmp_path / "served"), database=str(tmp_path / "web.sqlite"), cache=tmp_path / "cache",
        hosts=("testserver",), no_login=True,
    )  # fmt: skip


@pytest.fixture
def client(settings: SiteSettings) -> Iterator[Any]:

    with opened(settings) as client:
        yield client


@pytest.fixture(scope="module")
def small_board(served_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, str]]:
    """A client and the key of a leaderboard, for all submissions of a module that are refused."""

    work = tmp_path_factory.mktemp("board")
    settings = SiteSettings(
        folder=served_folder, database=str(work / "web.sqlite"), cache=work / "cache",
        hosts=("testserver",), no_login=True,
    )  # fmt: skip
    with opened(settings) as client:
        yield client, make_board(client, client.get("/api/benchmarks").json()[0]["key"])


@pytest.fixture
def key(served_folder: Path) -> str:
    return Benchmark.open(served_folder / "small").folder.content_hash[:12]


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with postgres_server() as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Each database in its turn, empty."""
    if request.param == "sqlite":
        return str(tmp_path / "answers.sqlite")
    url = str(request.getfixturevalue("postgres_url"))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop schema public cascade; create schema public")
    return url
