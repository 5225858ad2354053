"""Bearers of one name are distinguished by attribute, type, first words or id, whichever does."""

from __future__ import annotations

from pathlib import Path

from whichone.benchmarks.bearer_labels import BearerLabels, first_words
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Bearer, NameSet, Output, Passage, Query


def passage(page: str, title: str, text: str) -> Passage:
    return Passage(id=f"{page}#0", page=page, title=title, text=text)


def bearer(page: str, *types: str) -> Bearer:
    return Bearer(entity=page.replace("c:", "e:"), label="x", types=types, pages=(page,))


def query(entity: str, qualifier: str | None) -> Query:
    told = {"qualifier": qualifier, "qualifier_label": "department"} if qualifier else {}
    return Query(id=entity + str(qualifier), task="qa", input="?", outputs=(Output(answer="a"),), entity=entity, attributes=told)  # fmt: skip


def made(folder: Path) -> Benchmark:
    passages = [
        passage("c:1", "Derek Walker", "Derek Walker pays. And more."),
        passage("c:2", "Derek Walker", "Derek Walker sues."),
        passage("c:3", "Derek Walker", "Derek Walker sues."),
        passage("c:4", "Paris (Texas)", "A city."),
        passage("c:5", "Paris", "The capital."),
        passage("c:6", "Mix", "Mix is a song by A."),
        passage("c:7", "Mix", "Mix is a song by B."),
        passage("c:8", "Mix", "Mix is a river."),
    ]
    walkers = NameSet(id="w", name="Derek Walker", bearers=(bearer("c:1"), bearer("c:2"), bearer("c:3")))  # fmt: skip
    cities = NameSet(id="p", name="Paris", bearers=(bearer("c:5", "city"), bearer("c:4", "city")))
    mixes = NameSet(id="m", name="Mix", bearers=(bearer("c:6", "song"), bearer("c:7", "song"), bearer("c:8", "river")))  # fmt: skip
    queries = [query("e:1", "Payroll"), query("e:2", "Legal"), query("e:3", "Legal")]
    return save_benchmark(folder, name="b", queries=queries, sets=[walkers, cities, mixes], passages=passages)


def test_what_tells_bearers_apart(tmp_path: Path) -> None:
    benchmark = made(tmp_path / "b")
    labels = BearerLabels(benchmark)
    sets = {s.name: s for s in benchmark.sets}
    assert labels.of_set(sets["Paris"]) == ["Paris", "Paris (Texas)"]
    assert labels.of_set(sets["Derek Walker"]) == [
        "Derek Walker, department Payroll",
        "Derek Walker (e:2)",  # equal attribute, equal words: the id is left
        "Derek Walker (e:3)",
    ]
    assert labels.of_set(sets["Mix"]) == ["Mix: is a song by A.", "Mix: is a song by B.", "Mix (river)"]  # fmt: skip
    assert labels.of_page("c:1") == "Derek Walker, department Payroll"
    assert labels.of_entity("e:8", "m") == "Mix (river)"
    assert labels.of_entity("nobody") is None
    assert labels.of_page("c:99") == "c:99"


def test_first_words() -> None:
    assert first_words("Ada Park works in Payroll. She pays.", "Ada Park") == "works in Payroll."
    assert first_words(" ".join("abcdefghijklmnop")) == "a b c d e f g h i j k l …"
