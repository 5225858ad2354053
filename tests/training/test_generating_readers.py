"""BART and T5 for every task: closed-book, with gold and with retrieved passages in context."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace
from tiny_bart import save_bart, save_t5

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.reading.seq2seq import fitted_question, joined_input, prefixed
from whichone.records import Output, Passage, Provenance, Query, Question, ReadingTask
from whichone.runs.run import Answers
from whichone.training.reading_examples import ContextExamples, reading_examples
from whichone.training.trainer import TrainingSettings

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from whichone.training.train_readers import ReaderTraining  # noqa: E402

NAMES = [f"name{n}" for n in range(8)]
TOWNS = [f"town{n}" for n in range(8)]
WORDS = [
    *NAMES, *TOWNS, "born", "place", "is", "in", "sep", "start_ent", "end_ent", "supports", "refutes", "hello",
    "tell", "me", "of", "was", "from", "qa", "sf", "fc", "el", "dialogue", "and", "so", *[f"x{n}" for n in range(30)],
]  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    """Five tasks over eight pages; the answer of each is in its page, or is its title or a label."""
    passages = [
        Passage(id=f"c:{n}#0", page=f"c:{n}", title=name, text=f"{name} born in {town}")
        for n, (name, town) in enumerate(zip(NAMES, TOWNS, strict=True))
    ]
    asked = {
        "qa": ("born {0} ?", "{1}"),
        "sf": ("{0} [SEP] place", "{1}"),
        "fc": ("{0} is from {1}", "SUPPORTS"),
        "el": ("hello [START_ENT] {0} [END_ENT] so", "{0}"),
        "dialogue": ("tell me of {0}", "{0} was born in {1} and so was hello"),
    }
    queries = [
        Query(
            id=f"{task}{n}",
            task=task,
            input=question.format(NAMES[n], TOWNS[n]),
            name=NAMES[n],
            outputs=(
                Output(answer=answer.format(NAMES[n], TOWNS[n]), provenance=((Provenance(page=f"c:{n}"),),)),
            ),
            attributes={"dataset": task, "split": "train"},
        )
        for task, (question, answer) in asked.items()
        for n in range(8)
    ]
    return save_benchmark(tmp_path / "bench", name="bench", queries=queries, passages=passages)


@pytest.fixture
def bart(tmp_path: Path) -> Path:
    return save_bart(tmp_path / "tiny-bart", WORDS)


def run(*words: object) -> Any:
    done = CliRunner().invoke(whichone, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_passages_come_before_the_question_and_are_cut_for_it(bart: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(bart)
    text, cut = joined_input(tokenizer, "born name1 ?", "qa", ["x1 x2", "x3 x4 x5"], 64)
    assert (text, cut) == ("x1 x2 x3 x4 x5 born name1 ?", 0)
    text, cut = joined_input(tokenizer, "born name1 ?", "qa", ["x1 x2", "x3 x4 x5"], 15)
    assert (text, cut) == ("x1 x2 x3 x4 born name1 ?", 1)
    long = " ".join(f"x{n}" for n in range(30))
    assert fitted_question(tokenizer, long, "qa", 3) == "x0 x1 x2"
    assert fitted_question(tokenizer, long, "dialogue", 3) == "x27 x28 x29"
    marked = f"{long} [START_ENT] name3 [END_ENT] {long}"
    assert "name3" in fitted_question(tokenizer, marked, "el", 20)
    assert prefixed("{task}: ", "sf", "a") == "sf: a"


def test_examples_of_every_task_by_context(bench: Benchmark, tmp_path: Path) -> None:
    def made(context: Any, depth: int = 3) -> dict[str, Any]:
        maker = ContextExamples(bench, context, depth, tmp_path / "work")
        return {e.id: e for e in maker.examples(bench.queries)[0]}

    closed, gold, found = made("none"), made("gold"), made("retrieved", 2)
    assert len(closed) == len(gold) == len(found) == 40
    assert closed["qa1"].context == ()
    assert gold["el1"].context == ("name1 | name1 born in town1",)
    assert gold["el1"].target == "name1" and gold["fc1"].target == "SUPPORTS"
    assert found["sf2"].context[0] == "name2 | name2 born in town2"
    assert max(len(e.context) for e in found.values()) == 2
    assert closed["dialogue3"].target == "name3 was born in town3 and so was hello"


def test_every_gold_answer_is_learned_in_turn(bart: Path, tmp_path: Path) -> None:
    passages = [Passage(id="c:a#0", page="c:a", title="name1", text="name1 born in town2 town3")]
    gold = ((Provenance(page="c:a"),),)
    outputs = (Output(answer="town1", provenance=gold), Output(answer="town2", aliases=("town3",)))
    query = Query(id="q", task="qa", input="born name1 ?", outputs=outputs)
    both = save_benchmark(tmp_path / "both", name="both", queries=[query], passages=passages)
    (written,) = ContextExamples(both, "gold", 3, tmp_path / "w").examples(both.queries)[0]
    assert [written.at(epoch).target for epoch in range(4)] == ["town1", "town2", "town3", "town1"]
    (read,) = reading_examples(both, both.queries, "extractive", tmp_path / "w")[0]
    assert [(e.target, e.start) for e in (read.at(0), read.at(1))] == [("town2", 14), ("town3", 20)]
    settings = TrainingSettings(batch=2, longest=64)
    training = ReaderTraining(
        "seq2seq",
        bart,
        [written, written],
        tmp_path / "out",
        settings,
        device="cpu",
        taught={"context": "gold"},
    )
    said = [training.collate([written], epoch)["labels"][0].tolist() for epoch in range(3)]
    assert [training.tokenizer.decode(row, skip_special_tokens=True) for row in said] == [
        "town1",
        "town2",
        "town3",
    ]


@pytest.mark.slow
def test_closed_book_and_with_context_for_five_tasks(bench: Benchmark, bart: Path, tmp_path: Path) -> None:
    """Trained by the command, read by the command; options and initialisation are recorded."""
    place, options = bench.folder.root, ("--kind", "seq2seq", "--checkpoint", bart, "--batch", 8)
    options += ("--learning-rate", 3e-3, "--longest", 64, "--device", "cpu", "--prefix", "{task}: ")
    run("train", "reader", place, tmp_path / "closed", *options, "--context", "none", "--epochs", 20)
    run(
        "train", "reader", place, tmp_path / "open", *options, "--context", "retrieved",
        "--depth", 2, "--per-source", 8, "--epochs", 2,
    )  # fmt: skip
    run(
        "read", place, tmp_path / "said", "--reader", "seq2seq", "--passages", "none",
        "-o", f"model={tmp_path / 'closed' / 'model'}", "-o", "beams=2", "-o", "length_penalty=0.5",
        "-o", "no_repeat=3", "-o", "device=cpu",
    )  # fmt: skip
    answers = Answers.open(tmp_path / "said")
    said = {q: str(a.text) for q, a in answers.answers.items()}
    begins = {"qa": "town", "sf": "town", "fc": "supports", "el": "name", "dialogue": "name"}
    assert all(said[q.id].startswith(begins[q.task]) for q in bench.queries)
    assert all("was born in town" in said[f"dialogue{n}"] for n in range(8))
    assert answers.name.startswith("seq2seq tiny-bart 0.0")
    reader = answers.folder.manifest.parameters["reader"]
    assert (reader["beams"], reader["length_penalty"], reader["no_repeat"]) == (2, 0.5, 3)
    assert reader["prefix"] == "{task}: "
    assert reader["initialisation"]["checkpoint"] == "tiny-bart"
    assert reader["longest"] == 11
    taught = json.loads((tmp_path / "open" / "model" / "reading.json").read_text())
    assert (taught["context"], taught["depth"]) == ("retrieved", 2)
    document = json.loads((tmp_path / "open" / "training.json").read_text())
    assert document["taught"]["initialisation"]["model_type"] == "bart"
    run("retrieve", place, tmp_path / "run", "--retriever", "bm25", "-k", 5)
    run(
        "read", place, tmp_path / "shown", "--reader", "seq2seq", "--passages", "retrieved",
        "--run", tmp_path / "run", "--depth", 2, "-o", f"model={tmp_path / 'open' / 'model'}",
        "-o", "device=cpu",
    )  # fmt: skip
    assert Answers.open(tmp_path / "shown").folder.manifest.parameters["reader"]["how"] == "joined"


@pytest.mark.slow
def test_a_t5_learns_all_tasks_and_reads_them(bench: Benchmark, tmp_path: Path) -> None:
    """With the first three passages in context; its rows say T5, its size, and how answers were written."""
    place, t5 = bench.folder.root, save_t5(tmp_path / "tiny-t5", WORDS)
    run(
        "train", "reader", place, tmp_path / "t5", "--kind", "seq2seq", "--checkpoint", t5,
        "--context", "gold", "--depth", 3, "--batch", 8, "--learning-rate", 1e-2, "--longest", 64,
        "--prefix", "{task}: ", "--device", "cpu", "--epochs", 20,
    )  # fmt: skip
    model = tmp_path / "t5" / "model"
    options = ("-o", f"model={model}", "-o", "device=cpu", "-o", "beams=3")
    run(
        "read", place, tmp_path / "said", "--reader", "seq2seq", "--passages", "gold", *options,
        "-o", "repetition_penalty=1.1", "-o", "shortest=1",
    )  # fmt: skip
    answers = Answers.open(tmp_path / "said")
    begins = {"qa": "town", "sf": "town", "fc": "supports", "el": "name", "dialogue": "name"}
    said = {q.id: str(answers.answers[q.id].text) for q in bench.queries}
    right = [said[q.id].startswith(begins[q.task]) for q in bench.queries]
    assert sum(right) >= 36, said
    reader = answers.folder.manifest.parameters["reader"]
    assert reader["initialisation"]["model_type"] == "t5"
    assert reader["initialisation"]["checkpoint"] == "tiny-t5"
    assert answers.name.startswith("seq2seq tiny-t5 0.0")
    assert (reader["beams"], reader["repetition_penalty"], reader["shortest"]) == (3, 1.1, 1)
    assert reader["how"] == "joined"
    assert reader["longest"] == 10  # the dialogue's nine words and the end


@pytest.mark.slow
@pytest.mark.parametrize("special", [False, True])
def test_labels_of_kilts_t5_are_words_of_their_own(bench: Benchmark, tmp_path: Path, special: bool) -> None:
    """Learned as `<SUPPORTS>`, said as SUPPORTS, be that token special or not; names of tasks are KILT's."""
    place, t5 = bench.folder.root, save_t5(tmp_path / "tiny-t5", WORDS)
    run(
        "train", "reader", place, tmp_path / "t5", "--kind", "seq2seq", "--checkpoint", t5, "--task", "fc",
        "--context", "none", "--batch", 4, "--learning-rate", 3e-2, "--longest", 64,
        "--prefix", "{Task}: ", "--device", "cpu", "--epochs", 30,
    )  # fmt: skip
    model = tmp_path / "t5" / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    assert len(tokenizer("<SUPPORTS>")["input_ids"]) == 2  # and the end
    if special:
        tokenizer.add_special_tokens({"additional_special_tokens": ["<SUPPORTS>", "<REFUTES>"]})
        tokenizer.save_pretrained(model)
    options = ("-o", f"model={model}", "-o", "device=cpu", "--passages", "none")
    run("read", place, tmp_path / "said", "--reader", "seq2seq", *options)
    answers = Answers.open(tmp_path / "said").answers
    assert {a.text for a in answers.values()} == {"SUPPORTS"} and len(answers) == 8


