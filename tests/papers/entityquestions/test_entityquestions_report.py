"""EntityQuestions' tables and figure, on a benchmark small enough to count by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.measures.intervals import Estimate
from whichone.measures.ranking_measures import answer_in_top
from whichone.measures.scores import Scores, score_run
from whichone.papers.entityquestions.entityquestions_report import (
    applying,
    bucket_places,
    curve,
    entityquestions_section,
    figure_1,
    kinds,
)
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query, Question, Ranking
from whichone.report.page import Table
from whichone.runs.run import Run
from whichone.runs.runner import Runner

N = 120


def query(n: int) -> Query:
    """Even ones are of a shared name; the first ten answers stand on the wrong page only."""
    gold = ((Provenance(page=f"w:{n}"),),)
    return Query(
        id=f"q{n:03}",
        task="EntityQuestions",
        input=f"Where was Person {n} born?",
        outputs=(Output(answer=f"Town{n}", provenance=gold),),
        name=f"Person {n}",
        name_set="name:shared" if n % 2 == 0 else None,
        relation="P19",
        attributes={
            "shared_name": n % 2 == 0,
            "bucket": n % 8,
            "rand_ent": True,
            "train_ent": n < 40,
            "resolvable": "no" if n % 2 == 0 else "yes",
            "candidates": 2 if n % 2 == 0 else 1,
        },
    )


class Wrong:
    """The right page first, but a stranger's page for the first ten and nothing good for the next ten."""

    def search(self, questions: Sequence[Question], k: int) -> Iterable[Ranking]:
        for question in questions:
            n = int(question.id[1:])
            page = f"lucky:{n}#0" if n < 10 else "w:0#0" if n < 20 else f"w:{n}#0"
            yield Ranking(question=question.id, passages=(page,), scores=(1.0,))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Benchmark]:
    root = tmp_path_factory.mktemp("eq-report")
    passages = [
        Passage(id=f"w:{n}#0", page=f"w:{n}", title=f"Person {n}", text=f"Born in Town{n}.") for n in range(N)
    ]
    passages += [
        Passage(id=f"lucky:{n}#0", page=f"lucky:{n}", title="Another", text=f"Town{n} again.")
        for n in range(10)
    ]
    bearers = tuple(Bearer(entity=f"e{n}", pages=(f"w:{n}",)) for n in range(0, N, 2))
    benchmark = save_benchmark(
        root / "bench",
        name="eq",
        queries=[query(n) for n in range(N)],
        passages=passages,
        sets=[NameSet(id="name:shared", name="shared", bearers=bearers)],
    )
    run = Runner(Wrong(), benchmark, k=20).run(root / "run", name="wrong", description={})
    return run, benchmark


def value(cell: object) -> float:
    assert isinstance(cell, Estimate)
    assert cell.value is not None
    return cell.value


def tables(made: tuple[Run, Benchmark], **options: bool) -> dict[str, Table]:
    section = entityquestions_section([made[0]], made[1], **options)
    assert section is not None
    return {table.key: table for table in section.tables}


def test_table_5_by_hand(made: tuple[Run, Benchmark]) -> None:
    found = tables(made)["entityquestions-table-5"]
    assert list(found.columns) == ["relation", "wrong", "wrong, unique", "wrong, shared"]
    relation, macro, micro = found.rows
    assert relation[0] == "P19 Where was [E] born?"
    assert value(relation[1]) == pytest.approx(110 / 120)
    assert value(relation[2]) == value(relation[3]) == pytest.approx(55 / 60)
    assert macro[1] == "91.7"
    assert value(micro[1]) == pytest.approx(110 / 120)


def test_table_1_leads_with_the_macro_average(made: tuple[Run, Benchmark]) -> None:
    found = tables(made)["entityquestions-table-1"]
    assert [row[0] for row in found.rows[:2]] == [
        "all questions, macro average",
        "all questions, micro average",
    ]
    assert found.rows[0][1] == "91.7"
    assert value(found.rows[1][1]) == pytest.approx(110 / 120)


