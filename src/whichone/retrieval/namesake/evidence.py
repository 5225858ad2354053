"""Among the bearers of one name, which one is meant? What speaks for and against each."""

from __future__ import annotations

import functools
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np

from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.namesake.knowledge_evidence import Knowledge, Relation, Stems, contains
from whichone.retrieval.namesake.lexical import Selection
from whichone.retrieval.namesake.sentences import SentenceCloseness, SentenceJudge
from whichone.retrieval.namesake.snapshot import Index
from whichone.retrieval.namesake.weights import Fit, NamesakeParameters
from whichone.text.language import base_code

MOST_ENCODED = 64
_SHOWN = 160
_OPENING = 600
_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d(?!\d)")
_SCALE = 10.0
"""BM25 scores are divided by it, so that all evidence is of one order."""


@dataclass
class Evidence:
    """One bearer, an entity or a page, with what each kind of evidence adds to or takes off its score."""

    key: str
    pages: list[int]
    values: dict[str, float] = field(default_factory=dict)
    """The evidence itself, before it is weighed."""
    parts: dict[str, float] = field(default_factory=dict)
    speaks_for: list[str] = field(default_factory=list)
    speaks_against: list[str] = field(default_factory=list)
    probability: float = 0.0

    @property
    def page(self) -> int:
        """The page that speaks for it best."""
        return self.pages[0]

    @property
    def score(self) -> float:
        return sum(self.parts.values())

    def note(self, index: Index) -> dict[str, Any]:
        return {
            "page": index.pages.id(self.page),
            "title": index.pages.title(self.page),
            **({"entity": self.key} if index.pages.entity(self.page) else {}),
            "probability": round(self.probability, 4),
            "score": round(self.score, 4),
            "evidence": {name: round(value, 4) for name, value in self.parts.items() if value},
            "for": self.speaks_for,
            "against": self.speaks_against,
        }


@dataclass(frozen=True)
class Asked:
    """What is known of a question when its bearers are weighed."""

    text: str
    remainder: Sequence[str]
    """The pieces of the question around its names."""
    words: Stems
    plain: str
    """What the pieces say besides asking, in words written small."""
    proper: str
    """Words of the pieces written with a capital or a digit: who or what else the question mentions."""
    relations: Sequence[Relation]
    denied: str = ""
    """What the question says the meant one is not: "not the one in Leeds"."""
    periods: Sequence[tuple[int, int]] = ()
    """Decades and centuries that the question names: "of the 1780s"."""
    vector: Vectors | None = None
    around: Stems = ()
    """All that the question says besides the name that is weighed, other names too."""


