"""A system sees a corpus, never a benchmark: nonsense for gold, sets and answers changes no ranking."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from onnx_files import WORDS, write_onnx, write_tokenizer

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Bearer, NameSet, Output, Provenance, Query
from whichone.retrieval.bm25 import Bm25
from whichone.runs.retrieve import make_retriever
from whichone.runs.runner import run_retriever

SYSTEMS: dict[str, tuple[str, dict[str, Any]]] = {
    "blink": ("blink", {"model": "BLINK", "mentions": "names", "candidates": "4"}),
    "bm25": ("bm25", {}),
    "dense": ("dense", {"encoder": "MODEL/dense"}),
    "fusion": ("fusion", {"first": "INDEX/bm25,INDEX/longer"}),
    "late": ("late", {"model": "MODEL/late"}),
    "rerank": ("rerank", {"first": "INDEX/bm25", "model": "MODEL/rerank"}),
    "sparse": ("sparse", {"model": "MODEL/sparse"}),
    "tfidf": ("tfidf", {}),
    "title-lookup": ("title-lookup", {}),
    "popular": ("popular", {"knowledge": "KB"}),
    "linker": ("linker", {}),
    "linker, knowledge": ("linker", {"knowledge": "KB"}),
    "bootleg-style": ("bootleg-style", {"knowledge": "KB"}),
    "namesake": ("namesake", {"encoder": "none"}),
    "namesake, knowledge": ("namesake", {"encoder": "none", "knowledge": "KB"}),
    "namesake, encoder": ("namesake", {"encoder": "MODEL/dense"}),
}
NOT_RUN = {
    "bearers": "the bearers of the name asked about are the benchmark's, and `sees` says so",
    "given": "the documents given with a question are the benchmark's, and `sees` says so",
    "reader-order": "the order that a reader gave to passages it was shown, in answers over a benchmark",
    "haystack": "an object of the user's",
    "http": "a server of the user's",
    "langchain": "an object of the user's",
    "llama-index": "an object of the user's",
    "lucene": "an index of the user's",
    "mteb": "a model of the user's",
}
"""Built-in retrievers that are not run here, each with the reason."""
MARKS = WORDS[:8]


@pytest.fixture(scope="module")
def amber() -> Benchmark:
    return Benchmark.open("builtin/amber")


@pytest.fixture(scope="module")
def pair(
    amber: Benchmark, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], tuple[Benchmark, Benchmark]]:
    """So many questions over the same corpus, once with all that is known of them, once with lies."""
    return functools.cache(functools.partial(_pair, amber, tmp_path_factory))


def _pair(amber: Benchmark, factory: pytest.TempPathFactory, asked: int) -> tuple[Benchmark, Benchmark]:
    place = factory.mktemp("fair")
    queries = amber.queries[:: max(1, len(amber.queries) // asked)]
    pages = sorted(amber.pages)
    lies = [_lie(query, pages[n % len(pages)]) for n, query in enumerate(queries)]
    sets = [
        NameSet(
            id=f"lie-{n}",
            name=f"Nobody {n}",
            bearers=(Bearer(entity=f"L{n}", role="head", popularity=9e9, pages=(page,)),),
        )
        for n, page in enumerate(pages[:50])
    ]
    corpus = amber.corpus
    true = save_benchmark(place / "true", name="fair", queries=queries, sets=amber.sets, corpus=corpus)
    false = save_benchmark(place / "false", name="fair", queries=lies, sets=sets, corpus=corpus)
    return true, false


@pytest.fixture(scope="module")
def models(amber: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small models over the corpus' commonest words: real files, real tokenizers, fixed weights."""
    pytest.importorskip("onnxruntime")
    place = tmp_path_factory.mktemp("models")
    texts = (p.text for p in amber.passage_records())
    counts = Counter(w for text in texts for w in re.findall(r"\w+", text))
    words = [*MARKS, *(word for word, _ in counts.most_common(600))]
    drawn = np.random.default_rng(0).normal(size=(len(words), 32)).astype(np.float32)
    drawn[0] = 0
    own = np.eye(len(words), dtype=np.float32)
    own[: len(MARKS)] = 0
    tables = {
        "dense": (drawn, "last_hidden_state", False),
        "late": (drawn, "last_hidden_state", False),
        "sparse": (own, "logits", False),
        "rerank": (drawn[:, :1], "logits", True),
    }
    for name, (table, output, summed) in tables.items():
        (place / name).mkdir()
        write_onnx(place / name / "model.onnx", table, output=output, summed=summed)
        write_tokenizer(place / name, words)
    return place


