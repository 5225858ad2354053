"""Late-interaction and learned sparse models learn from namesake negatives, and are used afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tiny_bert import bert

from whichone.errors import UsageError
from whichone.retrieval.late import maxsim
from whichone.retrieval.sparse import Splade
from whichone.retrieval.token_vectors import ColbertTokens
from whichone.training.examples import Example, write_examples
from whichone.training.train_encoders import Start, train_retriever
from whichone.training.trainer import Settings
from whichone.training.training_data import Plan

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow
SETTINGS = Settings(
    epochs=6, learning_rate=5e-3, batch=8, longest=32, kinds=("namesake",), patience=0, size=8
)


@pytest.fixture
def examples(tmp_path: Path, made_examples: Callable[..., list[Example]]) -> Path:
    write_examples(tmp_path / "examples.jsonl", made_examples(24))
    return tmp_path / "examples.jsonl"


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import BertConfig, BertForMaskedLM

    folder = tmp_path_factory.mktemp("masked")
    torch.manual_seed(0)
    BertForMaskedLM(BertConfig(**bert(folder))).save_pretrained(folder)
    return folder


def test_all_maxsim_equals_one_at_a_time() -> None:
    from whichone.training.train_encoders import all_maxsim

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
    plan = Plan(sources=(str(examples),))
    start = Start(str(checkpoint))
    trained = train_retriever(
        plan, tmp_path / "out", start=start, settings=SETTINGS, kind="late", device="cpu"
    )
    assert trained.losses[-1] < 0.7 * trained.losses[0]
    encoder = ColbertTokens(str(tmp_path / "out" / "best"), device="cpu")
    assert encoder.size == 8
    assert encoder.describe()["kind"] == "ColBERT"
    again = train_retriever(
        plan, tmp_path / "out", start=start, settings=SETTINGS, kind="late", device="cpu"
    )
    assert again.losses == trained.losses  # it was done


def test_a_sparse_model_learns(masked: Path, examples: Path, tmp_path: Path) -> None:
    plan, start = Plan(sources=(str(examples),)), Start(str(masked))
    trained = train_retriever(
        plan, tmp_path / "out", start=start, settings=SETTINGS, kind="sparse", device="cpu"
    )
    assert trained.losses[-1] < trained.losses[0]
    words, weights = Splade.load(str(tmp_path / "out" / "best"), device="cpu").encode(["w1 w2"])[0]
    assert len(words) == len(weights)
    assert (weights > 0).all()


def test_the_regulariser_by_hand() -> None:
    from whichone.training.train_encoders import flops

    weights = torch.tensor([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    assert float(flops(weights)) == pytest.approx(2.0**2 + 0 + 1.0**2)
    assert float(flops(torch.zeros(2, 3))) == 0


def test_options_of_bi_encoders_are_refused(
    checkpoint: Path, examples: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="one model for questions and passages"):
        train_retriever(
            Plan(sources=(str(examples),)),
            tmp_path / "out",
            start=Start(str(checkpoint)),
            settings=Settings(mode="only-questions"),
            kind="late",
        )
    assert not (tmp_path / "out").exists()
