"""An extractive reader for Disambig-F1: the span a SQuAD 2.0 model finds in a text, or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from whichone.errors import Missing, missing_extra
from whichone.records import Answer, ReadingTask

LONGEST_INPUT, STRIDE, LONGEST_SPAN = 384, 128, 30

Floats = npt.NDArray[np.float64]


def best_span(
    start: Floats, end: Floats, usable: Sequence[bool], longest: int = LONGEST_SPAN
) -> tuple[int, int, float] | None:
    """First and last token of the best span of usable tokens, and its score."""
    best: tuple[int, int, float] | None = None
    for first in _highest(start, usable):
        for last in _highest(end, usable):
            score = float(start[first] + end[last])
            if first <= last < first + longest and (best is None or score > best[2]):
                best = first, last, score
    return best


def _highest(scores: Floats, usable: Sequence[bool]) -> list[int]:
    """The places of the twenty highest usable scores, the highest first."""
    order = np.argsort(-scores, kind="stable").tolist()
    return [place for place in order if usable[place]][:20]


class SpanReader:
    """A model of the SQuAD 2.0 kind; no answer where its first token scores higher than any span.

    The paper uses roberta-base-squad2 with 384 tokens and the threshold 0.
    """

    def __init__(self, model: str) -> None:
        try:
            from transformers import AutoModelForQuestionAnswering, AutoTokenizer
        except ImportError:
            raise missing_extra("transformers", "dense") from None
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(model)
            self._model: Any = AutoModelForQuestionAnswering.from_pretrained(model).eval()
        except (OSError, ValueError) as error:
            raise Missing(
                f"no question-answering model {model!r}: {str(error).splitlines()[0]}",
                hint="give a folder that contains one, or module:function of your own",
            ) from error
        self.name = model

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            text = " ".join(passage.text for passage in task.passages)
            span = self.span(task.question.text, text) if text.strip() else None
            yield Answer(question=task.question.id, text=span)

    def span(self, question: str, text: str) -> str | None:
        """The best span over all windows of a text, None where no answer is better in every one."""
        import torch

        windows = self._tokenizer(
            question,
            text,
            truncation="only_second",
            max_length=LONGEST_INPUT,
            stride=STRIDE,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_tensors="pt",
            padding=True,
        )
        offsets = windows.pop("offset_mapping").tolist()
        windows.pop("overflow_to_sample_mapping", None)
        with torch.no_grad():
            outputs = self._model(**windows)
        starts = outputs.start_logits.double().numpy()
        ends = outputs.end_logits.double().numpy()
        best: tuple[float, str] | None = None
        nothing = min(float(s[0] + e[0]) for s, e in zip(starts, ends, strict=True))
        for n, places in enumerate(offsets):
            usable = [sequence == 1 for sequence in windows.sequence_ids(n)]
            span = best_span(starts[n], ends[n], usable)
            if span is not None and (best is None or span[2] > best[0]):
                best = span[2], text[places[span[0]][0] : places[span[1]][1]]
        return best[1] if best is not None and best[0] > nothing else None
