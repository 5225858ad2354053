"""Measures of one answer against one query's gold answers, its gold pages, and its namesakes' values.

`em` and `f1` use SQuAD's normaliser, as KILT does; measures of one paper alone are in its folder. A refusal and a failure are wrong. Without a gold answer no measure of the text applies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from whichone.measures.measure import Answered, Direction, Measure, no_depth
from whichone.measures.ranking_measures import first_rank, kind_of_page
from whichone.records import Call, Trace, page_of
from whichone.text import normalisers

AnswerScores = tuple[float, float, float, float]
"""Accuracy, exact match, F1, ROUGE-L."""

WRONG: AnswerScores = (0.0, 0.0, 0.0, 0.0)
_PERFECT_ROUGE_L = 2.0 * (1.0 / (1.0 + 1.0 + 1e-8))


def answer_scores(answer: str, golds: set[str]) -> AnswerScores:
    """Scores of a stripped, non-empty answer against at least one gold answer, as KILT computes them."""
    words = normalisers.squad_tokens(answer)
    if answer in golds:
        return 1.0, 1.0, 1.0 if words else 0.0, _PERFECT_ROUGE_L if answer.strip(".") else 0.0
    exact = f1 = 0.0
    for gold in golds:
        gold_words = normalisers.squad_tokens(gold)
        if words == gold_words:
            exact = 1.0
        f1 = max(f1, token_f1(words, gold_words))
    sentences = normalisers.sentence_words(answer)
    rouge_l = normalisers.best_rouge_l(sentences, map(normalisers.sentence_words, golds))
    return 0.0, exact, f1, rouge_l


def token_f1(prediction: Sequence[str], gold: Sequence[str]) -> float:
    """Harmonic mean of precision and recall over tokens; 0 without overlap, also for two empty bags."""
    if not prediction or not gold:
        return 0.0
    if prediction == gold:
        return 1.0
    left: dict[str, int] = {}
    for token in gold:
        left[token] = left.get(token, 0) + 1
    common = 0
    for token in prediction:
        if left.get(token, 0):
            left[token] -= 1
            common += 1
    if common == 0:
        return 0.0
    precision = common / len(prediction)
    recall = common / len(gold)
    return (2 * precision * recall) / (precision + recall)


def gold_answers(query: Answered) -> set[str]:
    """Every accepted answer, stripped; empty ones are none."""
    return {text for answer in query.query.answers() if (text := answer.strip())}


Value = Callable[[str, set[str]], float]
Maker = Callable[[int | None], Measure]


def of_text(name: str, value: Value, label: str) -> Maker:
    """A measure of what was said; KILT's rules: nothing said is wrong."""

    def measure(k: int | None) -> Measure:
        no_depth(name, k)
        return Measure(name, lambda a: text_value(a, value), label=label, of="answers")

    return measure


def text_value(answered: Answered, value: Value) -> float | None:
    """The value of what was said; None without a gold answer, 0 where nothing was said."""
    golds = gold_answers(answered)
    if not golds:
        return None
    text = (answered.text or "").strip()
    return value(text, golds) if text else 0.0


def accuracy_value(text: str, golds: set[str]) -> float:
    return answer_scores(text, golds)[0]


def exact_value(text: str, golds: set[str]) -> float:
    return answer_scores(text, golds)[1]


def f1_value(text: str, golds: set[str]) -> float:
    return answer_scores(text, golds)[2]


def rouge_l_value(text: str, golds: set[str]) -> float:
    return answer_scores(text, golds)[3]


accuracy = of_text("accuracy", accuracy_value, "the answer is an accepted one, letter by letter")
exact_match = of_text("em", exact_value, "the answer is an accepted one after SQuAD's normaliser")
f1 = of_text("f1", f1_value, "the words that the answer shares with the best accepted one")
rouge_l = of_text(
    "rouge_l", rouge_l_value, "the longest run of words in common with the best accepted answer"
)


def refusal(k: int | None) -> Measure:
    """The reader says that it has no answer; a failure is none."""
    no_depth("refusal", k)
    return Measure(
        "refusal",
        lambda a: float(a.text is None and a.asks is None and not a.failed),
        direction="neither",
        of="answers",
    )


