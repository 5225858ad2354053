"""Files in, scores out: alignment, bad records, what is skipped and what is said about it."""

import gzip
import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from whichone.errors import BadInput, Missing
from whichone.papers.kilt import evaluate as kilt_evaluate
from whichone.papers.kilt.evaluate import Evaluation, evaluate
from whichone.papers.kilt.kilt_scoring import KiltSettings

Lines = list[Any]


def gold(id: Any, answer: str = "x", page: Any = "1", **more: Any) -> dict[str, Any]:
    entry = {"wikipedia_id": page, "title": f"Title {page}"}
    return {"id": id, "input": "q", "output": [{"answer": answer, "provenance": [entry]}], **more}


def guess(id: Any, answer: Any = "x", pages: Lines | None = None) -> dict[str, Any]:
    entries = [p if isinstance(p, dict) else {"wikipedia_id": p} for p in pages or ["1"]]
    return {"id": id, "output": [{"answer": answer, "provenance": entries}]}


class Files:
    """Writes a gold and a prediction file and scores them."""

    def __init__(self, folder: Path) -> None:
        self.gold = folder / "gold.jsonl"
        self.guess = folder / "guess.jsonl"

    def score(self, golds: Lines, guesses: Lines, **options: Any) -> Evaluation:
        for path, lines in ((self.gold, golds), (self.guess, guesses)):
            raw = (x if isinstance(x, bytes) else json.dumps(x).encode() for x in lines)
            path.write_bytes(b"".join(line + b"\n" for line in raw))
        return evaluate(self.gold, self.guess, options.pop("settings", None), **options)

    def refused(self, golds: Lines, guesses: Lines, **options: Any) -> BadInput:
        with pytest.raises(BadInput) as caught:
            self.score(golds, guesses, **options)
        return caught.value


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def codes(result: Evaluation) -> dict[str, int]:
    return {finding.code: finding.count for finding in result.findings}


def test_ids_are_aligned_as_text_whatever_the_order(files: Files) -> None:
    result = files.score([gold(1), gold("2", "y")], [guess("2 ", "y"), guess("1", "wrong")])
    assert result.downstream is not None and result.downstream["accuracy"] == 0.5
    assert result.ids == ["1", "2"]
    assert codes(result) == {"id_type": 1, "id_blanks": 1}


def test_an_empty_answer_scores_nothing_not_even_kilt(files: Files) -> None:
    result = files.score([gold(1)], [guess(1, " ")])
    assert result.kilt == {f"KILT-{n}": 0.0 for n in ("accuracy", "em", "f1", "rougel")}
    assert result.retrieval is not None and result.retrieval["Rprec"] == 1.0
    assert codes(result) == {"empty_answer": 1}


def test_kilt_scores_need_the_whole_evidence_first(files: Files) -> None:
    result = files.score([gold(1), gold(2)], [guess(1, "x", ["1", "9"]), guess(2, "x", ["9", "1"])])
    assert result.downstream is not None and result.downstream["em"] == 1.0
    assert result.kilt is not None and result.kilt["KILT-em"] == 0.5


@pytest.mark.parametrize(
    ("golds", "guesses", "file", "line", "said"),
    [
        ([gold(1)], [guess(1), b"\xff\xfe"], "guess", 2, "UTF-8"),
        ([gold("1")], [guess("1"), b'{"id": "2", "output": ['], "guess", 2, "not JSON"),
        ([gold(1), b'{"id": 2, "meta": "\xff"}'], [guess(1)], "gold", 2, "UTF-8"),
        ([gold(1), b""], [guess(1)], "gold", 2, "blank"),
        ([gold(1), b"{"], [guess(1)], "gold", 2, "not JSON"),
        ([gold(1), {"input": "q"}], [guess(1)], "gold", 2, "no id"),
        ([gold(1), gold(2)], [guess(1)], "gold", 2, "no prediction"),
        ([gold(1), gold(" 1")], [guess(1)], "gold", 2, "twice"),
        ([gold(1)], [guess(1), guess("1")], "guess", 2, "twice"),
        ([gold(1)], [{"id": 1}], "guess", 1, "no output"),
        ([gold(1)], [{"id": 1, "output": {"provenance": []}}], "guess", 1, "not a KILT record"),
        ([gold(1)], [{"id": 1, "output": [{"answer": "x", "provenance": None}]}], "guess", 1, "KILT"),
        ([gold(1, output=[])], [guess(1)], "gold", 1, "empty output"),
        ([{"id": 1, "input": "q"}], [guess(1)], "gold", 1, "no output"),
        ([gold(1, answer=5)], [guess(1)], "gold", 1, "is not text"),  # type: ignore[arg-type]
        ([gold(1, answer="")], [guess(1)], "gold", 1, "no answer"),
        ([gold(1)], [{"id": 1, "output": guess(1)["output"] * 2}], "guess", 1, "2 outputs"),
        ([gold(1)], [guess(1, "x", [{"wikipedia_id": "1", "text": 5}])], "guess", 1, "not text"),
        ([b'{"id": "1", "id": "2", "input": "q", "output": []}'], [guess(1)], "gold", 1, "empty"),
    ],
)
def test_a_bad_record_is_named_with_file_and_line(
    files: Files, golds: Lines, guesses: Lines, file: str, line: int, said: str
) -> None:
    error = files.refused(golds, guesses)
    assert error.file == str(getattr(files, file))
    assert error.line == line
    assert said in error.message
    skipped = files.score(golds, guesses, on_error="skip").problems
    assert [(p.file, p.line) for p in skipped if said in p.reason] == [(error.file, line)]


