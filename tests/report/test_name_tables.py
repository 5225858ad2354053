"""Tables and panels by name: a system that knows who is meant beside one that prefers the famous, by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from whichone.benchmarks.bearer_labels import BearerLabels
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores, score_run
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query
from whichone.report.first_screen import clearest_panels, names_html
from whichone.report.name_set_tables import accuracy_table, confusion_table, example_sets
from whichone.report.report import breakdown_table, kinds_section, make_report, relation_table
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.runs.run import Run
from whichone.runs.runner import run_retriever

MEASURES = ["acc@1", "acc@5", "acc@20", "all_correct@1", "all_correct@20", "confused@20"]
NAMES = ("Abe Lincoln", "Her")


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Two names with a famous bearer (page `n0`) and another (`n1`), a question about each."""
    sets, queries, passages = [], [], []
    for n, name in enumerate(NAMES):
        bearers = []
        for b, role in enumerate(("head", "tail")):
            page = f"w:{n}{b}"
            passages.append(Passage(id=f"{page}#0", page=page, title=f"{name} ({b})", text=name))
            bearers.append(Bearer(entity=page, role=role, popularity=10.0 ** (4 - b), pages=(page,)))
            output = Output(answer=f"answer {n}{b}", provenance=((Provenance(page=page),),))
            queries.append(
                Query(
                    id=f"q{n}{b}", task="qa", input=f"Where is {name}, {b}?", outputs=(output,), name=name,
                    name_set=f"s{n}", role=role, entity=page, relation=f"P{n}",
                    attributes={"collection": "human", "shared_name": n == 0},
                )
            )  # fmt: skip
        sets.append(NameSet(id=f"s{n}", name=name, collection="human", bearers=tuple(bearers)))
    place = tmp_path_factory.mktemp("names")
    return save_benchmark(place / "bench", name="names", queries=queries, sets=sets, passages=passages)


