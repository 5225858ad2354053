"""Round trips through BEIR and Hugging Face: sets of gold, gold outside the corpus, every field of every record."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.gold import NOT_RELEVANT, RELEVANCE, gold_outside_accepted
from whichone.cli import whichone
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query
from whichone.report.show import export


def page(key: str, grade: int = 1) -> Provenance:
    return Provenance(page=f"corpus:{key}", attributes={RELEVANCE: grade} if grade > 1 else {})


@pytest.fixture
def mixed(tmp_path: Path) -> Benchmark:
    """Pairs that are needed together, alternatives, grades, and pages that the corpus does not have."""
    golds = {
        "both": [[page("A"), page("B", 2)]],
        "either": [[page("A")], [page("B")], [page("C", 3)]],
        "pair or one": [[page("A"), page("gone")], [page("C")]],
        "gone alone": [[page("gone")]],
        "gone as well": [[page("away %20")]],
        "gone too": [[page("A 2")]],
        "none": [],
    }
    queries = [
        Query(
            id=f"q {key}", task="qa", input=f"{key}?", mention="A", name="A", name_set="s",
            role="head", relation="P1", entity="Q1", language="de",
            outputs=(
                Output(answer="x", aliases=("y",), entity="Q1", provenance=tuple(map(tuple, gold))),
                Output(answer="z", entity="Q2"),
            ),
            attributes={"gold_rule": "mixed", NOT_RELEVANT: ["corpus:D"], "views": 3},
        )
        for key, gold in golds.items()
    ]  # fmt: skip
    passages = [
        Passage(id=f"corpus:{key}#0", page=f"corpus:{key}", title=key, text=f"text of {key}",
                source_id=f"own {key}", entity=f"Q{key}")
        for key in "ABCD"
    ]  # fmt: skip
    bearers = (
        Bearer(entity="Q1", label="the first", role="head", popularity=3.0, types=("T",), pages=("corpus:A",)),
        Bearer(entity="Q2", label="the other", role="tail", pages=("corpus:B",)),
    )  # fmt: skip
    with gold_outside_accepted():
        return save_benchmark(
            tmp_path / "mixed", name="mixed", queries=queries, passages=passages, allow_no_gold=True,
            sets=[NameSet(id="s", name="A", collection="names", bearers=bearers)],
            parameters={"gold_is": "entity", "gold_rule": "any"},
        )  # fmt: skip


def back(written: Path, out: Path, *more: str) -> Benchmark:
    words = ["import", "questions", str(written), str(out), "--passages", str(written)]
    result = CliRunner().invoke(whichone, [*words, *more], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return Benchmark.open(out)


def test_hugging_face_keeps_every_record(mixed: Benchmark, tmp_path: Path) -> None:
    export(str(mixed.folder.root), tmp_path / "hf", "hf")
    again = back(tmp_path / "hf", tmp_path / "back")
    assert [*again.queries] == [*mixed.queries]
    assert [*again.sets] == [*mixed.sets]
    assert [*again.passage_records()] == [*mixed.passage_records()]
    for name, value in mixed.folder.manifest.parameters.items():
        assert again.folder.manifest.parameters[name] == value


def test_beir_keeps_sets_of_gold_and_gold_outside_the_corpus(mixed: Benchmark, tmp_path: Path) -> None:
    export(str(mixed.folder.root), tmp_path / "beir", "beir")
    again = back(tmp_path / "beir", tmp_path / "back", "--gold-outside")
    before = {q.id: q for q in mixed.queries}
    for query in again.queries:
        for sets in (gold_sets, grades):
            assert sets(query) == sets(before[query.id]), query.id
    assert before.keys() - {q.id for q in again.queries} <= {"q none"}  # BEIR keeps what is judged
    export(str(tmp_path / "back"), tmp_path / "again", "beir")
    for name in ("queries.jsonl", "qrels/test.tsv"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "beir" / name).read_bytes()
    alternatives = back(tmp_path / "beir", tmp_path / "any", "--gold-outside", "--gold-rule", "any")
    both = next(q for q in alternatives.queries if q.id == "q both")
    assert gold_sets(both) == [["corpus:A"], ["corpus:B"]]
    assert "metadata" not in both.attributes


def gold_sets(query: Query) -> list[list[str]]:
    groups = (group for output in query.outputs for group in output.provenance)
    return [sorted({entry.page for entry in group}) for group in groups]


def grades(query: Query) -> dict[str, int]:
    entries = (e for output in query.outputs for group in output.provenance for e in group)
    return {entry.page: entry.attributes.get(RELEVANCE, 1) for entry in entries}


def test_struct_fields_are_all_in_the_columns(mixed: Benchmark, tmp_path: Path) -> None:
    """A field that is added to a query is exported too, or this fails."""
    import pyarrow.parquet as pq

    export(str(mixed.folder.root), tmp_path / "hf", "hf")
    columns = set(pq.read_table(tmp_path / "hf/queries/test.parquet").column_names)
    fields = {f.name for f in msgspec.structs.fields(Query)} - {"input"}
    assert fields <= columns
