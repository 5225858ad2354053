from pathlib import Path

import msgspec
import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.cut import Cut
from whichone.errors import BadInput, UsageError
from whichone.knowledge.engines import PageRow
from whichone.papers.ambigdocs.ambigdocs_files import export_ambigdocs, read_questions
from whichone.papers.ambigdocs.build_ambigdocs import AmbigDocsOptions, build_ambigdocs
from whichone.papers.ambigdocs.shared_names import (
    BearerPage,
    StatedValue,
    line_starts,
    split_names,
    usable_name,
)
from whichone.papers.ambigdocs.statements import (
    Contained,
    Look,
    PagePassages,
    Stated,
    answer_forms,
    quantity_forms,
    statement,
    time_forms,
)
from whichone.records import Passage


def test_names_from_disambiguation_pages(listed: Path, tmp_path: Path) -> None:
    benchmark, funnel = build_ambigdocs(listed, tmp_path / "bench")
    assert {q.name for q in benchmark.queries} == {"Ada Field"}
    by_relation = {q.relation: q for q in benchmark.queries}
    born = by_relation["P19"]
    assert born.input == "Where was Ada Field born?"
    assert [(o.entity, o.answer) for o in born.outputs] == [
        ("Q10", "Paris"), ("Q12", "Rome Town"), ("Q11", "Rome"),
    ]  # fmt: skip
    assert by_relation["P106"].input == "What kind of work does Ada Field do?"
    assert born.outputs[0].provenance[0][0].passage == "w:10#0"
    assert funnel["names of disambiguation pages"] == 1
    assert funnel["bearers"] == 3, "the plain page is a bearer, a link after See also is not"
    assert funnel["pairs of bearers"] == 3
    assert funnel["questions"] == 2


def test_shared_names_where_no_disambiguation_page_is(unlisted: Path, tmp_path: Path) -> None:
    benchmark, funnel = build_ambigdocs(unlisted, tmp_path / "bench")
    asked = {(q.name, q.relation): q for q in benchmark.queries}
    assert set(asked) == {
        ("Ada Field", "P19"), ("Ada Field", "P106"), ("Ben Hill", "P106"), ("Ben Hill", "P571"),
    }  # fmt: skip
    when = asked["Ben Hill", "P571"]
    assert when.input == "When was Ben Hill founded?"
    assert [o.answer for o in when.outputs] == ["1908", "12 February 1907"]
    assert funnel["names that 2 to 10 entities with a page share"] == 2
    (ada,) = (s for s in benchmark.sets if s.name == "Ada Field")
    assert [(b.entity, b.role) for b in ada.bearers] == [
        ("Q10", "head"), ("Q12", "tail"), ("Q11", "tail"),
    ]  # fmt: skip


def test_all_questions_about_a_name_are_in_one_split(unlisted: Path, tmp_path: Path) -> None:
    benchmark, _ = build_ambigdocs(unlisted, tmp_path / "bench")
    splits: dict[str | None, set[str]] = {}
    for query in benchmark.queries:
        splits.setdefault(query.name, set()).add(query.attributes["split"])
    assert all(len(found) == 1 for found in splits.values())


def test_the_same_input_gives_the_same_benchmark(unlisted: Path, tmp_path: Path) -> None:
    first, _ = build_ambigdocs(unlisted, tmp_path / "first")
    second, _ = build_ambigdocs(unlisted, tmp_path / "second")
    assert first.id == second.id


def test_a_built_benchmark_goes_out_as_files(listed: Path, tmp_path: Path) -> None:
    benchmark, _ = build_ambigdocs(listed, tmp_path / "bench")
    export_ambigdocs(benchmark, tmp_path / "out.json")
    questions = {q.question: q for q in read_questions(tmp_path / "out.json")}
    born = questions["Where was Ada Field born?"]
    assert [(d.title, d.answer, d.pid) for d in born.documents] == [
        ("Ada Field (painter)", "Paris", "w:10#0"),
        ("Ada Field", "Rome Town", "w:12#0"),
        ("Ada Field (poet)", "Rome", "w:11#0"),
    ]
    assert born.documents[0].text.startswith("A painter. Born in Paris")


def test_options(listed: Path, tmp_path: Path) -> None:
    options = AmbigDocsOptions(properties=("P106",), corpus_pages="bearers", names="shared")
    benchmark, _ = build_ambigdocs(listed, tmp_path / "bench", options)
    assert {q.relation for q in benchmark.queries} == {"P106"}
    assert {p.page for p in benchmark.passage_records()} == {f"w:{n}" for n in (10, 11, 12, 20, 21)}
    with pytest.raises(BadInput, match="no question could be made"):
        build_ambigdocs(listed, tmp_path / "none", AmbigDocsOptions(properties=("P1",)))
    with pytest.raises(UsageError, match="passages of 0 words"):
        build_ambigdocs(listed, tmp_path / "none", AmbigDocsOptions(words=0))


