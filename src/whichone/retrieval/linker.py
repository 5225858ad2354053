"""`linker` and `bootleg-style`: the candidates of every mention by their priors, or by their types and facts; no text is read."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Protocol, Self

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing, UsageError, did_you_mean, needs
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.names import name_key
from whichone.records import Question, Ranking, Record
from whichone.retrieval.bm25.analysis import LUCENE_STOP_WORDS
from whichone.retrieval.namesake.knowledge_evidence import RelationTable, Stems, contains, stems
from whichone.retrieval.namesake.question_names import PageNames

# Who may a mention mean, and how likely is each before anything else of the question is read?


class Span(Record, frozen=True):
    """A mention at its place in a question; `score` is how sure its finder is."""

    text: str
    start: int
    end: int
    score: float = 1.0


class Candidate(Record, frozen=True):
    """A page that a mention may mean; `prior` is its share among all candidates."""

    page: str
    prior: float
    entity: str | None = None


class Names(Protocol):
    def find(self, text: str) -> list[Span]: ...

    def candidates(self, name: str) -> list[Candidate]: ...

    def describe(self) -> dict[str, Any]: ...


class LinkNames:
    """The names of a corpus: titles, redirects, texts of links, names in first sentences.

    The prior is the share of links with that text that lead to the page, with one link added for
    every page of that name; of pages nobody links to, one whose whole title is the name comes first.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._index = PageNames(corpus=corpus.names)

    def describe(self) -> dict[str, Any]:
        return {"names": "corpus"}

    def find(self, text: str) -> list[Span]:
        """Names written like names; where none is, the longest of those that are not."""
        mentions = self._index.find(text)
        kept = [m for m in mentions if m.proper] or sorted(mentions, key=lambda m: m.start - m.end)[:1]
        return [Span(text=m.name, start=m.start, end=m.end) for m in kept]

    def candidates(self, name: str) -> list[Candidate]:
        links: dict[int, float] = {}
        for bearing in self._corpus.names.bearers(name):
            if bearing.kind != "before comma":
                count = bearing.count if bearing.kind == "anchor" else 0
                links[bearing.page] = links.get(bearing.page, 1.0) + count
        pages = sorted(links)
        ids = dict(zip(pages, self._corpus.page_ids(pages), strict=True))
        titles = self._corpus.page_table.strings(pages, "title")
        exact = {p for p, title in zip(pages, titles, strict=True) if name_key(title) == name_key(name)}
        total = sum(links.values())
        ordered = sorted(links, key=lambda p: (-links[p], p not in exact, p))
        return [Candidate(page=ids[p], prior=links[p] / total) for p in ordered]


class KnowledgeNames:
    """All names of a knowledge base: labels, aliases, titles, redirects, texts of links.

    The prior is how often a link with that text leads to the candidate, smoothed by one further link
    that is shared out by views.
    """

    def __init__(self, path: str | Path, corpus: Corpus) -> None:
        from whichone.files.folder import Folder
        from whichone.knowledge.knowledge_tables import KIND
        from whichone.knowledge.lookup import NameIndex

        self.folder = Folder.open(path, KIND)
        self._index = NameIndex.open(self.folder)
        self._corpus = corpus
        some = corpus.page_ids(range(min(1000, corpus.page_count)))
        if some and not any(map(self._index.lookup.page, some)):
            raise BadInput(
                "none of the corpus' first 1,000 pages is in this knowledge base",
                file=self.folder.root,
                hint="name the knowledge base that the corpus was made from",
            )

    def describe(self) -> dict[str, Any]:
        name = self.folder.manifest.name or "knowledge"
        return {"names": f"{name}-{self.folder.content_hash[:12]}"}

    def find(self, text: str) -> list[Span]:
        return [Span(text=m.text, start=m.start, end=m.end) for m in self._index.find(text)]

    def candidates(self, name: str) -> list[Candidate]:
        """Bearers without a page in the corpus keep their share, but cannot be returned."""
        bearers = self._index.lookup.bearers(name)
        views = [1 + (b.about.popularity or 0.0) for b in bearers]
        links, total = 1 + sum(b.links for b in bearers), sum(views)
        candidates: dict[str, Candidate] = {}
        for bearer, seen in zip(bearers, views, strict=True):
            prior = (bearer.links + seen / total) / links
            for page in self._index.lookup.pages_of(bearer.about.entity):
                if page.kind == "article" and self._corpus.page_row(page.page) is not None:
                    candidate = Candidate(page=page.page, prior=prior, entity=bearer.about.entity)
                    candidates.setdefault(page.page, candidate)
        return sorted(candidates.values(), key=lambda c: (-c.prior, c.page))


