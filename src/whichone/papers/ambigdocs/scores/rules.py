"""Which documents of a prediction are scored, and how: the default rules and the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from whichone.papers.ambigdocs.records import Document, Prediction
from whichone.papers.ambigdocs.scores.categories import MOVING, Threshold
from whichone.text.normalisers import ambigdocs_tokens, content_tokens

DocumentChoice = Literal["shown", "first-5", "all"]

PUBLISHED_DOCUMENTS = 5


class Rules(msgspec.Struct, frozen=True):
    """`documents`: the gold documents among those shown, the first five, or all of them.

    `published` also keeps the released scorer's treatment of answers without content tokens. `language` decides stop
    words, tokens and sentences; it is the question's (`rules_for`), and English where published.
    """

    documents: DocumentChoice = "shown"
    published: bool = False
    threshold: Threshold = MOVING
    language: str = "en"


DEFAULT = Rules()
PUBLISHED = Rules(documents="first-5", published=True)


def rules_for(prediction: Prediction, rules: Rules) -> Rules:
    """The rules in the language of the question; the released scorer is English whatever is asked."""
    language = prediction.question.language
    if rules.published or language == rules.language:
        return rules
    return msgspec.structs.replace(rules, language=language)


def chosen_documents(prediction: Prediction, choice: DocumentChoice) -> tuple[Document, ...]:
    """The gold documents an answer is measured against, before any is left out.

    A file that does not say what was shown is taken to have shown everything.
    """
    gold = prediction.question.documents
    if choice == "first-5":
        return gold[:PUBLISHED_DOCUMENTS]
    if choice == "all" or prediction.docs is None:
        return gold
    return tuple(g for g in gold if any(g.same_as(shown) for shown in prediction.docs))


def answer_tokens(answer: str, rules: Rules) -> list[str]:
    """The tokens of an answer that must be found.

    "The Who" consists of stop words; the released scorer can never find it. By default such an
    answer keeps its stop words.
    """
    content = content_tokens(answer, language=rules.language)
    return content if content or rules.published else ambigdocs_tokens(answer, rules.language)


def has_answer(document: Document, rules: Rules) -> bool:
    """Whether a document can be scored: it has an answer and, by default, one with words."""
    if document.answer is None:
        return False
    return rules.published or bool(answer_tokens(document.answer, rules))


def scored_documents(prediction: Prediction, rules: Rules) -> tuple[Document, ...]:
    rules = rules_for(prediction, rules)
    return tuple(d for d in chosen_documents(prediction, rules.documents) if has_answer(d, rules))


def without_answer(prediction: Prediction, rules: Rules) -> Sequence[Document]:
    """The documents that were chosen but cannot be scored."""
    rules = rules_for(prediction, rules)
    return [d for d in chosen_documents(prediction, rules.documents) if not has_answer(d, rules)]