def test_an_answer_is_written_as_its_page_has_it() -> None:
    bearer = BearerPage("w:1", "Ada Field", "Q10")
    text = "Ada Field wrote for the US press and in Rome."
    page = PagePassages([Passage(id="w:1#0", page="w:1", title="Ada Field", text=text)], Contained())
    labels = {"Q30": ("United States", "US"), "Q2": ("Rome",)}
    facts = [
        {"kind": "entity", "value": "Q2", "rank": "normal"},
        {"kind": "entity", "value": "Q30", "rank": "preferred"},
        {"kind": "entity", "value": "Q99", "rank": "preferred"},
    ]
    found = statement(bearer, "P1", facts, labels, page)
    assert found is not None
    assert (found.answer, found.aliases) == ("US", ("United States", "Rome"))
    assert found.values == (StatedValue(("US", "United States"), "w:1#0"), StatedValue(("Rome",), "w:1#0"))
    assert statement(bearer, "P1", facts[2:], labels, page) is None


def test_what_a_page_states_of_its_facts() -> None:
    bearer = BearerPage("w:2", "Ada Field", "Q10")
    facts = [
        {"key": key, "property": prop, "kind": "string", "value": value, "rank": ""}
        for key, prop, value in (("a", "P1", "y"), ("a", "P1", "x"), ("a", "P2", "z"), ("b", "P1", "x"))
    ]
    asked = msgspec.msgpack.encode({"bearer": bearer, "facts": facts, "labels": {}, "properties": {}})
    paragraphs = ["Ada Field", "a b", "an x"]
    row = PageRow(page="w:2", title="", entity="Q10", position=0, paragraphs=paragraphs, asked=asked)
    seen = Look(Cut(way="words", size=2), "none", "en")(row)
    assert seen is not None
    found = msgspec.msgpack.decode(seen, type=list[Stated])
    assert [(s.key, s.property, s.statement.passage) for s in found] == [
        ("a", "P1", "w:2#1"),
        ("b", "P1", "w:2#1"),
    ]


def test_lines_of_a_disambiguation_page() -> None:
    lines = ["X", "X may be:", "BULLET::::- X (film)", "Section::::People.", " X", "Section::::See also."]
    assert line_starts([*lines, "BULLET::::- Y"]) == {0: 0, 1: 0, 2: 12, 4: 1}


@pytest.mark.parametrize(
    ("name", "usable"), [("Ab", True), ("1a", True), ("12", False), ("'A", False), ("", False)]
)
def test_usable_name(name: str, usable: bool) -> None:
    assert usable_name(name) is usable


def test_answer_forms() -> None:
    assert time_forms("+1907-02-12T00:00:00Z", 11) == ("12 February 1907", "February 12, 1907")
    assert time_forms("+1907-02-00T00:00:00Z", 10) == ("February 1907",)
    assert time_forms("-0044-03-15T00:00:00Z", 9) == ("44 BC",)
    assert time_forms("+1900-00-00T00:00:00Z", 7) == ()
    assert quantity_forms("+12345") == ("12,345", "12345")
    assert quantity_forms("+3.0", ("metre", "m"))[:3] == ("3 metres", "three metres", "3")
    assert quantity_forms("+1", ("foot",))[0] == "1 foot"
    assert quantity_forms("-1234567.50", ("foot",), "en")[0] == "-1,234,567.5 feet"
    assert quantity_forms("+1234567.5", (), "de")[0] == "1.234.567,5"
    assert time_forms("+1907-02-12T00:00:00Z", 11, "de") == ("12. Februar 1907",)
    assert time_forms("+1907-02-01T00:00:00Z", 11, "fr") == ("1er février 1907",)
    assert time_forms("+1907-02-12T00:00:00Z", 11, "es") == ("12 de febrero de 1907",)
    assert answer_forms({"kind": "entity", "value": "Q1"}, {"Q1": ("Paris", "Lutetia")}) == (
        "Paris",
        "Lutetia",
    )
    assert answer_forms({"kind": "coordinate", "value": "1 2"}, {}) == ()
    assert answer_forms({"kind": "string", "value": " "}, {}) == ()


def test_splits_by_name_are_seeded_and_of_the_right_size() -> None:
    names = [f"name {n}" for n in range(100)]
    splits = split_names(names, seed=3)
    assert [list(splits.values()).count(s) for s in ("train", "dev", "test")] == [70, 10, 20]
    assert split_names(reversed(names), seed=3) == splits
    assert split_names(names, seed=4) != splits


def test_the_built_in_world() -> None:
    benchmark = Benchmark.open("builtin/ambigdocs")
    asked = {q.input: [o.answer for o in q.outputs] for q in benchmark.queries}
    assert asked["What kind of work did Abe Lincoln do?"] == ["lawyer", "jazz musician"]
    assert len(asked) >= 70
    assert not any(question.startswith("What type of music") for question in asked)
    for query in benchmark.queries:
        assert 2 <= len(query.outputs) <= 10
        assert query.name is not None and query.name in query.input
