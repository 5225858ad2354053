"""Sequence-to-sequence reading (BART, T5): with passages one by one, joined, or closed-book."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from whichone.errors import UsageError
from whichone.reading.checkpoint import in_batches
from whichone.reading.checkpoint_reader import CheckpointReader, titled
from whichone.records import Answer, ReadingTask

How = Literal["each", "joined"]

NONE = "none"


class SequenceToSequence(CheckpointReader):
    """Generates the answer; `each` reads passages alone and keeps the best answer that is not "none".

    `joined` puts all passages into one input, as BART + DPR does. Without passages the question alone
    is read. A passage longer than the model takes is read in several windows.
    """

    name = "seq2seq"
    head = "AutoModelForSeq2SeqLM"
    settings = ("how", "longest", "window", "prefix")

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        how: How = "each",
        longest: int = 32,
        batch: int = 16,
        window: int = 512,
        prefix: str = "",
    ) -> None:
        if how not in ("each", "joined"):
            raise UsageError(f"passages are read each or joined, not {how!r}")
        super().__init__(model, device, window=window, batch=batch)
        self.how, self.prefix, self.longest = how, prefix, int(longest)

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            inputs = self._inputs(task)
            made = list(in_batches(self._generate, [text for _, text in inputs], self.batch))
            said = [
                (score, text, passages)
                for (passages, _), (text, score) in zip(inputs, made, strict=True)
                if text and text.lower() != NONE
            ]
            if not said:
                yield Answer(question=task.question.id, text=None)
                continue
            score, text, passages = max(said, key=lambda found: found[0])
            yield Answer(question=task.question.id, text=text, passages=passages, score=score)

    def _inputs(self, task: ReadingTask) -> list[tuple[tuple[str, ...], str]]:
        question = f"{self.prefix}{task.question.text}"
        if not task.passages:
            return [((), question)]
        if self.how == "joined":
            context = " ".join(titled(p.title, p.text) for p in task.passages)
            return [
                (tuple(p.id for p in task.passages), w) for w in self._windows(question, context)
            ]
        return [
            ((p.id,), window)
            for p in task.passages
            for window in self._windows(question, p.text, titled(p.title, ""))
        ]

    def _windows(self, question: str, context: str, title: str = "") -> list[str]:
        """Question, title and context, in as many inputs as the model needs to see all of it."""
        question = f"{question} {title}".strip()
        asked = self._tokenizer(question, add_special_tokens=False)["input_ids"]
        tokens = self._tokenizer(context, add_special_tokens=False)["input_ids"]
        room = max(16, self.window - len(asked) - 8)
        pieces = [tokens[i : i + room] for i in range(0, max(1, len(tokens)), room)]
        return [f"{question} {self._tokenizer.decode(piece)}".strip() for piece in pieces]

    def _generate(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        import torch

        inputs = self._tokenizer(
            list(texts), return_tensors="pt", padding=True, truncation=True, max_length=self.window
        ).to(self._device)
        inputs.pop("token_type_ids", None)
        with torch.inference_mode():
            out = self._model.generate(
                **inputs,
                max_new_tokens=self.longest,
                num_beams=1,
                do_sample=False,
                return_dict_in_generate=True,
                output_scores=True,
            )
            steps = self._model.compute_transition_scores(
                out.sequences, out.scores, normalize_logits=True
            )
        told = self._tokenizer.batch_decode(out.sequences, skip_special_tokens=True)
        found = []
        for text, row in zip(told, steps, strict=True):
            real = row[torch.isfinite(row)]
            found.append((text.strip(), float(real.mean()) if len(real) else float("-inf")))
        return found
