"""Questions that nobody can resolve are left out, equal questions are one, and something is left to learn from."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from eq_knowledge import write_knowledge
from small_kb import item, page, prop, write_kb

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.by_name import builtin_benchmark
from whichone.cli import whichone
from whichone.papers.entityquestions.build_entityquestions import (
    BuiltQuestions,
    EntityQuestionsOptions,
    build_entityquestions,
)
from whichone.papers.entityquestions.draw import Sizes
from whichone.runs.retrieve import retrieve

OPTIONS = EntityQuestionsOptions(only=("P19",), least_facts=5)
SOMEBODY, ALONE = "it can be known who is meant", "no other question has the same words"


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_knowledge(tmp_path_factory.mktemp("resolvable") / "kb")


def step(built: BuiltQuestions, name: str) -> tuple[int, int]:
    row = next(s for s in built.steps if str(s["step"]).startswith(name))
    return row["kept"], row["removed"]


def asked(built: BuiltQuestions) -> set[str]:
    lines = built.benchmark.folder.path("train.jsonl").read_text().splitlines()
    train = {msgspec.json.decode(line)["id"] for line in lines}
    return {q.id for q in built.benchmark.queries} | train


@pytest.mark.parametrize(
    ("wanted", "removed", "without"),
    [("possible", 2, {"P19-Q200", "P19-Q240"}), ("strict", 3, {"P19-Q200", "P19-Q240", "P19-Q201"})],
)
def test_unresolvable_questions_are_left_out_and_counted(
    kb: Path, tmp_path: Path, wanted: str, removed: int, without: set[str]
) -> None:
    options = msgspec.structs.replace(OPTIONS, resolvable=wanted, sizes=Sizes(test=99, dev=0))
    built = build_entityquestions(kb, tmp_path / "b", options)
    assert step(built, SOMEBODY) == (41 - removed, removed)
    assert without.isdisjoint(asked(built))
    assert len(built.benchmark.queries) == 41 - removed
    assert f"({wanted})" in built.benchmark.card


def test_published_rules_ask_everything(kb: Path, tmp_path: Path) -> None:
    words = ["build", "entityquestions", str(kb), str(tmp_path / "b"), "--only", "P19"]
    result = CliRunner().invoke(whichone, [*words, "--least-facts", "5", "--rules", "published"])
    assert result.exit_code == 0, result.output
    made = Benchmark.open(tmp_path / "b")
    assert len(made.queries) == 41
    texts = [q.input for q in made.queries]
    assert texts.count("Where was First0 Last0 born?") == 2
    assert {q.attributes["split"] for q in made.queries} == {"test"}


def located(folder: Path, *, town: str) -> BuiltQuestions:
    """P131 and P276 are both asked by "Where is X located?"."""
    entities = [
        item("Q1", "Old Mill", title="Old Mill", types=["Q9"], P131="Q10", P276="Q11"),
        item("Q2", "New Mill", title="New Mill", types=["Q9"], P131="Q10"),
        item("Q3", town, title="New Mill (b)", types=["Q8"], P276="Q11"),
        item("Q10", "Leeds", title="Leeds", types=["Q7"]),
        item("Q11", "York", title="York", types=["Q7"]),
        prop("P131", "in"), prop("P276", "at"),
    ]  # fmt: skip
    pages = [
        page(1, "Old Mill", "Q1", "It is in Leeds and in York."),
        page(2, "New Mill", "Q2", "It is in Leeds."),
        page(3, "New Mill (b)", "Q3", "It is in York."),
    ]
    kb = write_kb(folder / "kb", entities, pages, {})
    options = EntityQuestionsOptions(least_facts=0.01, least_answers=1, sizes=Sizes(test=9, dev=0))
    return build_entityquestions(kb, folder / "b", options)


def test_one_question_in_the_same_words_accepts_all_answers(tmp_path: Path) -> None:
    built = located(tmp_path, town="Elsewhere")
    texts = [q.input for q in built.benchmark.queries]
    assert sorted(texts) == [f"Where is {name} located?" for name in ("Elsewhere", "New Mill", "Old Mill")]
    (mill,) = (q for q in built.benchmark.queries if q.entity == "Q1")
    assert mill.answers() == ("Leeds", "York")
    assert step(built, ALONE) == (3, 1)


def test_another_relation_in_the_same_words_makes_it_unresolvable(tmp_path: Path) -> None:
    built = located(tmp_path, town="New Mill")
    assert {q.entity for q in built.benchmark.queries} == {"Q1"}
    assert step(built, SOMEBODY) == (2, 2)


def test_splits_leave_something_to_learn_from(kb: Path, tmp_path: Path) -> None:
    built = build_entityquestions(
        kb, tmp_path / "b", msgspec.structs.replace(OPTIONS, train_scope="subjects")
    )
    splits = [q.attributes["split"] for q in built.benchmark.queries]
    assert (splits.count("test"), splits.count("dev")) == (20, 3)
    kept, sharing = step(built, "shares no token with the test set")
    assert kept + sharing == 39 - 23
    assert built.train == kept


def test_without_training_facts_the_card_says_why(kb: Path, tmp_path: Path) -> None:
    built = build_entityquestions(kb, tmp_path / "b", OPTIONS)
    assert built.train == 0
    assert "all 16 candidates share a token of their triples" in built.benchmark.card


def test_sizes_scale_up_to_the_published_ones() -> None:
    assert Sizes().of(10) == (5, 1)
    assert Sizes().of(5_000) == (1_000, 500)
    assert Sizes().of(50_000) == (1_000, 1_000)
    assert Sizes(test=7, dev=0).of(5_000) == (7, 0)


def test_the_page_leads_with_top_20_and_names_no_other_paper(tmp_path: Path) -> None:
    place = builtin_benchmark("builtin/entityquestions")
    retrieve(place, tmp_path / "run", retriever="bm25", k=20)
    result = CliRunner().invoke(whichone, ["report", str(tmp_path / "run"), str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "page.html").read_text()
    assert "Top-20 retrieval accuracy (percent, the mean over relations): bm25" in text
    assert text.index("EntityQuestions, Table 1") < text.index("Top-1 retrieval")
    assert "(AmbER, " not in text
    retrieve("builtin/amber", tmp_path / "other", retriever="bm25", k=20)
    CliRunner().invoke(whichone, ["report", str(tmp_path / "other"), str(tmp_path / "amber.html")])
    assert "Top-1 retrieval (AmbER, Table 5)" in (tmp_path / "amber.html").read_text()