def cited_gold(k: int | None) -> Measure:
    """The first passage that the answer rests on is of a gold page; None where it cites nothing."""
    no_depth("cited_gold", k)

    def value(answered: Answered) -> float | None:
        if not answered.cited or not answered.gold:
            return None
        return float(first_rank(answered.cited[:1], answered.gold) is not None)

    return Measure("cited_gold", value, of="answers")


# Measures of what an agent did to records: the right one, a namesake's, any other, or nothing.


ACT = "act"
"""The task of queries that ask for an action on a record."""
_NO_RECORD = "There is no record"


def _records(answered: Answered) -> list[str] | None:
    """The ids that were acted on; None where the query asks for no action."""
    if answered.query.task != ACT:
        return None
    calls = answered.trace.of("act") if answered.trace is not None else ()
    return [str(c.arguments.get("id", "")) for c in calls if not _refused(c)]


def _refused(call: Call) -> bool:
    return (call.text or "").startswith(_NO_RECORD)


def _is_meant(answered: Answered, record: str) -> bool:
    return record == answered.query.entity or page_of(record) in answered.gold


def right_action(k: int | None) -> Measure:
    """The agent acted on the record that was meant, and on no other."""
    no_depth("right_action", k)

    def value(answered: Answered) -> float | None:
        records = _records(answered)
        if records is None:
            return None
        return float(bool(records) and all(_is_meant(answered, r) for r in records))

    return Measure("right_action", value, of="answers")


def wrong_action(k: int | None) -> Measure:
    """The agent acted on somebody who was not meant; one such action is enough."""
    no_depth("wrong_action", k)

    def value(answered: Answered) -> float | None:
        records = _records(answered)
        if records is None:
            return None
        return float(any(not _is_meant(answered, r) for r in records))

    return Measure("wrong_action", value, direction="lower", of="answers")


def deferred(k: int | None) -> Measure:
    """The agent acted on nobody: it asked, refused or gave up."""
    no_depth("deferred", k)

    def value(answered: Answered) -> float | None:
        records = _records(answered)
        return None if records is None else float(not records)

    return Measure("deferred", value, direction="neither", of="answers")


# Measures of what an agent did: where a namesake came in, whether a later search corrected it, what was asked.


Step = Literal["gold", "namesake", "neither"]


def step_of(call: Call, gold: frozenset[str], others: frozenset[str]) -> Step:
    """Which of the two a search brought in first."""
    pages = [page_of(p) for p in call.passages]
    kinds = (kind_of_page(page, gold, others) for page in pages)
    return next((kind for kind in kinds if kind != "other"), "neither")


def steps(trace: Trace, gold: frozenset[str], others: frozenset[str]) -> list[Step]:
    return [step_of(call, gold, others) for call in trace.of("search")]


def _of_trace(
    name: str,
    value: Callable[[Answered, Trace], float | None],
    direction: Direction,
    unit: Literal["share", "number"] = "share",
) -> Measure:
    def measured(answered: Answered) -> float | None:
        return value(answered, answered.trace) if answered.trace is not None else None

    return Measure(name, measured, direction=direction, unit=unit, of="answers")


def calls(k: int | None) -> Measure:
    """How many calls of tools an agent made."""
    no_depth("calls", k)
    return _of_trace("calls", lambda _, trace: float(len(trace.calls)), "lower", "number")


def asked_user(k: int | None) -> Measure:
    """The agent asked the user, in the turn or at its end."""
    no_depth("asked_user", k)
    return _of_trace(
        "asked_user",
        lambda a, trace: float(bool(trace.of("ask_user")) or a.asks is not None),
        "neither",
    )


def search_confused(k: int | None) -> Measure:
    """Some search of the agent brought a namesake in before gold."""
    no_depth("search_confused", k)

    def value(answered: Answered, trace: Trace) -> float | None:
        if not answered.others:
            return None
        return float("namesake" in steps(trace, answered.gold, answered.others))

    return _of_trace("search_confused", value, "lower")


def search_mended(k: int | None) -> Measure:
    """After a search that brought a namesake in first, a later one brought gold in first.

    It applies where some search was confused.
    """
    no_depth("search_mended", k)

    def value(answered: Answered, trace: Trace) -> float | None:
        seen = steps(trace, answered.gold, answered.others)
        if "namesake" not in seen:
            return None
        return float("gold" in seen[seen.index("namesake") :])

    return _of_trace("search_mended", value, "higher")
