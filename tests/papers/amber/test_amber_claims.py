"""False claims are false, no value or page has most of them, and exported sets keep their tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from small_kb import item, page, prop, write_kb

from whichone.benchmarks.benchmark import Benchmark
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.papers.amber.amber_files import export_amber, import_amber
from whichone.papers.amber.amber_tables import amber_statistics, template_of, templates_table
from whichone.papers.amber.build_amber import BuiltSets, build, opened_pipeline
from whichone.papers.amber.collection import PAPER, AmberRules, load_builtin, load_collection, rules_called
from whichone.records import Query
from whichone.text.normalisers import amber_tokens

WAR, INSTRUMENT, SPORT = "P607", "P1303", "P641"
NAMES = {"Q31": "War of the Roses", "Q32": "Boer War", "Q33": "Crimean War"}
INSTRUMENTS = {f"Q{n}": f"instrument{n}" for n in range(40, 60)}


def built(
    folder: Path,
    people: list[dict[str, Any]],
    texts: dict[str, str],
    rules: AmberRules = PAPER,
    battles: dict[str, str] | None = None,
) -> BuiltSets:
    values = [
        item(key, name, types=["Q9"], title=name, **((battles or {}) if key == "Q32" else {}))
        for key, name in {**NAMES, **INSTRUMENTS, "Q60": "cricket"}.items()
    ]
    properties = [
        prop(WAR, "war"),
        prop(INSTRUMENT, "instrument"),
        prop(SPORT, "sport"),
        prop("P361", "part of"),
        prop("P279", "kind of"),
    ]
    titles = {p["id"]: p["sitelinks"]["enwiki"]["title"] for p in people}
    pages = [page(n, titles[who], who, text) for n, (who, text) in enumerate(texts.items(), 1)]
    views = {t: int(1e12 * 0.7**n) for n, t in enumerate(titles.values(), 1)}
    views |= dict.fromkeys([*NAMES.values(), *INSTRUMENTS.values(), "cricket"], 3)
    kb = write_kb(folder / "kb", [*people, *values, *properties], pages, views)
    with opened_pipeline(Folder.open(kb, KIND), load_collection("human"), rules) as pipeline:
        return build(pipeline, str(kb))


def claimed(made: BuiltSets, verdict: str, entity: str) -> list[str]:
    return [
        str(q.attributes["claimed"])
        for q in made.queries
        if q.task == "fc" and q.entity == entity and verdict in q.answers()
    ]


def two(**first: Any) -> list[dict[str, Any]]:
    """Two of one name; many others fought in the War of the Roses, fewer in the Crimean War."""
    roses = [item(f"Q{n}", f"Knight {n}", title=f"Knight {n}", P607="Q31") for n in range(100, 105)]
    crimean = [item(f"Q{n}", f"Nurse {n}", title=f"Nurse {n}", P607="Q33") for n in range(105, 107)]
    pair = [
        item("Q1", "Abe Roe", title="Abe Roe", P607="Q32", **first),
        item("Q2", "Abe Roe", title="Abe Roe (b)", P641="Q60"),
    ]
    return [*pair, *roses, *crimean]


PLAYS = {"Q1": "He fought in the Boer War.", "Q2": "A player of cricket."}


def test_the_most_frequent_value_is_claimed_where_nothing_speaks_for_it(tmp_path: Path) -> None:
    made = built(tmp_path, two(), PLAYS)
    assert claimed(made, "REFUTES", "Q1") == ["War of the Roses"]


def test_a_value_that_the_page_mentions_is_passed_over(tmp_path: Path) -> None:
    far = "He fought in the Boer War. " + "He rested. " * 400 + "He wrote on the war of the Roses!"
    made = built(tmp_path, two(), {**PLAYS, "Q1": far})
    assert claimed(made, "REFUTES", "Q1") == ["Crimean War"]
    step = next(s for s in made.account.steps if "does not mention" in s.name)
    assert (step.removed, step.examples) == (1, ["Q1 P607 War of the Roses"])


def test_a_value_that_is_true_by_another_property_is_passed_over(tmp_path: Path) -> None:
    made = built(tmp_path, two(P1344="Q31"), PLAYS)
    assert claimed(made, "REFUTES", "Q1") == ["Crimean War"]
    step = next(s for s in made.account.steps if "another property" in s.name)
    assert (step.removed, step.examples) == (1, ["Q1 P607 War of the Roses"])


@pytest.mark.parametrize("wider", ["P361", "P279"])
def test_a_value_that_a_true_one_is_a_part_or_kind_of_is_passed_over(tmp_path: Path, wider: str) -> None:
    """Q32 belongs to a campaign of the War of the Roses: who fought in it fought in that war too."""
    people = [*two(), item("Q70", "Campaign", types=["Q9"], title="Campaign", **{wider: "Q31"})]
    made = built(tmp_path, people, PLAYS, battles={wider: "Q70"})
    assert claimed(made, "REFUTES", "Q1") == ["Crimean War"]
    step = next(s for s in made.account.steps if "another property" in s.name)
    assert (step.removed, step.examples) == (1, ["Q1 P607 War of the Roses"])


def test_the_published_rules_look_at_neither(tmp_path: Path) -> None:
    others = [item("Q3", "Bo Poe", title="Bo Poe", P607="Q31")]
    others.append(item("Q4", "Bo Poe", title="Bo Poe (b)", P641="Q60"))
    people = [*others, *two(P1344="Q31")]
    texts = {**PLAYS, "Q3": "In the War of the Roses.", "Q4": "He liked cricket."}
    made = built(tmp_path, people, texts, rules_called("published", gap=0.001))
    assert claimed(made, "REFUTES", "Q1") == ["War of the Roses"]
    assert not any("false claims" in s.unit for s in made.account.steps)


def test_no_value_is_false_in_most_claims(tmp_path: Path) -> None:
    people, texts = [], {}
    for n in range(20):
        names = {"title": f"Ann {n}"}, {"title": f"Ann {n} (b)"}
        people += [
            item(f"Q{200 + n}", f"Ann {n}", P1303=f"Q{40 + n}", **names[0]),
            item(f"Q{300 + n}", f"Ann {n}", P641="Q60", **names[1]),
        ]
        texts |= {f"Q{200 + n}": f"On the instrument{40 + n}.", f"Q{300 + n}": "A cricket player."}
    people += [item(f"Q{n}", f"Bo {n}", title=f"Bo {n}", P1303="Q40") for n in range(400, 430)]
    made = built(tmp_path, people, texts)
    false = Counter(c for n in range(20) for c in claimed(made, "REFUTES", f"Q{200 + n}"))
    assert false.total() == 20
    assert max(false.values()) == 5
    step = next(s for s in made.account.steps if "many other" in s.name)
    assert step.kept == 20


def test_a_bearer_of_many_names_is_not_the_answer_to_all_claims(tmp_path: Path) -> None:
    names = [f"Name {n}" for n in range(9)]
    people = [item("Q1", "Abe", aliases=names, title="Abe", P607="Q32")]
    people += [item(f"Q{10 + n}", name, title=f"{name} (b)", P641="Q60") for n, name in enumerate(names)]
    people += [item("Q3", "Else", title="Else", P607="Q31")]
    texts = {"Q1": "In the Boer War.", **{f"Q{10 + n}": "A cricket player." for n in range(9)}}
    made = built(tmp_path, people, texts)
    assert len({q.name for q in made.queries if q.entity == "Q1" and q.task == "qa"}) == 9
    assert sum(q.task == "fc" and q.entity == "Q1" for q in made.queries) == 10
    step = next(s for s in made.account.steps if "10 claims" in s.name)
    assert step.removed == 8


@pytest.fixture(scope="module")
def amber() -> Benchmark:
    return Benchmark.open("builtin/amber")


def test_no_false_claim_of_the_built_in_sets_is_on_its_page(amber: Benchmark) -> None:
    texts: dict[str, str] = {}
    for passage in amber.corpus.passage_records():
        texts[passage.page] = f"{texts.get(passage.page, '')} {passage.text}"
    words = {page: f" {' '.join(amber_tokens(text))} " for page, text in texts.items()}
    false = [q for q in amber.queries if q.task == "fc" and "REFUTES" in q.answers()]
    assert len(false) == 321
    for query in false:
        looked_for = f" {' '.join(amber_tokens(str(query.attributes['claimed'])))} "
        assert all(looked_for not in words[page] for page in query.gold_pages()), query.input
    assert max(Counter(q.attributes["claimed"] for q in false).values()) <= 5


def test_exported_sets_read_back_have_the_same_tables(amber: Benchmark, tmp_path: Path) -> None:
    written = export_amber(amber, tmp_path / "out")
    assert "amber_set_tuples.jsonl" in written
    back = import_amber(tmp_path / "out", tmp_path / "back")
    ours, theirs = amber_statistics(amber), amber_statistics(back)
    assert ours is not None and theirs is not None
    assert ours.document == theirs.document
    assert {row["type"] for row in theirs.document["human"]["table_3"]} == {"Human"}
    shown = [templates_table(["human", "nonhuman"], b).rows for b in (amber, back)]
    assert shown[0] == shown[1]


def test_table_10_shows_what_was_asked(amber: Benchmark) -> None:
    rows = {row[1]: row for row in templates_table(["human", "nonhuman"], amber).rows}
    assert rows["movement"][2].startswith("What movement did $name take part in?")
    assert not any("was screenwriter for" in str(cell) for cell in rows["screenwriter"])
    asked = {q.input for q in amber.queries if q.relation == "P58" and q.task == "qa"}
    for template in str(rows["screenwriter"][2]).split("? "):
        before, _, after = template.rstrip("?").partition("$name")
        assert any(t.startswith(before) and t.rstrip("?").endswith(after) for t in asked)


@pytest.mark.parametrize(
    ("task", "relation", "text", "template"),
    [
        ("fc", "P1303", "Ann plays an oboe.", "Ann plays an oboe."),
        ("fc", "P1303", "Ann plays the oboe.", "$name plays the $object."),
        ("qa", "P264", "What is the record label of Ann.?", "What is the record label of $name.?"),
        ("qa", "P264", "What is the record label of Ann?", "What is the record label of $name?"),
        ("qa", "P264", "Whose label is Ann on?", "Whose label is $name on?"),
    ],
)
def test_a_template_is_recognised(task: str, relation: str, text: str, template: str) -> None:
    query = Query(id="q", task=task, input=text, outputs=(), name="Ann", relation=relation)
    found = template_of(query, load_builtin("human" if relation == "P1303" else "nonhuman"))
    assert found == template.replace("Ann plays an oboe.", "$name plays the $object.")
