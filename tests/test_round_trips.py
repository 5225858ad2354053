"""Every export format in and out again: the files are the same, bytes or rows, and nothing is registered without a way back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.cli import whichone
from whichone.records import Output, Passage, Provenance, Query, Ranking
from whichone.report.show import export
from whichone.runs.runner import run_retriever


def command(*words: object) -> None:
    result = CliRunner().invoke(whichone, [str(word) for word in words])
    assert result.exit_code == 0, result.output


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """Ids with blanks and percent signs, two splits, graded and negative judgements, pages of several passages."""
    folder = tmp_path / "own"
    (folder / "qrels").mkdir(parents=True)
    documents = [("d 1", "Her (film)"), ("d%2", "Her (song)"), ("d%203", "Her (song)"), ("d4", "Leeds")]
    folder.joinpath("corpus.jsonl").write_text(
        "\n".join(
            json.dumps({"_id": key, "title": title, "text": f"{title}, {key}"}) for key, title in documents
        )
    )
    folder.joinpath("queries.jsonl").write_text(
        "\n".join(json.dumps({"_id": f"q {n}", "text": f"Who made Her, {n}?"}) for n in range(3))
    )
    head = "query-id\tcorpus-id\tscore\n"
    folder.joinpath("qrels", "test.tsv").write_text(
        head + "q 0\td 1\t2\nq 0\td%2\t1\nq 0\td4\t0\nq 1\td%2\t1\n"
    )
    folder.joinpath("qrels", "train.tsv").write_text(head + "q 2\td4\t3\n")
    out = tmp_path / "graded"
    command("import", "questions", folder, out, "--passages", folder, "--split", "all")
    return out


def questions_back(written: Path, out: Path, first: Path) -> None:
    command("import", "questions", written, out, "--passages", written, "--split", "all")


def topics_back(written: Path, out: Path, first: Path) -> None:
    corpus = written.parent / "corpus-of-topics"
    export(str(first), corpus, "beir")
    command("import", "questions", written, out, "--passages", corpus)


def opened(form: str, name: str) -> Callable[[Path, Path, Path], None]:
    def back(written: Path, out: Path, first: Path) -> None:
        corpus = written.parent / "corpus-of-questions"
        export(str(first), corpus, "beir")
        command("import", "open-questions", written / name, out, "--format", form, "--passages", corpus)

    return back


def published(form: str) -> Callable[[Path, Path, Path], None]:
    def back(written: Path, out: Path, first: Path) -> None:
        corpus = written.parent / "corpus-of-published"
        export(str(first), corpus, "beir")
        file = written if form == "entityquestions" else next(written.glob("*.tsv"))
        command("import", form, file, out, "--passages", corpus)

    return back


def amber_back(written: Path, out: Path, first: Path) -> None:
    command("import", "amber", written, out)


def ambigdocs_back(written: Path, out: Path, first: Path) -> None:
    command("import", "ambigdocs", *sorted(written.glob("*.json")), out)


def kilt_back(written: Path, out: Path, first: Path) -> None:
    command("import", "kilt", *sorted(written.glob("*.jsonl")), out)


BENCHMARKS: dict[str, tuple[str, Callable[[Path, Path, Path], None]]] = {
    "beir": ("graded", questions_back),
    "trec": ("graded", topics_back),
    "hf": ("graded", questions_back),
    "mteb": ("graded", questions_back),
    "nq-open": ("builtin/entityquestions", opened("nq-open", "questions.jsonl")),
    "webquestions": ("builtin/entityquestions", opened("webquestions", "questions.json")),
    "curatedtrec": ("builtin/entityquestions", opened("curatedtrec", "questions.jsonl")),
    "dpr-csv": ("builtin/entityquestions", opened("dpr-csv", "questions.csv")),
    "dpr": ("builtin/entityquestions", opened("nq-open", "questions.json")),
    "entityquestions": ("builtin/entityquestions", published("entityquestions")),
    "amber": ("builtin/amber", amber_back),
    "ambigdocs": ("builtin/ambigdocs", ambigdocs_back),
    "kilt": ("kilt", kilt_back),
}
KILT = {
    "id": "7",
    "input": "who made her",
    "output": [
        {"answer": "Spike Jonze", "provenance": [{"wikipedia_id": "5", "title": "Her (film)"}]},
        {"provenance": [{"wikipedia_id": "6", "title": "Her"}, {"wikipedia_id": "8", "title": "Jonze"}]},
    ],
}
ELSEWHERE = {
    "popqa": "tests/papers/popqa/test_popqa.py",
    "archive": "tests/integrations/publishing/test_release.py",
}
ABOUT = {"card.md", "CARD.md", "README.md", "task.py", "tie_aware.py", "CITATION.cff", "croissant.json", "eval.yaml", "made.json",
         "SHA256SUMS"}  # fmt: skip


def contents(folder: Path) -> dict[str, object]:
    """What is in each file, cards and what names the benchmark's own hash apart."""
    found: dict[str, object] = {}
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        if file.name in ABOUT or file.name.endswith(".card.md"):
            continue
        own = str(file.relative_to(folder))
        found[own] = pq.read_table(file).to_pylist() if file.suffix == ".parquet" else file.read_bytes()
    return found


