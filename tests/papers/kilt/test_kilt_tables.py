"""The KILT paper's tables over prediction files, on a few records counted by hand."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.papers.kilt.kilt_file_tables import document_name, documents, open_system, score_systems


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


def record(identity: str, text: str | None, answer: str, *pages: str) -> dict[str, Any]:
    entries = [{"wikipedia_id": page, "title": f"T{page}"} for page in pages]
    made: dict[str, Any] = {"id": identity, "output": [{"answer": answer, "provenance": entries}]}
    return made if text is None else {**made, "input": text}


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    mark = "[START_ENT] {} [END_ENT]"
    write(
        tmp_path / "gold" / "nq-dev-kilt.jsonl",
        *(record(str(n), "q", f"answer {n}", str(n)) for n in range(4)),
    )
    write(
        tmp_path / "gold" / "aidayago2-dev-kilt.jsonl",
        record("u1_9testa A:0", f"{mark.format('Rome')} fell", "Rome", "1"),
        record("u2_9testa A:1", f"Rome {mark.format('fell')}", "Fall", "2"),
        record("u3_8testa B:0", f"{mark.format('Bo')}", "Bo (band)", "3"),
    )
    good = tmp_path / "systems" / "good"
    write(
        good / "nq-dev-kilt.jsonl",
        record("0", None, "the Answer 0", "0"),
        record("1", None, "answer 1", "9"),
        record("2", None, "wrong", "2"),
        record("3", None, "wrong", "9"),
    )
    write(
        good / "aidayago2-dev-kilt.jsonl",
        record("u1_9testa A:0", None, "Rome", "1"),
        record("u2_9testa A:1", None, "Autumn", "7"),
        record("u3_8testa B:0", None, "Bo (band)", "3"),
    )
    (good / "system.toml").write_text('name = "BART + DPR"\nparameters = "406M"\nindex = "15B"\n')
    plain = tmp_path / "systems" / "plain"
    write(
        plain / "nq-dev-kilt.jsonl", *({"id": str(n), "output": [{"answer": "answer 1"}]} for n in range(4))
    )
    return tmp_path


def table(folder: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / f"{name}.csv").read_text().splitlines()))


def test_all_tables(folders: Path) -> None:
    out = folders / "kilt.html"
    systems = [str(folders / "systems" / name) for name in ("good", "plain")]
    words = ["score", "kilt-tables", str(folders / "gold"), *systems, str(out)]
    result = CliRunner().invoke(whichone, words)
    assert result.exit_code == 0, result.output
    beside = folders / "kilt-files"
    third = table(beside, "kilt-3-dev")
    assert [row["system"] for row in third] == ["BART + DPR", "plain"]
    assert float(third[0]["NQ (EM)"]) == 0.5
    assert float(third[1]["NQ (EM)"]) == 0.25
    assert float(third[0]["AY2 (Accuracy)"]) == pytest.approx(2 / 3)
    assert third[1]["AY2 (Accuracy)"] == ""
    fourth = table(beside, "kilt-4-dev")
    assert float(fourth[0]["NQ"]) == 0.5
    assert fourth[1]["NQ"] == ""
    assert float(table(beside, "kilt-5-dev")[0]["NQ (KILT-EM)"]) == 0.25
    appendix = table(beside, "kilt-13-nq")
    assert float(appendix[0]["Recall@5"]) == 0.5
    assert "KILT-F1" in appendix[0]
    linking = table(beside, "kilt-8-aidayago2")
    assert "F1" not in linking[0]
    assert float(linking[0]["KILT-AC"]) == pytest.approx(2 / 3)
    assert table(beside, "kilt-systems")[0]["parameters"] == "406M"
    page = out.read_text()
    assert "9testa A (BART + DPR, AIDA CoNLL-YAGO, dev): 1 of 2" in page


def test_all_mentions_of_a_document(folders: Path) -> None:
    gold = folders / "gold" / "aidayago2-dev-kilt.jsonl"
    first, second = documents(gold, folders / "systems" / "good" / "aidayago2-dev-kilt.jsonl")
    assert (first.name, first.text) == ("9testa A", "Rome fell")
    found = [(m.mention, m.guess, m.gold, m.right) for m in first.mentions]
    assert found == [("Rome", "Rome", "Rome", True), ("fell", "Autumn", "Fall", False)]
    assert second.mentions[0].right
    assert document_name("plain") == "plain"


def test_what_is_missing_is_said(folders: Path, capfd: pytest.CaptureFixture[str]) -> None:
    extra = folders / "systems" / "extra"
    write(extra / "wow-dev-kilt.jsonl", record("1", None, "a", "1"))
    with pytest.raises(UsageError, match="no prediction file"):
        score_systems(folders / "gold", [open_system(extra)])
    assert "no gold for wow dev" in capfd.readouterr().err
    with pytest.raises(UsageError, match="no gold file"):
        score_systems(folders, [])
    (extra / "system.toml").write_text("name =")
    with pytest.raises(BadInput, match="not TOML"):
        open_system(extra)


def test_tables_of_own_answers(folders: Path, tmp_path: Path) -> None:
    """Answers over several datasets go out as one file each, with the published names and ids, and are scored."""
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.corpus.save import save_corpus
    from whichone.reading.llm import FunctionReader
    from whichone.records import Passage, Question, Ranking
    from whichone.runs.read import run_reader
    from whichone.runs.runner import run_retriever
    from whichone.runs.shown import Setting

    pages = [Passage(id=f"enwiki:{n}#0", page=f"enwiki:{n}", title=f"T{n}", text="text") for n in range(9)]
    save_corpus(tmp_path / "corpus", pages, name="nine")
    gold = sorted(str(file) for file in (folders / "gold").iterdir())
    words = ["import", "kilt", *gold, str(tmp_path / "bench"), "--corpus", str(tmp_path / "corpus")]
    done = CliRunner().invoke(whichone, words)
    assert done.exit_code == 0, done.output

    def answer(text: str, passages: list[Passage]) -> tuple[str, list[str]]:
        return ("Rome" if "Rome" in text else "answer 1"), [passages[0].id]

    benchmark = Benchmark.open(tmp_path / "bench")
    run_reader(FunctionReader(answer), benchmark, tmp_path / "answers", Setting(passages="gold"))
    out = folders / "systems" / "ours"
    words = ["export", str(tmp_path / "answers"), str(out), "--format", "kilt", "--json"]
    done = CliRunner().invoke(whichone, words)
    assert done.exit_code == 0, done.output
    assert sorted(p.name for p in out.iterdir()) == ["aidayago2-dev-kilt.jsonl", "nq-dev-kilt.jsonl"]
    scored = {s.dataset.name: s.values for s in score_systems(folders / "gold", [open_system(out)])}
    assert scored["nq"]["accuracy"].value == 0.25
    assert scored["nq"]["Rprec"].value == 1.0
    assert scored["aidayago2"]["accuracy"].value == pytest.approx(1 / 3)
    page = tmp_path / "tables.html"
    words = ["score", "kilt-tables", str(folders / "gold"), str(out), str(page)]
    done = CliRunner().invoke(whichone, words)
    assert done.exit_code == 0, done.output
    assert "ours" in page.read_text()
    run = tmp_path / "run"

    class Second:
        """The page of nq's second question, then its third's, whatever is asked."""

        def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
            for question in questions:
                yield Ranking(question=question.id, passages=("enwiki:1#0", "enwiki:2#0"), scores=(2.0, 1.0))

    run_retriever(Second(), benchmark, run, k=2, name="second")
    ranked = folders / "systems" / "ranked"
    done = CliRunner().invoke(whichone, ["export", str(run), str(ranked), "--format", "kilt"])
    assert done.exit_code == 0, done.output
    assert sorted(p.name for p in ranked.iterdir()) == ["aidayago2-dev-kilt.jsonl", "nq-dev-kilt.jsonl"]
    scored = {s.dataset.name: s.values for s in score_systems(folders / "gold", [open_system(ranked)])}
    assert "accuracy" not in scored["nq"]
    assert scored["nq"]["Rprec"].value == 0.25
    (folders / "systems" / "nothing").mkdir()
    words = [*words[:-1], str(folders / "systems" / "nothing"), str(tmp_path / "more.html")]
    done = CliRunner().invoke(whichone, words)
    assert done.exit_code == 0, done.output
    assert "nothing: no file in it has the name of one of KILT's" in done.stderr
