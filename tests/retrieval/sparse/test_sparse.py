"""Learned sparse retrieval: weights by hand, the index with real weights, checkpoints of both kinds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from onnx_files import WORDS, write_onnx, write_tokenizer

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, Missing, UsageError
from whichone.records import Question
from whichone.retrieval.bm25.postings import RealPostings
from whichone.retrieval.sparse import OnnxSplade, Sparse, Splade, WeightBlock, merge, strongest

pytest.importorskip("onnxruntime")
RED, GREEN, BLUE = 8, 9, 10


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A token writes itself with logit 1; red writes blue too, with logit 3; [CLS] writes nothing."""
    folder = tmp_path / "model"
    folder.mkdir()
    table = np.zeros((len(WORDS), len(WORDS)), np.float32)
    for word in (RED, GREEN, BLUE):
        table[word, word] = 1
    table[RED, BLUE] = 3
    table[GREEN, RED] = -5
    write_onnx(folder / "model.onnx", table, output="logits", summed=False)
    write_tokenizer(folder)
    return folder


def test_weights_by_hand(model: Path) -> None:
    encoder = OnnxSplade(model)
    (words, weights), (none, _) = encoder.encode(["red green", "."])
    assert words.tolist() == [RED, GREEN, BLUE]
    assert weights.tolist() == pytest.approx([math.log(2), math.log(2), math.log(4)])
    assert none.tolist() == []
    assert encoder.tokens("red green") == [RED, GREEN]


def test_the_strongest_words() -> None:
    words, weights = strongest((np.array([3, 5, 9]), np.array([1, 7, 7], np.float32)), 2)
    assert words.tolist() == [5, 9]
    assert weights.tolist() == [7, 7]


def test_postings_of_two_blocks(tmp_path: Path) -> None:
    def text(**weights: float) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
        numbers = {"a": 0, "b": 1, "d": 3}
        words = np.array([numbers[w] for w in weights], np.int64)
        return words, np.array(list(weights.values()), np.float32)

    first, second = WeightBlock(tmp_path, 0), WeightBlock(tmp_path, 1)
    first.write([text(a=0.5, d=2.5), text(b=1.5)], 0)
    second.write([text(), text(a=0.25)], 2)
    merge([first, second], 4, 4, tmp_path)
    postings = RealPostings.open(tmp_path.joinpath)
    assert postings.places.tolist() == [0, 2, 3, 3]
    assert postings.frequencies.tolist() == [2, 1, 0, 1]
    assert postings.documents.tolist() == [0, 3, 1, 0]
    assert postings.weights.tolist() == [0.5, 0.25, 1.5, 2.5]
    assert postings.lengths.tolist() == [2, 1, 0, 1]


def test_search_by_inner_product(model: Path, colours: Benchmark, tmp_path: Path) -> None:
    built = Sparse.build(colours.corpus, tmp_path / "index", model=str(model))
    question = Question(id="q", text="blue")
    (ranking,) = built.search([question], 3)
    # c:1 "red" has blue with log 4, c:3 "blue red" too; the tie is in the order of the corpus
    assert ranking.passages == ("c:1#0", "c:3#0")
    assert ranking.scores == pytest.approx([math.log(2) * math.log(4)] * 2)
    (again,) = Sparse.open(tmp_path / "index").search([question], 3)
    assert again == ranking


def test_own_words_of_a_question(model: Path, colours: Benchmark, tmp_path: Path) -> None:
    built = Sparse.build(colours.corpus, tmp_path / "index", model=str(model), questions="words")
    (ranking,) = built.search([Question(id="q", text="green green")], 3)
    assert ranking.passages == ("c:2#0",)
    assert ranking.scores == pytest.approx([2 * math.log(2)])


def test_other_weights(model: Path, colours: Benchmark, tmp_path: Path) -> None:
    Sparse.build(colours.corpus, tmp_path / "index", model=str(model))
    table = np.eye(len(WORDS), dtype=np.float32)
    write_onnx(model / "model.onnx", table, output="logits", summed=False)
    with pytest.raises(UsageError, match="not the one"):
        Sparse.open(tmp_path / "index")
    built = Sparse.build(colours.corpus, tmp_path / "index", model=str(model))
    (ranking,) = built.search([Question(id="q", text="blue")], 1)
    assert ranking.passages == ("c:3#0",)


def test_a_model_of_vectors_is_refused(model: Path, tmp_path: Path) -> None:
    table = np.zeros((len(WORDS), 4), np.float32)
    write_onnx(model / "model.onnx", table, output="last_hidden_state", summed=False)
    with pytest.raises(BadInput, match="4 numbers, not one for each of 11 words"):
        OnnxSplade(model)
    with pytest.raises(Missing):
        OnnxSplade(tmp_path / "nothing")


def test_a_masked_language_model(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from transformers import BertConfig, BertForMaskedLM, BertModel, BertTokenizerFast

    words = tmp_path / "vocab.txt"
    words.write_text("\n".join(WORDS))
    tokenizer = BertTokenizerFast(str(words))
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(0)
    masked = BertForMaskedLM(config).eval()
    masked.save_pretrained(tmp_path / "masked")
    tokenizer.save_pretrained(tmp_path / "masked")
    encoder = Splade(str(tmp_path / "masked"), device="cpu")
    (alone,), (_, padded) = encoder.encode(["red"]), encoder.encode(["red green blue", "red"])
    assert alone[0].tolist() == padded[0].tolist()
    assert np.allclose(alone[1], padded[1], atol=1e-5)
    with torch.no_grad():
        logits = masked(torch.tensor([[2, RED, 3]])).logits[0]
    by_hand = torch.log1p(torch.relu(logits)).amax(0).numpy()
    assert np.allclose(by_hand[alone[0]], alone[1], atol=1e-5)
    BertModel(config).save_pretrained(tmp_path / "plain")
    tokenizer.save_pretrained(tmp_path / "plain")
    with pytest.raises(BadInput, match="wrong kind"):
        Splade(str(tmp_path / "plain"), device="cpu")