@pytest.mark.slow
def test_a_reader_stops_by_a_development_set(bench: Benchmark, bart: Path, tmp_path: Path) -> None:
    """Of which nothing may be learned, and whose best epoch is the model's."""
    queries = [
        replace(q, id=f"d-{q.id}", input=f"and {q.input}", attributes={"split": "dev"}) for q in bench.queries
    ]
    dev = save_benchmark(
        tmp_path / "dev", name="dev", queries=queries, passages=bench.corpus.passage_records()
    )
    options = ("--kind", "seq2seq", "--context", "none", "--checkpoint", bart, "--batch", 8, "--epochs", 3)
    options += ("--longest", 64, "--device", "cpu", "--learning-rate", 3e-3, "--dev", dev.folder.root)
    words = [str(w) for w in ("train", "reader", bench.folder.root, tmp_path / "out", *options)]
    with pytest.raises(BadInput, match="8 names, 8 gold pages"):
        run(*words)
    other = [replace(q, id=f"o-{q.id}", name=f"{q.name} so", outputs=()) for q in queries]
    answers = [
        replace(q, outputs=(Output(answer=bench.queries[n].answers()[0]),)) for n, q in enumerate(other)
    ]
    save_benchmark(dev.folder.root.with_name("apart"), name="apart", queries=answers, passages=[])
    words[-1] = str(dev.folder.root.with_name("apart"))
    done = run(*words, "--json")
    watched = json.loads(done.stdout)["held_out"]
    assert len(watched) == 3 and max(watched) > watched[0] >= 0


