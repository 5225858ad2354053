"""Questions in words: one of a slot's published templates (zsRE), else ours."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from whichone.reading.extractive import as_question
from whichone.records import Query, Question

TEMPLATES = "template_questions"


def template_questions(query: Query) -> tuple[str, ...]:
    """The questions that a record itself offers for its slot, in KILT's `meta` or as an attribute."""
    record = query.attributes.get("kilt")
    meta: Any = record.get("meta") if isinstance(record, Mapping) else None
    held = meta.get(TEMPLATES) if isinstance(meta, Mapping) else None
    result = held or query.attributes.get(TEMPLATES) or ()
    return tuple(str(text) for text in result if str(text).strip())


def question_in_words(query: Query) -> str:
    """One of its templates at random, always the same one (KILT, appendix C); a slot without any by ours."""
    templates = template_questions(query)
    if not templates:
        return as_question(query.question())
    number = int.from_bytes(hashlib.sha256(query.id.encode()).digest()[:8], "big")
    return templates[number % len(templates)]


def worded(query: Query) -> Question:
    """What a reader of questions is asked: a template in place of the slot where there is one."""
    question = query.question()
    if not template_questions(query):
        return question
    return msgspec.structs.replace(question, text=question_in_words(query))
