"""Figure 2 before a sample of a knowledge base's entities, and the human row of Table 8, by `report`."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone
from whichone.errors import BadInput
from whichone.report.figures import knowledge_beside, popularity_sample
from whichone.report.three_choice import people_rows
from whichone.runs.retrieve import retrieve

HEADER = "study,person,item,page,span,seconds,query,question,gold,right,exact,skipped,check,external"


@pytest.fixture
def amber() -> Benchmark:
    return Benchmark.open("builtin/amber")


def of(benchmark: Benchmark, collection: str) -> list[str]:
    """Questions of three different names."""
    names: dict[str, str] = {}
    for query in benchmark.queries:
        if query.task == "qa" and query.attributes["collection"] == collection:
            names.setdefault(str(query.name_set), query.id)
    return list(names.values())[:3]


def study(file: Path, benchmark: Benchmark) -> Path:
    """Two people; a third fails the attention check."""
    human, other = of(benchmark, "human"), of(benchmark, "nonhuman")
    rows = [
        ("ann", human[0], 1, 1, 0), ("ann", human[1], 1, 0, 0), ("ann", other[0], 1, 1, 0),
        ("bob", human[0], 1, 0, 0), ("bob", human[2], 0, 0, 0), ("bob", other[0], 0, 0, 0),
        ("eve", human[0], 0, 0, 0), ("eve", f"check:{human[0]}", 0, 0, 1),
        ("ann", f"check:{human[1]}", 1, 0, 1),
    ]  # fmt: skip
    lines = [
        f"s,{person},0,p,,1.0,{query},q,p,{right},{exact},0,{check},"
        for person, query, right, exact, check in rows
    ]
    file.write_text("\n".join([HEADER, *lines]) + "\n")
    return file


def test_people_by_collection(amber: Benchmark, tmp_path: Path) -> None:
    rows = people_rows(study(tmp_path / "answers.csv", amber), amber)
    assert [(r.system, r.collection, r.items) for r in rows] == [
        ("people (2)", "human", 3),
        ("people (2)", "nonhuman", 1),
    ]
    assert [r.accuracy.value for r in rows] == [pytest.approx(3 / 4), pytest.approx(1 / 2)]
    assert [r.em.value for r in rows] == [pytest.approx(1 / 4), pytest.approx(1 / 2)]


def test_wrong_files(amber: Benchmark, tmp_path: Path) -> None:
    file = tmp_path / "other.csv"
    file.write_text("person,query\n")
    with pytest.raises(BadInput, match="no column right, exact, check"):
        people_rows(file, amber)
    file.write_text("person,query,right,exact,check\nann,unknown,1,1,0\n")
    with pytest.raises(BadInput, match="does not have: unknown"):
        people_rows(file, amber)
    file.write_text("person,query,right,exact,check\nann,unknown,yes,1,0\n")
    with pytest.raises(BadInput, match="are 0 or 1"):
        people_rows(file, amber)


def test_a_sample_of_the_knowledge_base(amber: Benchmark) -> None:
    place = knowledge_beside(amber)
    assert place is not None
    every = popularity_sample(place)
    bearers = {b.entity: b.popularity for s in amber.sets for b in s.bearers if b.popularity}
    assert len(every) > len(bearers)
    assert np.all(np.diff(every) <= 0)
    assert set(bearers.values()) <= set(every.tolist())
    few = popularity_sample(place, most=50)
    assert len(few) == 50 and np.all(np.isin(few, every))


def test_both_by_report(amber: Benchmark, tmp_path: Path) -> None:
    retrieve("builtin/amber", tmp_path / "run", retriever="bm25", k=20)
    answers = study(tmp_path / "answers.csv", amber)
    words = ["report", str(tmp_path / "run"), str(tmp_path / "page.html"), "--study", str(answers)]
    result = CliRunner().invoke(whichone, words)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "page.html").read_text()
    assert "entities of the knowledge base by their views in grey" in page
    with next(tmp_path.rglob("three-choice.csv")).open() as file:
        rows = {(r["collection"], r["system"]): r for r in csv.DictReader(file)}
    assert float(rows["human", "people (2)"]["right page"]) == pytest.approx(0.75)
    assert ("human", "bm25") in rows
