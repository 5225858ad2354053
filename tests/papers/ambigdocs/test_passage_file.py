"""`psgs_w100.tsv`: two readers that disagree, each as it is."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from whichone.errors import BadInput
from whichone.papers.ambigdocs.import_ambigdocs import read_passage_file

ROWS = 'id\ttext\ttitle\n1\t"Aaron ( or ; ""Ahärôn"") is a prophet"\tAaron\n2\tplain text\tB\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "psgs.tsv").write_text(ROWS)
    return tmp_path / "psgs.tsv"


def test_as_dpr(file: Path) -> None:
    rows = [(r.pid, r.text, r.title) for r in read_passage_file(file)]
    assert rows == [("1", 'Aaron ( or ; "Ahärôn") is a prophet', "Aaron"), ("2", "plain text", "B")]


def test_as_entityquestions(file: Path) -> None:
    rows = [(r.pid, r.text, r.title) for r in read_passage_file(file, "entityquestions")]
    assert rows == [
        ("id", "ex", "title"),
        ("1", 'Aaron ( or ; ""Ahärôn"") is a prophet', "Aaron"),
        ("2", "lain tex", "B"),
    ]


def test_golden_passages(shared: Path, tmp_path: Path) -> None:
    golden = json.loads((shared / "golden/entityquestions/bm25_passages.json").read_text())
    path = tmp_path / "psgs.tsv"
    path.write_text("\n".join(golden["tsv_rows"]) + "\n")
    rows = list(read_passage_file(path, "entityquestions"))
    expect = golden["expect"]
    assert len(rows) == expect["n_passages"]
    contents = [f"{r.title} {r.text}" for r in rows]  # what EntityQuestions' BM25 indexes
    assert [len(text) for text in contents] == expect["contents_lengths"]
    hashes = [hashlib.sha256(text.encode()).hexdigest() for text in contents]
    assert hashes == expect["contents_sha256"]
    assert [len(r.title) for r in rows] == expect["title_lengths"]
    texts = [text[len(r.title) :].strip() for r, text in zip(rows, contents, strict=True)]
    assert [len(text) for text in texts] == expect["extracted_text_lengths"]


@pytest.mark.parametrize("rules", ["dpr", "entityquestions"])
@pytest.mark.parametrize("bad", [b"1\tonly two\n", b"1\t\xff\tA\n"])
def test_bad_rows_are_named(tmp_path: Path, rules: str, bad: bytes) -> None:
    path = tmp_path / "bad.tsv"
    path.write_bytes(b"id\ttext\ttitle\n" + bad)
    with pytest.raises(BadInput) as raised:
        list(read_passage_file(path, rules))  # type: ignore[arg-type]
    assert raised.value.line == 2 or "utf-8" in str(raised.value)
