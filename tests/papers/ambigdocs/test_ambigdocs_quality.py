"""Built questions that hold: only what a sentence states, every stated value, the tense of the facts, answers of one bearer alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conftest import write_knowledge_base
from whichone.benchmarks.benchmark import Benchmark
from whichone.papers.ambigdocs.build_ambigdocs import build_ambigdocs, distinct
from whichone.papers.ambigdocs.properties import tensed
from whichone.papers.ambigdocs.shared_names import BearerPage, BearerStatement, StatedValue, SurfaceName
from whichone.papers.ambigdocs.statements import ByRule, Claimed, PagePassages, listed_roles, statement
from whichone.records import Passage


def passage(text: str, title: str = "Ada Field") -> Passage:
    return Passage(id="w:1#0", page="w:1", title=title, text=text)


@pytest.mark.parametrize(
    ("prop", "answer", "text", "stated"),
    [
        ("P19", "Leeds", "Ada Field was born on a farm near Leeds in 1801.", False),
        ("P20", "Leeds", "She died near Leeds.", False),
        ("P17", "France", "Ada Field is a town in France.", True),
        ("P17", "France", "One of the largest firms in France grew up around it.", False),
        ("P131", "Kent", "Ada Field is a village in Kent.", True),
        ("P131", "Kent", "In Kent people tell a story about a village.", False),
        ("P136", "glam rock", "Ada Field is a glam rock band.", True),
        ("P136", "glam rock", "With its piano it looks back to the glam rock of 1972.", False),
        ("P136", "Gothic fiction", "The book belongs to Gothic fiction.", True),
        ("P495", "Poland", "Ada Field is a film made in Poland.", True),
        ("P495", "Peru", "Ada Field is a novel by Ann Roe, a teacher from Peru.", False),
        ("P800", "The Mill", "Her best known work is The Mill.", True),
        ("P800", "The Mill", "She is remembered for The Mill.", True),
        ("P800", "The Mill", "The Mill, her book of 1872, mocks the clergy.", False),
        ("P106", "physician", "He was shot; the gunman, the physician Carl Weiss, fled.", False),
        ("P106", "physician", "Ada Field was an English physician, born at Ely.", True),
        ("P106", "painter", "Ada Field was portrayed by a painter.", False),
    ],
)
def test_only_what_a_sentence_states(prop: str, answer: str, text: str, stated: bool) -> None:
    fact = Claimed("Ada Field", prop, None, answer)
    assert ByRule().states(passage(text), fact) is stated


def test_every_stated_value_is_accepted() -> None:
    bearer = BearerPage("w:1", "Ada Field", "Q1", person=True)
    text = "Ada Field was an Australian soldier, farmer and politician. Later she became a judge."
    labels = {"Q7": ("politician", "statesman")}
    facts = [{"kind": "entity", "value": "Q7", "rank": "normal"}]
    common = [("politician", "statesman"), ("judge",), ("poet",)]
    found = statement(bearer, "P106", facts, labels, PagePassages([passage(text)]), common=common)
    assert found is not None
    assert found.answer == "politician"
    assert set(found.aliases) == {"statesman", "judge", "soldier", "farmer"}


@pytest.mark.parametrize(
    ("definition", "roles"),
    [
        (" an Australian soldier, farmer and politician, born in 1887", "soldier farmer politician"),
        (" an American general and statesman, the first president of it", "general statesman president"),
        (" the son of a bandmaster", ""),
        (" a British lawyer turned naval historian.", "lawyer"),
    ],
)  # fmt: skip
def test_roles_that_a_definition_lists(definition: str, roles: str) -> None:
    assert listed_roles(definition) == roles.split()


def bearer(place: int, *values: str, also: tuple[str, ...] = ()) -> BearerStatement:
    page = BearerPage(f"w:{place}", f"Ada Field ({place})", f"Q{place}")
    stated = tuple(StatedValue((value,), f"w:{place}#0") for value in values)
    return BearerStatement(page, values[0], (*values[1:], *also), f"w:{place}#0", stated)


NAME = SurfaceName("ada field", "Ada Field", ("w:1", "w:2"))
ASK = "What kind of work did Ada Field do?"


def test_an_answer_that_two_bearers_share_is_nobodys() -> None:
    one, other = bearer(1, "politician", "lawyer"), bearer(2, "poet", also=("politician",))
    kept, reasons = distinct([one, other], NAME, ASK)
    assert [s.answer for s in kept] == ["lawyer", "poet"]
    assert "politician" in kept[0].aliases, "it stays right"
    assert not reasons
    kept, reasons = distinct([bearer(1, "politician"), other], NAME, ASK)
    assert [s.answer for s in kept] == ["politician"]
    assert reasons == ["the same answer"]


def test_a_name_of_one_answer_within_another_tells_nobody_apart() -> None:
    college, university = (bearer(1, "Harvard College"), bearer(2, "Harvard University", also=("Harvard",)))
    assert len(distinct([college, university], NAME, ASK)[0]) == 1


@pytest.mark.parametrize(
    ("question", "prop", "past", "asked"),
    [
        ("What kind of work does $name do?", "P106", [True, True], "What kind of work did $name do?"),
        ("What kind of work does $name do?", "P106", [True, False], "What kind of work does or did $name do?"),
        ("What kind of work does $name do?", "P106", [False, False], "What kind of work does $name do?"),
        ("Who is the father of $name?", "P22", [True, True], "Who was the father of $name?"),
        ("Who employs $name?", "P108", [True, True], "Who employed $name?"),
        ("Where is $name buried?", "P119", [True, True], "Where is $name buried?"),
        ("For what is $name known?", "P800", [True, True], "For what is $name known?"),
        ("Where was $name born?", "P19", [True, True], "Where was $name born?"),
    ],
)  # fmt: skip
def test_the_tense_follows_the_facts(question: str, prop: str, past: list[bool], asked: str) -> None:
    assert tensed(question, prop, past) == asked


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("Ada Field was an English painter.", True),
        ("Ada Field is an English painter.", False),
        ("Ada Field is a painter. She died in Ely.", True),
        ("A painter, born at Ely in 1801.", True),
        ("A painter, born at Ely in 1971.", False),
        ("A painter (1801–1870) of boats.", True),
    ],
)
def test_a_page_tells_an_end(text: str, ended: bool) -> None:
    page = PagePassages([passage(text)])
    assert page.tells_an_end(BearerPage("w:1", "Ada Field", "Q1", person=True)) is ended


def test_the_dead_and_the_living_in_a_build(tmp_path: Path) -> None:
    texts = {
        "Q10": ["Ada Field is a painter. Born in Paris."],
        "Q11": ["Ada Field was a poet. Born in Rome."],
        "Q12": ["Born in Rome Town, among 12,345 people."],
        "Q20": ["Ben Hill was a painter, with a house since 12 February 1907."],
        "Q21": ["Ben Hill was a poet since 1908."],
    }
    kb = write_knowledge_base(tmp_path / "kb", disambiguation=False, texts=texts)
    made, _ = build_ambigdocs(kb, tmp_path / "b")
    asked = {q.name: q.input for q in made.queries if q.relation == "P106"}
    assert asked == {
        "Ada Field": "What kind of work does or did Ada Field do?",
        "Ben Hill": "What kind of work did Ben Hill do?",
    }


def test_the_built_in_world_keeps_to_it() -> None:
    benchmark = Benchmark.open("builtin/ambigdocs")
    assert "one reader rejected 1 (2 %)" in benchmark.card
    assert len(benchmark.queries) == 75
    for query in benchmark.queries:
        assert not re.search(r"\bdo(es)? [A-Z].* do\?$", query.input), query.input
        accepted = [{str(o.answer), *o.aliases} for o in query.outputs]
        for n, output in enumerate(query.outputs):
            others = set().union(*(a for k, a in enumerate(accepted) if k != n))
            assert output.answer not in others, query.input
