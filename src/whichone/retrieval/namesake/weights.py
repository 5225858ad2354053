"""The model that orders candidates: what it weighs, a line each, and the learned weights.

A candidate is a thing that may be meant: a bearer of a name in the question, or a page that ordinary retrieval likes. Its
score is the weighted sum of the features below, and its probability the softmax of the scores over all candidates of
the question. `evidence.json` is written by `bench/namesake.py fit`, which says on which questions.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from whichone.errors import UsageError, did_you_mean

FEATURES = {
    # words
    "bm25": "BM25 of the whole question, relative to the best candidate",
    "level": "the same, where all bearers of a name get the same for the name itself",
    "rank": "its place among the passages of ordinary retrieval: 1, 1/2, 1/3 ...",
    "words": "BM25 of what the question says beside names and the words that ask",
    "proper": "BM25 of words with a capital or a digit beside the names: who or what else is mentioned",
    "together": "of what the question says beside the name, the part that one sentence of the page has",
    # names
    "named": "it has a name that is whole and written as a name in the question",
    "share": "how much of the question that name is",
    "alone": "nothing else in the question is written as a name",
    "loosely": "the question writes that name in another way",
    "titled": "that name is its title, parentheses aside",
    "bare": "its title is that name, and the title has no parentheses",
    "respelt": "its name differs by signs, an article or the end of a company's name",
    "longer": "its name has further words: John F. Kennedy for John Kennedy",
    "company": "its name goes on with a word for a company: Vertigo Records for Vertigo",
    "nickname": "its name has the full first name, or a short one",
    "near": "it has no such name, but its title or opening carries all words of the name",
    "contains": "it bears no name of the question, but its title contains one",
    "unnamed": "it bears no name of the question",
    "extra": "words of its title's parentheses that the question does not say",
    "numbered": "... with a number: one season or volume of several",
    "qualified": "words of its title's parentheses that the question says",
    # what is asked
    "kind": "how typical its kind is for what is asked",
    "best_kind": "no other bearer of the name is of a kind more typical for it",
    "only_says": "with one name, or in a claim: no other bearer has as many phrases that state such a relation",
    "other_kind": "things of its kind cannot be asked so",
    "no_kind": "of which kind it is, is not known",
    "states": "the page has a phrase that states such a relation",
    "says": "how many such phrases it has",
    "where": "where a place is asked for: one follows such a phrase",
    "fact": "the knowledge base has a fact of the property that is asked for",
    # who is meant
    "attribute": "attributes whose value the question says",
    "place": "it has a form of a country or state that the question names: CA for California",
    "about": "it has a number near one that the question says roughly",
    "extreme": "of the bearers whose number is known it has most, or least, of what the question compares",
    "period": "a year of its opening is of a decade or century that the question names",
    "denied": "it has what the question rules out",
    # what it is
    "disambiguation": "it only lists who has the name",
    "length": "how much is known of it: a tie-break by popularity",
    # claims, which name their object too
    "claim_first": "in a claim with several names: the name comes first",
    "claim_owner": "in a claim: the name follows the word that asks, or 'of', or has a genitive",
    "claim_subject": "in a claim with several names: the name opens it, and none is its owner",
    "claim_agent": "in a claim with several names: the name follows 'by'",
    "claim_unnamed": "in a claim with a name: it bears none",
    "claim_level": "in a claim with several names: `level` again, for the page of its object has most of its words",
    "claim_kind": "in a claim with several names: its kind has what is claimed",
    "claim_other": "in a claim with several names: its kind cannot have it",
    # models
    "sentence": "closeness of its closest sentence, by the encoder",
    "pair": "the reader's score of question and passage, beside the best of those it reads",
    "pair_rank": "its place by that score: 1, 1/2, 1/3 ...",
    "pair_share": "its share of a softmax over the scores of those it reads",
    "pair_plain": "that score, where nothing with a capital or a digit is said beside the name, and in claims",
    "dense": "closeness of question and passage, with encode=all",
}

# Evidence that hardly any benchmark has: what it weighs at least, and what it takes off at least; a series is meant before its seasons.
FLOORS = {
    "attribute": (3.0, None),
    "period": (2.0, None),
    "about": (2.0, None),
    "extreme": (4.0, None),
    "place": (2.0, None),
    "denied": (None, -6.0),
    "fact": (2.0, None),
    "disambiguation": (None, -2.0),
    "numbered": (None, -1.5),
}


MOST_AHEAD = 5.0


def among_all(names: int, best: float, others: Sequence[float]) -> dict[str, float]:
    """What tells whether a name's bearers are meant at all: how many names there are, and how far a page without one is ahead."""
    ahead = max(others, default=-np.inf) - best
    return {"names": float(np.log(names)), "others": float(np.clip(ahead, -MOST_AHEAD, MOST_AHEAD))}


