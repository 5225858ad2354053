"""What is learned from: every kind of source, splits that share no name, and the refusal of leaks."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.questions import QuestionFields, import_questions
from whichone.cli import whichone
from whichone.corpus.save import make_corpus
from whichone.errors import BadInput, Missing, UsageError
from whichone.files.folder import folder_kinds
from whichone.files.lines import write_json_lines
from whichone.records import Output, Passage, Provenance, Query
from whichone.training import examples as training_examples
from whichone.training import held_out
from whichone.training.examples import Example, Negative, Text, each_dpr, each_example
from whichone.training.held_out import HeldOutKeys, Leaks, refuse, without
from whichone.training.reading_examples import reading_queries
from whichone.training.trainer import TrainingSettings
from whichone.training.training_data import (
    LearningPlan,
    TrainingCorpus,
    kind_of,
    kinds_text,
    taken_queries,
    training_data,
)

SETTINGS = TrainingSettings(batch=2, kinds=("bm25", "namesake"))
NO_OVERLAP = "data/entityquestions/one-off/no-overlap/P19/P19_no_overlap.train.json.gz"


def query(n: int, name: str, **more: Any) -> Query:
    gold = (Output(answer="x", provenance=((Provenance(page=f"p{n}"),),)),)
    return Query(id=f"q{n}", task="qa", input=f"question {n}", name=name, outputs=gold, **more)


def test_examples_go_to_disk_and_back(made_examples: Any, tmp_path: Path) -> None:
    write_json_lines(tmp_path / "e.jsonl.gz", made_examples())
    assert kind_of(tmp_path / "e.jsonl.gz") == "examples"
    assert list(each_example(tmp_path / "e.jsonl.gz")) == made_examples()


def test_dpr_training_files(tmp_path: Path) -> None:
    file = tmp_path / "dpr.json"
    file.write_text(
        '[{"question": "who’s that", "answers": ["a"], "positive_ctxs": [{"title": "T (x)", "text": "x"}],'
        '"hard_negative_ctxs": [{"title": "N", "text": "y"}]}, {"question": "q", "positive_ctxs": []}]'
    )
    assert kind_of(file) == "DPR's json"
    (found,) = each_dpr(file)
    assert (found.question, found.name) == ("who's that", "t")
    assert found.negatives == (Negative("given", Text("N", "y", "N")),)
    file.write_text('[{"question": "q"}]')
    with pytest.raises(BadInput, match="record 0 is not one of DPR's"):
        list(each_dpr(file))


def test_splits_share_no_name(bench: Benchmark, tmp_path: Path) -> None:
    queries = [query(n, f"Name {n % 40}") for n in range(200)]
    held = save_benchmark(
        tmp_path / "n", name="n", queries=queries, passages=bench.passage_records(),
        allow_no_gold=True,
    )  # fmt: skip
    place = str(held.folder.root)
    chosen = taken_queries(place, held, LearningPlan(sources=(place,), held_out=0.3), 1)
    assert len(chosen.records) + len(chosen.test) == 200
    assert not {q.name for q in chosen.records} & {q.name for q in chosen.test}
    assert 20 < len(chosen.test) < 120


def test_leaks_are_named() -> None:
    leaky = [Example(id="a", question="other", positive=Text("t", "x"), name="name one", gold=("p9",))]

    def leaks(test: Query, **options: bool) -> Leaks:
        return Leaks(leaky, [HeldOutKeys([test], **options)])

    with pytest.raises(BadInput, match="1 names are in both training and test data: name one"):
        refuse(leaks(query(1, "Name One")))
    with pytest.raises(BadInput, match="gold pages"):
        refuse(leaks(query(9, "Someone")))
    with pytest.raises(BadInput, match=r"words of names.* are in both.*: one"):
        refuse(leaks(query(3, "The One"), tokens=True))
    assert without(leaky, leaks(query(9, "Someone"))) == []
    assert without(leaky, leaks(query(3, "The One"), tokens=True)) == []
    assert without(leaky, leaks(query(3, "The One"))) == leaky
    assert Leaks([query(1, "Name One")], [HeldOutKeys([query(1, "Name One")])])


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    """Twelve pages, two of one name; half of the queries are a training split."""
    titles = [f"Person{n}" for n in range(11)] + ["Person0 (singer)"]
    passages = [
        Passage(id=f"c:{t}#0", page=f"c:{t}", title=t, text=f"{t} was born in Town{n}.")
        for n, t in enumerate(titles)
    ]
    queries = [
        Query(
            id=f"q{n}",
            task="qa",
            input=f"Where was Person{n} born?",
            name=f"Person{n}",
            relation="P19",
            outputs=(Output(answer=f"Town{n}", provenance=((Provenance(page=f"c:Person{n}"),),)),),
            attributes={"split": "train" if n < 6 else "test"},
        )
        for n in range(11)
    ]
    return save_benchmark(tmp_path / "bench", name="bench", queries=queries, passages=passages)


def test_a_training_split_is_what_is_learned_from(bench: Benchmark, tmp_path: Path) -> None:
    place = str(bench.folder.root)
    chosen = taken_queries(place, bench, LearningPlan(sources=(place,)), 0)
    train, unseen = chosen.records, chosen.test
    assert [q.id for q in train] == [f"q{n}" for n in range(6)]
    assert len(unseen) == 5
    plan = LearningPlan(sources=(str(bench.folder.root),))
    data = training_data(plan, SETTINGS, tmp_path / "work")
    examples = {e.id: e for e in (*data.learn, *data.watch)}
    assert sorted(examples) == [f"q{n}" for n in range(6)]
    namesakes = [n.passage.title for n in examples["q0"].negatives if n.kind == "namesake"]
    assert namesakes == ["Person0 (singer)"]
    leaky = LearningPlan(sources=plan.sources, test=plan.sources)
    with pytest.raises(BadInput, match="6 names, 6 gold pages, 6 questions are in both"):
        training_data(leaky, SETTINGS, tmp_path / "work")
    with pytest.raises(BadInput, match="every example"):
        training_data(
            LearningPlan(sources=plan.sources, test=plan.sources, drop_leaks=True), SETTINGS, tmp_path
        )


def test_sources_take_turns(made_examples: Any) -> None:
    from msgspec.structs import replace

    from whichone.training.trainer import by_source, round_robin

    few = [replace(e, source="few") for e in made_examples(3)]
    many = [replace(e, source="many", id=f"m{n}") for n, e in enumerate(made_examples(20))]
    examples = [*many, *few]

    def drawn_in(epoch: int) -> list[list[Example]]:
        rows = round_robin(by_source(examples), 4, 9, seed=1, epoch=epoch)
        return [[examples[row] for row in batch] for batch in rows]

    batches = drawn_in(0)
    assert [{e.source for e in batch} for batch in batches] == [{"few"}, {"many"}] * 2
    drawn = [e.id for batch in batches[::2] for e in batch]
    assert sorted(map(drawn.count, {e.id for e in few})) in ([2, 3, 3],)
    assert len({e.id for batch in batches[1::2] for e in batch}) == 8
    assert batches == drawn_in(0)
    assert batches != drawn_in(1)


def corpus_file(bench: Benchmark, tmp_path: Path) -> str:
    file = tmp_path / "passages.jsonl"
    file.write_text(
        "".join(
            json.dumps({"id": p.id, "title": p.title, "text": p.text}) + "\n" for p in bench.passage_records()
        )
    )
    return str(file)


def test_question_files_over_a_corpus(bench: Benchmark, tmp_path: Path) -> None:
    passages = corpus_file(bench, tmp_path)
    kilt = tmp_path / "nq-train-kilt.jsonl"
    gold = {"answer": "Town1", "provenance": [{"wikipedia_id": "7", "title": "Person1"}]}
    kilt.write_text(json.dumps({"id": "k1", "input": "Where?", "output": [gold]}) + "\n")
    asked = tmp_path / "P19.train.json"
    asked.write_text('[{"question": "Where was Person2 born?", "answers": ["Town2"]}]')
    assert (kind_of(kilt), kind_of(asked)) == ("KILT", "EntityQuestions")
    with pytest.raises(UsageError, match="contains questions, not passages"):
        training_data(LearningPlan(sources=(str(kilt),)), SETTINGS, tmp_path / "work")
    plan = LearningPlan(sources=(str(kilt), str(asked)), corpus=TrainingCorpus(passages=passages))
    for _ in range(2):  # the second time what was made is opened
        data = training_data(plan, SETTINGS, tmp_path / "work")
    found = {e.question: e for e in (*data.learn, *data.watch)}
    assert found["Where?"].positive.title == "Person1"
    assert found["Where was Person2 born?"].positive.text.endswith("Town2.")
    assert found["Where was Person2 born?"].relation == "P19"
    kinds = [kind for place, kind in folder_kinds(tmp_path / "work") if place.parent.name == "work"]
    assert sorted(kinds) == ["benchmark", "benchmark", "corpus"]  # one corpus for both
    assert all(not (p / "corpus").exists() for p in (tmp_path / "work").iterdir())


def test_question_files_over_a_corpus_that_exists(bench: Benchmark, tmp_path: Path) -> None:
    make_corpus(corpus_file(bench, tmp_path), tmp_path / "corpus")
    asked = tmp_path / "P19.train.json"
    asked.write_text('[{"question": "Where was Person2 born?", "answers": ["Town2"]}]')
    given = TrainingCorpus(folder=str(tmp_path / "corpus"))
    data = training_data(LearningPlan(sources=(str(asked),), corpus=given), SETTINGS, tmp_path / "work")
    (example,) = (*data.learn, *data.watch)
    assert example.positive.text.endswith("Town2.")
    with pytest.raises(UsageError, match="--corpus"):
        TrainingCorpus(folder="c", passages="p").check()


def test_blocks_change_no_example(bench: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = LearningPlan(sources=(str(bench.folder.root),))
    whole = training_data(plan, SETTINGS, tmp_path / "work")
    monkeypatch.setattr(training_examples, "BLOCK", 3)
    monkeypatch.setattr(held_out, "BLOCK", 2)
    blocks = training_data(plan, SETTINGS, tmp_path / "again")
    assert (blocks.learn, blocks.watch) == (whole.learn, whole.watch)
    assert blocks.never_seen == whole.never_seen
    leaky = LearningPlan(sources=plan.sources, test=plan.sources, drop_leaks=True)
    with pytest.raises(BadInput, match="every example shares something"):
        training_data(leaky, SETTINGS, tmp_path / "third")


def test_what_is_no_training_data(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1}')
    with pytest.raises(BadInput, match="no training data that is known"):
        kind_of(tmp_path / "x.json")
    with pytest.raises(Missing, match="no such file or folder"):
        kind_of(tmp_path / "y.json")
    with pytest.raises(UsageError, match="not both"):
        TrainingCorpus(passages="a", knowledge="b").check()


def test_a_knowledge_base_and_its_training_facts(tmp_path: Path) -> None:
    """Built of it are EntityQuestions; their training facts, where there are any, are learned from."""
    from whichone.benchmarks.by_name import builtin_benchmark
    from whichone.papers.entityquestions.build_entityquestions import (
        EntityQuestionsOptions,
        build_entityquestions,
    )
    from whichone.papers.entityquestions.draw import Sizes

    base = tmp_path / "kb"
    shutil.copytree(builtin_benchmark("builtin/entityquestions").parent / "kb", base)
    plan = LearningPlan(sources=(str(base),), drop_leaks=True)
    data = training_data(plan, SETTINGS, tmp_path / "work")
    assert data.learn
    assert not {e.id for e in data.learn} & {q.id for q in data.never_seen}
    assert any(n.kind == "namesake" for e in data.learn for n in e.negatives)

    few = EntityQuestionsOptions(sizes=Sizes(test=3, dev=0), train_scope="subjects")
    built = build_entityquestions(base, tmp_path / "eq", few)
    chosen = taken_queries(str(tmp_path / "eq"), built.benchmark, LearningPlan(sources=()), 0)
    train, unseen = chosen.records, chosen.test
    assert len(train) == built.train > 0
    assert all(q.id.startswith("train-") and q.relation and q.gold_pages() for q in train)
    assert len(unseen) == len(built.benchmark.queries)


def test_the_release_of_no_overlap(shared: Path, tmp_path: Path) -> None:
    """Some of its real questions over the 48k corpus' own pages of their names."""
    records = json.loads(gzip.decompress((shared / NO_OVERLAP).read_bytes()))
    (tmp_path / "no-overlap" / "P19").mkdir(parents=True)
    file = tmp_path / "no-overlap" / "P19" / "P19_no_overlap.train.json"
    file.write_text(json.dumps(records))
    names = {r["question"].removeprefix("Where was ").removesuffix(" born?") for r in records}
    passages = tmp_path / "passages.jsonl"
    with gzip.open(shared / "data/wikipedia-48k/passages.jsonl.gz", "rt") as lines:
        passages.write_text("".join(x for x in lines if json.loads(x)["title"] in names))
    plan = LearningPlan(sources=(str(file),), corpus=TrainingCorpus(passages=str(passages)))
    data = training_data(plan, TrainingSettings(batch=2, kinds=()), tmp_path / "work")
    assert all(e.relation == "P19" and e.question.startswith("Where was") for e in data.learn)
    assert data.learn


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), 0.0, -1.0])
def test_a_learning_rate_that_is_no_number_is_refused(rate: float) -> None:
    with pytest.raises(UsageError, match=r"learning_rate"):
        TrainingSettings(learning_rate=rate).check()


