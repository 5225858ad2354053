"""Whose answer is whose, where a count of tokens cannot say: answers inside others, titles that equal the name.

None of this is in the released scorer (`--rules published` leaves it out).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from whichone.papers.ambigdocs.records import Document
from whichone.text.ambigdocs import content_tokens
from whichone.text.squad import tokens

_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+(?=\S)")
_PARENTHESES = re.compile(r"^\s*[(\[]([^)\]]*)[)\]]")


def inside(short: str, long: str) -> bool:
    """Whether one answer is part of another, as whole words."""
    small, large = tokens(short), tokens(long)
    n = len(small)
    return 0 < n < len(large) and any(large[i : i + n] == small for i in range(len(large) - n + 1))


def own_text(form: str, own: Sequence[str], others: Iterable[str], text: str) -> str:
    """The text without the longer answers of other bearers that a form is part of.

    In "B is a jazz musician" nobody is said to be a musician, if that is another bearer's answer.
    """
    for other in others:
        if other not in own and inside(form, other):
            for match in reversed(list(_found(other, text))):
                text = f"{text[: match.start()]} {text[match.end() :]}"
    return text


def _found(words: str, text: str) -> Iterator[re.Match[str]]:
    """Where some words follow one another in a text, whatever signs are between them."""
    wanted = _WORD.findall(words)
    if wanted:
        pattern = r"(?<!\w)" + r"\W+".join(map(re.escape, wanted)) + r"(?!\w)"
        yield from re.finditer(pattern, text, re.IGNORECASE)


def says_more(form: str, own: Sequence[str], others: Iterable[str], text: str) -> bool:
    """Whether the text has a word of the form beyond the shorter answers of others that it contains."""
    shorter = [o for o in others if o not in own and inside(o, form)]
    if not shorter:
        return True
    extra = set(tokens(form)).difference(*(tokens(other) for other in shorter))
    return not extra.isdisjoint(tokens(text))


def indistinct(documents: Sequence[Document]) -> frozenset[int]:
    """The places of documents whose titles do not tell them from another: catalogues' records of one name."""
    keys = [tokens(d.title) for d in documents]
    return frozenset(n for n, key in enumerate(keys) if keys.count(key) > 1)


def own_words(documents: Sequence[Document], name: str, question: str) -> list[frozenset[str]]:
    """For each document the words of its text that no other document has, answers and question aside."""
    answers = [word for d in documents for form in d.answers() for word in content_tokens(form)]
    aside = [*answers, *content_tokens(name), *content_tokens(question)]
    words = [frozenset(content_tokens(f"{d.title} {d.text}", aside)) for d in documents]
    return [
        own.difference(*(other for place, other in enumerate(words) if place != n))
        for n, own in enumerate(words)
    ]


def named_by_text(
    place: int, documents: Sequence[Document], words: Sequence[frozenset[str]], generated: str
) -> bool:
    """Whether what is said beside an answer of this document is of its own text, and of no other's.

    Beside an answer: from the answer before it to the answer behind it, within a sentence. Parentheses that
    follow the answer decide, then what is in front of it, then what follows.
    """
    for sentence in _SENTENCE_END.split(generated):
        result = sorted(_answers(documents, sentence))
        for n, (start, end, whose) in enumerate(result):
            if whose != place:
                continue
            before = sentence[result[n - 1][1] if n else 0 : start]
            behind = sentence[end : result[n + 1][0] if n + 1 < len(result) else None]
            added = _PARENTHESES.match(behind)
            before = _PARENTHESES.sub("", before) if n else before
            for part in (added[1] if added else "", before, behind):
                said = set(content_tokens(part))
                speaks_of = [k for k, own in enumerate(words) if not own.isdisjoint(said)]
                if speaks_of:
                    if speaks_of == [place]:
                        return True
                    break
    return False


def _answers(documents: Sequence[Document], sentence: str) -> Iterable[tuple[int, int, int]]:
    """Where answers are in a sentence: begin, end, and the place of the document."""
    for place, document in enumerate(documents):
        for form in document.answers():
            for match in _found(form, sentence):
                yield match.start(), match.end(), place


def named_alone(title: str, others: Sequence[str], generated: str) -> bool:
    """Whether a title that is the shared name appears in the text for itself.

    "Cambridge, Massachusetts" and "the Cambridge in Massachusetts" name the other Cambridge.
    """
    own = _WORD.findall(title.casefold())
    longer = [
        words for other in others if (words := _WORD.findall(other.casefold()))[: len(own)] == own
    ]
    tails = [
        r"\W+(?:(?:in|of|the|from|at)\W+)*".join(map(re.escape, w[len(own) :])) for w in longer
    ]
    elsewhere = [
        re.compile(rf"\W+(?:(?:in|of|the|from|at)\W+)*{tail}(?!\w)", re.IGNORECASE)
        for tail in tails
        if tail
    ]
    return any(
        not any(pattern.match(generated, match.end()) for pattern in elsewhere)
        for match in _found(title, generated)
    )