def about_it(parts: Mapping[str, float]) -> float:
    """What of a score says that a claim is about this name, not which bearer of it is meant."""
    return sum(value for name, value in parts.items() if name.startswith("claim") or name.endswith("kind"))


class Fit(msgspec.Struct, frozen=True):
    """Weights of the features, and of what tells how sure the first candidate is."""

    weights: Mapping[str, float]
    # Weights of what tells a question that can be resolved from one that cannot; "" is the constant.
    resolvable: Mapping[str, float] = {}
    # Weights of what tells whether the best bearer is the right one, by the same `lead_features`.
    sure: Mapping[str, float] = {}
    # Weights of what tells that the one who is meant is none of the bearers, by `absence_features`.
    nobody: Mapping[str, float] = {}
    # From which probability on nobody is handed over: one in twenty of those who are there is refused.
    nobody_from: float = 0.5
    # The kinds of evidence (`kind_of`) with enough sure answers, nearly all right, that one may be above MOST_UNTOLD.
    supported: tuple[str, ...] = ()


class EvidenceModel(msgspec.Struct, frozen=True):
    """One fit for evidence of words alone, others with a sentence encoder or a reader."""

    fits: Mapping[str, Fit]
    made: Mapping[str, Any] = {}

    @classmethod
    @functools.cache
    def load(cls) -> EvidenceModel:
        return msgspec.json.decode(files(__package__).joinpath("evidence.json").read_bytes(), type=cls)

    @property
    def id(self) -> str:
        """The hash of the weights: another one orders other candidates first."""
        return hashlib.sha256(msgspec.json.encode(self.fits, order="sorted")).hexdigest()[:16]

    def fit(self, *, sentences: bool, judge: str | None = None) -> Fit:
        """The fit for what is at hand; `judge` is "reader" (the one that comes along), "cross" or "late"."""
        return self.fits[judge or ("sentences" if sentences else "words")]


def softmax(scores: Sequence[float]) -> list[float]:
    """Probabilities that add up to one."""
    if not scores:
        return []
    values = np.exp(np.array(scores) - max(scores))
    return (values / values.sum()).tolist()


def calibrated(scores: Sequence[float], values: Sequence[Mapping[str, float]], fit: Fit) -> list[float]:
    """Probabilities whose highest is how often such a first bearer was right; the order stays."""
    shares = softmax(scores)
    if len(scores) < 2 or not fit.sure:
        return shares
    best = max(range(len(shares)), key=lambda n: shares[n])
    second = max(share for n, share in enumerate(shares) if n != best)
    sure = logistic(fit.sure, lead_features(values, scores))
    rest = max(1 - shares[best], 1e-12)
    if not _may_be_sure(values, scores, fit.supported):
        sure = min(sure, MOST_UNTOLD)
    # never so low that the second would be more likely than the first
    sure = max(sure, second / (rest + second))
    return [sure if n == best else share * (1 - sure) / rest for n, share in enumerate(shares)]


# Of a reader's scores, which are a tenth of what it gives.
SHARPNESS = 10 / 3


