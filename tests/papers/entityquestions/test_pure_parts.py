"""The builder's pure parts, by hand: buckets, disjoint training, criteria, verdicts, names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.errors import BadInput
from whichone.papers.entityquestions.draw import (
    TOKENISERS,
    bucketed,
    buckets_of,
    disjoint_train,
    names_in,
    random_entities,
    read_listed,
    read_seen,
    relation_counts,
    shuffled,
    training_entities,
)
from whichone.papers.entityquestions.entityquestions_files import OtherBearer, best_expected, resolution
from whichone.papers.entityquestions.facts import EntityFact, Object, read_triples


def fact(subject: str, name: str = "Abe", value: str = "Oslo", frequency: float | None = 1) -> EntityFact:
    return EntityFact(subject, name, "P19", (Object(f"o:{value}", value),), f"w:{subject}", name, frequency)


def test_buckets_have_equal_sums_and_the_frequent_come_first() -> None:
    assert buckets_of({"a": 4, "b": 2, "c": 2, "d": 1, "e": 1, "f": 1, "g": 1}, 3) == {
        "a": 0,  # 0 to 4 of 12
        "b": 1,  # 4 to 6
        "c": 1,  # 6 to 8: its middle is 7
        "d": 2,
        "e": 2,
        "f": 2,
        "g": 2,
    }


def test_a_subject_that_crosses_a_boundary_goes_where_its_middle_lies() -> None:
    assert buckets_of({"a": 3, "b": 3, "c": 3, "d": 3, "e": 3}, 2) == {
        "a": 0,
        "b": 0,
        "c": 1,
        "d": 1,
        "e": 1,  # the middle of c is 7.5 of 15: the upper half
    }


def test_ties_zeros_and_unknowns() -> None:
    assert buckets_of({"b": 1, "a": 1}, 2) == {"a": 0, "b": 1}
    assert buckets_of({"a": 5, "b": 0, "c": None}, 8) == {"a": 4, "b": 7}
    assert buckets_of({"a": 0, "b": 0}, 8) == {"a": 7, "b": 7}
    assert buckets_of({}, 8) == {}


@given(st.dictionaries(st.text(min_size=1), st.integers(0, 1000), min_size=1))
def test_buckets_never_go_back(frequencies: dict[str, int]) -> None:
    found = buckets_of(frequencies)
    order = sorted(frequencies, key=lambda s: (-frequencies[s], s))
    assert [found[s] for s in order] == sorted(found[s] for s in order)
    assert all(0 <= bucket < 8 for bucket in found.values())


def test_random_and_training_entities() -> None:
    facts = [fact(f"s{n:02}", frequency=20 - n) for n in range(20)]
    by_bucket = bucketed(facts, 2)
    drawn = random_entities(by_bucket, most=3, seed=1)
    assert [len(drawn[b]) for b in (0, 1)] == [3, 3]
    assert drawn == random_entities(by_bucket, most=3, seed=1)
    assert drawn != random_entities(by_bucket, most=3, seed=2)
    seen = training_entities(by_bucket, lambda f: f.subject in {"s00", "s19"})
    assert [[f.subject for f in seen[b]] for b in (0, 1)] == [["s00"], ["s19"]]


def test_a_sample_depends_on_seed_and_purpose_and_not_on_order() -> None:
    items = [str(n) for n in range(50)]
    assert shuffled(items, str, 1, "x") == shuffled(reversed(items), str, 1, "x")
    assert shuffled(items, str, 1, "x") != shuffled(items, str, 2, "x")
    assert shuffled(items, str, 1, "x") != shuffled(items, str, 1, "y")


def test_training_facts_share_no_token() -> None:
    test = [fact("t", "Abe Lincoln", "Lancaster, Ohio")]
    candidates = [
        fact("1", "Abe Simpson", "Springfield"),
        fact("2", "Bo Derek", "Ohio"),
        fact("3", "Cy Young", "Gilmore"),
    ]
    by_triples = disjoint_train(candidates, test)
    assert [f.subject for f in by_triples.facts] == ["3"]
    assert (by_triples.candidates, by_triples.sharing) == (3, 2)
    by_subjects = disjoint_train(candidates, test, scope="subjects")
    assert {f.subject for f in by_subjects.facts} == {"2", "3"}
    stopped = disjoint_train(candidates, test, stop_words=frozenset({"abe", "ohio"}))
    assert len(stopped.facts) == 3
    comma = [fact("4", "Lancaster", "x"), fact("5", "lancaster,", "x")]
    assert [f.subject for f in disjoint_train(comma, test, tokenise=TOKENISERS["blanks"]).facts] == ["4"]
    assert len(disjoint_train(candidates, [], most=2).facts) == 2


def test_criteria_by_hand() -> None:
    facts = [fact(str(n), value=f"v{n % 3}") for n in range(7)]
    (few,) = relation_counts(facts, {"P19": "birth"}, least_facts=6, least_answers=4)
    assert (few.facts, few.answers, few.commonest_answer) == (7, 3, "v0")
    assert few.commonest_share == pytest.approx(3 / 7)
    assert few.reason == "3 different answers, fewer than 4"
    (enough,) = relation_counts(facts, {"P19": "birth"}, least_facts=6, least_answers=3)
    assert enough.kept
    (small,) = relation_counts(facts, {"P19": "birth"}, least_facts=7, least_answers=3)
    assert small.reason == "7 facts, not more than 7"
    shares = relation_counts(facts, {"P19": "b", "P26": "s"}, least_facts=0.5, least_answers=1)
    assert [(c.relation, c.kept) for c in shares] == [("P19", True), ("P26", False)]


def other(types: set[str], has: bool) -> OtherBearer:
    return OtherBearer("o", frozenset(types), has)


def test_verdicts() -> None:
    human = frozenset({"Q5"})
    assert resolution([], human).verdict == "yes"
    assert resolution([other({"film"}, False)], human).verdict == "yes"
    assert resolution([other({"Q5"}, False)], human).verdict == "unknown"
    assert resolution([other(set(), False)], human).verdict == "unknown"
    both = resolution([other({"Q5"}, True), other({"Q5"}, True), other({"Q5"}, False)], human)
    assert (both.verdict, both.candidates) == ("no", 3)
    assert [best_expected("no", 3, k) for k in (1, 2, 5)] == [1 / 3, 2 / 3, 1.0]
    assert best_expected("unknown", 1, 1) == 1.0


def test_names_found_in_questions() -> None:
    found = names_in(["Where was Abe Lincoln's trombone, the Conn, made?"])
    assert {"abe lincoln", "conn", "where was abe lincoln"} <= found
    assert "lincoln conn" not in found


def test_training_entities_from_files(tmp_path: Path) -> None:
    path = tmp_path / "given.jsonl"
    path.write_text('{"question": "who was abe?"}\n')
    assert read_seen(path)(fact("Q1", "Abe"))
    assert not read_seen(path)(fact("Q1", "Bo"))
    path.write_text('{"question": "where was honest abe born"}\n')
    assert read_seen(path, {"Q1": ("Abraham Lincoln", "Honest Abe")})(fact("Q1", "Lincoln"))
    assert not read_seen(path, {"Q1": ("Abraham Lincoln", "Abe")})(fact("Q1", "Lincoln"))
    listed = tmp_path / "listed.txt"
    listed.write_text("Q7\nBo Derek\n")
    assert read_listed(listed)(fact("Q7", "Abe"))
    assert read_listed(listed)(fact("Q1", "bo derek"))
    assert not read_listed(listed)(fact("Q1", "Abe"))
    listed.write_text("\n")
    with pytest.raises(BadInput, match=r"listed\.txt"):
        read_listed(listed)
    path.write_text('{"text": "who"}\n')
    with pytest.raises(BadInput, match=r"given\.jsonl:1"):
        read_seen(path)


def test_trex_triples(tmp_path: Path) -> None:
    path = tmp_path / "trex.json"
    triple = {
        "subject": {"uri": "http://www.wikidata.org/entity/Q1"},
        "predicate": {"uri": "http://www.wikidata.org/prop/direct/P19"},
        "object": {"uri": "http://www.wikidata.org/entity/Q2"},
    }
    date = {**triple, "object": {"uri": "1999-01-01^^http://www.w3.org/2001/XMLSchema#dateTime"}}
    path.write_text(json.dumps([{"triples": [triple, date]}, {"triples": [triple]}]))
    assert read_triples([path]) == {("Q1", "P19", "Q2")}
    path.write_text('[{"text": ""}]')
    with pytest.raises(BadInput, match=r"trex\.json"):
        read_triples([path])
