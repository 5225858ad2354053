"""`corpus`, `index`, `search` and `retrieve --index`, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.cli import whichone
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput

PASSAGES = [
    {"id": "7", "title": "Jo Mill (nurse)", "text": "Jo Mill is a nurse at the harbour clinic."},
    {"id": "3", "title": "Jo Mill (pilot)", "text": "Jo Mill is a pilot and flies the mail."},
    {"id": "5", "title": "Harbour clinic", "text": "The clinic at the harbour has twelve beds."},
    {"id": "9", "title": "Harbour clinic", "text": "It was built in 1931."},
]


def typed(*words: object) -> str:
    done = CliRunner().invoke(whichone, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    file = tmp_path / "passages.jsonl"
    file.write_text("".join(json.dumps(p) + "\n" for p in PASSAGES))
    typed("corpus", file, tmp_path / "corpus")
    return tmp_path / "corpus"


def test_a_file_of_passages(corpus: Path) -> None:
    opened = Corpus.open(corpus)
    assert len(opened) == 4
    assert opened.titles() == {
        "corpus:Harbour clinic": "Harbour clinic",
        "corpus:Jo Mill (nurse)": "Jo Mill (nurse)",
        "corpus:Jo Mill (pilot)": "Jo Mill (pilot)",
    }
    assert opened.passages_of("corpus:Harbour clinic") == [
        "corpus:Harbour clinic#0",
        "corpus:Harbour clinic#1",
    ]
    assert opened.by_source_id(["3"]) == opened.rows(["corpus:Jo Mill (pilot)#0"])
    assert len({b.page for b in opened.names.bearers("Jo Mill")}) == 2


@pytest.mark.parametrize("name", ["psgs_w100.tsv", "passages.csv"])
def test_tables_of_passages_are_the_same_corpus(corpus: Path, tmp_path: Path, name: str) -> None:
    mark = "\t" if name.endswith(".tsv") else ","
    rows = [["id", "text", "title"], *([p["id"], p["text"], p["title"]] for p in PASSAGES)]
    (tmp_path / name).write_text("".join(mark.join(row) + "\n" for row in rows))
    typed("corpus", tmp_path / name, tmp_path / "again")
    assert Corpus.open(tmp_path / "again").hash == Corpus.open(corpus).hash


def test_a_beir_folder(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "beir").mkdir()
    lines = [json.dumps({"_id": p["id"], "title": p["title"], "text": p["text"]}) for p in PASSAGES]
    (tmp_path / "beir" / "corpus.jsonl").write_text("\n".join(lines))
    document = json.loads(typed("corpus", tmp_path / "beir", tmp_path / "again", "--json"))
    assert document["passages"] == 4
    assert document["hash"] == Corpus.open(corpus).hash


@pytest.mark.parametrize("retriever", ["bm25", "tfidf", "namesake", "title-lookup"])
def test_an_index_is_complete_in_its_folder(
    corpus: Path, tmp_path: Path, retriever: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["-o", "encoder=none"] if retriever == "namesake" else []
    typed("index", corpus, tmp_path / "index", "--retriever", retriever, *options)
    (tmp_path / "index").rename(tmp_path / "copied")
    for file in corpus.iterdir():
        file.unlink()
    corpus.rmdir()
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "another machine"))
    asked = "Jo Mill (pilot) [SEP] works" if retriever == "title-lookup" else "Who flies the mail?"
    document = json.loads(typed("search", tmp_path / "copied", asked, "-k", "2", "--json"))
    assert document["results"][0]["title"] == "Jo Mill (pilot)"


def test_evidence_is_shown(corpus: Path, tmp_path: Path) -> None:
    typed("index", corpus, tmp_path / "i", "--retriever", "namesake", "-o", "encoder=none")
    shown = typed("search", tmp_path / "i", "Which clinic does Jo Mill work at as a nurse?", "-k", 1)
    assert "Jo Mill: 2 pages with this name" in shown
    assert "Jo Mill (nurse)" in shown.splitlines()[0]


def test_a_run_over_one_finished_index(corpus: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps({"question": "Who flies the mail?", "gold": ["3"]}) + "\n")
    bench = tmp_path / "bench"
    typed("import", "questions", questions, bench, "--corpus", corpus, "--gold", "gold")
    typed("index", corpus, tmp_path / "index")
    typed("retrieve", bench, tmp_path / "run", "--index", tmp_path / "index", "-k", 2)
    assert "bm25" in typed("score", tmp_path / "run", "--measures", "acc@1")
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps(PASSAGES[0]) + "\n")
    typed("corpus", other, tmp_path / "other")
    typed("index", tmp_path / "other", tmp_path / "wrong")
    done = CliRunner().invoke(
        whichone, ["retrieve", str(bench), str(tmp_path / "r2"), "--index", str(tmp_path / "wrong")]
    )
    assert isinstance(done.exception, BadInput)
    assert "another corpus" in str(done.exception)
