"""Which passages are shown, under every setting."""

from __future__ import annotations

import pytest
from fixed_retriever import Fixed

from whichone.benchmarks.benchmark import save_benchmark
from whichone.errors import BadInput, UsageError
from whichone.records import Output, Passage, Provenance, Query
from whichone.runs.runner import run_retriever
from whichone.runs.shown import Setting, Shows, setting_for


def shown(benchmark, kind, *, run=None, task="qa", **setting):
    shows = Shows(benchmark, Setting(passages=kind, **setting), run)
    return {q.id: shows.choose(q) for q in benchmark.queries if q.task == task}


@pytest.fixture
def fixed(toy, tmp_path):
    ids = ("p:brightwater-town#1", "p:vennick-rower#0", "p:vennick-botanist#0")
    return run_retriever(Fixed(*ids), toy, tmp_path / "run", k=3, name="fixed")


def test_gold_is_the_gold_page_in_its_order(toy):
    found = shown(toy, "gold")["qa:vennick-rower:team"]
    assert found.passages == ("p:vennick-rower#0", "p:vennick-rower#1")


def test_gold_that_does_not_fit_keeps_what_states_the_answer(toy):
    found = shown(toy, "gold", depth=1)
    assert found["qa:vennick-rower:team"].passages == ("p:vennick-rower#1",)
    assert found["qa:vennick-rower:birthplace"].passages == ("p:vennick-rower#0",)
    assert found["qa:vennick-rower:team"].cut == 1
    claims = shown(toy, "gold", depth=1, task="fc")
    assert claims["fc:vennick-rower:team:REFUTES"].passages == ("p:vennick-rower#1",)


def test_what_is_kept_of_a_long_page_stays_in_its_order(tmp_path):
    texts = ["Opening words.", "Something else.", "Born in Eskby.", "The end."]
    benchmark = save_benchmark(
        tmp_path / "long",
        name="long",
        queries=[
            Query(
                id="q",
                task="qa",
                input="Where?",
                outputs=(Output(answer="Eskby", provenance=((Provenance(page="p:1"),),)),),
            )
        ],
        passages=[Passage(id=f"p:1#{n}", page="p:1", title="One", text=text) for n, text in enumerate(texts)],
    )
    assert shown(benchmark, "gold", depth=2)["q"].passages == ("p:1#0", "p:1#2")


def test_other_bearer_is_never_gold(toy):
    found = shown(toy, "other-bearer")
    assert found["qa:vennick-rower:team"].passages[0] == "p:vennick-botanist#0"
    assert found["qa:vennick-botanist:birthplace"].passages[0] == "p:vennick-rower#0"
    for query in toy.queries:
        if query.id in found:
            assert not {p.partition("#")[0] for p in found[query.id].passages} & query.gold_pages()
    assert found["lonely"].left_out and not found["lonely"].passages


def test_none_shows_nothing(toy):
    assert all(s.passages == () and not s.left_out for s in shown(toy, "none").values())


def test_retrieved_and_gold_plus_retrieved(toy, fixed):
    key = "qa:vennick-botanist:birthplace"
    assert shown(toy, "retrieved", run=fixed, depth=2)[key].passages == (
        "p:brightwater-town#1",
        "p:vennick-rower#0",
    )
    both = shown(toy, "gold+retrieved", run=fixed, depth=3)[key]
    assert both.passages == ("p:vennick-botanist#0", "p:vennick-botanist#1", "p:brightwater-town#1")


def test_a_page_is_its_first_passages(toy, tmp_path):
    retriever = Fixed("p:vennick-rower", "p:brightwater-film")
    run = run_retriever(retriever, toy, tmp_path / "pages", k=2, name="pages")
    assert shown(toy, "retrieved", run=run)["lonely"].passages == (
        "p:vennick-rower#0",
        "p:brightwater-film#0",
    )
    whole = shown(toy, "retrieved", run=run, page_passages=0)["lonely"]
    assert len(whole.passages) == 4


def test_ambigdocs_defaults_and_seeded_order(toy, toy_ambigdocs):
    setting = setting_for(toy_ambigdocs, passages="gold")
    assert (setting.depth, setting.shuffled) == (5, True)
    assert (setting_for(toy, passages="gold").depth, setting_for(toy, passages="gold").shuffled) == (
        20,
        False,
    )
    orders = {
        tuple(shown(toy_ambigdocs, "gold", task="ambigdocs", shuffled=True, seed=s)["Orla Vennick"].passages)
        for s in range(20)
    }
    assert orders == {
        ("p:vennick-botanist#0", "p:vennick-rower#0"),
        ("p:vennick-rower#0", "p:vennick-botanist#0"),
    }
    again = [shown(toy_ambigdocs, "gold", task="ambigdocs", shuffled=True, seed=3)] * 2
    assert again[0] == again[1]


def test_a_sample_of_gold_passages_is_seeded(toy_ambigdocs):
    chosen = {
        shown(toy_ambigdocs, "gold", task="ambigdocs", depth=1, seed=s)["Orla Vennick"].passages
        for s in range(20)
    }
    assert chosen == {("p:vennick-botanist#0",), ("p:vennick-rower#0",)}


def test_needs_a_run_over_the_same_benchmark(toy, toy_ambigdocs, fixed):
    with pytest.raises(UsageError, match="needs a run"):
        Shows(toy, Setting(passages="retrieved"))
    with pytest.raises(BadInput, match="retrieve on this benchmark"):
        Shows(toy_ambigdocs, Setting(passages="retrieved"), fixed)
    with pytest.raises(UsageError):
        Setting(passages="silver")
    with pytest.raises(UsageError):
        Setting(depth=0)


def test_hash_names_the_setting():
    assert Setting().hash == Setting(passages="gold", depth=20).hash
    assert len({Setting().hash, Setting(depth=3).hash, Setting(seed=1).hash}) == 3
