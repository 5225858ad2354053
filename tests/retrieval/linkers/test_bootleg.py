"""Types and facts decide between namesakes, on the built-in world and its knowledge base."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.records import Query
from whichone.retrieval.linker import BootlegStyle, KnowledgeNames, Linker
from whichone.runs.predictions import BenchmarkNames


@pytest.fixture(scope="module")
def amber() -> Benchmark:
    return Benchmark.open("builtin/amber")


@pytest.fixture(scope="module")
def knowledge(amber: Benchmark) -> str:
    return str(amber.folder.root.parent / "kb")


def first_right(system: Linker, queries: list[Query]) -> float:
    found = system.search([q.question() for q in queries], 1)
    right = [
        set(r.passages) <= q.gold_pages() and bool(r.passages) for q, r in zip(queries, found, strict=True)
    ]
    return sum(right) / len(right)


def test_the_tail_is_found_by_facts_where_priors_fail(
    amber: Benchmark, knowledge: str, tmp_path: Path
) -> None:
    tail = [q for q in amber.queries if q.role == "tail" and q.task in ("qa", "sf")]
    priors = first_right(Linker.over(amber.corpus, tmp_path, knowledge=knowledge), tail)
    facts = first_right(BootlegStyle.over(amber.corpus, tmp_path, knowledge=knowledge), tail)
    assert priors < 0.1
    assert facts > 0.9


def test_the_asked_entity_comes_before_a_value(amber: Benchmark, knowledge: str, tmp_path: Path) -> None:
    claims = [q for q in amber.queries if q.task == "fc"]
    assert first_right(BootlegStyle.over(amber.corpus, tmp_path, knowledge=knowledge), claims) > 0.85


def test_priors_and_links_of_a_knowledge_base(amber: Benchmark, knowledge: str) -> None:
    names = KnowledgeNames(knowledge, amber.corpus)
    found = names.candidates("Abe Lincoln")
    assert [c.entity for c in found] == ["Q91", "Q900000001"]
    assert 0.99 < sum(c.prior for c in found) <= 1  # a bearer without a page keeps its share
    assert names.find("Who killed Abe Lincoln?")[0].text == "Abe Lincoln"


def test_titles_and_ids_that_only_the_knowledge_base_knows(amber: Benchmark, knowledge: str) -> None:
    alone, helped = BenchmarkNames(amber), BenchmarkNames(amber, knowledge)
    in_sets = {b.entity for s in amber.sets for b in s.bearers}
    rows = KnowledgeNames(knowledge, amber.corpus).folder.table("pages", ["page", "entity"]).to_pylist()
    other = next(r for r in rows if r["entity"] and r["entity"] not in in_sets and r["page"] in amber.pages)
    assert alone.of_entity(other["entity"]) is None
    assert helped.of_entity(other["entity"]) == other["page"]
    assert alone.of_entity("Q91") == helped.of_entity("Q91") == "enwiki:1004"


def test_without_a_knowledge_base_or_with_another(onos: Benchmark, knowledge: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a knowledge base"):
        BootlegStyle.over(onos.corpus, tmp_path)
    with pytest.raises(BadInput, match="none of the corpus' first"):
        BootlegStyle.over(onos.corpus, tmp_path, knowledge=knowledge)


def test_weights_are_options_and_are_kept(amber: Benchmark, knowledge: str, tmp_path: Path) -> None:
    import msgspec

    system = BootlegStyle.over(amber.corpus, tmp_path, knowledge=knowledge, prior="0")
    assert system.describe()["prior"] == 0
    assert system.describe()["retriever"] == "bootleg-style"
    with pytest.raises(msgspec.ValidationError):
        BootlegStyle.over(amber.corpus, tmp_path, knowledge=knowledge, prior="-1")
