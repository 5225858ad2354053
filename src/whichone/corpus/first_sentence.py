"""The names that a page's first sentence gives its subject: its opening words and what it is called."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from whichone.names import name_key
from whichone.text.language import base_code, split_sentences

_END = re.compile(r"(?<=[a-z0-9\)\"”])[.!?](?=\s+[A-Z\"“]|\s*$)")
_OPENING = re.compile(
    r"^\W*(?P<name>.+?)\s*(?:[,(–—]|\s(?:is|was|are|were|refers?|may refer)\b)", re.UNICODE
)
_OPENINGS = {
    "de": r"ist|war|sind|waren|bezeichnet|steht\s+für",
    "es": r"es|fue|era|son|eran|fueron|puede\s+referirse",
    "fr": r"est|était|fut|sont|étaient|désigne",
}
"""What follows a page's subject in other languages."""
_CALLED = re.compile(
    r"\b(?:(?:better|best|also|commonly|professionally|simply|popularly|formerly|often|sometimes|mononymously)\s+)*"
    r"(?:known|called|credited|billed|nicknamed|styled|written)(?:\s+\w+ly)?\s+(?:as\s+|simply\s+)?"
    r"(?P<name>(?:[\"“'‘][^\"”’]{2,60}[\"”’])|(?:the\s+)?[A-Z][\w.’'-]*(?:\s+(?:[A-Z][\w.’'-]*|of|the|de|van|von|and|al|bin|ibn|la|le))*)"
)
_BORN = re.compile(
    r"\bborn\s+(?:as\s+)?(?P<name>[A-Z][\w.’'-]*(?:\s+(?:[A-Z][\w.’'-]*|de|van|von|of|la|le))+)"
)
_QUOTED = re.compile(r"\s*[\"“]([^\"”]{2,40})[\"”]\s*")
_MONTHS = frozenset(
    [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)
LONGEST = 8


def first_sentence(text: str, language: str = "en") -> str:
    """Up to the first full stop that ends a sentence; at most 600 characters are looked at."""
    start = text[:600]
    if base_code(language) != "en":
        return next(iter(split_sentences(start, language)), start)
    end = _END.search(start)
    return start[: end.start() + 1] if end else start


def names_in_first_sentence(title: str, text: str, language: str = "en") -> Iterator[str]:
    """Names besides the title: the sentence's subject, and, in English, names after "known as" or "born".

    The opening words count only where they share a word with the title: "The 1989 season was" names
    nobody.
    """
    sentence, code = first_sentence(text, language), base_code(language)
    opening = _opening(code).match(sentence)
    if opening is not None:
        yield from _subject(opening["name"], title)
    for pattern in (_CALLED, _BORN) if code == "en" else ():
        for match in pattern.finditer(sentence):
            name = match["name"].strip("\"“”'‘’ .,")
            if _is_name(name):
                yield name


@functools.cache
def _opening(code: str) -> re.Pattern[str]:
    if code == "en":
        return _OPENING
    verbs = rf"|\s(?:{_OPENINGS[code]})\b" if code in _OPENINGS else ""
    return re.compile(rf"^\W*(?P<name>.+?)\s*(?:[,(–—]{verbs})")


def _subject(opening: str, title: str) -> Iterator[str]:
    name = opening.strip(" \"“”'‘’")
    words = set(name_key(name).split())
    if not _is_name(name) or not words & set(name_key(title).split()):
        return
    yield name
    quoted = _QUOTED.search(name)
    if quoted is not None:  # William "Bill" Evans is William Evans and Bill Evans
        before, after = name[: quoted.start()].strip(), name[quoted.end() :].strip()
        if before and after:
            yield f"{before} {after}"
            yield f"{quoted[1]} {after.split()[-1]}"


def _is_name(text: str) -> bool:
    words = text.split()
    if not words or len(words) > LONGEST or len(text) < 2:
        return False
    first = words[1] if words[0].lower() == "the" and len(words) > 1 else words[0]
    return (first[0].isupper() or first[0].isdigit()) and words[0].lower() not in _MONTHS