@pytest.fixture(scope="module")
def runs(benchmark: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """`knows` finds who is meant; `famous` puts the famous bearer of Abe Lincoln first, of Her nobody."""
    place = tmp_path_factory.mktemp("runs")
    asked = {query.input: query for query in benchmark.queries}

    def knows(text: str, k: int) -> list[str]:
        return [f"{next(iter(asked[text].gold_pages()))}#0"]

    def famous(text: str, k: int) -> list[str]:
        return ["w:00#0", "w:01#0"] if asked[text].name == NAMES[0] else []

    searches = {"knows": knows, "famous": famous}
    return [
        run_retriever(FunctionRetriever(search, name=name), benchmark, place / name, k=20, name=name)
        for name, search in searches.items()
    ]


@pytest.fixture(scope="module")
def scores(benchmark: Benchmark, runs: list[Run]) -> list[Scores]:
    return [score_run(run, benchmark, parse_measures(MEASURES)) for run in runs]


def figures(row: Any, count: int) -> tuple[str, list[float | None]]:
    return row[-count - 1], [cell.value for cell in row[-count:]]


def test_accuracy_and_confusion_by_role(scores: list[Scores]) -> None:
    values = dict(figures(row, 4) for row in accuracy_table(scores, 1, 5).rows)
    # famous: the first of four questions is right, of head questions one of two, and no name wholly
    assert values == {"knows": [1, 1, 1, 1], "famous": [0.25, 0.5, 0, 0]}
    values = dict(figures(row, 4) for row in accuracy_table(scores, 20, 9).rows)
    assert values["famous"] == [0.5, 0.5, 0.5, 0.5]
    confused = dict(figures(row, 3) for row in confusion_table(scores).rows)
    assert confused == {"knows": [0, 0, 0], "famous": [0.25, 0, 0.5]}


def test_a_system_alone_is_compared_with_nothing(scores: list[Scores]) -> None:
    table = accuracy_table(scores[:1], 1, 5)
    assert table.marks == {}
    assert "asterisk" not in table.note
    assert "differs from knows's" in accuracy_table(scores, 1, 5).note


def test_examples_are_questions_with_answer_and_title(benchmark: Benchmark) -> None:
    rows = example_sets(benchmark, most=1).rows  # `Her` is one of the paper's own
    assert [row[-2:] for row in rows] == [("answer 10", "Her (0)"), ("answer 11", "Her (1)")]


def test_shared_and_unique_names_and_relations(benchmark: Benchmark, scores: list[Scores]) -> None:
    rows = breakdown_table(scores, ["shared_name"], "").rows
    values = {(row[0], row[1]): (row[2].value, row[5].value, row[6]) for row in rows}  # type: ignore[union-attr]
    assert values["shared", "famous"] == (0.5, 0.5, 2)
    assert values["unique", "famous"] == (0, 0, 2)
    assert values["unique", "knows"] == (1, 0, 2)
    rows = relation_table(scores).rows
    assert [(row[0], row[2].value) for row in rows[:2]] == [("P0", 1), ("P1", 0)]  # type: ignore[union-attr]
    assert rows[2] == ("macro", "100.0", "50.0")
    section = kinds_section(scores, benchmark)
    # questions with roles are in the tables of name sets already
    assert section is not None and [table.key for table in section.tables] == ["shared-names"]


def test_questions_worded_in_several_ways_are_split_by_wording(tmp_path: Path, benchmark: Benchmark) -> None:
    """As `build catalogue` marks its questions, and `build noisy` the names it changed."""
    marked = [
        msgspec.structs.replace(q, attributes={**q.attributes, "wording": ("by fact", "by type")[n % 2]})
        for n, q in enumerate(benchmark.queries)
    ]
    worded = save_benchmark(
        tmp_path / "worded", name="worded", queries=marked, sets=benchmark.sets,
        passages=list(benchmark.passage_records()),
    )  # fmt: skip
    run = run_retriever(
        FunctionRetriever(lambda text, k: [next(iter(q.gold_pages())) for q in marked if q.input == text][:k]),
        worded, tmp_path / "run", k=1, name="knows",
    )  # fmt: skip
    measures = parse_measures(["acc@1", "acc@5", "acc@20", "confused@20"])
    section = kinds_section([score_run(run, worded, measures)], worded)
    assert section is not None and not section.html
    table = next(t for t in section.tables if t.key == "by-wording")
    assert [(row[0], row[-1]) for row in table.rows] == [("by fact", 2), ("by type", 2)]
    assert [row[2].value for row in table.rows] == [1, 1]  # type: ignore[union-attr]
    make_report([run.path], tmp_path / "r.html", benchmark=worded.folder.root)
    page = (tmp_path / "r.html").read_text("utf-8")
    kinds = page[page.index("<h2>By kind of question") :]
    bars, table_at = kinds.index('<svg class="outcomes"'), kinds.index("<table")
    assert bars < table_at and "<h3>By fact</h3>" in kinds and "<h3>By type</h3>" in kinds


def test_panels_show_the_most_telling_name_first(
    benchmark: Benchmark, runs: list[Run], scores: list[Scores]
) -> None:
    panels = clearest_panels(runs, scores, benchmark)
    # Abe: one of four first pages is a namesake's, and the systems differ on one of two questions;
    # Her: they differ on both
    assert [(p.name_set.name, p.telling) for p in panels] == [("Her", 1.0), (NAMES[0], 0.75)]
    kinds = [[first.kind for first in firsts] for _, firsts in panels[1].queries]
    assert kinds == [["gold", "gold"], ["gold", "namesake"]]
    assert [f.kind for f in panels[0].queries[0][1]] == ["gold", "nothing"]
    assert len(clearest_panels(runs, scores, benchmark, most=1)) == 1
    page = names_html(panels, BearerLabels(benchmark), [s.system for s in scores])
    rows = re.findall(
        r"<b><bdi>([^<]*)</bdi></b>.*?<td class=\"n\"[^>]*>(\d+)</td><td class=\"n\"[^>]*>(\d+)</td>",
        page,
        re.DOTALL,
    )
    assert rows == [("Her", "2", "0"), ("Abe Lincoln", "2", "1")]
    assert "2 of 2 right" in page and "1 of 2 right" in page and 'data-filter="names"' in page
    hidden = names_html(panels, BearerLabels(benchmark), ["a", "b"], redact=True)
    assert "<bdi>name 2</bdi>" in hidden and "Lincoln" not in hidden
