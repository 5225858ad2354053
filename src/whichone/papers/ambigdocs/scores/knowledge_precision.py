"""Knowledge precision: how much of an answer's wording was in front of the model."""

from __future__ import annotations

from collections.abc import Sequence

from whichone.papers.ambigdocs.records import Document
from whichone.papers.ambigdocs.scores.overlap import overlap
from whichone.text.ambigdocs import content_tokens

_PROMPT_WORDS = (
    "answer",
    "answer",
    "given",
    "question",
    "question",
    "using",
    "provided",
    "context",
)


def knowledge_precision(question: str, shown: Sequence[Document], generated: str) -> float:
    """Precision of the answer's content tokens against the prompt: question, titles, texts.

    The words of the published prompt itself count as given, "context" once more a passage.
    """
    given = [*_PROMPT_WORDS, *["context"] * len(shown), *content_tokens(question)]
    for document in shown:
        given += content_tokens(document.title) + content_tokens(document.text)
    return overlap(given, content_tokens(generated)).precision
