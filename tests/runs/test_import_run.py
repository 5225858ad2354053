"""Rankings of others come in, ours go out, and the way there and back changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.corpus.corpus import from_trec, to_trec
from whichone.errors import BadInput, UsageError
from whichone.records import Output, Passage, Provenance, Query
from whichone.report.show import export
from whichone.runs.run import Run
from whichone.runs.run_files import FORMATS, import_run


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    gold = (Output(answer="a", provenance=((Provenance(page="enwiki:1"),),)),)
    return save_benchmark(
        tmp_path / "bench",
        name="b",
        queries=[
            Query(id="q 1", task="qa", input="first?", outputs=gold),
            Query(id="q2", task="qa", input="second?", outputs=gold),
        ],
        passages=[
            Passage(id=f"enwiki:{n}#{m}", page=f"enwiki:{n}", title=f"T{n}", text="x")
            for n in (1, 2, 3)
            for m in (0, 1)
        ],
    )


def bring(bench: Benchmark, tmp_path: Path, text: str, format: str, **more: str) -> Run:
    file = tmp_path / "theirs"
    file.write_text(text)
    place = str(tmp_path / "bench")
    return import_run(file, tmp_path / "run", bench, place=place, format=format, **more)


def ranked(run: Run) -> dict[str, list[tuple[int, str, str, float]]]:
    found: dict[str, list[tuple[int, str, str, float]]] = {}
    for row in run.rankings.to_pylist():
        values = (row["rank"], row["passage"], row["page"], row["score"])
        found.setdefault(row["question"], []).append(values)
    return found


TREC = "q%201 Q0 enwiki:2#1 2 1.5 t\nq%201 Q0 enwiki:1#0 1 2.5 t\nq2 Q0 enwiki:3#0 1 1 t\n"


def test_a_trec_run(bench: Benchmark, tmp_path: Path) -> None:
    run = bring(bench, tmp_path, TREC, "trec", name="theirs")
    assert ranked(run) == {
        "q 1": [(1, "enwiki:1#0", "enwiki:1", 2.5), (2, "enwiki:2#1", "enwiki:2", 1.5)],
        "q2": [(1, "enwiki:3#0", "enwiki:3", 1.0)],
    }
    assert run.name == "theirs"
    assert run.benchmark().id == bench.id


def test_pyserinis_msmarco_layout(bench: Benchmark, tmp_path: Path) -> None:
    run = bring(bench, tmp_path, "q 1\t2\t2\nq 1\tenwiki:1#0\t1\nq2\t3\t1\n", "msmarco")
    assert ranked(run) == {
        "q 1": [(1, "enwiki:1#0", "enwiki:1", -1.0), (2, "enwiki:2", "enwiki:2", -2.0)],
        "q2": [(1, "enwiki:3", "enwiki:3", -1.0)],
    }
    with pytest.raises(BadInput, match="theirs:1: three columns"):
        bring(bench, tmp_path, "q2 3 1\n", "msmarco")


def test_scores_count_where_ranks_contradict_them(
    bench: Benchmark, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    text = "q%201 Q0 1 1 1 t\nq%201 Q0 2 2 9 t\nq2 Q0 3 1 1 t\n"
    run = bring(bench, tmp_path, text, "trec")
    assert [page for _, _, page, _ in ranked(run)["q 1"]] == ["enwiki:2", "enwiki:1"]
    assert "1 queries have ranks that contradict" in capfd.readouterr().err


def prediction(identity: str, *pages: object, listed: bool = True) -> str:
    output = {"provenance": [{"wikipedia_id": page} for page in pages]}
    return json.dumps({"id": identity, "output": [output] if listed else output}) + "\n"


@pytest.mark.parametrize("form", ["kilt", "amber"])
def test_predictions(bench: Benchmark, tmp_path: Path, form: str) -> None:
    listed = form == "kilt"
    text = prediction("q 1", 2, "1", "2", None, listed=listed) + prediction("q2", listed=listed)
    run = bring(bench, tmp_path, text, form)
    assert ranked(run) == {"q 1": [(1, "enwiki:2", "enwiki:2", 0.0), (2, "enwiki:1", "enwiki:1", -1.0)]}
    assert run.failures == {}
    assert run.folder.manifest.counts["repeated_results"] == 1


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("trec", TREC + "q9 Q0 enwiki:1#0 1 1 t\n", r"theirs:4: .*no such query \(q9\)"),
        ("trec", TREC + "q2 Q0 enwiki:8#0 1 1 t\n", r"theirs:4: .*no page or passage 'enwiki:8#0'"),
        ("trec", "q2 Q0 enwiki:1#0\n", "theirs:1: six columns"),
        ("trec", "q2 Q0 enwiki:1#0 1 1 t\n", r"1 of 2 queries have no ranking \(q 1\)"),
        ("trec", "q2 Q0 enwiki:1#0 1 high t\n", "theirs:1: the score is no finite number: 'high'"),
        ("trec", "q2 Q0 enwiki:1#0 1 nan t\n", "theirs:1: the score is no finite number: 'nan'"),
        ("trec", TREC + "q2 Q0 enwiki:1#0 9 0 v\n", "theirs:4: a line of 'v' in the run of 't'"),
        ("kilt", prediction("q2", 1) * 2, r"theirs:2: .*came before, on line 1 \(q2\)"),
        ("kilt", prediction("q2", 1).replace("}]", ', "score": "nan"}]', 1), "theirs:1: .* is nan"),
        ("kilt", '{"id": "q2"}\n', "theirs:1: not a prediction"),
        ("kilt", "{\n", "theirs:1: not the JSON"),
        ("kilt", json.dumps({"id": "q2", "output": [{"provenance": []}] * 2}), "several outputs"),
    ],
)
def test_what_is_wrong_is_named(bench: Benchmark, tmp_path: Path, form: str, text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        bring(bench, tmp_path, text, form)


def test_missing_and_unknown_ones_can_be_skipped(bench: Benchmark, tmp_path: Path) -> None:
    text = "q2 Q0 enwiki:1#0 1 2 t\nq9 Q0 enwiki:1#0 1 1 t\nq2 Q0 nowhere 2 1 t\n"
    run = bring(bench, tmp_path, text, "trec", on_error="skip")
    assert run.failures == {"q 1": "the file has no ranking for it"}
    assert run.folder.manifest.counts["skipped"] == 2


@pytest.mark.parametrize("form", FORMATS)
def test_out_and_in_again(bench: Benchmark, tmp_path: Path, form: str) -> None:
    run = bring(bench, tmp_path, TREC, "trec")
    name = {"dpr": "out.json", "trec": "out.txt"}.get(form, "out.jsonl")
    export(str(tmp_path / "run"), tmp_path / name, form)
    back = import_run(tmp_path / name, tmp_path / "back", bench, place=str(tmp_path / "bench"), format=form)
    assert [[r[2:] for r in rows] for rows in ranked(back).values()] == [
        [r[2:] for r in rows] for rows in ranked(run).values()
    ]


def test_a_benchmark_for_scoring_only_takes_any_page(tmp_path: Path) -> None:
    gold = (Output(answer="a", provenance=((Provenance(page="dewiki:1"),),)),)
    bench = save_benchmark(
        tmp_path / "bench", name="b", passages=[],
        queries=[Query(id="q", task="qa", input="?", outputs=gold)],
    )  # fmt: skip
    run = bring(bench, tmp_path, prediction("q", "5"), "kilt")
    assert ranked(run)["q"][0][2] == "dewiki:5"


def test_trec_and_beir_folders(bench: Benchmark, tmp_path: Path) -> None:
    export(str(tmp_path / "bench"), tmp_path / "trec", "trec")
    assert (tmp_path / "trec/qrels.pages.txt").read_text() == "q%201 0 enwiki:1 1\nq2 0 enwiki:1 1\n"
    assert (tmp_path / "trec/topics.tsv").read_text() == "q%201\tfirst?\nq2\tsecond?\n"
    export(str(tmp_path / "bench"), tmp_path / "beir", "beir")
    assert (tmp_path / "beir/qrels/test.tsv").read_text().splitlines()[:3] == [
        "query-id\tcorpus-id\tscore",
        "q%201\tenwiki:1#0\t1",
        "q%201\tenwiki:1#1\t1",
    ]
    assert len((tmp_path / "beir/corpus.jsonl").read_text().splitlines()) == 6
    export(str(tmp_path / "bench"), tmp_path / "own.json", "dpr")
    assert json.loads((tmp_path / "own.json").read_text())[0] == {"question": "first?", "answers": ["a"]}
    with pytest.raises(UsageError, match="did you mean"):
        export(str(tmp_path / "bench"), tmp_path / "x", "kilts")


@pytest.mark.parametrize("identity", ["a b", "50%", "é\tü", "a%20b", "Ο δρόμος"])
def test_ids_of_trec_files(identity: str) -> None:
    assert len(to_trec(identity).split()) == 1
    assert from_trec(to_trec(identity)) == identity
