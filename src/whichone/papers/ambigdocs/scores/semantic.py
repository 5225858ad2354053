"""A semantic matcher beside the token one: how many paraphrased answers do the tokens miss?"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from whichone.papers.ambigdocs.records import Prediction
from whichone.papers.ambigdocs.scores.categories import Mention
from whichone.papers.ambigdocs.scores.rules import DEFAULT, Rules
from whichone.papers.ambigdocs.scores.score import generated_text, score_prediction

Floats = npt.NDArray[np.float64]

_WORD = re.compile(r"\w+")


class Encoder(Protocol):
    """Texts in, one vector each out; any sentence-embedding model fits."""

    def encode(self, texts: Sequence[str]) -> npt.ArrayLike: ...


class CharacterTrigrams:
    """An encoder that needs no model: words without accents, cut into hashed runs of three letters.

    It sees spelling variants and inflections ("German" and "Germany"), not synonyms.
    """

    def __init__(self, dimensions: int = 4096) -> None:
        self.dimensions = dimensions

    def encode(self, texts: Sequence[str]) -> Floats:
        vectors = np.zeros((len(texts), self.dimensions))
        for row, text in enumerate(texts):
            bare = unicodedata.normalize("NFKD", text.casefold())
            bare = "".join(c for c in bare if not unicodedata.combining(c))
            for word in _WORD.findall(bare):
                padded = f" {word} "
                for i in range(len(padded) - 2):
                    vectors[row, zlib.crc32(padded[i : i + 3].encode()) % self.dimensions] += 1
        return vectors


def windows(text: str, length: int) -> list[str]:
    """Every run of `length` words of a text; the whole text where it is shorter."""
    tokens = text.split()
    if len(tokens) <= length:
        return [text] if tokens else []
    return [" ".join(tokens[i : i + length]) for i in range(len(tokens) - length + 1)]


def best_similarities(answers: Sequence[str], generated: str, encoder: Encoder) -> list[float]:
    """For each answer its highest cosine with a run of the text that is as long as the answer."""
    spans = [windows(generated, max(1, len(answer.split()))) for answer in answers]
    texts = list(dict.fromkeys([*answers, *(span for listed in spans for span in listed)]))
    if not texts:
        return []
    vectors = np.asarray(encoder.encode(texts), np.float64)
    lengths = np.linalg.norm(vectors, axis=1)
    lengths[lengths == 0] = 1.0
    unit = vectors / lengths[:, None]
    row = {text: n for n, text in enumerate(texts)}
    return [
        float((unit[[row[span] for span in listed]] @ unit[row[answer]]).max()) if listed else 0.0
        for answer, listed in zip(answers, spans, strict=True)
    ]


def missed_paraphrases(
    predictions: Sequence[Prediction],
    encoder: Encoder,
    rules: Rules = DEFAULT,
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
        similarities = best_similarities(answers, generated_text(prediction), encoder)
        for bearer, similarity in zip(score.bearers, similarities, strict=True):
            by_tokens = bearer.mention is not Mention.ABSENT or bearer.answer_recall == 1.0
            by_meaning = similarity >= threshold
            if by_tokens:
                counts["both" if by_meaning else "tokens_only"] += 1
            else:
                counts["semantic_only" if by_meaning else "neither"] += 1
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
