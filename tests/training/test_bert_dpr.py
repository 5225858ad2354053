"""BERT + DPR as KILT has it: DPR's reader, FEVER by pages, zsRE's template questions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tiny_bert import WORDS, bert

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.relations import question_in_words, worded
from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.reading.extractive import DprReader, DprReaderModel, best_span
from whichone.records import Output, Passage, Provenance, Query, Question, ReadingTask
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.runs.runner import run_retriever
from whichone.training.examples import Example, Negative, Text
from whichone.training.reading_examples import reading_examples
from whichone.training.trainer import ReaderOptions, TrainingSettings

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from whichone.training.train_readers import DprReaderTraining, answer_spans  # noqa: E402


@pytest.fixture
def plain_bert(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    folder = tmp_path / "bert"
    sizes = {**bert(folder), "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    transformers.BertModel(transformers.BertConfig(**sizes)).save_pretrained(folder)
    return folder


def examples() -> list[Example]:
    """The answer follows the asked word; wrong passages lack it."""
    made = []
    for n in range(16):
        asked, said, other = WORDS[n % 8], WORDS[8 + n % 8], WORDS[16 + n % 8]
        made.append(
            Example(
                id=f"e{n}",
                question=asked,
                positive=Text(asked, f"w30 {asked} {said}", f"p{n}"),
                negatives=(Negative("bm25", Text(other, f"w31 {other} w32", f"x{n}")),),
                answers=(said,),
            )
        )
    return made


def shown(*texts: tuple[str, str]) -> tuple[Passage, ...]:
    return tuple(
        Passage(id=f"c:{n}#0", page=f"c:{n}", title=title, text=text) for n, (title, text) in enumerate(texts)
    )


def test_the_best_span_by_hand() -> None:
    starts, ends = torch.tensor([9.0, 1, 5, 2]), torch.tensor([9.0, 4, 1, 6])
    assert best_span(starts, ends, 1, 3, 10) == ((1, 2), 11.0)  # 5 + 6; before the text nothing counts
    assert best_span(starts, ends, 1, 3, 1) == ((2, 2), 8.0)  # one token: 1 + 4, 5 + 1 or 2 + 6
    assert best_span(starts, ends, 1, 0, 10)[0] is None


def test_a_question_title_and_text_as_dpr_joins_them(plain_bert: Path) -> None:
    model = DprReaderModel.open(plain_bert)
    ids, offsets, first = model.encoded("w1 w2", "w3", "w4 w5")
    tokens = model.tokenizer.convert_ids_to_tokens(ids)
    assert tokens == ["[CLS]", "w1", "w2", "[SEP]", "w3", "[SEP]", "w4", "w5"]
    assert (first, offsets) == (6, [(0, 2), (3, 5)])
    example = Example(id="a", question="w1 w2", positive=Text("w3", "w4 w5 w4"), answers=("w4", "w9"))
    assert answer_spans(model, example) == [(6, 6), (8, 8)]


@pytest.mark.slow
def test_it_learns_to_choose_passage_and_span(plain_bert: Path, tmp_path: Path) -> None:
    settings = TrainingSettings(
        epochs=25, patience=0, batch=8, learning_rate=2e-3, longest=48, kinds=("bm25",)
    )
    training = DprReaderTraining(
        str(plain_bert), examples(), tmp_path / "out", settings, held_out=examples()[:4], device="cpu"
    )
    done = training.run()
    assert max(done.held_out) > 0.5
    assert done.losses[-1] < 0.3 * done.losses[0]
    place = tmp_path / "out" / "model"
    assert transformers.DPRReader.from_pretrained(place).config.model_type == "dpr"
    reader = DprReader(DprReaderModel.open(place), place=place)
    assert reader.name.startswith("dpr-reader bert ")
    passages = shown(("w18", "w31 w18 w32"), ("w2", "w30 w2 w10"))
    (answer,) = reader.read([ReadingTask(question=Question(id="q", text="w2"), passages=passages)])
    assert (answer.text, answer.passages) == ("w10", ("c:1#0", "c:0#0"))
    assert answer.notes["passage"] > 0.5


def test_files_of_dprs_own_program(plain_bert: Path, tmp_path: Path) -> None:
    """The same weights under the authors' names give the same scores."""
    model = DprReaderModel.open(plain_bert)
    own: dict[str, Any] = {}
    for name, value in model.model.state_dict().items():
        bare = name.removeprefix("span_predictor.")
        own[bare.replace("encoder.bert_model.", "encoder.")] = value
    torch.save({"model_dict": own, "optimizer_dict": {}}, tmp_path / "reader.cp")
    again = DprReaderModel.open(tmp_path / "reader.cp", base=str(plain_bert))
    row = model.encoded("w1", "w2", "w3 w4")[0]
    with torch.no_grad():
        for a, b in zip(model.scores([row]), again.scores([row]), strict=True):
            assert torch.allclose(a, b)
    with pytest.raises(UsageError, match="weights only"):
        DprReaderModel.open(tmp_path / "reader.cp")
    torch.save({"model_dict": {"encoder.x": torch.zeros(1)}}, tmp_path / "other.cp")
    with pytest.raises(BadInput, match="weights are missing"):
        DprReaderModel.open(tmp_path / "other.cp", base=str(plain_bert))


