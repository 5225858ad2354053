"""`bootleg-style`: candidates by their types and facts, as Bootleg reasons, but without training.

Bootleg (Orr et al., CIDR 2021) resolves the tail by patterns over types and relations. Here the same
evidence is counted: does the candidate have the property that the question's words name, is one of its
values named too, or of the kind that is asked for, and is it itself of a kind that the question names?
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.corpus import Corpus
from whichone.errors import UsageError
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.records import Question
from whichone.retrieval.bm25.analysis import LUCENE_STOP_WORDS
from whichone.retrieval.linker import Candidate, Finder, Linker, Names, Span, around, make_finder, open_names
from whichone.retrieval.namesake.knowledge_evidence import RelationTable, Stems, contains, stems

# What a knowledge base says of the entities of a corpus, as stems that a question may share.


_INSTANCE_OF = "P31"


class StemmedFact(msgspec.Struct, frozen=True):
    """A fact as words: its property's label, its value, and what kinds of thing the value is."""

    property: Stems
    value: Stems
    value_types: tuple[Stems, ...] = ()


class EntityFacts:
    """Facts and types of the entities that the pages of a corpus are about; read once."""

    def __init__(self, path: str | Path, corpus: Corpus) -> None:
        self._folder = Folder.open(path, KIND)
        entities: list[str] = []
        for batch in self._folder.table("pages", ["page", "entity"]).to_batches(65_536):
            about = zip(corpus.page_rows(batch["page"].to_pylist()), batch["entity"].to_pylist(), strict=True)
            entities += [e for row, e in about if row is not None and e is not None]
        facts = self._filtered("facts", ["entity", "property", "kind", "value"], "entity", entities)
        facts = facts.filter(pc.not_equal(facts["property"], _INSTANCE_OF))
        named = facts.filter(pc.equal(facts["kind"], "entity"))["value"].unique().to_pylist()
        labels, types = self._about([*entities, *named])
        labels |= self._about(sorted({t for held in types.values() for t in held}))[0]
        properties = self._property_labels()
        self._types = {
            e: tuple(stems(labels[t]) for t in types.get(e, ()) if labels.get(t)) for e in entities
        }
        self._facts: dict[str, list[StemmedFact]] = {}
        for row in facts.to_pylist():
            value = labels.get(row["value"], "") if row["kind"] == "entity" else row["value"]
            value_types = tuple(stems(labels[t]) for t in types.get(row["value"], ()) if labels.get(t))
            fact = StemmedFact(properties.get(row["property"], ()), stems(value or ""), value_types)
            self._facts.setdefault(row["entity"], []).append(fact)

    def facts(self, entity: str | None) -> list[StemmedFact]:
        return self._facts.get(entity or "", [])

    def types(self, entity: str | None) -> tuple[Stems, ...]:
        return self._types.get(entity or "", ())

    def _filtered(self, name: str, columns: list[str], by: str, values: Iterable[str]) -> pa.Table:
        table = self._folder.table(name, columns)
        return table.filter(pc.is_in(table[by], pa.array(list(values), pa.string())))

    def _about(self, entities: Iterable[str]) -> tuple[dict[str, str], Mapping[str, list[str]]]:
        rows = self._filtered("entities", ["entity", "label", "types"], "entity", entities).to_pylist()
        labels = {row["entity"]: row["label"] for row in rows if row["label"]}
        return labels, {row["entity"]: row["types"] or [] for row in rows}

    def _property_labels(self) -> dict[str, Stems]:
        table = self._folder.table("properties", ["property", "label"])
        return {row["property"]: stems(row["label"]) for row in table.to_pylist() if row["label"]}


_Weight = Annotated[float, msgspec.Meta(ge=0)]


class BootlegWeights(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What each piece of evidence adds to a candidate's logit."""

    # The logarithm of the prior.
    prior: _Weight = 0.1
    # The share of a property's label that appears in the question.
    relation: _Weight = 3.0
    # A value of that property appears in the question.
    value: _Weight = 3.0
    # A value of that property is of a kind that appears in the question: "which battle".
    value_type: _Weight = 1.0
    # The candidate is of a kind that appears in the question: "the film".
    type: _Weight = 1.0


class BootlegStyle(Linker):
    """Scores the candidates of each mention over their types and facts in a knowledge base.

    Needs `knowledge`. The options of `linker` are options here too, and so are the weights.
    """

    kind = "bootleg-style"

    def __init__(
        self, names: Names, finder: Finder, given: dict[str, Any], facts: EntityFacts, weights: BootlegWeights
    ) -> None:
        super().__init__(names, finder, {**given, **msgspec.to_builtins(weights)})
        self._facts, self._weights = facts, weights

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        work: Path,
        *,
        knowledge: str | None = None,
        mentions: str = "auto",
        model: str | None = None,
        **weights: Any,
    ) -> Self:
        if knowledge is None:
            raise UsageError(
                "bootleg-style reads types and facts, so it needs a knowledge base",
                hint="-o knowledge=KB names the one that the corpus was made from",
            )
        wanted = msgspec.convert(weights, BootlegWeights, strict=False)
        names = open_names(corpus, knowledge)
        finder, finder_description = make_finder(mentions, names, model=model)
        facts = EntityFacts(knowledge, corpus)
        return cls(names, finder, {**names.describe(), **finder_description}, facts, wanted)

    def score(
        self, question: Question, span: Span, spans: Sequence[Span], candidates: Sequence[Candidate]
    ) -> list[float]:
        """The softmax over the candidates of one mention, raised by what a candidate's facts say.

        So, of several mentions, the one that the question asks about comes before its values.
        """
        if not candidates:
            return []
        pieces = around(question.text, [span])
        words = stems(" ".join(pieces))
        asked = [cue for r in RelationTable.load().asked(pieces) for cue in r.asks]
        cues = frozenset(w for w in (*words, *(w for cue in asked for w in cue)) if w not in _STOP)
        known = (self._facts.facts(candidate.entity) for candidate in candidates)
        facts = [max((self._fact(fact, words, cues) for fact in own), default=0.0) for own in known]
        logits = [f + self._kind(c, words) for c, f in zip(candidates, facts, strict=True)]
        powers = [math.exp(logit - max(logits)) for logit in logits]
        return [(1 + f) * p / sum(powers) for f, p in zip(facts, powers, strict=True)]

    def _kind(self, candidate: Candidate, words: Stems) -> float:
        named = any(kind and contains(words, kind) for kind in self._facts.types(candidate.entity))
        return self._weights.prior * math.log(candidate.prior) + self._weights.type * named

    def _fact(self, fact: StemmedFact, words: Stems, cues: frozenset[str]) -> float:
        weights = self._weights
        label = [w for w in fact.property if w not in _STOP]
        relation = sum(w in cues for w in label) / len(label) if label else 0.0
        value = bool(fact.value) and contains(words, fact.value)
        kind = any(kind and contains(words, kind) for kind in fact.value_types)
        return weights.relation * relation + weights.value * value + weights.value_type * kind


_STOP = frozenset(w for word in LUCENE_STOP_WORDS for w in stems(word))
