"""Whether a passage states a fact, instead of merely containing its answer: by rule, or by an NLI model.

The rule: a sentence of the bearer's own page has the answer and, within a few words of it, a cue of the property
(`properties.toml`, else a word of its label); no cue of another fact is nearer, nothing negates it, and it does
not speak of a relative.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol

from whichone.papers.ambigdocs.properties import property_rules
from whichone.records import Passage, Question, ReadingTask
from whichone.text.normalisers import sentences, stop_words

WITHIN = 14
"""Words between cue and answer at most."""
AFTER = 4
"""A cue behind the answer counts as so many words farther: English puts it in front."""
_WORD = re.compile(r"\w+")
_NEGATION = re.compile(r"\b(not|never|neither|nor|without|denied|refused|instead of)\b", re.I)
_RELATIVE = re.compile(
    r"\b(his|her|its|their|whose) (?:\w+ )?(father|mother|parents|brothers?|sisters?|sons?|daughters?|wife|husband|"
    r"uncle|aunt|cousin|grandfather|grandmother|friend|teacher|rival|predecessor|successor)\b",
    re.I,
)
_FAMILY = frozenset({"P22", "P25", "P26", "P40", "P3373"})
_CLAUSE = 6
Method = Literal["rule", "none"]


class Entailment(Protocol):
    """What decides whether a passage that contains an answer states the fact."""

    def states(self, passage: Passage, fact: Claimed) -> bool: ...

    def describe(self) -> str: ...


class Claimed:
    """A fact as it is looked for in a passage: whose, which property, and the answer as it is written."""

    def __init__(self, title: str, prop: str, label: str | None, answer: str) -> None:
        self.title, self.property, self.label, self.answer = title, prop, label, answer
        self.pattern = answer_pattern(answer)


@lru_cache(maxsize=4096)
def answer_pattern(answer: str) -> re.Pattern[str] | None:
    """An answer as whole words, whatever signs are between them; a number not as part of another."""
    if re.fullmatch(r"[-+]?\d[\d.,\s\u202f\u00a0]*", answer):
        return re.compile(rf"(?<![\d.,]){re.escape(answer)}(?!\d|[.,]\d)")
    words = _WORD.findall(answer)
    if not words:
        return None
    return re.compile(r"(?<!\w)" + r"\W+".join(map(re.escape, words)) + r"(?!\w)", re.I)


class Contained:
    """No entailment: the passage contains the answer."""

    def states(self, passage: Passage, fact: Claimed) -> bool:
        return fact.pattern is not None and fact.pattern.search(passage.text) is not None

    def describe(self) -> str:
        return "the passage contains the answer; whether it states the fact was not looked at"


class ByRule:
    """The rule of this module."""

    def states(self, passage: Passage, fact: Claimed) -> bool:
        if fact.pattern is None or fact.pattern.search(passage.text) is None:
            return False
        cues, rivals = _patterns(fact.property, fact.label)
        return any(
            _stated(text, fact.pattern, cues, rivals, family=fact.property in _FAMILY)
            for text in sentences(passage.text)
        )

    def describe(self) -> str:
        return "a sentence has the answer beside words that state the property (rules, no model), in English"


class ByModel:
    """A model of textual entailment (labels entailment, contradiction and neutral) judges each passage."""

    def __init__(self, model: str | Path, device: str | None = None) -> None:
        from whichone.reading.claims import ClaimChecker

        self.model = str(model)
        self._checker = ClaimChecker(model, device=device)

    def states(self, passage: Passage, fact: Claimed) -> bool:
        if not Contained().states(passage, fact):
            return False
        label = fact.label or "answer"
        claim = f"The {label} of {fact.title} is {fact.answer}."
        task = ReadingTask(
            question=Question(id="claim", text=claim, task="fc"), passages=(passage,)
        )
        (said,) = self._checker.read([task])
        return said.text == "SUPPORTS"

    def describe(self) -> str:
        return f"the passage entails the fact by the NLI model {Path(self.model).name}"


def entailment_by(method: str, language: str = "en") -> Entailment:
    """`rule`, `none`, or the folder or name of an NLI model; rules are there for English alone."""
    if method == "none" or (method == "rule" and language.partition("-")[0] != "en"):
        return Contained()
    return ByRule() if method == "rule" else ByModel(method)


@lru_cache(maxsize=1024)
def _patterns(
    prop: str, label: str | None
) -> tuple[tuple[re.Pattern[str], ...], tuple[re.Pattern[str], ...]]:
    rule = property_rules().get(prop)
    if rule is not None:
        return _compiled(rule.cues), _compiled(rule.rivals)
    words = [
        w for w in _WORD.findall((label or "").lower()) if w not in stop_words() and len(w) > 2
    ]
    # the first letters of a word stand for its forms: "manufactur" for manufacturer and manufactured
    return _compiled([rf"\b{re.escape(word[: max(4, len(word) - 3)])}\w*" for word in words]), ()


def _compiled(texts: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(text, re.I) for text in texts)


def _stated(
    sentence: str,
    answer: re.Pattern[str],
    cues: Sequence[re.Pattern[str]],
    rivals: Sequence[re.Pattern[str]],
    *,
    family: bool,
) -> bool:
    for result in answer.finditer(sentence):
        near = _nearest(sentence, result.span(), cues)
        rival = _nearest(sentence, result.span(), rivals)
        if near is None or near[0] > WITHIN or (rival is not None and rival[0] < near[0]):
            continue
        start = min(near[1], result.start())
        before = " ".join(sentence[:start].split()[-_CLAUSE:])
        clause = f"{before} {sentence[start : result.end()]}"
        if _NEGATION.search(clause) or (not family and _RELATIVE.search(clause)):
            continue
        return True
    return False


def _nearest(
    sentence: str, answer: tuple[int, int], patterns: Sequence[re.Pattern[str]]
) -> tuple[int, int] | None:
    """How many words the nearest match is away from the answer, and where it begins; None without one."""
    best: tuple[int, int] | None = None
    for pattern in patterns:
        for match in pattern.finditer(sentence):
            if match.end() <= answer[0]:
                distance = len(_WORD.findall(sentence[match.end() : answer[0]]))
            elif match.start() >= answer[1]:
                distance = AFTER + len(_WORD.findall(sentence[answer[1] : match.start()]))
            else:
                continue
            if best is None or distance < best[0]:
                best = (distance, match.start())
    return best
