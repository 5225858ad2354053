"""`popular`: the caricature that always answers with the most popular bearer."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.corpus.corpus import Corpus
from whichone.corpus.page_names import Named
from whichone.corpus.save import save_corpus
from whichone.errors import UsageError
from whichone.records import Output, Passage, Query, Question
from whichone.retrieval.baselines import Popular
from whichone.runs.retrieve import make_retriever

TITLES = {"p:1": "Big Word (river)", "p:2": "Big Word (hill)", "p:3": "Big Word", "p:4": "Paris"}


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    passages = [Passage(id=f"{p}#0", page=p, title=t, text="") for p, t in TITLES.items()]
    links = {"p:1": 3, "p:2": 90, "p:4": 5}
    names = [(page, Named("Big Word", "anchor", count)) for page, count in links.items()]
    names += [("p:4", Named("Paris Hilton", "anchor", 2)), ("p:3", Named("Paris", "anchor", 1))]
    return save_corpus(tmp_path / "corpus", passages, names=names)


def ask(retriever: Popular, text: str, k: int = 10) -> tuple[str, ...]:
    (ranking,) = retriever.search([Question(id="q", text=text)], k)
    return ranking.passages


def test_most_linked_first_others_last(corpus: Corpus, tmp_path: Path) -> None:
    retriever = Popular.over(corpus, tmp_path)
    assert ask(retriever, "Who is the BIG  word's father?") == ("p:2", "p:4", "p:1", "p:3")
    assert ask(retriever, "Who is Big Word?", 2) == ("p:2", "p:4")
    assert ask(retriever, "Who is Big?") == ()
    assert retriever.sees == ("corpus",)


def test_a_shared_name_goes_before_a_longer_one_of_a_single_page(corpus: Corpus) -> None:
    assert ask(Popular(corpus), "Is Paris Hilton in Paris?") == ("p:3", "p:4")
    assert ask(Popular(corpus), "Who is Paris Hilton?")[:1] == ("p:3",)


def test_a_folder_of_its_own(corpus: Corpus, tmp_path: Path) -> None:
    Popular.build(corpus, tmp_path / "index")
    assert ask(Popular.open(tmp_path / "index"), "Big Word?", 1) == ("p:2",)


def test_views_of_a_knowledge_base(tmp_path: Path) -> None:
    builtin_amber = Benchmark.open("builtin/amber")
    retriever = make_retriever("popular", builtin_amber, tmp_path, {"knowledge": "benchmark"})
    heads = {b.pages[0] for s in builtin_amber.sets for b in s.bearers[:1] if b.pages}
    questions = [q for q in builtin_amber.queries if q.role == "head"]
    first = [r.passages[0] for r in retriever.search([q.question() for q in questions], 1)]
    assert sum(page in heads for page in first) > 0.9 * len(first)
    assert retriever.sees == ("corpus", "knowledge base")  # type: ignore[attr-defined]


def test_without_links_and_views_nobody_is_popular(tmp_path: Path) -> None:
    bare = save_benchmark(
        tmp_path / "b",
        name="bare",
        queries=[Query(id="q", task="qa", input="?", outputs=(Output(answer="x"),))],
        passages=[Passage(id="a#0", page="a", title="", text="")],
    )
    with pytest.raises(UsageError, match="no texts of links"):
        make_retriever("popular", bare, tmp_path, {})
    with pytest.raises(UsageError, match="does not take"):
        make_retriever("popular", bare, tmp_path, {"weight": "3"})
