"""Late-interaction and learned sparse models learn from namesake negatives, and are used afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from killed import dies_at
from msgspec.structs import replace
from tiny_bert import bert

from whichone.errors import UsageError
from whichone.files.lines import write_json_lines
from whichone.retrieval.late import maxsim
from whichone.retrieval.sparse import Splade
from whichone.retrieval.token_vectors import ColbertTokens
from whichone.training.examples import Example
from whichone.training.train_encoders import train_retriever
from whichone.training.trainer import Start, TrainingSettings
from whichone.training.training_data import LearningPlan

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow
SETTINGS = TrainingSettings(
    epochs=6, learning_rate=5e-3, batch=8, longest=32, kinds=("namesake",), patience=0, size=8
)


@pytest.fixture
def examples(tmp_path: Path, made_examples: Callable[..., list[Example]]) -> Path:
    write_json_lines(tmp_path / "examples.jsonl", made_examples(24))
    return tmp_path / "examples.jsonl"


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import BertConfig, BertForMaskedLM

    folder = tmp_path_factory.mktemp("masked")
    torch.manual_seed(0)
    BertForMaskedLM(BertConfig(**bert(folder))).save_pretrained(folder)
    return folder


def test_all_maxsim_equals_one_at_a_time() -> None:
    from whichone.training.encoder_trainings import all_maxsim

    generator = torch.Generator().manual_seed(0)
    questions = torch.randn(2, 3, 4, generator=generator)
    passages = torch.randn(2, 5, 4, generator=generator)
    asked = torch.tensor([[True, True, True], [True, True, False]])
    kept = torch.tensor([[True, False, True, True, False], [True] * 5])
    scores = all_maxsim((questions, asked), (passages, kept))
    for q in range(2):
        for p in range(2):
            alone = maxsim(questions[q][asked[q]].numpy(), [passages[p][kept[p]].numpy()])
            assert float(scores[q, p]) == pytest.approx(float(alone[0]), abs=1e-5)


def test_a_late_interaction_model_learns(checkpoint: Path, examples: Path, tmp_path: Path) -> None:
    plan = LearningPlan(sources=(str(examples),))
    start = Start(str(checkpoint))
    trained = train_retriever(
        plan, tmp_path / "out", start=start, settings=SETTINGS, kind="late", device="cpu"
    )
    assert trained.losses[-1] < 0.7 * trained.losses[0]
    encoder = ColbertTokens(str(tmp_path / "out" / "best"), device="cpu")
    assert encoder.size == 8
    assert encoder.describe()["kind"] == "ColBERT"
    again = train_retriever(plan, tmp_path / "out", start=start, settings=SETTINGS, kind="late", device="cpu")
    assert again.losses == trained.losses  # it was done


def test_a_sparse_model_learns(masked: Path, examples: Path, tmp_path: Path) -> None:
    plan, start = LearningPlan(sources=(str(examples),)), Start(str(masked))
    trained = train_retriever(
        plan, tmp_path / "out", start=start, settings=SETTINGS, kind="sparse", device="cpu"
    )
    assert trained.losses[-1] < trained.losses[0]
    words, weights = Splade(str(tmp_path / "out" / "best"), device="cpu").encode(["w1 w2"])[0]
    assert len(words) == len(weights)
    assert (weights > 0).all()


@pytest.mark.parametrize("kind", ["late", "sparse"])
def test_stopped_and_resumed_gives_the_same_weights(
    kind: str, checkpoint: Path, masked: Path, made_examples: Any, tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    from whichone.training import encoder_trainings as made

    def training(folder: str) -> Any:
        make = made.LateTraining if kind == "late" else made.SparseTraining
        start = Start(str(checkpoint if kind == "late" else masked))
        settings = replace(SETTINGS, epochs=2, every=2)
        return make(start, made_examples(24), made_examples(8), tmp_path / folder, settings)

    training("whole").run()
    dies_at(training("parts"), 4)
    training("parts").run()
    for file in (tmp_path / "whole" / "best").rglob("*.safetensors"):
        first = load_file(file)
        second = load_file(tmp_path / "parts" / file.relative_to(tmp_path / "whole"))
        assert all(torch.equal(first[name], second[name]) for name in first)


def test_options_of_bi_encoders_are_refused(checkpoint: Path, examples: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one model for questions and passages"):
        train_retriever(
            LearningPlan(sources=(str(examples),)),
            tmp_path / "out",
            start=Start(str(checkpoint)),
            settings=TrainingSettings(mode="only-questions"),
            kind="late",
        )
    assert not (tmp_path / "out").exists()
