"""What a question asks of its entity, and whether a page is of a kind, and says things, that fit.

The table `relations.toml` names the relations; a page's kind is read off the parentheses of its
title and the opening of its text ("... is a 1990 film by ..."), so no knowledge base is needed.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.records import grouped
from whichone.retrieval.bm25.analysis import stemmer, stemmer_of_words
from whichone.text.language import base_code, stemmer_of

_WORD = re.compile(r"[^\W_]+")
_PARENTHESES = re.compile(r"\(([^()]*)\)")
_YEARS = r"\d{3,4}\s*[–—-]\s*.{0,25}\d{3,4}"
# Languages with a table of their own; pages of others have no known kinds.
LANGUAGES = ("en", "de", "fr", "es")
_OPENING = 300
_HEAD_WORDS = 14

Stems = tuple[str, ...]
_SMALL = bytes(ord(c) if (c := chr(n).lower()).isalnum() else 32 for n in range(128)).ljust(256)


def small_words(text: str) -> list[str]:
    """The words of a text in small letters; `split` finds them sooner than a pattern."""
    if text.isascii():
        return text.encode().translate(_SMALL).decode().split()
    return _WORD.findall(text.lower())


@dataclass(frozen=True)
class RelationWords:
    """One relation: the words that ask for it, the kinds that have it, the words that state it."""

    name: str
    asks: tuple[Stems, ...]
    kinds: tuple[str, ...]
    says: tuple[Stems, ...]


@dataclass(frozen=True)
class Language:
    """How pages open and questions are asked in a language."""

    stem: Callable[[str], str]
    stem_words: Callable[[list[str]], list[str]]
    be: re.Pattern[str]
    head_ends: frozenset[str]
    openers: frozenset[str]
    lists: re.Pattern[str]
    life: re.Pattern[str]
    where: re.Pattern[str]  # How a question begins that asks for a place

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Language:
        def any_of(texts: Sequence[str]) -> str:
            return "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True)) or r"(?!)"

        articles = any_of(raw.get("articles", ()))
        born = "|".join(rf"\b{re.escape(m)}" if m[0].isalpha() else re.escape(m) for m in raw.get("born", ()))
        return cls(
            functools.lru_cache(20_000)(stemmer(raw["stemmer"])),
            stemmer_of_words(raw["stemmer"]),
            re.compile(rf"\b(?:{any_of(raw.get('be', ()))})\b\s+(?:(?:{articles})\b)?"),
            frozenset(raw.get("head_ends", ())),
            frozenset(raw.get("openers", ())),
            re.compile(any_of(raw.get("lists", ()))),
            re.compile(rf"[(,].{{0,80}}?(?:{born or r'(?!)'}|{_YEARS})"),
            re.compile(rf"(?i:\W*(?:{any_of(raw.get('where', ()))})\b)"),
        )

    def stems(self, text: str) -> Stems:
        return tuple(self.stem_words(small_words(text)))

    def opening_head(self, text: str) -> Stems:
        """The words between "is a" and the first "by", "in", "who" ... of a text's opening, as stems."""
        if (match := self.be.search(text[:_OPENING])) is None:
            return ()
        words = []
        for word in _WORD.findall(text[match.end() : match.end() + _OPENING].lower())[:_HEAD_WORDS]:
            if word in self.head_ends:
                break
            words.append(word)
        return tuple(map(self.stem, words))


