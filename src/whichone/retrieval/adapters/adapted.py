"""What all adapters share: the id rule, scores best first, and a first question asked alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing, UsageError
from whichone.records import Question, Ranking
from whichone.retrieval.adapters.ids import Hit, IdRule


class Adapted:
    """A retriever whose `hits` come from elsewhere.

    The first question goes alone, so that a wrong rule or a service that does not answer is found
    at once, not after a block of questions.
    """

    def __init__(self, corpus: Corpus, *, ids: str) -> None:
        self.rule = IdRule(ids, corpus)
        self._tried = False

    def hits(self, texts: list[str], k: int) -> Sequence[Sequence[Hit]]:
        """The documents found for each text, best first."""
        raise UsageError(f"{type(self).__name__} has no hits(texts, k)")

    def details(self) -> dict[str, Any]:
        """Everything besides the rule that decides what is found; no secrets."""
        return {}

    def describe(self) -> dict[str, Any]:
        return {"retriever": type(self).__name__, **self.details(), "ids": self.rule.text}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        rest = list(questions)
        if rest and not self._tried:
            yield from self._ask(rest[:1], k)
            self._tried, rest = True, rest[1:]
        if rest:
            yield from self._ask(rest, k)

    def _ask(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        all_hits = list(self.hits([question.text for question in questions], k))
        if len(all_hits) != len(questions):
            raise BadInput(f"{len(questions)} questions went in, {len(all_hits)} results came out")
        for question, hits in zip(questions, all_hits, strict=True):
            yield self._ranking(question, list(hits), k)

    def _ranking(self, question: Question, hits: list[Hit], k: int) -> Ranking:
        kept = self.rule.apply(question.id, hits)
        repeated = len(hits) - len(kept)
        return Ranking(
            question=question.id,
            passages=tuple(identity for identity, _ in kept[:k]),
            scores=best_first([score for _, score in kept[:k]]),
            notes={"several_hits_of_one_id": repeated} if repeated else {},
        )


def best_first(scores: Sequence[float | None]) -> tuple[float, ...]:
    """Scores that rise are distances and become negative; none at all where some are missing."""
    given = [score for score in scores if score is not None]
    if len(given) != len(scores):
        return ()
    rising = len(given) > 1 and given[-1] > given[0]
    return tuple(-float(s) if rising else float(s) for s in given)


def yes(value: Any) -> bool:
    """An option that is yes or no, as the command line gives it."""
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in ("yes", "true", "1", "no", "false", "0"):
        return text in ("yes", "true", "1")
    raise UsageError(f"{value!r} is neither yes nor no")


def user_object(make: Any, corpus: Corpus, what: str) -> Any:
    """What the user named as module:attribute; a function is called, with the corpus if it takes one."""
    import inspect

    from whichone.retrieval.function import load_function

    if not make:
        raise UsageError(
            f"{what} needs the object to ask",
            hint="-o make=MODULE:NAME names it, or a function that makes it of the corpus",
        )
    value = load_function(make) if isinstance(make, str) else make
    if not (inspect.isfunction(value) or inspect.isclass(value)):
        return value
    build: Any = value
    try:
        inspect.signature(build).bind(corpus)
    except TypeError:
        return build()
    return build(corpus)


def missing(package: str, error: ImportError) -> Missing:
    """The error for a library that an adapter speaks to and that is not there."""
    return Missing(
        f"the package {package} is not installed ({error.name or error})",
        hint=f"pip install 'whichone[adapters]', or only {package}",
    )
