"""What a name in a question means: the bearers, how likely each is, and the question back that would decide."""

import re
from collections.abc import Mapping, Sequence

import msgspec

from whichone.retrieval.namesake.evidence import Evidence
from whichone.retrieval.namesake.snapshot import Index
from whichone.retrieval.namesake.weights import Fit, lead_features, logistic

_PARENTHESES = re.compile(r"\(([^()]*)\)\s*$")
_IS = re.compile(
    r"\b(?:is|was|are|were|ist|war|est|était|es|fue)\s+(?:an?|the|one of the|ein[e]?|der|die|das|une?|le|la|el|un[a]?)\s+"
)
_CLAUSE = re.compile(r"[.;,(]|\b(?:who|which|that|and|known|best|der|die|qui|que)\b")
_SHOWN = 4
_LONGEST = 60


class PossibleBearer(msgspec.Struct, frozen=True):
    """One bearer of the name."""

    id: str
    """The entity, or the page where passages name no entity."""
    title: str
    probability: float
    speaks_for: tuple[str, ...] = ()
    speaks_against: tuple[str, ...] = ()
    attributes: Mapping[str, str] = {}


class Resolution(msgspec.Struct, frozen=True):
    """What is believed about a name in a question."""

    text: str
    name: str | None
    bearers: tuple[PossibleBearer, ...] = ()
    resolvable: bool = True
    """Whether the question says enough to know who is meant."""
    confidence: float = 1.0
    """How likely it is that it does."""
    question: str | None = None
    """The shortest question back that would decide; none where nothing is to be asked."""

    @property
    def best(self) -> PossibleBearer | None:
        return self.bearers[0] if self.bearers else None


def resolution(
    text: str, name: str | None, evidence: Sequence[Evidence], index: Index, fit: Fit
) -> Resolution:
    """From weighed bearers; `evidence` is empty where the text has no known name."""
    bearers = tuple(_candidate(bearer, index) for bearer in evidence)
    if len(bearers) < 2:
        return Resolution(text, name, bearers)
    features = lead_features([e.values for e in evidence], [e.score for e in evidence])
    enough = logistic(fit.resolvable, features)
    asked = None if enough >= 0.5 else question_back(name or "", bearers)
    return Resolution(text, name, bearers, enough >= 0.5, round(enough, 4), asked)


def _candidate(evidence: Evidence, index: Index) -> PossibleBearer:
    title = index.pages.title(evidence.page)
    known = index.attributes(evidence.page)
    return PossibleBearer(
        evidence.key,
        title,
        round(evidence.probability, 4),
        tuple(evidence.speaks_for),
        tuple(evidence.speaks_against),
        {**known, **_described(title, index.pages.opening(evidence.page))},
    )


def _described(title: str, opening: str) -> dict[str, str]:
    """What a page's own title and opening say that it is, where nothing else is known."""
    described = {}
    inside = _PARENTHESES.search(title)
    if inside is not None and inside[1].strip():
        described["title"] = inside[1].strip()
    match = _IS.search(opening[:300])
    if match is not None:
        phrase = _CLAUSE.split(opening[match.end() : match.end() + 200])[0].strip()
        if 0 < len(phrase) <= _LONGEST:
            described["is"] = phrase
    return described


def question_back(name: str, bearers: Sequence[PossibleBearer]) -> str:
    """Made from the attributes that split the likely bearers best, the shortest of these."""
    likely = list(bearers[:_SHOWN])
    order = splitting(likely)
    if not order:
        titles = dict.fromkeys(b.title or b.id for b in likely)
        if len(titles) < len(likely):
            return f"Which {name} do you mean? {len(bearers)} have this name."
        return f"Which {name}: {_or(list(titles))}?"
    first = order[0]
    values = [b.attributes.get(first, "") for b in likely]
    second = next((a for a in order[1:] if _worth(a, likely)[0] >= len(likely)), None)
    shown = []
    for bearer, value in zip(likely, values, strict=True):
        more = bearer.attributes.get(second, "") if second else ""
        shown.append(f"{value} ({more})" if value and more else value or more or bearer.title)
    rest = " or another" if len(bearers) > len(likely) else ""
    return f"Which {name}: {_or(list(dict.fromkeys(shown)))}{rest}?"


def splitting(bearers: Sequence[PossibleBearer]) -> list[str]:
    """Attributes by how many bearers they tell apart, then by how short their values are."""
    names = dict.fromkeys(name for bearer in bearers for name in bearer.attributes)
    ranked = sorted(names, key=lambda name: (-_worth(name, bearers)[0], _worth(name, bearers)[1]))
    return [name for name in ranked if _worth(name, bearers)[0] > 1]


def _worth(name: str, bearers: Sequence[PossibleBearer]) -> tuple[int, int]:
    values = [bearer.attributes[name] for bearer in bearers if name in bearer.attributes]
    return len({value.casefold() for value in values}), sum(map(len, values))


def _or(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} or {texts[-1]}"
