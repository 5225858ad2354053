"""Among the bearers of one name, which one is meant? What speaks for and against each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.namesake.corpus import Pages
from whichone.retrieval.namesake.knowledge import Knowledge
from whichone.retrieval.namesake.parameters import NamesakeParameters
from whichone.retrieval.namesake.relations import Relation, Stems, contains
from whichone.retrieval.namesake.sentences import SentenceCloseness

MOST_ENCODED = 64
_SHOWN = 160


@dataclass
class Evidence:
    """One bearer with what each kind of evidence adds to or takes off its score."""

    page: int
    parts: dict[str, float] = field(default_factory=dict)
    speaks_for: list[str] = field(default_factory=list)
    speaks_against: list[str] = field(default_factory=list)

    @property
    def score(self) -> float:
        return sum(self.parts.values())

    def note(self, pages: Pages) -> dict[str, Any]:
        return {
            "page": pages.id(self.page),
            "title": pages.title(self.page),
            "score": round(self.score, 4),
            "evidence": {name: round(value, 4) for name, value in self.parts.items() if value},
            "for": self.speaks_for,
            "against": self.speaks_against,
        }


@dataclass(frozen=True)
class Asked:
    """What is known of a question when its bearers are weighed."""

    remainder: Sequence[str]
    """The pieces of the question around its names."""
    words: Stems
    relations: Sequence[Relation]
    vector: Vectors | None


class Weigher:
    """Weighs the bearers of a name against what the question asks."""

    def __init__(
        self,
        pages: Pages,
        parameters: NamesakeParameters,
        *,
        closeness: SentenceCloseness | None,
        knowledge: Knowledge | None,
        popularity: Mapping[int, float],
    ) -> None:
        self._pages = pages
        self._weights = parameters
        self._closeness = closeness
        self._knowledge = knowledge
        self._popularity = popularity

    def learn(self, groups: Sequence[Sequence[int]]) -> None:
        """Encode the sentences of the bearers of shared names of many questions together."""
        if self._closeness is not None:
            shared = [group for group in groups if 1 < len(group) <= MOST_ENCODED]
            self._closeness.learn([page for group in shared for page in group])

    def close(self) -> None:
        if self._closeness is not None:
            self._closeness.close()

    def weigh(self, bearers: Mapping[int, float], asked: Asked) -> list[Evidence]:
        """Bearers, best first, ties by page; `bearers` maps pages to their BM25 on the remainder."""
        found = [self._without_encoder(page, lexical, asked) for page, lexical in bearers.items()]
        found.sort(key=lambda e: (-e.score, e.page))
        if self._closeness is not None and asked.vector is not None:
            near = found[:MOST_ENCODED]
            self._closeness.learn([e.page for e in near])
            for evidence in near:
                self._add_sentence(evidence, asked.vector)
            found = sorted(near, key=lambda e: (-e.score, e.page)) + found[MOST_ENCODED:]
        return found

    def _without_encoder(self, page: int, lexical: float, asked: Asked) -> Evidence:
        evidence = Evidence(page, {"remainder": self._weights.remainder * lexical})
        if lexical > 0:
            evidence.speaks_for.append(f"shares words with the question (BM25 {lexical:.2f})")
        if self._pages.lists_bearers(page):
            evidence.parts["disambiguation"] = -self._weights.disambiguation
            evidence.speaks_against.append("only lists who bears the name")
        if asked.relations:
            self._add_kind(evidence, asked.relations)
            self._add_says(evidence, asked.relations)
        if self._knowledge is not None:
            self._add_facts(evidence, self._knowledge, asked)
        if self._weights.popularity:
            known = self._popularity.get(page, 0.0)
            evidence.parts["popularity"] = self._weights.popularity * math.log10(1 + known)
        return evidence

    def kind(self, page: int, relations: Sequence[Relation]) -> float:
        """What the kind of a page adds or takes off; nothing where its kind is not known."""
        kinds = self._pages.kinds(page)
        if not kinds or not relations:
            return 0.0
        wanted: dict[str, float] = {}
        for relation in relations:
            for place, kind in enumerate(relation.kinds):
                wanted[kind] = max(wanted.get(kind, 0), 1 / (1 + place / 2))
        fit = max(wanted.get(kind, 0.0) for kind in kinds)
        return self._weights.kind * fit if fit else -self._weights.other_kind

    def _add_kind(self, evidence: Evidence, relations: Sequence[Relation]) -> None:
        part = self.kind(evidence.page, relations)
        told = " or ".join(sorted(self._pages.kinds(evidence.page)))
        asks = " or ".join(r.name.replace("_", " ") for r in relations)
        if part:
            evidence.parts["kind"] = part
        if part > 0:
            evidence.speaks_for.append(f"is a {told}; the question asks for {asks}")
        elif part < 0:
            evidence.speaks_against.append(f"is a {told}, not what one asks for {asks}")

    def _add_says(self, evidence: Evidence, relations: Sequence[Relation]) -> None:
        phrases = dict.fromkeys(phrase for relation in relations for phrase in relation.says)
        if not phrases:
            return
        words = self._pages.stems(evidence.page)
        said = [" ".join(phrase) for phrase in phrases if contains(words, phrase)]
        evidence.parts["says"] = self._weights.says * len(said) / math.sqrt(len(phrases))
        if said:
            evidence.speaks_for.append(f"says {', '.join(said[:4])}")
        else:
            evidence.speaks_against.append("says nothing of it")

    def _add_facts(self, evidence: Evidence, knowledge: Knowledge, asked: Asked) -> None:
        properties = knowledge.asked_properties(evidence.page, asked.words)
        if properties:
            evidence.parts["fact"] = self._weights.fact
            evidence.speaks_for.append(f"has the fact {', '.join(properties[:3])}")

    def _add_sentence(self, evidence: Evidence, vector: Vectors) -> None:
        assert self._closeness is not None
        close, sentence = self._closeness.closest(vector, evidence.page)
        evidence.parts["sentence"] = self._weights.sentence * close
        if sentence:
            evidence.speaks_for.append(f"closest sentence ({close:.2f}): {sentence[:_SHOWN]}")
