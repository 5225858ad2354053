"""Benchmarks and measures inside ir_datasets, ir_measures and inspect_ai, as their users call them."""

from __future__ import annotations

from pathlib import Path

import inspect_ai
import ir_datasets
import ir_measures
import pytest
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from ir_measures import ScoredDoc, nDCG

import whichone.integrations.ir_datasets as provider
from whichone.benchmarks.benchmark import Benchmark
from whichone.integrations.ir_measures import confused
from whichone.measures.measure import parse_measures
from whichone.measures.scores import score_run
from whichone.records import Ranking
from whichone.runs.runner import run_retriever


def test_a_dataset_of_ir_datasets(bells: Benchmark) -> None:
    name = provider.register(bells, f"whichone/{bells.id}").dataset_id()
    dataset = ir_datasets.load(name)
    assert [d.doc_id for d in dataset.docs_iter()] == ["w:bishop#0", "w:surgeon#0"]
    assert dataset.docs_store().get("w:bishop#0").text == "John Bell was a bishop."
    assert dataset.docs_count() == 2
    assert [(q.query_id, q.name, q.role) for q in dataset.queries_iter()] == [
        ("q-surgeon", "John Bell", "head"),
        ("q-bishop", "John Bell", "tail"),
    ]
    assert [(q.query_id, q.doc_id, q.relevance) for q in dataset.qrels_iter()] == [
        ("q-surgeon", "w:surgeon#0", 1),
        ("q-bishop", "w:bishop#0", 1),
    ]


def test_entityquestions_in_ir_datasets() -> None:
    dataset = provider.register("builtin/entityquestions")
    assert dataset.dataset_id() == "whichone/builtin-entityquestions"
    assert dataset.docs_store().get("enwiki:1001#0").text
    queries = {q.query_id for q in dataset.queries_iter()}
    assert queries and {q.query_id for q in dataset.qrels_iter()} <= queries
    documents = {d.doc_id for d in dataset.docs_iter()}
    assert {q.doc_id for q in dataset.qrels_iter()} <= documents
    assert ir_datasets.load(dataset.dataset_id()) is dataset


class Popular:
    """The surgeon first, whoever is asked for."""

    def search(self, questions, k):
        for q in questions:
            yield Ranking(question=q.id, passages=("w:surgeon#0", "w:bishop#0"), scores=(2.0, 1.0))


def test_confusion_in_ir_measures(bells: Benchmark, tmp_path: Path) -> None:
    """The same figure as `whichone score`, beside nDCG in one call."""
    run = [
        ScoredDoc(query, passage, score)
        for query in ("q-surgeon", "q-bishop")
        for passage, score in (("w:surgeon#0", 2.0), ("w:bishop#0", 1.0))
    ]
    qrels = list(provider.dataset(bells).qrels_iter())
    measure = confused(bells)
    found = ir_measures.calc_aggregate([measure @ 20, measure @ 1, nDCG @ 10], qrels, run)
    assert str(measure @ 20) == "Confused@20"
    made = run_retriever(Popular(), bells, tmp_path / "run", k=2, name="popular")
    own = score_run(made, bells, parse_measures(("confused@20", "confused@1")))
    assert found[measure @ 20] == own.values["confused@20"].mean() == 0.5
    assert found[measure @ 1] == own.values["confused@1"].mean() == 0.5
    assert found[nDCG @ 10] == pytest.approx((1 + 1 / 1.584962500721156) / 2)


def said(*texts: str) -> object:
    outputs = [ModelOutput.from_content("mockllm/model", text) for text in texts]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return get_model("mockllm/model", custom_outputs=outputs)


def shares(log: object) -> dict[str, float]:
    assert log.status == "success", log.error
    return {s.name: s.metrics["mean"].value for s in log.results.scores}


@pytest.mark.parametrize("passages", ["gold", "other-bearer", "none"])
def test_reading_in_inspect(passages: str, bells: Benchmark, tmp_path: Path) -> None:
    """One answer is right, the other is what would be right for the namesake."""
    arguments = {"benchmark": str(bells.folder.root), "passages": passages}
    (log,) = inspect_ai.eval(
        "whichone/reading", task_args=arguments, model=said("A surgeon.", "A surgeon."),
        display="none", log_dir=str(tmp_path / "logs"),
    )  # fmt: skip
    found = shares(log)
    assert (found["right"], found["wrong"] + found["namesake"]) == (0.5, 0.5)
    shown = log.samples[0].messages[1].text
    assert ("John Bell (" in shown) is (passages != "none")


def test_an_agent_that_searches_in_inspect(bells: Benchmark, tmp_path: Path) -> None:
    call = ModelOutput.for_tool_call("mockllm/model", "search", {"text": "John Bell bishop"})
    done = ModelOutput.for_tool_call("mockllm/model", "submit", {"answer": "bishop"})
    outputs = [call, done, call, done]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    (log,) = inspect_ai.eval(
        "whichone/searching", task_args={"benchmark": str(bells.folder.root)},
        model=get_model("mockllm/model", custom_outputs=outputs), max_samples=1,
        display="none", log_dir=str(tmp_path / "logs"),
    )  # fmt: skip
    assert shares(log)["right"] == 0.5
    tools = [m.text for m in log.samples[0].messages if m.role == "tool"]
    assert any("John Bell was a bishop." in text for text in tools)
