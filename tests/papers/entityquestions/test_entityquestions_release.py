"""Own builds and released files out and back in: splits, buckets, similar, relations in DPR files."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from eq_knowledge import write_knowledge

from whichone.benchmarks.benchmark import save_benchmark
from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.papers.entityquestions.build_entityquestions import (
    BuiltQuestions,
    EntityQuestionsOptions,
    build_entityquestions,
)
from whichone.papers.entityquestions.draw import Sizes, buckets_of
from whichone.papers.entityquestions.entityquestions_files import (
    export_entityquestions,
    read_questions,
    write_release,
)
from whichone.papers.entityquestions.entityquestions_report import bucket_places, kinds
from whichone.records import Output, Passage, Provenance, Query
from whichone.runs.retrieve import retrieve
from whichone.training.trainer import TrainingSettings
from whichone.training.training_data import LearningPlan, training_data

OPTIONS = EntityQuestionsOptions(
    only=("P19",), least_facts=5, buckets=("P19",), sizes=Sizes(test=10, dev=5, bucket=2)
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltQuestions:
    root = tmp_path_factory.mktemp("release")
    return build_entityquestions(write_knowledge(root / "kb"), root / "bench", OPTIONS)


def told(query: Query) -> tuple[Any, ...]:
    place = (query.attributes.get(key) for key in ("set", "split", "bucket"))
    return (query.relation, *place, query.input, query.answers())


def test_a_build_goes_out_and_comes_back_equal(built: BuiltQuestions, tmp_path: Path) -> None:
    counts = export_entityquestions(built.benchmark, tmp_path / "out")
    assert counts["test/P19.test.json"] == 10 and counts["dev/P19.dev.json"] == 5
    assert counts["train/P19.train.json"] == built.train > 0
    similar = {k: n for k, n in counts.items() if "/similar/" in k}
    assert similar == {
        f"one-off/similar/P19/P19_similar.{split}.json": counts[f"{split}/P19.{split}.json"]
        for split in ("train", "dev", "test")
    }
    random = sum(n for k, n in counts.items() if "common-random-buckets/P19/bucket" in k)
    assert random == sum(q.attributes["rand_ent"] for q in built.benchmark.queries) > 0
    back = list(read_questions(tmp_path / "out"))
    assert len(back) == sum(counts.values())
    asked = {q.input for q in built.benchmark.queries if q.attributes["split"] == "test"}
    read = [q for q in back if q.attributes["set"] == "main" and q.attributes["split"] == "test"]
    assert {q.input for q in read} == asked
    assert {q.name for q in back if q.attributes["set"] == "similar"} <= {q.name for q in back}
    write_release(tmp_path / "again", back)
    again = read_questions(tmp_path / "again")
    assert Counter(map(told, again)) == Counter(map(told, back))


def test_the_real_release_goes_out_as_it_came(shared: Path, tmp_path: Path) -> None:
    data = shared / "data/entityquestions"
    files = sorted((data / "one-off").rglob("*.json.gz"))
    assert len(files) > 30
    write_release(tmp_path, list(read_questions(data / "one-off")))
    for file in files:
        place = tmp_path / file.relative_to(data).with_suffix("")
        assert json.loads(place.read_bytes()) == json.loads(gzip.decompress(file.read_bytes()))


def test_bucket_files_are_figure_1_with_its_two_populations(shared: Path) -> None:
    queries = list(read_questions(shared / "data/entityquestions/one-off"))
    random, seen = (keep for _, keep in kinds(queries))
    assert [name for name, _ in kinds(queries)] == ["rand ent", "train ent"]
    bucketed = [q for q in queries if "bucket" in q.attributes]
    for relation in ("P19", "P170"):
        own = [q for q in bucketed if q.relation == relation]
        assert any(map(random, own)) and any(map(seen, own))
        assert not any(random(q) and seen(q) for q in own)
        assert set(bucket_places(own)[relation].values()) == set(range(8))


def test_buckets_count_every_triple() -> None:
    """a is met 4 times and has one triple, b 3 times with three: of 16 met, a is the first quarter."""
    frequencies = {"a": 4.0, "b": 3.0, "c": 3.0}
    assert buckets_of(frequencies, 2) == {"a": 0, "b": 1, "c": 1}
    assert buckets_of(frequencies, 2, {"a": 1, "b": 3, "c": 1}) == {"a": 0, "b": 1, "c": 1}
    assert buckets_of(frequencies, 4, {"a": 1, "b": 3, "c": 1}) == {"a": 0, "b": 2, "c": 3}
    assert buckets_of(frequencies, 4) == {"a": 0, "b": 2, "c": 3}


def test_own_splits_train_reworded_too(built: BuiltQuestions, tmp_path: Path) -> None:
    place = str(built.benchmark.folder.root)
    settings = TrainingSettings(kinds=())
    plain = training_data(LearningPlan(sources=(place,)), settings, tmp_path)
    similar = training_data(LearningPlan(sources=(place,), similar=True), settings, tmp_path)
    asked = {e.id: e.question for e in (*plain.learn, *plain.watch)}
    reworded = {e.id: e.question for e in (*similar.learn, *similar.watch)}
    assert asked.keys() == reworded.keys() and len(asked) == built.train
    assert all(q.startswith("Where was ") for q in asked.values())
    assert all(q.startswith("What is the birthplace of ") for q in reworded.values())


def two_relations(tmp_path: Path) -> str:
    """Ann is learned of with P19 and asked about with P26; only within a relation is that no leak."""

    def query(identity: str, relation: str, name: str, split: str) -> Query:
        gold = ((Provenance(page=f"w:{name}", title=name),),)
        return Query(
            id=identity, task="EntityQuestions", input=f"{relation} of {name}?", name=name,
            relation=relation, outputs=(Output(answer="Oslo", provenance=gold),),
            attributes={"split": split},
        )  # fmt: skip

    names = ("Ann", "Bea", "Cid", "Dan")
    queries = [query(f"t{n}", "P19", name, "train") for n, name in enumerate(names)]
    queries.append(query("q", "P26", "Ann", "test"))
    passages = [Passage(id=f"w:{n}#0", page=f"w:{n}", title=n, text=f"{n} of Oslo.") for n in names]
    save_benchmark(tmp_path / "two", name="two", queries=queries, passages=passages)
    return str(tmp_path / "two")


def test_own_splits_are_trusted_within_a_relation_and_stricter_by_option(tmp_path: Path) -> None:
    place, settings = two_relations(tmp_path), TrainingSettings(kinds=())
    data = training_data(LearningPlan(sources=(place,)), settings, tmp_path)
    assert len(data.learn) + len(data.watch) == 4
    with pytest.raises(BadInput, match="1 names, 1 gold pages are in both"):
        training_data(LearningPlan(sources=(place,), disjoint="names"), settings, tmp_path)
    with pytest.raises(BadInput, match="4 names, "):
        training_data(LearningPlan(sources=(place,), test=(place,)), settings, tmp_path)
    strict = LearningPlan(sources=(place,), disjoint="names", drop_leaks=True)
    data = training_data(strict, settings, tmp_path)
    assert len(data.learn) + len(data.watch) == 3
    with pytest.raises(UsageError, match="no reworded questions"):
        training_data(LearningPlan(sources=(place,), similar=True), settings, tmp_path)


def test_one_dpr_file_keeps_the_relations(tmp_path: Path) -> None:
    """All four of P19 hit, and the one of P26, whose results are taken away, does not."""
    place = two_relations(tmp_path)
    retrieve(place, tmp_path / "run", retriever="bm25", k=4)
    runner = CliRunner()
    words = ["export", str(tmp_path / "run"), str(tmp_path / "results.json"), "--format", "dpr"]
    assert runner.invoke(whichone, words, catch_exceptions=False).exit_code == 0
    rows = json.loads((tmp_path / "results.json").read_text())
    assert sorted(row["relation"] for row in rows) == ["P19", "P19", "P19", "P19", "P26"]
    next(row for row in rows if row["relation"] == "P26")["ctxs"] = []
    (tmp_path / "results.json").write_text(json.dumps(rows))
    words = ["score", "entityquestions", str(tmp_path / "results.json"), "-k", "1", "--json"]
    scores = json.loads(runner.invoke(whichone, words, catch_exceptions=False).stdout)
    assert set(scores["relations"]) == {"P19", "P26"}
    assert (scores["macro"]["1"], scores["micro"]["1"]) == (0.5, 0.8)
