"""The gate's verdicts on searches of every kind: those that a person would give."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from few_names import few_names

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.cli.score_commands import gate_junit, gate_markdown
from whichone.errors import UsageError
from whichone.measures.budgets import Budgets
from whichone.measures.gate import GateReport, check_budgets, gate_depth, gate_run
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores
from whichone.measures.worst import _About, worst_mistakes
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query, Question, Ranking
from whichone.runs.retrieve import default_index_folder, make_retriever
from whichone.runs.run import Run
from whichone.runs.runner import run_retriever
from whichone.text.normalisers import stop_words


class Altered:
    """A real search, with something done to what it returns."""

    def __init__(self, inner, change) -> None:
        self.inner, self.change = inner, change

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for ranking in self.inner.search(questions, k):
            yield Ranking(
                question=ranking.question, passages=tuple(self.change(ranking.question, ranking.passages))
            )


class AtRandom:
    def __init__(self, passages: Sequence[str]) -> None:
        self.passages = passages

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            drawn = random.Random(question.id).sample(self.passages, k)
            yield Ranking(question=question.id, passages=tuple(drawn))


@pytest.fixture(scope="module")
def amber() -> Benchmark:
    return Benchmark.open("builtin/amber")


@pytest.fixture(scope="module")
def searches(amber: Benchmark):
    """By name: what each of them does is in its name."""
    work = default_index_folder(amber.corpus)
    bm25 = make_retriever("bm25", amber, work, {})
    gone = {page for n, s in enumerate(amber.sets) if n % 2 for b in s.bearers[1:] for page in b.pages}

    def without_the_new(question: str, passages: Sequence[str]) -> list[str]:
        return [p for p in passages if p.partition("#")[0] not in gone]

    def every_other(question: str, passages: Sequence[str]) -> Sequence[str]:
        return passages if random.Random(question).random() < 0.5 else ()

    return {
        "random": AtRandom(amber.passages["id"].to_pylist()),
        "popular": make_retriever("popular", amber, work, {"knowledge": "benchmark"}),
        "dead": Altered(bm25, lambda question, passages: ()),
        "half-dead": Altered(bm25, every_other),
        "stale": Altered(bm25, without_the_new),
        "as good as BM25": bm25,
        "good": make_retriever("namesake", amber, work, {"encoder": "none"}),
    }


def gate(search, benchmark: Benchmark, place: Path, **budgets: float) -> GateReport:
    run = run_retriever(search, benchmark, place, k=20, name="search")
    return gate_run(run, benchmark, Budgets.of(budgets))


@pytest.mark.parametrize(
    ("name", "failing"),
    [
        ("random", {"found", "floor acc@1", "floor acc@20"}),
        ("popular", {"max_tail_gap", "floor confused@20"}),
        ("dead", {"found", "floor acc@1", "floor acc@20", "results"}),
        ("half-dead", {"floor acc@1", "floor acc@20"}),
        ("stale", {"floor acc@1", "floor acc@20", "floor confused@20"}),
        ("as good as BM25", set()),
        ("good", set()),
    ],
)
def test_verdict_without_any_budget(amber, searches, tmp_path, name, failing) -> None:
    asked = (
        few_names(amber, tmp_path / "half", 2) if name == "good" else amber
    )  # it takes long with each question
    report = gate(searches[name], asked, tmp_path / "run")
    failed = {check.name for check in report.checks if check.verdict == "failed"}
    assert failing <= failed if failing else not failed
    assert report.exit_code == bool(failing)


def test_random_is_lost_and_not_confused(amber, searches, tmp_path) -> None:
    figures = gate(searches["random"], amber, tmp_path / "random").figures
    assert figures["max_not_found"].value > 0.8
    assert figures["max_confusion"].value < 0.1
    figures = gate(searches["popular"], amber, tmp_path / "popular").figures
    assert figures["max_not_found"].value < 0.05
    assert figures["max_confusion"].value > 0.5


@pytest.fixture
def staff(tmp_path: Path) -> Benchmark:
    """Two Ada Parks who differ in their office, asked about in two questions each."""
    who = {"1": "Leeds", "2": "Turin"}
    queries = [
        Query(
            id=f"{key}{n}",
            task="qa",
            input=f"What is the {what} of Ada Park in {city}?",
            outputs=(Output(answer="x", provenance=((Provenance(page=f"staff:{key}"),),)),),
            name="Ada Park",
            name_set="Ada Park",
            entity=key,
            attributes={"qualifier": city},
        )
        for key, city in who.items()
        for n, what in enumerate(("desk", "phone"))
    ]
    bearers = tuple(Bearer(entity=key, pages=(f"staff:{key}",)) for key in who)
    passages = [
        Passage(id=f"staff:{key}#0", page=f"staff:{key}", title="Ada Park", text=f"Her office is in {c}.")
        for key, c in who.items()
    ]
    return save_benchmark(
        tmp_path / "staff",
        name="staff",
        queries=queries,
        passages=passages,
        sets=[NameSet(id="Ada Park", name="Ada Park", bearers=bearers)],
    )


class AlwaysLeeds:
    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            yield Ranking(question=question.id, passages=("staff:1#0",))


def test_mistakes_say_who_was_meant_and_who_was_given(staff, tmp_path) -> None:
    report = gate(AlwaysLeeds(), staff, tmp_path / "run")
    (worst,) = report.worst
    assert (worst.name, worst.kind, worst.times, worst.of) == ("Ada Park", "confused", 2, 2)
    assert worst.meant == "Ada Park, Turin (staff:2)"
    assert worst.given == "Ada Park, Leeds (staff:1)"
    assert worst.question == "What is the desk of Ada Park in Turin?"
    assert worst.decides == '"Turin"'
    assert "Ada Park, Turin (staff:2)" in gate_markdown(report)
    failing = gate(AlwaysLeeds(), staff, tmp_path / "run", min_accuracy=0.99)
    failures = ElementTree.fromstring(gate_junit(failing)).iter("failure")
    assert all("meant Ada Park, Turin (staff:2)" in (f.text or "") for f in failures)


def test_a_budget_that_nothing_measures_fails(staff, tmp_path) -> None:
    report = gate(AlwaysLeeds(), staff, tmp_path / "run", max_tail_gap=0.5)
    (check,) = [c for c in report.checks if c.name == "max_tail_gap"]
    assert check.verdict == "failed"
    assert "does not say who is the most popular" in check.message
    report = gate(AlwaysLeeds(), staff, tmp_path / "run", min_answer_accuracy=0.5)
    assert "a folder of answers is needed" in report.checks[0].message


def test_found_is_harder_in_a_small_corpus() -> None:
    assert [gate_depth(pages) for pages in (2, 19, 60, 200, 10**6)] == [1, 1, 6, 20, 20]


def test_budgets_are_checked_by_name_and_value() -> None:
    with pytest.raises(UsageError, match="did you mean max_confusion"):
        Budgets.of({"max_confuson": 0.2})
    with pytest.raises(UsageError, match="a fraction from 0 to 1, not 20"):
        Budgets.of({"max_confusion": 20})


def test_the_fixture_compares_with_a_baseline(namesake_gate, staff) -> None:
    def good(text: str, k: int) -> list[str]:
        return ["staff:1" if "Leeds" in text else "staff:2"]

    def bad(text: str, k: int) -> list[str]:
        return ["staff:1"]

    report = namesake_gate(good, staff, baseline=bad, returns="page")
    assert {c.name: c.verdict for c in report.checks}["baseline acc@1"] == "passed"
    with pytest.raises(UsageError, match="did you mean min_accuracy"):
        namesake_gate(good, staff, budgets={"min_acuracy": 0.2})
    with pytest.raises(UsageError, match="did you mean max_confusion"):
        namesake_gate(good, staff, max_confusoin=0.2)
    assert "max_confusion" in {
        c.name for c in namesake_gate(good, staff, max_confusion=0.9, returns="page").checks
    }
    with pytest.raises(pytest.fail.Exception, match=r"meant Ada Park, Turin"):
        namesake_gate(bad, staff, budgets={"min_accuracy": 1.0}, returns="page", strict=True)


def test_a_search_that_is_better_than_the_floor_is_not_left_undecided() -> None:
    """Gold first for 30 of 40 names where the floor has 10, and one more name confused."""
    queries = [
        Query(id=f"q{n}", task="qa", input="?", outputs=(Output(answer="a"),), name_set=f"s{n}")
        for n in range(40)
    ]
    measures = parse_measures(["acc@1", "acc@20", "confused@20"])

    def scores(name: str, right: int, confused: int) -> Scores:
        first = np.array([float(n < right) for n in range(40)])
        wrong = np.array([float(n >= 40 - confused) for n in range(40)])
        values = {"acc@1": first, "acc@20": np.ones(40), "confused@20": wrong}
        return Scores(name, "b", queries, measures, values, frozenset())

    better = check_budgets(scores("x", 30, 9), Budgets(), floor=scores("bm25", 10, 8), depth=20)
    assert better.verdict == "passed"
    same = check_budgets(scores("x", 10, 9), Budgets(), floor=scores("bm25", 10, 8), depth=20)
    assert same.verdict == "undecided"


def two_systems(right: int, of: int, **attributes: object) -> tuple[Scores, Scores]:
    """A search that is right so often, and a floor that always is."""
    queries = [
        Query(id=f"q{n}", task="qa", input="?", name_set=f"s{n}", attributes=attributes) for n in range(of)
    ]
    measures = parse_measures(["acc@1", "acc@20", "confused@20"])
    wrong = np.array([float(n >= right) for n in range(of)])
    values = {"acc@1": 1 - wrong, "acc@20": np.ones(of), "confused@20": wrong}
    perfect = {"acc@1": np.ones(of), "acc@20": np.ones(of), "confused@20": np.zeros(of)}
    return Scores("x", "b", queries, measures, values), Scores("bm25", "b", queries, measures, perfect)


def test_a_difference_that_does_not_matter_passes() -> None:
    """989 of 1,000 against 1,000: the test is sure, and it is 1.1 points."""
    search, floor = two_systems(989, 1000)
    assert check_budgets(search, Budgets(), floor=floor, depth=20).verdict == "passed"
    assert check_budgets(search, Budgets(), baseline=floor).verdict == "passed"
    told = check_budgets(search, Budgets(), floor=floor, depth=20, margin=0.01)
    assert told.verdict == "failed" and "0.01 worse allowed" in told.checks[-1].message
    worse, floor = two_systems(970, 1000)
    assert check_budgets(worse, Budgets(), floor=floor, depth=20).verdict == "failed"
    with pytest.raises(UsageError, match="the margin is a fraction"):
        check_budgets(search, Budgets(), floor=floor, margin=2)


def test_what_no_search_can_decide_fails_nobody() -> None:
    """Half of the questions fit several bearers, and there the search is always wrong."""
    search, floor = two_systems(100, 200)
    queries = [
        Query(**{**{f: getattr(q, f) for f in q.__struct_fields__}, "attributes": {"resolvable": "no"}})
        if n >= 100
        else q
        for n, q in enumerate(search.queries)
    ]
    assert check_budgets(search, Budgets(max_confusion=0.1), floor=floor).verdict == "failed"
    fair = [Scores(s.system, "b", queries, s.measures, s.values) for s in (search, floor)]
    report = check_budgets(fair[0], Budgets(max_confusion=0.1), floor=fair[1], depth=20)
    assert report.verdict == "passed" and report.figures["max_confusion"].value == 0
    assert "100 of 200 questions fit several bearers" in "".join(report.warnings)


def test_answers_are_judged_by_whether_they_ask() -> None:
    measures = parse_measures(["answer_right", "answered_for_namesake", "asked_back", "asked_user"])
    queries = [
        Query(
            id=f"q{n}", task="qa", input="?", name_set=f"s{n}",
            attributes={"underspecified": True} if n % 2 else {},
        )
        for n in range(40)
    ]  # fmt: skip
    open_ones = np.array([float(n % 2) for n in range(40)])

    def verdict(asks: float) -> GateReport:
        values = {
            "answer_right": 1 - open_ones,
            "answered_for_namesake": open_ones * (1 - asks),
            "asked_back": open_ones * asks,
            "asked_user": np.full(40, np.nan),
        }
        scores = Scores("x", "b", queries, measures, values)
        return check_budgets(scores, Budgets(max_answered_for_namesake=0.2, min_asked=0.5))

    assert verdict(1.0).verdict == "passed" and verdict(1.0).figures["min_asked"].value == 1
    silent = {check.name: check.verdict for check in verdict(0.0).checks}
    assert silent == {"max_answered_for_namesake": "passed", "min_asked": "failed"}


def test_what_would_have_decided_tells_the_two_apart(tmp_path: Path) -> None:
    """Not "the", not "Park", not the asked "Turin", not the shared "office": what the one given lacks."""
    texts = {
        "1": "Ada Park runs the office of Payroll. She keeps bees. Her desk is in Leeds.",
        "2": "Ada Park runs the office of Press. She climbs. Her desk is in Turin.",
    }
    queries = [
        Query(
            id=f"{what}{key}", task="qa", input=text,
            outputs=(Output(answer=city, provenance=((Provenance(page=f"staff:{key}"),),)),),
            name="Ada Park", name_set="s", entity=key, relation=what,
        )
        for key, city, what, text in (
            ("2", "Turin", "press", "Where is the desk of the Ada Park who runs the office of Press?"),
            ("2", "Turin", "city", "Where is the desk of Ada Park in Turin?"),
        )
    ]  # fmt: skip
    bearers = tuple(Bearer(entity=k, label="Note", pages=(f"staff:{k}",)) for k in texts)
    passages = [
        Passage(id=f"staff:{k}#0", page=f"staff:{k}", title="Season note 1962", text=text)
        for k, text in texts.items()
    ]
    bench = save_benchmark(
        tmp_path / "bench", name="b", queries=queries, passages=passages,
        sets=[NameSet(id="s", name="Ada Park", bearers=bearers)],
    )  # fmt: skip
    decided = {}
    for query in queries:
        about = _About(bench)
        decided[query.relation] = about.deciding(query, "staff:1")
        assert about.described(["staff:1"], "s").startswith("Ada Park")
        assert "Season note" not in about.described(["staff:2"], "s")
    assert decided == {"press": '"Press"', "city": '"Press", which the question does not say'}


def test_whole_names_decide_and_words_that_ask_do_not(tmp_path: Path) -> None:
    """Not the "play" of every question; not "Straitsville" or "Louis", which are parts of names."""
    team, here, there = ("In 1933 Jo Roe played for the St. Louis Cardinals.", "New Straitsville", "New York")
    texts = {
        "1": f"Jo Roe was born in {here}. {team} Fans saw Jo Roe play first base.",
        "2": f"Jo Roe was born in {there}. He swam.",
    }
    queries = [
        Query(
            id=f"q{n}", task="qa", input=text, name="Jo Roe", name_set="s", entity="1", relation="plays",
            outputs=(Output(answer="first base", provenance=((Provenance(page="staff:1"),),)),),
        )
        for n, text in enumerate([
            f"What did the Jo Roe born in {here} play?", "What did the St. Louis Jo Roe play?",
            *(f"What did Jo Roe play, number {n}?" for n in range(4)),
        ])
    ]  # fmt: skip
    bearers = tuple(Bearer(entity=k, label="Jo Roe", pages=(f"staff:{k}",)) for k in texts)
    passages = [
        Passage(id=f"staff:{k}#0", page=f"staff:{k}", title="Jo Roe", text=text) for k, text in texts.items()
    ]
    bench = save_benchmark(
        tmp_path / "bench", name="b", queries=queries, passages=passages,
        sets=[NameSet(id="s", name="Jo Roe", bearers=bearers)],
    )  # fmt: skip
    about = _About(bench)
    decided = [about.deciding(query, "staff:2") for query in queries[:3]]
    assert decided == [
        '"New Straitsville"',
        '"St. Louis"',
        '"St. Louis Cardinals", which the question does not say',
    ]


def test_attributes_and_names_go_before_words_and_years(tmp_path: Path) -> None:
    """Eight questions a relation: "play", "take" and "kick" only ask; 1931 alone, "famous" and "Were" say little."""
    texts = {
        "1": "In 1931 Jo Roe, a famous tall drummer, moved to Porto. Were there fans of the drummer Max Ruff? Jo Roe plays.",
        "2": "Jo Roe lived in Oslo.",
    }
    asked = {
        "Which instrument did the famous Jo Roe of 1931 who moved to Porto play, or take?": '"Porto"',
        "Were there fans of the tall Jo Roe, 1931?": '"fans", "tall"',
        "Which instrument did Jo Roe take or kick?": '"Max Ruff", which the question does not say',
        "Which instrument did Jo Roe of 1931 play?": "born 1931",
    }
    attributes = {"qualifier": "1931", "qualifier_label": "born"}
    queries = [
        Query(
            id=f"q{n}", task="qa", input=text, name="Jo Roe", name_set="s", entity="1", relation="P1",
            outputs=(Output(answer="drums", provenance=((Provenance(page="staff:1"),),)),),
            attributes=attributes if "born" in asked.get(text, "") else {},
        )
        for n, text in enumerate([*asked, *(f"Which instrument did Jo Roe play or take or kick, {n}?" for n in range(6))])
    ]  # fmt: skip
    bearers = tuple(Bearer(entity=k, label="Jo Roe", types=("Q5",), pages=(f"staff:{k}",)) for k in texts)
    passages = [
        Passage(id=f"staff:{k}#0", page=f"staff:{k}", title="Joseph Roe", text=text)
        for k, text in texts.items()
    ]
    bench = save_benchmark(
        tmp_path / "bench", name="b", queries=queries, passages=passages,
        sets=[NameSet(id="s", name="Jo Roe", bearers=bearers)],
    )  # fmt: skip
    about = _About(bench)
    assert {q.input: about.deciding(q, "staff:2") for q in bench.queries if q.input in asked} == asked
    assert about.described(["staff:2"], "s") == "Jo Roe: lived in Oslo. (staff:2)"


def test_a_number_decides_with_the_words_before_it(tmp_path: Path) -> None:
    """As questions about players do: the year tells the two apart, "of 1969" alone would be a fragment."""
    texts = {
        "1": "Bill Lee was born in Burbank, in 1946. First game 1969-06-25.",
        "2": "Bill Lee was born in Plaquemine, in 1909. First game 1934-04-29.",
    }
    asked = [
        "Where was Bill Lee, who first played in 1969, born?",
        "Where was Bill Lee, who first played in 1934, born?",
        "Where was the Bill Lee of 1969 born?",
    ]
    queries = [
        Query(
            id=f"q{n}", task="qa", input=text, name="Bill Lee", name_set="s", entity="1", relation="born",
            outputs=(Output(answer="Burbank", provenance=((Provenance(page="staff:1"),),)),),
        )
        for n, text in enumerate(asked)
    ]  # fmt: skip
    passages = [
        Passage(id=f"staff:{k}#0", page=f"staff:{k}", title="Bill Lee", text=t) for k, t in texts.items()
    ]
    bearers = tuple(Bearer(entity=k, pages=(f"staff:{k}",)) for k in texts)
    bench = save_benchmark(
        tmp_path / "bench", name="b", queries=queries, passages=passages,
        sets=[NameSet(id="s", name="Bill Lee", bearers=bearers)],
    )  # fmt: skip
    about = _About(bench)
    decided = [about.deciding(query, "staff:2").partition(":")[0] for query in queries]
    assert decided == ['"first played in 1969"', "nothing", "nothing"]


def test_stop_words_of_the_question_s_own_language_decide_nothing(tmp_path: Path) -> None:
    texts = {"1": "Anna Berg wohnt bei ihr.", "2": "Anna Berg hat zwei Hunde und auch einen Garten."}
    asked = {
        "Und wer hat einen Garten, die Anna Berg oder die andere?": '"Garten"',
        "Wie viele Hunde hat Anna Berg denn?": '"Hunde"',
        "Was hat Anna Berg?": '"Hunde", which the question does not say',
    }
    queries = [
        Query(
            id=f"q{n}", task="qa", language="de", input=text, name="Anna Berg", name_set="s", entity="2",
            outputs=(Output(answer="zwei", provenance=((Provenance(page="s:2"),),)),), relation=f"r{n}",
        )
        for n, text in enumerate(asked)
    ]  # fmt: skip
    passages = [Passage(id=f"s:{k}#0", page=f"s:{k}", title="Anna Berg", text=t) for k, t in texts.items()]
    bearers = tuple(Bearer(entity=k, pages=(f"s:{k}",)) for k in texts)
    bench = save_benchmark(
        tmp_path / "bench", name="b", queries=queries, passages=passages,
        sets=[NameSet(id="s", name="Anna Berg", bearers=bearers)],
    )  # fmt: skip
    about = _About(bench)
    assert {q.input: about.deciding(q, "s:1") for q in queries} == asked


def test_no_mistake_of_a_published_run_is_told_apart_by_a_fragment(amber: Benchmark) -> None:
    run = Run.open(Path(__file__).parents[2] / "bench/published/amber/bm25")
    mistakes = worst_mistakes(run, amber, most=1_000)
    assert len(mistakes) > 400
    small = stop_words() | {"also", "play", "plays"}
    for mistake in mistakes:
        phrases = re.findall(r'"([^"]+)"', mistake.decides)
        words = [phrase.lower().split() for phrase in phrases]
        assert not any(
            {first, last} & small for first, *_, last in (w if len(w) > 1 else w * 2 for w in words)
        )
        assert all(re.search(r"[^\W\d]", phrase) for phrase in phrases)
        assert not re.search(r", Q\d", mistake.meant + mistake.given)


def test_the_worst_mistakes_are_none_that_nobody_could_avoid(tmp_path: Path) -> None:
    queries = [
        Query(
            id=key, task="qa", input="Where is Ada Park?", name="Ada Park", name_set="s", entity=key,
            outputs=(Output(answer="x", provenance=((Provenance(page=f"staff:{key}"),),)),),
            attributes={"resolvable": "no"},
        )
        for key in "12"
    ]  # fmt: skip
    passages = [Passage(id=f"staff:{k}#0", page=f"staff:{k}", title="A", text="t") for k in "12"]
    bearers = tuple(Bearer(entity=k, pages=(f"staff:{k}",)) for k in "12")
    bench = save_benchmark(
        tmp_path / "bench", name="b", queries=queries, passages=passages,
        sets=[NameSet(id="s", name="Ada Park", bearers=bearers)],
    )  # fmt: skip
    run = run_retriever(AlwaysLeeds(), bench, tmp_path / "run", k=2, name="one")
    assert worst_mistakes(run, bench) == []
