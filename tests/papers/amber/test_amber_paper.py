"""The paper's rules on worlds small enough to work out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest
from small_kb import item, page, prop, write_kb

from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.knowledge.engines import Tables
from whichone.knowledge.knowledge_tables import KIND
from whichone.papers.amber.build_amber import BuiltSets, build, build_amber, explain_in, opened_pipeline
from whichone.papers.amber.collection import (
    PAPER,
    RULES_PUBLISHED,
    AmberRules,
    Collection,
    load_collection,
    parse_collection,
    popularity_gap,
    rules_called,
)
from whichone.papers.amber.distinguishing import spoken_names

INSTRUMENT, SPORT = "P1303", "P641"
PROPERTIES = [prop(INSTRUMENT, "instrument"), prop(SPORT, "sport")]
VALUES = [
    item("Q11", "trombone", types=["Q34379"], title="Trombone"),
    item("Q12", "piano", aliases=["pianoforte"], types=["Q34379"], title="Piano"),
    item("Q13", "cricket", types=["Q31629"], title="Cricket"),
    item("Q14", "tennis", types=["Q31629"]),
]
VIEWS = {"Trombone": 50, "Piano": 50, "Cricket": 50, "Abe_Roe": 1000, "Abe_Roe_(b)": 100}


def pair(**second: Any) -> list[dict[str, Any]]:
    """Abe Roe the trombonist, who is well known, and Abe Roe the cricketer, who is not."""
    return [
        item("Q1", "Abe Roe", title="Abe Roe", P1303="Q11"),
        item("Q2", "Abe Roe", title="Abe Roe (b)", **{"P641": "Q13", **second}),
    ]


PAGES = [
    page(1, "Abe Roe", "Q1", "He played the trombone."),
    page(2, "Abe Roe (b)", "Q2", "A cricket player."),
]


def made(
    tmp_path: Path,
    entities: list[dict[str, Any]],
    pages: list[dict[str, Any]] | None = None,
    views: dict[str, int] | None = None,
    *,
    rules: AmberRules = PAPER,
    collection: Collection | None = None,
) -> BuiltSets:
    everything = [*entities, *VALUES, *PROPERTIES]
    kb = write_kb(tmp_path / "kb", everything, PAGES if pages is None else pages, views or VIEWS)
    with opened_pipeline(Folder.open(kb, KIND), collection or load_collection("human"), rules) as pipeline:
        return build(pipeline, str(kb))


def inputs(built: BuiltSets, task: str) -> list[str]:
    return [query.input for query in built.queries if query.task == task]


def test_a_pair_becomes_a_set_with_head_and_tail(tmp_path: Path) -> None:
    built = made(tmp_path, pair())
    (amber_set,) = built.sets
    assert amber_set.name == "Abe Roe"
    assert [(b.entity, b.is_head) for b in amber_set.bearers] == [("Q1", True), ("Q2", False)]
    assert inputs(built, "sf") == ["Abe Roe [SEP] instrument", "Abe Roe [SEP] sport"]
    assert len(inputs(built, "qa")) == 2
    head = next(q for q in built.queries if q.task == "qa" and q.role == "head")
    assert head.gold_pages() == {"enwiki:1"}
    assert head.answers() == ("trombone",)
    assert head.relation == INSTRUMENT


def test_names_without_two_known_bearers_of_the_types_are_accounted_for(tmp_path: Path) -> None:
    unseen = [item(f"Q{n}", "Bo Lee", title=f"Bo Lee ({n})") for n in (21, 22)]
    things = [
        item(f"Q{n}", "Bolt", types=["Q34379"], title=title) for n, title in ((23, "Piano"), (24, "Cricket"))
    ]
    step = made(tmp_path, [*pair(), *unseen, *things]).account.steps[0]
    assert step.name == "two or more bearers of the collection's types that have views"
    assert (step.kept, step.removed, step.examples) == (1, 2, ["bo lee", "bolt"])


def test_a_shared_property_asks_nothing_but_its_bearers_stay(tmp_path: Path) -> None:
    entities = [*pair(), item("Q3", "Abe Roe", title="Abe Roe (c)", P641="Q14")]
    pages = [*PAGES, page(3, "Abe Roe (c)", "Q3", "A tennis player.")]
    built = made(tmp_path, [*entities], pages, {**VIEWS, "Abe_Roe_(c)": 10})
    assert built.sets == []  # only the head keeps a fact
    entities[2] = item("Q3", "Abe Roe", title="Abe Roe (c)")
    built = made(tmp_path / "two", entities, pages, {**VIEWS, "Abe_Roe_(c)": 10})
    assert [len(b.tuples) for b in built.sets[0].bearers] == [1, 1, 0]


def test_a_value_beyond_the_first_350_tokens_does_not_count(tmp_path: Path) -> None:
    # The title is one paragraph of two words, so 348 more tokens are looked at.
    for filler, sets in ((347, 1), (348, 0)):
        pages = [page(1, "Abe Roe", "Q1", "word " * filler + "trombone"), PAGES[1]]
        assert len(made(tmp_path / str(filler), pair(), pages).sets) == sets


@pytest.mark.parametrize(("head", "sets"), [(110, 1), (109, 0)])
def test_the_gap_is_a_tenth_of_the_tails_views(tmp_path: Path, head: int, sets: int) -> None:
    assert len(made(tmp_path, pair(), views={**VIEWS, "Abe_Roe": head}).sets) == sets


def test_the_gap_can_be_set(tmp_path: Path) -> None:
    wide = rules_called("paper", gap=9.0)
    assert len(made(tmp_path / "a", pair(), rules=wide).sets) == 1
    wider = rules_called("paper", gap=9.01)
    assert made(tmp_path / "b", pair(), rules=wider).sets == []
    logarithmic = rules_called("paper", gap=0.5, gap_scale="log10")
    assert len(made(tmp_path / "c", pair(), rules=logarithmic).sets) == 1  # (3 - 2) / 2


def test_gap_by_hand() -> None:
    assert popularity_gap(PAPER, 110, 100) == pytest.approx(0.1)
    assert popularity_gap(RULES_PUBLISHED, 1000, 100) == pytest.approx(0.4)  # (3 - 2) / 2.5
    assert popularity_gap(RULES_PUBLISHED, 1, 1) == 0


def test_head_is_the_most_popular_of_the_typed_bearers(tmp_path: Path) -> None:
    film = item("Q9", "Abe Roe", types=["Q11424"], title="Abe Roe (film)")
    views = {**VIEWS, "Abe_Roe_(film)": 50_000}
    assert len(made(tmp_path / "paper", [*pair(), film], views=views).sets) == 1
    # The released program looks for the head before it looks at types, and then has none.
    assert made(tmp_path / "p", [*pair(), film], views=views, rules=RULES_PUBLISHED).sets == []


def test_spellings_of_one_name_are_one_set(tmp_path: Path) -> None:
    entities = [pair()[0], item("Q2", "ABE  ROE", title="Abe Roe (b)", P641="Q13")]
    built = made(tmp_path / "paper", entities)
    assert [s.name for s in built.sets] == ["Abe Roe"]
    assert made(tmp_path / "published", entities, rules=RULES_PUBLISHED).sets == []


def test_deprecated_facts_do_not_count(tmp_path: Path) -> None:
    old = pair(ranks={"P641": "deprecated"})
    assert made(tmp_path / "paper", old).sets == []
    assert len(made(tmp_path / "published", old, rules=RULES_PUBLISHED).sets) == 1


def test_a_value_without_a_page_counts(tmp_path: Path) -> None:
    pages = [PAGES[0], page(2, "Abe Roe (b)", "Q2", "A tennis player.")]
    assert len(made(tmp_path / "paper", pair(P641="Q14"), pages).sets) == 1
    assert made(tmp_path / "published", pair(P641="Q14"), pages, rules=RULES_PUBLISHED).sets == []


def test_a_disambiguation_page_is_no_evidence(tmp_path: Path) -> None:
    pages = [PAGES[0], page(2, "Abe Roe (b)", "Q2", "cricket", kind="disambiguation")]
    assert made(tmp_path / "paper", pair(), pages).sets == []
    assert len(made(tmp_path / "published", pair(), pages, rules=RULES_PUBLISHED).sets) == 1


def test_false_claims_take_the_most_frequent_value_of_the_knowledge_base(tmp_path: Path) -> None:
    pianists = [item(f"Q{100 + n}", f"Pia {n}", title=f"Pia {n}", P1303="Q12") for n in range(3)]
    built = made(tmp_path, [*pair(), *pianists, item("Q50", "Ten", P641="Q14")])
    claims = inputs(built, "fc")
    assert "trombone" in claims[0] and "piano" in claims[1]
    assert claims[0].replace("trombone", "piano") == claims[1]
    labels = [q.answers() for q in built.queries if q.task == "fc"]
    assert labels == [("SUPPORTS",), ("REFUTES",)] * 2


def test_a_false_claim_is_never_another_name_of_the_truth(tmp_path: Path) -> None:
    entities = pair()
    entities[0] = item("Q1", "Abe Roe", title="Abe Roe", P1303="Q12")
    twin = item("Q15", "Pianoforte", types=["Q34379"])
    others = [item(f"Q{60 + n}", f"P {n}", title=f"P {n}", P1303="Q15") for n in range(5)]
    pages = [page(1, "Abe Roe", "Q1", "He played the piano."), PAGES[1]]
    trombonist = item("Q70", "T", title="T", P1303="Q11")
    built = made(tmp_path, [*entities, twin, *others, trombonist], pages)
    assert "trombone" in inputs(built, "fc")[1]


def test_one_value_only_makes_no_false_claim_and_says_so(tmp_path: Path) -> None:
    built = made(tmp_path, pair())
    assert [q.answers()[0] for q in built.queries if q.task == "fc"] == ["SUPPORTS", "SUPPORTS"]
    assert any("no other value for a false claim" in remark for remark in built.account.remarks)


def test_in_amber_n_bearers_are_of_different_types(tmp_path: Path) -> None:
    entities = [
        item("Q1", "Her", types=["Q11424"], title="Her", P58="Q21"),
        item("Q2", "Her", types=["Q11424"], title="Her (b)", P161="Q22"),
        item("Q3", "Her", types=["Q7366"], title="Her (song)", P175="Q23"),
        *(item(f"Q2{n}", f"Person {n}", title=f"Person {n}") for n in (1, 2, 3)),
        prop("P58", "screenwriter"), prop("P161", "cast member"), prop("P175", "performer"),
    ]  # fmt: skip
    pages = [
        page(1, "Her", "Q1", "Written by Person 1."),
        page(2, "Her (b)", "Q2", "With Person 2."),
        page(3, "Her (song)", "Q3", "Sung by Person 3."),
    ]
    views = {"Her": 9000, "Her_(b)": 500, "Her_(song)": 100, "Person_1": 9, "Person_2": 9, "Person_3": 9}
    collection = load_collection("nonhuman")
    built = made(tmp_path / "paper", entities, pages, views, collection=collection)
    assert [b.entity for b in built.sets[0].bearers] == ["Q1", "Q3"]
    step = next(s for s in built.account.steps if "same type" in s.name)
    assert (step.removed, step.examples) == (1, ["Her: Q2 (Her)"])
    both = made(tmp_path / "published", entities, pages, views, collection=collection, rules=RULES_PUBLISHED)
    assert [b.entity for b in both.sets[0].bearers] == ["Q1", "Q2", "Q3"]


OWN = {
    "name": "Own",
    "key": "own",
    "popularity": "none",
    "types": {"human": {"id": "Q5", "properties": [INSTRUMENT, SPORT]}},
}


def test_without_templates_and_popularity_it_works_and_says_so(tmp_path: Path) -> None:
    built = made(tmp_path, pair(), collection=parse_collection(OWN, "own.toml"))
    assert inputs(built, "qa") == ["What is the instrument of Abe Roe?", "What is the sport of Abe Roe?"]
    assert inputs(built, "fc")[0] == "The instrument of Abe Roe is trombone."
    assert {q.role for q in built.queries} == {None}
    assert "there is no popularity: no head, no tail, no gap" in built.account.remarks
    assert any("has no templates" in remark for remark in built.account.remarks)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"types": {"x": {"id": "Q404", "properties": ["P1303"]}}}, r"no entity is of a type.*Q404"),
        (
            {"types": {"human": {"id": "Q5", "properties": ["P1303", "P99"]}}},
            "P99 has neither a label nor question templates",
        ),
        ({"types": {"human": {"id": "Q5", "properties": ["P98"]}},
          "properties": {"P98": {"label": "x"}}}, "no fact has a property"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_knowledge_base_is_named(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        made(tmp_path, pair(), collection=parse_collection({**OWN, **change}, "own.toml"))


def test_a_knowledge_base_without_views_is_named(tmp_path: Path) -> None:
    kb = write_kb(tmp_path / "kb", [*pair(), *VALUES, *PROPERTIES], PAGES, {})
    with pytest.raises(BadInput, match="has no views"):
        build_amber(kb, tmp_path / "out", load_collection("human"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({**OWN, "properties": {"P1303": {"questions": {"en": ["What?"]}}}}, r"no slot \$name"),
        ({**OWN, "properties": {"P1303": {"claims": {"en": ["$name."]}}}}, r"no slot \$object"),
        ({**OWN, "typs": {}}, "typs"),
        ({**OWN, "types": {"human": {"id": "Q5", "properties": []}}}, "no type has a property"),
    ],
)
def test_a_wrong_collection_is_named(document: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        parse_collection(document, "own.toml")
    assert "own.toml" in str(caught.value)


def test_an_unknown_collection_gets_a_hint() -> None:
    with pytest.raises(UsageError, match="did you mean human"):
        load_collection("humann")


def test_names_with_a_slot_are_said_and_kept_whole(tmp_path: Path) -> None:
    entities = [
        item("Q1", "Abe $object", title="Abe Roe", P1303="Q11"),
        item("Q2", "Abe $object", title="Abe Roe (b)", P641="Q13"),
        item("Q70", "T", title="T", P1303="Q12"),
    ]
    built = made(tmp_path / "paper", entities)
    assert any("Abe $object" in remark for remark in built.account.remarks)
    assert all("Abe $object" in text for text in inputs(built, "fc"))
    released = made(tmp_path / "published", entities, rules=RULES_PUBLISHED)
    assert not any("$object" in text for text in inputs(released, "fc"))


def test_a_figure_says_why_each_fact_was_dropped(tmp_path: Path) -> None:
    entities = [
        item("Q1", "Abe Roe", title="Abe Roe", P1303=["Q11", "Q12"], P641="Q13"),
        item("Q2", "Abe Roe", title="Abe Roe (b)", P641="Q13", P54="Q12"),
        prop("P54", "team"),
    ]
    kb = write_kb(tmp_path / "kb", [*entities, *VALUES, *PROPERTIES], PAGES, VIEWS)
    figure = explain_in(kb, "abe roe", [load_collection("human")])[0]
    head, tail = figure.bearers
    assert (head.role, tail.role) == ("head", "tail")
    assert [(f.property, f.values, f.dropped) for f in head.facts] == [
        ("P1303", ["trombone", "piano"], None),
        ("P641", ["cricket"], "2 bearers have it"),
    ]
    assert tail.facts[1].dropped is not None and "350 tokens" in tail.facts[1].dropped
    assert figure.verdict.startswith("no set: 1 bearer")
    with pytest.raises(BadInput, match="no two entities"):
        explain_in(kb, "Nobody", [load_collection("human")])


def test_names_of_language_variants_count(tmp_path: Path) -> None:
    entities = [*pair(), *VALUES, *PROPERTIES]
    kb = write_kb(tmp_path / "kb", entities, PAGES, VIEWS, languages={"Q2": "en-gb"})
    sets = {}
    for rules in (PAPER, RULES_PUBLISHED):
        with opened_pipeline(Folder.open(kb, KIND), load_collection("human"), rules) as pipeline:
            sets[rules.name] = build(pipeline, str(kb)).sets
    assert [s.name for s in sets["paper"]] == ["Abe Roe"]
    assert sets["published"] == []


def test_a_language_without_names_is_told(tmp_path: Path) -> None:
    kb = write_kb(tmp_path / "kb", [*pair(), *VALUES, *PROPERTIES], PAGES, VIEWS)
    with pytest.raises(BadInput, match="nothing has a name in 'fr', only in en"):
        build_amber(kb, tmp_path / "out", load_collection("human"), language="fr")


def test_a_quantity_keeps_its_sign_by_the_paper(tmp_path: Path) -> None:
    collection = parse_collection(
        {
            "name": "cold",
            "types": {"human": {"id": "Q5", "properties": ["P641", "P2076"]}},
            "properties": {"P2076": {"label": "temperature"}},
        },
        "cold",
    )
    entities = [
        item("Q1", "Abe Roe", title="Abe Roe", P641="Q13"),
        item("Q2", "Abe Roe", title="Abe Roe (b)", P2076=-3),
    ]
    pages = [page(1, "Abe Roe", "Q1", "A cricket player."), page(2, "Abe Roe (b)", "Q2", "It is -3 degrees.")]
    answers = {}
    for rules in (PAPER, RULES_PUBLISHED):
        built = made(tmp_path / rules.name, entities, pages, rules=rules, collection=collection)
        answers[rules.name] = [
            q.answers()[0] for q in built.queries if q.task == "qa" and q.relation == "P2076"
        ]
    assert answers == {"paper": ["-3"], "published": ["3"]}


def test_labels_come_first_and_the_own_language_before_its_variants() -> None:
    rows = [
        ("Cither", "en-gb", "label", 0), ("Zither", "en", "label", 0), ("Bither", "mul", "alias", 1),
        ("Yither", "en", "alias", 1), ("Aither", "de", "label", 0), ("Xither", "en", "alias", 2),
    ]  # fmt: skip
    columns = dict(zip(("name", "language", "kind", "place"), zip(*rows, strict=True), strict=True))
    table = pa.table({**columns, "key": columns["name"], "entity": ["Q1"] * len(rows)})
    engine: Any = None
    tables = Tables(engine, *[ibis.memtable(table)] * 7)
    found = spoken_names(tables, PAPER, "en").order_by("place").to_pyarrow()
    assert found["name"].to_pylist() == ["Zither", "Cither", "Yither", "Xither", "Bither"]


@pytest.mark.parametrize(("popularity", "head"), [("views", "Q1"), ("sitelinks", "Q2"), ("links", "Q2")])
def test_popularity_can_be_counted_in_three_ways(tmp_path: Path, popularity: Any, head: str) -> None:
    entities = pair()
    entities[1]["sitelinks"] |= {f"{n}wiki": {"title": "x"} for n in range(9)}
    kb = write_kb(
        tmp_path / "kb",
        [*entities, *VALUES, *PROPERTIES],
        PAGES,
        VIEWS,
        links=[("enwiki:1", "enwiki:2"), ("enwiki:2", "enwiki:2"), ("enwiki:2", "enwiki:1")],
    )
    with opened_pipeline(
        Folder.open(kb, KIND), load_collection("human"), PAPER, popularity=popularity
    ) as pipeline:
        (amber_set,) = build(pipeline, str(kb)).sets
    assert [b.entity for b in amber_set.bearers if b.is_head] == [head]


def test_no_views_at_all_make_no_lead(tmp_path: Path) -> None:
    for first in (0, 1):
        views = {**VIEWS, "Abe_Roe": first, "Abe_Roe_(b)": 0}
        built = made(tmp_path / str(first), pair(), views=views, rules=RULES_PUBLISHED)
        assert built.sets == []  # the released program divides by zero, or has no logarithm


def test_a_figure_greys_bearers_of_other_types(tmp_path: Path) -> None:
    film = item("Q9", "Abe Roe", types=["Q11424"], title="Abe Roe (film)")
    entities = [*pair(), film, *VALUES, *PROPERTIES]
    kb = write_kb(tmp_path / "kb", entities, PAGES, {**VIEWS, "Abe_Roe_(film)": 5})
    figure = explain_in(kb, "Abe Roe", [load_collection("human")])[0]
    assert [b.dropped is None for b in figure.bearers] == [True, True, False]
    assert figure.verdict == "a set of 2 bearers, 2 with queries about 2 facts"
    figure = explain_in(kb, "Abe Roe", [load_collection("human")], RULES_PUBLISHED)[0]
    assert figure.verdict.endswith("false claims are chosen among all sets, so none is drawn")


def test_a_figure_greys_bearers_that_the_set_lacks(tmp_path: Path) -> None:
    entities = [
        item("Q1", "Her", types=["Q11424"], title="Her", P58="Q11"),
        item("Q2", "Her", types=["Q11424"], title="Her (b)", P161="Q12"),
        item("Q3", "Her", types=["Q7366"], title="Her (song)", P175="Q13"),
        item("Q4", "Her", types=["Q515"], title="Her (town)", P1082="Q14"),
        prop("P58", "screenwriter"), prop("P161", "cast member"), prop("P175", "performer"),
        prop("P1082", "population"),
    ]  # fmt: skip
    pages = [
        page(1, "Her", "Q1", "Written by trombone."),
        page(2, "Her (b)", "Q2", "With piano."),
        page(3, "Her (song)", "Q3", "Sung by cricket."),
    ]
    views = {"Her": 9000, "Her_(b)": 500, "Her_(song)": 100, "Her_(town)": 50}
    kb = write_kb(tmp_path / "kb", [*entities, *VALUES], pages, views)
    figure = explain_in(kb, "Her", [load_collection("nonhuman")])[0]
    assert [(b.entity, b.dropped) for b in figure.bearers] == [
        ("Q1", None),
        ("Q2", "a bearer of the same type is more popular"),
        ("Q3", None),
        ("Q4", "there is no page about it"),
    ]
    assert figure.bearers[1].facts[0].dropped == "its bearer is not in the set"
    assert figure.verdict == "a set of 2 bearers, 2 with queries about 2 facts"
