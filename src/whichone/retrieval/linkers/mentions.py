"""Where a question mentions somebody: by known names, by spaCy or flair, or by given marks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from whichone.errors import Missing, UsageError, did_you_mean
from whichone.records import Question
from whichone.retrieval.linkers.candidates import Names, Span

Finder = Callable[[Question], list[Span]]

FINDERS = ("auto", "names", "given", "spacy", "flair")
_MARKS = re.compile(r"\[START_ENT\]\s*(.*?)\s*\[END_ENT\]", re.S)
_NO_ENTITIES = frozenset(
    ["CARDINAL", "ORDINAL", "DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "LANGUAGE"]
)
_POSSESSIVE = re.compile(r"['’]s$")


def make_finder(
    kind: str, names: Names, *, model: str | None = None
) -> tuple[Finder, dict[str, Any]]:
    """The finder, and what decides what it finds.

    auto takes the given marks where a question has some, else the known names.
    """
    if kind == "given":
        return given, {"mentions": "given"}
    if kind == "names":
        return (lambda question: names.find(question.text)), {"mentions": "names"}
    if kind == "auto":
        return (lambda question: given(question) or names.find(question.text)), {"mentions": "auto"}
    if kind == "spacy":
        return spacy_finder(model)
    if kind == "flair":
        return flair_finder(model or "ner")
    raise UsageError(f"mentions={kind} is not known", hint=did_you_mean(kind, FINDERS))


def given(question: Question) -> list[Span]:
    """Between [START_ENT] and [END_ENT], else where the question's own mention stands."""
    marked = [
        Span(text=m[1], start=m.start(), end=m.end())
        for m in _MARKS.finditer(question.text)
        if m[1]
    ]
    if marked or not question.mention:
        return marked
    at = question.text.find(question.mention)
    start, end = (at, at + len(question.mention)) if at >= 0 else (0, 0)
    return [Span(text=question.mention, start=start, end=end)]


def bare(name: str) -> list[str]:
    """A mention as written, without a possessive, and without an article."""
    short = _POSSESSIVE.sub("", name)
    without = re.sub(r"^(?:the|a|an)\s+", "", short, flags=re.I)
    return list(dict.fromkeys([name, short, without]))


def spacy_finder(model: str | None) -> tuple[Finder, dict[str, Any]]:
    """Named entities by a spaCy pipeline; numbers and dates are none."""
    try:
        import spacy
    except ImportError as error:
        raise Missing("the package spacy is not installed", hint="pip install spacy") from error
    name = model or _spacy_model(spacy.util.get_installed_models())
    try:
        pipeline = spacy.load(name)
    except OSError as error:
        raise Missing(f"there is no spaCy pipeline {name!r}", hint=str(error)) from error
    parts = pipeline.pipe_names
    if not any("doc.ents" in pipeline.get_pipe_meta(part).assigns for part in parts):
        raise UsageError(f"the spaCy pipeline {name} finds no named entities (it has no ner)")

    def find(question: Question) -> list[Span]:
        text = question.text[: pipeline.max_length]
        return [
            Span(text=e.text, start=e.start_char, end=e.end_char)
            for e in pipeline(text).ents
            if e.label_ not in _NO_ENTITIES
        ]

    version = pipeline.meta.get("version", "")
    return find, {"mentions": "spacy", "model": name, "model_version": version}


def _spacy_model(installed: list[str]) -> str:
    known = sorted(
        (m for m in installed if "_core_" in m), key=lambda m: ("en_core_web_sm" not in m, m)
    )
    if not known:
        raise Missing(
            "no spaCy pipeline is installed",
            hint="install one, such as en_core_web_sm, or -o model=PATH",
        )
    return known[0]


def flair_finder(model: str) -> tuple[Finder, dict[str, Any]]:
    """Named entities by a flair tagger, with its confidence."""
    try:
        from flair.data import Sentence
        from flair.models import SequenceTagger
    except ImportError as error:
        raise Missing("the package flair is not installed", hint="pip install flair") from error
    tagger = SequenceTagger.load(model)

    def find(question: Question) -> list[Span]:
        sentence = Sentence(question.text)
        tagger.predict(sentence)
        return [
            Span(text=s.text, start=s.start_position, end=s.end_position, score=float(s.score))
            for s in sentence.get_spans(tagger.label_type)
        ]

    return find, {"mentions": "flair", "model": model}