class Weigher:
    """Weighs the bearers of a name against what the question asks."""

    def __init__(
        self,
        index: Index,
        parameters: NamesakeParameters,
        fit: Fit,
        *,
        closeness: SentenceCloseness | None,
        judge: SentenceJudge | None,
        knowledge: Knowledge | None,
        popularity: Mapping[int, float],
    ) -> None:
        self._index = index
        self._pages = index.pages
        self._options = parameters
        self._weights = {**fit.weights, **parameters.changed_weights()}
        self._closeness = closeness
        self._judge = judge
        self._knowledge = knowledge
        self._popularity = popularity

    def learn(self, groups: Sequence[Sequence[int]]) -> None:
        """Encode sentences that were not encoded when indexing, of many questions together."""
        if self._closeness is not None:
            shared = [group for group in groups if 1 < len(group) <= MOST_ENCODED]
            self._closeness.learn([page for group in shared for page in group])

    def bearers(self, pages: Mapping[int, float]) -> dict[str, list[int]]:
        """Pages of one entity together, the best first; `pages` have BM25 of the whole question."""
        together: dict[str, list[int]] = {}
        for page in sorted(pages, key=lambda p: (-pages[p], p)):
            together.setdefault(self._owner(page) or self._pages.id(page), []).append(page)
        return together

    def _owner(self, page: int) -> str | None:
        """Whom a page is about: its source says so, or the knowledge base."""
        own = self._pages.entity(page)
        return self._knowledge.entity(page) if own is None and self._knowledge is not None else own

    def weigh(
        self,
        pages: Mapping[int, float],
        asked: Asked,
        selection: Selection,
        longer: frozenset[int] = frozenset(),
    ) -> list[Evidence]:
        """The bearers, best first, ties by page; `longer` have only a longer form of the name."""
        rows = self._pages.rows(list(pages))
        rows = rows if selection.everything else rows[selection.keeps(rows)]
        owners = self._pages.of_passages(rows).tolist()
        plain = _best(owners, self._index.lexical.of(asked.plain, rows))
        proper = _best(owners, self._index.lexical.of(asked.proper, rows))
        denied = _best(owners, self._index.lexical.of(asked.denied, rows)) if asked.denied else {}
        if longer:
            said = {
                page: plain.get(page, 0.0) + proper.get(page, 0.0) - denied.get(page, 0.0)
                for page in pages
            }
            pages = without_vain(pages, said, longer)
        together = self.bearers(pages)
        most = max(pages.values(), default=0.0) or 1.0
        weighed = []
        for key, own in together.items():
            evidence = Evidence(key, own)
            evidence.values["bm25"] = max(pages[page] for page in own) / most
            evidence.values["words"] = max(plain.get(page, 0.0) for page in own) / _SCALE
            evidence.values["proper"] = max(proper.get(page, 0.0) for page in own) / _SCALE
            if denied:
                evidence.values["denied"] = max(denied.get(page, 0.0) for page in own) / _SCALE
            if longer.issuperset(own):
                evidence.values["longer"] = 1.0
                evidence.speaks_against.append("has only another form of the name")
            self._read(evidence, asked)
            weighed.append(evidence)
        self._weigh(weighed)
        if self._closeness is not None and asked.vector is not None and len(weighed) > 1:
            near = weighed[:MOST_ENCODED]
            self._closeness.learn([e.page for e in near])
            for evidence in near:
                self._add_sentence(evidence, asked.vector)
            self._weigh(weighed)
        if self._judge is not None and len(weighed) > 1:
            for evidence, (score, sentence) in zip(
                weighed,
                self._judge.scores(asked.text, weighed[: self._options.judged]),
                strict=False,
            ):
                evidence.values["pair"] = score
                evidence.speaks_for.append(f"judged sentence ({score:.2f}): {sentence[:_SHOWN]}")
            self._weigh(weighed)
        return weighed

    def _weigh(self, weighed: list[Evidence]) -> None:
        """Give the evidence its weight and put the bearers in order, in place."""
        for evidence in weighed:
            evidence.parts = {
                name: self._weights.get(name, 0.0) * value
                for name, value in evidence.values.items()
                if value
            }
        weighed.sort(key=lambda e: (-e.score, e.page))

    def _read(self, evidence: Evidence, asked: Asked) -> None:
        """What a bearer's pages and attributes say."""
        shared = evidence.values["words"] + evidence.values["proper"]
        if shared > 0:
            evidence.speaks_for.append(
                f"shares words with the question (BM25 {_SCALE * shared:.2f})"
            )
        if all(self._pages.lists_bearers(page) for page in evidence.pages[:4]):
            evidence.values["disambiguation"] = 1.0
            evidence.speaks_against.append("only lists who has the name")
        if asked.relations:
            self._add_kind(evidence, asked.relations)
            self._add_says(evidence, asked.relations)
        self._add_attributes(evidence, asked)
        if asked.periods:
            self._add_period(evidence, asked.periods)
        if self._knowledge is not None:
            self._add_facts(evidence, self._knowledge, asked)
        if self._options.popularity:
            known = max(self._popularity.get(page, 0.0) for page in evidence.pages)
            evidence.values["popularity"] = math.log10(1 + known)

    def kinds(self, pages: Sequence[int]) -> frozenset[str]:
        return frozenset().union(*(self._pages.kinds(page) for page in pages[:4]))

    def kind(self, pages: Sequence[int], relations: Sequence[Relation]) -> float:
        """How well a kind of thing can be asked so, -1 where it cannot; 0 where it is not known."""
        kinds = self.kinds(pages)
        if not kinds or not relations:
            return 0.0
        wanted: dict[str, float] = {}
        for relation in relations:
            for place, kind in enumerate(relation.kinds):
                wanted[kind] = max(wanted.get(kind, 0), 1 / (1 + place / 2))
        return max(wanted.get(kind, 0.0) for kind in kinds) or -1.0

    def _add_kind(self, evidence: Evidence, relations: Sequence[Relation]) -> None:
        fit = self.kind(evidence.pages, relations)
        described = " or ".join(sorted(self.kinds(evidence.pages)))
        asks = " or ".join(r.name.replace("_", " ") for r in relations)
        if fit > 0:
            evidence.values["kind"] = fit
            evidence.speaks_for.append(f"is a {described}; the question asks for {asks}")
        elif fit < 0:
            evidence.values["other_kind"] = 1.0
            evidence.speaks_against.append(f"is a {described}, not what one asks for {asks}")

    def _add_says(self, evidence: Evidence, relations: Sequence[Relation]) -> None:
        phrases = dict.fromkeys(phrase for relation in relations for phrase in relation.says)
        if not phrases:
            return
        words = [self._pages.stems(page) for page in evidence.pages[:4]]
        said = [" ".join(p) for p in phrases if any(contains(w, p) for w in words)]
        evidence.values["says"] = len(said) / math.sqrt(len(phrases))
        if said:
            evidence.speaks_for.append(f"says {', '.join(said[:4])}")
        else:
            evidence.speaks_against.append("says nothing of it")

    def _add_attributes(self, evidence: Evidence, asked: Asked) -> None:
        """Attributes whose values the question names: company, department, city."""
        named = []
        ruled_out = self._pages.table.language.stems(asked.denied)
        for name, value in self._index.attributes(evidence.page).items():
            wanted = self._pages.table.language.stems(value)
            if wanted and len(wanted) <= 8 and contains(asked.words, wanted):
                named.append(f"{name} {value}")
            if wanted and len(wanted) <= 8 and contains(ruled_out, wanted):
                evidence.values["denied"] = 1.0
        if self._knowledge is not None:
            known = {
                f.value_stems: f for f in self._knowledge.facts(self._owner(evidence.page) or "")
            }
            for wanted, fact in known.items():
                if wanted and len(wanted) <= 8 and contains(asked.around, wanted):
                    named.append(f"{fact.property} {fact.value}")
                if wanted and len(wanted) <= 8 and contains(ruled_out, wanted):
                    evidence.values["denied"] = 1.0
        if evidence.values.get("denied"):
            evidence.speaks_against.append(f"has what the question rules out: {asked.denied}")
        if named:
            evidence.values["attribute"] = math.sqrt(len(named))
            evidence.speaks_for.append(f"has the {', the '.join(named[:3])}")

    def _add_period(self, evidence: Evidence, periods: Sequence[tuple[int, int]]) -> None:
        """A year of the page's opening is of a decade or century that the question names."""
        opening = self._pages.opening(evidence.page)[:_OPENING]
        years = [int(year) for year in _YEAR.findall(opening)]
        inside = [year for year in years if any(low <= year <= high for low, high in periods)]
        if inside:
            evidence.values["period"] = 1.0
            evidence.speaks_for.append(f"is of that time ({inside[0]})")

    def _add_facts(self, evidence: Evidence, knowledge: Knowledge, asked: Asked) -> None:
        properties = [
            p for page in evidence.pages[:4] for p in knowledge.asked_properties(page, asked.words)
        ]
        if properties:
            evidence.values["fact"] = 1.0
            evidence.speaks_for.append(f"has the fact {', '.join(properties[:3])}")

    def _add_sentence(self, evidence: Evidence, vector: Vectors) -> None:
        assert self._closeness is not None
        close, sentence = self._closeness.closest(vector, evidence.page)
        evidence.values["sentence"] = close
        if sentence:
            evidence.speaks_for.append(f"closest sentence ({close:.2f}): {sentence[:_SHOWN]}")


