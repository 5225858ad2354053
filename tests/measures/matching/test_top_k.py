"""Top-k accuracy of results files: by hand, as released, whatever way the file is written."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from whichone.errors import BadInput, Missing, UsageError
from whichone.files import json_records
from whichone.papers.entityquestions import top_k as labelling
from whichone.papers.entityquestions.commands import score_entityquestions_command
from whichone.papers.entityquestions.top_k import Labels, label_files, relation_names, result_files, top_k

PUBLISHED = {
    "string": "entityquestions",
    "string_title": "string-title",
    "title": "title",
    "has_answer": "has-answer",
}


def ctx(text: str, title: str = "t", **more: Any) -> dict[str, Any]:
    return {"id": "1", "title": title, "text": text, "score": "80.5", "has_answer": False, **more}


def result(answer: str, *texts: str) -> dict[str, Any]:
    return {"question": "q?", "answers": [answer], "ctxs": [ctx(text) for text in texts]}


def write(path: Path, results: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(results), encoding="utf-8")
    return path


def only_file(path: Path, matcher: str = "dpr", **more: Any) -> list[Labels]:
    ((_, labels),) = label_files([path], matcher=matcher, **more)
    return labels


def test_macro_and_micro_by_hand() -> None:
    hit, late, miss = Labels("a", 3, (0, 2)), Labels("b", 3, (2,)), Labels("c", 0, ())
    scores = top_k({"P1": [hit], "P2": [late, miss, miss]}, [1, 3, 100])
    assert scores.relations == {
        "P1": {"1": 1.0, "3": 1.0, "100": 1.0},
        "P2": {"1": 0.0, "3": 1 / 3, "100": 1 / 3},
    }
    assert scores.macro == {"1": 0.5, "3": 2 / 3, "100": 2 / 3}
    assert scores.micro == {"1": 0.25, "3": 0.5, "100": 0.5}


def test_as_released(shared: Path, tmp_path: Path) -> None:
    golden = json.loads((shared / "golden/entityquestions/topk.json").read_text())
    depths = golden["k_values"]
    assert golden["files"]
    for number, file in enumerate(golden["files"]):
        path = write(tmp_path / f"{number}.json", file["results"])
        for published, name in PUBLISHED.items():
            by_k = top_k({"r": only_file(path, name, empty_answers="match")}, depths).relations["r"]
            expected = {k: v or 0.0 for k, v in file["expect"][published].items()}
            assert by_k == pytest.approx(expected), (number, name)
        hits = [[rank for rank, hit in enumerate(row) if hit] for row in file["dpr_hits"]]
        assert [list(q.hits) for q in only_file(path, empty_answers="match")] == hits


@pytest.mark.parametrize("layout", ["plain", "indented", "lines", "gz", "ids-first", "ctxs-first"])
def test_every_layout_and_cut_gives_the_same(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = [result("oslo", "x" * n, "in Oslo" if n % 3 else "no", "oslo") for n in range(200)]
    expected = [(1, 2) if n % 3 else (2,) for n in range(200)]
    path = tmp_path / "P1.json"
    if layout == "ids-first":
        results = [{"id": n, **r} for n, r in enumerate(results)]
    if layout == "ctxs-first":
        results = [{"ctxs": r.pop("ctxs"), **r} for r in results]
    text = json.dumps(results, indent=2 if layout == "indented" else None)
    if layout == "lines":
        text = "\n".join(map(json.dumps, results)) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if layout == "gz" else text.encode())
    monkeypatch.setattr(labelling, "SMALL", 0)
    pieces = list(json_records.parts(path, 4000))
    assert len(pieces) > 5
    assert sum(len(json.loads(bytes(piece.array()))) for piece in pieces) == 200
    assert [q.hits for q in only_file(path, workers=2)] == expected


def test_wrong_cuts_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passages that look like results: the guess fails, the file is read whole."""
    results = [
        {
            "id": n,
            "question": "q?",
            "ctxs": [{"id": m, "title": "", "text": "oslo", "tags": []} for m in range(30)],
            "answers": ["oslo"],
            "more": {},
        }
        for n in range(20)
    ]
    path = write(tmp_path / "P1.json", results)
    original = json_records.parts
    monkeypatch.setattr("whichone.papers.entityquestions.top_k.parts", lambda p: original(p, 700))
    labels = only_file(path)
    assert [(q.passages, len(q.hits)) for q in labels] == [(30, 30)] * 20