def slot(n: int, templates: list[str]) -> Query:
    meta = {"meta": {"template_questions": templates}} if templates else {}
    gold = ((Provenance(page=f"c:{n}"),),)
    return Query(
        id=f"z{n}",
        task="sf",
        input=f"w{n} [SEP] w20",
        outputs=(Output(answer=f"w{n + 8}", provenance=gold),),
        attributes={"kilt": meta, "split": "train"},
    )


@pytest.fixture
def slots(tmp_path: Path) -> Benchmark:
    passages = shown(*((f"w{n}", f"w30 w{n} w{n + 8}") for n in range(8)))
    queries = [slot(n, [f"w40 w{n}", f"w41 w{n}"] if n else []) for n in range(8)]
    return save_benchmark(tmp_path / "slots", name="slots", queries=queries, passages=passages)


@pytest.mark.slow
def test_template_questions_are_what_readers_learn_and_are_asked(
    slots: Benchmark, plain_bert: Path, tmp_path: Path
) -> None:
    assert question_in_words(slots.queries[0]) == "What is the w20 of w0?"
    assert worded(slots.queries[3]).text in ("w40 w3", "w41 w3")
    assert worded(slots.queries[3]) == worded(slots.queries[3])
    place = slots.folder.root
    words = ["train", "reader", place, tmp_path / "out", "--kind", "dpr", "--checkpoint", plain_bert]
    words += ["--epochs", 1, "--batch", 2, "--longest", 48, "--device", "cpu"]
    done = CliRunner().invoke(whichone, [str(w) for w in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    learned = (tmp_path / "out" / "examples.jsonl").read_text()
    assert '"w40 w' in learned or '"w41 w' in learned
    assert "w3 [SEP]" not in learned
    asked = []

    class Listening:
        asks_in_words = True

        def read(self, tasks: Any) -> Any:
            from whichone.records import Answer

            for task in tasks:
                asked.append(task.question.text)
                yield Answer(question=task.question.id, text="x")

    from whichone.runs.read import run_reader
    from whichone.runs.shown import Setting

    run_reader(Listening(), slots, tmp_path / "said", Setting(passages="gold"), name="listening")
    assert sum(text.startswith(("w40 ", "w41 ")) for text in asked) == 7


def test_claims_learn_from_both_kinds_of_negatives(tmp_path: Path) -> None:
    passages = [
        Passage(id="c:a#0", page="c:a", title="a", text="w1 w2."),
        Passage(id="c:a#1", page="c:a", title="a", text="w3 w4."),
        Passage(id="c:b#0", page="c:b", title="b", text="w1 w5."),
    ]
    gold = ((Provenance(page="c:a", passage="c:a#0"),),)
    claim = Query(id="f", task="fc", input="w1 w2", outputs=(Output(answer="SUPPORTS", provenance=gold),))
    bench = save_benchmark(tmp_path / "fever", name="fever", queries=[claim], passages=passages)
    made, _ = reading_examples(bench, bench.queries, "claims", tmp_path / "w", negatives="kilt")
    assert [(e.text, e.target) for e in made] == [
        ("w1 w2.", "SUPPORTS"),
        ("w1 w5.", "NEUTRAL"),
        ("w3 w4.", "NEUTRAL"),
    ]


def test_claims_learn_from_the_wrong_pages_of_a_run(tmp_path: Path) -> None:
    """KILT takes those of DPR; BM25 would take the page that has the claim's words."""
    texts = {"a": "w1 w2.", "b": "w1 w5.", "c": "w7 w8."}
    passages = [Passage(id=f"c:{n}#0", page=f"c:{n}", title=n, text=text) for n, text in texts.items()]
    gold = ((Provenance(page="c:a", passage="c:a#0"),),)
    claim = Query(id="f", task="fc", input="w1 w2", outputs=(Output(answer="SUPPORTS", provenance=gold),))
    bench = save_benchmark(tmp_path / "fever", name="fever", queries=[claim], passages=passages)
    ranked = FunctionRetriever(lambda question, k: ["c:a#0", "c:c#0", "c:b#0"], name="dpr")
    run = run_retriever(ranked, bench, tmp_path / "run", k=3, name="dpr")
    made, _ = reading_examples(bench, bench.queries, "claims", tmp_path / "w", run=run)
    assert [(e.text, e.target) for e in made] == [("w1 w2.", "SUPPORTS"), ("w7 w8.", "NEUTRAL")]
    ReaderOptions(runs=(str(tmp_path / "run"),)).check("claims")
    with pytest.raises(UsageError, match="--run goes with"):
        ReaderOptions(context="gold", runs=("RUN",)).check("seq2seq")


def test_fever_reads_the_pages_first_sentence_and_orders_by_probability(tmp_path: Path) -> None:
    from whichone.reading.claims import ClaimChecker

    passages = [
        Passage(id="c:a#0", page="c:a", title="a", text="First of a. More."),
        Passage(id="c:a#1", page="c:a", title="a", text="Later in a."),
        Passage(id="c:b#0", page="c:b", title="b", text="First of b."),
        Passage(id="c:c#0", page="c:c", title="c", text="First of c."),
    ]
    corpus = save_benchmark(
        tmp_path / "b", name="b", queries=[Query(id="q", task="fc", input="x")], passages=passages,
        allow_no_gold=True,
    ).corpus  # fmt: skip
    checker = ClaimChecker.__new__(ClaimChecker)
    checker.rule, checker.corpus, checker.batch = "kilt", corpus, 16
    seen: list[str] = []
    shares = {"a": (0.5, 0.3), "b": (0.2, 0.1), "c": (0.9, 0.05)}

    def scores(pairs: Any) -> list[dict[str, float]]:
        seen.extend(text for _, text in pairs)
        return [
            {"SUPPORTS": yes, "REFUTES": no, "NEUTRAL": 1 - yes - no}
            for yes, no in (shares[text[0]] for _, text in pairs)
        ]

    checker._scores = scores  # type: ignore[method-assign]
    found = (passages[1], passages[2], passages[3])
    (answer,) = checker.read([ReadingTask(question=Question(id="q", text="x"), passages=found)])
    assert seen[0] == "a | First of a."
    assert answer.text == "SUPPORTS"
    assert answer.passages == ("c:c#0", "c:a#1", "c:b#0")