def test_targets_are_as_long_as_the_task_needs(bart: Path, tmp_path: Path) -> None:
    from whichone.training.reading_examples import ReadingExample
    from whichone.training.train_readers import _ENCODE, ReaderTraining
    from whichone.training.trainer import TrainingSettings

    long = " ".join(f"x{n % 30}" for n in range(80))
    examples = [
        ReadingExample("a", "tell me ?", "", "", long, context=()),
        ReadingExample("b", "tell me", "", "", "x1", context=()),
    ]
    settings = TrainingSettings(batch=2, longest=64)
    training = ReaderTraining("seq2seq", bart, examples, tmp_path, settings, device="cpu")
    labels = _ENCODE["seq2seq"](training, examples)["labels"]
    assert labels.shape == (2, 82)  # the 80 words between what BERT's tokenizer puts around them
    assert training.taught.longest == 82


def test_a_linked_title_cites_its_own_page(bart: Path) -> None:
    from whichone.reading.seq2seq import SequenceToSequence, _provenance

    shown = tuple(Passage(id=f"c:{n}#0", page=f"c:{n}", title=NAMES[n], text="x1") for n in range(3))
    linking = ReadingTask(question=Question(id="q", text="?", task="el"), passages=shown)
    everything = tuple(p.id for p in shown)
    assert _provenance(linking, "name2", everything) == ("c:2#0",)
    assert _provenance(linking, "name7", everything) == ()
    asking = ReadingTask(question=Question(id="q", text="?", task="qa"), passages=shown)
    assert _provenance(asking, "name2", everything) == everything
    with pytest.raises(UsageError, match="shortest between"):
        SequenceToSequence(bart, device="cpu", longest=4, shortest=9)
    reader = SequenceToSequence(bart, device="cpu", how="joined", window=24, longest=3)
    long = Passage(id="c:9#0", page="c:9", title="name1", text=" ".join(["x1"] * 40))
    task = ReadingTask(question=Question(id="q", text="born name1 ?"), passages=(long,))
    (answer,) = reader.read([task])
    assert answer.notes["tokens_not_shown"] == 42 - (16 - 3)


def test_what_is_not_written_is_refused(bench: Benchmark, tmp_path: Path) -> None:
    maker = ContextExamples(bench, "gold", 3, tmp_path / "work")
    other = [Query(id="a", task="ambigdocs", input="which one?")]
    with pytest.raises(BadInput, match="no query of a task that is written"):
        maker.examples(other)
