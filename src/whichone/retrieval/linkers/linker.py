"""`linker`: the candidates of every mention by their priors; no text of a page is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from whichone.corpus.corpus import Corpus
from whichone.records import Question, Ranking
from whichone.retrieval.linkers.candidates import Candidate, Names, Span, open_names
from whichone.retrieval.linkers.mentions import Finder, bare, make_finder


class Linker:
    """Links every mention of a question to pages and merges the candidates by their scores.

    `mentions` is auto, names, given, spacy or flair, `model` that of spaCy or flair, `knowledge` a
    knowledge base; without one, names are those of the corpus. A question
    without a mention, or whose mentions nobody has, has an empty result, which the run counts.
    """

    kind = "linker"

    def __init__(self, names: Names, finder: Finder, given: dict[str, Any]) -> None:
        self.names, self._find, self._described = names, finder, given

    @property
    def sees(self) -> tuple[str, ...]:
        own = self.names.describe().get("names") == "corpus"
        return ("corpus",) if own else ("corpus", "knowledge base")

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        work: Path,
        *,
        mentions: str = "auto",
        model: str | None = None,
        knowledge: str | None = None,
    ) -> Linker:
        names = open_names(corpus, knowledge)
        finder, finder_description = make_finder(mentions, names, model=model)
        return cls(names, finder, {**names.describe(), **finder_description})

    def describe(self) -> dict[str, Any]:
        return {"retriever": self.kind, **self._described}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            yield self._link(question, k)

    def score(
        self, question: Question, span: Span, spans: Sequence[Span], candidates: Sequence[Candidate]
    ) -> list[float]:
        """The candidates' scores for one mention: here, their priors."""
        return [candidate.prior for candidate in candidates]

    def candidates(self, span: Span) -> list[Candidate]:
        for form in bare(span.text):
            if candidates := self.names.candidates(form):
                return candidates
        return []

    def _link(self, question: Question, k: int) -> Ranking:
        spans = self._find(question)
        best: dict[str, tuple[float, int]] = {}
        linked = []
        for span in spans:
            candidates = self.candidates(span)
            scores = self.score(question, span, spans, candidates)
            for candidate, score in zip(candidates, scores, strict=True):
                rank = (score * span.score, len(span.text))
                best[candidate.page] = max(rank, best.get(candidate.page, rank))
            linked.append({"mention": span.text, "candidates": len(candidates)})
        ordered = sorted(best.items(), key=lambda b: (-b[1][0], -b[1][1], b[0]))[:k]
        return Ranking(
            question=question.id,
            passages=tuple(page for page, _ in ordered),
            scores=tuple(score for _, (score, _) in ordered),
            notes={"mentions": linked},
        )
