"""Measures of one answer against one query's gold answers, its gold pages, and its namesakes' values.

`em` and `f1` use SQuAD's normaliser, as KILT does; `amber_em` and `amber_f1` AmbER's, in which a hyphen
parts words. A refusal and a failure are wrong. Without a gold answer no measure of the text applies.
"""

from __future__ import annotations

from collections.abc import Callable

from whichone.measures.measure import Answered, Measure, no_depth
from whichone.measures.retrieval import first_rank
from whichone.measures.token_overlap import token_f1
from whichone.papers.kilt.record import UNKNOWN_PAGE
from whichone.papers.kilt.scores.answers import answer_scores
from whichone.papers.popqa.scores.correct import correct, first_line
from whichone.text import amber, squad

CLAIMS = "fc"
SEVERAL = "ambigdocs"


def gold_answers(query: Answered) -> set[str]:
    """Every accepted answer, stripped; empty ones are none."""
    return {text for answer in query.query.answers() if (text := answer.strip())}


Value = Callable[[str, set[str]], float]
Maker = Callable[[int | None], Measure]


def _of_text(name: str, value: Value) -> Maker:
    """A measure of what was said; KILT's rules: nothing said is wrong."""

    def measure(k: int | None) -> Measure:
        no_depth(name, k)
        return Measure(name, lambda a: _text_value(a, value), of="answers")

    return measure


def _text_value(answered: Answered, value: Value) -> float | None:
    golds = gold_answers(answered)
    if not golds:
        return None
    text = (answered.text or "").strip()
    return value(text, golds) if text else 0.0


def _gated(name: str, value: Value) -> Maker:
    """KILT's version: points only where the first R pages are the R pages of an evidence set."""

    def gated(answered: Answered) -> float | None:
        found = _text_value(answered, value)
        return found if found is None or provenance_found(answered) else 0.0

    def measure(k: int | None) -> Measure:
        no_depth(name, k)
        return Measure(name, gated, of="answers")

    measure.__doc__ = (
        f"{name.removeprefix('kilt_')}, where the answer's first pages are gold (KILT)."
    )
    return measure


def provenance_found(answered: Answered) -> bool:
    """R-precision 1 for some evidence set: its R pages are the answer's first R pages.

    Evidence whose page has no id in KILT's files does not count, as in the official program.
    """
    for output in answered.query.outputs:
        for group in output.provenance:
            pages = {source.page for source in group if f":{UNKNOWN_PAGE}" not in source.page}
            if pages and pages == set(answered.pages[: len(pages)]):
                return True
    return False


def _accuracy(text: str, golds: set[str]) -> float:
    return answer_scores(text, golds)[0]


def _exact(text: str, golds: set[str]) -> float:
    return answer_scores(text, golds)[1]


def _f1(text: str, golds: set[str]) -> float:
    return answer_scores(text, golds)[2]


def _rouge_l(text: str, golds: set[str]) -> float:
    return answer_scores(text, golds)[3]


def _amber_exact(text: str, golds: set[str]) -> float:
    return float(amber.normalize(text) in map(amber.normalize, golds))


def _amber_f1(text: str, golds: set[str]) -> float:
    words = amber.tokens(text)
    return max(token_f1(words, amber.tokens(gold)) for gold in golds)


def _popqa(text: str, golds: set[str]) -> float:
    return float(correct(sorted(golds), first_line(text)))


accuracy = _of_text("accuracy", _accuracy)
"""The answer is an accepted one, letter by letter."""
exact_match = _of_text("em", _exact)
"""The answer is an accepted one after SQuAD's normaliser (KILT's)."""
f1 = _of_text("f1", _f1)
"""Bag-of-words F1 with the best accepted answer, SQuAD's normaliser (KILT's)."""
rouge_l = _of_text("rouge_l", _rouge_l)
"""ROUGE-L with the best accepted answer, as KILT computes it."""
amber_exact_match = _of_text("amber_em", _amber_exact)
"""The answer is an accepted one after AmbER's normaliser."""
amber_f1 = _of_text("amber_f1", _amber_f1)
"""Bag-of-words F1 with the best accepted answer, AmbER's normaliser."""
popqa = _of_text("popqa", _popqa)
"""An accepted answer stands in the first line (PopQA)."""
kilt_accuracy = _gated("kilt_accuracy", _accuracy)
"""KILT: accuracy, if the answer's first R pages are the R pages of an evidence set."""
kilt_exact_match = _gated("kilt_em", _exact)
"""KILT: em, if the answer's first R pages are the R pages of an evidence set."""
kilt_f1 = _gated("kilt_f1", _f1)
"""KILT: f1, if the answer's first R pages are the R pages of an evidence set."""
kilt_rouge_l = _gated("kilt_rouge_l", _rouge_l)
"""KILT: rouge_l, if the answer's first R pages are the R pages of an evidence set."""


def answered_for_namesake(k: int | None) -> Measure:
    """The answer gives another bearer's value and no accepted one.

    A value is given when its normal form is the answer's, or a run of whole words in it. Claims and
    questions about several bearers have no namesake to be taken for.
    """
    no_depth("answered_for_namesake", k)

    def value(answered: Answered) -> float | None:
        if answered.query.task in (CLAIMS, SEVERAL) or not answered.other_values:
            return None
        said = squad.tokens(answered.text or "")
        if any(gives(said, gold) for gold in gold_answers(answered)):
            return 0.0
        return float(any(gives(said, other) for other in answered.other_values))

    return Measure("answered_for_namesake", value, of="answers")


def gives(said: list[str], value: str) -> bool:
    """Whether the value's words stand in the answer, one after another."""
    words = squad.tokens(value)
    n = len(words)
    return n > 0 and any(said[i : i + n] == words for i in range(len(said) - n + 1))


def refusal(k: int | None) -> Measure:
    """The reader says that it has no answer; a failure is none."""
    no_depth("refusal", k)
    return Measure("refusal", lambda a: float(a.text is None and not a.failed), of="answers")


def cited_gold(k: int | None) -> Measure:
    """The first passage that the answer rests on is of a gold page; None where it cites nothing."""
    no_depth("cited_gold", k)

    def value(answered: Answered) -> float | None:
        if not answered.cited or not answered.gold:
            return None
        return float(first_rank(answered.cited[:1], answered.gold) is not None)

    return Measure("cited_gold", value, of="answers")
