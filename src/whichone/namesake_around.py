"""`namesake` around a search that exists already: wider results, and bearers of one name in a better order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from whichone.corpus.names import CorpusNames, Named
from whichone.corpus.tables import NAMES
from whichone.errors import BadInput
from whichone.files.mapped import MappedTable
from whichone.files.tables import sort_rows
from whichone.names import token_key
from whichone.records import Question
from whichone.retrieval.bm25 import Bm25Parameters
from whichone.retrieval.namesake.given import Thing, things
from whichone.retrieval.namesake.index import Index
from whichone.retrieval.namesake.lexical import Lexical
from whichone.retrieval.namesake.names import PageNames
from whichone.retrieval.namesake.parameters import NamesakeParameters
from whichone.retrieval.namesake.part import Part
from whichone.retrieval.namesake.passages import passage_rows
from whichone.retrieval.namesake.reading import Searcher, reordered
from whichone.retrieval.namesake.relations import RelationTable
from whichone.retrieval.namesake.resolution import Resolution
from whichone.retrieval.namesake.variants import NameVariants

Search = Callable[..., Iterable[Any]]
_MOST_BEARERS = 8
_MEAN_LENGTH = 60.0


class NamesakeAround:
    """Widens what a search returns by one search a bearer of a shared name, and re-orders it.

    It has no index of its own. Where no name of the question is shared, the search's own order stays; where
    one is, only the places of its bearers' results change hands. Results may be records, passages, texts, or
    documents of LangChain, LlamaIndex and Haystack; they come back as they were.
    """

    def __init__(
        self, search: Search | None, names: Any = None, *, wider: int = 3, language: str = "en"
    ) -> None:
        self._search = search
        self._wider = wider
        self._language = language
        self._things = list(things(names))
        self._by_id = {thing.id: thing for thing in self._things}
        pairs = [(name, n) for n, thing in enumerate(self._things) for name in thing.names]
        openers = RelationTable.load(language).language.openers
        self._names = PageNames(pairs, variants=_Variants(pairs), openers=openers)

    @property
    def sees(self) -> tuple[str, ...]:
        return ("corpus", "knowledge base") if self._things else ("corpus",)

    def search(self, text: str, k: int = 5, **options: Any) -> list[Any]:
        """The search's own results, widened and re-ordered; `options` go to the search."""
        if self._search is None:
            raise BadInput("there is no search to widen", hint="give one, or call `rerank`")
        return self.rerank(text, self._widened(text, k, options))[:k]

    def search_many(self, texts: Sequence[str], k: int = 5, **options: Any) -> list[list[Any]]:
        """The same for several questions."""
        return [self.search(text, k, **options) for text in texts]

    def _widened(self, text: str, k: int, options: Mapping[str, Any]) -> list[Any]:
        """The results of the question, then those of each bearer of a shared name."""
        assert self._search is not None
        results = list(self._search(text, self._wider * k, **options))
        bearers, respelt = self._bearers(text)
        more: list[Any] = []
        for thing in bearers:
            words = " ".join([thing.names[0], *thing.attributes.values()])
            more += self._search(f"{text} {words}", self._wider * k if respelt else k, **options)
        own = {thing.id for thing in bearers}
        # a name written in another way may be unknown to the search: those who have it go first
        first = [hit for hit in more if respelt and own & _about(_record(hit, 0))]
        distinct: dict[str, Any] = {}
        for number, hit in enumerate([*first, *results, *more]):
            distinct.setdefault(_record(hit, number)["id"], hit)
        return list(distinct.values())

    def _bearers(self, text: str) -> tuple[list[Thing], bool]:
        """Those who share a name of the question, or whose name it writes in another way; whether it does."""
        mentions = self._names.find(text)
        listed = [m for m in mentions if len(m.pages) > 1 or m.written]
        things = [self._things[n] for m in listed for n in m.pages[:_MOST_BEARERS]]
        return things, any(m.written for m in listed)

    def rerank(self, text: str, results: Sequence[Any]) -> list[Any]:
        """Results in a better order; those that belong to no bearer of a shared name keep their places."""
        if len(results) < 2:
            return list(results)
        searcher, order = self._searcher(results)
        question = Question(id="asked", text=text)
        (reading,) = searcher.readings([question], 1)
        pages = [int(searcher.index.pages.of_passages([row])[0]) for row in order]
        places = {page: n for n, page in enumerate(pages)}
        groups = [evidence for _, evidence in reading.weighed]
        return [results[places[page]] for page in reordered(pages, groups)]

    def resolve(
        self, text: str, results: Sequence[Any] | None = None, *, answer: str = ""
    ) -> Resolution:
        """Who the name in a question means, judged by what the search returns."""
        listed = self._widened(text, 5, {}) if results is None else list(results)
        if not listed:
            return Resolution(text, None)
        return self._searcher(listed)[0].resolve(Question(id="asked", text=text), answer)

    def _searcher(self, results: Sequence[Any]) -> tuple[Searcher, list[int]]:
        """The results as a small index of their own, and the row of each."""
        records = [{**_record(hit, n), "page": f"{n:06}"} for n, hit in enumerate(results)]
        rows = list(passage_rows(records))
        known = {str(record["id"]): row["page"] for record, row in zip(records, rows, strict=True)}
        entities = {row["entity"] for row in rows}
        given = []
        for thing in self._things:
            if thing.id in entities:
                given.append(thing)
            elif thing.id in known:
                given.append(Thing(known[thing.id], thing.names, thing.attributes))
        lexical = Lexical([], Bm25Parameters())
        terms = [lexical.keys(f"{row['title'] or ''} {row['text']}") for row in rows]
        part = Part.of(rows, given, terms, Bm25Parameters(), _MEAN_LENGTH)
        index = Index([part], Bm25Parameters(), language=self._language)
        return Searcher(index, NamesakeParameters(encoder="none"), lambda: None), list(
            range(len(rows))
        )


