"""Every format end to end with real files: what the board says is what the file's own scorer says."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from leaderboards import make_board, submitted, whole_board
from web_server import opened as open_client

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.papers.amber.amber_files import import_amber
from whichone.papers.ambigdocs.ambigdocs_files import read_ambigdocs_predictions
from whichone.papers.ambigdocs.categories import Category
from whichone.papers.ambigdocs.import_ambigdocs import import_ambigdocs
from whichone.papers.ambigdocs.score_answer import score_prediction
from whichone.papers.kilt.import_kilt import KiltPlan, import_kilt
from whichone.records import Output, Passage, Provenance, Query
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.runs.run import Run
from whichone.runs.run_files import export_dpr_run, export_trec_run
from whichone.runs.runner import run_retriever
from whichone.web.site_settings import SiteSettings

Open = Callable[[Path], tuple[Any, str]]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """A board over the one benchmark of a folder."""
    clients = []

    def board(folder: Path) -> tuple[Any, str]:
        settings = SiteSettings(folder=folder, database=str(tmp_path / "web.sqlite"),
                            cache=tmp_path / "cache", hosts=("testserver",), no_login=True)  # fmt: skip
        client = open_client(settings)
        client.__enter__()
        clients.append(client)
        key = client.get("/api/benchmarks").json()[0]["key"]
        return client, make_board(client, key)

    yield board
    for client in clients:
        client.__exit__(None, None, None)


def values(document: dict[str, Any], kind: str) -> dict[str, float]:
    measures = next(s["measures"] for s in document["systems"] if s["kind"] == kind)
    return {name: estimate["value"] for name, estimate in measures.items()}


def test_amber_predictions(opened: Open, shared: Path, tmp_path: Path) -> None:
    case = shared / "golden/amber/eval/a01_basic"
    import_amber(case / "amber_sets.jsonl", tmp_path / "served" / "amber", task="qa")
    client, board = opened(tmp_path / "served")
    content = (case / "predictions.jsonl").read_bytes()
    assert submitted(client, board, content, "amber")["state"] == "done"
    found = values(whole_board(client, board, 1), "rankings")
    expected = json.loads((case / "expected.json").read_bytes())["metrics"]
    for k in ("1", "5", "20"):
        assert 100 * found[f"acc@{k}"] == pytest.approx(expected[k]["accuracy"])
    assert 100 * found["all_correct@1"] == pytest.approx(expected["1"]["consistency"])
    broken = content.replace(b'"output"', b'"outcome"', 5).replace(b'"outcome"', b'"output"', 4)
    refused = submitted(client, board, broken, "amber")
    assert refused["message"] == "line 5: not a prediction: id or output is missing"


def test_kilt_predictions_are_scored_as_rankings_and_as_answers(
    opened: Open, shared: Path, tmp_path: Path
) -> None:
    case = shared / "golden/kilt/k01_single"
    import_kilt([case / "gold.jsonl"], tmp_path / "served" / "kilt", KiltPlan(task="qa"))
    client, board = opened(tmp_path / "served")
    content = (case / "guess.jsonl").read_bytes()
    row = submitted(client, board, content, "kilt")
    assert row["state"] == "done", row["message"]
    document = whole_board(client, board, 2)
    expected = json.loads((case / "expected.json").read_bytes())["eval_downstream"]
    assert values(document, "rankings")["rprec"] == pytest.approx(expected["retrieval"]["Rprec"])
    answers = values(document, "answers")
    assert answers["em"] == pytest.approx(expected["downstream"]["em"])
    assert answers["f1"] == pytest.approx(expected["downstream"]["f1"])
    assert answers["kilt_em"] == pytest.approx(expected["kilt"]["KILT-em"])
    assert answers["kilt_f1"] == pytest.approx(expected["kilt"]["KILT-f1"], abs=1e-3)
    page = client.get(f"/boards/{board}").text
    assert "Board, rankings" in page
    assert f"/boards/{board}?of=answers" in page
    lines = content.splitlines()
    refused = submitted(client, board, b"\n".join([*lines[:6], lines[6][:-20], *lines[7:]]), "kilt")
    assert refused["message"].startswith("line 7: ")
    twice = submitted(client, board, b"\n".join([*lines, lines[0]]), "kilt", missing_is_wrong=True)
    assert f"line {len(lines) + 1}: this query came before" in twice["message"]


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(
    opened: Open, served_folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(served_folder, tmp_path / "served", dirs_exist_ok=True)
    client, board = opened(tmp_path / "served/small")
    refused = submitted(client, board, '{"question": "é", "passages": []}'.encode("latin-1"), "auto")
    assert refused["message"].startswith("line 1: the format cannot be detected")


def test_ambigdocs_predictions(opened: Open, shared: Path, tmp_path: Path) -> None:
    """The golden examples, each under a name of its own, with what the model was shown."""
    examples = []
    for line in (shared / "golden/ambigdocs/examples.jsonl").read_bytes().splitlines()[:200]:
        example = json.loads(line)["example"]
        if example["documents"] and all(d.get("answer") for d in example["documents"]):
            examples.append({**example, "qid": f"g{len(examples)}"})
    questions = [{k: v for k, v in e.items() if k not in ("docs", "gen_answer")} for e in examples]
    (tmp_path / "test.json").write_text(json.dumps(questions))
    import_ambigdocs([tmp_path / "test.json"], tmp_path / "served" / "ambigdocs")
    file = tmp_path / "predictions.json"
    file.write_text(json.dumps(examples, indent=1))
    client, board = opened(tmp_path / "served")
    row = submitted(client, board, gzip.compress(file.read_bytes()), "ambigdocs")
    assert row["state"] == "done", row["message"]
    found = values(whole_board(client, board, 1), "answers")
    scores = [score_prediction(p) for p in read_ambigdocs_predictions(file)]
    assert len({s.category for s in scores}) == 5
    for category in Category:
        share = sum(s.category is category for s in scores) / len(scores)
        assert found[category.value.replace(" ", "_")] == pytest.approx(share), category
    recall = [s.answer_recall for s in scores if s.answer_recall is not None]
    assert found["answer_recall"] == pytest.approx(sum(recall) / len(recall))
    # without `docs` everything counts as shown, as it does for the file's own scorer
    bare = [{"qid": e["qid"], "gen_answer": e["gen_answer"]} for e in examples]
    lines = "\n".join(map(json.dumps, bare)).encode()
    assert submitted(client, board, lines, "ambigdocs", "bare")["state"] == "done"
    bare[6] = {"qid": "g6"}
    refused = submitted(client, board, json.dumps(bare).encode(), "ambigdocs")
    assert refused["message"].startswith("record 7: not a prediction: qid or gen_answer is missing")
    broken = submitted(client, board, file.read_bytes()[:-40], "ambigdocs")
    last = file.read_bytes()[:-40].count(b"\n") + 1
    assert broken["message"].startswith(f"line {last}: not the JSON")


def real_benchmark(path: Path, shared: Path, questions: int = 60) -> Benchmark:
    """Real questions, and the real passages of their titles and of their namesakes'."""
    data = shared / "data/wikipedia-48k"
    with gzip.open(data / "questions-dev.jsonl.gz") as file:
        asked = [json.loads(line) for line, _ in zip(file, range(questions), strict=False)]
    titles = {t for q in asked for t in (*q["gold_titles"], *q["same_name_titles"])}
    with gzip.open(data / "passages.jsonl.gz") as file:
        found = [p for p in map(json.loads, file) if p["title"] in titles]
    counts: dict[str, int] = {}
    passages = []
    for p in found:
        n = counts[p["title"]] = counts.get(p["title"], -1) + 1
        page = f"wiki:{p['title'].replace(' ', '_')}"
        passages.append(
            Passage(id=f"{page}#{n}", page=page, title=p["title"], text=p["text"], source_id=p["id"])
        )
    pages = {p.title: p.page for p in passages}
    queries = [
        Query(
            id=f"d{n}", task="qa", input=q["question"],
            outputs=(
                Output(
                    answer=q["answers"][0], aliases=tuple(q["answers"][1:]),
                    provenance=((Provenance(page=pages[q["gold_titles"][0]]),),),
                ),
            ),
        )
        for n, q in enumerate(asked) if q["gold_titles"][0] in pages
    ]  # fmt: skip
    return save_benchmark(path, name="real", queries=queries, passages=passages)


