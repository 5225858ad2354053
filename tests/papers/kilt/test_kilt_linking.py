"""KILT's measures on runs and answers, entity linking end to end, and what a report of runs shows."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.measure import Retrieved, parse_measure, parse_measures
from whichone.measures.scores import board_measures, of_papers, score_answers, score_run
from whichone.papers.kilt.import_kilt import KiltPlan, import_kilt
from whichone.papers.kilt.kilt_files import export_kilt_answers as export_kilt
from whichone.records import Output, Provenance, Query
from whichone.report.report import make_report
from whichone.runs.read import read
from whichone.runs.retrieve import retrieve
from whichone.runs.run_files import import_answers

PASSAGES = [
    {"id": "1", "title": "Rome", "text": "Rome is the capital of Italy."},
    {"id": "2", "title": "Rome (band)", "text": "Rome is a band of Luxembourg."},
]


def mention(identity: str, title: str, page: str, context: str) -> dict[str, object]:
    provenance = [{"wikipedia_id": page, "title": title}]
    text = f"[START_ENT] Rome [END_ENT] {context}"
    return {"id": identity, "input": text, "output": [{"answer": title, "provenance": provenance}]}


@pytest.fixture
def linking(tmp_path: Path) -> Benchmark:
    gold = tmp_path / "aidayago2-dev-kilt.jsonl"
    records = [
        mention("a", "Rome", "1", "is the capital of Italy"),
        mention("b", "Rome (band)", "2", "played in Luxembourg"),
    ]
    gold.write_text("".join(json.dumps(r) + "\n" for r in records))
    passages = tmp_path / "passages.jsonl"
    passages.write_text("".join(json.dumps(p) + "\n" for p in PASSAGES))
    return import_kilt([gold], tmp_path / "bench", KiltPlan(passages=str(passages)))


def test_a_title_alone_gives_its_page(linking: Benchmark, tmp_path: Path) -> None:
    """a: right, b: the namesake's title."""
    file = tmp_path / "guess.jsonl"
    file.write_text("".join(json.dumps({"id": i, "output": [{"answer": "Rome"}]}) + "\n" for i in "ab"))
    answers = import_answers(linking.folder.root, file, tmp_path / "answers")
    scores = score_answers(answers, linking, parse_measures(["accuracy", "kilt_accuracy"]))
    assert scores.values["accuracy"].tolist() == [1.0, 0.0]
    assert scores.values["kilt_accuracy"].tolist() == [1.0, 0.0]
    export_kilt(tmp_path / "answers", tmp_path / "out.jsonl")
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert first["output"][0]["provenance"][0]["title"] == "Rome"


def test_the_reader_that_answers_with_the_best_title(linking: Benchmark, tmp_path: Path) -> None:
    retrieve(linking.folder.root, tmp_path / "run", retriever="bm25", k=2)
    answers = read(
        linking.folder.root,
        tmp_path / "read",
        reader="best-title",
        passages="retrieved",
        run=tmp_path / "run",
    )
    assert {i: a.text for i, a in answers.answers.items()} == {"a": "Rome", "b": "Rome (band)"}
    scores = score_answers(answers, linking, parse_measures(["kilt_accuracy"]))
    assert scores.values["kilt_accuracy"].tolist() == [1.0, 1.0]


def test_recall_counts_evidence_sets() -> None:
    """Two sets, {1, 2} and {3}: 1, 9, 2 completes the first in second place, 3 comes after it."""
    sets = (("1", "2"), ("3",))
    outputs = tuple(
        Output(answer="x", provenance=(tuple(Provenance(page=p) for p in pages),)) for pages in sets
    )
    query = Query(id="q", task="qa", input="?", outputs=outputs)
    asked = Retrieved(query, ("1", "9", "2", "3"), frozenset("123"), frozenset())
    values = {k: parse_measure(f"kilt_recall@{k}").value(asked) for k in (1, 2, 3, 5)}
    assert values == {1: 0.0, 2: 0.5, 3: 1.0, 5: 1.0}


def test_a_report_of_runs_alone_has_table_4(linking: Benchmark, tmp_path: Path) -> None:
    run = retrieve(linking.folder.root, tmp_path / "run", retriever="bm25", k=2)
    rprec = score_run(run, linking, parse_measures(["rprec"])).values["rprec"]
    make_report([tmp_path / "run"], tmp_path / "report.html")
    tables = tmp_path / "report-files"
    with (tables / "kilt-retrieval.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert float(row["aidayago2"]) == float(rprec.mean())
    with (tables / "kilt-datasets.csv").open() as file:
        (known,) = csv.DictReader(file)
    assert (known["label"], known["task"], known["input"]) == ("AY2", "Entity Linking", "Text Chunk")
    assert "KILT, Figure 1" in (tmp_path / "report.html").read_text()
    assert board_measures(linking)[-1] == "kilt_recall@5"
    assert of_papers(linking, "answers") == ["accuracy"]
