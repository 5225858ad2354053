"""Whose answer is whose, where a count of tokens cannot say: answers inside others, titles that equal the name.

None of this is in the released scorer (`--rules published` leaves it out).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from whichone.papers.ambigdocs.records import Document
from whichone.text.language import ENGLISH, base_code
from whichone.text.normalisers import ambigdocs_tokens, content_tokens, sentences, stop_words

_WORD = re.compile(r"\w+")
_PARENTHESES = re.compile(r"^\s*[(\[]([^)\]]*)[)\]]")


def inside(short: str, long: str, language: str = ENGLISH) -> bool:
    """Whether one answer is part of another, as whole words."""
    small, large = ambigdocs_tokens(short, language), ambigdocs_tokens(long, language)
    n = len(small)
    return 0 < n < len(large) and any(large[i : i + n] == small for i in range(len(large) - n + 1))


def own_text(
    form: str, own: Sequence[str], others: Iterable[str], text: str, language: str = ENGLISH
) -> str:
    """The text without the longer answers of other bearers that a form is part of.

    In "B is a jazz musician" nobody is said to be a musician, if that is another bearer's answer.
    """
    for other in others:
        if other not in own and inside(form, other, language):
            for match in reversed(list(_found(other, text))):
                text = f"{text[: match.start()]} {text[match.end() :]}"
    return text


def _found(words: str, text: str) -> Iterator[re.Match[str]]:
    """Where some words follow one another in a text, whatever signs are between them."""
    wanted = _WORD.findall(words)
    if wanted:
        pattern = r"(?<!\w)" + r"\W+".join(map(re.escape, wanted)) + r"(?!\w)"
        yield from re.finditer(pattern, text, re.IGNORECASE)


def says_more(
    form: str, own: Sequence[str], others: Iterable[str], text: str, language: str = ENGLISH
) -> bool:
    """Whether the text has a word of the form beyond the shorter answers of others that it contains."""
    shorter = [o for o in others if o not in own and inside(o, form, language)]
    if not shorter:
        return True
    extra = set(ambigdocs_tokens(form, language)).difference(
        *(ambigdocs_tokens(o, language) for o in shorter)
    )
    return not extra.isdisjoint(ambigdocs_tokens(text, language))


def indistinct(documents: Sequence[Document], language: str = ENGLISH) -> frozenset[int]:
    """The places of documents whose titles do not tell them from another: catalogues' records of one name."""
    keys = [ambigdocs_tokens(d.title, language) for d in documents]
    return frozenset(n for n, key in enumerate(keys) if keys.count(key) > 1)


def own_words(
    documents: Sequence[Document], name: str, question: str, language: str = ENGLISH
) -> list[frozenset[str]]:
    """For each document the words of its text that no other document has, answers and question aside."""
    answers = [form for d in documents for form in d.answers()]
    aside = content_tokens(" ".join([*answers, name, question]), language=language)
    words = [frozenset(content_tokens(f"{d.title} {d.text}", aside, language)) for d in documents]
    return [
        own.difference(*(other for place, other in enumerate(words) if place != n))
        for n, own in enumerate(words)
    ]


def named_by_text(
    place: int,
    documents: Sequence[Document],
    words: Sequence[frozenset[str]],
    generated: str,
    language: str = ENGLISH,
) -> bool:
    """Whether what is said beside an answer of this document is of its own text, and of no other's.

    Beside an answer: from the answer before it to the answer behind it, within a sentence. Parentheses that
    follow the answer decide, then what is in front of it, then what follows.
    """
    for sentence in sentences(generated, language):
        result = sorted(_answers(documents, sentence))
        for n, (start, end, whose) in enumerate(result):
            if whose != place:
                continue
            before = sentence[result[n - 1][1] if n else 0 : start]
            behind = sentence[end : result[n + 1][0] if n + 1 < len(result) else None]
            added = _PARENTHESES.match(behind)
            before = _PARENTHESES.sub("", before) if n else before
            for part in (added[1] if added else "", before, behind):
                said = set(content_tokens(part, language=language))
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


def named_alone(title: str, others: Sequence[str], generated: str, language: str = ENGLISH) -> bool:
    """Whether a title that is the shared name appears in the text for itself.

    "Cambridge, Massachusetts" and "the Cambridge in Massachusetts" name the other Cambridge.
    """
    own = _WORD.findall(title.casefold())
    longer = [
        words for other in others if (words := _WORD.findall(other.casefold()))[: len(own)] == own
    ]
    between = rf"\W+(?:(?:{_particles(language)})\W+)*"
    tails = [between.join(map(re.escape, w[len(own) :])) for w in longer]
    elsewhere = [re.compile(rf"{between}{tail}(?!\w)", re.IGNORECASE) for tail in tails if tail]
    return any(
        not any(pattern.match(generated, match.end()) for pattern in elsewhere)
        for match in _found(title, generated)
    )


def _particles(language: str) -> str:
    """What may be between a name and what tells it apart, as alternatives of a pattern."""
    if base_code(language) == ENGLISH:
        return "in|of|the|from|at"
    return "|".join(sorted(map(re.escape, stop_words(language)))) or "(?!)"
