import importlib.util
from pathlib import Path

import numpy as np
import pytest

from whichone.errors import Missing, UsageError
from whichone.papers.ambigdocs.further_measures import SpanReader, best_span
from whichone.papers.ambigdocs.score_file import find_reader
from whichone.records import Passage, Question, ReadingTask

needs_transformers = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None, reason="needs the extra dense"
)


def test_best_span_by_hand() -> None:
    start = np.array([9.0, 0.0, 3.0, 1.0])
    end = np.array([9.0, 6.0, 0.0, 2.0])
    usable = [False, True, True, True]
    assert best_span(start, end, usable) == (1, 1, 6.0)
    assert best_span(start, end, [False, False, True, True]) == (2, 3, 5.0)
    assert best_span(start, end, [False, False, True, True], longest=1) == (2, 2, 3.0)
    assert best_span(start, end, [False] * 4) is None


def test_readers_by_name() -> None:
    reader = find_reader("os.path:basename")
    passage = Passage(id="a#0", page="a", title="", text="x")
    task = ReadingTask(question=Question(id="q", text="over/there"), passages=(passage,))
    assert [a.text for a in reader.read([task])] == ["there"]
    with pytest.raises(UsageError):
        find_reader("os.path:no_such_function")


def tiny_model(folder: Path) -> Path:
    """A model of two layers with random weights and a vocabulary of letters."""
    from transformers import BertConfig, BertForQuestionAnswering, BertTokenizerFast, set_seed

    set_seed(0)
    letters = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz")]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    BertForQuestionAnswering(config).save_pretrained(folder)
    return folder


@pytest.mark.slow
@needs_transformers
def test_a_real_model_gives_spans_of_the_text(tmp_path: Path) -> None:
    import torch

    reader = SpanReader(str(tiny_model(tmp_path)))
    text = "the film is by ann lee and the novel is by bob ray " * 20
    with torch.no_grad():
        reader._model.qa_outputs.bias[:] = 0.0
    spans = {reader.span(f"who made {word}", text) for word in ("it", "this", "all")}
    assert all(span is None or span in text for span in spans)
    task = ReadingTask(question=Question(id="q", text="who"), passages=())
    assert [a.text for a in reader.read([task])] == [None]


@pytest.mark.slow
@needs_transformers
def test_a_missing_model_is_said(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no question-answering model"):
        SpanReader(str(tmp_path))