@dataclass(frozen=True)
class RelationTable:
    """All relations and kinds, as stems."""

    relations: tuple[RelationWords, ...]
    kinds: Mapping[Stems, tuple[str, ...]]  # From a word that names a kind to the kinds it may mean
    people: frozenset[str]  # Kinds of people
    language: Language

    @classmethod
    @functools.cache
    def load(cls, language: str = "en") -> RelationTable:
        """The table of a language; an empty one where there is none, so that no kind counts."""
        if (code := base_code(language)) not in LANGUAGES:
            return cls((), {}, frozenset(), Language.of({"stemmer": stemmer_of(code)}))
        file = "relations.toml" if code == "en" else f"relations.{code}.toml"
        raw = tomllib.loads(files(__package__).joinpath(file).read_text("utf-8"))
        own = Language.of(raw["language"])
        stems = own.stems
        relations = tuple(
            RelationWords(
                name, tuple(map(stems, row["asks"])), tuple(row["kinds"]), tuple(map(stems, row["says"]))
            )
            for name, row in raw["relations"].items()
        )
        kinds = grouped((stems(word), kind) for kind, words in raw["kinds"].items() for word in words)
        return cls(
            relations,
            {word: tuple(k) for word, k in kinds.items()},
            frozenset(raw.get("people", {}).get("kinds", ())),
            own,
        )

    @functools.cached_property
    def _cues(self) -> dict[str, list[tuple[int, Stems]]]:
        """What asks for a relation, by its first stem, with the relation's number."""
        return grouped(
            (cue[0], (number, cue)) for number, relation in enumerate(self.relations) for cue in relation.asks
        )

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """The stems of all words that ask for a relation, state one or name a kind."""
        phrases = [phrase for relation in self.relations for phrase in (*relation.asks, *relation.says)]
        return frozenset(stem for phrase in (*phrases, *self.kinds) for stem in phrase)

    def asked(self, remainder: Sequence[str]) -> list[RelationWords]:
        """The relations that the pieces of a question around its names ask for, the longest cue wins."""
        return self.asked_with_cue(remainder)[0]

    def asked_with_cue(self, remainder: Sequence[str]) -> tuple[list[RelationWords], frozenset[str]]:
        """The same, and the stems of all words that may ask for these relations."""
        pieces = [self.language.stems(piece) for piece in remainder]
        cues: dict[int, int] = {}
        for stem in {stem for piece in pieces for stem in piece}:
            for number, cue in self._cues.get(stem, ()):
                if any(contains(piece, cue) for piece in pieces):
                    cues[number] = max(cues.get(number, 0), len(cue))
        longest = max(cues.values(), default=0)
        asked = [self.relations[n] for n in sorted(cues) if cues[n] == longest]
        return asked, frozenset(s for relation in asked for cue in relation.asks for s in cue)

    def kinds_of(self, title: str, text: str) -> frozenset[str]:
        """What a page says it is about: by its title's parentheses, else by its opening words."""
        inside = _PARENTHESES.findall(title)
        inner = self._kinds_in(self.language.stems(inside[-1])) if inside else frozenset()
        kinds = inner or self._kinds_in(self.language.opening_head(text))
        if not kinds and self.language.life.search(text[:_OPENING]):
            return frozenset(["person"])
        return kinds | {"person"} if kinds & self.people else kinds

    def _kinds_in(self, words: Stems) -> frozenset[str]:
        kinds: set[str] = set()
        for at in range(len(words)):
            for size in (2, 1):
                kinds.update(self.kinds.get(words[at : at + size], ()))
        return frozenset(kinds)

    def lists_bearers(self, title: str, text: str) -> bool:
        """Whether a page is a disambiguation page: it lists who has the name, and is none of them."""
        if title.endswith(("(disambiguation)", "(Begriffsklärung)", "(homonymie)", "(desambiguación)")):
            return True
        return bool(self.language.lists.search(text[:150].lower()))


def stems(text: str) -> Stems:
    """Stems of English words."""
    return RelationTable.load().language.stems(text)


def contains(words: Stems, phrase: Stems) -> bool:
    """Whether a phrase occurs among words, in order and together."""
    if (size := len(phrase)) and phrase[0] not in words:
        return False
    return size == 1 or any(words[at : at + size] == phrase for at in range(len(words) - size + 1))


# What superlatives compare: "the largest", "the one with the lowest population", "the oldest".


_THOUSANDS, _NUMBER = (
    r"[., \u00a0\u202f](?=\d{3}(?!\d))",
    r"(?<![\d.,])((?:\d{1,3}(?:[., \u00a0\u202f]\d{3})+|\d+(?:\.\d+)?)(?:-\d\d){0,2})(?!\d)",
)


@functools.cache
def compared() -> list[tuple[Stems, Mapping[str, bool]]]:
    """Labels of numbers, and for each superlative whether it asks for most."""
    raw = tomllib.loads(files(__package__).joinpath("quantities.toml").read_text("utf-8")).values()
    return [
        (tuple(t["labels"]), {w.casefold(): side == "most" for side in ("least", "most") for w in t[side]})
        for t in raw
    ]


