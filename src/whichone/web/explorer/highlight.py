"""Text with the words of a question marked, escaped: nothing in it can become markup."""

from __future__ import annotations

import functools
import re

from markupsafe import Markup, escape

from whichone.text.ambigdocs import stop_words
from whichone.web.search_key import fold

_WORD = re.compile(r"\w+")
_LONGEST = 280


@functools.lru_cache(maxsize=256)
def words_of(question: str) -> frozenset[str]:
    """The words of a question that say something."""
    return frozenset(w for w in _WORD.findall(fold(question)) if w not in stop_words())


def highlighted(text: str, question: str, longest: int = _LONGEST) -> Markup:
    """The text, cut to a length, with the question's words in <mark>."""
    wanted = words_of(question)
    cut = text if len(text) <= longest else text[:longest].rsplit(" ", 1)[0] + " …"
    parts: list[Markup] = []
    end = 0
    for found in _WORD.finditer(cut):
        if fold(found.group()) in wanted:
            parts += [escape(cut[end : found.start()]), Markup("<mark>"), escape(found.group())]
            parts.append(Markup("</mark>"))
            end = found.end()
    parts.append(escape(cut[end:]))
    return Markup("").join(parts)
