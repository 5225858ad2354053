"""AmbER's files out and in again, through the command line as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from small_kb import dump_records, page_records, view_counts, write_kb

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.papers.amber.amber_files import export_amber, import_amber


def typed(*words: str) -> Result:
    from whichone.cli import whichone

    return CliRunner().invoke(whichone, list(words), catch_exceptions=False)


def by_name(path: Path) -> list[Any]:
    lines = (json.loads(line) for line in path.read_text().splitlines())
    return sorted(lines, key=lambda record: record["name"])


@pytest.fixture(scope="module")
def bench(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = shared / "golden" / "amber_build" / "world1"
    folder = tmp_path_factory.mktemp("files")
    kb = write_kb(
        folder / "kb",
        dump_records(world / "wikidata.json.bz2"),
        page_records(world / "kilt_knowledgesource.json.gz"),
        view_counts(world / "pagecounts-totals.bz2"),
    )
    done = typed(
        "build", "amber", str(kb), str(folder / "bench"), "--collection", "nonhuman",
        "--rules", "published", "--json", "--explain",
    )  # fmt: skip
    assert done.exit_code == 0
    counts = json.loads(done.stdout)
    assert counts["sets"] == 30
    assert [step["unit"] for step in counts["account"]["steps"]][:2] == ["names", "names"]
    return folder / "bench"


def test_export_gives_the_released_files(bench: Path, shared: Path, tmp_path: Path) -> None:
    written = export_amber(Benchmark.open(bench), tmp_path)
    expected = shared / "golden" / "amber_build" / "world1" / "expected"
    assert by_name(tmp_path / "amber_set_tuples.jsonl") == by_name(
        expected / "nonhuman.amber_set_tuples.jsonl"
    )
    for task in ("qa", "sf", "fc"):
        assert by_name(tmp_path / task / "amber_sets.jsonl") == by_name(
            expected / f"nonhuman.{task}.amber_sets.jsonl"
        )
        assert written[f"{task}/amber_sets.jsonl"] == 30


def test_trec_files_judge_pages_or_the_passages_that_runs_hold(bench: Path, tmp_path: Path) -> None:
    judged = {}
    for unit in ("page", "passage"):
        out = tmp_path / unit
        words = ["export", str(bench), str(out), "--format", "trec", "--unit", unit]
        assert typed(*words).exit_code == 0
        lines = (out / f"qrels.{unit}s.txt").read_text().splitlines()
        judged[unit] = {tuple(line.split()[::2]) for line in lines}
    passages = Benchmark.open(bench).passages.select(["id", "page"]).to_pydict()
    page_of = dict(zip(*passages.values(), strict=True))
    assert {(query, page_of[passage]) for query, passage in judged["passage"]} == judged["page"]
    assert len(judged["passage"]) > len(judged["page"])


def test_what_is_imported_goes_out_as_it_came_in(bench: Path, shared: Path, tmp_path: Path) -> None:
    export_amber(Benchmark.open(bench), tmp_path / "out")
    done = typed("import", "amber", str(tmp_path / "out"), str(tmp_path / "again"), "--json")
    assert done.exit_code == 0
    again = Benchmark.open(tmp_path / "again")
    first = Benchmark.open(bench)
    assert {q.id for q in again.queries} == {q.id for q in first.queries}
    assert {q.role for q in again.queries} == {"head", "tail"}
    export_amber(again, tmp_path / "out2")
    for task in ("qa", "sf", "fc"):
        file = Path(task) / "amber_sets.jsonl"
        assert by_name(tmp_path / "out" / file) == by_name(tmp_path / "out2" / file)


@pytest.mark.parametrize("task", ["qa", "sf", "fc"])
def test_the_task_is_told_by_the_queries(bench: Path, tmp_path: Path, task: str) -> None:
    export_amber(Benchmark.open(bench), tmp_path / "out")
    moved = tmp_path / "moved.jsonl"
    moved.write_bytes((tmp_path / "out" / task / "amber_sets.jsonl").read_bytes())
    assert {q.task for q in import_amber(moved, tmp_path / "bench").queries} == {task}


def test_repeated_ids_keep_the_last_as_the_released_scorer_does(shared: Path, tmp_path: Path) -> None:
    file = shared / "golden" / "amber" / "eval" / "a09_dup_query_ids" / "amber_sets.jsonl"
    made = import_amber(file, tmp_path / "bench")
    repeated = made.folder.manifest.counts["repeated_queries"]
    assert repeated > 0
    assert f"{repeated} repeated query ids" in made.card


def test_bad_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"name": "A", "qids": {"Q1": {}}}\n')
    with pytest.raises(BadInput, match=r"x\.jsonl:1: .*'is_head' is missing"):
        import_amber(tmp_path / "x.jsonl", tmp_path / "bench")
    for popularity in (52_000, "high"):
        bearer = {"is_head": True, "popularity": popularity, "wikipedia": [], "queries": []}
        (tmp_path / "x.jsonl").write_text(json.dumps({"name": "A", "qids": {"Q1": bearer}}))
        with pytest.raises(BadInput, match=f"log10 of the views in these files, not '?{popularity}"):
            import_amber(tmp_path / "x.jsonl", tmp_path / "bench")
    with pytest.raises(UsageError, match=r"no \{qa,sf,fc\}"):
        import_amber(tmp_path, tmp_path / "bench")
    assert not (tmp_path / "bench").exists()


def test_only_amber_benchmarks_go_out_as_amber(bench: Path, tmp_path: Path) -> None:
    from whichone.benchmarks.benchmark import save_benchmark
    from whichone.records import Output, Query

    other = save_benchmark(
        tmp_path / "b",
        name="other",
        queries=[Query(id="1", task="open", input="?", outputs=(Output(answer="x"),))],
        passages=[],
    )
    with pytest.raises(UsageError, match="no queries of the tasks"):
        export_amber(other, tmp_path / "out")


def test_explain_draws_a_name(bench: Path) -> None:
    kb = str(bench.parent / "kb")
    shown = typed("build", "amber", kb, "--collection", "human", "--explain", "Ana Kaya")
    assert shown.exit_code == 0
    assert "head, popularity 12,000,000" in shown.stdout
    assert "[2 bearers have it]" in shown.stdout
    document = typed("build", "amber", kb, "--collection", "human", "--json", "--explain", "Ana Kaya")
    assert json.loads(document.stdout)["name"] == "Ana Kaya"


def test_wrong_words_are_refused(bench: Path) -> None:
    kb = str(bench.parent / "kb")
    with pytest.raises(UsageError, match="BENCH is missing"):
        typed("build", "amber", kb, "--collection", "human")
    with pytest.raises(UsageError, match="no task 'qq'"):
        typed("build", "amber", kb, "x", "--collection", "human", "--tasks", "qq")
    with pytest.raises(UsageError, match="--gap"):
        typed("build", "amber", kb, "x", "--collection", "human", "--gap", "-1")
