"""Every mode with a real, if small, model behind a real server on loopback."""

from __future__ import annotations

import pytest
from fixed_retriever import Fixed

from whichone.chat.endpoint import Endpoint, EndpointOptions
from whichone.errors import BadInput
from whichone.measures.scores import score_folder
from whichone.runs.read import read
from whichone.runs.runner import run_retriever

pytestmark = pytest.mark.slow

MODES = ("gold", "retrieved", "gold+retrieved", "none", "other-bearer")


@pytest.fixture
def run(toy, tmp_path):
    ids = ("p:vennick-rower#0", "p:vennick-botanist#0")
    return run_retriever(Fixed(*ids), toy, tmp_path / "run", k=2, name="fixed")


def ask(url, benchmark, place, **options):
    given = {"endpoint": url, "model": "SmolLM2", "max_tokens": 40, "concurrency": 2}
    given |= options.pop("reader", {})
    return read(benchmark.folder.root, place, reader="llm", options=given, limit=1, **options)


@pytest.mark.parametrize("mode", MODES)
def test_modes(smollm2, toy, run, tmp_path, mode):
    made = ask(smollm2, toy, tmp_path / "a", passages=mode, run=run.path, depth=3)
    assert made.failures == {} and len(made.answers) == 1
    shown = len(made.shown[toy.queries[0].id])
    assert shown == {"none": 0, "gold+retrieved": 3}.get(mode, 2)
    for question, answer in made.answers.items():
        assert answer.notes.get("form", "json") in ("json", "half")  # it was held to the form
        assert set(answer.passages) <= set(made.shown[question])
    timing = made.folder.table("timing").to_pylist()
    assert all(row["tokens"] > 0 and row["prompt_tokens"] > 50 for row in timing)
    values = score_folder(made.path, ["em", "f1", "refusal", "failure"]).values
    assert 0 <= values["f1"][0] <= 1


@pytest.mark.parametrize("prompt", ["few-shot", "which-one", "one-by-one"])
def test_prompts_on_several_bearers(smollm2, toy_ambigdocs, tmp_path, prompt):
    made = ask(smollm2, toy_ambigdocs, tmp_path / "a", reader={"prompt": prompt})
    assert made.failures == {} and len(made.answers) == 1
    scores = score_folder(made.path, ["complete", "partial", "ambiguous", "merged", "no_answer"])
    row = next(r for r in scores.rows() if r["complete"] is not None)
    assert sum(row[m] for m in map(str, scores.measures)) == 1  # one category


def test_without_a_form_and_with_log_probabilities(smollm2, toy, tmp_path):
    made = ask(smollm2, toy, tmp_path / "a", reader={"structured": False})
    assert len(made.answers) + len(made.failures) == 1
    with Endpoint(EndpointOptions(url=smollm2, model="SmolLM2")) as endpoint:
        endpoint.probe()
        messages = [{"role": "user", "content": "Say hello."}]
        reply = endpoint.complete(messages, max_tokens=4, logprobs=True)
    assert reply.text and reply.tokens and reply.mean_logprob is not None
    assert -20 < reply.mean_logprob < 0


def test_too_long_for_the_model_is_said(smollm2, toy, tmp_path):
    long = "\n".join(["## system", "word " * 9000 + "$task", "## user", "$passages $question"])
    (tmp_path / "long.md").write_text(long)
    given = {"prompt": str(tmp_path / "long.md")}
    with pytest.raises(BadInput, match=r"all 1 questions failed.*too long"):
        ask(smollm2, toy, tmp_path / "a", reader=given)
