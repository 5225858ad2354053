"""Six outcomes of an answer: right, right but for several, asked back, refused, for a namesake, wrong otherwise.

A system's own word decides first: `asks`, or None for a refusal. Otherwise ordinary sentences are read by
rule. What a sentence gives counts, wherever it appears in it; what a question back only offers, or what a
sentence denies, does not.
"""

import functools
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, Protocol, cast, get_args, runtime_checkable

import msgspec

from whichone.errors import BadInput, UsageError
from whichone.files.lines import read_toml
from whichone.files.pools import in_order
from whichone.measures.measure import Answered, Direction, Maker, as_measure
from whichone.protocols import ChatReply
from whichone.records import Query
from whichone.text import normalisers

Outcome = Literal["right", "several", "asked", "refused", "namesake", "wrong"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
# Tasks without namesakes' values: claims; questions about all bearers; actions, which have no answer.
CLAIMS, SEVERAL, ACT = "fc", "ambigdocs", "act"

_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|\n+")
_CLAUSE = re.compile(r";|,?\s+\b(?:while|whereas|whilst|but|however|although|and)\b|(?<=[.!?])\s+|\n+", re.I)
_POSSESSIVE = re.compile(r"['’]s\b")


class OutcomeWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Regular expressions of one language, by what they tell of a sentence."""

    asks: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    ambiguous: tuple[str, ...] = ()
    refuses: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()

    def tells(self, kind: str, sentence: str) -> bool:
        return any(p.search(sentence) for p in _compiled(getattr(self, kind)))


@functools.cache
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(p, re.I) for p in patterns)


def load_words(path: str | Path) -> OutcomeWords:
    """A word list of one's own, in the shape of the package's `outcome_words/en.toml`."""
    try:
        words = read_toml(path, OutcomeWords, "a word list")
        for field in OutcomeWords.__struct_fields__:
            _compiled(getattr(words, field))
    except re.error as error:
        raise BadInput(f"not a word list: {error}", file=path) from error
    return words


@functools.cache
def words_of(language: str) -> OutcomeWords:
    """The package's list for a language; English where it has none."""
    folder = files("whichone.measures").joinpath("outcome_words")
    place = folder.joinpath(f"{language.lower().partition('-')[0]}.toml")
    return load_words(Path(str(place if place.is_file() else folder.joinpath("en.toml"))))


@functools.lru_cache(maxsize=1 << 12)
def text_outcome(
    text: str, accepted: tuple[str, ...], others: tuple[str, ...] = (), words: OutcomeWords | None = None
) -> Outcome:
    """What a text says, given the accepted answers and what would be right for the namesakes."""
    words = words or words_of("en")
    if not (text := _POSSESSIVE.sub("", text.replace("’", "'").strip())):
        return "wrong"
    if normalisers.normalize(text) in {normalisers.normalize(a) for a in accepted}:
        return "right"
    sentences = [s for s in _SENTENCE.split(text) if s.strip()]
    asking = [s for s in sentences if _asks(s, words)]
    refusing = [s for s in sentences if s not in asking and words.tells("refuses", s)]
    given = _given([s for s in sentences if s not in asking and s not in refusing], accepted, others, words)
    if given == {"own"}:
        return "right"
    if given == {"own", "other"}:
        return "several" if _attributed(text, accepted, others, words) else "wrong"
    if asking:
        return "asked"
    if given == {"other"}:
        return "namesake"
    if refusing:
        return "refused"
    return "asked" if words.tells("ambiguous", text) else "wrong"


def _asks(sentence: str, words: OutcomeWords) -> bool:
    question = sentence.rstrip("\"') ").endswith("?")
    return (question and words.tells("asks", sentence)) or words.tells("requests", sentence)


def _given(
    sentences: Sequence[str], accepted: Sequence[str], others: Sequence[str], words: OutcomeWords
) -> set[str]:
    """Whose values the sentences give: "own", "other", both or nobody's."""
    return {
        owner
        for sentence in sentences
        for owner, start, tokens in _spans(normalisers.squad_tokens(sentence), accepted, others)
        if not words.tells("denies", " ".join(tokens[:start]))
    }


def _spans(
    tokens: list[str], accepted: Sequence[str], others: Sequence[str]
) -> list[tuple[str, int, list[str]]]:
    """Where values appear; of two that overlap the longer counts ("New York City" is not "New York")."""
    spans: list[tuple[int, int, str]] = []
    for owner, values in (("own", accepted), ("other", others)):
        for value in values:
            wanted = normalisers.squad_tokens(value)
            if n := len(wanted):
                starts = range(len(tokens) - n + 1)
                spans += [(i, i + n, owner) for i in starts if tokens[i : i + n] == wanted]
    spans.sort(key=lambda s: (s[0] - s[1], s[2] == "other", s[0]))
    kept: list[tuple[int, int, str]] = []
    for start, end, owner in spans:
        if all(end <= s or start >= e for s, e, _ in kept):
            kept.append((start, end, owner))
    return [(owner, start, tokens) for start, _, owner in kept]


def _attributed(text: str, accepted: Sequence[str], others: Sequence[str], words: OutcomeWords) -> bool:
    """Whether each value has a clause of its own, and the answer turns from one bearer to another."""
    clauses = [_given([clause], accepted, others, words) for clause in _CLAUSE.split(text) if clause]
    apart = {"own"} in clauses and {"other"} in clauses
    return apart and (words.tells("each", text) or words.tells("ambiguous", text))


def accepted_values(query: Query) -> tuple[str, ...]:
    """What would be right, where an answer to the query has an outcome at all."""
    return () if query.task in (SEVERAL, ACT) else tuple(text for a in query.answers() if (text := a.strip()))


def own_word(answered: Answered) -> Outcome | None:
    """What the system itself says that it did: asked, refused or failed; None where it only wrote a text."""
    if answered.failed:
        return "wrong"
    if answered.asks is not None:
        return "asked"
    return "refused" if answered.text is None else None


def outcome(answered: Answered, words: OutcomeWords | None = None) -> Outcome | None:
    """The outcome of one answer; None where the query has no accepted answer."""
    query, accepted = answered.query, accepted_values(answered.query)
    if not accepted:
        return None
    if (said := own_word(answered)) is not None:
        return said
    if answered.judged is not None:
        return cast("Outcome", answered.judged)
    assert answered.text is not None
    others = () if query.task == CLAIMS else tuple(answered.other_values)
    return text_outcome(answered.text, accepted, others, words or words_of(query.language))


def _outcome_measure(name: str, wanted: Outcome, about: str, direction: Direction = "neither") -> Maker:
    def value(answered: Answered) -> float | None:
        result = outcome(answered)
        nobody_else = answered.query.task == CLAIMS or not answered.other_values
        if result is None or (wanted in ("several", "namesake") and nobody_else):
            return None
        return float(result == wanted)

    return as_measure(name, label=about, direction=direction, of="answers")(value)


answer_right = _outcome_measure(
    "answer_right", "right", "the answer gives an accepted value and no namesake's", "higher"
)
answer_several = _outcome_measure(
    "answer_several",
    "several",
    "the answer gives the accepted value and a namesake's, each attributed to its bearer",
)
asked_back = _outcome_measure(
    "asked_back", "asked", "the system asks which one is meant, or says that several are, without choosing"
)
refused = _outcome_measure("refused", "refused", "the system says that it cannot or will not answer")
answered_for_namesake = _outcome_measure(
    "answered_for_namesake",
    "namesake",
    "the answer gives another bearer's value and no accepted one",
    "lower",
)
answer_wrong = _outcome_measure(
    "answer_wrong",
    "wrong",
    "none of the other outcomes: invented, merged, beside the point, or a failure",
    "lower",
)


# The measure of each outcome; for one answer exactly one of them is 1.
OUTCOME_MEASURES = {
    "right": "answer_right",
    "several": "answer_several",
    "asked": "asked_back",
    "refused": "refused",
    "namesake": "answered_for_namesake",
    "wrong": "answer_wrong",
}


# Judges of outcomes beside the package's rules: a chat model, a function, a word list of one's own.
INSTRUCTION = (
    "You judge one answer to a question about somebody or something that shares a name with others. Choose "
    "one word. right: it gives an accepted value and no namesake's. several: it gives the accepted value and "
    "a namesake's, and says whose each is. asked: it asks which one is meant. refused: it says that it cannot "
    "answer. namesake: it is about a namesake. wrong: anything else."
)
SHAPE: dict[str, Any] = {
    "type": "object",
    "properties": {"outcome": {"type": "string", "enum": list(OUTCOMES)}},
    "required": ["outcome"],
    "additionalProperties": False,
}


AT_ONCE = 16  # Calls of a model at the same time


@runtime_checkable
class Judge(Protocol):
    """A chat model that can be held to a shape, such as `chat.endpoint.Endpoint`."""

    def complete(self, messages: Sequence[Any], *, max_tokens: int, schema: Any = None) -> ChatReply: ...


def judged_outcome(
    model: Judge, question: str, text: str, accepted: Sequence[str], others: Sequence[str] = ()
) -> Outcome:
    """One of the six outcomes; a reply that names none of them is an error."""
    shown = (
        f"Question: {question}\nAccepted: {'; '.join(accepted)}\n"
        f"Right for namesakes: {'; '.join(others) or 'not known'}\nAnswer: {text}"
    )
    messages = [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": shown}]
    reply = model.complete(messages, max_tokens=20, schema=SHAPE)
    try:
        word = str(msgspec.json.decode(reply.text)["outcome"])
    except (msgspec.DecodeError, KeyError, TypeError):
        word = reply.text.strip().strip(".\"'").lower()
    return _known(word, reply.text)


def _known(word: str, said: str) -> Outcome:
    if word not in OUTCOMES:
        raise BadInput(f"the judge says {said[:60]!r}, not one of {', '.join(OUTCOMES)}")
    return word


# The outcome of each of many answers; None where the rules decide.
Judging = Callable[[Sequence[Answered]], list[str | None]]


def judging(judge: Any = None, words: str | Path | None = None) -> Judging | None:
    """What decides instead of the rules: a chat model or a function, or rules by one's own word list.

    A function is given the question, the answer, what is accepted and what is right for namesakes, and
    returns one of the six words.
    """
    if judge is not None and words is not None:
        raise UsageError("a judge needs no word list", hint="give the one or the other")
    if words is not None:
        listed = load_words(words)
        return lambda answers: [outcome(a, listed) for a in answers]
    if judge is None:
        return None
    if not isinstance(judge, Judge) and not callable(judge):
        raise UsageError(
            f"a judge is a chat model or a function, not {judge!r:.60}",
            hint="for example Endpoint(EndpointOptions(url=..., model=...)) of whichone.chat.endpoint",
        )
    return lambda answers: list(in_order(lambda a: _judged(judge, a), answers, AT_ONCE))


def _judged(judge: Any, answered: Answered) -> str | None:
    accepted = accepted_values(answered.query)
    if not accepted or own_word(answered) is not None or not (answered.text or "").strip():
        return None
    others = () if answered.query.task == CLAIMS else tuple(answered.other_values)
    shown = (answered.query.input, answered.text or "", accepted, others)
    if isinstance(judge, Judge):
        return judged_outcome(judge, *shown)
    said = judge(*shown)
    return _known(str(said), str(said))
