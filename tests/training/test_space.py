"""Closeness of passages: values by hand, and a figure that is the same twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import BadInput, UsageError
from whichone.records import Output, Passage, Provenance, Query
from whichone.training import space


class Corners:
    """P1's passages lie on one axis, all others on another; a namesake at right angles to both."""

    size = 3

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Any:
        axis = [0 if t.startswith("one") else 1 if t.startswith("two") else 2 for t in texts]
        return np.eye(3, dtype=np.float32)[axis] * 5

    def questions(self, texts: Sequence[str]) -> Any:
        return self.passages(texts, texts)

    def describe(self) -> dict[str, Any]:
        return {"encoder": "corners"}


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    passages = [
        Passage(id=f"c:{w}{n}#0", page=f"c:{w}{n}", title=f"{w}{n}", text=f"{w} {n}")
        for w in ("one", "two")
        for n in range(6)
    ]
    passages.append(Passage(id="c:x#0", page="c:x", title="one0 (film)", text="namesake"))
    queries = [
        Query(
            id=f"{w}{n}",
            task="qa",
            input="?",
            relation="P1" if w == "one" else "P2",
            outputs=(Output(answer="a", provenance=((Provenance(page=f"c:{w}{n}"),),)),),
        )
        for w in ("one", "two")
        for n in range(6)
    ]
    return save_benchmark(tmp_path / "b", name="b", queries=queries, passages=passages)


def test_means_by_hand(bench: Benchmark, tmp_path: Path) -> None:
    sample = space.sample_passages([bench], tmp_path, "P1")
    assert (len(sample.asked), len(sample.others), len(sample.bearers)) == (6, 6, 1)
    told = space.closeness("c", space.vectors_of(Corners(), sample), sample)
    assert (told.relation, told.others, told.between, told.bearers) == (1.0, 1.0, 0.0, 0.0)
    assert space.mean_pairwise(np.eye(2, dtype=np.float32)) == 0.0
    with pytest.raises(UsageError, match="did you mean P1"):
        space.sample_passages([bench], tmp_path, "P11")
    with pytest.raises(BadInput, match="too few"):
        space.sample_passages([bench], tmp_path, "P1", most=3)


def test_the_same_seed_draws_the_same_figure(bench: Benchmark, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    sample = space.sample_passages([bench], tmp_path, None)
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(len(sample.texts()), 4)).astype(np.float32)
    found = [(space.closeness("c", vectors, sample), vectors)]
    for name in ("a.png", "b.png"):
        space.draw_space(tmp_path / name, found, sample, seed=3)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()
    with pytest.raises(UsageError, match=r"\.png"):
        space.draw_space(tmp_path / "a.bmp", found, sample)
    equal = np.ones_like(vectors)
    with pytest.raises(BadInput, match="all vectors are equal"):
        space.draw_space(tmp_path / "c.png", [(found[0][0], equal)], sample)