@pytest.fixture(scope="module")
def real_folder(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real benchmark, and a run that counts the words a question shares with a passage."""
    folder = tmp_path_factory.mktemp("real")
    benchmark = real_benchmark(folder / "real", shared)
    words = {p.id: set(f"{p.title} {p.text}".lower().split()) for p in benchmark.passage_records()}

    def search(text: str, k: int) -> list[tuple[str, float]]:
        asked = set(text.lower().strip("?").split())
        best = sorted(words, key=lambda p: (-len(asked & words[p]), p))
        return [(p, float(len(asked & words[p]))) for p in best[:k]]

    run_retriever(FunctionRetriever(search, name="words"), benchmark, folder / "run", k=20, name="words")
    return folder


@pytest.mark.parametrize("form", ["trec", "dpr", "whichone"])
def test_rankings_of_real_passages(opened: Open, real_folder: Path, tmp_path: Path, form: str) -> None:
    run = Run.open(real_folder / "run")
    files: dict[str, Callable[[], Any]] = {
        "trec": lambda: export_trec_run(run, tmp_path / "out"),
        "dpr": lambda: export_dpr_run(run, tmp_path / "out", str(real_folder / "real")),
    }
    if form in files:
        files[form]()
        out = tmp_path / "out"
        file = (
            out
            if out.is_file()
            else next(p for p in sorted(out.rglob("*")) if p.is_file() and "qrels" not in p.name)
        )
        content = file.read_bytes()
    else:
        ranked: dict[str, list[str]] = {}
        for r in run.rankings.to_pylist():
            ranked.setdefault(r["question"], []).append(r["passage"])
        lines = [json.dumps({"question": q, "passages": p}) for q, p in ranked.items()]
        content = "\n".join(lines).encode()
    client, board = opened(real_folder)
    row = submitted(client, board, content, form)
    assert row["state"] == "done", row["message"]
    systems = {s["system"]: s["measures"] for s in whole_board(client, board, 2)["systems"]}
    bare = {s: {m: {**f, "shallow": None} for m, f in of.items()} for s, of in systems.items()}
    assert bare["mine"] == bare["words"]  # but for how deep the files say that they are
    assert 0 < systems["mine"]["acc@1"]["value"] < 1


NOWHERE = (
    b'{"question": "Where was Abe Lincoln the trombonist from?", "answers": [], '
    b'"ctxs": [{"id": "nowhere", "text": "x"}]}'
)
DPR = b'[{"question": "%s", "answers": [], "ctxs": [{"id": "wiki:00#0", "text": "x", "score": "1"}]},\n%s]'


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (b'{"question": 5, "answers": [], "ctxs": []}', "record 2: not the JSON"),
        (b'{"question": "?", "answers": [], "ctxs": [{"id": ', "line 2: not the JSON"),
        (b'{"question": "Nobody asks this", "answers": [], "ctxs": []}', "record 2: the benchmark has no"),
        (NOWHERE, "record 2: the corpus has no page or passage"),
    ],
)  # fmt: skip
def test_a_bad_record_of_dpr_is_named(small_board: tuple[Any, str], second: bytes, message: str) -> None:
    content = DPR % (b"Where was Abe Lincoln the president from?", second)
    row = submitted(*small_board, content, "dpr")
    assert row["state"] == "refused"
    assert row["message"].startswith(message)
    assert tempfile.gettempdir() not in row["message"]