def extremes(
    text: str, things: Iterable[tuple[Mapping[str, str], str]], follows: Set[str]
) -> Iterator[tuple[int, str]]:
    """For each superlative of a text in small letters which of several things, of attributes and an opening, alone has most or least.

    `follows` are words after a superlative that is on the things themselves: "the largest Elgin", not "the highest tower".
    """
    words = "|".join(
        sorted({re.escape(word) for _, own in compared() for word in own}, key=len, reverse=True)
    )
    for word, noun in re.findall(rf"\b({words})\b(?:\W+(\w+))?", text):
        things = [*things]
        most = next(own[word] for _, own in compared() if word in own)
        named = [(most, labels) for labels, _ in compared() if labels and noun.startswith(labels)]
        if any(noun == name.casefold() for own, _ in things for name in own):
            named.insert(0, (most, (noun,)))
        ordinary = ((own[word], listed) for listed, own in compared() if listed and word in own)
        for more, labels in named or (ordinary if noun in follows else ()):
            given = (
                [n for t in (*map(" ".join, own.items()), opening) if (n := number_of(t, labels)) is not None]
                for own, opening in things
            )
            known = sorted((-own[0] if more else own[0], at) for at, own in enumerate(given) if own)
            if len(known) > 1 and known[0][0] < known[1][0]:
                yield known[0][1], f"{'highest' if more else 'lowest'} {labels[0]} ({abs(known[0][0]):,.10g})"
                break


def number_of(text: str, labels: Stems) -> float | None:
    """The first number beside one of these labels, of "24,760 people", "born 1950" and "36 metres tall"; of a date its year, month and day."""
    label = rf"\b(?:{'|'.join(map(re.escape, labels))})\w{{0,3}}\b"
    between = r"\W+(?:[^\W\d]+\W+){0,3}?(?:\d{1,2}\.?\s+[^\W\d]+\s+|[^\W\d]+\s+\d{1,2},\s+)?"
    ways = (rf"{_NUMBER}[\s-]+{label}", label + between + _NUMBER, rf"{_NUMBER}\s+[^\W\d]+\s+{label}")
    match = next(filter(None, (re.search(f"(?i:{way})", text) for way in ways)), None)
    parts = re.sub(_THOUSANDS, "", match[1]).split("-") if match is not None else ()
    return sum(float(part) / 100**n for n, part in enumerate(parts)) if parts else None


# What a knowledge base adds: further names of the pages, their popularity, and their facts.


OF_PAGES = ("title", "redirect")
NAME_KINDS = ("label", "alias", *OF_PAGES)
_INSTANCE_OF = "P31"
_YEAR = re.compile(r"\d{4}")


class WordedFact(NamedTuple):
    """A fact as words that a question may have."""

    property: str
    value: str
    property_stems: Stems
    value_stems: Stems


