"""ColBERT's own layout and PyLate's: the projection is found, used and saved."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from whichone.errors import BadInput
from whichone.retrieval.token_vectors import ColbertTokens, read_rules, token_model

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]", ".", "red", "green"]


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
    from transformers import AutoModel

    bert = AutoModel.from_pretrained(own_layout).eval()
    with torch.no_grad():
        ids = torch.tensor([[2, 6, 8, 9, 7, 3]])
        last = bert(input_ids=ids).last_hidden_state[0]
        weight = torch.arange(24, dtype=torch.float32).reshape(3, 8) / 24
        by_hand = torch.nn.functional.normalize(last @ weight.T, dim=1)[[0, 1, 2, 3, 5]]
    assert np.allclose(passage, by_hand.numpy(), atol=1e-5)


def test_saved_and_opened_again(own_layout: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    token_model(str(own_layout), device="cpu").save_pretrained(str(saved), create_model_card=False)
    assert read_rules(saved) == read_rules(own_layout)  # as an ONNX model beside it is cut
    assert read_rules(saved).expand and read_rules(saved).question_mark == "[unused0]"
    before = ColbertTokens(str(own_layout), device="cpu")
    after = ColbertTokens(str(saved), device="cpu")
    for given in (before, after):
        assert given.describe()["rules"] == {
            "prompts": {"query": "[unused0] ", "document": "[unused1] "},
            "question_length": None,
            "passage_length": 16,
            "expansion": {"strategy": "fixed", "length": 8, "attend": False, "token": None},
            "skipped": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
        }
    assert np.allclose(before.passages(["red"], ["green"]), after.passages(["red"], ["green"]))
    assert np.allclose(before.questions(["red green"]), after.questions(["red green"]))


def test_pylates_layout(bert: Path, tmp_path: Path) -> None:
    """The projection is in `1_Dense`, the settings are those of the whole model."""
    from safetensors.torch import save_file

    dense = bert / "1_Dense"
    dense.mkdir()
    save_file(
        {"linear.weight": torch.arange(24, dtype=torch.float32).reshape(3, 8) / 24},
        dense / "model.safetensors",
    )
    kind = "torch.nn.modules.linear.Identity"
    for file, written in {
        "1_Dense/config.json": {"in_features": 8, "out_features": 3, "bias": False, "activation_function": kind},
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
        ],
        "config_sentence_transformers.json": {
            "model_type": "ColBERT", "query_prefix": "[unused0]", "document_prefix": "[unused1]",
            "query_length": 8, "document_length": 16, "do_query_expansion": True,
            "attend_to_expansion_tokens": False,
        },
    }.items():  # fmt: skip
        (bert / file).write_text(json.dumps(written))
    encoder = ColbertTokens(str(bert), device="cpu")
    assert encoder.size == 3 and encoder.questions(["red"])[0].shape == (8, 3)
    assert encoder.passages(["red"], ["green ."])[0].shape == (5, 3)


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
        ColbertTokens(str(own_layout), device="cpu")
