"""The three-document choice of AmbER's Table 8: by hand, on three pages alone, and typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.bearer_labels import three_choices
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.cli import whichone
from whichone.corpus.page_names import Named
from whichone.errors import BadInput, UsageError
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query
from whichone.report.three_choice import parse_retriever, rank_three, score_three, three_choice_scores
from whichone.runs.retrieve import retrieve

TRADES = {"1": "rower", "2": "botanist", "3": "painter", "4": "baker", "5": "sailor"}


def query(entity: str, name_set: str, name: str) -> Query:
    gold = Provenance(page=f"p:{entity}")
    return Query(
        id=f"q{entity}",
        task="qa",
        input=f"Where does {name} the {TRADES[entity]} live?",
        outputs=(Output(answer=f"town {entity}", provenance=((gold,),)),),
        name=name,
        name_set=name_set,
        entity=entity,
        attributes={"collection": "human"},
    )


def bearer(entity: str) -> Bearer:
    return Bearer(entity=entity, popularity=10.0 - int(entity), pages=(f"p:{entity}",))


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    """Three bearers of one name, two of another."""
    names = {"a": ("Jo Mill", "123"), "b": ("Al Fen", "45")}
    owner = {e: name for name, members in names.values() for e in members}
    return save_benchmark(
        tmp_path / "bench",
        name="small",
        queries=[query(e, s, name) for s, (name, members) in names.items() for e in members],
        passages=[
            Passage(id=f"p:{e}#0", page=f"p:{e}", title=owner[e], text=f"{owner[e]} is a {trade}.")
            for e, trade in TRADES.items()
        ],
        names=[
            (f"p:{e}", Named(name, "anchor", 10 - int(e)))
            for name, members in names.values()
            for e in members
        ],
        sets=[
            NameSet(id=s, name=name, collection="human", bearers=tuple(map(bearer, members)))
            for s, (name, members) in names.items()
        ],
    )


def test_fewer_bearers_are_skipped_or_padded(benchmark: Benchmark) -> None:
    found = three_choices(benchmark)
    assert [item.query for item in found.items] == ["q1", "q2", "q3"]
    assert all(set(item.pages) == {"p:1", "p:2", "p:3"} for item in found.items)
    assert found.skipped["fewer than three bearers with pages"] == 2
    padded = {item.query: item for item in three_choices(benchmark, fewer="pad").items}
    assert (padded["q1"].padded, padded["q4"].padded) == (0, 1)
    assert {"p:4", "p:5"} < set(padded["q4"].pages) and len(set(padded["q4"].pages)) == 3


def test_the_best_ranked_of_the_three_is_the_choice(benchmark: Benchmark) -> None:
    ranked = {
        "s": {
            "q1": ["p:5", "p:1", "p:2"],  # right: p:5 is none of the three
            "q2": ["p:3", "p:2"],  # wrong
            "q3": ["p:4"],  # none of the three
        }
    }
    (row,) = score_three(benchmark, three_choices(benchmark), ranked)
    assert row.accuracy is not None and row.none_found is not None
    assert (row.collection, row.items) == ("human", 3)
    assert row.accuracy.value == pytest.approx(1 / 3)
    assert row.none_found.value == pytest.approx(1 / 3)


def test_retrievers_search_the_three_pages_alone(benchmark: Benchmark) -> None:
    items = three_choices(benchmark).items
    ranked = rank_three("bm25", benchmark, items, {"k1": 1.2})
    assert {q: pages[0] for q, pages in ranked.items()} == {i.query: i.gold for i in items}
    popular = rank_three("popular", benchmark, items)
    assert popular == {q: ["p:1", "p:2", "p:3"] for q in ("q1", "q2", "q3")}


def test_an_encoder_is_loaded_once(benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(
        "whichone.retrieval.dense.encoder._find_encoder", lambda told, device: loaded.append(told)
    )
    items = three_choices(benchmark, fewer="pad", seed=1).items
    assert len({tuple(sorted(item.pages)) for item in items}) > 1
    rank_three("namesake", benchmark, items, {"encoder": "none"})
    assert loaded == ["none"]


def test_what_cannot_be_scored_is_said(benchmark: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="three pages"):
        rank_three("json:loads", benchmark, ())
    with pytest.raises(UsageError, match="encoder=none"):
        parse_retriever("namesake encoder")
    with pytest.raises(UsageError, match="nothing to score"):
        three_choice_scores(str(benchmark.folder.root), ())
    empty = three_choices(benchmark, tasks=("sf",))
    with pytest.raises(BadInput, match="5 other task"):
        score_three(benchmark, empty, {})


def test_typed(benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    retrieve("bench", "run", retriever="popular", k=5)
    typed = ["score", "three", "bench", "run", "--retriever", "bm25", "--items", "items.jsonl"]
    done = CliRunner().invoke(whichone, [*typed, "--json"], catch_exceptions=False)
    document = json.loads(done.stdout)
    assert document["systems"]["popular"]["human"]["accuracy"]["value"] == pytest.approx(1 / 3)
    assert document["systems"]["bm25, three pages alone"]["human"]["accuracy"]["value"] == 1
    assert len((tmp_path / "items.jsonl").read_text().splitlines()) == document["items"] == 3
    shown = CliRunner().invoke(whichone, typed, catch_exceptions=False)
    assert "33.3" in shown.stdout
