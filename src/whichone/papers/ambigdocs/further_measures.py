"""A semantic matcher beside the token one: how many paraphrased answers do the tokens miss?"""

import contextlib
import re
import unicodedata
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from whichone.measures.measure import Answered, Direction, Maker, Retrieved, as_measure
from whichone.papers.ambigdocs.ambigdocs_files import TASK, Prediction, question_of_query, shown_document
from whichone.papers.ambigdocs.categories import DEFAULT, AnswerMention, Category, ScoringRules
from whichone.papers.ambigdocs.score_answer import PredictionScore, generated_text, score_prediction
from whichone.records import Passage, page_of

# Texts in, one vector each out.
Encode = Callable[[Sequence[str]], npt.NDArray[np.floating[Any]]]


def character_trigrams(texts: Sequence[str], dimensions: int = 4096) -> npt.NDArray[np.float64]:
    """Vectors that need no model: words without accents, cut into hashed runs of three letters.

    They see spelling variants and inflections ("German" and "Germany"), not synonyms.
    """
    vectors = np.zeros((len(texts), dimensions))
    for row, text in enumerate(texts):
        bare = unicodedata.normalize("NFKD", text.casefold())
        bare = "".join(c for c in bare if not unicodedata.combining(c))
        for padded in (f" {word} " for word in re.findall(r"\w+", bare)):
            for i in range(len(padded) - 2):
                vectors[row, zlib.crc32(padded[i : i + 3].encode()) % dimensions] += 1
    return vectors


def windows(text: str, length: int) -> list[str]:
    """Every run of `length` words of a text; the whole text where it is shorter."""
    tokens = text.split()
    if len(tokens) <= length:
        return [text] if tokens else []
    return [" ".join(tokens[i : i + length]) for i in range(len(tokens) - length + 1)]


def best_similarities(answers: Sequence[str], generated: str, encode: Encode) -> list[float]:
    """For each answer its highest cosine with a run of the text that is as long as the answer."""
    spans = [windows(generated, max(1, len(answer.split()))) for answer in answers]
    texts = list(dict.fromkeys([*answers, *(span for listed in spans for span in listed)]))
    if not texts:
        return []
    vectors = encode(texts).astype(np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths, lengths, 1.0)
    row = {text: n for n, text in enumerate(texts)}
    return [
        float((unit[[row[span] for span in listed]] @ unit[row[answer]]).max()) if listed else 0.0
        for answer, listed in zip(answers, spans, strict=True)
    ]


def missed_paraphrases(
    predictions: Sequence[Prediction],
    encode: Encode,
    rules: ScoringRules = DEFAULT,
    *,
    threshold: float = 0.7,
    examples: int = 20,
) -> dict[str, Any]:
    """How the two matchers judge every bearer's answer: found by both, by one, or by neither."""
    counts = {"both": 0, "tokens_only": 0, "semantic_only": 0, "neither": 0}
    missed: list[dict[str, Any]] = []
    for prediction in predictions:
        score = score_prediction(prediction, rules)
        answers = [bearer.answer for bearer in score.bearers]
        similarities = best_similarities(answers, generated_text(prediction), encode)
        for bearer, similarity in zip(score.bearers, similarities, strict=True):
            by_tokens = bearer.mention is not AnswerMention.ABSENT or bearer.answer_recall == 1.0
            by_meaning = similarity >= threshold
            kinds = ("both", "tokens_only") if by_tokens else ("semantic_only", "neither")
            counts[kinds[0 if by_meaning else 1]] += 1
            if by_meaning and not by_tokens and len(missed) < examples:
                missed.append({"qid": score.qid, "answer": bearer.answer, "similarity": similarity})
    total = sum(counts.values())
    return {
        "threshold": threshold,
        "bearers": total,
        **counts,
        "missed_share": counts["semantic_only"] / total if total else None,
        "examples": missed,
    }


