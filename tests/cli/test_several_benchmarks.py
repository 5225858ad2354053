"""Several benchmarks over one corpus: asked, read, scored, compared, checked, reported and served together."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

import whichone as package
from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone
from whichone.errors import BadInput
from whichone.runs.run import Answers, Run


def typed(*words: object) -> str:
    done = CliRunner().invoke(whichone, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def document(*words: object) -> Any:
    return msgspec.json.decode(typed(*words, "--json"))


def read_csv(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text("utf-8").splitlines()))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """AmbER-H and AmbER-N in a folder, EntityQuestions and questions of our own beside it, one corpus."""
    root = tmp_path_factory.mktemp("several")
    kb = Benchmark.open("builtin/amber").folder.root.parent / "kb"
    typed("corpus", kb, root / "corpus")
    over = ["--corpus", root / "corpus"]
    for collection in ("human", "nonhuman"):
        typed(
            "build", "amber", kb, root / "amber" / collection, "--collection", collection, *over,
            "--tasks", "qa",
        )  # fmt: skip
    typed("build", "entityquestions", kb, root / "questions", *over)
    opened = Benchmark.open(root / "amber" / "human")
    records = [
        {"id": q.id, "question": f"Please: {q.input}", "gold": sorted(q.gold_pages())}
        for q in opened.queries[:20]
    ]
    file = root / "own.jsonl"
    file.write_bytes(b"\n".join(map(msgspec.json.encode, records)))
    typed("import", "questions", file, root / "own", "--gold", "gold", "--id", "id", *over)
    for name, words in {
        "human": [root / "amber" / "human"],
        "both": [root / "amber"],
        "all": [root / "amber", root / "questions", root / "own"],
        "tfidf": [root / "amber", root / "questions", root / "own", "--retriever", "tfidf"],
    }.items():
        typed("retrieve", *words[:3], root / "runs" / name, *words[3:])
    return root


def test_equal_ids_of_two_benchmarks_stay_apart(place: Path) -> None:
    human, own = Benchmark.open(place / "amber" / "human"), Benchmark.open(place / "own")
    shared = {q.id for q in human.queries} & {q.id for q in own.queries}
    assert len(shared) == 20
    run = Run.open(place / "runs" / "all")
    ranked = run.ranked_pages()
    assert {f"amber-human/{q}" for q in shared} | {f"own/{q}" for q in shared} <= ranked.keys()
    joined = run.benchmark()
    asked = {q.id: q.input for q in joined.queries}
    some = min(shared)
    assert asked[f"own/{some}"] == f"Please: {asked[f'amber-human/{some}']}"
    assert len(asked) == sum(
        len(Benchmark.open(place / name).queries)
        for name in ("amber/human", "amber/nonhuman", "questions", "own")
    )


def test_the_run_names_every_benchmark_and_one_alone_stays_as_it_was(place: Path) -> None:
    manifest = Run.open(place / "runs" / "both").folder.manifest
    parts = {n: Benchmark.open(place / "amber" / n) for n in ("human", "nonhuman")}
    assert manifest.parents == {
        "benchmark": Run.open(place / "runs" / "both").benchmark_id,
        "benchmark amber-human": parts["human"].id,
        "benchmark amber-nonhuman": parts["nonhuman"].id,
    }
    assert manifest.made["benchmark"] == [str((place / "amber" / n).resolve()) for n in parts]
    alone = Run.open(place / "runs" / "human")
    assert alone.folder.manifest.parents == {"benchmark": parts["human"].id}
    assert alone.folder.manifest.made["benchmark"] == str((place / "amber" / "human").resolve())
    assert set(alone.ranked_pages()) <= {q.id for q in parts["human"].queries}


def test_its_id_is_of_its_parts_wherever_they_are(place: Path, tmp_path: Path) -> None:
    joined = Benchmark.open(place / "amber")
    shutil.copytree(place / "amber" / "human", tmp_path / "b")
    copied = Benchmark.open([place / "amber" / "nonhuman", tmp_path / "b"])
    assert copied.id == joined.id and joined.name == "amber-human+amber-nonhuman"
    assert copied.place != joined.place
    assert Benchmark.open([place / "amber", place / "own"]).id != joined.id
    assert Benchmark.open([tmp_path / "b"]).id == Benchmark.open(tmp_path / "b").id
    kb = Benchmark.open("builtin/amber").folder.root.parent / "kb"
    words = ["build", "amber", kb, tmp_path / "c", "--collection", "human", "--tasks", "sf"]
    typed(*words, "--corpus", place / "corpus")
    alike = [Benchmark.open(p) for p in (tmp_path / "b", tmp_path / "c")]  # of one name
    asked = Benchmark.open(alike).queries
    assert {q.attributes["benchmark"] for q in asked} == {b.id for b in alike}
    assert len(asked) == sum(len(b.queries) for b in alike)
    twice = Benchmark.open([place / "amber" / "human", tmp_path / "b"])
    assert twice.id == Benchmark.open(tmp_path / "b").id


def test_figures_of_a_benchmark_are_those_of_its_own_run(place: Path) -> None:
    measures = ["--measures", "acc@1,acc@20,confused@20,all_correct@1,rprec"]
    (alone,) = document("score", place / "runs" / "human", *measures)
    for name in ("both", "all"):
        rows = document("score", place / "runs" / name, *measures, "--by", "benchmark")
        (within,) = [row for row in rows if row.pop("benchmark") == "amber-human"]
        assert within == alone


def test_the_benchmark_is_a_column_also_of_one_alone(place: Path) -> None:
    rows = document("score", place / "runs" / "human", "--by", "benchmark,role")
    assert {row["benchmark"] for row in rows} == {"amber-human"}
    rows = document("score", place / "runs" / "all", "--by", "benchmark,role")
    assert {row["benchmark"] for row in rows} == {
        "EntityQuestions", "amber-human", "amber-nonhuman", "own",
    }  # fmt: skip


def test_per_query_rows_say_whose_they_are(place: Path, tmp_path: Path) -> None:
    typed("score", place / "runs" / "all", "--per-query", tmp_path / "rows.csv")
    rows = read_csv(tmp_path / "rows.csv")
    assert all(row["query"].startswith(f"{row['benchmark']}/") for row in rows)
    typed("score", place / "runs" / "human", "--per-query", tmp_path / "one.csv")
    assert "benchmark" not in read_csv(tmp_path / "one.csv")[0]


def test_systems_are_compared_within_each_benchmark(place: Path) -> None:
    runs = [place / "runs" / "all", place / "runs" / "tfidf"]
    rows = document("compare", *runs, "--measures", "acc@1", "--by", "benchmark")
    assert [row["where"]["benchmark"] for row in rows] == [
        "EntityQuestions", "amber-human", "amber-nonhuman", "own",
    ]  # fmt: skip
    done = CliRunner().invoke(whichone, ["compare", str(runs[0]), str(place / "runs" / "both")])
    assert isinstance(done.exception, BadInput) and "different benchmarks" in str(done.exception)


def test_budgets_are_checked_in_each_benchmark(place: Path) -> None:
    words = ["check", place / "runs" / "all", "--by", "benchmark", "--no-floor", "--json"]
    words += ["--max-confusion", "0.47"]
    done = CliRunner().invoke(whichone, list(map(str, words)))
    checks = {c["name"]: c for c in msgspec.json.decode(done.stdout)["report"]["checks"]}
    values = document("score", place / "runs" / "all", "--by", "benchmark")
    for row in values:
        figure = row["confused@20"]
        if figure["value"] is None:  # questions without namesakes: there is nothing to check
            assert f"{row['benchmark']}: max_confusion" not in checks
            continue
        check = checks[f"{row['benchmark']}: max_confusion"]
        assert check["estimate"]["value"] == figure["value"]
        assert (check["verdict"] == "failed") is ((figure["low"] or 0) > 0.47)
    assert done.exit_code == int(any(c["verdict"] == "failed" for c in checks.values()))
    whole = CliRunner().invoke(whichone, ["check", str(place / "runs" / "all"), "--no-floor"])
    assert whole.exit_code == 0, whole.output


def test_a_report_has_the_benchmark_as_a_column(place: Path, tmp_path: Path) -> None:
    typed("report", place / "runs" / "all", place / "runs" / "tfidf", tmp_path / "report.html")
    rows = read_csv(tmp_path / "report-files" / "accuracy-at-1.csv")
    (alone,) = document("score", place / "runs" / "human", "--measures", "acc@1")
    (row,) = [r for r in rows if r["benchmark"] == "amber-human" and r["system"] == "bm25"]
    assert float(row["all"]) == alone["acc@1"]["value"]
    latex = (tmp_path / "report-files" / "accuracy-at-1.tex").read_text()
    assert "benchmark & collection & task & system" in latex
    assert "amber-nonhuman & nonhuman & question answering & tfidf" in latex
    first = (tmp_path / "report-files" / "entityquestions-table-1.csv").read_text()
    assert '"EntityQuestions, macro average"' in first and "\nown," in first
    assert "amber-human+amber-nonhuman" in (tmp_path / "report.html").read_text()


def test_readers_read_what_was_found_for_all(place: Path, tmp_path: Path) -> None:
    words = [place / "amber", tmp_path / "answers", "--reader", "kb-lookup"]
    typed("read", *words, "--passages", "retrieved", "--run", place / "runs" / "both")
    alone = [place / "amber" / "human", tmp_path / "alone", "--reader", "kb-lookup"]
    typed("read", *alone, "--passages", "retrieved", "--run", place / "runs" / "human")
    together, single = Answers.open(tmp_path / "answers"), Answers.open(tmp_path / "alone")
    texts = {q.removeprefix("amber-human/"): a.text for q, a in together.answers.items()}
    assert {q: a.text for q, a in single.answers.items()}.items() <= texts.items()
    assert "amber/human" in str(together.folder.manifest.made["command"])
    rows = document("score", tmp_path / "answers", "--by", "benchmark")
    (own,) = document("score", tmp_path / "alone")
    assert {**own, "benchmark": "amber-human"} in rows
    typed("report", tmp_path / "answers", tmp_path / "read.html")
    table = (tmp_path / "read-files" / "end-to-end.csv").read_text()
    assert table.startswith("benchmark,collection,task,system")
    other = ["read", *alone[:1], tmp_path / "no", "--reader", "kb-lookup", "--passages", "retrieved"]
    done = CliRunner().invoke(whichone, [*map(str, other), "--run", str(place / "runs" / "both")])
    assert isinstance(done.exception, BadInput) and "the run is over amber-human+" in str(done.exception)


def test_sampled_gold_is_the_same_alone_and_among_others(place: Path, tmp_path: Path) -> None:
    """What is drawn for a question hangs on its own id, not on who else is asked."""
    options = ["--reader", "kb-lookup", "--passages", "gold", "--shuffled"]
    typed("read", place / "amber", tmp_path / "both", *options)
    typed("read", place / "amber" / "nonhuman", tmp_path / "alone", *options)
    both, alone = Answers.open(tmp_path / "both").shown, Answers.open(tmp_path / "alone").shown
    assert {f"amber-nonhuman/{q}": shown for q, shown in alone.items()}.items() <= both.items()


def test_moved_benchmarks_are_named_each(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place / "amber", tmp_path / "amber")
    shutil.copytree(place / "runs" / "both", tmp_path / "run")
    moved = [f"--benchmark={tmp_path / 'amber' / n}" for n in ("nonhuman", "human")]
    assert document("score", tmp_path / "run", *moved) == document("score", place / "runs" / "both")
    folder = ["--benchmark", tmp_path / "amber"]
    assert document("score", tmp_path / "run", *folder) == document("score", tmp_path / "run")
    done = CliRunner().invoke(whichone, ["score", str(tmp_path / "run"), moved[0]])
    assert isinstance(done.exception, BadInput) and "is over amber-human+" in str(done.exception)


def test_other_corpora_are_refused_by_name(place: Path, tmp_path: Path) -> None:
    words = ["retrieve", place / "own", "builtin/entityquestions", tmp_path / "run"]
    done = CliRunner().invoke(whichone, list(map(str, words)))
    assert isinstance(done.exception, BadInput)
    said = str(done.exception)
    assert "different corpora" in said and "own (" in said and "EntityQuestions (" in said
    assert not (tmp_path / "run").exists()


def test_evaluate_asks_several(place: Path) -> None:
    run = Run.open(place / "runs" / "both")
    joined, ranked = run.benchmark(), run.ranked_pages()
    pages = {q.input: ranked.get(q.id, []) for q in joined.queries}
    result = package.evaluate(
        lambda text, k: pages[text][:k], benchmark=[place / "amber" / "human", place / "amber"], name="mine"
    )
    assert set(result.to_arrow()["benchmark"].to_pylist()) == {"amber-human", "amber-nonhuman"}
    figures = result.to_dict()["retrievers"]["mine"]["amber-nonhuman"]["nonhuman"]["qa"]
    rows = document("score", place / "runs" / "both", "--by", "benchmark", "--measures", "acc@1")
    (own,) = [row["acc@1"] for row in rows if row["benchmark"] == "amber-nonhuman"]
    assert figures["all"] == own
    assert str(result).splitlines()[0].split()[:3] == ["benchmark", "collection", "task"]


def test_the_explorer_filters_by_benchmark(place: Path, tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from whichone.web.app import make_app
    from whichone.web.site_settings import SiteSettings

    shutil.copytree(place / "amber", tmp_path / "served" / "amber")
    shutil.copytree(place / "runs" / "both", tmp_path / "served" / "run")
    settings = SiteSettings(
        folder=tmp_path / "served", database=str(tmp_path / "web.sqlite"), cache=tmp_path / "cache",
        hosts=("testserver",), no_login=True,
    )  # fmt: skip
    key = Benchmark.open(place / "amber").folder.content_hash[:12]
    with TestClient(make_app(settings)) as client:
        client.cookies.set("whichone", client.app.state.site.local.token)  # type: ignore[attr-defined]
        assert "amber-human+amber-nonhuman" in client.get("/").text
        page = client.get(f"/b/{key}/queries").text
        assert '<select name="benchmark">' in page and "bm25" in page
        listed = client.get(f"/b/{key}/queries?benchmark=amber-human").text
        asked = len(Benchmark.open(place / "amber" / "human").queries)
        assert f"{asked:,} queries" in listed
    given = SiteSettings(
        folder=place / "own", more=(place / "questions",), database=str(tmp_path / "2.sqlite"),
        cache=tmp_path / "cache", hosts=("testserver",), no_login=True,
    )  # fmt: skip
    with TestClient(make_app(given)) as client:
        client.cookies.set("whichone", client.app.state.site.local.token)  # type: ignore[attr-defined]
        assert "EntityQuestions+own" in client.get("/").text


def test_one_benchmark_of_two_collections(place: Path, tmp_path: Path) -> None:
    kb = Benchmark.open("builtin/amber").folder.root.parent / "kb"
    words = ["build", "amber", kb, tmp_path / "both", "--collection", "human"]
    typed(*words, "--collection", "nonhuman")
    both, builtin = Benchmark.open(tmp_path / "both"), Benchmark.open("builtin/amber")
    assert both.queries == builtin.queries and both.sets == builtin.sets
    assert both.corpus.passages.equals(builtin.corpus.passages)
    assert both.folder.manifest.counts["sets"] == 85
    alone = Benchmark.open(place / "amber" / "human")
    typed(*words[:3], tmp_path / "sets", *words[4:], "--collection", "nonhuman", "--pages", "sets")
    pages = {page for s in both.sets for b in s.bearers for page in b.pages}
    assert {p["page"] for p in Benchmark.open(tmp_path / "sets").passages.to_pylist()} == pages
    over = ["--corpus", place / "corpus", "--tasks", "qa"]
    typed(*words[:3], tmp_path / "over", *words[4:], "--collection", "nonhuman", *over)
    opened = Benchmark.open(tmp_path / "over")
    assert opened.corpus.hash == alone.corpus.hash
    assert opened.queries[: len(alone.queries)] == alone.queries