def test_a_missing_prediction_that_is_skipped_counts_as_wrong(files: Files) -> None:
    result = files.score([gold(1), gold(2)], [guess(1)], on_error="skip")
    assert result.downstream is not None and result.downstream["em"] == 0.5
    assert result.retrieval is not None and result.retrieval["Rprec"] == 0.5


def test_bad_gold_that_is_skipped_is_left_out_of_the_means(files: Files) -> None:
    result = files.score(
        [gold(1), gold(2, output=[]), gold(3, answer="")], [guess(1), guess(2), guess(3)], on_error="skip"
    )
    assert result.records == {"gold": 3, "downstream": 1, "retrieval": 2}
    assert result.downstream is not None and result.downstream["em"] == 1.0
    rows = result.rows()
    assert rows[1]["em"] is None and rows[1]["Rprec"] is None
    assert rows[2]["em"] is None and rows[2]["Rprec"] == 1.0


def test_rankings_of_a_retriever_are_scored_without_answers(files: Files) -> None:
    ranking = {"id": 1, "output": [{"provenance": [{"wikipedia_id": "1"}]}, {"answer": "x"}]}
    result = files.score([gold(1)], [ranking])
    assert result.downstream is None and result.kilt is None
    assert result.retrieval is not None and result.retrieval["Rprec"] == 1.0
    assert codes(result) == {"several_outputs": 1}


def test_one_ranking_without_an_answer_among_others_is_an_error(files: Files) -> None:
    ranking = {"id": 2, "output": [{"provenance": [{"wikipedia_id": "1"}]}]}
    error = files.refused([gold(1), gold(2)], [guess(1), ranking])
    assert error.line == 2 and error.ids == ["id 2"]


def test_no_provenance_scores_no_retrieval_and_says_so(files: Files) -> None:
    result = files.score([gold(1)], [{"id": 1, "output": [{"answer": "x"}]}])
    assert result.retrieval is not None and result.retrieval["Rprec"] == 0.0
    assert codes(result) == {"no_provenance": 1}


def test_what_python_reads_as_json_is_read(files: Files) -> None:
    line = b'{"id": 1, "score": NaN, "output": [{"answer": "\\ud800", "provenance": []}]}'
    assert files.score([gold(1)], [line]).downstream is not None


def test_texts_are_searched_for_answers_and_titles(files: Files) -> None:
    texts = [
        {"wikipedia_id": "8", "text": "Nothing here."},
        {"wikipedia_id": "8", "text": "An x-ray"},
        {"wikipedia_id": "1", "text": "TITLE 1: x"},
    ]
    record = gold(1, input="What is in 'Title 1'?")
    settings = KiltSettings(ks=(1, 2, 3))
    result = files.score([record], [guess(1, "x", texts)], settings=settings).retrieval
    assert result is not None
    assert [result[f"answer_in_context@{k}"] for k in (1, 2, 3)] == [0, 1, 1]
    assert [result[f"entity_in_context@{k}"] for k in (1, 2, 3)] == [0, 0, 1]
    assert [result[f"answer_and_ent_in_context@{k}"] for k in (1, 2, 3)] == [0, 0, 1]
    assert result["entity_in_input"] == 1.0
    assert "recall@1" not in result and result["recall@2"] == 1.0


@pytest.mark.parametrize(
    ("pages", "code"),
    [
        ([{"wikipedia_id": "1", "score": "0.1"}, {"wikipedia_id": "2", "score": "0.9"}], "ascending_scores"),
        (
            [{"wikipedia_id": p, "score": s} for p, s in zip("123", (2, 3, 1), strict=True)],
            "unordered_scores",
        ),
        (["1", "2", "1"], "duplicate_pages"),
        ([1, 2], "page_id_type"),
        (["None", "1"], "none_page"),
        ([{"title": "T"}, "1"], "missing_key"),
    ],
)
def test_the_submission_check_finds_it(files: Files, pages: Lines, code: str) -> None:
    result = files.score([gold(1), gold(2)], [guess(1), guess(2, "x", pages)])
    assert codes(result) == {code: 1}
    assert result.findings[0].examples == ("2",)


