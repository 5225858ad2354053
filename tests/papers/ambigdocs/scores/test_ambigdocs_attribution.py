"""Whose answer is whose: records of one title, answers inside others, and systems that search for themselves."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.cli import whichone
from whichone.papers.ambigdocs.ambigdocs_files import AmbigQuestion, BearerDocument, Prediction
from whichone.papers.ambigdocs.categories import DEFAULT, PUBLISHED
from whichone.papers.ambigdocs.score_answer import score_prediction
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query
from whichone.runs.read import as_reader, run_reader
from whichone.runs.shown import setting_for


def document(title: str, answer: str, text: str = "", pid: str = "1") -> BearerDocument:
    return BearerDocument(title=title, text=text, pid=pid, answer=answer)


def score(said: str, *documents: BearerDocument, name: str = "Ada Park", rules=DEFAULT):
    question = AmbigQuestion(
        qid="q", ambiguous_entity=name, question=f"Where is {name}?", documents=documents
    )
    return score_prediction(Prediction(question=question, gen_answer=said), rules)


CATALOGUE = (
    document("Ada Park", "Oslo", "Ada Park works in sales and sits in Oslo.", "1"),
    document("Ada Park", "Turin", "Ada Park works in legal and sits in Turin.", "2"),
)


@pytest.mark.parametrize(
    ("said", "category"),
    [
        ("The answer for Ada Park is Oslo and Turin.", "merged"),
        ("Ada Park is in Oslo.", "ambiguous"),
        ("Ada Park of sales is in Oslo, Ada Park of legal is in Turin.", "complete"),
        ("The one in sales is in Oslo. The one in legal is in Turin.", "complete"),
        ("Oslo (sales) and Turin (legal).", "complete"),
        ("Ada Park of legal is in Oslo, Ada Park of sales is in Turin.", "merged"),
        ("Ada Park of sales is in Oslo.", "partial"),
        ("Nobody knows.", "no answer"),
    ],
)
def test_records_of_one_title(said: str, category: str) -> None:
    assert score(said, *CATALOGUE).category == category


def test_the_published_rules_are_left_as_they_are() -> None:
    said = "The answer for Ada Park is Oslo and Turin."
    assert score(said, *CATALOGUE, rules=PUBLISHED).category == "complete"


MUSICIANS = (document("Ada Park (singer)", "musician"), document("Ada Park (trombonist)", "jazz musician"))


@pytest.mark.parametrize(
    ("said", "category", "hits"),
    [
        ("Ada Park the trombonist is a jazz musician.", "partial", 0.5),
        ("Ada Park the singer is a musician.", "partial", 0.5),
        ("The singer is a musician, the trombonist a jazz musician.", "complete", 1.0),
        ("Ada Park is a musician.", "ambiguous", 0.5),
    ],
)
def test_an_answer_inside_another(said: str, category: str, hits: float) -> None:
    found = score(said, *MUSICIANS)
    assert (found.category, found.str_em) == (category, hits)


def test_the_plain_title_is_not_named_by_a_longer_one() -> None:
    towns = (document("Cambridge", "123,867"), document("Cambridge, Massachusetts", "105,162"))
    said = "Cambridge, Massachusetts has 105,162 people; another 123,867."
    assert score(said, *towns, name="Cambridge").category == "merged"
    both = "Cambridge has 123,867 people and Cambridge, Massachusetts 105,162."
    assert score(both, *towns, name="Cambridge").category == "complete"


@pytest.fixture
def staff(tmp_path: Path) -> Benchmark:
    passages = [
        Passage(id=f"c:{n}#0", page=f"c:{n}", title="Ada Park", text=d.text) for n, d in enumerate(CATALOGUE)
    ]
    outputs = tuple(
        Output(
            answer=d.answer, entity=f"e{n}",
            provenance=((Provenance(page=f"c:{n}", passage=f"c:{n}#0", title="Ada Park"),),),
        )
        for n, d in enumerate(CATALOGUE)
    )  # fmt: skip
    bearers = tuple(Bearer(entity=f"e{n}", label="Ada Park", pages=(f"c:{n}",)) for n in range(2))
    query = Query(
        id="q", task="ambigdocs", input="Where is Ada Park?", name="Ada Park", name_set="s",
        outputs=outputs,
    )  # fmt: skip
    sets = [NameSet(id="s", name="Ada Park", collection="ambigdocs", bearers=bearers)]
    return save_benchmark(tmp_path / "staff", name="staff", queries=[query], sets=sets, passages=passages)


RIGHT = "Ada Park of sales is in Oslo, Ada Park of legal is in Turin."
OWN = f"""
def thorough(question):
    return {RIGHT!r}, ["c:0#0", "c:1#0"]

def careless(question):
    return "Ada Park is in Oslo.", ["c:0#0"]
"""


def test_a_system_that_searches_for_itself_and_two_functions_in_one_report(
    staff: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_rag.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    import own_rag

    places = []
    for function in (own_rag.thorough, own_rag.careless):
        place = tmp_path / function.__name__
        run_reader(as_reader(function), staff, place, setting_for(staff, passages="none"), cites="corpus")
        places.append(str(place))
    again = tmp_path / "thorough-again"
    run_reader(as_reader(own_rag.thorough), staff, again, setting_for(staff, passages="none"), cites="corpus")
    words = ["report", *places, str(again), str(tmp_path / "page.html")]
    result = CliRunner().invoke(whichone, words)
    assert result.exit_code == 0, result.output
    with next(tmp_path.rglob("ambigdocs-categories.csv")).open() as file:
        rows = {row["model"]: row for row in csv.DictReader(file)}
    assert set(rows) == {
        "own_rag:thorough (thorough)",
        "own_rag:careless",
        "own_rag:thorough (thorough-again)",
    }
    assert float(rows["own_rag:thorough (thorough)"]["complete"].split()[0]) == 1.0
    careless = rows["own_rag:careless"]
    assert float(careless["complete"].split()[0]) == 0.0
    figures = sorted(p.name for p in tmp_path.rglob("ambigdocs-bearers-*.svg"))
    assert len(figures) == 3
    sys.modules.pop("own_rag", None)
