"""Sequence-to-sequence reading (BART, T5): with passages one by one, joined, or closed-book."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from whichone.errors import UsageError
from whichone.reading.checkpoint import in_batches
from whichone.reading.checkpoint_reader import CheckpointReader, titled
from whichone.reading.inputs import fitted_question, joined_input, prefixed
from whichone.reading.title import compared
from whichone.records import Answer, ReadingTask

How = Literal["each", "joined"]

NONE = "none"
LONGEST = 64
"""Tokens of an answer, of a checkpoint that does not say how long its targets were."""


class SequenceToSequence(CheckpointReader):
    """Generates the answer; `each` reads passages alone and keeps the best answer that is not "none".

    `joined` puts all passages before the question, as BART + DPR does. Without passages the question
    alone is read. A model trained here is asked as it was trained, unless options say otherwise.
    """

    name = "seq2seq"
    head = "AutoModelForSeq2SeqLM"
    settings = (
        "how",
        "longest",
        "shortest",
        "beams",
        "length_penalty",
        "no_repeat",
        "repetition_penalty",
        "window",
        "prefix",
    )

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        how: How | None = None,
        longest: int | None = None,
        shortest: int = 0,
        beams: int = 1,
        length_penalty: float = 1.0,
        no_repeat: int = 0,
        repetition_penalty: float = 1.0,
        batch: int = 16,
        window: int = 512,
        prefix: str | None = None,
    ) -> None:
        super().__init__(model, device, window=window, batch=batch)
        taught = self.taught
        self.how = how or ("joined" if taught is not None and taught.context else "each")
        if self.how not in ("each", "joined"):
            raise UsageError(f"passages are read each or joined, not {how!r}")
        self.longest = int(longest or (taught.longest if taught is not None else 0) or LONGEST)
        self.prefix = prefix if prefix is not None else taught.prefix if taught is not None else ""
        self.shortest, self.beams = int(shortest), int(beams)
        self.length_penalty, self.no_repeat = float(length_penalty), int(no_repeat)
        self.repetition_penalty = float(repetition_penalty)
        if self.beams < 1 or not 0 <= self.shortest <= self.longest or self.no_repeat < 0:
            raise UsageError(
                "beams is 1 or more, no_repeat 0 or more, and shortest between 0 and longest"
            )

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            inputs, cut = self._inputs(task)
            generated = list(in_batches(self._generate, [text for _, text in inputs], self.batch))
            said = [
                (score, text, passages)
                for (passages, _), (text, score) in zip(inputs, generated, strict=True)
                if text and text.lower() != NONE
            ]
            notes = {"tokens_not_shown": cut} if cut else {}
            if not said:
                yield Answer(question=task.question.id, text=None, notes=notes)
                continue
            score, text, passages = max(said, key=lambda scored: scored[0])
            yield Answer(
                question=task.question.id,
                text=text,
                passages=_provenance(task, text, passages),
                score=score,
                notes=notes,
            )

    def _inputs(self, task: ReadingTask) -> tuple[list[tuple[tuple[str, ...], str]], int]:
        """The texts to read with the passages in each, and how many tokens are left out."""
        question, kind = task.question, task.question.task
        asked = prefixed(self.prefix, kind, question.text)
        if not task.passages or self.how == "joined":
            contexts = [titled(p.title, p.text) for p in task.passages]
            text, cut = joined_input(self._tokenizer, asked, kind, contexts, self.window)
            return [(tuple(p.id for p in task.passages), text)], cut
        asked = fitted_question(self._tokenizer, asked, kind, self.window - 24)
        windows: list[tuple[tuple[str, ...], str]] = [
            ((p.id,), window)
            for p in task.passages
            for window in self._windows(f"{asked} {titled(p.title, '')}".strip(), p.text)
        ]
        return windows, 0

    def _windows(self, question: str, context: str) -> list[str]:
        """Question, title and context, in as many inputs as the model needs to see all of it."""
        asked = self._tokenizer(question, add_special_tokens=False)["input_ids"]
        tokens = self._tokenizer(context, add_special_tokens=False)["input_ids"]
        room = max(16, self.window - len(asked) - 8)
        pieces = [tokens[i : i + room] for i in range(0, max(1, len(tokens)), room)]
        return [f"{question} {self._tokenizer.decode(piece)}".strip() for piece in pieces]

    def generation(self) -> dict[str, Any]:
        """The options as transformers calls them; none of a checkpoint's own counts beside them."""
        return {
            "max_new_tokens": self.longest,
            "min_new_tokens": self.shortest,
            "num_beams": self.beams,
            "do_sample": False,
            "length_penalty": self.length_penalty,
            "no_repeat_ngram_size": self.no_repeat,
            "repetition_penalty": self.repetition_penalty,
            "early_stopping": self.beams > 1,
        }

    def _generate(self, texts: Sequence[str]) -> list[tuple[str, float]]:
        import torch

        inputs = self._tokenizer(
            list(texts), return_tensors="pt", padding=True, truncation=True, max_length=self.window
        ).to(self._device)
        inputs.pop("token_type_ids", None)
        with torch.inference_mode():
            out = self._model.generate(
                **inputs, **self.generation(), return_dict_in_generate=True, output_scores=True
            )
            steps = self._model.compute_transition_scores(
                out.sequences, out.scores, getattr(out, "beam_indices", None), normalize_logits=True
            )
        all_texts = self._tokenizer.batch_decode(out.sequences, skip_special_tokens=True)
        result = []
        said = out.sequences[:, -steps.shape[1] :] != self._tokenizer.pad_token_id
        for text, row, kept in zip(all_texts, steps, said, strict=True):
            real = row[kept & torch.isfinite(row)]
            result.append((text.strip(), float(real.mean()) if len(real) else float("-inf")))
        return result


def _provenance(task: ReadingTask, text: str, passages: tuple[str, ...]) -> tuple[str, ...]:
    """What was shown, by rank; of a linked entity the passages whose title was said (KILT, appendix C)."""
    if task.question.task != "el":
        return passages
    return tuple(p.id for p in task.passages if compared(p.title) == compared(text))
