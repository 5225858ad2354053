"""The examples by hand that docs/what-the-numbers-mean.md shows, in docs/data: every line is computed, every measure is there."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from whichone import registry
from whichone.measures.absent import ABSENT_MEASURES
from whichone.measures.measure import Answered, Retrieved, parse_measure
from whichone.records import Call, Output, Passage, Provenance, Query, Trace

DATA = Path(__file__).resolve().parents[2] / "docs" / "data"
EXAMPLES = [
    (row[0].strip("`"), row[1], row[2])
    for file in sorted(DATA.glob("examples-*.csv"))
    for row in list(csv.reader(file.read_text("utf-8").splitlines()))[1:]
]

TEXTS = {
    "T": "Abe Lincoln played the trombone",
    "P": "Lincoln once heard a trombone",
    "X": "The trombone is a brass instrument",
    "Y": "Lincoln is a city in Nebraska",
    "F": "Her is a film by Spike Jonze",
    "S": "Her is a song by Aaron Tippin",
}
TITLES = {"F": "Her (film)", "S": "Her (song)"}


def output(page: str, answer: str, *aliases: str) -> Output:
    source = Provenance(page=page, passage=f"{page}#0", title=TITLES.get(page))
    return Output(answer=answer, aliases=aliases, entity=TITLES.get(page), provenance=((source,),))


ABE = Query(
    id="q", task="qa", input="What instrument does Abe Lincoln play?", name="Abe Lincoln",
    outputs=(output("T", "trombone", "slide trombone"),), name_set="abe", entity="T",
    attributes={"resolvable": "no", "candidates": 2},
)  # fmt: skip
HER = Query(
    id="h", task="ambigdocs", input="Who made Her?", name="Her", name_set="ambigdocs/her",
    outputs=(output("F", "Spike Jonze"), output("S", "Aaron Tippin")),
    attributes={"qid": "h", "bearers": 2},
)  # fmt: skip


def passage(identity: str) -> Passage:
    page = identity.partition("#")[0]
    title = TITLES.get(page, page)
    return Passage(id=identity, page=page, title=title, text=TEXTS[page])


def retrieved(query: Query, pages: list[str], failed: bool = False) -> Retrieved:
    ids = [f"{page}#0" for page in pages]
    return Retrieved(query, pages, query.gold_pages(), frozenset("P"), ids, passage, failed=failed)


def answered(query: Query, told: str) -> Answered:
    said = re.search(r'"(.*)"', told)
    rests = re.findall(r"resting on (\w)", told)
    shown = ["F#0", "S#0"] if query is HER else []
    return Answered(
        query, said[1].replace(" / ", "\n") if said else None, query.gold_pages(), rests, rests,
        ["axe"], shown, passage, others=frozenset("P"), trace=trace(told),
    )  # fmt: skip


def trace(told: str) -> Trace | None:
    """ "(searches: P T / T, then asks the user)" or "(acts on P T)" as what an agent did."""
    if acted := re.match(r"\(acts on ([\w ]+)(?:: (\w+))?\)", told):
        records = [] if acted[1] == "nobody" else acted[1].split()
        acts = tuple(
            Call(tool="act", input=acted[2] or "email", arguments={"id": record}) for record in records
        )
        return Trace(question="q", calls=acts)
    if not (match := re.match(r"\(searches: ([\w /]+)(, then asks the user)?\)", told)):
        return None
    calls = [
        Call(tool="search", passages=tuple(f"{page}#0" for page in found.split()))
        for found in match[1].split("/")
    ]
    return Trace(question="q", calls=(*calls, *([Call(tool="ask_user")] if match[2] else [])))


def value(name: str, told: str) -> float | None:
    measure = parse_measure(name)
    if told == "(the film's page and another)":
        return measure.value(retrieved(HER, ["F", "Y"]))
    if told.startswith("(acts on"):
        task = msgspec.structs.replace(ABE, task="act", attributes={"action": "email"})
        return measure.value(answered(task, told))
    if name in ABSENT_MEASURES:
        away = told.startswith("(T is not there")
        outputs = (
            tuple(msgspec.structs.replace(o, provenance=()) for o in ABE.outputs) if away else ABE.outputs
        )
        query = msgspec.structs.replace(ABE, outputs=outputs, attributes={"absent": away})
        found = retrieved(query, told.rpartition(")")[2].strip().split(", "))
        return measure.value(replace(found, declined="says" in told))
    if measure.of == "answers":
        several = "Jonze" in told or "Lee" in told or "Nobody" in told
        return measure.value(answered(HER if several else ABE, told))
    pages = [] if told.startswith("(") else told.split(", ")
    return measure.value(retrieved(ABE, pages, failed=told == "(fails)"))


@pytest.mark.parametrize(("name", "told", "shown"), EXAMPLES)
def test_the_value_is_the_one_shown(name: str, told: str, shown: str) -> None:
    found = value(name, told)
    if shown == "–":
        assert found is None
    else:
        assert found == pytest.approx(float(shown), abs=5e-4)


def test_every_measure_is_worked_out() -> None:
    named = {name.partition("@")[0] for name, _, _ in EXAMPLES} | {"all_correct"}
    assert named == set(registry.names("measures"))
