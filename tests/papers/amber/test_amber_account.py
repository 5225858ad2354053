"""The account of a build adds up: over random worlds, line by line, and against counts made another way."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from small_kb import item, page, prop, write_kb

from whichone.benchmarks.relations import Account
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.names import name_key
from whichone.papers.amber.build_amber import BuiltSets, build, opened_pipeline
from whichone.papers.amber.collection import PAPER, RULES_PUBLISHED, AmberRules, load_collection

VALUES = {"P1303": ["Q11", "Q12"], "P641": ["Q13", "Q14"], "P106": ["Q15"]}
NAMED = {"Q11": "trombone", "Q12": "piano", "Q13": "cricket", "Q14": "tennis", "Q15": "judge"}


class Person:
    """One random entity, kept beside what is written into the knowledge base."""

    def __init__(self, draw: random.Random, number: int) -> None:
        self.id = f"Q{100 + number}"
        self.name = draw.choice(["Abe Roe", "Bo Poe", "Cy Loe", "Di Moe", "Ed Noe", "abe roe"])
        self.alias = draw.choice([None, None, "Abe Roe", "Fay Soe"])
        self.human = draw.random() < 0.85
        self.title = f"{self.name} ({number})" if draw.random() < 0.9 else None
        self.views = draw.choice([None, 10, 10, 12, 100, 1000]) if self.title else None
        self.facts = {p: draw.choice(values) for p, values in VALUES.items() if draw.random() < 0.5}
        self.has_page = self.title is not None and draw.random() < 0.9
        stated = [NAMED[v] for v in self.facts.values() if draw.random() < 0.8]
        self.text = f"{self.name}: {', '.join(stated)}."

    def record(self) -> dict[str, Any]:
        kind = ["Q5"] if self.human else ["Q3"]
        aliases = [self.alias] if self.alias else []
        title = {"title": self.title} if self.title else {}
        return item(self.id, self.name, aliases=aliases, types=kind, **title, **self.facts)

    def names(self) -> set[str]:
        return {name for name in (self.name, self.alias) if name}


def world(seed: int) -> list[Person]:
    draw = random.Random(seed)
    return [Person(draw, n) for n in range(draw.randint(8, 40))]


def built(people: list[Person], folder: Path, rules: AmberRules) -> BuiltSets:
    values = [item(key, name, types=["Q34379"], title=name) for key, name in NAMED.items()]
    properties = [
        prop(p, label) for p, label in (("P1303", "instrument"), ("P641", "sport"), ("P106", "occupation"))
    ]
    pages = [page(n, p.title, p.id, p.text) for n, p in enumerate(people, 1) if p.has_page]
    views = {p.title.replace(" ", "_"): p.views for p in people if p.title and p.views}
    views |= dict.fromkeys(NAMED.values(), 5)
    records = [p.record() for p in people]
    kb = write_kb(folder / "kb", [*records, *values, *properties], pages, views)
    with opened_pipeline(Folder.open(kb, KIND), load_collection("human"), rules) as pipeline:
        return build(pipeline, str(kb))


def plain_counts(people: list[Person], rules: AmberRules) -> dict[str, int]:
    """Names by dictionaries: repeated, with two known bearers of the type, and with a head that leads."""
    key = name_key if rules.same_name == "key" else str
    written = Counter(key(n) for p in people for n in [p.name, *([p.alias] if p.alias else [])])
    for value in NAMED.values():
        written[key(value)] += 1
    repeated = {name for name, times in written.items() if times > 1}
    bearers: dict[str, list[Person]] = {}
    for p in people:
        for name in {key(n) for n in p.names()}:
            bearers.setdefault(name, []).append(p)
    shared = {
        name: known
        for name in repeated
        if len(known := [p for p in bearers.get(name, ()) if p.human and p.views]) > 1
    }
    leading = {}
    for name, known in shared.items():
        first, second = sorted((p.views or 0 for p in known), reverse=True)[:2]
        if (first - second) / second >= rules.gap:
            leading[name] = known
    asking = set(load_collection("human").property_ids)
    statements = [(n, p, prop) for n, ps in leading.items() for p in ps for prop in p.facts if prop in asking]
    held = Counter((n, prop) for n, _, prop in statements)
    single = [(n, p, prop) for n, p, prop in statements if held[n, prop] == 1]
    alive = set()
    for name, known in leading.items():
        asked = {p.id for n, p, _ in single if n == name}
        best = max(p.views or 0 for p in known)
        if len(asked) > 1 and any(p.id in asked and p.views == best for p in known):
            alive.add(name)
    return {
        "repeated": len(repeated),
        "shared": len(shared),
        "leading": len(leading),
        "statements": len(statements),
        "single": len(single),
        "alive": len(alive),
        "alive statements": sum(n in alive for n, _, _ in single),
    }


def check_adds_up(account: Account) -> None:
    had: dict[str, int] = {}
    for step in account.steps:
        assert step.removed >= 0, step
        assert step.kept >= 0, step
        if step.unit in had:
            assert step.kept + step.removed == had[step.unit], step
        had[step.unit] = step.kept


@pytest.mark.parametrize("seed", range(12))
def test_random_worlds(seed: int, tmp_path: Path) -> None:
    people = world(seed)
    found = built(people, tmp_path, PAPER)
    account = found.account
    check_adds_up(account)
    expected = plain_counts(people, PAPER)
    names = [s for s in account.steps if s.unit == "names"]
    statements = [s for s in account.steps if s.unit == "statements"]
    assert names[0].kept + names[0].removed == expected["repeated"]
    assert names[0].kept == expected["shared"]
    assert names[1].kept == expected["leading"]
    assert names[2].kept == expected["alive"]
    assert statements[0].kept + statements[0].removed == expected["statements"]
    assert statements[1].kept == expected["single"]
    assert statements[2].kept == expected["alive statements"]
    assert names[-1].kept == len(found.sets)
    facts = [s for s in account.steps if s.unit == "facts"]
    assert facts[-1].kept == sum(len(b.tuples) for s in found.sets for b in s.bearers)


@pytest.mark.parametrize("seed", range(4))
def test_the_released_programs_rules_add_up_too(seed: int, tmp_path: Path) -> None:
    check_adds_up(built(world(seed), tmp_path, RULES_PUBLISHED).account)


def test_a_language_without_templates_is_refused(tmp_path: Path) -> None:
    people = [item("Q1", "Abe Roe", title="A", P1303="Q11"), item("Q2", "Abe Roe", title="B", P641="Q13")]
    kb = write_kb(tmp_path / "kb", people, [], {"A": 9, "B": 1}, languages={"Q1": "it", "Q2": "it"})
    human = load_collection("human")
    with (
        opened_pipeline(Folder.open(kb, KIND), human, PAPER, language="it") as pipeline,
        pytest.raises(BadInput, match="no question templates in 'it'"),
    ):
        build(pipeline, str(kb))