class _Variants:
    """The given names as people write them; looked up only where a name is not written as it was given."""

    def __init__(self, pairs: Sequence[tuple[str, int]]) -> None:
        self._pairs = pairs

    @functools.cached_property
    def _known(self) -> NameVariants:
        rows = [Named(name, "alias").row(number) for name, number in self._pairs]
        table = MappedTable.of(sort_rows(NAMES.from_rows(rows), NAMES))
        return NameVariants.of(CorpusNames.of(table))

    def by_short_key(self, key: str, most: int) -> list[str]:
        return self._known.by_short_key(key, most) if self._pairs else []

    def words_like(self, word: str, most: int = 8) -> list[str]:
        return self._known.words_like(word, most) if self._pairs else []


def _record(hit: Any, number: int) -> dict[str, Any]:
    """A result as a record with id, title, text, entity and further fields."""
    if isinstance(hit, str):
        return {"id": hit, "text": hit}
    if isinstance(hit, tuple) and hit:
        return _record(hit[0], number)
    if isinstance(hit, Mapping):
        record = dict(hit)
        record.setdefault("text", record.get("content") or record.get("page_content"))
        meta = record.pop("metadata", None) or record.pop("meta", None) or {}
        record = {**meta, **record}
    else:
        inner = getattr(hit, "passage", None) or getattr(hit, "node", None) or hit
        meta = getattr(inner, "metadata", None) or getattr(inner, "meta", None) or {}
        text = _first(inner, "text", "page_content", "content")
        own = _first(inner, "source_id", "id", "node_id", "id_")
        record = {**dict(meta), "text": text}
        for name, value in (
            ("id", own),
            ("title", _first(inner, "title")),
            ("entity", _first(inner, "entity")),
        ):
            if value is not None:
                record.setdefault(name, value)
    if not isinstance(record.get("text"), str):
        raise BadInput(
            f"result {number} has no text: {hit!r:.80}",
            hint="return records with text, passages, or documents of LangChain, LlamaIndex or Haystack",
        )
    record.setdefault("id", f"result {number} {token_key(record['text'])[:60]}")
    record["id"] = str(record["id"])
    return {name: value for name, value in record.items() if name not in ("score", "page", "n")}


def _about(record: Mapping[str, Any]) -> set[str]:
    """What a result may be known by: whom it is about, and its own id."""
    return {str(record[key]) for key in ("entity", "id") if record.get(key) is not None}


def _first(thing: Any, *names: str) -> Any:
    """The first of some attributes that is there."""
    return next((v for name in names if (v := getattr(thing, name, None)) is not None), None)
