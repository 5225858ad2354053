"""Search against looking through everything; queries of benchmarks that have no name sets."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from small_benchmark import small_benchmark
from web_server import opened as open_client
from web_server import text_of

from whichone.benchmarks.benchmark import save_benchmark
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.names import fold
from whichone.papers.kilt.import_kilt import KiltPlan, import_kilt
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.runs.runner import run_retriever
from whichone.web.explorer import explorer_index, listing
from whichone.web.explorer.explorer_index import Indexes
from whichone.web.explorer.listing import opened
from whichone.web.site_settings import SiteSettings

LETTERS = "aaabbcdé ñ李x"


def many_names(path: Path, count: int = 400) -> Any:
    """Random names of few letters, so that what is typed is in many of them, or in one."""
    draw = random.Random(5)
    sets, queries = [], []
    for n in range(count):
        name = "".join(draw.choices(LETTERS, k=draw.randint(1, 9))).strip() or "a"
        bearers = tuple(
            Bearer(entity=f"Q{n}-{b}", label=name, popularity=float(draw.randint(1, 9) * 10 ** (4 - b)),
                   types=(f"T{draw.randint(1, 3)}",), pages=(f"w:{n}-{b}",))
            for b in range(draw.randint(2, 3))
        )  # fmt: skip
        sets.append(NameSet(id=f"s{n}", name=name, collection="c", bearers=bearers))
        for b, role in enumerate(("head", "tail")):
            gold = Output(answer="x", provenance=((Provenance(page=f"w:{n}-{b}"),),))
            queries.append(
                Query(id=f"q{n}-{b}", task=draw.choice(["qa", "fc"]), input=f"Who is {name}, {n} or {b}?",
                      outputs=(gold,), name=name, name_set=f"s{n}", entity=f"Q{n}-{b}", relation=f"P{n % 5}",
                      role=role)
            )  # fmt: skip
    passages = [
        Passage(id=f"w:{n}-{b}#0", page=f"w:{n}-{b}", title="t", text="x")
        for n in range(count)
        for b in range(2)
    ]
    return save_benchmark(path, name="many", queries=queries, sets=sets, passages=passages)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is, what is counted here is counted to the end."""
    monkeypatch.setattr(listing, "_COUNTING", 600.0)
    monkeypatch.setattr(listing, "_PATIENCE", 600.0)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    root = tmp_path_factory.mktemp("many")
    benchmark = many_names(root / "many")
    right = {q.input: random.Random(q.id).random() < 0.5 for q in benchmark.queries}
    gold = {q.input: next(iter(q.gold_pages())) for q in benchmark.queries}
    for number in range(2):

        def search(text: str, k: int, number: int = number) -> list[tuple[str, float]]:
            page = gold[text]
            other = page[:-1] + "10"[int(page[-1])]
            first = right[text] if number == 0 else text[7:8] != "a"
            return [((page if first else other) + "#0", 1.0), ((other if first else page) + "#0", 0.5)]

        run_retriever(FunctionRetriever(search, name=f"r{number}"), benchmark, root / f"r{number}", k=2,
                      name=f"r{number}")  # fmt: skip
    indexes = Indexes(root)
    made = indexes.of_benchmark(benchmark.folder)
    runs = [indexes.of_run(Folder.open(root / f"r{n}", "run"), benchmark.folder) for n in range(2)]
    with opened(made, runs) as database:
        yield database


