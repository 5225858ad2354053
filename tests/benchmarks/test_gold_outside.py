"""Gold that is mostly outside the corpus is an error in every importer, unless it is meant; a file without gold pages is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.by_name import builtin_benchmark
from whichone.cli import whichone
from whichone.errors import BadInput
from whichone.papers.amber.amber_files import export_amber

OTHER = [{"id": f"x{n}", "title": f"Nowhere {n}", "text": "Nothing."} for n in range(4)]


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(whichone, [str(word) for word in words])


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A corpus that has nothing to do with the questions."""
    file = tmp_path / "other.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in OTHER))
    return file


def questions(place: Path, other: Path) -> list[str | Path]:
    rows = [{"question": f"Who is {n}?", "gold": [f"Page {n}"], "answers": ["x"]} for n in range(3)]
    (place / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["import", "questions", place / "q.jsonl", "--passages", other, "--gold", "gold"]


def beir(place: Path, other: Path) -> list[str | Path]:
    folder = place / "beir"
    (folder / "qrels").mkdir(parents=True)
    rows = [{"_id": row["id"], "title": row["title"], "text": row["text"]} for row in OTHER]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "Who?"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tgone\t1\n")
    return ["import", "questions", folder, "--passages", folder]


def trec(place: Path, other: Path) -> list[str | Path]:
    (place / "topics.tsv").write_text("q1\tWho?\n")
    (place / "qrels.txt").write_text("q1 0 gone 1\n")
    return ["import", "questions", place / "topics.tsv", "--passages", other,
            "--qrels", place / "qrels.txt"]  # fmt: skip


def amber(place: Path, other: Path) -> list[str | Path]:
    export_amber(Benchmark.open(builtin_benchmark("builtin/amber")), place / "amber")
    run("corpus", other, place / "corpus")
    return ["import", "amber", place / "amber", "--corpus", place / "corpus", "--collection", "human"]


def popqa(place: Path, other: Path) -> list[str | Path]:
    row = {"id": 1, "subj": "Ana Roe", "prop": "place of birth", "obj": "Lima", "question": "Where?",
           "possible_answers": '["Lima"]', "s_wiki_title": "Ana Roe", "o_wiki_title": "Lima",
           "subj_id": 1, "prop_id": 2, "obj_id": 3, "s_pop": 5, "o_pop": 6}  # fmt: skip
    (place / "popqa.jsonl").write_text(json.dumps(row) + "\n")
    return ["import", "popqa", place / "popqa.jsonl", "--passages", other]


def kilt(place: Path, other: Path) -> list[str | Path]:
    row = {"id": "k1", "input": "Who?", "output": [
        {"answer": "x", "provenance": [{"wikipedia_id": "7", "title": "Gone"}]}]}  # fmt: skip
    (place / "nq-dev-kilt.jsonl").write_text(json.dumps(row) + "\n")
    return ["import", "kilt", place / "nq-dev-kilt.jsonl", "--passages", other]


@pytest.mark.parametrize("given", [questions, beir, trec, amber, popqa, kilt])
def test_gold_outside_the_corpus(given, tmp_path: Path, other: Path) -> None:
    verb, kind, first, *rest = given(tmp_path, other)
    refused = run(verb, kind, first, tmp_path / "bench", *rest)
    assert isinstance(refused.exception, BadInput), refused.output
    assert "in the corpus" in str(refused.exception)
    assert "--gold-outside" in str(refused.exception)
    assert not (tmp_path / "bench").exists()
    meant = run(verb, kind, first, tmp_path / "bench", *rest, "--gold-outside")
    assert meant.exit_code == 0, meant.output
    assert Benchmark.open(tmp_path / "bench").queries


def test_a_file_without_gold_pages(tmp_path: Path, other: Path) -> None:
    """One warning at import, and a dash with a reason, not a zero."""
    (tmp_path / "q.jsonl").write_text('{"question": "Who?", "answers": ["x"]}\n')
    made = run("import", "questions", tmp_path / "q.jsonl", tmp_path / "bench",
               "--passages", other, "--answers", "answers")  # fmt: skip
    assert made.exit_code == 0, made.output
    assert made.stderr.count("have no gold page") == 1
    run("retrieve", tmp_path / "bench", tmp_path / "run", "-k", "2")
    scored = run("score", tmp_path / "run", "--measures", "acc@1")
    assert "no question has" in scored.stderr + scored.stdout
    assert "0.000" not in scored.stdout
