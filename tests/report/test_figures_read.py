"""Figures that can be read: labels apart, few pairs in grey, an example on which systems differ."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query
from whichone.report.figures import clearest_pair, spread
from whichone.report.first_screen import GOLD, NAMESAKE
from whichone.report.page import drawing, finish, shortened


def test_labels_beside_a_figure_are_apart() -> None:
    assert spread([0.9, 0.89, 0.2], 0.1) == pytest.approx([0.9, 0.8, 0.2])
    assert spread([0.05, 0.04, 0.03], 0.1) == pytest.approx([0.2, 0.1, 0.0])
    assert spread([], 0.1) == []


def test_a_shortened_label_keeps_its_end() -> None:
    long = "Derek Walker of the Royal Society, department of Payroll"
    assert len(shortened(long, 30)) <= 31
    assert shortened(long, 30).endswith("Payroll")
    assert shortened("Derek Walker", 30) == "Derek Walker"


def benchmark(path: Path) -> Benchmark:
    """Two names with two bearers each and a question about each bearer."""
    queries, sets, passages = [], [], []
    for name in ("Ada", "Bo"):
        bearers = []
        for n in (1, 2):
            page = f"c:{name}{n}"
            passages.append(Passage(id=f"{page}#0", page=page, title=name, text=f"{name} {n}."))
            bearers.append(Bearer(entity=page, label=name, role="head" if n == 1 else "tail", popularity=9.0 / n, pages=(page,)))  # fmt: skip
            output = Output(answer="x", provenance=((Provenance(page=page),),))
            queries.append(
                Query(id=page, task="qa", input=f"Which {name} {n}?", outputs=(output,), name=name,
                      name_set=name, entity=page, role="head" if n == 1 else "tail")
            )  # fmt: skip
        sets.append(NameSet(id=name, name=name, bearers=tuple(bearers)))
    return save_benchmark(path, name="b", queries=queries, sets=sets, passages=passages)


def test_the_example_is_one_on_which_systems_differ(tmp_path: Path) -> None:
    """Both fall for Ada 1; for Bo only the second system does: Bo is the example."""
    first = np.array([GOLD, NAMESAKE, GOLD, GOLD], np.int8)
    second = np.array([GOLD, NAMESAKE, GOLD, NAMESAKE], np.int8)
    pair = clearest_pair({"good": first, "popular": second}, benchmark(tmp_path / "b"))
    assert pair is not None
    assert (pair.first.id, pair.second.id) == ("c:Bo1", "c:Bo2")
    assert (pair.right, pair.half) == (("good",), ("popular",))
    assert pair.shown(["popular", "good"]) == ["popular", "good"]


def test_letters_that_no_font_has_are_said_and_not_warned_of() -> None:
    assert shortened("👩‍👧 Familie ‮evil") == "Familie evil"
    assert shortened("👩") == "👩"
    with drawing() as (figure, axes):
        axes[0][0].set_title("王伟")
        made = finish(figure, "k", "Title", "A note.")
    assert made.note == "A note. Letters that the font lacks are in the SVG alone."
    assert "王伟" in made.svg
    with drawing() as (figure, axes):
        axes[0][0].set_title("Wang Wei")
        assert finish(figure, "k", "Title", "A note.").note == "A note."