def open_names(corpus: Corpus, knowledge: str | Path | None) -> Names:
    return KnowledgeNames(knowledge, corpus) if knowledge else LinkNames(corpus)


def around(text: str, spans: Sequence[Span]) -> list[str]:
    pieces, at = [], 0
    for span in sorted(spans, key=lambda s: s.start):
        pieces.append(text[at : span.start])
        at = max(at, span.end)
    pieces.append(text[at:])
    return [piece for piece in pieces if piece.strip()]


# Where a question mentions somebody: by known names, by spaCy or flair, or by given marks.


Finder = Callable[[Question], list[Span]]

FINDERS = ("auto", "names", "given", "spacy", "flair")
_MARKS = re.compile(r"\[START_ENT\]\s*(.*?)\s*\[END_ENT\]", re.S)
_NO_ENTITIES = frozenset(["CARDINAL", "ORDINAL", "DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "LANGUAGE"])
_POSSESSIVE = re.compile(r"['’]s$")


def make_finder(kind: str, names: Names, *, model: str | None = None) -> tuple[Finder, dict[str, Any]]:
    """The finder, and what decides what it finds.

    auto takes the given marks where a question has some, else the known names; spaCy and flair read the
    questions whose text has no marks.
    """
    if kind == "given":
        return given, {"mentions": "given"}
    if kind == "names":
        return (lambda question: names.find(question.text)), {"mentions": "names"}
    if kind == "auto":
        return (lambda question: given(question) or names.find(question.text)), {"mentions": "auto"}
    if kind in ("spacy", "flair"):
        find, described = spacy_finder(model) if kind == "spacy" else flair_finder(model or "ner")
        return (lambda question: _marked(question.text) or find(question)), described
    raise UsageError(f"mentions={kind} is not known", hint=did_you_mean(kind, FINDERS))


def given(question: Question) -> list[Span]:
    """Between [START_ENT] and [END_ENT], else where the question's own mention stands."""
    if (marked := _marked(question.text)) or not question.mention:
        return marked
    at = question.text.find(question.mention)
    start, end = (at, at + len(question.mention)) if at >= 0 else (0, 0)
    return [Span(text=question.mention, start=start, end=end)]


def _marked(text: str) -> list[Span]:
    return [Span(text=m[1], start=m.start(), end=m.end()) for m in _MARKS.finditer(text) if m[1]]


def bare(name: str) -> list[str]:
    """A mention as written, without a possessive, and without an article."""
    short = _POSSESSIVE.sub("", name)
    return list(dict.fromkeys([name, short, re.sub(r"^(?:the|a|an)\s+", "", short, flags=re.I)]))


def spacy_finder(model: str | None) -> tuple[Finder, dict[str, Any]]:
    """Named entities by a spaCy pipeline; numbers and dates are none."""
    with needs("spacy"):
        import spacy
    installed = [m for m in spacy.util.get_installed_models() if "_core_" in m]
    name = model or min(installed, key=lambda m: ("en_core_web_sm" not in m, m), default=None)
    if name is None:
        raise Missing(
            "no spaCy pipeline is installed", hint="install one, such as en_core_web_sm, or -o model=PATH"
        )
    try:
        pipeline = spacy.load(name)
    except OSError as error:
        raise Missing(f"there is no spaCy pipeline {name!r}", hint=str(error)) from error
    if not any("doc.ents" in pipeline.get_pipe_meta(part).assigns for part in pipeline.pipe_names):
        raise UsageError(f"the spaCy pipeline {name} finds no named entities (it has no ner)")

    def find(question: Question) -> list[Span]:
        text = question.text[: pipeline.max_length]
        return [
            Span(text=e.text, start=e.start_char, end=e.end_char)
            for e in pipeline(text).ents
            if e.label_ not in _NO_ENTITIES
        ]

    return find, {"mentions": "spacy", "model": name, "model_version": pipeline.meta.get("version", "")}


def flair_finder(model: str) -> tuple[Finder, dict[str, Any]]:
    """Named entities by a flair tagger, with its confidence."""
    with needs("flair"):
        from flair.data import Sentence
        from flair.models import SequenceTagger
    tagger = SequenceTagger.load(model)

    def find(question: Question) -> list[Span]:
        sentence = Sentence(question.text)
        tagger.predict(sentence)
        return [
            Span(text=s.text, start=s.start_position, end=s.end_position, score=float(s.score))
            for s in sentence.get_spans(tagger.label_type)
        ]

    return find, {"mentions": "flair", "model": model}


class Linker:
    """Links every mention of a question to pages and merges the candidates by their scores.

    `mentions` is auto, names, given, spacy or flair, `model` that of spaCy or flair, `knowledge` a
    knowledge base; without one, names are those of the corpus. A question
    without a mention, or whose mentions nobody has, has an empty result, which the run counts.
    """

    kind = "linker"

    def __init__(self, names: Names, finder: Finder, given: dict[str, Any]) -> None:
        self.names, self._find, self._described = names, finder, given

    @property
    def sees(self) -> tuple[str, ...]:
        own = self.names.describe().get("names") == "corpus"
        return ("corpus",) if own else ("corpus", "knowledge base")

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        work: Path,
        *,
        mentions: str = "auto",
        model: str | None = None,
        knowledge: str | None = None,
    ) -> Self:
        names = open_names(corpus, knowledge)
        finder, finder_description = make_finder(mentions, names, model=model)
        return cls(names, finder, {**names.describe(), **finder_description})

    def describe(self) -> dict[str, Any]:
        return {"retriever": self.kind, **self._described}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        return (self._link(question, k) for question in questions)

    def score(
        self, question: Question, span: Span, spans: Sequence[Span], candidates: Sequence[Candidate]
    ) -> list[float]:
        """The candidates' scores for one mention: here, their priors."""
        return [candidate.prior for candidate in candidates]

    def candidates(self, span: Span) -> list[Candidate]:
        for form in bare(span.text):
            if candidates := self.names.candidates(form):
                return candidates
        return []

    def _link(self, question: Question, k: int) -> Ranking:
        spans = self._find(question)
        best: dict[str, tuple[float, int]] = {}
        linked = []
        for span in spans:
            candidates = self.candidates(span)
            scores = self.score(question, span, spans, candidates)
            for candidate, score in zip(candidates, scores, strict=True):
                rank = (score * span.score, len(span.text))
                best[candidate.page] = max(rank, best.get(candidate.page, rank))
            linked.append({"mention": span.text, "candidates": len(candidates)})
        ordered = sorted(best.items(), key=lambda b: (-b[1][0], -b[1][1], b[0]))[:k]
        return Ranking(
            question=question.id,
            passages=tuple(page for page, _ in ordered),
            scores=tuple(score for _, (score, _) in ordered),
            notes={"mentions": linked},
        )


# `bootleg-style`: candidates by their types and facts, as Bootleg reasons, but without training.
# Bootleg (Orr et al., CIDR 2021) resolves the tail by patterns over types and relations. Here the same
# evidence is counted: does the candidate have the property that the question's words name, is one of its
# values named too, or of the kind that is asked for, and is it itself of a kind that the question names?


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
