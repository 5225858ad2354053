"""`bench/wikipedia_full.py`: the steps from dumps to benchmarks, what is left of them after an interruption, and what is expected."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone

BENCH = Path(__file__).resolve().parent.parent / "bench"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCH))
    import wikipedia_full

    yield wikipedia_full
    for name in ("wikipedia_full", "wikipedia_expected"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An invented world under the names that Wikimedia gives its files."""
    folder = tmp_path_factory.mktemp("dumps")
    typed = ["world", "--entities", "700", "--ambiguity", "0.8", str(folder / "world")]
    CliRunner().invoke(whichone, typed, catch_exceptions=False)
    for name, called in (
        ("pages-articles.xml.bz2", "enwiki-20260101-pages-articles1.xml-p1p1000.bz2"),
        ("wikidata.json.bz2", "wikidata-20260101-all.json.bz2"),
        ("pagecounts-totals.bz2", "pagecounts-2026-01-views-ge-5-totals.bz2"),
    ):
        (folder / "world" / name).rename(folder / called)
    (folder / "enwiki-20260101-pages-articles-multistream-index.txt.bz2").write_bytes(b"")
    (folder / "enwiki-20260101-pages-articles-multistream.xml.bz2").write_bytes(b"")
    return folder


def typed_in(words: tuple[str, ...]) -> int:
    return CliRunner().invoke(whichone, words).exit_code


def plan_of(program: Any, dumps: Path, work: Path) -> Any:
    plan = program.Plan(program.find_dumps(dumps), work, "en", "1GB", 1, "views", ("human", "nonhuman"))
    plan.steps.extend(program.steps_of(plan))
    return plan


def test_files_are_recognised_by_their_names(program: Any, dumps: Path) -> None:
    """The multistream dump has the pages of the plain one, and an index has none."""
    names = {kind: [f.name for f in files] for kind, files in program.find_dumps(dumps).items()}
    assert names == {
        "pages": ["enwiki-20260101-pages-articles1.xml-p1p1000.bz2"],
        "wikidata": ["wikidata-20260101-all.json.bz2"],
        "views": ["pagecounts-2026-01-views-ge-5-totals.bz2"],
        "redirects": [],
        "catalogue": [],
    }


def test_steps_that_are_complete_are_not_done_again(
    program: Any, dumps: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of(program, dumps, tmp_path / "work")
    asked: list[str] = []

    def killed_in_the_third(words: tuple[str, ...]) -> int:
        asked.append(words[0])
        if len(asked) == 3:
            raise KeyboardInterrupt
        return typed_in(words)

    with pytest.raises(KeyboardInterrupt):
        program.run_plan(plan, only_expect=False, call=killed_in_the_third)
    assert asked == ["ingest", "corpus", "build"]

    def noted(words: tuple[str, ...]) -> int:
        asked.append(words[0])
        return typed_in(words)

    assert program.run_plan(plan, only_expect=False, call=noted) == 0
    assert asked[3:] == ["build"] * 4 + ["index"] + ["retrieve", "score"] * 4 + ["verify"]
    steps = program.Journal(tmp_path / "work").steps
    made = Benchmark.open(tmp_path / "work" / "amber-human")
    assert steps["amber-human"]["counts"]["queries"] == len(made.queries) > 0
    assert steps["corpus"]["disk"] > 0 and all(step["done"] for step in steps.values())
    capsys.readouterr()
    assert program.run_plan(plan, only_expect=False, call=noted) == 0
    assert len(asked) == 3 + 14
    assert capsys.readouterr().out.count("complete: took") == len(plan.steps)


def test_a_benchmark_that_cannot_be_built_leaves_the_others(
    program: Any, dumps: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing_in_amber(words: tuple[str, ...]) -> int:
        without = {"amber": 3, "entityquestions": 2}  # nothing left; no questions in the language
        return without.get(words[1], 0) if words[0] == "build" else 0

    plan = plan_of(program, dumps, tmp_path / "work")
    assert program.run_plan(plan, only_expect=False, call=nothing_in_amber) == 1
    printed = capsys.readouterr().out
    assert "left out: there is no amber-human" in printed and "check ambigdocs" in printed
    steps = program.Journal(tmp_path / "work").steps
    assert (
        not steps["amber-human"]["done"]
        and not steps["entityquestions"]["done"]
        and steps["check ambigdocs"]["done"]
    )


def test_an_error_ends_the_program(program: Any, dumps: Path, tmp_path: Path) -> None:
    plan = plan_of(program, dumps, tmp_path / "work")
    with pytest.raises(SystemExit, match="ingest ended with 3"):
        program.run_plan(plan, only_expect=False, call=lambda words: 3)


def test_what_the_english_wikipedia_is_expected_to_take(program: Any) -> None:
    """22 GB of pages and 90 GB of Wikidata, both bzip2."""
    from wikipedia_expected import MB, Sizes, expected

    sizes = Sizes(pages=22e3 * 5, wikidata=90e3 * 15, views=5e3, articles=22e3 * 5 * 68)
    ingest, corpus = (expected(step, sizes, 16) for step in ("ingest", "corpus"))
    assert 6e6 < ingest.counts["pages"] < 8e6 and 2e7 < corpus.counts["passages"] < 3e7
    assert 1e4 * MB < corpus.disk < 5e4 * MB
    assert expected("ingest", sizes, 2).seconds > 4 * ingest.seconds
    assert 2_000 < expected("amber-human", sizes, 16).counts["sets"] < 3_000
