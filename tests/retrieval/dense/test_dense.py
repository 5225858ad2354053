"""Dense retrieval with an encoder of letters: vectors on disk, search, resume, mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import BadInput, Missing, UsageError
from whichone.records import Output, Passage, Query, Question
from whichone.retrieval.dense import Dense, DenseParameters
from whichone.retrieval.dense import vectors as dense_vectors
from whichone.retrieval.dense.encoder import find_encoder, need_encoder
from whichone.retrieval.dense.exact_search import TorchSearch
from whichone.retrieval.dense.vectors import NumpySearch, encode_corpus
from whichone.runs.retrieve import make_retriever

COUNT = 300


class Random:
    """The same text always gets the same random vector; counts what it was given."""

    size = 16

    def __init__(self, name: str = "random", wrong: Any = None) -> None:
        self.name = name
        self.wrong = wrong
        self.encoded = 0

    def describe(self) -> dict[str, Any]:
        return {"encoder": self.name, "size": self.size}

    def questions(self, texts: Sequence[str]) -> Any:
        rows = [np.random.default_rng(list(text.encode())).normal(size=16) for text in texts]
        found = np.array(rows, np.float32).reshape(len(texts), 16)
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Any:
        self.encoded += len(texts)
        if self.wrong is not None and self.encoded > self.wrong:
            raise RuntimeError("power cut")
        return self.questions(texts)


@pytest.fixture
def corpus(tmp_path: Path) -> Benchmark:
    passages = [Passage(id=f"c:{n:04}#0", page=f"c:{n:04}", title="", text=f"text {n}") for n in range(COUNT)]
    queries = [
        Query(id=f"q{n}", task="qa", input=f"text {n}", outputs=(Output(answer="x"),))
        for n in range(0, COUNT, 10)
    ]
    return save_benchmark(tmp_path / "corpus", name="corpus", queries=queries, passages=passages)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense_vectors, "SHARD", 64)


def exact(corpus: Benchmark, encoder: Random, k: int) -> list[list[str]]:
    everything = encoder.questions(corpus.passages["text"].to_pylist())
    asked = encoder.questions([q.text for q in corpus.questions()])
    ids = corpus.passages["id"].to_pylist()
    return [[ids[n] for n in np.argsort(-row, kind="stable")[:k]] for row in asked @ everything.T]


@pytest.mark.parametrize(
    ("options", "overlap"),
    [({}, 0.99), ({"precision": "float32"}, 1.0), ({"precision": "int8"}, 0.95), ({"search": "cpu"}, 0.99)],
)
def test_exact_search_finds_what_is_closest(
    corpus: Benchmark, tmp_path: Path, options: dict[str, str], overlap: float
) -> None:
    encoder = Random()
    retriever = Dense.over(corpus.corpus, tmp_path / "work", encoder=encoder, **options)
    wanted = exact(corpus, encoder, 10)
    found = [list(r.passages) for r in retriever.search(corpus.questions(), 10)]
    shared = [len(set(w) & set(f)) / 10 for w, f in zip(wanted, found, strict=True)]
    assert np.mean(shared) >= overlap
    assert [f[0] for f in found] == [w[0] for w in wanted]


@pytest.mark.parametrize("index", ["faiss-hnsw", "faiss-ivf", "faiss-sq8", "usearch"])
def test_approximate_search_says_its_recall(corpus: Benchmark, tmp_path: Path, index: str) -> None:
    pytest.importorskip(index.partition("-")[0])
    encoder = Random()
    retriever = Dense.over(corpus.corpus, tmp_path / "work", encoder=encoder, index=index)
    told = retriever.describe()["approximate"]["recall@10_against_exact"]
    wanted = exact(corpus, encoder, 10)
    found = [list(r.passages) for r in retriever.search(corpus.questions(), 10)]
    recall = np.mean([len(set(w) & set(f)) / 10 for w, f in zip(wanted, found, strict=True)])
    assert told == pytest.approx(recall, abs=0.05)
    assert 0.2 < told <= 1
    again = Dense.over(corpus.corpus, tmp_path / "work", encoder=encoder, index=index)
    assert again.describe() == retriever.describe()


def test_vectors_are_made_once(corpus: Benchmark, tmp_path: Path) -> None:
    encode_corpus(corpus.corpus, Random(), tmp_path)
    second = Random()
    stored = encode_corpus(corpus.corpus, second, tmp_path)
    assert second.encoded == 0
    assert len(stored) == COUNT
    other = Random("other")
    encode_corpus(corpus.corpus, other, tmp_path)
    assert other.encoded == COUNT


def test_encoding_goes_on_where_it_stopped(corpus: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="power cut"):
        encode_corpus(corpus.corpus, Random(wrong=130), tmp_path / "a")
    rest = Random()
    stored = encode_corpus(corpus.corpus, rest, tmp_path / "a")
    assert rest.encoded == COUNT - 128
    whole = encode_corpus(corpus.corpus, Random(), tmp_path / "b")
    assert stored.folder.content_hash == whole.folder.content_hash


def test_rows_are_read_across_shards(corpus: Benchmark, tmp_path: Path) -> None:
    stored = encode_corpus(corpus.corpus, Random(), tmp_path, precision="float32")
    rows = np.array([299, 0, 63, 64, 128])
    texts = [f"text {n}" for n in rows]
    assert np.allclose(stored.read(rows), Random().questions(texts))


def test_ties_go_by_ordinal(tmp_path: Path) -> None:
    class Same(Random):
        def questions(self, texts: Sequence[str]) -> Any:
            return np.ones((len(texts), 16), np.float32)

    passages = [Passage(id=f"c:{n:04}#0", page=f"c:{n:04}", title="", text="x") for n in range(200)]
    queries = [Query(id="q", task="qa", input="x", outputs=(Output(answer="x"),))]
    same = save_benchmark(tmp_path / "same", name="same", queries=queries, passages=passages)
    stored = encode_corpus(same.corpus, Same(), tmp_path / "work")
    ordinals, _ = NumpySearch(stored).best(np.ones((1, 16), np.float32), 70)
    assert ordinals[0].tolist() == list(range(70))


@pytest.mark.parametrize("k", [1, 20, 100])
def test_shards_one_after_the_other_rank_as_all_at_once(corpus: Benchmark, tmp_path: Path, k: int) -> None:
    class Few(Random):
        """Vectors of few different numbers: most scores are equal to others."""

        def questions(self, texts: Sequence[str]) -> Any:
            return np.rint(super().questions(texts))

    stored = encode_corpus(corpus.corpus, Few(), tmp_path)
    everything = stored.read(np.arange(COUNT))
    asked = Few().questions([f"text {n}" for n in range(30)])
    ordinals, scores = NumpySearch(stored).best(asked, k)
    for row, found, values in zip(asked @ everything.T, ordinals, scores, strict=True):
        wanted = np.argsort(-row, kind="stable")[:k]
        assert found.tolist() == wanted.tolist()
        assert values.tolist() == row[wanted].tolist()


def test_more_asked_than_there_is(corpus: Benchmark, tmp_path: Path) -> None:
    retriever = Dense.over(corpus.corpus, tmp_path / "work", encoder=Random())
    (ranking,) = retriever.search([Question(id="q", text="text 7")], 1000)
    assert len(set(ranking.passages)) == COUNT
    assert list(retriever.search([], 5)) == []


@pytest.mark.parametrize(("bad", "message"), [(np.nan, "NaN"), (np.inf, "NaN or infinity"), (None, "shape")])
def test_bad_vectors_are_named(corpus: Benchmark, tmp_path: Path, bad: float | None, message: str) -> None:
    from whichone.retrieval.dense.encoder import checked

    found = np.zeros((3, 4), np.float32)
    if bad is not None:
        found[1, 2] = bad
    with pytest.raises(BadInput, match=message):
        checked(found, 3, 4 if bad is not None else 5, "model")


def test_vectors_of_another_size_are_refused(corpus: Benchmark, tmp_path: Path) -> None:
    stored = encode_corpus(corpus.corpus, Random(), tmp_path)

    class Wide(Random):
        size = 32

    with pytest.raises(UsageError, match="vectors of 32 numbers"):
        Dense(Wide(), stored, [], NumpySearch(stored), {})


def test_models_that_are_not_there(corpus: Benchmark, tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no/such-model"):
        find_encoder("no/such-model")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="no model that can be read"):
        find_encoder(str(tmp_path / "empty"))
    assert find_encoder("none") is None
    with pytest.raises(UsageError, match="precison"):
        make_retriever("dense", corpus, tmp_path, {"precison": "int8"})
    with pytest.raises(Missing, match="encoder"):
        need_encoder("none")


def test_a_device_that_is_not_there(corpus: Benchmark, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a device")
    stored = encode_corpus(corpus.corpus, Random(), tmp_path)
    with pytest.raises(Missing, match="cuda"):
        TorchSearch(stored, "cuda")


def test_defaults() -> None:
    assert DenseParameters().index == "exact"
    assert DenseParameters().precision == "float16"


def test_vectors_that_do_not_fit_are_searched_in_blocks(
    corpus: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("whichone.retrieval.dense.vectors.SHARD", 3)
    stored = encode_corpus(corpus.corpus, Random(), tmp_path)
    asked = Random().questions(["who", "where", "when"])
    whole = TorchSearch(stored, "cpu").best(asked, 5)
    for most in (1, 7 * 4 * stored.size):
        search = TorchSearch(stored, "cpu", most)
        assert search._resident is None
        found = search.best(asked, 5)
        assert found[0].tolist() == whole[0].tolist()
        np.testing.assert_allclose(found[1], whole[1], rtol=1e-6)
