"""What the runner asks of a ranking before it believes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError, sample
from whichone.records import Question, Ranking, page_of

Returns = Literal["page", "passage"]
Lookup: TypeAlias = Callable[[Sequence[str]], list[int | None]]
_REMEMBERED = 100_000
"""Ids that are not looked up again: rankings of one run have many passages in common."""


class RankingCheck:
    """Checks ids against a corpus; the first block decides whether they are pages or passages."""

    def __init__(self, corpus: Corpus, returns: Returns | None = None) -> None:
        self._corpus = corpus
        self.returns = returns
        self._seen: dict[Returns, set[str]] = {"page": set(), "passage": set()}

    def _passages(self, ids: Sequence[str]) -> set[str]:
        """Which of these are passages."""
        return self._known("passage", ids, self._corpus.rows)

    def _pages(self, ids: Sequence[str]) -> set[str]:
        """Which of these are pages."""
        return self._known("page", ids, self._corpus.page_rows)

    def _known(self, kind: Returns, ids: Sequence[str], rows: Lookup) -> set[str]:
        seen = self._seen[kind]
        if len(seen) > _REMEMBERED:
            seen.clear()
        new = [identity for identity in ids if identity not in seen]
        seen.update(i for i, row in zip(new, rows(new), strict=True) if row is not None)
        return seen.intersection(ids)

    def translate(self, ranking: Ranking) -> Ranking:
        """Ids by which the corpus itself calls its passages, in our words; others as they are."""
        if not self._corpus.has_source_ids:
            return ranking
        rows = self._corpus.by_source_id(ranking.passages)
        if all(row is None for row in rows):
            return ranking
        ids = (
            identity if row is None else self._corpus.ids([row])[0]
            for identity, row in zip(ranking.passages, rows, strict=True)
        )
        return msgspec.structs.replace(ranking, passages=tuple(ids))

    def infer(self, rankings: Sequence[Ranking], *, strict: bool = True) -> None:
        """Decide what the ids are; an error when they fit both or neither.

        Where single failures are kept (not `strict`), a stranger among known ids is no reason to stop.
        """
        ids = {identity for ranking in rankings for identity in ranking.passages}
        if self.returns is not None or not ids:
            return
        listed = sorted(ids)
        passages, pages = self._passages(listed), self._pages(listed)
        if passages == ids and pages == ids:
            raise UsageError(
                f"the ids are both passages and pages ({sample(sorted(ids))})",
                hint='say which: returns="page" or returns="passage" (--returns)',
            )
        enough = ids if strict else passages | pages
        if not enough or (passages != enough and pages != enough):
            strangers = sorted(ids - passages - pages)
            if not strangers:
                raise BadInput(
                    f"some ids are pages ({sample(sorted(pages))}), some are passages"
                    f" ({sample(sorted(passages - pages))})",
                    hint="return the one or the other",
                )
            raise BadInput(
                f"{len(strangers)} of {len(ids)} returned ids are not in the corpus:"
                f" {sample(strangers)}",
                hint=self.called(strangers[0]),
            )
        self.returns = "passage" if passages == enough else "page"

    def called(self, stranger: str) -> str:
        """What ids of this corpus look like, and what a stranger may have meant."""
        some = range(min(3, len(self._corpus)))
        passages = sample(self._corpus.ids(some))
        pages = self._corpus.page_ids(range(min(3, self._corpus.page_count)))
        description = f"passages of this corpus are called {passages}, pages {sample(pages)}"
        sources = sorted({page.partition(":")[0] for page in pages if ":" in page})
        meant = [m for s in sources if self._corpus.page_row(m := f"{s}:{stranger}") is not None]
        if meant:
            return f"{description}; did you mean {meant[0]}?"
        return f"{description}; map your ids to these"

    def check(self, question: Question, ranking: Ranking, k: int) -> Ranking:
        """The ranking itself, or an error that says what is wrong with it."""
        ids, scores = ranking.passages, ranking.scores
        if ranking.question != question.id:
            raise BadInput(f"asked {question.id}, answered {ranking.question}", ids=[question.id])
        if scores and len(scores) != len(ids):
            raise BadInput(f"{len(ids)} ids but {len(scores)} scores", ids=[question.id])
        for identity, score in zip(ids, scores, strict=False):  # scores may be left out
            if not math.isfinite(score):
                raise BadInput(
                    f"the score of {identity} is {score}, not a finite number", ids=[question.id]
                )
        if scores and scores[-1] > scores[0]:
            raise BadInput(
                f"the scores rise from {scores[0]:g} to {scores[-1]:g}",
                ids=[question.id],
                hint="a ranking is best first; turn the list, or give distances as negative scores",
            )
        if len(ids) > k:
            raise BadInput(
                f"{len(ids)} results where at most {k} were asked for", ids=[question.id]
            )
        if len(set(ids)) != len(ids):
            twice = sorted({i for i in ids if ids.count(i) > 1})
            raise BadInput(f"an id is returned twice: {sample(twice)}", ids=[question.id])
        known = (self._pages if self.returns == "page" else self._passages)(ids)
        strangers = [i for i in ids if i not in known]
        if strangers:
            other = (self._passages if self.returns == "page" else self._pages)(strangers)
            if len(other) == len(strangers):
                wrong, right = (
                    ("passages", "page") if self.returns == "page" else ("pages", "passage")
                )
                raise BadInput(
                    f"{wrong} came back where a {right} was expected: {sample(strangers)}",
                    ids=[question.id],
                    hint="return the one or the other for every question; --returns says which",
                )
            raise BadInput(
                f"ids that are not in the corpus: {sample(strangers)}",
                ids=[question.id],
                hint=self.called(strangers[0]),
            )
        return ranking

    def page(self, identity: str) -> str:
        return identity if self.returns == "page" else page_of(identity)
