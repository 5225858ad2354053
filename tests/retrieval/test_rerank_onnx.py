"""A cross-encoder in ONNX re-ranks without torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx_files import WORDS, write_onnx, write_tokenizer

from whichone.errors import BadInput, Missing
from whichone.records import Passage
from whichone.retrieval.onnx_model import OnnxCrossEncoder, is_onnx

pytest.importorskip("onnxruntime")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The score is the sum over tokens: red 1, green 2, blue 4, all others 0."""
    table = np.zeros((len(WORDS), 1), np.float32)
    table[8:11, 0] = [1, 2, 4]
    write_onnx(tmp_path / "model.onnx", table, output="logits", summed=True)
    write_tokenizer(tmp_path)
    return tmp_path


def test_scores_and_order(model: Path) -> None:
    encoder = OnnxCrossEncoder(model)
    assert encoder.scores([("red", "blue blue"), ("red", "green")]).tolist() == [9, 3]
    assert encoder.scores([]).tolist() == []
    texts = ["red", "blue", "green", "blue"]
    passages = [Passage(id=f"{n}", page="p", title="", text=t) for n, t in enumerate(texts)]
    places, scores, _ = encoder.order("red", passages)
    assert places == [1, 3, 2, 0]
    assert scores == [5, 5, 3, 2]
    assert OnnxCrossEncoder(model / "model.onnx").describe() == encoder.describe()


def test_the_folder_says_how_much_is_read(model: Path) -> None:
    pair = ("red", "green green blue blue blue blue blue")
    assert OnnxCrossEncoder(model).scores([pair]).tolist() == [25]
    (model / "tokenizer_config.json").write_text('{"model_max_length": 8}')
    short = OnnxCrossEncoder(model)
    assert short.describe()["longest"] == 8
    assert short.scores([pair]).tolist() < [25]
    (model / "tokenizer_config.json").write_text('{"model_max_length": 1e30}')
    assert OnnxCrossEncoder(model).describe()["longest"] == 512


def test_two_classes(model: Path) -> None:
    table = np.zeros((len(WORDS), 2), np.float32)
    table[8] = [1, 3]
    write_onnx(model / "model.onnx", table, output="logits", summed=True)
    assert OnnxCrossEncoder(model).scores([("red", "red")]).tolist() == [4]


def test_what_scores_no_pairs(model: Path) -> None:
    table = np.zeros((len(WORDS), 4), np.float32)
    write_onnx(model / "model.onnx", table, output="last_hidden_state", summed=False)
    with pytest.raises(BadInput, match="no cross-encoder"):
        OnnxCrossEncoder(model)
    with pytest.raises(Missing, match="no ONNX model here"):
        OnnxCrossEncoder(model / "nowhere")


def test_what_is_onnx(model: Path) -> None:
    assert is_onnx(model)
    assert is_onnx(model / "model.onnx")
    (model / "model.safetensors").write_bytes(b"")
    assert not is_onnx(model)
    assert not is_onnx("cross-encoder/ms-marco-MiniLM-L-6-v2")


def test_the_real_one(real_models: Path) -> None:
    encoder = OnnxCrossEncoder(real_models / "ms-marco-MiniLM-L-12-v2-int8")
    passages = [
        Passage(id="a", page="a", title="Abe Lincoln", text="16th president of the United States."),
        Passage(id="b", page="b", title="Abe Lincoln (musician)", text="American jazz trombonist."),
    ]
    assert encoder.order("What instrument did Abe Lincoln play?", passages)[0] == [1, 0]
