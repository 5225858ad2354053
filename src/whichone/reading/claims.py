"""Fact checking as three-way classification, by AmbER's rule or by KILT's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError
from whichone.reading.checkpoint import CheckpointReader, in_batches, titled
from whichone.records import Answer, Passage, ReadingTask

Rule = Literal["amber", "kilt"]

SUPPORTS, REFUTES, NEUTRAL = "SUPPORTS", "REFUTES", "NEUTRAL"
_ALIASES = {
    "supports": SUPPORTS,
    "support": SUPPORTS,
    "entailment": SUPPORTS,
    "entails": SUPPORTS,
    "true": SUPPORTS,
    "refutes": REFUTES,
    "refute": REFUTES,
    "contradiction": REFUTES,
    "contradicts": REFUTES,
    "false": REFUTES,
    "neutral": NEUTRAL,
    "not enough info": NEUTRAL,
    "nei": NEUTRAL,
    "not_enough_info": NEUTRAL,
}
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class ClaimChecker(CheckpointReader):
    """SUPPORTS or REFUTES for a claim.

    AmbER's rule: over all passages the highest-scoring prediction that is not NEUTRAL. KILT's rule: the
    majority of the labels of the first sentences of the pages; pages are then ordered by how likely that label is.
    """

    name = "claims"
    can_do = ("fc",)
    head = "AutoModelForSequenceClassification"
    settings = ("rule", "window")

    def __init__(
        self,
        model: str | Path,
        *,
        device: str | None = None,
        rule: Rule = "amber",
        corpus: Corpus | None = None,
        batch: int = 16,
        window: int = 384,
    ) -> None:
        if rule not in ("amber", "kilt"):
            raise UsageError(f"the rule is amber or kilt, not {rule!r}")
        super().__init__(model, device, window=window, batch=batch)
        self.rule, self.corpus = rule, corpus
        labels = {int(i): str(label) for i, label in self._model.config.id2label.items()}
        self.labels = {i: _ALIASES.get(label.lower(), "") for i, label in labels.items()}
        if set(self.labels.values()) != {SUPPORTS, REFUTES, NEUTRAL}:
            raise BadInput(
                f"its labels are {sorted(labels.values())}; SUPPORTS, REFUTES and NEUTRAL are needed",
                file=model,
            )

    @classmethod
    def over(cls, corpus: Corpus, model: str, **options: Any) -> Self:
        return cls(model, corpus=corpus, **options)

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            yield self._by_amber(task) if self.rule == "amber" else self._by_kilt(task)

    def _by_amber(self, task: ReadingTask) -> Answer:
        pairs = [
            (p, titled(p.title, window)) for p in task.passages for window in self._windows(p.text)
        ]
        best: tuple[float, str, str] | None = None
        for (passage, _), scores in zip(
            pairs, self._scores(task.question.text, pairs), strict=True
        ):
            for label in (SUPPORTS, REFUTES):
                decided = scores[label] > scores[NEUTRAL]
                if decided and (best is None or scores[label] > best[0]):
                    best = (scores[label], label, passage.id)
        if best is None:
            return Answer(question=task.question.id, text=None)
        return Answer(question=task.question.id, text=best[1], passages=(best[2],), score=best[0])

    def _by_kilt(self, task: ReadingTask) -> Answer:
        firsts: dict[str, Passage] = {}
        for passage in task.passages:
            firsts.setdefault(passage.page, passage)
        pairs = [(p, titled(p.title, self._page_begins(p))) for p in firsts.values()]
        shares = self._scores(task.question.text, pairs)
        labels = [max(s, key=lambda k: s[k]) for s in shares]
        votes = Counter(label for label in labels if label != NEUTRAL)
        if not votes:
            return Answer(question=task.question.id, text=None)
        winner = max(sorted(votes), key=lambda label: votes[label])
        order = sorted(range(len(pairs)), key=lambda n: (-shares[n][winner], n))
        return Answer(
            question=task.question.id,
            text=winner,
            passages=tuple(pairs[n][0].id for n in order),
            score=votes[winner] / len(labels),
            notes={"votes": dict(votes)},
        )

    def _page_begins(self, passage: Passage) -> str:
        """The first sentence of the page, whichever of its passages was found."""
        corpus = self.corpus
        first = next(iter(corpus.passages_of(passage.page)), None) if corpus is not None else None
        return _first_sentence(corpus.passage(first) if corpus is not None and first else passage)

    def _windows(self, text: str) -> list[str]:
        tokens = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        room = max(32, self.window * 3 // 4)
        return [
            self._tokenizer.decode(tokens[i : i + room])
            for i in range(0, max(1, len(tokens)), room)
        ]

    def _scores(self, claim: str, pairs: Sequence[tuple[Passage, str]]) -> list[dict[str, float]]:
        def work(texts: Sequence[str]) -> list[dict[str, float]]:
            import torch

            inputs = self._tokenizer(
                [claim] * len(texts),
                list(texts),
                truncation="longest_first",
                max_length=self.window,
                padding=True,
                return_tensors="pt",
            ).to(self._device)
            with torch.inference_mode():
                shares = self._model(**inputs).logits.float().softmax(-1).cpu()
            return [{self.labels[i]: float(row[i]) for i in self.labels} for row in shares]

        return list(in_batches(work, [text for _, text in pairs], self.batch))


def _first_sentence(passage: Passage) -> str:
    return _SENTENCE.split(passage.text.strip(), maxsplit=1)[0]
