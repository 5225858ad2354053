"""LongMemEval's file in, a benchmark of sessions out; and the real oracle file where it is at hand."""

from __future__ import annotations

import json
import os
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.measures.measure import parse_measures
from whichone.measures.scores import score_run, slice_scores
from whichone.papers.longmemeval.files import read_longmemeval
from whichone.papers.longmemeval.import_files import import_longmemeval
from whichone.runs.retrieve import retrieve
from whichone.runs.run import Run


def turn(role: str, content: str, has_answer: bool = False) -> dict[str, Any]:
    return {"role": role, "content": content, "has_answer": has_answer}


DOG = [
    turn("user", "Good morning."),
    turn("assistant", "Hello!"),
    turn("user", "My dog Rex turned four.", has_answer=True),
    turn("assistant", "Congratulations."),
]
TEA = [turn("user", "I drink three cups of tea a day.", has_answer=True), turn("assistant", "Oh.")]
COFFEE = [turn("user", "I now drink coffee, two cups.", has_answer=True)]


def record(key: str, kind: str, answer: Any, gold: list[str], **changes: Any) -> dict[str, Any]:
    return {
        "question_id": key,
        "question_type": kind,
        "question": f"{key}?",
        "answer": answer,
        "question_date": "2023/05/30 (Tue) 10:00",
        "haystack_dates": ["2023/05/01 (Mon) 09:00", "2023/05/02 (Tue) 09:00"],
        "haystack_session_ids": ["dog", "tea"],
        "haystack_sessions": [DOG, TEA],
        "answer_session_ids": gold,
        **changes,
    }


RECORDS = [
    record("dog", "single-session-user", "Rex", ["dog"]),
    record("cups", "multi-session", 5, ["tea", "coffee"],
           haystack_dates=["2023/05/02 (Tue) 09:00", "2023/05/03 (Wed) 09:00"],
           haystack_session_ids=["tea", "coffee"], haystack_sessions=[TEA, COFFEE]),
    record("cat_abs", "single-session-user", "You never mentioned a cat.", ["dog"],
           haystack_dates=["2023/06/01 (Thu) 09:00", "2023/05/02 (Tue) 09:00"]),
]  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "longmemeval_oracle.json"
    path.write_text(json.dumps(RECORDS))
    return path


def test_sessions_are_pages_and_rounds_passages(file: Path, tmp_path: Path) -> None:
    made = import_longmemeval(file, tmp_path / "bench")
    passages = {p.id: (p.title, p.text) for p in made.passage_records()}
    assert passages["longmemeval:dog#1"] == (
        "Chat of 2023/05/01 (Mon) 09:00",
        "user: My dog Rex turned four.\nassistant: Congratulations.",
    )
    assert len(passages) == 2 + 1 + 1 + 2, "the dog's chat of another day is a page of its own"
    dog, cups, cat = made.queries
    assert dog.gold_pages() == {"longmemeval:dog"}
    assert [p.passage for p in dog.outputs[0].provenance[0]] == ["longmemeval:dog#1"]
    assert cups.answers() == ("5",)
    assert cups.gold_pages() == {"longmemeval:tea", "longmemeval:coffee"}
    assert len(cups.outputs[0].provenance) == 1, "both sessions together are the evidence"
    assert cat.gold_pages() == {"longmemeval:dog/2"}
    assert [q.attributes["abstention"] for q in made.queries] == [False, False, True]
    assert list(cups.attributes["documents"]) == ["longmemeval:tea#0", "longmemeval:coffee#0"]
    assert "| single-session-user | 2 |" in made.card


def test_whole_sessions_and_dates(file: Path, tmp_path: Path) -> None:
    made = import_longmemeval(file, tmp_path / "bench", unit="session", dated=True)
    assert made.passages.num_rows == 4
    assert made.queries[0].input == "dog? (asked on 2023/05/30 (Tue) 10:00)"


def test_scores_by_question_type(file: Path, tmp_path: Path) -> None:
    """`given` returns each question's own sessions in order: gold is first, or one of two."""
    import_longmemeval(file, tmp_path / "bench")
    retrieve(tmp_path / "bench", tmp_path / "run", retriever="given", k=10)
    run = Run.open(tmp_path / "run")
    scores = score_run(run, Benchmark.open(tmp_path / "bench"), parse_measures(["recall@1"]))
    values = {
        where["question_type"]: found["recall@1"].value
        for where, found in slice_scores(scores, ["question_type"])
    }
    assert values == {"multi-session": 0.5, "single-session-user": 1.0}


def test_out_of_archives(file: Path, tmp_path: Path) -> None:
    wheel, tar = tmp_path / "data.whl", tmp_path / "data.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(file, "sources/longmemeval_oracle.json")
        archive.writestr("sources/longmemeval_oracle_composed.json", "[]")
    with tarfile.open(tar, "w:gz") as packed:
        packed.add(file, "data/longmemeval_s.json")
        packed.add(file, "data/longmemeval_m.json")
    assert read_longmemeval(wheel) == read_longmemeval(file)
    assert len(read_longmemeval(tar, "longmemeval_s.json")) == 3
    with pytest.raises(UsageError, match="2 files") as error:
        read_longmemeval(tar)
    assert "longmemeval_m.json" in str(error.value.hint)
    with pytest.raises(UsageError, match="archive only"):
        read_longmemeval(file, "longmemeval_s.json")


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([], "no questions"),
        ([RECORDS[0], RECORDS[0]], "occur twice: dog"),
        ([{**RECORDS[0], "answer_session_ids": ["cat"]}], "not among its sessions: cat"),
        ([{**RECORDS[0], "haystack_dates": ["today"]}], "2 session ids, 2 sessions and 1 dates"),
        ([{"question": "?"}], r"missing required field `question_id`"),
    ],
)
def test_wrong_files(records: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(records))
    with pytest.raises(BadInput, match=message) as error:
        read_longmemeval(path)
    assert error.value.file is not None


def test_command(file: Path, tmp_path: Path) -> None:
    words = ["import", "longmemeval", str(file), str(tmp_path / "bench"), "--json"]
    result = CliRunner().invoke(whichone, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["counts"]["queries"] == 3


def test_the_real_oracle_file(tmp_path: Path) -> None:
    """The counts of the paper's Table: 500 questions of six types, 30 of them to be declined."""
    place = os.environ.get("WHICHONE_LONGMEMEVAL")
    shared = Path(os.environ.get("WHICHONE_SHARED", "nowhere")) / "data" / "longmemeval"
    files = [Path(place)] if place else sorted(shared.glob("*oracle*.json*"))
    if not files:
        pytest.skip("LongMemEval's oracle file is not here (WHICHONE_LONGMEMEVAL)")
    made = import_longmemeval(files[0], tmp_path / "bench")
    types = [q.attributes["question_type"] for q in made.queries]
    assert {kind: types.count(kind) for kind in sorted(set(types))} == {
        "knowledge-update": 78,
        "multi-session": 133,
        "single-session-assistant": 56,
        "single-session-preference": 30,
        "single-session-user": 70,
        "temporal-reasoning": 133,
    }
    assert sum(q.attributes["abstention"] for q in made.queries) == 30
    assert len(made.pages) == 948
