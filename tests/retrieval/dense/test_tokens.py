"""Tokens made ahead are those that the tokenizer gives, and models make the same vectors of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whichone.corpus.save import save_corpus
from whichone.records import Passage
from whichone.retrieval.dense import sentence, vectors
from whichone.retrieval.dense.dense import Dense
from whichone.retrieval.dense.sentence import Tokeniser, corpus_shards, read_tokens

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "bill", "evans", "played", "piano", "sax", "."]


@pytest.fixture
def tokenizer(tmp_path: Path) -> object:
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    return transformers.BertTokenizerFast(str(tmp_path / "vocab.txt"))


def test_pairs_are_tokenised_as_the_library_does(tokenizer: object, tmp_path: Path) -> None:
    from whichone.retrieval.dense.sentence import fast_rules

    rules = fast_rules(tokenizer)
    assert rules is not None
    titles = ["Bill Evans", "", "sax"]
    texts = ["Bill played piano .", "piano", "Evans played sax . " * 9]
    own = Tokeniser(rules, 12, pairs=True).tokenised(titles, texts)
    given = [pair if pair[0] else pair[1:] for pair in zip(titles, texts, strict=True)]
    wanted = [
        tokenizer(*texts, truncation=True, max_length=12)["input_ids"]  # type: ignore[operator]
        for texts in given
    ]
    rows = [own.tokens[a:b].tolist() for a, b in zip(own.starts, own.starts[1:], strict=False)]
    assert rows == wanted
    sentence.write_tokens(tmp_path, 0, own)
    read = read_tokens(tmp_path / "tokens-00000.bin")
    assert read.tokens.tolist() == own.tokens.tolist()
    assert read.starts.tolist() == own.starts.tolist()


def dpr_side(tokenizer: object, seed: int) -> object:
    from whichone.retrieval.dense.dpr import DprSide, packed_side

    torch.manual_seed(seed)
    config = transformers.DPRConfig(
        vocab_size=len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    side = DprSide(transformers.DPRContextEncoder(config), tokenizer, f"tiny {seed}", str(seed), 32)
    side.packed = packed_side(side.model, tokenizer, 32, torch.float32)
    return side


def test_a_second_model_takes_the_tokens_of_the_first(
    tokenizer: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sentence, "SHARD", 32)
    monkeypatch.setattr(vectors, "SHARD", 8)
    monkeypatch.setattr(sentence, "available_cores", lambda: 1)
    passages = [
        Passage(id=f"w:{n:03}#0", page=f"w:{n:03}", title=WORDS[5 + n % 6], text=" ".join(WORDS[5 : 6 + n % 5]))
        for n in range(70)
    ]  # fmt: skip
    corpus = save_corpus(tmp_path / "corpus", passages)
    for seed in (1, 2):
        side = dpr_side(tokenizer, seed)
        plain = side.encode([p.title for p in passages], [p.text for p in passages])  # type: ignore[attr-defined]
        dense = Dense.build(corpus, tmp_path / f"index-{seed}", encoder=side, precision="float32")
        stored = dense.vectors(np.arange(70))
        np.testing.assert_allclose(stored, plain, atol=1e-5)
        if seed == 1:
            monkeypatch.setattr(sentence, "TokenMaker", None)  # the second makes none
    shards = corpus_shards(corpus, side.packed.tokeniser)  # type: ignore[attr-defined]
    assert [len(shard) for shard in shards] == [32, 32, 6]


def test_int8_vectors_from_tokens_are_resumed(
    tokenizer: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sentence, "SHARD", 16)
    monkeypatch.setattr(vectors, "SHARD", 8)
    monkeypatch.setattr(sentence, "available_cores", lambda: 1)
    passages = [
        Passage(id=f"w:{n:03}#0", page=f"w:{n:03}", title="bill", text=WORDS[5 + n % 6]) for n in range(40)
    ]
    corpus = save_corpus(tmp_path / "corpus", passages)
    side = dpr_side(tokenizer, 3)
    packed = side.packed  # type: ignore[attr-defined]
    calls = []

    class Killed:
        tokeniser = packed.tokeniser

        def __call__(self, held: object) -> object:
            calls.append(held)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return packed(held)

    side.packed = Killed()  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        Dense.build(corpus, tmp_path / "index", encoder=side, precision="int8")
    side.packed = packed  # type: ignore[attr-defined]
    before = len(calls)
    side.packed = lambda held: calls.append(held) or packed(held)  # type: ignore[attr-defined]
    side.packed.tokeniser = packed.tokeniser  # type: ignore[attr-defined]
    dense = Dense.build(corpus, tmp_path / "index", encoder=side, precision="int8")
    assert len(calls) - before == 2, "the shard on its way and the one of the kill are encoded again"
    plain = side.encode(["bill"] * 40, [p.text for p in passages])  # type: ignore[attr-defined]
    np.testing.assert_allclose(dense.vectors(np.arange(40)), plain, atol=0.02)
