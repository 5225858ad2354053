"""A semantic matcher beside the token one: how many paraphrased answers do the tokens miss?"""

import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from whichone.errors import Missing, missing_extra
from whichone.measures.measure import Answered, Direction, Measure, Retrieved, needs_depth, no_depth
from whichone.papers.ambigdocs.ambigdocs_records import Prediction, question_of, shown_document
from whichone.papers.ambigdocs.categories import DEFAULT, Category, Mention, ScoringRules
from whichone.papers.ambigdocs.score_answer import PredictionScore, generated_text, score_prediction
from whichone.records import Answer, Passage, ReadingTask, page_of

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


TASK = "ambigdocs"


def prediction_of(answered: Answered) -> Prediction:
    """An answer with the passages shown, as AmbigDocs' own files hold it."""
    find = answered.passage
    assert find is not None
    query = answered.query
    return Prediction(
        question=question_of(query, _or_none(find), answered.shown),
        gen_answer=answered.text or "",
        docs=tuple(shown_document(find(identity)) for identity in answered.shown),
        wrong_answers=tuple(query.attributes.get("wrong_answers", ())),
    )


def _or_none(find: Callable[[str], Passage]) -> Callable[[str], Passage | None]:
    def look(identity: str) -> Passage | None:
        try:
            return find(identity)
        except KeyError:
            return None

    return look


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


def _measure(
    name: str, label: str, value: Callable[[PredictionScore], float | None], direction: Direction = "higher"
) -> Callable[[int | None], Measure]:
    def of(answered: Answered) -> float | None:
        return value(_scored(_ById(answered))) if answered.query.task == TASK else None

    def measure(k: int | None) -> Measure:
        no_depth(name, k)
        return Measure(name, of, label=label, direction=direction, of="answers")

    return measure


def _recall(name: str, label: str) -> Callable[[int | None], Measure]:
    return _measure(name, label, lambda score: getattr(score, name))


def _category(category: Category, label: str, direction: Direction) -> Callable[[int | None], Measure]:
    def value(score: PredictionScore) -> float | None:
        return None if score.category is None else float(score.category is category)

    return _measure(category.name.lower(), label, value, direction)


answer_recall = _recall("answer_recall", "how much of each bearer's answer the text contains")
entity_recall = _recall("entity_recall", "how much of what tells each bearer apart the text contains")
entity_answer_recall = _recall("entity_answer_recall", "answer recall times entity recall, bearer by bearer")
knowledge_precision = _recall(
    "knowledge_precision", "the share of the text's words that appear in what was shown"
)
str_em = _recall("str_em", "the share of the bearers' answers that appear in the text")
ramdocs_em = _recall("ramdocs_em", "all gold answers and no wrong one appear in the text")
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


def entity_coverage(k: int | None = None) -> Measure:
    """Share of the bearers with a passage among the first k."""
    depth = needs_depth("entity_coverage", k)

    def value(retrieved: Retrieved) -> float | None:
        covered = covered_bearers(retrieved, depth)
        return None if covered is None else sum(covered) / len(covered)

    return Measure("entity_coverage", value, k=depth, needs_text=True)


def all_entities(k: int | None = None) -> Measure:
    """Whether every bearer has a passage among the first k: only then a complete answer is possible."""
    depth = needs_depth("all_entities", k)

    def value(retrieved: Retrieved) -> float | None:
        covered = covered_bearers(retrieved, depth)
        return None if covered is None else float(all(covered))

    return Measure("all_entities", value, k=depth, needs_text=True)


LONGEST_INPUT, STRIDE, LONGEST_SPAN = 384, 128, 30


def best_span(
    start: Floats, end: Floats, usable: Sequence[bool], longest: int = LONGEST_SPAN
) -> tuple[int, int, float] | None:
    """First and last token of the best span of usable tokens, and its score."""
    best: tuple[int, int, float] | None = None
    for first in _highest(start, usable):
        for last in _highest(end, usable):
            score = float(start[first] + end[last])
            if first <= last < first + longest and (best is None or score > best[2]):
                best = first, last, score
    return best


def _highest(scores: Floats, usable: Sequence[bool]) -> list[int]:
    """The places of the twenty highest usable scores, the highest first."""
    order = np.argsort(-scores, kind="stable").tolist()
    return [place for place in order if usable[place]][:20]


class SpanReader:
    """A model of the SQuAD 2.0 kind; no answer where its first token scores higher than any span.

    The paper uses roberta-base-squad2 with 384 tokens and the threshold 0.
    """

    def __init__(self, model: str) -> None:
        try:
            from transformers import AutoModelForQuestionAnswering, AutoTokenizer
        except ImportError:
            raise missing_extra("transformers", "dense") from None
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(model)
            self._model: Any = AutoModelForQuestionAnswering.from_pretrained(model).eval()
        except (OSError, ValueError) as error:
            raise Missing(
                f"no question-answering model {model!r}: {str(error).splitlines()[0]}",
                hint="give a folder that contains one, or module:function of your own",
            ) from error
        self.name = model

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            text = " ".join(passage.text for passage in task.passages)
            span = self.span(task.question.text, text) if text.strip() else None
            yield Answer(question=task.question.id, text=span)

    def span(self, question: str, text: str) -> str | None:
        """The best span over all windows of a text, None where no answer is better in every one."""
        import torch

        windows = self._tokenizer(
            question,
            text,
            truncation="only_second",
            max_length=LONGEST_INPUT,
            stride=STRIDE,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_tensors="pt",
            padding=True,
        )
        offsets = windows.pop("offset_mapping").tolist()
        windows.pop("overflow_to_sample_mapping", None)
        with torch.no_grad():
            outputs = self._model(**windows)
        starts = outputs.start_logits.double().numpy()
        ends = outputs.end_logits.double().numpy()
        best: tuple[float, str] | None = None
        nothing = min(float(s[0] + e[0]) for s, e in zip(starts, ends, strict=True))
        for n, places in enumerate(offsets):
            usable = [sequence == 1 for sequence in windows.sequence_ids(n)]
            span = best_span(starts[n], ends[n], usable)
            if span is not None and (best is None or span[2] > best[0]):
                best = span[2], text[places[span[0]][0] : places[span[1]][1]]
        return best[1] if best is not None and best[0] > nothing else None