class Everything:
    """All name sets with their facets and outcomes, to be looked through."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.keys = dict(database.execute("select n, key from sets order by n").fetchall())
        self.facets: dict[int, set[tuple[str, str]]] = {}
        for kind, value, n in database.execute("select kind, value, n from facets"):
            self.facets.setdefault(n, set()).add((kind, value))
        self.outcomes: dict[int, list[Any]] = {}
        for row in database.execute(
            "select a.n, role, a.right as a, b.right as b, a.confused as c from run0.outcomes a "
            "join run1.outcomes b using (q) join queries using (q)"
        ):
            self.outcomes.setdefault(row["n"], []).append(row)

    def sets(self, wanted: listing.WantedRows) -> list[int]:
        tests: dict[str, Any] = {
            "": lambda rows: True, "confused": lambda rows: any(r["c"] for r in rows),
            "all-correct": lambda rows: all(r["a"] for r in rows),
            "not-all-correct": lambda rows: not all(r["a"] for r in rows),
            "right-wrong": lambda rows: any(r["a"] and not r["b"] for r in rows),
        }  # fmt: skip
        role = dict(wanted.facets).get("role")
        return [
            n for n, key in self.keys.items()
            if fold(wanted.text) in key and self.facets[n].issuperset(wanted.facets)
            and tests[wanted.outcome]([r for r in self.outcomes[n] if role in (None, r["role"])])
        ]  # fmt: skip


def paged(database: sqlite3.Connection, wanted: listing.WantedRows, find: Any, number: str) -> list[int]:
    """All pages, one after the other."""
    rows: list[int] = []
    after: int | None = 0
    while after is not None:
        page = find(database, listing.WantedRows(wanted.text, wanted.facets, wanted.outcome, after), 2)
        rows += [row[number] for row in page.rows]
        after = page.following
    return rows


def test_search_finds_what_looking_through_everything_finds(index: sqlite3.Connection) -> None:
    draw = random.Random(1)
    everything = Everything(index)
    keys = list(everything.keys.values())
    for turn in range(200):
        name = draw.choice(keys)
        start = draw.randrange(len(name))
        text = name[start : start + draw.randint(0, 6)] + draw.choice(["", "", "", "z", "x"])
        facets = tuple(
            draw.sample([("type", "T1"), ("type", "T2"), ("task", "qa"), ("relation", "P3"),
                         ("bearers", "3"), ("gap", "2 to 10 times"), ("role", "head"), ("role", "tail"),
                         ("task", "none")], turn % 3)
        )  # fmt: skip
        wanted = listing.WantedRows(text, facets, draw.choice(("", *listing.OUTCOMES)))
        expected = everything.sets(wanted)
        assert paged(index, wanted, listing.find_sets, "n") == expected, wanted
        first = listing.find_sets(index, wanted, 2)
        assert (first.count, first.exact) == (len(expected), True)


def test_queries_are_found_by_text_facet_and_outcome(index: sqlite3.Connection) -> None:
    draw = random.Random(2)
    rows = index.execute(
        "select queries.*, a.right as a, b.right as b, a.confused as c from queries "
        "join run0.outcomes a using (q) join run1.outcomes b using (q) order by q"
    ).fetchall()
    tests: dict[str, Any] = {
        "": lambda r: True, "right": lambda r: r["a"], "wrong": lambda r: not r["a"],
        "confused": lambda r: r["c"], "failed": lambda r: False,
        "right-wrong": lambda r: r["a"] and not r["b"],
    }  # fmt: skip
    for _ in range(60):
        key = fold(draw.choice(rows)["key"])
        start = draw.randrange(len(key))
        text = key[start : start + draw.randint(0, 12)]
        facets = tuple(draw.sample([("task", "qa"), ("relation", "P1")], draw.randint(0, 2)))
        outcome = draw.choice(list(tests))
        expected = [
            r["q"] for r in rows
            if fold(text) in r["key"] and all(r[k] == v for k, v in facets) and tests[outcome](r)
        ]  # fmt: skip
        wanted = listing.WantedRows(text, facets, outcome)
        assert paged(index, wanted, listing.find_queries, "q") == expected, wanted


def test_counting_stops_and_says_so(index: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MOST_COUNTED", 60)
    page = listing.find_sets(index, listing.WantedRows("a"))
    assert (len(page.rows), page.count, page.exact) == (listing.PAGE, 60, False)
    monkeypatch.setattr(listing, "_PATIENCE", -1.0)
    monkeypatch.setattr(listing, "_STEPS", 1)
    cut = listing.find_sets(index, listing.WantedRows("a"))
    assert not cut.complete


@pytest.fixture
def without_sets(tmp_path: Path, shared: Path) -> Iterator[Any]:
    """A real KILT file, imported; its benchmark has no name sets and no corpus."""
    folder = tmp_path / "served"
    import_kilt([shared / "data/kilt-samples/nq-dev-kilt.jsonl"], folder / "nq", KiltPlan())
    settings = SiteSettings(folder=folder, database=str(tmp_path / "w.sqlite"), cache=tmp_path,
                        hosts=("testserver",), no_login=True)  # fmt: skip
    with open_client(settings) as client:
        yield client


def test_a_benchmark_without_name_sets_shows_its_queries(without_sets: Any) -> None:
    served = without_sets.get("/api/benchmarks").json()[0]
    page = without_sets.get(f"/b/{served['key']}").text
    assert "Words of the query" in page
    listed = without_sets.get(f"/api/benchmarks/{served['key']}/queries").json()
    assert listed["count"] == len(listed["queries"]) > 1
    one = listed["queries"][0]
    word = max(one["input"].split(), key=len)
    found_again = without_sets.get(
        f"/api/benchmarks/{served['key']}/queries", params={"q": word.upper()}
    ).json()["queries"]
    assert one["q"] in [q["q"] for q in found_again]
    assert one["input"] in without_sets.get(f"/b/{served['key']}/query/{one['q']}").text


def test_queries_show_what_became_of_them(client: Any, key: str) -> None:
    served = client.get("/api/benchmarks").json()[0]
    runs = {run["name"]: run["key"] for run in served["runs"]}
    pair = {"run": runs["perfect"], "other": runs["second"], "outcome": "right-wrong", "q": "kim park"}
    listed = client.get(f"/api/benchmarks/{key}/queries", params=pair).json()
    assert listed["count"] == 3
    assert {(q["right0"], q["right1"], q["confused1"], q["gold_rank1"]) for q in listed["queries"]} == {
        (1, 0, 1, 2)
    }
    page = text_of(client, f"/b/{key}/queries", params=pair)
    assert "second: confused, gold at 2" in page
    second = f"/b/{key}/queries?outcome=confused&run={runs['second']}&fragment=true"
    assert client.get(second).text.count("<li>") == 12
    first = client.get(f"/b/{key}/queries?outcome=confused&fragment=true").text  # of the first run
    assert "nothing has all of this" in first
    assert client.get(f"/b/{key}/queries?outcome=sideways").status_code == 422


def test_plain_questions_can_be_explored(tmp_path: Path) -> None:
    benchmark = small_benchmark(tmp_path / "served" / "small")
    plain = [Query(id=q.id, task=q.task, input=q.input, outputs=q.outputs) for q in benchmark.queries]
    made = save_benchmark(
        tmp_path / "served" / "plain", name="plain", queries=plain, passages=benchmark.passages
    )

    def search(text: str, k: int) -> list[tuple[str, float]]:
        return [("wiki:00#0", 1.0), ("wiki:01#0", 0.5)]

    run_retriever(FunctionRetriever(search, name="same"), made, tmp_path / "served" / "run", k=2,
                  name="same")  # fmt: skip
    settings = SiteSettings(folder=tmp_path / "served", database=str(tmp_path / "w.sqlite"), cache=tmp_path,
                        hosts=("testserver",), no_login=True)  # fmt: skip
    with open_client(settings) as client:
        key = made.folder.content_hash[:12]
        run = next(b for b in client.get("/api/benchmarks").json() if b["key"] == key)["runs"][0]
        right = client.get(f"/api/benchmarks/{key}/queries", params={"outcome": "right", "run": run["key"]})
        assert [q["id"] for q in right.json()["queries"]] == ["q00"]
        page = client.get(f"/b/{key}/query/1").text
        assert page.count('<li class="gold">') == 1
        assert "confused" not in client.get(f"/b/{key}").text


def test_a_large_benchmark_is_indexed_while_the_page_waits(
    client: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explorer_index, "SMALL", 3)
    first = client.get(f"/b/{key}")
    assert first.status_code == 503
    assert "small is being indexed (24 rows)" in first.text
    assert 'data-reload="3"' in first.text
    for _ in range(600):
        page = client.get(f"/b/{key}")
        if page.status_code == 200:
            break
        time.sleep(0.05)
    assert "Kim Park" in page.text
    assert client.get(f"/api/benchmarks/{key}/sets").status_code == 200


def test_an_index_that_cannot_be_made_says_why(
    client: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise BadInput("no room on the disk")

    monkeypatch.setattr(explorer_index, "SMALL", 3)
    monkeypatch.setattr(explorer_index, "build_benchmark_index", broken)
    for _ in range(100):
        answer = client.get(f"/b/{key}")
        if answer.status_code != 503:
            break
        time.sleep(0.05)
    assert answer.status_code == 422
    assert "no room on the disk" in answer.text


def test_sets_are_numbered_by_their_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand, with sets that lie in several batches."""
    popularity = {"a": [5.0, 50.0, 20.0], "b": [None, 3.0], "c": [None, None], "d": [900.0, 0.0]}
    sets = [
        NameSet(id=key, name=key, bearers=tuple(
            Bearer(entity=f"{key}{n}", popularity=value) for n, value in enumerate(values)))
        for key, values in popularity.items()
    ]  # fmt: skip
    small = save_benchmark(
        tmp_path / "b", name="b", sets=sets, passages=[],
        queries=[Query(id="q", task="qa", input="?", outputs=(Output(answer="x"),))],
    )  # fmt: skip
    for batch in (1, 2, 4, 100):
        monkeypatch.setattr(explorer_index, "_SETS_BATCH", batch)
        index = tmp_path / f"{batch}.sqlite"
        explorer_index.build_benchmark_index(index, small.folder)
        with opened(index) as database:
            rows = database.execute("select n, bearers, gap from sets order by id").fetchall()
        assert [tuple(row) for row in rows] == [(2, 3, 2.5), (3, 2, None), (4, 2, None), (1, 2, 900.0)]
