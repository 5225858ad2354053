"""Real small trainings of all three kinds of readers, and the readers on what they learned."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from killed import dies_at

from whichone.errors import BadInput, Missing
from whichone.records import Passage, Question, ReadingTask
from whichone.training.reading_examples import ReadingExample
from whichone.training.trainer import TrainingSettings

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

WORDS = [f"w{n}" for n in range(40)]
SETTINGS = TrainingSettings(epochs=8, batch=8, learning_rate=1e-3, longest=48, every=1000)


def save(folder: Path, model) -> Path:
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "none", "|", "?", *WORDS]
    folder.mkdir(parents=True)
    numbers = {word: n for n, word in enumerate(vocabulary)}
    transformers.BertTokenizerFast(vocab=numbers).save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def bert(kind: str):
    config = transformers.BertConfig(
        vocab_size=48,
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=2,
        initializer_range=0.2,
    )
    torch.manual_seed(1)
    return getattr(transformers, kind)(config)


def examples(kind: str) -> list[ReadingExample]:
    """The answer is the word after the asked one; a passage with w31 contains none; w35 denies a claim."""
    made = []
    for n in range(32):
        asked, said, other = WORDS[n % 8], WORDS[8 + n % 8], WORDS[(n + 3) % 8]
        text = f"{WORDS[30]} {asked} {said}"
        if kind == "claims":
            made.append(ReadingExample(f"s{n}", f"{asked} {said}", asked, text, "SUPPORTS"))
            made.append(ReadingExample(f"r{n}", f"{asked} {WORDS[35]}", asked, text, "REFUTES"))
            made.append(ReadingExample(f"n{n}", f"{asked} {said}", other, f"{other} {WORDS[31]}", "NEUTRAL"))
            continue
        none = "none" if kind == "seq2seq" else ""
        made.append(ReadingExample(f"p{n}", f"{asked} ?", asked, text, said, text.index(said)))
        made.append(ReadingExample(f"n{n}", f"{asked} ?", other, f"{WORDS[30]} {other} {WORDS[31]}", none))
    return made


def task(text: str, *passages: tuple[str, str], kind: str = "qa") -> ReadingTask:
    shown = tuple(Passage(id=f"w:{i}#0", page=f"w:{i}", title=t, text=x) for i, (t, x) in enumerate(passages))
    return ReadingTask(question=Question(id="q", text=text, task=kind), passages=shown)


def train(kind: str, folder: Path, model, settings: TrainingSettings = SETTINGS) -> Path:
    from whichone.training.train_readers import ReaderTraining

    checkpoint = save(folder / "checkpoint", model)
    at = ReaderTraining(
        kind, checkpoint, examples(kind), folder / "out", settings, held_out=examples(kind)[:12], device="cpu"
    ).run()
    assert at.losses[-1] < 0.5 * at.losses[0]
    assert max(at.held_out) > at.held_out[0] or at.held_out[0] == 1
    return folder / "out" / "model"


@pytest.mark.slow
def test_extractive(tmp_path: Path) -> None:
    from whichone.reading.extractive import Extractive

    reader = Extractive(train("extractive", tmp_path, bert("BertForQuestionAnswering")), device="cpu")
    right, wrong = ("w2", "w30 w2 w10"), ("w5", "w30 w5 w31")
    (answer,) = reader.read([task("w2 ?", wrong, right)])
    assert (answer.text, answer.passages) == ("w10", ("w:1#0",))
    (refusal,) = reader.read([task("w2 ?", wrong)])
    assert refusal.text is None
    long = ("w2", " ".join(["w30 w31"] * 60 + ["w30 w2 w10"]))
    assert len(reader._windows("w2 ?", task("w2 ?", long).passages)) > 1


def test_what_says_that_there_is_no_answer_outlives_mixed_precision() -> None:
    """On a GPU, or several, the trainer makes every output anew, of the fields that it has."""
    from accelerate.utils import convert_outputs_to_fp32
    from torch.utils import _pytree

    from whichone.reading.checkpoint import NO_ANSWER, model_class

    config = bert("BertForQuestionAnswering").config
    setattr(config, NO_ANSWER, True)
    model = model_class("AutoModelForQuestionAnswering", config)(config).to(torch.bfloat16)
    said = convert_outputs_to_fp32(model.forward)(input_ids=torch.tensor([[2, 7, 3]]))
    assert (said.no_answer_logits.shape, said.no_answer_logits.dtype) == ((1,), torch.float32)
    again = _pytree.tree_map(lambda value: value, said)
    assert again.no_answer_logits.equal(said.no_answer_logits)


@pytest.mark.slow
def test_seq2seq(tmp_path: Path) -> None:
    from whichone.reading.seq2seq import SequenceToSequence

    config = transformers.BartConfig(
        vocab_size=48,
        d_model=48,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=96,
        decoder_ffn_dim=96,
        max_position_embeddings=96,
        dropout=0.0,
        init_std=0.2,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=2,
        forced_eos_token_id=3,
    )
    torch.manual_seed(1)
    settings = TrainingSettings(epochs=12, batch=8, learning_rate=3e-3, longest=48, every=1000)
    place = train("seq2seq", tmp_path, transformers.BartForConditionalGeneration(config), settings)
    reader = SequenceToSequence(place, device="cpu", longest=8)
    (answer,) = reader.read([task("w2 ?", ("w5", "w30 w5 w31"), ("w2", "w30 w2 w10"))])
    assert (answer.text, answer.passages) == ("w10", ("w:1#0",))
    (refusal,) = reader.read([task("w2 ?", ("w5", "w30 w5 w31"))])
    assert refusal.text is None
    closed = next(iter(reader.read([task("w2 ?")])))
    assert closed.passages == ()


@pytest.mark.slow
def test_claims_by_both_rules(tmp_path: Path) -> None:
    from whichone.reading.claims import ClaimChecker

    place = train("claims", tmp_path, bert("BertForSequenceClassification"))
    neutral, about = ("w5", "w5 w31"), ("w2", "w30 w2 w10")
    amber = ClaimChecker(place, device="cpu")
    (said,) = amber.read([task("w2 w10", neutral, about, kind="fc")])
    assert (said.text, said.passages) == ("SUPPORTS", ("w:1#0",))
    (denied,) = amber.read([task("w2 w35", about, kind="fc")])
    assert denied.text == "REFUTES"
    kilt = ClaimChecker(place, device="cpu", rule="kilt")
    (voted,) = kilt.read([task("w2 w10", neutral, about, kind="fc")])
    assert voted.question == "q"
    assert set(voted.passages) <= {"w:0#0", "w:1#0"}


@pytest.mark.slow
def test_stopped_and_resumed_gives_the_same_weights(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    from whichone.training.train_readers import ReaderTraining

    checkpoint = save(tmp_path / "checkpoint", bert("BertForQuestionAnswering"))
    settings = TrainingSettings(epochs=2, batch=8, longest=48, every=3)

    def training(folder: str) -> ReaderTraining:
        return ReaderTraining(
            "extractive", checkpoint, examples("extractive"), tmp_path / folder, settings, device="cpu"
        )

    training("whole").run()
    dies_at(training("parts"), 8)
    training("parts").run()
    whole, parts = (load_file(tmp_path / f / "model" / "model.safetensors") for f in ("whole", "parts"))
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_wrong_checkpoints(tmp_path: Path) -> None:
    from whichone.reading.claims import ClaimChecker
    from whichone.reading.extractive import Extractive

    place = save(tmp_path / "qa", bert("BertForQuestionAnswering"))
    with pytest.raises(BadInput, match="a checkpoint of the wrong kind"):
        ClaimChecker(place, device="cpu")
    with pytest.raises(Missing, match="cannot load the checkpoint"):
        Extractive(tmp_path / "nothing", device="cpu")
    two = save(tmp_path / "two", bert("BertForSequenceClassification"))
    with pytest.raises(BadInput, match="SUPPORTS, REFUTES and NEUTRAL are needed"):
        ClaimChecker(two, device="cpu")
    shutil.rmtree(two)


def test_batches_are_halved_when_memory_runs_out() -> None:
    from whichone.reading.checkpoint import in_batches

    sizes = []

    def work(items):
        sizes.append(len(items))
        if len(items) > 2:
            raise torch.OutOfMemoryError
        return [i * 10 for i in items]

    assert list(in_batches(work, [1, 2, 3, 4, 5], 4)) == [10, 20, 30, 40, 50]
    assert sizes == [4, 2, 2, 1]


def test_every_window_shows_the_title_and_answers_are_of_the_text(tmp_path: Path) -> None:
    from whichone.reading.extractive import Extractive

    reader = Extractive(save(tmp_path / "qa", bert("BertForQuestionAnswering")), device="cpu")
    passage = task("w2 ?", ("w39", " ".join(["w30 w31"] * 60))).passages[0]
    windows = [window for _, window in reader._windows("w2 ?", [passage])]
    assert len(windows) > 1
    for window in windows:
        words = reader._tokenizer.convert_ids_to_tokens(window["ids"])
        assert words[:6] == ["[CLS]", "w2", "?", "[SEP]", "w39", "|"]
        assert window["inside"][:7] == [False] * 6 + [True]
    covered = sum(len(window["text"].split()) - 2 for window in windows)
    assert covered >= 120


def test_negatives_by_tfidf_for_one_task_of_all_names(tmp_path: Path) -> None:
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.records import page_of
    from whichone.retrieval.baselines import TfIdf
    from whichone.training.reading_examples import reading_examples

    benchmark = Benchmark.open("builtin/amber")
    made, _ = reading_examples(
        benchmark, benchmark.queries, "seq2seq", tmp_path, negatives="tfidf", tasks=("sf",)
    )
    assert {e.question for e in made} <= {q.input for q in benchmark.queries if q.task == "sf"}
    queries = {q.id: q for q in benchmark.queries}
    wrong = [e for e in made if e.target == "none"][:5]
    ranked = TfIdf.over(benchmark.corpus, tmp_path)
    for example in wrong:
        query = queries[example.id]
        (ranking,) = ranked.search([query.question()], 10)
        best = next(p for p in ranking.passages if page_of(p) not in query.gold_pages())
        first = benchmark.corpus.passage(benchmark.corpus.passages_of(best)[0])
        assert (example.title, example.text) == (first.title, first.text)


@pytest.mark.parametrize("negatives", ["bm25", "tfidf", "kilt"])
def test_blocks_of_queries_change_no_example(
    tmp_path: Path, negatives: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.training import examples as examples_module
    from whichone.training import reading_examples as made

    benchmark = Benchmark.open("builtin/amber")
    asked = benchmark.queries[:60]
    options = {"negatives": negatives, "seed": 3}
    wanted, nothing = made.reading_examples(benchmark, asked, "seq2seq", tmp_path, **options)
    monkeypatch.setattr(examples_module, "BLOCK", 7)
    examples, without = made.reading_examples(benchmark, asked, "seq2seq", tmp_path, **options)
    assert len(examples) > 60
    assert (list(examples), without) == (list(wanted), nothing)
