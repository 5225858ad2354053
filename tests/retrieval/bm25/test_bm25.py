"""BM25 against a plain scorer written from the formula, its ties, its parameters and its folder."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whichone.corpus.corpus import Corpus
from whichone.corpus.save import passage_rows
from whichone.errors import BrokenFolder, UsageError
from whichone.records import Passage, Question
from whichone.retrieval.bm25 import Bm25, Bm25Parameters, inverted
from whichone.retrieval.bm25 import inverted as bm25_index
from whichone.retrieval.bm25.analysis import TermNumbers, Vocabulary, key_of

TEXTS = [
    "The cat sat on the mat.",
    "The cat's mats: two cats, three mats!",
    "A dog barked at the cat",
    "Dogs bark.",
    "",
    "The dog and the dog and the dog",
]
BACKENDS = ("numba", "numpy")


def passages(texts: list[str], title: str = "") -> list[Passage]:
    return [
        Passage(id=f"t:{n:03}#0", page=f"t:{n:03}", title=title, text=text) for n, text in enumerate(texts)
    ]


def corpus_of(records: list[Passage]) -> Corpus:
    return Corpus.of_table(passage_rows(records), hash="test")


def build(records: list[Passage], path: Path, parameters: Bm25Parameters | None = None) -> Bm25:
    options = msgspec.structs.asdict(parameters or Bm25Parameters())
    return Bm25.build(corpus_of(records), path, **options)


def plain_scores(texts: list[str], query: str, p: Bm25Parameters) -> list[float]:
    """Lucene's formula term by term, without an index."""
    vocabulary = Vocabulary(p.stemmer, p.stop_words)
    analysed = [vocabulary.analyse(text) for text in texts]
    mean = sum(map(len, analysed)) / len(analysed)
    scores = []
    for words in analysed:
        counts, score = Counter(words), 0.0
        for term in vocabulary.analyse(query):
            holding = sum(term in other for other in analysed)
            idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
            norm = p.k1 * (1 - p.b + p.b * len(words) / (mean or 1))
            if counts[term]:
                score += idf * counts[term] / (counts[term] + norm)
        scores.append(score)
    return scores


def expected(texts: list[str], query: str, p: Bm25Parameters, k: int) -> list[tuple[int, float]]:
    """The k best by score in single precision, ties by ordinal."""
    ranked = sorted(
        ((n, s) for n, s in enumerate(plain_scores(texts, query, p)) if s > 0),
        key=lambda pair: (-round(pair[1], 5), pair[0]),
    )
    return ranked[:k]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "parameters",
    [
        Bm25Parameters(),
        Bm25Parameters(k1=1.2, b=0.75),
        Bm25Parameters(k1=2.0, b=0.0, stemmer="none", stop_words="none"),
        Bm25Parameters(b=1.0, stop_words="cat,the"),
    ],
)
def test_scores_are_those_of_the_formula(tmp_path: Path, backend: str, parameters: Bm25Parameters) -> None:
    build(passages(TEXTS), tmp_path / "index", parameters)
    retriever = Bm25.open(tmp_path / "index", backend=backend)  # type: ignore[arg-type]
    for query in ("cat", "the dog barking", "mats mats cat", "two dogs and a cat", "bird"):
        (ranking,) = retriever.search([Question(id="q", text=query)], 10)
        wanted = expected(TEXTS, query, parameters, 10)
        assert ranking.passages == tuple(f"t:{n:03}#0" for n, _ in wanted)
        assert ranking.scores == pytest.approx([s for _, s in wanted], rel=1e-5)


words = st.sampled_from(["ape", "bee", "cow", "doe", "elk", "fox"])
documents = st.lists(st.lists(words, max_size=6).map(" ".join), min_size=1, max_size=25)