def without_vain(
    pages: Mapping[int, float], said: Mapping[int, float], longer: frozenset[int]
) -> dict[int, float]:
    """Of the pages with a longer form of the name, only those that have more of what the question says than any bearer."""
    least = max((said[page] for page in pages if page not in longer), default=0.0)
    return {
        page: score for page, score in pages.items() if page not in longer or said[page] > least
    }


def _best(owners: Sequence[int], scores: Any) -> dict[int, float]:
    """Each page's best passage."""
    best: dict[int, float] = {}
    for page, score in zip(owners, np.asarray(scores).tolist(), strict=True):
        best[page] = max(best.get(page, 0.0), score)
    return best


# Who is not meant: "Ada Park, not the one in Leeds", in several languages (`denials.toml`).


_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 8
_PLAIN_WORDS = 3
"""Of a denial without names and numbers the first words count: "not the singer from the village"."""


@dataclass(frozen=True)
class Denial:
    """A stretch of a text, with the words that introduce it, and what it says that the meant one is not."""

    start: int
    end: int
    words: tuple[str, ...]


class Denials:
    """How a language says who is not meant."""

    def __init__(self, raw: Mapping[str, Sequence[str]]) -> None:
        follows = rf"(?=(?i:(?:{_any_of(raw['follows'])})\b)|[^\W\d_a-zà-ÿ]|\d|[\"'])"
        apart = rf"(?i:{_any_of(raw['apart'])})\s+{follows}"
        joins = rf"(?i:(?:{_any_of(raw['joins'])})\s+)"
        relative = rf"(?i:{_any_of(raw['relative'])})\b"
        anywhere = rf"(?i:{_any_of(raw['anywhere'])})\b"
        self._anywhere = re.compile(rf"(?<!\w){anywhere}|[(\[]\s*{apart}")
        self._after = re.compile(
            rf"\s*[,(;:-]*\s*(?:{relative}|{anywhere})"
            rf"|\s*(?:[,(;:-]+\s*{joins}?|{joins}){apart}"
        )
        self._answer = re.compile(rf"\s*(?i:{_any_of(raw['apart'])})\s+")
        self._end = re.compile(
            rf"[,;:?!()\[\]]|\s-\s|\.(?:\s|$)|(?i:\b(?:{_any_of(raw['ends'])})\b)|$"
        )
        self._skip = frozenset(raw["skip"])

    @classmethod
    @functools.cache
    def load(cls, language: str) -> Denials | None:
        """Those of a language; none where there is no table."""
        raw = tomllib.loads(files(__package__).joinpath("denials.toml").read_text("utf-8"))
        own = raw.get(base_code(language))
        return None if own is None else cls(own)

    def find(self, text: str, name_ends: Iterable[int]) -> list[Denial]:
        """Every denial of a text, in its order; `name_ends` are where its names end."""
        starts = [match.span() for match in self._anywhere.finditer(text)]
        after = (self._after.match(text, end) for end in name_ends)
        starts += [match.span() for match in after if match is not None]
        return list(self._apart(text, starts))

    def answered(self, text: str) -> list[Denial]:
        """The same of an answer, which may begin with it: "not Leeds"."""
        match = self._answer.match(text)
        starts = [m.span() for m in self._anywhere.finditer(text)]
        return list(self._apart(text, [*starts, *([match.span()] if match is not None else [])]))

    def _apart(self, text: str, starts: Sequence[tuple[int, int]]) -> Iterator[Denial]:
        reached = 0
        for start, begins in sorted(starts):
            if start < reached:
                continue
            scope = self._end.search(text, begins)
            end = scope.start() if scope is not None else len(text)
            words = [w for w in _WORD.findall(text[begins:end]) if w.casefold() not in self._skip]
            named = [w for w in words[:_MOST_WORDS] if not w[0].islower()]
            said = tuple(named or words[:_PLAIN_WORDS])
            if said:
                reached = end
                yield Denial(start, end, said)


def blanked(text: str, denials: Sequence[Denial]) -> str:
    """The text with blanks where it denies, so that places in it stay."""
    for denial in denials:
        gap = " " * (denial.end - denial.start)
        text = text[: denial.start] + gap + text[denial.end :]
    return text


def _any_of(phrases: Sequence[str]) -> str:
    gap = r"(?:\w+\s+){1,3}"
    written = sorted(phrases, key=len, reverse=True)
    return "|".join(
        re.escape(phrase).replace(r"\.\.\.\ ", gap).replace(r"\ ", r"\s+") for phrase in written
    )
