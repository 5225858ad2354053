"""The retriever as a whole: all bearers, the fitting one first, and why."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whichone
from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError
from whichone.records import Question, page_of
from whichone.retrieval.namesake import NamesakeRetriever
from whichone.retrieval.namesake import retriever as namesake_retriever
from whichone.retrieval.namesake.evidence import Evidence
from whichone.retrieval.namesake.questions_asked import reordered
from whichone.retrieval.namesake.sentences import split_sentences
from whichone.runs.retrieve import make_retriever


def make(benchmark: Benchmark, tmp_path: Path, **options: Any) -> NamesakeRetriever:
    return NamesakeRetriever.over(benchmark.corpus, tmp_path / "work", **{"encoder": "none", **options})


def titles(retriever: NamesakeRetriever, text: str, k: int = 5) -> list[str]:
    (ranking,) = retriever.search([Question(id="q", text=text)], k)
    return [page_of(passage).removeprefix("t:") for passage in ranking.passages]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Who was the director of Dark River?", "Dark River (1990 film)"),
        ("Who performed Dark River?", "Dark River (song)"),
        ("In what city was John Bell born?", "John Bell (surgeon)"),
        ("What is the religion of John Bell?", "John Bell (bishop)"),
        ("Who was Grey's Anatomy created by?", "Grey's Anatomy"),
        ("Which town has many surgeons?", "Edinburgh"),
        ("In what country is Raymond located?", "Raymond, Maine"),
        ("Where did the old physician study?", "John Bell (surgeon)"),
    ],
)
def test_the_fitting_bearer_comes_first(benchmark: Benchmark, tmp_path: Path, text: str, first: str) -> None:
    assert titles(make(benchmark, tmp_path), text)[0] == first


def test_every_bearer_is_among_the_first(benchmark: Benchmark, tmp_path: Path) -> None:
    found = titles(make(benchmark, tmp_path), "Who performed Dark River?", 2)
    assert set(found) == {"Dark River (song)", "Dark River (1990 film)"}


def test_questions_about_two_keep_both(benchmark: Benchmark, tmp_path: Path) -> None:
    found = titles(make(benchmark, tmp_path), "Are Daryl Hall and Gerry Marsden both musicians?", 2)
    assert set(found) == {"Daryl Hall", "Gerry Marsden"}


def test_a_claim_is_about_what_has_the_relation(benchmark: Benchmark, tmp_path: Path) -> None:
    text = "Daryl Hall is the director of Dark River."
    assert titles(make(benchmark, tmp_path), text)[0] == "Dark River (1990 film)"


def test_it_says_why(benchmark: Benchmark, tmp_path: Path) -> None:
    retriever = make(benchmark, tmp_path)
    (ranking,) = retriever.search([Question(id="q", text="Who performed Dark River?")], 5)
    (name,) = ranking.notes["names"]
    assert name["bearers"] == 2
    assert ranking.notes["asks"] == ["performer"]
    first, second = name["candidates"]
    assert first["title"] == "Dark River (song)"
    assert any("song" in reason for reason in first["for"])
    assert any("film" in reason for reason in second["against"])
    assert first["score"] == pytest.approx(sum(first["evidence"].values()), abs=1e-3)


def test_no_name_is_said_and_answered_by_words(benchmark: Benchmark, tmp_path: Path) -> None:
    retriever = make(benchmark, tmp_path)
    (ranking,) = retriever.search([Question(id="q", text="which town has many surgeons?")], 5)
    assert ranking.notes["names"] == []
    assert ranking.passages[0] == "t:Edinburgh#0"


@pytest.mark.parametrize("text", ["", "?", "zzz yyy", "the of", "Dark River " * 9_000])
def test_odd_questions(benchmark: Benchmark, tmp_path: Path, text: str) -> None:
    (ranking,) = make(benchmark, tmp_path).search([Question(id="q", text=text)], 5)
    assert len(ranking.passages) == len(set(ranking.passages)) <= 5
    assert list(ranking.scores) == sorted(ranking.scores, reverse=True)


def test_a_marked_mention_is_the_name(benchmark: Benchmark, tmp_path: Path) -> None:
    question = Question(id="q", text="Did Daryl Hall perform Dark River, the song?", mention="Dark River")
    (ranking,) = make(benchmark, tmp_path).search([question], 5)
    assert [name["name"] for name in ranking.notes["names"]] == ["Dark River"]


class ClosenessByLetters:
    """An encoder for tests: how often each letter occurs, and a word that means a sentence."""

    size = 27

    def describe(self) -> dict[str, Any]:
        return {"encoder": "letters", "size": self.size}

    def questions(self, texts: Sequence[str]) -> Any:
        rows = np.zeros((len(texts), self.size), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for letter in text.lower():
                if letter.isascii() and letter.isalpha():
                    row[ord(letter) - 97] += 1
            row[:26] /= max(1.0, float(np.linalg.norm(row[:26]))) * 10
            row[26] = float("henry viii" in text.lower() or "monarch" in text.lower())
        return rows

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Any:
        return self.questions([f"{t} {x}" for t, x in zip(titles, texts, strict=True)])


@pytest.mark.parametrize("encode", ["bearers", "all"])
def test_the_closest_sentence_decides(
    benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encode: str
) -> None:
    text = "Which monarch knew John Bell?"
    monkeypatch.setattr(namesake_retriever, "find_encoder", lambda told, device=None: ClosenessByLetters())
    retriever = NamesakeRetriever.over(benchmark.corpus, tmp_path / "work", encode=encode)
    assert titles(retriever, text)[0] == "John Bell (bishop)"
    assert retriever.describe()["model"]["encoder"] == "letters"
    (ranking,) = retriever.search([Question(id="q", text=text)], 5)
    assert any("Henry VIII" in why for why in ranking.notes["names"][0]["candidates"][0]["for"])


def test_sentences_are_encoded_once(
    benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = ClosenessByLetters()
    encoded: list[str] = []
    passages = encoder.passages
    monkeypatch.setattr(encoder, "passages", lambda t, texts: (encoded.extend(texts), passages(t, texts))[1])
    monkeypatch.setattr(namesake_retriever, "find_encoder", lambda told, device=None: encoder)
    question = Question(id="q", text="Who performed Dark River?")

    def ask() -> Any:
        retriever = make(benchmark, tmp_path, encoder="letters")
        (ranking,) = retriever.search([question], 5)
        retriever.close()
        return ranking

    first = ask()
    # the sentences of both John Bells and both Dark Rivers, and Raymond in Maine beside the film
    assert len(encoded) == len(set(encoded)) > 4
    before = len(encoded)
    assert ask() == first and len(encoded) == before


def test_unknown_options_are_refused(benchmark: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no option 'encodr'.*\n.*did you mean encoder"):
        make_retriever("namesake", benchmark, tmp_path, {"encodr": "none"})
    with pytest.raises(UsageError):
        make_retriever("namesake", benchmark, tmp_path, {"encoder": "none", "popularity": "-1"})


def test_the_description_holds_everything_that_counts(benchmark: Benchmark, tmp_path: Path) -> None:
    told = make(benchmark, tmp_path, pool=7).describe()
    assert told["retriever"] == "namesake"
    assert told["pool"] == 7
    assert told["popularity"] == 0.0
    assert told["encoder"] == "none"
    assert told["bm25"]["k1"] == 0.9


def test_members_of_a_group_keep_the_groups_places() -> None:
    group = [Evidence("b", [7]), Evidence("a", [3])]
    assert reordered([1, 3, 5, 7, 9], [group]) == [1, 7, 5, 3, 9]


def test_sentences() -> None:
    assert split_sentences('He was born. "She" left! J. did? End') == [
        "He was born.",
        '"She" left!',
        "J. did?",
        "End",
    ]
    assert split_sentences("  ") == []


@pytest.mark.slow
def test_the_same_bits_whatever_the_hash_seed(benchmark: Benchmark, tmp_path: Path) -> None:
    """Sums over words must not go in the order of a set, which differs from process to process."""
    program = """