@settings(max_examples=150)
@given(documents, st.lists(words, min_size=1, max_size=5).map(" ".join), st.integers(1, 30))
def test_all_ways_rank_alike_and_like_the_formula(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str, k: int
) -> None:
    place = tmp_path_factory.mktemp("index") / "bm25"
    build(passages(texts), place)
    found = []
    for backend in BACKENDS:
        retriever = Bm25.open(place, backend=backend)  # type: ignore[arg-type]
        found += retriever.search([Question(id="q", text=query)], k)
    assert found[0] == found[1]
    every = expected(texts, query, Bm25Parameters(), len(texts))
    by_formula = {f"t:{n:03}#0": score for n, score in every}
    # Sums of equal numbers in another order may differ in the last bit: which of such a pair is first is open.
    wanted = [score for _, score in every[:k]]
    assert [by_formula[p] for p in found[0].passages] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_ties_go_by_ordinal_at_every_depth(tmp_path: Path, backend: str) -> None:
    build(passages(["zebra"] * 300 + ["zebra zebra"]), tmp_path / "index")
    retriever = Bm25.open(tmp_path / "index", backend=backend)  # type: ignore[arg-type]
    for k in (1, 2, 50, 299, 301, 1000):
        (ranking,) = retriever.search([Question(id="q", text="zebra")], k)
        wanted = ["t:300#0", *(f"t:{n:03}#0" for n in range(300))][:k]
        assert list(ranking.passages) == wanted


def test_scores_of_chosen_passages_are_those_of_the_ranking(tmp_path: Path) -> None:
    retriever = build(passages(TEXTS), tmp_path / "index")
    terms = retriever.vocabulary.find("the cat and the dogs cat")
    ordinals, scores = retriever.scorer.best(terms, 10)
    assert retriever.scorer.of(terms, ordinals).tolist() == scores.tolist()
    assert retriever.scorer.of(terms, np.array([3, 4])).tolist()[1] == 0


def test_title_counts_as_often_as_told(tmp_path: Path) -> None:
    told = [Passage(id="a#0", page="a", title="zebra", text="grass"), *passages(["zebra grass"])]
    by_weight = {}
    for weight in (0, 1, 3):
        parameters = Bm25Parameters(title_weight=weight, b=0.0)
        retriever = build(told, tmp_path / str(weight), parameters)
        (ranking,) = retriever.search([Question(id="q", text="zebra")], 2)
        by_weight[weight] = ranking.passages
    assert by_weight == {0: ("t:000#0",), 1: ("a#0", "t:000#0"), 3: ("a#0", "t:000#0")}


def test_blocks_and_ranges_do_not_change_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"word{n % 7} word{n % 3} common {'often ' * (n % 5)}" for n in range(50)]
    build(passages(texts), tmp_path / "one")
    monkeypatch.setattr(bm25_index, "BLOCK", 7)
    monkeypatch.setattr(inverted, "POSTINGS", 20)
    Bm25.build(corpus_of(passages(texts)), tmp_path / "many", workers=1)
    for name in bm25_index.FILES:
        one = (tmp_path / "one" / name).read_bytes()
        assert one == (tmp_path / "many" / name).read_bytes(), name


def test_workers_do_not_change_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = corpus_of(passages([f"word{n % 7} name{n}'s Łódź" for n in range(20)]))
    Bm25.build(corpus, tmp_path / "one", workers=1)
    monkeypatch.setattr(bm25_index, "BLOCK", 6)
    Bm25.build(corpus, tmp_path / "two", workers=2)
    for name in bm25_index.FILES:
        one = (tmp_path / "one" / name).read_bytes()
        assert one == (tmp_path / "two" / name).read_bytes(), name


