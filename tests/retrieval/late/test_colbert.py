"""ColBERT's own layout and PyLate's: the projection is found, used and saved."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from whichone.errors import BadInput
from whichone.retrieval.token_vectors import Colbert, ColbertTokens, TokenRules

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "[unused0]",
    "[unused1]",
    ".",
    "red",
    "green",
]


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    """A BERT of 8 numbers a token, with weights at random."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path / "bert"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=64,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture
def own_layout(bert: Path) -> Path:
    """ColBERT's: one file with `bert.` before the encoder's names, `linear.weight` beside them."""
    from safetensors.torch import load_file, save_file

    weights = load_file(bert / "model.safetensors")
    renamed = {f"bert.{name}": value for name, value in weights.items()}
    renamed["linear.weight"] = torch.arange(24, dtype=torch.float32).reshape(3, 8) / 24
    save_file(renamed, bert / "model.safetensors", {"format": "pt"})
    config = json.loads((bert / "config.json").read_text())
    (bert / "config.json").write_text(json.dumps({**config, "architectures": ["HF_ColBERT"]}))
    (bert / "artifact.metadata").write_text(json.dumps({"query_maxlen": 8, "doc_maxlen": 16}))
    return bert


def test_the_projection_is_used(own_layout: Path) -> None:
    encoder = ColbertTokens(str(own_layout), device="cpu")
    assert encoder.size == 3
    assert encoder.describe()["kind"] == "ColBERT"
    (question,) = encoder.questions(["red"])
    assert question.shape == (8, 3)  # filled with [MASK]
    assert np.allclose(np.linalg.norm(question, axis=1), 1, atol=1e-5)
    (passage,) = encoder.passages(["red"], ["green ."])
    assert passage.shape == (5, 3)  # [CLS] [unused1] red green [SEP], no full stop
    model = Colbert.load(str(own_layout), device="cpu")
    with torch.no_grad():
        ids = torch.tensor([[2, 6, 8, 9, 7, 3]])
        last = model.module["backbone"](input_ids=ids).last_hidden_state[0]
        weight = torch.arange(24, dtype=torch.float32).reshape(3, 8) / 24
        by_hand = torch.nn.functional.normalize(last @ weight.T, dim=1)[[0, 1, 2, 3, 5]]
    assert np.allclose(passage, by_hand.numpy(), atol=1e-5)


def test_saved_as_pylate_and_opened_again(own_layout: Path, tmp_path: Path) -> None:
    model = Colbert.load(str(own_layout), device="cpu")
    saved = tmp_path / "saved"
    saved.mkdir()
    model.save(saved)
    assert (saved / "1_Dense" / "model.safetensors").exists()
    before = ColbertTokens(str(own_layout), device="cpu").passages(["red"], ["green"])
    after = ColbertTokens(str(saved), device="cpu").passages(["red"], ["green"])
    assert np.allclose(before[0], after[0], atol=1e-6)
    again = Colbert.load(str(saved), device="cpu")
    assert again.rules == TokenRules(
        question_mark="[unused0]", passage_mark="[unused1]", question_length=8, passage_length=16,
        expand=True,
    )  # fmt: skip


def test_an_encoder_without_projection_is_a_backbone(bert: Path) -> None:
    encoder = ColbertTokens(str(bert), device="cpu")
    assert encoder.size == 8
    assert encoder.describe()["kind"] == "backbone MaxSim"
    # padding must not change a passage's vectors
    alone = encoder.passages(["red"], [""])[0]
    beside = encoder.passages(["red", "red"], ["", "green green green"])[0]
    assert np.allclose(alone, beside, atol=1e-5)


def test_a_projection_of_another_size_is_refused(own_layout: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(own_layout / "model.safetensors")
    weights["linear.weight"] = torch.zeros(3, 5)
    save_file(weights, own_layout / "model.safetensors", {"format": "pt"})
    with pytest.raises(BadInput, match="the projection takes 5 numbers, the encoder gives 8"):
        Colbert.load(str(own_layout))