def said_by_reader(scores: Sequence[float]) -> list[dict[str, float]]:
    """The features of those that a reader read."""
    shares = softmax([SHARPNESS * score for score in scores])
    order = sorted(range(len(scores)), key=lambda n: -scores[n])
    place = {n: k for k, n in enumerate(order)}
    best = max(scores)
    return [
        {"pair": score - best, "pair_rank": 1 / (1 + place[n]), "pair_share": shares[n]}
        for n, score in enumerate(scores)
    ]


def logistic(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    """The probability that a logistic model gives; "" is its constant."""
    value = sum(weights.get(n, 0.0) * v for n, v in features.items()) + weights.get("", 0.0)
    return float(1 / (1 + np.exp(-np.clip(value, -50, 50))))


# So sure at most, where the kind of evidence that tells the first from the second has too few sure answers in the development
# sets, where the first lacks a word with a capital or a digit that the question says or has another form of the name, where
# one only carries the words of the name, and in a claim with several names, of which one was chosen.
MOST_UNTOLD = 0.95
_OTHER_FORMS = ("respelt", "longer", "company", "nickname", "missing")
TELLING = ("attribute", "place", "about", "extreme", "period", "fact", "proper", "qualified")
_WORDS_APART, _DENIED_APART = 0.3, 0.4


def _may_be_sure(
    values: Sequence[Mapping[str, float]], scores: Sequence[float], supported: Sequence[str]
) -> bool:
    first = values[max(range(len(scores)), key=lambda n: scores[n])]
    if ("claim" in first and first.get("names")) or any(
        "near" in own or own.get("strange") for own in values
    ):
        return False
    return kind_of(values, scores) in supported and not any(first.get(name) for name in _OTHER_FORMS)


def kind_of(values: Sequence[Mapping[str, float]], scores: Sequence[float]) -> str:
    """What of the question the first has and the second has not: a fact, a denial, a name or number in its text, other words; or nothing."""
    order = sorted(range(len(scores)), key=lambda n: -scores[n])

    def ahead(name: str) -> float:
        return values[order[0]].get(name, 0.0) - values[order[1]].get(name, 0.0)

    kinds = {
        "fact": any(ahead(name) > 0 for name in TELLING[:-2]),
        "denied": ahead("denied") < -_DENIED_APART,
        "proper": ahead("proper") > 0,
        "qualified": ahead("qualified") > 0,
        "words": ahead("words") > _WORDS_APART,
    }
    kind = next((name for name, tells in kinds.items() if tells), "")
    return f"{kind} in a claim" if kind and "claim" in values[order[0]] else kind


AHEAD = (
    "words", "proper", "together", "attribute", "says", "titled", "bare", "sentence", "pair", "denied",
)  # fmt: skip


def lead_features(values: Sequence[Mapping[str, float]], scores: Sequence[float]) -> dict[str, float]:
    """What tells whether anybody could know who is meant: how far the best bearer is ahead, and by what."""
    order = sorted(range(len(scores)), key=lambda n: -scores[n])
    first, second = (values[n] for n in order[:2])
    shares = softmax(scores)
    kind = [v.get("kind", 0.0) - v.get("other_kind", 0.0) for v in (first, second)]
    odds = float(np.log(max(shares[order[0]], 1e-9) / max(shares[order[1]], 1e-9)))
    told = float(bool(kind_of(values, scores)))
    most = max(v.get("attribute", 0.0) for v in values)  # another has what the question says of it
    return {
        **{f"ahead {name}": first.get(name, 0.0) - second.get(name, 0.0) for name in AHEAD},
        "ahead kind": kind[0] - kind[1],
        "probability": shares[order[0]],
        "lead": shares[order[0]] - shares[order[1]],
        "odds": odds,
        "bearers": float(np.log(len(scores))),
        "told": told,
        "told odds": told * odds,
        "names": first.get("names", 0.0),
        "others": first.get("others", 0.0),
        "strange": max(first.get("strange", 0.0), float(most > first.get("attribute", 0.0))),
        "unplaced": first.get("unplaced", 0.0),
        "claim": first.get("claim", 0.0),
        "loosely": first.get("loosely", 0.0),
        "near": first.get("near", 0.0),
    }


_ABSOLUTE = (
    "level", "rank", "words", "proper", "together", "unplaced", "named", "share", "alone", "loosely", "titled", "called", "bare",
    "respelt", "longer", "nickname", "extra", "qualified", "kind", "other_kind", "no_kind", "states", "says", "opening", "attribute",
    "place", "about", "period", "denied", "disambiguation", "elsewhere", "strange", "claim", "length",
    "missing", "placed", "says more", "unsaid", "unheard",
)  # fmt: skip
# What says something only with another of these: much that is missing where much was said.
_TOGETHER = (
    "attribute", "bearers", "denied", "kind", "loosely", "missing", "no_kind", "others", "placed", "proper", "says more", "score",
    "states", "strangers", "together", "unsaid", "words",
)  # fmt: skip


def absence_features(
    values: Sequence[Mapping[str, float]], scores: Sequence[float], *, strangers: int, others: float = 0.0
) -> dict[str, float]:
    """What tells whether anybody here is meant: what the best bearer has at all, not what it has before others.

    `others` is the score of the best page without a name of the question.
    """
    first = values[max(range(len(scores)), key=lambda n: scores[n])]
    alone = {
        **{name: first.get(name, 0.0) for name in _ABSOLUTE},
        "score": max(scores),
        "denied all": float(all(own.get("denied") for own in values)),
        "placed by nobody": min(own.get("unplaced", 0.0) for own in values),
        "bearers": float(np.log(len(scores))),
        "strangers": float(min(strangers, 2)),
        "others": min(max(others - max(scores), -5.0), 5.0),
    }
    together = {f"{a} * {b}": alone[a] * alone[b] for a, b in itertools.combinations(_TOGETHER, 2)}
    return {**alone, **together}


# Everything that changes what `namesake` answers.


Weight = Annotated[float, msgspec.Meta(ge=0)]


class NamesakeParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the retriever; the weights of the features are learned (`evidence.json`).

    `encoder` is a folder, a model's name, an installed package, "auto" (the first known package that
    is installed) or "none". `encode` says what it reads: only the sentences of pages whose name is
    shared, or "all" passages of the corpus. `judge` is the folder of an ONNX cross-encoder, or of a model of
    token vectors for late interaction, that reads candidates' passages; "reader" is the one of `whichone[reader]`,
    which is also taken where nothing is given and it is installed, but not with `encoder="none"`; "none" takes
    none. `knowledge` is a knowledge
    base for further names and facts, `names` a file of records with further names and attributes. `pool` is
    how many results of ordinary retrieval are weighed beside the bearers.
    """

    encoder: str = "auto"
    encode: Literal["bearers", "all"] = "bearers"
    judge: str | None = None
    # The judge reads so many candidates of a question at most, the likeliest.
    judged: Annotated[int, msgspec.Meta(ge=2, le=64)] = 10
    # The judge reads so many words of each one's passage: what it costs.
    judge_words: Annotated[int, msgspec.Meta(ge=8, le=400)] = 120
    knowledge: str | None = None
    names: str | None = None
    pool: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 50
    device: str | None = None
    # Which words name kinds, relations and questions; "auto" takes what the corpus says it is in.
    language: str = "auto"

    # Attributes that a question back uses first, in this order.
    ask: tuple[str, ...] = ()
    # Attributes that no question back uses and no resolution shows.
    never: tuple[str, ...] = ()

    # The prior: logarithm of the bearer's popularity in the knowledge base.
    popularity: Weight = 0.0

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> NamesakeParameters:
        """From options as a user writes them; a `UsageError` says which of them is wrong."""
        known = cls.__struct_fields__
        for name in options:
            if name not in known:
                raise UsageError(f"`namesake` has no option {name!r}", hint=did_you_mean(name, known))
        lists = {
            n: tuple(filter(None, v.split(",")))
            for n, v in options.items()
            if n in ("ask", "never") and isinstance(v, str)
        }
        options = {**options, **lists}
        if options.get("encoder") == "none" and "judge" not in options:
            options["judge"] = "none"  # no model at all
        try:
            return msgspec.convert(options, cls, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"`namesake`: {error}") from None