def test_an_interrupted_build_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = corpus_of(passages([f"word{n % 7} common" for n in range(50)]))
    Bm25.build(corpus, tmp_path / "whole")
    monkeypatch.setattr(bm25_index, "BLOCK", 10)
    analysed: list[int] = []
    number = TermNumbers.number

    def stopping(self: TermNumbers, texts: pa.Array) -> object:
        analysed.append(len(texts))
        if len(analysed) == 3:
            raise KeyboardInterrupt
        return number(self, texts)

    monkeypatch.setattr(TermNumbers, "number", stopping)
    with pytest.raises(KeyboardInterrupt):
        Bm25.build(corpus, tmp_path / "index", workers=1)
    Bm25.build(corpus, tmp_path / "index", workers=1)
    assert analysed == [10] * 6  # two blocks were kept, the third was made again
    for name in bm25_index.FILES:
        whole = (tmp_path / "whole" / name).read_bytes()
        assert whole == (tmp_path / "index" / name).read_bytes(), name
    assert not list((tmp_path / "index").glob("**/block-*"))


def test_other_parameters_start_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = corpus_of(passages(["the cats", "a cat"]))
    monkeypatch.setattr(bm25_index, "join", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Bm25.build(corpus, tmp_path / "index", stop_words="none")
    monkeypatch.undo()
    retriever = Bm25.build(corpus, tmp_path / "index")
    assert retriever.vocabulary.find("the cat") == [0]
    assert len(retriever.vocabulary) == 1


@pytest.mark.parametrize(
    "text",
    [
        "the cat's o'clock rock'n'roll dogs' 'quoted' a''b ' '' x'",
        "Cats’ ’cat’ cat’s it's_a test_case 3.5 U.S.A. naïve ÉCOLE İstanbul ΣΑΣ",
        "tabs\tand\nlines\x00zero\x1funit\x85next",
        "'tis l’auteur's a'''b 'c''d' ' '' '",
    ],
)
def test_fast_and_slow_ways_give_the_same_terms(text: str) -> None:
    numbering = TermNumbers("porter", "lucene")
    numbers, counts, known = numbering.number(pa.array([text, text + " é"], pa.large_string()))
    keys = known[numbers[numbers >= 0]].tolist()
    terms = [key_of(t) for t in Vocabulary("porter", "lucene").analyse(text)]
    assert keys == [*terms, *terms, key_of("é")]
    assert counts[0] <= counts[1]


def test_odd_questions(tmp_path: Path) -> None:
    retriever = build(passages(TEXTS), tmp_path / "index")
    odd = ["", "   ", "?!", "the of and", "unheard-of zzz", "cat " * 25_000]
    rankings = list(retriever.search([Question(id=str(n), text=t) for n, t in enumerate(odd)], 3))
    assert [len(r.passages) for r in rankings] == [0, 0, 0, 0, 0, 3]


def test_empty_corpus(tmp_path: Path) -> None:
    retriever = build([], tmp_path / "index")
    (ranking,) = retriever.search([Question(id="q", text="cat")], 3)
    assert ranking.passages == ()


@pytest.mark.parametrize(
    "wrong",
    [{"k1": -1}, {"k1": "inf"}, {"k1": "nan"}, {"b": 1.5}, {"kk1": 1}, {"k1": "high"}, {"title_weight": -1}],
)
def test_wrong_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, Bm25Parameters, strict=False)


def test_unknown_stemmer_and_backend(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="stemmer"):
        build([], tmp_path / "a", Bm25Parameters(stemmer="klingon"))
    build([], tmp_path / "b")
    with pytest.raises(UsageError, match="backend"):
        Bm25.open(tmp_path / "b", backend="abacus")  # type: ignore[arg-type]


def test_cut_index_is_named(tmp_path: Path) -> None:
    build(passages(TEXTS), tmp_path / "index")
    postings = tmp_path / "index" / "postings.npy"
    postings.write_bytes(postings.read_bytes()[:-8])
    with pytest.raises(BrokenFolder, match=r"postings\.npy"):
        Bm25.open(tmp_path / "index")


def test_index_says_its_parameters(tmp_path: Path) -> None:
    build(passages(TEXTS), tmp_path / "index", Bm25Parameters(k1=1.5))
    manifest = json.loads((tmp_path / "index" / "manifest.json").read_text())
    assert manifest["parameters"]["options"]["k1"] == 1.5
    assert Bm25.open(tmp_path / "index").describe()["k1"] == 1.5
