"""DPR equals DPR: both towers and the reader of the original program on the same random weights.

`fixtures/dpr_golden.json` contains what DPR's own modules gave (the public repository, run from a scratch
folder with transformers 4.46) for the weights that `drawn_weights` draws; its reader is that of April 2021,
which the released weights were trained with: token types came later.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.drawn import drawn_weights
from whichone.records import Passage, Question, ReadingTask

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

GOLDEN = json.loads((Path(__file__).parents[2] / "fixtures/dpr_golden.json").read_text())
PASSAGES = GOLDEN["passages"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """DPR's own checkpoints, and the BERT that they need."""
    folder = tmp_path_factory.mktemp("dpr")
    for name in ("bi0", "bi8", "reader"):
        state = {"model_dict": drawn_weights(GOLDEN[name]["layout"]), "optimizer_dict": {}}
        torch.save(state, folder / f"{name}.cp")
    bert = folder / "bert"
    bert.mkdir()
    (bert / "vocab.txt").write_text("\n".join(GOLDEN["vocabulary"]) + "\n")
    transformers.BertConfig(**GOLDEN["config"]).save_pretrained(bert)
    return folder


@pytest.mark.parametrize("name", ["bi0", "bi8"])
@pytest.mark.parametrize("layout", ["own", "folders"])
def test_both_towers(models: Path, tmp_path: Path, name: str, layout: str) -> None:
    """Without and with a projection, from DPR's own file and from Hugging Face's folders."""
    from whichone.retrieval.dense.dpr import open_dpr

    pair = open_dpr(str(models / f"{name}.cp"), None, base=str(models / "bert"))
    if layout == "folders":
        for side in ("question", "passage"):
            half = getattr(pair, side)
            half.model.save_pretrained(tmp_path / side)
            half.tokenizer.save_pretrained(tmp_path / side)
        pair = open_dpr(str(tmp_path / "question"), str(tmp_path / "passage"))
    pair.question.longest = pair.passage.longest = GOLDEN["window"]
    questions = pair.questions(GOLDEN["questions"])
    np.testing.assert_allclose(questions, GOLDEN[name]["questions"], atol=2e-5)
    titles, texts = zip(*((p["title"], p["text"]) for p in PASSAGES), strict=True)
    np.testing.assert_allclose(pair.passages(titles, texts), GOLDEN[name]["passages"], atol=2e-5)


def test_passages_are_encoded_ahead_alike(models: Path) -> None:
    """As on a GPU: from tokens made before, here in full precision."""
    from whichone.retrieval.dense.dpr import open_dpr, packed_side

    side = open_dpr(str(models / "bi0.cp"), None, base=str(models / "bert")).passage
    packed = packed_side(side.model, side.tokenizer, GOLDEN["window"], torch.float32)
    assert packed is not None
    titles, texts = zip(*((p["title"], p["text"]) for p in PASSAGES), strict=True)
    vectors = packed.passages(titles, texts)
    np.testing.assert_allclose(vectors, GOLDEN["bi0"]["passages"], atol=2e-5)


def reader(models: Path, **options: Any) -> Any:
    from whichone.reading.extractive import DprReader

    given = {"base": str(models / "bert"), "window": GOLDEN["window"], "device": "cpu"}
    return DprReader.over(None, str(models / "reader.cp"), **{**given, **options})  # type: ignore[arg-type]


def read_passages() -> tuple[Passage, ...]:
    """The reader's golden values have a title for the passage that has none."""
    return tuple(
        Passage(id=p["id"], page=p["id"], title=p["title"] or "Ada", text=p["text"]) for p in PASSAGES
    )


def same_words(text: str) -> str:
    return "".join(text.lower().split())


def test_the_reader(models: Path) -> None:
    """The passage it chooses, every passage's relevance and best span, and the span's score."""
    tasks = [
        ReadingTask(question=Question(id=str(n), text=a["question"], task="qa"), passages=read_passages())
        for n, a in enumerate(GOLDEN["reader"]["answers"])
    ]
    opened = reader(models)
    for answer, task, wanted in zip(opened.read(tasks), tasks, GOLDEN["reader"]["answers"], strict=True):
        relevance = torch.tensor(wanted["relevance"])
        order = relevance.argsort(descending=True, stable=True).tolist()
        assert answer.passages == tuple(PASSAGES[n]["id"] for n in order)
        assert answer.passages[0] == wanted["passage"]
        assert same_words(answer.text) == same_words(wanted["text"])
        assert answer.score == pytest.approx(wanted["span_score"], abs=2e-5)
        assert answer.notes["passage"] == pytest.approx(float(relevance.softmax(0).max()), abs=1e-5)
        encoded = [opened.model.encoded(task.question.text, p.title, p.text) for p in task.passages]
        spans = opened._spans([(p, *e) for p, e in zip(task.passages, encoded, strict=True)])
        for (found, text, score), near, (said, value) in zip(
            spans, wanted["relevance"], wanted["spans"], strict=True
        ):
            assert found == pytest.approx(near, abs=2e-5)
            assert (same_words(text), score) == (same_words(said), pytest.approx(value, abs=2e-5))


def test_a_word_is_never_cut(models: Path) -> None:
    model = reader(models).model
    ids = model.tokenizer("the northern cityern kings", add_special_tokens=False)["input_ids"]
    assert model.tokenizer.convert_ids_to_tokens(ids)[1:5] == ["north", "##ern", "city", "##ern"]
    assert model.whole_words(ids, 2, 3) == (1, 4)
    assert model.whole_words(ids, 0, 1) == (0, 2)
