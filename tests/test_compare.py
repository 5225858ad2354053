"""`whichone.compare` over what `evaluate` gave and over folders."""

from __future__ import annotations

from pathlib import Path

import pytest

import whichone
from whichone.errors import UsageError


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two systems on the built-in benchmark: one knows titles, one returns nothing."""
    root = tmp_path_factory.mktemp("runs")
    benchmark = whichone.Benchmark.open("builtin/amber")
    first = {q.input: sorted(q.gold_pages())[:1] for q in benchmark.queries}
    whichone.evaluate(lambda text, k: first[text], run=root / "right", name="right", returns="page")
    whichone.evaluate(lambda text, k: [], run=root / "nothing", name="nothing", returns="page")
    return [root / "nothing", root / "right"]


def test_folders_and_runs(folders: list[Path]) -> None:
    found = whichone.compare(*folders, measures=["acc@1"])
    assert len(found) == 1
    assert (found[0].a, found[0].b, found[0].difference.value) == ("nothing", "right", 1.0)
    assert found[0].difference.high == 1.0
    assert found[0].difference.low < 1
    names = {q.name_set for q in whichone.Benchmark.open("builtin/amber").queries}
    assert f"95 % intervals by name set in {len(names)} clusters" in str(found)
    assert "b better/equal/worse" in str(found)
    assert found.to_arrow().num_rows == 1
    opened = [whichone.Run.open(folder) for folder in folders]
    again = whichone.compare(*opened, measures=["acc@1"], by=["role"])
    assert [c.where for c in again] == [{"role": "head"}, {"role": "tail"}]


def test_mistakes(folders: list[Path]) -> None:
    with pytest.raises(UsageError, match="lists of names"):
        whichone.compare(*folders, measures="acc@1")
    with pytest.raises(UsageError, match="two or more"):
        whichone.compare(folders[0])
    with pytest.raises(UsageError, match="no run, no result"):
        whichone.compare(7, 8)
    result = whichone.evaluate(lambda text, k: [], returns="page")
    with pytest.raises(UsageError, match="not every system was scored by rr"):
        whichone.compare(result, result, measures=["rr"])
