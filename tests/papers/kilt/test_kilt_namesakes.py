"""KILT over a knowledge base: pages through redirects, gold that is checked, names that are shared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.papers.kilt import import_kilt as kilt_import_kilt
from whichone.papers.kilt import kilt_files
from whichone.papers.kilt.import_kilt import KiltPlan, import_kilt, read_kilt
from whichone.papers.kilt.kilt_files import export_kilt
from whichone.papers.kilt.kilt_report import namesake_section
from whichone.papers.kilt.snapshot_pages import Snapshot, popularity_bin


def record(identity: str, text: str, *pages: str, **span: Any) -> dict[str, Any]:
    entries = [{"wikipedia_id": page, **span} for page in pages]
    return {"id": identity, "input": text, "output": [{"answer": "a", "provenance": entries}]}


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    return path


@pytest.mark.parametrize(
    ("reference", "page"),
    [
        ("307", "enwiki:307"),
        ("enwiki:308", "enwiki:308"),
        ("Soul Food (film)", "enwiki:309"),
        ("Soul_Food_(film)", "enwiki:309"),
        ("Honest Abe", "enwiki:307"),
        ("https://en.wikipedia.org/wiki/Abe_Lincoln_%28musician%29#Life", "enwiki:308"),
        ("https://en.wikipedia.org/w/index.php?title=Honest_Abe&oldid=5", "enwiki:307"),
        ("https://en.wikipedia.org/w/index.php?curid=310", "enwiki:310"),
        ("therefore sign", "enwiki:310"),
    ],
)
def test_pages_by_id_title_address_and_redirect(snapshot_folder: Path, reference: str, page: str) -> None:
    assert Snapshot(snapshot_folder).resolve([reference, "Nobody"]) == {reference: page}


@pytest.fixture
def bench(snapshot_folder: Path, tmp_path: Path) -> Benchmark:
    file = write(
        tmp_path / "nq-dev-kilt.jsonl",
        record("tail", "which instrument did Abe Lincoln play", "308"),
        record("head", "when was abe lincoln born", "307"),
        record("full", "when was Abraham Lincoln born", "307"),
        record("film", "who released Soul Food", "309"),
        record("both", "were soul food and abe lincoln american", "309", "308"),
        record("unseen", "what is the therefore sign", "310"),
    )
    return import_kilt([file], tmp_path / "bench", KiltPlan(knowledge=str(snapshot_folder)))


def test_queries_know_whose_page_their_gold_is(bench: Benchmark) -> None:
    found = {q.id: q for q in bench.queries}
    assert {i: q.attributes["shared_name"] for i, q in found.items()} == {
        "tail": True, "head": True, "full": False, "film": False, "both": True, "unseen": False,
    }  # fmt: skip
    assert (found["tail"].role, found["head"].role, found["full"].role) == ("tail", "head", None)
    assert found["tail"].name == "abe lincoln"
    assert found["tail"].attributes["popularity"] == 40
    assert found["film"].attributes["popularity_bin"] == "10^3"
    assert found["unseen"].attributes["popularity_bin"] == "not known"
    assert found["both"].attributes["gold_entities"] == ["Q1", "Q4666410"]
    assert found["both"].entity == "Q4666410"
    assert bench.other_pages(found["tail"]) == {"enwiki:307"}
    assert bench.other_pages(found["both"]) == {"enwiki:307"}
    assert bench.other_pages(found["film"]) == frozenset()
    assert [b.entity for b in bench.sets[0].bearers] == ["Q91", "Q4666410"]
    assert bench.folder.manifest.counts["about_shared_names"] == 3


def test_what_was_added_stays_here(bench: Benchmark, tmp_path: Path) -> None:
    export_kilt(bench, tmp_path / "out.jsonl")
    first = json.loads((tmp_path / "out.jsonl").read_bytes().splitlines()[0])
    assert first == record("tail", "which instrument did Abe Lincoln play", "308")


def test_r_precision_splits_into_unique_and_shared_names(bench: Benchmark, tmp_path: Path) -> None:
    from whichone.measures.measure import parse_measures
    from whichone.measures.scores import score_run, slice_scores
    from whichone.runs.run_files import import_run

    guesses = {"tail": "307", "head": "307", "full": "307", "film": "309", "both": "309"}
    file = write(
        tmp_path / "guess.jsonl",
        *(
            {"id": q.id, "output": [{"provenance": [{"wikipedia_id": guesses.get(q.id, "307")}]}]}
            for q in bench.queries
        ),
    )
    run = import_run(file, tmp_path / "run", bench, place=str(tmp_path / "bench"), format="kilt")
    scores = score_run(run, bench, parse_measures(["rprec"]))
    split = {w["shared_name"]: e["rprec"].value for w, e in slice_scores(scores, ["shared_name"])}
    assert split[False] == pytest.approx(2 / 3)
    assert split[True] == pytest.approx((0 + 1 + 0.5) / 3)
    section = namesake_section([run], bench)
    assert section is not None
    names, views = section.tables
    assert [(row[1], row[4]) for row in names.rows] == [("shared", 3), ("unique", 3)]
    assert {str(row[1]) for row in views.rows} == {"10^1", "10^3", "10^5", "not known"}


def test_blocks_of_records_are_placed_the_same(
    snapshot_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [record(str(n), f"Abe Lincoln number {n}", ("308", "310")[n % 2]) for n in range(7)]
    file = write(tmp_path / "nq-dev-kilt.jsonl", *records)
    plan = KiltPlan(knowledge=str(snapshot_folder))
    whole = import_kilt([file], tmp_path / "whole", plan)
    monkeypatch.setattr(kilt_import_kilt, "GOLD_AT_ONCE", 2)
    monkeypatch.setattr(kilt_files, "BLOCK", 3)
    blocks = import_kilt([file], tmp_path / "blocks", plan)
    assert blocks.id == whole.id
    assert blocks.queries == whole.queries
    assert blocks.sets == whole.sets


def test_names_of_mentions_and_subjects(snapshot_folder: Path, tmp_path: Path) -> None:
    linked = write(
        tmp_path / "wned-dev-kilt.jsonl", record("el", "heard [START_ENT] Abe Lincoln [END_ENT] play", "308")
    )
    filled = write(tmp_path / "trex-dev-kilt.jsonl", record("sf", "Abe Lincoln [SEP] instrument", "308"))
    _, corpus = read_kilt([linked, filled], KiltPlan(knowledge=str(snapshot_folder)))
    assert [(q.name, q.role) for q in corpus.queries] == [("abe lincoln", "tail")] * 2


def test_gold_that_the_snapshot_does_not_hold_is_told(
    snapshot_folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    span = {"start_paragraph_id": 1, "end_paragraph_id": 1, "start_character": 0}
    file = write(
        tmp_path / "nq-dev-kilt.jsonl",
        record("gone", "q", "999"),
        record("short", "q", "310", start_paragraph_id=7, end_paragraph_id=7),
        record("far", "q", "310", **span, end_character=500),
        record("back", "q", "310", **{**span, "start_character": 9}, end_character=3),
        record("fine", "q", "310", **span, end_character=10),
        record("unmapped", "q", "310", start_paragraph_id=1, start_character=-1,
               end_paragraph_id=1, end_character=-1),
    )  # fmt: skip
    _, corpus = read_kilt([file], KiltPlan(knowledge=str(snapshot_folder)))
    assert corpus.problems == {
        "gone": ["no page enwiki:999 (no title)"],
        "short": ["enwiki:310: paragraph 7 of a page with 2"],
        "far": ["enwiki:310: character 500 is beyond its paragraph"],
        "back": ["enwiki:310: the span ends before it begins"],
    }
    assert "4 records" in capfd.readouterr().err


def test_gold_is_found_in_a_corpus_by_title(tmp_path: Path) -> None:
    passages = tmp_path / "passages.jsonl"
    texts = [("p1", "Abe Lincoln (musician)"), ("p2", "Abe Lincoln"), ("p3", "Soul Food")]
    passages.write_text("".join(json.dumps({"id": i, "title": t, "text": "x"}) + "\n" for i, t in texts))
    gold = record("1", "q", "308", title="Abe Lincoln (musician)")
    file = write(tmp_path / "nq-dev-kilt.jsonl", gold, record("2", "q", "77", title="Nobody"))
    bench = import_kilt([file], tmp_path / "bench", KiltPlan(passages=str(passages)))
    first, second = bench.queries
    assert first.gold_pages() <= bench.pages
    assert first.attributes["shared_name"] is True
    assert second.attributes["shared_name"] is None
    assert bench.folder.manifest.counts["gold_problems"] == 1
    export_kilt(bench, tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_bytes().splitlines()[0]) == gold


@pytest.mark.parametrize(
    ("views", "told"), [(None, "not known"), (0, "0"), (1, "10^0"), (999, "10^2"), (1000, "10^3")]
)
def test_popularity_bins(views: float | None, told: str) -> None:
    assert popularity_bin(views) == told