import sys
from pathlib import Path
from whichone.benchmarks.benchmark import Benchmark
from whichone.retrieval.namesake import NamesakeRetriever
namesake = NamesakeRetriever.over(Benchmark.open(sys.argv[1]).corpus, Path(sys.argv[2]), encoder="none")
print(namesake.index.lexical.worth("American film singer Dark River television band born Edinburgh town"))
"""
    place = [str(benchmark.folder.root), str(tmp_path / "index")]
    found = {
        subprocess.run(
            [sys.executable, "-c", program, *place],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3", "4")
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Ada Park plays for the team Leeds Rovers.", "ada"),
        ("Ada Park was praised by Ben Hill.", "ada"),
        ("Ada Park is a fictional character in Dark River.", "ada"),
        ("Dark River features the fictional character Ada Park.", "ada"),
        ("Ben Hill is the director of Dark River.", "river"),
        ("Ben Hill directed Dark River.", "river"),
        ("Dark River's director is Ben Hill.", "river"),
    ],
)
def test_a_claim_is_about_its_subject(text: str, meant: str) -> None:
    records = [
        {"id": "ada", "title": "Ada Park", "text": "Ada Park (born 1970) is a football player."},
        {"id": "ada2", "title": "Ada Park (nurse)", "text": "Ada Park was a nurse in Turin."},
        {"id": "ben", "title": "Ben Hill", "text": "Ben Hill (born 1950) is a director and critic."},
        {"id": "ben2", "title": "Ben Hill (swimmer)", "text": "Ben Hill was a swimmer of Dover."},
        {"id": "river", "title": "Dark River", "text": "Dark River is a 1990 film."},
        {"id": "river2", "title": "Dark River (song)", "text": "Dark River is a song."},
        {
            "id": "team",
            "title": "Leeds Rovers",
            "text": "Leeds Rovers is a football club. Its team plays for Leeds.",
        },
    ]
    believed = whichone.Namesake.over(records, encoder="none").resolve(text)
    assert meant in [bearer.id for bearer in believed.bearers]
