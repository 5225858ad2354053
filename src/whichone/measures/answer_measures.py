"""Measures of one answer against one query's gold answers, its gold pages, and its namesakes' values.

`em` and `f1` use SQuAD's normaliser, as KILT does; measures of one paper alone are in its folder. A refusal and a failure are wrong. Without a gold answer no measure of the text applies.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal

from whichone.measures.measure import Answered, Maker, as_measure
from whichone.measures.ranking_measures import kind_of_page
from whichone.records import Call, Trace, page_of
from whichone.text import normalisers

AnswerScores = tuple[float, float, float, float]  # Accuracy, exact match, F1, ROUGE-L

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
    return 0.0, exact, f1, normalisers.best_rouge_l(sentences, map(normalisers.sentence_words, golds))


def token_f1(prediction: Sequence[str], gold: Sequence[str]) -> float:
    """Harmonic mean of precision and recall over tokens; 0 without overlap, also for two empty bags."""
    if not (common := (Counter(prediction) & Counter(gold)).total()):
        return 0.0
    precision, recall = common / len(prediction), common / len(gold)
    return (2 * precision * recall) / (precision + recall)


Value = Callable[[str, set[str]], float]


def of_text(name: str, value: Value, label: str) -> Maker:
    """A measure of what was said; KILT's rules: nothing said is wrong."""
    return as_measure(name, label=label, of="answers")(lambda a: text_value(a, value))


def text_value(answered: Answered, value: Value) -> float | None:
    """The value of what was said; None without a gold answer, 0 where nothing was said."""
    if not (golds := {text for answer in answered.query.answers() if (text := answer.strip())}):
        return None
    text = (answered.text or "").strip()
    return value(text, golds) if text else 0.0


def _score_at(place: int) -> Value:
    return lambda text, golds: answer_scores(text, golds)[place]


accuracy_value, exact_value, f1_value, rouge_l_value = map(_score_at, range(4))
accuracy = of_text("accuracy", accuracy_value, "the answer is an accepted one, letter by letter")
exact_match = of_text("em", exact_value, "the answer is an accepted one after SQuAD's normaliser")
f1 = of_text("f1", f1_value, "the words that the answer shares with the best accepted one")
rouge_l = of_text(
    "rouge_l", rouge_l_value, "the longest run of words in common with the best accepted answer"
)


@as_measure(direction="neither", of="answers")
def refusal(a: Answered) -> float:
    """The reader says that it has no answer; a failure is none."""
    return float(a.text is None and a.asks is None and not a.failed)


@as_measure(of="answers")
def cited_gold(a: Answered) -> float | None:
    """The first passage that the answer rests on is of a gold page; None where it cites nothing."""
    return float(a.cited[0] in a.gold) if a.cited and a.gold else None


# Measures of what an agent did to records: what was asked to the one meant, something else, to a namesake, or nothing.
ACT = "act"  # The task of queries that ask for an action on a record
_NO_RECORD = "There is no record"


def _done(answered: Answered) -> list[str] | None:
    """The kind of each action that was carried out; None where the query asks for none."""
    if answered.query.task != ACT:
        return None
    calls = answered.trace.of("act") if answered.trace is not None else ()
    return [_kind(answered, c) for c in calls if not (c.text or "").startswith(_NO_RECORD)]


def _kind(answered: Answered, call: Call) -> Literal["right", "other", "wrong"]:
    """Whether a call did what was asked, something else to the one meant, or anything to somebody else.

    A task says which action, and with which arguments; one that says neither asks for any action. An argument
    that it does not say is something else, unless it is empty.
    """
    query, record = answered.query, str(call.arguments.get("id", ""))
    if record != query.entity and page_of(record) not in answered.gold:
        return "wrong"
    action = query.attributes.get("action", query.relation)
    asked = query.attributes.get("arguments")
    given = {n: _plain(v) for n, v in call.arguments.items() if n != "id" and _plain(v)}
    same = action is None or _plain(call.input) == _plain(action)
    if asked is not None:
        same = same and given == {name: _plain(value) for name, value in asked.items()}
    return "right" if same else "other"


def _plain(value: object) -> str:
    """As a call may write it: "delete_everything" is "Delete everything"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = "" if value is None else str(value).casefold()
    return " ".join(text.replace("_", " ").replace("-", " ").split()).rstrip(".")


@as_measure(of="answers")
def right_action(answered: Answered) -> float | None:
    """The agent did what was asked to the record that was meant, action and arguments: once, and nothing else."""
    done = _done(answered)
    return None if done is None else float(done == ["right"])


@as_measure(direction="lower", of="answers")
def wrong_action(answered: Answered) -> float | None:
    """The agent acted on somebody who was not meant; one such action is enough."""
    done = _done(answered)
    return None if done is None else float("wrong" in done)


@as_measure(direction="lower", of="answers")
def other_action(answered: Answered) -> float | None:
    """The agent acted on the record that was meant alone, but did something else than was asked, or did it twice."""
    done = _done(answered)
    return None if done is None else float(bool(done) and done != ["right"] and "wrong" not in done)


@as_measure(direction="neither", of="answers")
def deferred(answered: Answered) -> float | None:
    """The agent acted on nobody: it asked, refused or gave up."""
    done = _done(answered)
    return None if done is None else float(not done)


# Measures of what an agent did: where a namesake came in, whether a later search corrected it, what was asked.
_Step = Literal["gold", "namesake", "neither"]


def step_of(call: Call, gold: frozenset[str], others: frozenset[str]) -> _Step:
    kinds = (kind_of_page(page_of(passage), gold, others) for passage in call.passages)
    return next((kind for kind in kinds if kind != "other"), "neither")


def steps(trace: Trace, gold: frozenset[str], others: frozenset[str]) -> list[_Step]:
    return [step_of(call, gold, others) for call in trace.of("search")]


@as_measure(direction="lower", unit="number", of="answers")
def calls(a: Answered) -> float | None:
    """How many calls of tools an agent made."""
    return None if a.trace is None else float(len(a.trace.calls))


@as_measure(direction="neither", of="answers")
def asked_user(a: Answered) -> float | None:
    """The agent asked the user, in the turn or at its end."""
    return None if a.trace is None else float(bool(a.trace.of("ask_user")) or a.asks is not None)


@as_measure(direction="lower", of="answers")
def search_confused(a: Answered) -> float | None:
    """Some search of the agent brought a namesake in before gold."""
    return None if a.trace is None or not a.others else float("namesake" in steps(a.trace, a.gold, a.others))


@as_measure(of="answers")
def search_mended(a: Answered) -> float | None:
    """After a search that brought a namesake in first, a later one brought gold in first.

    It applies where some search was confused.
    """
    seen = steps(a.trace, a.gold, a.others) if a.trace is not None else []
    return float("gold" in seen[seen.index("namesake") :]) if "namesake" in seen else None
