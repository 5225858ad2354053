"""Extractive question answering: the best span over windows and passages, or no answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whichone.reading.checkpoint import in_batches
from whichone.reading.checkpoint_reader import QUESTIONS, CheckpointReader, titled
from whichone.reading.slots import as_question
from whichone.records import Answer, Passage, ReadingTask


@dataclass(frozen=True)
class Span:
    """A stretch of a passage with its score, and the score of saying nothing in that window."""

    passage: str
    text: str
    score: float
    null: float


class Extractive(CheckpointReader):
    """The highest-scoring span of a window that is not classified as holding no answer.

    Long passages are read in overlapping windows, never cut in silence. Where every window says that
    it contains no answer, the reader refuses.
    """

    name = "extractive"
    can_do = QUESTIONS
    asks_in_words = True
    head = "AutoModelForQuestionAnswering"
    settings = ("window", "stride", "longest", "threshold")

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        window: int = 384,
        stride: int = 128,
        longest: int = 30,
        batch: int = 16,
        threshold: float = 0.0,
    ) -> None:
        super().__init__(model, device, window=window, batch=batch)
        self.stride = min(int(stride), self.window // 3)
        self.longest, self.threshold = int(longest), float(threshold)

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            best = self.best(as_question(task.question), task.passages)
            if best is None:
                yield Answer(question=task.question.id, text=None)
            else:
                yield Answer(
                    question=task.question.id,
                    text=best.text,
                    passages=(best.passage,),
                    score=best.score - best.null,
                )

    def best(self, question: str, passages: Sequence[Passage]) -> Span | None:
        spans = [s for s in self.spans(question, passages) if s.score > s.null + self.threshold]
        return max(spans, key=lambda s: s.score, default=None)

    def spans(self, question: str, passages: Sequence[Passage]) -> list[Span]:
        """The best span of each window of each passage."""
        windows = [w for passage in passages for w in self._windows(question, passage)]
        return list(in_batches(self._score, windows, self.batch))

    def _windows(self, question: str, passage: Passage) -> list[tuple[Passage, dict[str, Any]]]:
        """Each window shows the title; where there is a text, answers are stretches of it."""
        room = self.window - 16
        asked, question_size = self._cut(question, room // 2)
        shown, title_size = self._cut(passage.title, room // 4)
        head = titled(shown, "") if passage.text.strip() else ""
        text = passage.text if passage.text.strip() else passage.title
        return [
            (passage, self._window(asked, head, piece))
            for piece in self._pieces(text, room - question_size - title_size)
        ]

    def _cut(self, text: str, most: int) -> tuple[str, int]:
        """A text of so many tokens at most, and its tokens."""
        encoded = self._tokenizer(
            text,
            truncation=True,
            max_length=most,
            add_special_tokens=False,
            return_offsets_mapping=True,
        )
        offsets = encoded["offset_mapping"]
        return text[: offsets[-1][1]] if offsets else "", len(offsets)

    def _pieces(self, text: str, room: int) -> list[str]:
        """Overlapping stretches of a text that fit beside question and title."""
        offsets = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)[
            "offset_mapping"
        ]
        overlap = min(self.stride, room // 2)
        starts = range(0, max(1, len(offsets) - overlap), max(1, room - overlap))
        ends = [min(start + room, len(offsets)) - 1 for start in starts]
        if not offsets:
            return [text]
        return [
            text[offsets[start][0] : offsets[end][1]]
            for start, end in zip(starts, ends, strict=True)
        ]

    def _window(self, asked: str, head: str, piece: str) -> dict[str, Any]:
        encoded = self._tokenizer(
            asked,
            head + piece,
            truncation="only_second",
            max_length=self.window,
            return_offsets_mapping=True,
        )
        return {
            "ids": encoded["input_ids"],
            "types": encoded.get("token_type_ids"),
            "offsets": encoded["offset_mapping"],
            "inside": [
                sequence == 1 and offset[0] >= len(head)
                for sequence, offset in zip(
                    encoded.sequence_ids(0), encoded["offset_mapping"], strict=True
                )
            ],
            "text": head + piece,
        }

    def _score(self, windows: Sequence[tuple[Passage, dict[str, Any]]]) -> list[Span]:
        import torch

        names = (
            ["input_ids", "token_type_ids"] if windows[0][1]["types"] is not None else ["input_ids"]
        )
        keys = {"input_ids": "ids", "token_type_ids": "types"}
        padded = self._tokenizer.pad(
            {name: [w[keys[name]] for _, w in windows] for name in names}, return_tensors="pt"
        )
        with torch.inference_mode():
            out = self._model(**{k: v.to(self._device) for k, v in padded.items()})
        starts, ends = out.start_logits.float().cpu(), out.end_logits.float().cpu()
        return [self._best_span(p, w, starts[i], ends[i]) for i, (p, w) in enumerate(windows)]

    def _best_span(self, passage: Passage, window: dict[str, Any], start: Any, end: Any) -> Span:
        import torch

        null = float(start[0] + end[0])
        places = [i for i, inside in enumerate(window["inside"]) if inside]
        if not places:
            return Span(passage.id, "", float("-inf"), null)
        first, last = places[0], places[-1] + 1
        scores = start[first:last, None] + end[None, first:last]
        allowed = torch.ones_like(scores, dtype=torch.bool).triu().tril(self.longest - 1)
        scores = scores.masked_fill(~allowed, float("-inf"))
        at = int(scores.argmax())
        a, b = first + at // scores.shape[1], first + at % scores.shape[1]
        text = window["text"][window["offsets"][a][0] : window["offsets"][b][1]]
        return Span(passage.id, text, float(scores.max()), null)