def test_every_format_is_in_the_table() -> None:
    assert sorted({*BENCHMARKS, *ELSEWHERE}) == sorted(registry.names("exports"))
    assert sorted(RUNS) == sorted(registry.names("run_exports"))
    for place in ELSEWHERE.values():
        assert (Path(__file__).parent.parent / place).exists()


@pytest.mark.parametrize("form", BENCHMARKS)
def test_benchmarks(form: str, graded: Path, tmp_path: Path) -> None:
    first, back = BENCHMARKS[form]
    first = {"graded": str(graded), "kilt": str(tmp_path / "of-kilt")}.get(first, first)
    if form == "kilt":
        file = tmp_path / "nq-dev-kilt.jsonl"
        file.write_text(json.dumps(KILT) + "\n")
        command("import", "kilt", file, first)
    once, again = tmp_path / "once", tmp_path / "again"
    export(first, once, form)
    back(once, tmp_path / "back", Path(first))
    export(str(tmp_path / "back"), again, form)
    expected, found = contents(once), contents(again)
    assert expected
    assert found.keys() == expected.keys()
    for name, content in expected.items():
        assert found[name] == content, name


def test_exports_join(graded: Path, tmp_path: Path) -> None:
    """A passage has one id in all of them, its own corpus's, and grades and splits are kept."""
    for form in ("beir", "hf"):
        export(str(graded), tmp_path / form, form)
    export(str(graded), tmp_path / "trec", "trec", unit="passage")
    corpus = [json.loads(line) for line in (tmp_path / "beir/corpus.jsonl").read_text().splitlines()]
    assert {row["_id"] for row in corpus} == {"d%201", "d%252", "d%203", "d4"}
    assert {row["id"] for row in pq.read_table(tmp_path / "hf/corpus/test.parquet").to_pylist()} == {
        row["_id"] for row in corpus
    }
    judged = (tmp_path / "beir/qrels/test.tsv").read_text().splitlines()[1:]
    assert judged == ["q%200\td%201\t2", "q%200\td%252\t1", "q%200\td4\t0", "q%201\td%252\t1"]
    assert (tmp_path / "beir/qrels/train.tsv").read_text().splitlines()[1:] == ["q%202\td4\t3"]
    lines = (tmp_path / "trec/qrels.passages.txt").read_text().splitlines()
    assert lines[:3] == ["q%200 0 d%201 2", "q%200 0 d%252 1", "q%200 0 d4 0"]


RUNS = ("trec", "kilt", "amber", "dpr")


@pytest.mark.parametrize("form", RUNS)
def test_runs(form: str, tmp_path: Path) -> None:
    """Rankings with tied scores whose order is not trec_eval's come back in their own order."""
    passages = [
        Passage(id=f"w:{n}#0", page=f"w:{n}", title=f"T {n}", text=f"text {n}", source_id=f"own {n}")
        for n in range(4)
    ]
    queries = [
        Query(
            id=f"q {n}",
            task="qa",
            input=f"question {n}",
            outputs=(Output(answer="x", provenance=((Provenance(page=f"w:{n}"),),)),),
        )
        for n in range(3)
    ]
    bench = save_benchmark(tmp_path / "bench", name="b", queries=queries, passages=passages)

    class Tied:
        def search(self, questions, k):
            for question in questions:
                order = (1, 3, 0, 2) if question.id != "q 1" else (2, 0)
                scores = (2.0, 1.0, 1.0, 1.0) if question.id != "q 1" else (1.0, 1.0)
                yield Ranking(question=question.id, passages=tuple(f"w:{n}#0" for n in order), scores=scores)

    run = run_retriever(Tied(), bench, tmp_path / "run", k=4, name="tied")
    once, again = tmp_path / "once", tmp_path / "again"
    export(str(run.path), once, form, str(bench.folder.root))
    file = next(p for p in sorted(once.iterdir(), reverse=True) if p.suffix != ".md")
    command("import", "run", file, tmp_path / "back", "--benchmark", bench.folder.root, "--format", form)
    export(str(tmp_path / "back"), again, form, str(bench.folder.root))
    first = (again / file.name).read_text().replace(" run\n", " tied\n")
    assert first == file.read_text()
    back = Benchmark.open(bench.folder.root)
    assert [q.id for q in back.queries] == ["q 0", "q 1", "q 2"]