class Knowledge:
    """Names, facts and views of the entities that pages of a corpus are about; pages by their rows."""

    def __init__(self, path: str | Path, corpus: Corpus) -> None:
        self._folder = Folder.open(path, KIND)
        self.id = f"{self._folder.manifest.name or 'knowledge'}-{self._folder.content_hash[:12]}"
        self._pages: dict[str, list[int]] = {}
        self._entity: dict[int, str] = {}
        self._titles: dict[str, int] = {}
        table = self._folder.table("pages", ["page", "entity", "title"])
        for batch in table.to_batches(max_chunksize=65_536):
            columns = (batch[name].to_pylist() for name in ("page", "entity", "title"))
            rows = corpus.page_rows(batch["page"].to_pylist())
            for row, (_, entity, title) in zip(rows, zip(*columns, strict=True), strict=True):
                if row is None:
                    continue
                self._titles[title] = row
                if entity is not None:
                    self._pages.setdefault(entity, []).append(row)
                    self._entity[row] = entity
        if not self._titles:
            raise BadInput(
                "none of the corpus' pages is in this knowledge base",
                file=self._folder.root,
                hint="name the knowledge base that the corpus was made from",
            )
        self._labels = self._property_labels()
        self._facts = self._entity_facts()
        self._places = _runs(self._facts["entity"])
        self.facts = functools.lru_cache(20_000)(self._read_facts)

    def entity(self, page: int) -> str | None:
        """Whom a page is about."""
        return self._entity.get(page)

    def names(self) -> Iterator[tuple[str, int]]:
        """Name and page for every label, alias, title and redirect.

        Where an entity has several documents here, a title is that of one of them and no name of the entity.
        """
        several = [entity for entity, pages in self._pages.items() if len(pages) > 1]
        table = self._folder.table("names", ["entity", "name", "kind"])
        of_document = pc.and_(
            pc.is_in(table["kind"], pa.array(OF_PAGES)),
            pc.is_in(table["entity"], pa.array(several, pa.string())),
        )
        known = pc.and_(
            pc.is_in(table["entity"], pa.array(list(self._pages), pa.string())),
            pc.is_in(table["kind"], pa.array(NAME_KINDS)),
        )
        table = table.filter(pc.and_not(known, of_document))
        for entity, name in zip(table["entity"].to_pylist(), table["name"].to_pylist(), strict=True):
            for page in self._pages[entity]:
                yield name, page

    def popularity(self) -> dict[int, float]:
        """Views of the pages of the corpus; a catalogue's are of its entities, and so of all their documents."""
        popularity: dict[int, float] = {}
        if self._folder.has("views.parquet"):
            table = self._folder.table("views", ["title", "views"])
            for title, views in zip(table["title"].to_pylist(), table["views"].to_pylist(), strict=True):
                own = self._titles.get(title)
                for page in self._pages.get(title, ()) if own is None else (own,):
                    popularity[page] = popularity.get(page, 0.0) + float(views or 0)
        return popularity

    def asked_properties(self, page: int, words: Stems) -> list[str]:
        """Labels of the properties of a page's entity that the question's words name."""
        labels = {f.property: f.property_stems for f in self.facts(self._entity.get(page, ""))}
        return [label for label, own in labels.items() if own and contains(words, own)]

    def _property_labels(self) -> dict[str, tuple[str, Stems]]:
        table = self._folder.table("properties", ["property", "label"])
        pairs = zip(table["property"].to_pylist(), table["label"].to_pylist(), strict=True)
        return {p: (label, stems(label)) for p, label in pairs if label and stems(label)}

    def _entity_facts(self) -> pa.Table:
        """The facts of all entities with a page here, by entity; of values that are entities their labels."""
        table = self._folder.table("facts", ["entity", "property", "kind", "value"])
        table = table.filter(pc.is_in(table["entity"], pa.array(list(self._pages), pa.string())))
        if not self._folder.has("entities.parquet"):
            return table
        named = table.filter(pc.equal(table["kind"], "entity"))["value"].unique()
        entities = self._folder.table("entities", ["entity", "label"])
        entities = entities.filter(pc.is_in(entities["entity"], named)).combine_chunks()
        places = pc.index_in(table["value"], entities["entity"])
        is_entity = pc.equal(table["kind"], "entity")
        value = pc.if_else(is_entity, entities["label"].take(places), table["value"])
        return table.set_column(table.column_names.index("value"), "value", value)

    def _read_facts(self, entity: str) -> tuple[WordedFact, ...]:
        first, end = self._places.get(entity, (0, 0))
        rows = self._facts.slice(first, end - first).to_pylist() if end > first else []
        return tuple(fact for row in rows if (fact := self._fact(row)) is not None)

    def _fact(self, row: dict[str, Any]) -> WordedFact | None:
        """Numbers without their sign, of times the year; a value without a label says nothing."""
        label, own = self._labels.get(row["property"], ("", ()))
        text = row["value"] or ""
        if row["kind"] == "quantity":
            text = text.lstrip("+")
        elif row["kind"] == "time":
            year = _YEAR.search(text)
            text = year.group() if year is not None else ""
        if row["property"] == _INSTANCE_OF:
            text = ""  # of which kind it is, the page says too
        return WordedFact(label, text, own, stems(text)) if label else None


def _runs(entities: pa.ChunkedArray) -> dict[str, tuple[int, int]]:
    """Where each entity's rows begin and end; they are together."""
    if not len(entities):
        return {}
    runs = pc.run_end_encode(entities.combine_chunks())
    ends = runs.run_ends.to_pylist()
    return dict(zip(runs.values.to_pylist(), zip([0, *ends[:-1]], ends, strict=True), strict=True))