def test_only_wrong_passages_that_are_learned_from_are_told(made_examples: Any) -> None:
    examples = made_examples(3)
    assert kinds_text(examples, ("bm25", "namesake")) == "negatives: 3 bm25, 3 namesake"
    assert kinds_text(examples, ("bm25",)) == "negatives: 3 bm25"
    assert kinds_text(examples, ()) == "negatives: of the batch only"


SPLITS = ("train", "dev", "test")


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    """A file of questions with all three splits, imported."""
    passages, rows = [], []
    for n in range(30):
        title = f"Person{n}"
        passages.append({"id": f"d{n}", "title": title, "text": f"{title} was born in Town{n}."})
        rows.append(
            {
                "question": f"Where was {title} born?",
                "answers": [f"Town{n}"],
                "titles": [title],
                "name": title,
                "split": SPLITS[n % 3] if n % 6 < 3 else ("train", "validation", "test_id")[n % 3],
            }
        )
    for name, records in (("passages", passages), ("questions", rows)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (tmp_path / f"{name}.jsonl").write_text(lines)
    fields = QuestionFields(answers="answers", gold="titles", name="name")
    import_questions(
        tmp_path / "questions.jsonl", tmp_path / "passages.jsonl", tmp_path / "imported", fields=fields
    )
    return tmp_path / "imported"


def test_an_imported_file_with_three_splits_teaches_its_training_records_alone(
    imported: Path, checkpoint: Path, tmp_path: Path
) -> None:
    """The examples that a real training kept are those marked train, and it says what it left."""
    trainings = {
        "retriever": ("--negatives", "bm25", "--preset", "default"),
        "reranker": ("--negatives", "bm25"),
    }
    for verb, options in trainings.items():
        done = CliRunner().invoke(
            whichone,
            ["train", verb, str(imported), str(tmp_path / verb), "--checkpoint", str(checkpoint),
             "--epochs", "1", "--batch", "2", "--device", "cpu", *options],
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        assert "10 records taken (10 dev, 10 test left alone)" in " ".join(done.stderr.split())
        learned = [e.question for e in each_example(tmp_path / verb / "examples.jsonl")]
        assert learned
        numbers = [int(q.split("Person")[1].split()[0]) for q in learned]
        assert all(n % 3 == 0 for n in numbers)
        document = json.loads((tmp_path / verb / "training.json").read_text())
        (source,) = document["sources"]
        assert (source["taken"], source["left"]) == (10, {"dev": 10, "test": 10})


def test_a_reader_takes_training_records_alone(imported: Path, tmp_path: Path) -> None:
    (part,), unseen = reading_queries(LearningPlan(sources=(str(imported),)), 0, tmp_path / "work")
    assert len(part.records) == 10
    assert {q.attributes["split"] for q in part.records} == {"train"}
    assert len(unseen) == 20


def test_records_marked_dev_or_test_are_refused(imported: Path, tmp_path: Path) -> None:
    place = tmp_path / "questions.jsonl"
    rows = [json.loads(line) for line in place.read_text().splitlines()]
    kept = [row for row in rows if row["split"] != "train"]
    place.write_text("".join(json.dumps(row) + "\n" for row in kept))
    fields = QuestionFields(answers="answers", gold="titles", name="name")
    import_questions(place, tmp_path / "passages.jsonl", tmp_path / "others", fields=fields)
    plan = LearningPlan(sources=(str(tmp_path / "others"),))
    with pytest.raises(BadInput, match=r"no record is marked train \(10 dev, 10 test\)"):
        training_data(plan, SETTINGS, tmp_path / "work")
    with pytest.raises(BadInput, match="no record is marked train"):
        reading_queries(plan, 0, tmp_path / "work")
    free = LearningPlan(sources=plan.sources, learn_from_dev=True)
    data = training_data(free, SETTINGS, tmp_path / "work")
    assert len(data.learn) + len(data.watch) + len(data.never_seen) == 20
    assert data.never_seen


def test_a_dev_set_is_watched_and_not_learned(bench: Benchmark, tmp_path: Path) -> None:
    place = str(bench.folder.root)
    plan = LearningPlan(sources=(place,), dev=(place,))
    data = training_data(plan, SETTINGS, tmp_path / "work")
    assert [e.id for e in data.learn] == [f"q{n}" for n in range(6)]
    assert sorted(e.id for e in data.watch) == sorted(f"q{n}" for n in range(6, 11))
    assert len(data.never_seen) == 5
    with pytest.raises(BadInput, match=r"names.* are in both training and test data"):
        training_data(
            LearningPlan(sources=(place,), dev=(place,), learn_from_dev=True), SETTINGS, tmp_path / "work"
        )


def test_files_of_examples_keep_to_their_marks(made_examples: Any, tmp_path: Path) -> None:
    """A mark in the record counts, else one in the file's name."""
    from msgspec.structs import replace

    marked = [replace(e, split=SPLITS[n % 3]) for n, e in enumerate(made_examples(24))]
    write_json_lines(tmp_path / "mine.jsonl", marked)
    data = training_data(LearningPlan(sources=(str(tmp_path / "mine.jsonl"),)), SETTINGS, tmp_path)
    assert {e.split for e in (*data.learn, *data.watch)} == {"train"}
    assert data.taken[0].left == {"dev": 8, "test": 8}
    write_json_lines(tmp_path / "mine-dev.jsonl", made_examples(24))
    with pytest.raises(BadInput, match="24 dev"):
        training_data(LearningPlan(sources=(str(tmp_path / "mine-dev.jsonl"),)), SETTINGS, tmp_path)


def test_parts_of_a_benchmark_are_marked_by_their_name(bench: Benchmark, tmp_path: Path) -> None:
    from whichone.benchmarks.derive import split_benchmark

    unmarked = [replace_mark(q) for q in bench.queries]
    whole = save_benchmark(tmp_path / "whole", name="w", queries=unmarked, passages=bench.passage_records())
    split_benchmark(whole, tmp_path / "parts", {"train": 0.7, "test": 0.3}, seed=0)
    train = training_data(
        LearningPlan(sources=(str(tmp_path / "parts" / "train"),)), SETTINGS, tmp_path / "work"
    )
    assert len(train.learn) + len(train.watch) == len(Benchmark.open(tmp_path / "parts" / "train").queries)
    with pytest.raises(BadInput, match="no record is marked train"):
        training_data(LearningPlan(sources=(str(tmp_path / "parts" / "test"),)), SETTINGS, tmp_path / "work")


def replace_mark(asked: Query) -> Query:
    from msgspec.structs import replace

    return replace(asked, attributes={})