def test_ordinary_predictions_raise_no_suspicion(files: Files) -> None:
    pages = [{"wikipedia_id": str(n), "score": 1 / n} for n in range(1, 5)]
    result = files.score([gold(1, page=7), gold(2)], [guess(2, "x", pages), guess(1, "x", [7])])
    assert codes(result) == {}


def test_extra_predictions_are_left_out_and_said(files: Files) -> None:
    result = files.score([gold(1)], [guess(1), guess("b"), guess("a")])
    assert result.findings[0].code == "extra_prediction"
    assert result.findings[0].examples == ("b", "a")


def test_compressed_files_are_read(files: Files, tmp_path: Path) -> None:
    plain = files.score([gold(1)], [guess(1)])
    for path in (files.gold, files.guess):
        path.with_suffix(".gz").write_bytes(gzip.compress(path.read_bytes()))
    packed = evaluate(tmp_path / "gold.gz", tmp_path / "guess.gz")
    assert packed.downstream == plain.downstream and packed.retrieval == plain.retrieval
    (tmp_path / "guess.gz").write_bytes((tmp_path / "guess.gz").read_bytes()[:-12])
    with pytest.raises(BadInput, match="damaged"):
        evaluate(tmp_path / "gold.gz", tmp_path / "guess.gz")


def test_pipes_are_read(files: Files, tmp_path: Path) -> None:
    plain = files.score([gold(1)], [guess(1)])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    packed = gzip.compress(files.guess.read_bytes())
    with ThreadPoolExecutor(1) as writer:
        written = writer.submit(pipe.write_bytes, packed)
        assert evaluate(files.gold, pipe).downstream == plain.downstream
        assert written.result() == len(packed)


def test_pipes_that_are_silent_or_endless_are_refused(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.score([gold(1)], [guess(1)])
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setattr(kilt_evaluate, "_SILENCE", 0.2)
    with pytest.raises(BadInput, match="nothing came through this pipe"):
        evaluate(files.gold, pipe)
    monkeypatch.setattr(kilt_evaluate, "_SILENCE", 30.0)
    monkeypatch.setattr(kilt_evaluate, "_MOST_PIPED", 1 << 20)
    with ThreadPoolExecutor(1) as writer:
        written = writer.submit(pipe.write_bytes, b"a" * (8 << 20))
        with pytest.raises(BadInput, match="no end after 1,"):
            evaluate(files.gold, pipe)
        with pytest.raises(BrokenPipeError):
            written.result()


def test_files_without_records_and_files_that_are_not_there(files: Files, tmp_path: Path) -> None:
    assert "no record" in files.refused([], [guess(1)]).message
    with pytest.raises(Missing):
        evaluate(tmp_path / "gold.jsonl", tmp_path / "nothing.jsonl")


def test_processes_do_not_change_the_numbers(files: Files) -> None:
    """In a process of its own, because one with threads does not fork."""
    records = 2 * kilt_evaluate.BLOCK + 3
    golds = [gold(n, f"a{n % 5} b", str(n % 9)) for n in range(records)]
    guesses = [guess(n, f"a{n % 4}", [str(n % p) for p in (2, 3, 9)]) for n in range(records)]
    one = files.score(golds, guesses[::-1], workers=1)

    command = [sys.executable, "-m", "whichone", "score", "kilt", str(files.guess), str(files.gold)]
    two = subprocess.run([*command, "--workers", "2", "--json"], capture_output=True, check=True)
    assert json.loads(two.stdout) == json.loads(json.dumps(one.document()))

    files.guess.write_bytes(files.guess.read_bytes().replace(b'"id": 4001, "output"', b'"id": 4001, "x"'))
    two = subprocess.run([*command, "--workers", "2"], capture_output=True)
    assert two.returncode == 3 and b"(id 4001)" in two.stderr


def test_only_one_part(files: Files) -> None:
    record = {key: value for key, value in gold(1).items() if key != "input"}
    result = files.score([record], [guess(1)], settings=KiltSettings(only="downstream"))
    assert result.retrieval is None and result.downstream is not None
    assert all(math.isfinite(column[0]) for column in result.columns.values())
    assert "Rprec" not in result.columns
    result = files.score([gold(1, "")], [guess(1)], settings=KiltSettings(only="retrieval"))
    assert result.downstream is None and result.retrieval is not None
