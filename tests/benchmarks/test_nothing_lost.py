"""Round trips through BEIR and Hugging Face: sets of gold, gold outside the corpus, every field of every record."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.gold import NOT_RELEVANT, RELEVANCE, gold_outside_accepted
from whichone.cli import whichone
from whichone.corpus.save import make_corpus
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
        Passage(id=f"corpus:{key}#{n}", page=f"corpus:{key}", title=key if key in "AB" else "Same", text=f"{n} of {key}",
                source_id=f"own {key}{n}", entity=f"Q{key}" if key != "D" else None)
        for key in "ABCD"
        for n in range(3)
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


def test_beir_keeps_every_record(mixed: Benchmark, tmp_path: Path) -> None:
    export(str(mixed.folder.root), tmp_path / "beir", "beir")
    again = back(tmp_path / "beir", tmp_path / "back")
    assert [*again.queries] == [*mixed.queries]
    assert [*again.sets] == [*mixed.sets]
    assert [*again.passage_records()] == [*mixed.passage_records()]
    assert again.folder.manifest.parameters == mixed.folder.manifest.parameters
    export(str(tmp_path / "back"), tmp_path / "again", "beir")
    for name in ("queries.jsonl", "corpus.jsonl", "name_sets.jsonl", "qrels/test.tsv"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "beir" / name).read_bytes()


def test_others_read_it_as_any_beir_folder(mixed: Benchmark, tmp_path: Path) -> None:
    """Judgements say which passages are gold; pages and entities are those of the export."""
    export(str(mixed.folder.root), tmp_path / "beir", "beir")
    before = {q.id: q for q in mixed.queries}
    lines = [json.loads(line) for line in (tmp_path / "beir/queries.jsonl").read_text().splitlines()]
    assert {tuple(line) for line in lines} == {("_id", "text", "metadata")}
    given = back(tmp_path / "beir", tmp_path / "back", "--gold-outside", "--language", "fr")
    for query in given.queries:
        assert gold_sets(query) == gold_sets(before[query.id]), query.id
        assert (query.language, query.entity, "metadata" in query.attributes) == ("fr", None, False)
    assert before.keys() - {q.id for q in given.queries} <= {"q none"}  # nothing was judged for it
    alternatives = back(tmp_path / "beir", tmp_path / "any", "--gold-outside", "--gold-rule", "any")
    both = next(q for q in alternatives.queries if q.id == "q both")
    assert gold_sets(both) == [["corpus:A"], ["corpus:B"]]
    grouped = back(tmp_path / "beir", tmp_path / "titles", "--gold-outside", "--page", "title")
    assert {p.page for p in grouped.passage_records()} == {"corpus:A", "corpus:B", "corpus:Same"}


def test_a_split_of_it_and_a_corpus_of_it(mixed: Benchmark, tmp_path: Path) -> None:
    queries = [
        msgspec.structs.replace(q, attributes={**q.attributes, "split": "dev" if n else "test"})
        for n, q in enumerate(mixed.queries)
    ]
    with gold_outside_accepted():
        split = save_benchmark(
            tmp_path / "split",
            name="s",
            queries=queries,
            corpus=mixed.corpus,
            by_hash=True,
            sets=mixed.sets,
            allow_no_gold=True,
        )
    export(str(split.folder.root), tmp_path / "beir", "beir")
    assert [q.id for q in back(tmp_path / "beir", tmp_path / "t", "--split", "test").queries] == ["q both"]
    assert len(back(tmp_path / "beir", tmp_path / "all").queries) == len(queries)
    corpus = make_corpus(tmp_path / "beir", tmp_path / "corpus")
    assert [*corpus.passage_records()] == [*mixed.passage_records()]


def gold_sets(query: Query) -> list[list[str]]:
    groups = (group for output in query.outputs for group in output.provenance)
    return [sorted({entry.page for entry in group}) for group in groups]


def test_struct_fields_are_all_in_the_columns(mixed: Benchmark, tmp_path: Path) -> None:
    """A field that is added to a query is exported too, or this fails."""
    import pyarrow.parquet as pq

    export(str(mixed.folder.root), tmp_path / "hf", "hf")
    columns = set(pq.read_table(tmp_path / "hf/queries/test.parquet").column_names)
    fields = {f.name for f in msgspec.structs.fields(Query)} - {"input"}
    assert fields <= columns