def test_numbers_python_writes_are_read(tmp_path: Path) -> None:
    row = result("oslo", "oslo")
    row["ctxs"][0]["score"] = float("nan")
    assert only_file(write(tmp_path / "P1.json", [row]))[0].hits == (0,)


@pytest.mark.parametrize("content", ["[]", "", "  \n"])
def test_an_empty_file_is_an_error(content: str, tmp_path: Path) -> None:
    path = tmp_path / "P1.json"
    path.write_text(content)
    with pytest.raises(BadInput, match=r"P1\.json"):
        only_file(path)


@pytest.mark.parametrize(
    "content", ['[{"question": "q", "answers": ["a"], "ctxs": [{"text": "a"}]}', "[1, 2]", "x", "3"]
)
def test_a_damaged_file_is_named(content: str, tmp_path: Path) -> None:
    path = tmp_path / "P1.json"
    path.write_text(content)
    with pytest.raises(BadInput, match=r"P1\.json"):
        only_file(path)


def test_a_cut_off_gzip_is_named(tmp_path: Path) -> None:
    path = tmp_path / "P1.json.gz"
    path.write_bytes(gzip.compress(json.dumps([result("a", "a")] * 50).encode())[:-20])
    with pytest.raises(BadInput, match="P1"):
        only_file(path)


def test_an_answer_without_tokens_is_named_and_can_be_allowed(tmp_path: Path) -> None:
    path = write(tmp_path / "P1.json", [result("a", "a"), result("\u200b", "x", "y")])
    with pytest.raises(BadInput, match=r"P1\.json: question 1 \(from 0\), 'q\?'.*no tokens"):
        only_file(path)
    assert only_file(path, empty_answers="match")[1].hits == (0, 1)


def test_a_missing_flag_is_named(tmp_path: Path) -> None:
    row = result("a", "a")
    del row["ctxs"][0]["has_answer"]
    with pytest.raises(BadInput, match="question 0"):
        only_file(write(tmp_path / "P1.json", [row]), "has-answer")


def test_names_of_files() -> None:
    paths = [Path("x/P106.test.json"), Path("P19_similar.dev.json.gz"), Path("run.jsonl")]
    assert relation_names(paths) == ["P106", "P19_similar", "run"]
    buckets = [Path("P19/bucket0.test.json"), Path("P170/bucket0.test.json")]
    assert relation_names(buckets) == ["P19/bucket0", "P170/bucket0"]
    with pytest.raises(UsageError, match="2 files"):
        relation_names([Path("a/P1.json"), Path("a/P1.json.gz")])


def test_files_come_by_base_name_and_folders_are_opened(tmp_path: Path) -> None:
    (tmp_path / "z").mkdir()
    first, second = write(tmp_path / "z" / "P1.json", []), write(tmp_path / "P2.json", [])
    assert result_files([second, tmp_path / "z"]) == [first, second]
    with pytest.raises(Missing, match="P3"):
        result_files([tmp_path / "P3.json"])


def test_the_command(tmp_path: Path) -> None:
    one = write(tmp_path / "P1.test.json", [result("oslo", "x", "Oslo")])
    two = write(tmp_path / "P2.test.json", [result("oslo", "x"), result("oslo", "oslo")])
    rows = tmp_path / "rows.jsonl"
    run = CliRunner().invoke(
        score_entityquestions_command, [str(two), str(one), "-k", "1,2", "--json", "--per-query", str(rows)]
    )
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout) == {
        "relations": {"P1": {"1": 0.0, "2": 1.0}, "P2": {"1": 0.5, "2": 0.5}},
        "macro": {"1": 0.25, "2": 0.75},
        "micro": {"1": 1 / 3, "2": 2 / 3},
    }
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [(r["relation"], r["index"], r["first_hit"], r["hits"]) for r in lines] == [
        ("P1", 0, 2, [2]),
        ("P2", 0, None, []),
        ("P2", 1, 1, [1]),
    ]
