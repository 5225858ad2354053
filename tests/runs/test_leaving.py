"""What would leave the machine is said before it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import WhichoneError
from whichone.runs.provenance import what_leaves
from whichone.runs.retrieve import retrieve


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("http", {"url": "https://me:secret@search.example.org/s"}, "10 questions, to search.exa"),
        ("http", {"url": "http://127.0.0.1:9200/s"}, "nothing leaves it"),
        ("rerank", {"endpoint": "http://llm:8000/v1", "depth": "20"}, "up to 20 passages each"),
    ],
)
def test_what_goes_where(
    small: Benchmark, name: str, options: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGHOST", raising=False)
    said = what_leaves(name, options, small)
    assert said is not None
    assert told in said
    assert "secret" not in said


def test_what_runs_here_says_nothing(small: Benchmark) -> None:
    assert what_leaves("bm25", {}, small) is None
    assert what_leaves("rerank", {"model": "folder"}, small) is None


def test_it_is_said_before_anything_is_sent(
    small: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(WhichoneError):
        retrieve(
            small.folder.root,
            tmp_path / "run",
            retriever="http",
            options={"url": "http://nobody.invalid/search", "tries": "1"},
        )
    assert "10 questions, to nobody.invalid" in capsys.readouterr().err