def prediction_of(answered: Answered) -> Prediction:
    find, query = answered.passage, answered.query
    assert find is not None

    def passage(identity: str) -> Passage | None:
        with contextlib.suppress(KeyError):
            return find(identity)
        return None

    return Prediction(
        question=question_of_query(query, passage, answered.shown),
        gen_answer=answered.text or "",
        docs=tuple(shown_document(find(identity)) for identity in answered.shown),
        wrong_answers=tuple(query.attributes.get("wrong_answers", ())),
    )


class _ById:
    """A query's answer, distinguished by identity: the same object is scored once for all measures."""

    def __init__(self, answered: Answered) -> None:
        self.answered = answered

    def __hash__(self) -> int:
        return id(self.answered)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and other.answered is self.answered


@lru_cache(maxsize=4)
def _scored(key: _ById) -> PredictionScore:
    return score_prediction(prediction_of(key.answered))


def _of_score(
    name: str, label: str, value: Callable[[PredictionScore], float | None], **settings: Any
) -> Maker:
    return as_measure(name, label=label, of="answers", **settings)(
        lambda answered: value(_scored(_ById(answered))) if answered.query.task == TASK else None
    )


def _category(category: Category, label: str, direction: Direction) -> Maker:
    def value(score: PredictionScore) -> float | None:
        return None if score.category is None else float(score.category is category)

    return _of_score(category.name.lower(), label, value, direction=direction)


answer_recall = _of_score(
    "answer_recall", "how much of each bearer's answer the text contains", attrgetter("answer_recall")
)
entity_recall = _of_score(
    "entity_recall", "how much of what tells each bearer apart the text contains", attrgetter("entity_recall")
)
entity_answer_recall = _of_score(
    "entity_answer_recall",
    "answer recall times entity recall, bearer by bearer",
    attrgetter("entity_answer_recall"),
)
knowledge_precision = _of_score(
    "knowledge_precision",
    "the share of the text's words that appear in what was shown",
    attrgetter("knowledge_precision"),
)
str_em = _of_score(
    "str_em", "the share of the bearers' answers that appear in the text", attrgetter("str_em")
)
ramdocs_em = _of_score(
    "ramdocs_em", "all gold answers and no wrong one appear in the text", attrgetter("ramdocs_em")
)
complete = _category(Category.COMPLETE, "every bearer is answered and named", "higher")
partial = _category(
    Category.PARTIAL, "some bearers are answered and named, and no answer lacks its bearer", "neither"
)
ambiguous = _category(Category.AMBIGUOUS, "one answer without its bearer", "lower")
merged = _category(Category.MERGED, "several answers, not all of them beside their bearers", "lower")
no_answer = _category(Category.NO_ANSWER, "no bearer is answered", "lower")


# Entity coverage: of how many bearers does a retriever bring a passage among its first k?
# What a reader can answer from retrieved passages is bounded by it.


def covered_bearers(retrieved: Retrieved, k: int) -> list[bool] | None:
    """For every answered bearer of the question, whether one of its pages is in the first k passages.

    None where the question has no bearer with a page.
    """
    bearers = [
        frozenset(p.page for group in output.provenance for p in group)
        for output in retrieved.query.outputs
        if output.answer is not None and output.provenance
    ]
    if not bearers:
        return None
    all_pages = {page_of(passage) for passage in retrieved.passages[:k]}
    return [bool(pages & all_pages) for pages in bearers]


@as_measure(depth="needed", needs_text=True)
def entity_coverage(retrieved: Retrieved, k: int) -> float | None:
    """Share of the bearers with a passage among the first k."""
    covered = covered_bearers(retrieved, k)
    return None if covered is None else sum(covered) / len(covered)


@as_measure(depth="needed", needs_text=True)
def all_entities(retrieved: Retrieved, k: int) -> float | None:
    """Whether every bearer has a passage among the first k: only then a complete answer is possible."""
    covered = covered_bearers(retrieved, k)
    return None if covered is None else float(all(covered))
