"""Building EntityQuestions from a small knowledge base."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from eq_knowledge import PEOPLE, write_knowledge

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.papers.entityquestions.build_entityquestions import (
    BuiltQuestions,
    EntityQuestionsOptions,
    build_entityquestions,
)
from whichone.papers.entityquestions.commands import build_entityquestions_command
from whichone.papers.entityquestions.draw import PUBLISHED_SIZES, Sizes
from whichone.records import Query

OPTIONS = EntityQuestionsOptions(
    only=("P19", "P26"), least_facts=5, buckets=("P19",), resolvable="all", sizes=PUBLISHED_SIZES
)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_knowledge(tmp_path_factory.mktemp("eq") / "kb")


@pytest.fixture(scope="module")
def built(kb: Path, tmp_path_factory: pytest.TempPathFactory) -> BuiltQuestions:
    return build_entityquestions(kb, tmp_path_factory.mktemp("eq") / "bench", OPTIONS)


def query(built: BuiltQuestions, identity: str) -> Query:
    return next(q for q in built.benchmark.queries if q.id == identity)


def test_only_relations_with_enough_facts_and_answers(built: BuiltQuestions) -> None:
    birth, spouse = built.relations
    assert (birth.relation, birth.facts, birth.answers, birth.kept) == ("P19", 41, 12, True)
    assert spouse.kept is False
    assert "fewer than 10" in spouse.reason
    assert {q.relation for q in built.benchmark.queries} == {"P19"}


def test_a_fact_without_page_or_evidence_is_not_asked_and_counted(built: BuiltQuestions) -> None:
    ids = {q.id for q in built.benchmark.queries}
    assert "P19-Q244" not in ids
    assert "P19-Q245" not in ids
    steps = {s["step"]: (s["kept"], s["removed"]) for s in built.steps}
    assert steps["subject has a label and an article"] == (62, 1)
    kept, removed = steps["an answer stands on the subject's page"]
    assert removed == 1 + 20  # the page that does not say where, and no page names the spouse
    assert kept == 41


def test_every_valid_answer_is_kept_with_ids_and_aliases(built: BuiltQuestions) -> None:
    second = query(built, "P19-Q202")
    assert second.answers() == ("TownC", "Old TownC", "TownD", "Old TownD")
    assert second.attributes["objects"] == ["Q102", "Q103"]
    assert [o.attributes["object"] for o in second.outputs] == ["Q102", "Q103"]
    assert (second.entity, second.name) == ("Q202", PEOPLE["Q202"])
    assert second.gold_pages() == {"w:202"}
    assert second.outputs[0].provenance[0][0].passage == "w:202#0"
    assert query(built, "P19-Q203").attributes["objects"] == ["Q103"]  # a deprecated one is not


def test_could_anyone_have_known(built: BuiltQuestions) -> None:
    verdicts = {
        q: (query(built, q).attributes["resolvable"], query(built, q).attributes["candidates"])
        for q in ("P19-Q200", "P19-Q201", "P19-Q202", "P19-Q203")
    }
    assert verdicts == {
        "P19-Q200": ("no", 2),  # another of the name was born somewhere
        "P19-Q201": ("unknown", 1),  # another person of the name: nothing is known of its birth
        "P19-Q202": ("yes", 1),  # the other is a film
        "P19-Q203": ("yes", 1),  # nobody else has the name
    }


def test_name_sets_and_roles(built: BuiltQuestions) -> None:
    first = query(built, "P19-Q200")
    assert (first.role, first.attributes["shared_name"]) == ("head", True)
    assert built.benchmark.other_pages(first) == {"w:240", "w:241"}
    assert query(built, "P19-Q240").role == "tail"
    assert query(built, "P19-Q203").name_set is None


def test_buckets_go_from_frequent_to_rare(built: BuiltQuestions) -> None:
    by_subject = {q.entity: q.attributes["bucket"] for q in built.benchmark.queries}
    ordered = [by_subject[person] for person in PEOPLE]
    assert ordered == sorted(ordered)
    assert set(ordered) == set(range(8))
    assert by_subject["Q240"] == 7  # never linked to
    assert all(q.attributes["rand_ent"] for q in built.benchmark.queries)


def test_samples_are_bounded_disjoint_and_seeded(kb: Path, tmp_path: Path) -> None:
    options = msgspec.structs.replace(
        OPTIONS,
        sizes=Sizes(test=3, dev=6, train=7, bucket=1),
        train_scope="subjects",
        train_entities=str(_file(tmp_path, "Q200\nFirst1 Last1\n")),
    )
    one = build_entityquestions(kb, tmp_path / "one", options)
    same = build_entityquestions(kb, tmp_path / "same", options)
    other = build_entityquestions(kb, tmp_path / "other", msgspec.structs.replace(options, seed=1))
    assert one.benchmark.id == same.benchmark.id
    assert one.benchmark.id != other.benchmark.id
    queries = one.benchmark.queries
    splits = [q.attributes["split"] for q in queries]
    assert (splits.count("test"), splits.count("dev")) == (3, 6)
    assert sum(q.attributes["rand_ent"] for q in queries) == 8
    assert {q.entity for q in queries if q.attributes["train_ent"]} == {"Q200", "Q201"}
    train = one.benchmark.folder.path("train.jsonl").read_text().splitlines()
    assert 0 < len(train) == one.train <= 7
    tested = {w for q in queries if q.attributes["split"] == "test" for w in q.input.split()[2:-1]}
    for line in map(json.loads, train):
        words = line["question"].removeprefix("Where was ").removesuffix(" born?").split()
        assert tested.isdisjoint(words)
        assert line["reworded"].startswith("What is the birthplace of")


def test_training_entities_are_looked_for_in_questions(kb: Path, tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text('{"question": "when did first3 last3 die?"}\n')
    options = msgspec.structs.replace(OPTIONS, train_questions=str(path))
    made = build_entityquestions(kb, tmp_path / "bench", options)
    assert [q.entity for q in made.benchmark.queries if q.attributes["train_ent"]] == ["Q203"]


def test_evidence_from_trex(kb: Path, tmp_path: Path) -> None:
    wikidata = "http://www.wikidata.org/"
    triples = [
        {
            "subject": {"uri": f"{wikidata}entity/Q{200 + n}"},
            "predicate": {"uri": f"{wikidata}prop/direct/P19"},
            "object": {"uri": f"{wikidata}entity/Q{100 + n}"},
        }
        for n in range(11)
    ]
    file = _file(tmp_path, json.dumps([{"docid": "x", "text": "", "triples": triples}]))
    options = msgspec.structs.replace(OPTIONS, trex=(str(file),))
    made = build_entityquestions(kb, tmp_path / "bench", options)
    assert {q.entity for q in made.benchmark.queries} == {f"Q{200 + n}" for n in range(11)}


def test_the_command_prints_the_criteria(kb: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke(
        build_entityquestions_command,
        [str(kb), str(tmp_path / "b"), "--only", "P19,P26", "--least-facts", "0.5", "--json"],
    )
    assert run.exit_code == 0, run.output
    printed = json.loads(run.stdout)
    assert [r["kept"] for r in printed["relations"]] == [True, False]
    assert Benchmark.open(tmp_path / "b").id == printed["id"]
    assert "P26 spouse" in Benchmark.open(tmp_path / "b").card


def test_a_small_knowledge_base_needs_no_flags(kb: Path, tmp_path: Path) -> None:
    made = build_entityquestions(kb, tmp_path / "b")
    assert [c.relation for c in made.relations if c.kept] == ["P19"]
    assert len(made.relations) == 24


def test_what_cannot_be_built_is_said(kb: Path, tmp_path: Path) -> None:
    strict = msgspec.structs.replace(OPTIONS, least_facts=2000)
    with pytest.raises(BadInput, match=r"P19: 41 facts, not more than 2000"):
        build_entityquestions(kb, tmp_path / "b", strict)
    with pytest.raises(UsageError, match="no question for P1"):
        build_entityquestions(kb, tmp_path / "b", EntityQuestionsOptions(only=("P1",)))


def _file(folder: Path, text: str) -> Path:
    path = folder / "given.json"
    path.write_text(text)
    return path


def test_the_built_in_world() -> None:
    benchmark = Benchmark.open("builtin/entityquestions")
    assert len({query.relation for query in benchmark.queries}) >= 15
    asked = {query.input: query for query in benchmark.queries}
    assert len(asked) == len(benchmark.queries) == 294
    assert {query.attributes["resolvable"] for query in benchmark.queries} == {"yes", "unknown"}
    assert "What kind of work does Abe Lincoln do?" not in asked  # several of them do some
    assert asked["What kind of work does Abraham Lincoln do?"].role is None
    assert {query.role for query in benchmark.queries} == {"head", "tail", None}
    assert "There are no training facts: every fact is asked" in benchmark.card