def test_tables_2_and_3_by_hand(made: tuple[Run, Benchmark], tmp_path: Path) -> None:
    """A system called `FT [P19]` is shown in that relation's column alone, one without brackets in all."""
    run, benchmark = made
    tuned = Runner(Wrong(), benchmark, k=20).run(tmp_path / "t", name="FT [P19]", description={})
    section = entityquestions_section([run, tuned], benchmark)
    assert section is not None
    by_key = {table.key: table for table in section.tables}
    second = by_key["entityquestions-table-2"]
    assert list(second.columns) == ["system", "P19 Where was [E] born?"]
    assert [(row[0], value(row[1])) for row in second.rows] == [
        ("wrong", pytest.approx(110 / 120)),
        ("FT", pytest.approx(110 / 120)),
    ]
    third = by_key["entityquestions-table-3"]
    assert list(third.columns) == ["relation", "system", "Rel", "EntityQ."]
    assert [row[1:2] + row[3:] for row in third.rows] == [("wrong", "91.7"), ("FT", "91.7")]
    assert "entityquestions-table-2" not in tables(made)


def test_the_luck_in_the_hits(made: tuple[Run, Benchmark]) -> None:
    found = tables(made)["lucky-hits"]
    unique, shared = found.rows
    assert (unique[1], shared[1]) == ("unique", "shared")
    place = list(found.columns).index("lucky_hit@1")
    assert value(unique[place]) == value(shared[place]) == pytest.approx(5 / 55)


def test_what_can_be_known(made: tuple[Run, Benchmark]) -> None:
    found = tables(made)["resolvable"]
    place = list(found.columns).index("best_possible@1")
    assert [(row[1], value(row[place])) for row in found.rows] == [("no", 0.5), ("yes", 1.0)]


def test_table_7_shows_what_came_instead(made: tuple[Run, Benchmark]) -> None:
    rows = tables(made)["entityquestions-table-7"].rows
    assert [row[2] for row in rows[:2]] == ["gold", "1"]
    assert (rows[0][3], rows[1][3]) == ("Person 10", "Person 0")
    assert "entityquestions-table-7" not in tables(made, redact=True)


def test_figure_1_has_a_curve_for_each_kind(made: tuple[Run, Benchmark]) -> None:
    run, benchmark = made
    measure = answer_in_top(20)
    scores = score_run(run, benchmark, [measure])
    assert [kind[0] for kind in kinds(scores.queries)] == ["rand ent", "train ent"]
    places = bucket_places(scores.queries)
    assert places["P19"]["q003"] == 3
    train = curve(scores, measure, places["P19"], kinds(scores.queries)[1])
    assert [round(value(v), 3) for v in train] == [0.8, 0.8, 0.6, 0.6, 0.8, 0.8, 0.8, 0.8]
    drawn = figure_1([scores], measure)
    assert drawn is not None
    assert "train ent" in drawn.svg


def test_few_released_buckets_are_drawn_as_they_are() -> None:
    """A handful of questions a bucket, seen entities alone, and a ninth bucket of somebody's own."""
    queries = [
        Query(
            id=f"q{n}", task="EntityQuestions", input="?", relation="P159",
            attributes={"bucket": n, "train_ent": True},
        )
        for n in range(9)
    ]  # fmt: skip
    assert bucket_places(queries)["P159"] == {f"q{n}": n for n in range(9)}
    assert [kind[0] for kind in kinds(queries)] == ["train ent"]
    measure = answer_in_top(20)
    scores = Scores("s", "b", queries, [measure], {str(measure): np.ones(9)})
    values = curve(scores, measure, bucket_places(queries)["P159"], kinds(queries)[0])
    assert [value(v) for v in values] == [1.0] * 9
    assert figure_1([scores], measure) is not None


def test_buckets_are_made_of_popularity_where_there_are_none() -> None:
    queries = [
        Query(id=f"q{n}", task="qa", input="?", relation="r", attributes={"popularity": n + 1})
        for n in range(100)
    ]
    places = bucket_places(queries)["r"]
    assert (places["q99"], places["q0"]) == (0, 7)
    assert bucket_places(queries[:99]) == {}
    assert [kind[0] for kind in kinds(queries)] == ["all"]


def test_it_does_not_apply_to_other_benchmarks(tmp_path: Path) -> None:
    other = save_benchmark(
        tmp_path / "b",
        name="b",
        queries=[Query(id="q", task="qa", input="?", outputs=(Output(answer="x"),))],
        passages=[Passage(id="w:1#0", page="w:1", title="t", text="x")],
    )
    assert not applying(other)
