"""Readers read the passages of several questions in one batch, and answer as they do one by one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from whichone.records import Passage, Question, ReadingTask

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
sys.path.insert(0, str(Path(__file__).parents[1] / "training"))

from tiny_bart import save_bart  # noqa: E402
from tiny_bert import WORDS, bert  # noqa: E402

KINDS = ["extractive", "dpr-reader", "claims", "seq2seq", "joined"]


def reader(kind: str, place: Path) -> Any:
    from whichone.reading.claims import ClaimChecker
    from whichone.reading.extractive import DprReader, Extractive
    from whichone.reading.seq2seq import SequenceToSequence

    torch.manual_seed(3)
    if kind in ("seq2seq", "joined"):
        save_bart(place, WORDS, positions=64)
        how: Any = "joined" if kind == "joined" else "each"
        return SequenceToSequence(place, device="cpu", batch=8, beams=2, longest=6, how=how)
    sizes = {**bert(place), "initializer_range": 0.5}
    if kind == "dpr-reader":
        transformers.DPRReader(transformers.DPRConfig(**sizes)).save_pretrained(place)
        return DprReader.over(None, str(place), batch=8, device="cpu", window=48)  # type: ignore[arg-type]
    heads = {"extractive": "BertForQuestionAnswering", "claims": "BertForSequenceClassification"}
    labels = {0: "SUPPORTS", 1: "REFUTES", 2: "NEUTRAL"} if kind == "claims" else {0: "a", 1: "b"}
    config = transformers.BertConfig(**sizes, id2label=labels, label2id={v: k for k, v in labels.items()})
    getattr(transformers, heads[kind])(config).save_pretrained(place)
    if kind == "claims":
        return ClaimChecker(place, device="cpu", batch=8, window=40)
    return Extractive(place, device="cpu", batch=8, threshold=-1e9)


def tasks(kind: str) -> list[ReadingTask]:
    """Nine questions with no, one or several passages of different lengths."""
    made = []
    for n in range(9):
        texts = [" ".join(WORDS[(n + i + j) % 40] for j in range(3 + 5 * i)) for i in range(n % 4)]
        shown = tuple(
            Passage(id=f"c:{i}#0", page=f"c:{i}", title=WORDS[40 + i], text=text)
            for i, text in enumerate(texts)
        )
        question = Question(
            id=f"q{n}", text=f"{WORDS[n]} {WORDS[n + 9]}", task="fc" if kind == "claims" else "qa"
        )
        made.append(ReadingTask(question=question, passages=shown))
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_one_by_one(kind: str, tmp_path: Path) -> None:
    opened, asked = reader(kind, tmp_path / "model"), tasks(kind)
    model = opened._model if hasattr(opened, "_model") else opened.model.model
    encoder = model.get_encoder() if kind in ("seq2seq", "joined") else model
    calls: list[int] = []
    encoder.register_forward_hook(lambda *_: calls.append(1))
    alone = [answer for task in asked for answer in opened.read([task])]
    one_by_one = len(calls)
    together = list(opened.read(asked))
    assert len(calls) - one_by_one <= one_by_one // 2
    assert [(a.question, a.text, a.passages) for a in together] == [
        (a.question, a.text, a.passages) for a in alone
    ]
    for found, wanted in zip(together, alone, strict=True):
        assert found.score == (None if wanted.score is None else pytest.approx(wanted.score, abs=1e-4))
    assert len({a.text for a in together}) > 1


def spans_of(opened: Any, task: ReadingTask) -> list[Any]:
    windows = opened._windows(task.question.text, task.passages)
    return opened._score(windows) if windows else []


@pytest.mark.parametrize("kind", ["Bert", "Roberta"])
def test_a_classifier_on_the_first_token_says_that_there_is_no_answer(kind: str, tmp_path: Path) -> None:
    """By hand: the best span among the windows whose classifier is below even chances, whatever its score."""
    from whichone.reading.checkpoint import NO_ANSWER, model_class
    from whichone.reading.extractive import Extractive

    sizes = {**bert(tmp_path), "initializer_range": 0.6, "hidden_dropout_prob": 0.0}
    config = getattr(transformers, f"{kind}Config")(**sizes, pad_token_id=0, **{NO_ANSWER: True})
    torch.manual_seed(8)
    model = model_class("AutoModelForQuestionAnswering", config)(config).eval()
    model.save_pretrained(tmp_path)
    opened = Extractive(tmp_path, device="cpu", longest=4)
    spans = [span for t in tasks("extractive") for span in spans_of(opened, t)]
    middle = sorted(span.null - span.score for span in spans)[len(spans) // 3]
    with torch.no_grad():
        model.no_answer.bias.sub_(middle + 1e-3)  # a third of the windows have an answer
    model.save_pretrained(tmp_path)
    plain = getattr(transformers, f"{kind}ForQuestionAnswering").from_pretrained(tmp_path).eval()
    opened = Extractive(tmp_path, device="cpu", longest=4)
    body = next(plain.children())
    seen = set()
    for task in tasks("extractive"):
        windows = opened._windows(task.question.text, task.passages)
        kept = []
        for passage, window in windows:
            inputs = {"input_ids": torch.tensor([window["ids"]])}
            inputs["token_type_ids"] = torch.tensor([window["types"]])
            with torch.no_grad():
                states = body(**inputs)[0][0]
                starts, ends = plain.qa_outputs(states).T
                none = float(model.no_answer(states[0]))
            places = [n for n, inside in enumerate(window["inside"]) if inside]
            scores = [(float(starts[a] + ends[b]), a, b) for a in places for b in places if a <= b < a + 4]
            if none < 0:
                score, a, b = max(scores)
                text = window["text"][window["offsets"][a][0] : window["offsets"][b][1]]
                kept.append((score, text, passage.id, -none))
        (answer,) = opened.read([task])
        wanted = max(kept, default=None)
        seen.add((bool(windows), wanted is None))
        assert answer.text == (wanted[1] if wanted else None)
        if wanted:
            assert answer.passages == (wanted[2],)
            assert answer.score == pytest.approx(wanted[3], abs=1e-4)
    assert {(True, True), (True, False)} <= seen


def test_spans_are_learned_where_there_is_an_answer_and_the_classifier_everywhere(tmp_path: Path) -> None:
    from whichone.reading.checkpoint import NO_ANSWER, model_class

    config = transformers.BertConfig(
        **{**bert(tmp_path), "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
        **{NO_ANSWER: True},
    )
    model = model_class("AutoModelForQuestionAnswering", config)(config)
    ids = torch.tensor([[2, 9, 10, 3], [2, 11, 12, 3]])
    ends = torch.tensor([0, 2])
    model.requires_grad_(False)
    out = model(input_ids=ids, start_positions=ends, end_positions=ends)
    cross = torch.nn.functional.cross_entropy
    span = (cross(out.start_logits[1:], ends[1:]) + cross(out.end_logits[1:], ends[1:])) / 2
    none = torch.sigmoid(out.no_answer_logits)
    by_hand = span - (none[0].log() + (1 - none[1]).log()) / 2
    assert float(out.loss) == pytest.approx(float(by_hand), abs=1e-5)
    alone = model(input_ids=ids[:1], start_positions=ends[:1], end_positions=ends[:1])
    assert float(alone.loss) == pytest.approx(float(-none[0].log()), abs=1e-4)