@pytest.fixture(scope="module")
def blink(amber: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both stages of a BERT that has learned nothing: the rankings mean nothing, but they are its own."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from whichone.retrieval.blink_models import new_blink

    bert, place = (tmp_path_factory.mktemp("blink") / name for name in ("bert", "model"))
    counts = Counter(word for p in amber.passage_records() for word in re.findall(r"\w+", p.text.lower()))
    words = [*MARKS[:5], *(word for word, _ in counts.most_common(300))]
    numbers = {word: n for n, word in enumerate(words)}
    transformers.BertTokenizerFast(vocab=numbers).save_pretrained(bert)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(bert)
    new_blink(str(bert), "cpu").save(place)
    return place


@pytest.fixture(scope="module")
def indexes(amber: Benchmark, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("indexes")
    Bm25.build(amber.corpus, place / "bm25")
    Bm25.build(amber.corpus, place / "longer", b=0.1)
    return place


def test_every_built_in_retriever_is_run_or_says_why_not() -> None:
    """A retriever that is added is added here too."""
    own = {
        name
        for name in registry.names("retrievers")
        if registry.target("retrievers", name).startswith("whichone.")
    }
    run = {retriever for retriever, _ in SYSTEMS.values()}
    assert run.isdisjoint(NOT_RUN)
    assert run | set(NOT_RUN) == own


def _lie(query: Query, page: str) -> Query:
    return msgspec.structs.replace(
        query,
        outputs=(Output(answer="nonsense", provenance=((Provenance(page=page),),)),),
        name="Nobody",
        name_set="lie-0",
        role="head" if query.role == "tail" else "tail",
        relation="P0",
        entity="L0",
        attributes={},
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_nonsense_in_a_benchmark_changes_no_ranking(
    pair: Callable[[int], tuple[Benchmark, Benchmark]],
    amber: Benchmark,
    models: Path,
    indexes: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    name: str,
) -> None:
    retriever, options = SYSTEMS[name]
    places = {"KB": amber.folder.root.parent / "kb", "MODEL": models, "INDEX": indexes}
    if retriever == "blink":
        places["BLINK"] = request.getfixturevalue("blink")
    pattern = re.compile(r"\b(KB|MODEL|INDEX|BLINK)\b")
    given = {k: pattern.sub(lambda found: str(places[found[1]]), v) for k, v in options.items()}
    files = []
    for number, benchmark in enumerate(pair(12 if name == "namesake, encoder" else 60)):  # which reads, too
        system = make_retriever(retriever, benchmark, tmp_path / f"work-{number}", given)
        run = run_retriever(system, benchmark, tmp_path / f"run-{number}", k=20, name=name)
        files.append((tmp_path / f"run-{number}" / "rankings.parquet").read_bytes())
        sees = run.description.get("sees", ["corpus"])
        assert sees == (["corpus", "knowledge base"] if "KB" in options.values() else ["corpus"])
        assert run.rankings.num_rows
        if close := getattr(system, "close", None):
            close()
    assert files[0] == files[1]


def test_two_benchmarks_over_one_corpus_share_its_indexes(
    pair: Callable[[int], tuple[Benchmark, Benchmark]], tmp_path: Path
) -> None:
    true, false = pair(60)
    assert true.corpus.hash == false.corpus.hash
    for benchmark in (true, false):
        make_retriever("bm25", benchmark, tmp_path / "work", {})
    assert len(list((tmp_path / "work").glob("bm25-*"))) == 1
