"""What a model wrote as an answer with citations; its text is data, never evaluated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from whichone.files.lines import NOT_JSON
from whichone.text import normalisers

FACT_CHECKING = "fc"
LABELS = {"support": "SUPPORTS", "refute": "REFUTES"}
_REFUSALS = frozenset(
    {
        "",
        "none",
        "null",
        "unknown",
        "no answer",
        "not given",
        "not stated",
        "not mentioned",
        "na",
        "i dont know",
        "i cannot tell",
        "cannot be answered",
        "not enough info",
        "not enough information",
        "neutral",
    }
)
_REFUSING = re.compile(
    r"(i'?m |i am )?sorry\b|i (cannot|can't|can’t|am unable to|do not know)\b", re.I
)
_ABOUT_THE_TASK = re.compile(r"\b(passages?|information|question|context|text|help|assist)\b", re.I)
_FENCED = re.compile(r"```(?:json)?\s*(\{.*?\})\s*```", re.DOTALL)
_HALF = re.compile(r'"answer"\s*:\s*(null|"(?:[^"\\]|\\.)*)', re.DOTALL)
_MARK = re.compile(r"\s*\[(\d+(?:\s*,\s*\d+)*)\]")


class BrokenAnswer(Exception):
    """The text begins as JSON and contains no answer."""


class ModelAnswer(msgspec.Struct, frozen=True):
    """`text` None is a refusal; `passages` are the numbers cited, from 1, as written."""

    text: str | None
    passages: tuple[int, ...] = ()
    form: str = "json"
    """json; half: cut off or broken JSON whose answer could be read; plain: no JSON at all."""


def schema(task: str) -> Mapping[str, Any]:
    """The shape of a reply for endpoints that can be held to one."""
    answer: dict[str, Any] = {"type": ["string", "null"]}
    if task == FACT_CHECKING:
        answer["enum"] = [*LABELS.values(), None]
    return {
        "type": "object",
        "properties": {
            "answer": answer,
            "passages": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["answer", "passages"],
        "additionalProperties": False,
    }


def parse_model_text(text: str, task: str) -> ModelAnswer:
    """The answer in a model's text, however well it kept to the form it was asked for."""
    document = _object(text)
    if document is not None:
        return _said(document.get("answer"), _numbers(document.get("passages")), task, "json")
    if half := _HALF.search(text):
        value = None if half[1] == "null" else _unquoted(half[1])
        return _said(value, (), task, "half")
    if text.lstrip().startswith(("{", "```")):
        raise BrokenAnswer(f"the model's JSON is broken: {text.strip()[:80]!r}")
    cited = tuple(int(n) for mark in _MARK.findall(text) for n in mark.split(","))
    return _said(_MARK.sub("", text), cited, task, "plain")


def is_refusal(text: str) -> bool:
    """Whether a text says nothing but that it has no answer.

    A sentence of refusal speaks of what it was given or asked; "I Can't Get Next to You" is a song.
    """
    if normalisers.normalize(text) in _REFUSALS:
        return True
    return bool(_REFUSING.match(text.strip()) and _ABOUT_THE_TASK.search(text))


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object that the text is, or that it contains."""
    start, end = text.find("{"), text.rfind("}")
    fenced = _FENCED.search(text)
    for candidate in (text, fenced[1] if fenced else "", text[start : end + 1]):
        try:
            value = msgspec.json.decode(candidate.strip())
        except (*NOT_JSON, UnicodeEncodeError):
            continue
        if isinstance(value, dict) and "answer" in value:
            return value
    return None


def _said(value: Any, cited: tuple[int, ...], task: str, form: str) -> ModelAnswer:
    if isinstance(value, list):
        value = "; ".join(str(v) for v in value)
    text = None if value is None else " ".join(str(value).split())
    if text and is_refusal(text):
        text = None
    if text and task == FACT_CHECKING:
        text = next(
            (label for stem, label in LABELS.items() if text.lower().startswith(stem)), text
        )
    return ModelAnswer(text, tuple(dict.fromkeys(cited)), form)


def _numbers(value: Any) -> tuple[int, ...]:
    listed = value if isinstance(value, list) else [value]
    return tuple(n for n in listed if isinstance(n, int) and not isinstance(n, bool))


def _unquoted(text: str) -> str:
    """A JSON string that may lack its end; a broken escape at the end goes with it."""
    for end in range(len(text), max(0, len(text) - 6), -1):
        try:
            return str(msgspec.json.decode(f'{text[:end]}"'))
        except (*NOT_JSON, UnicodeEncodeError):
            continue
    return text[1:]
