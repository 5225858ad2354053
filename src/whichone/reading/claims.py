"""Fact checking as three-way classification, by AmbER's rule or by KILT's."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError
from whichone.reading.checkpoint import CheckpointReader, shared_batches, titled
from whichone.records import Answer, Passage, ReadingTask

Rule = Literal["amber", "kilt"]

SUPPORTS, REFUTES, NEUTRAL = "SUPPORTS", "REFUTES", "NEUTRAL"
_ALIASES = {
    **dict.fromkeys(("supports", "support", "entailment", "entails", "true"), SUPPORTS),
    **dict.fromkeys(("refutes", "refute", "contradiction", "contradicts", "false"), REFUTES),
    **dict.fromkeys(("neutral", "not enough info", "nei", "not_enough_info"), NEUTRAL),
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
        pairs = [self._pairs(task) for task in tasks]
        scores = shared_batches(
            self._scores,
            (
                [(task.question.text, text) for _, text in part]
                for task, part in zip(tasks, pairs, strict=True)
            ),
            self.batch,
            length=lambda pair: len(pair[1]),
        )
        rule = _by_amber if self.rule == "amber" else _by_kilt
        for task, part, shares in zip(tasks, pairs, scores, strict=True):
            yield rule(task.question.id, [passage.id for passage, _ in part], shares)

    def _pairs(self, task: ReadingTask) -> list[tuple[Passage, str]]:
        """The texts that a claim is compared with: windows of passages, or how each page begins."""
        if self.rule == "amber":
            room = max(32, self.window * 3 // 4)
            return [(p, titled(p.title, text)) for p in task.passages for text in self.pieces(p.text, room)]
        firsts: dict[str, Passage] = {}
        for passage in task.passages:
            firsts.setdefault(passage.page, passage)
        return [(p, titled(p.title, self._page_begins(p))) for p in firsts.values()]

    def _page_begins(self, passage: Passage) -> str:
        """The first sentence of the page, whichever of its passages was found."""
        if self.corpus is not None and (ids := self.corpus.passages_of(passage.page)):
            passage = self.corpus.passage(ids[0])
        return _SENTENCE.split(passage.text.strip(), maxsplit=1)[0]

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, float]]:
        """Shares of the three labels of each claim with a text."""
        import torch

        inputs = self._tokenizer(
            [claim for claim, _ in pairs],
            [text for _, text in pairs],
            truncation="longest_first",
            max_length=self.window,
            padding=True,
            return_tensors="pt",
        ).to(self._device)
        with torch.inference_mode():
            shares = self._model(**inputs).logits.float().softmax(-1).cpu()
        return [{self.labels[i]: float(row[i]) for i in self.labels} for row in shares]


def _by_amber(question: str, ids: Sequence[str], shares: Sequence[dict[str, float]]) -> Answer:
    decided = [
        (scores[label], label, identity)
        for identity, scores in zip(ids, shares, strict=True)
        for label in (SUPPORTS, REFUTES)
        if scores[label] > scores[NEUTRAL]
    ]
    if not decided:
        return Answer(question=question, text=None)
    score, label, identity = max(decided, key=lambda one: one[0])
    return Answer(question=question, text=label, passages=(identity,), score=score)


def _by_kilt(question: str, ids: Sequence[str], shares: Sequence[dict[str, float]]) -> Answer:
    labels = [max(s, key=lambda k: s[k]) for s in shares]
    if not (votes := Counter(label for label in labels if label != NEUTRAL)):
        return Answer(question=question, text=None)
    winner = max(sorted(votes), key=lambda label: votes[label])
    order = sorted(range(len(ids)), key=lambda n: (-shares[n][winner], n))
    return Answer(
        question=question,
        text=winner,
        passages=tuple(ids[n] for n in order),
        score=votes[winner] / len(labels),
        notes={"votes": dict(votes)},
    )
