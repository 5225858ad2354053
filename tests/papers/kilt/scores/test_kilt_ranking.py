"""R-precision and the rank list against their definitions, written down the slow way."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from whichone.papers.kilt.kilt_measures import IdMaker, completed_sets, r_precision
from whichone.papers.kilt.kilt_scoring import KiltSettings, RecordScorer

PAGES = st.sampled_from("abcdefg")
RANKED = st.lists(PAGES, unique=True, max_size=7)
EVIDENCE = st.lists(st.frozensets(PAGES, max_size=3), max_size=4, unique=True)


def rank_list(ranked: list[str], evidence: list[frozenset[str]]) -> list[Any]:
    left = {number: set(pages) for number, pages in enumerate(evidence)}
    places: list[Any] = []
    for page in ranked:
        holders = [number for number, pages in left.items() if page in pages]
        for number in holders:
            places = [place for place in places if place != f"set {number}"]
            left[number].discard(page)
            places.append("done" if not left[number] else f"set {number}")
        if not holders:
            places.append("none")
    return places


@given(RANKED, EVIDENCE)
def test_completed_sets_are_where_the_rank_list_has_them(
    ranked: list[str], evidence: list[frozenset[str]]
) -> None:
    wanted = [n for n, place in enumerate(rank_list(ranked, evidence)) if place == "done"]
    assert completed_sets(dict.fromkeys(ranked), evidence) == wanted


@given(RANKED, EVIDENCE)
def test_r_precision_is_the_best_over_outputs(ranked: list[str], complete: list[frozenset[str]]) -> None:
    values = [len(set(ranked[: len(g)]) & g) / len(g) for g in complete if g]
    assert r_precision(dict.fromkeys(ranked), complete) == max(values, default=0.0)


def test_a_set_stands_where_its_last_page_stands_and_leaves_no_gap() -> None:
    both = [frozenset("ac")]
    assert completed_sets(dict.fromkeys("abc"), both) == [1]  # b, then the set
    assert completed_sets(dict.fromkeys("ab"), both) == []
    unfinished_before = [frozenset("ax"), frozenset("b")]
    assert completed_sets(dict.fromkeys("ab"), unfinished_before) == [1]
    shared_page = [frozenset("a"), frozenset("ab")]
    assert completed_sets(dict.fromkeys("abc"), shared_page) == [0, 1]


def entries(reader: Any, *provenance: dict[str, Any]) -> list[Any]:
    import json

    line = json.dumps({"id": 1, "output": [{"provenance": list(provenance)}]}).encode()
    return list(reader.read(line).output)


def test_ids_are_stripped_text_joined_by_a_plus() -> None:
    keys = ("wikipedia_id", "section")
    reader = RecordScorer(KiltSettings(rank_keys=keys)).guess_reader
    maker = IdMaker(reader.get(*keys), several_keys=True)
    (output,) = entries(
        reader,
        {"wikipedia_id": 1, "section": " S "},
        {"wikipedia_id": "1", "section": "S"},
        {"wikipedia_id": "2"},
        {"wikipedia_id": None, "section": "S"},
    )
    assert list(maker.ranked(output.provenance).ids) == ["1+S", "None+S"]


def test_white_space_and_numbers_do_not_make_another_page() -> None:
    reader = RecordScorer(KiltSettings()).guess_reader
    maker = IdMaker(reader.get("wikipedia_id"), several_keys=False)
    (output,) = entries(reader, {"wikipedia_id": "5 "}, {"wikipedia_id": 5}, {"wikipedia_id": "\u20096"})
    ranked = maker.ranked(output.provenance)
    assert list(ranked.ids) == ["5", "6"]
    assert ranked.repeated and not ranked.all_text


def test_an_entry_without_the_key_stays_in_the_evidence_but_not_in_r_precision() -> None:
    reader = RecordScorer(KiltSettings()).gold_reader
    maker = IdMaker(reader.get("wikipedia_id"), several_keys=False)
    gold = maker.gold(entries(reader, {"wikipedia_id": "5"}, {"title": "T"}))
    assert gold.complete == [frozenset({"5"})]
    assert gold.evidence == [frozenset({"5", ""})]


def test_an_empty_provenance_list_is_a_set_that_nobody_completes() -> None:
    reader = RecordScorer(KiltSettings()).gold_reader
    gold = IdMaker(reader.get("wikipedia_id"), several_keys=False).gold(entries(reader))
    assert gold.evidence == [frozenset()]
    assert completed_sets({"5": None}, gold.evidence) == []
