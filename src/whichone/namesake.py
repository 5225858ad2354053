"""The retriever that knows about namesakes, over anybody's own passages: `whichone.Namesake`."""

from __future__ import annotations

import functools
import operator
import os
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.corpus.corpus import NAMES, Corpus
from whichone.corpus.given import Thing, passage_rows, save_passages, things
from whichone.corpus.page_names import CorpusNames, Named
from whichone.errors import BadInput, UsageError
from whichone.files.mapped import MappedTable
from whichone.files.tables import sort_rows
from whichone.names import token_key
from whichone.records import Passage, Question
from whichone.retrieval.bm25 import Bm25Parameters
from whichone.retrieval.namesake import NamesakeRetriever
from whichone.retrieval.namesake.asking import Resolution
from whichone.retrieval.namesake.knowledge_evidence import RelationTable
from whichone.retrieval.namesake.lexical import Lexical, passes
from whichone.retrieval.namesake.question_names import PageNames
from whichone.retrieval.namesake.questions_asked import Searcher, reordered
from whichone.retrieval.namesake.snapshot import Index, Part
from whichone.retrieval.namesake.spelling import NameVariants
from whichone.retrieval.namesake.weights import NamesakeParameters

Search = Callable[..., Iterable[Any]]
_MOST_BEARERS = 8
_MEAN_LENGTH = 60.0


class Hit(msgspec.Struct, frozen=True):
    """A passage, its score, and the further fields that it came with."""

    passage: Passage
    score: float
    fields: Mapping[str, Any] = {}

    @property
    def id(self) -> str:
        """What its own corpus calls the passage."""
        return self.passage.source_id or self.passage.id


class Namesake:
    """Searches passages; of several things of one name it hands over the one that is meant.

    Names come from the passages' titles and first sentences, and from `names` where they are given.
    It may be used by several threads at once.
    """

    def __init__(self, folder: Path, **options: Any) -> None:
        self._folder = folder
        self._retriever = NamesakeRetriever.open(folder, **options)
        self._lock = threading.RLock()
        _opened.add(self)

    @classmethod
    def over(cls, passages: Any, *, names: Any = None, encoder: str = "auto", **options: Any) -> Namesake:
        """Index passages: a corpus, records with id, title and text, a pandas or an Arrow table.

        A record's `entity` says whom it is about (several passages may be about one), `page` which passages
        of one entity belong together; further fields can be filtered by. `names` are records too, or a file of
        records: `id` (an entity, page or passage), `name`, `aliases`, and attributes such as company or
        city; or a mapping from names to ids. `language` ("de", "fr", "es"; else English) is that of the
        passages. A question back uses the attributes in `ask` first, and none of those in `never`, which no
        resolution shows either. The index is temporary until it is saved.
        """
        place = Path(tempfile.mkdtemp(prefix="whichone-namesake-"))
        try:
            corpus = passages
            if not isinstance(passages, Corpus):
                language = str(options.get("language", ""))
                corpus = save_passages(
                    place / "corpus", passage_rows(passages), language=language.replace("auto", "")
                )
            elif not len(passages):
                raise BadInput("there are no passages")
            index = place / "index"
            NamesakeRetriever.build(corpus, index, given=things(names), encoder=encoder, **options)
            opened = cls(index)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        weakref.finalize(opened, _delete, place, os.getpid())
        return opened

    @staticmethod
    def around(
        search: Search, *, names: Any = None, wider: int = 3, language: str = "en",
        ask: Iterable[str] = (), never: Iterable[str] = (),
    ) -> NamesakeAround:  # fmt: skip
        """Around a search that exists already, without an index: `search(text, k)` returns results.

        Results are records, passages, texts, or documents of LangChain, LlamaIndex and Haystack, and come back
        as they were. `names`, `language`, `ask` and `never` are as for `over`; a result belongs to a thing by its `entity` or
        its id.
        """
        return NamesakeAround(search, names, wider=wider, language=language, ask=ask, never=never)

    @classmethod
    def open(cls, folder: str | Path, **options: Any) -> Namesake:
        """Open what `save` or `whichone index --retriever namesake` wrote."""
        return cls(Path(folder), **options)

    def save(self, folder: str | Path) -> None:
        """Keep the index in a folder, complete in itself; from now on it is changed there."""
        if Path(folder).exists():
            raise UsageError("there is something already", where=str(folder))
        with self._lock:
            shutil.copytree(self._folder, folder, ignore=shutil.ignore_patterns(".updating"))
            options = msgspec.to_builtins(self._retriever.parameters)
            self._folder = Path(folder)
            self._retriever = NamesakeRetriever.open(folder, **options)

    def __len__(self) -> int:
        return len(self._retriever.index)

    @property
    def sees(self) -> tuple[str, ...]:
        """What it was given: the corpus, and a knowledge base where names or facts were given."""
        return self._retriever.sees

    def describe(self) -> dict[str, Any]:
        """Of which corpus, versions and models the index was made, and what decides its answers."""
        return {**self._retriever.describe(), "sees": self.sees}

    # changing

    def add(self, passages: Any, *, names: Any = None) -> int:
        """Add passages, or replace those of the same id; how many.

        They are on disk, and found, when this returns. Other processes that have opened the same folder
        go on with what they opened until they call `refresh`.
        """
        with self._lock:
            return self._retriever.add(passages, names)

    def remove(self, ids: str | int | Iterable[str | int] = (), *, entity: str | None = None) -> int:
        """Remove passages, or all passages of pages, by id, or those about an entity; how many."""
        every: Any = [ids] if isinstance(ids, str | int) else ids
        if isinstance(ids, Mapping) or not isinstance(every, Iterable) or None in (every := list(every)):
            raise UsageError(f"an id is a text; give one or a list of them, not {ids!r:.60}")
        listed = [str(own) for own in every]
        with self._lock:
            return self._retriever.remove(listed, () if entity is None else (str(entity),))

    def refresh(self) -> bool:
        """Take over what other processes have added or removed since; whether there was anything."""
        with self._lock:
            return self._retriever.refresh()

    # searching

    def search(self, text: str, k: int = 5, *, filter: Mapping[str, Any] | None = None) -> list[Hit]:
        """The best passages for a question.

        `filter` says which passages may be returned, and whose names count: {"tenant": "a"}, {"year": [2023,
        2024]}; it is applied before anything is ranked.
        """
        return self.search_many([text], k, filter=filter)[0]

    def search_many(
        self, texts: Sequence[str], k: int = 5, *, filter: Mapping[str, Any] | None = None
    ) -> list[list[Hit]]:
        """The same for several questions at once."""
        questions = [_question(n, text) for n, text in enumerate(_listed(texts))]
        k = _count(k)
        with self._lock:
            readings = self._retriever.readings(questions, k, filter)
            return [self._hits(reading.rows, reading.scores, filter) for reading in readings]

    def by_words(self, text: str, k: int = 5) -> list[Hit]:
        """What the question's words alone bring (BM25), as a search that knows no names would."""
        text, k = _question(0, text).text, _count(k)
        with self._lock:
            index = self._retriever.index
            rows, scores = index.lexical.best(text, k, index.whole)
            return self._hits(rows.tolist(), scores.tolist(), None)

    def _hits(
        self, rows: Iterable[int], scores: Iterable[float], filter: Mapping[str, Any] | None
    ) -> list[Hit]:
        hits = []
        for row, score in zip(rows, scores, strict=True):
            passage, raw = self._retriever.index.pages.passage(row)
            record = {"entity": passage.entity, "page": passage.page, "fields": raw}
            if filter and not passes(filter, record):
                continue  # a value whose hash is that of another value
            hits.append(Hit(passage, score, msgspec.json.decode(raw) if raw else {}))
        return hits

    def resolve(self, text: str, *, answer: str = "", filter: Mapping[str, Any] | None = None) -> Resolution:
        """Who the name in a question means, with a calibrated probability for each bearer, and for none of them.

        `outcome` says what to do: "this one", the first bearer; "ask", put `question` to the user, whose reply
        goes into `answer`; "nobody", the one who is meant is not here. Of several names the first shared one is
        resolved.
        """
        with self._lock:
            return self._retriever.resolve(_question(0, text), _text(answer, "an answer"), filter)


def _delete(place: Path, owner: int) -> None:
    """A temporary index, by the process that made it: a forked child may end before its parent."""
    if os.getpid() == owner:
        shutil.rmtree(place, ignore_errors=True)


# A child forked while another thread searches would wait for that thread, which it does not have, forever.
_opened: weakref.WeakSet[Namesake] = weakref.WeakSet()
_held = threading.local()


def _hold_all() -> None:
    _held.locks = [namesake._lock for namesake in sorted(_opened, key=id)]
    for lock in _held.locks:
        lock.acquire()


def _release_all() -> None:
    for lock in _held.locks:
        lock.release()


def _renew_locks() -> None:
    """In the child: locks of this package's modules, and those that `cached_property` has before Python 3.12."""
    _release_all()
    modules = [module for name, module in sys.modules.items() if name.startswith("whichone.")]
    for value in [value for module in modules for value in vars(module).values()]:
        if isinstance(value, type(threading.Lock())):
            value._at_fork_reinit()  # type: ignore[attr-defined]
        for own in vars(value).values() if isinstance(value, type) else ():
            if isinstance(own, functools.cached_property) and hasattr(own, "lock"):
                own.lock = threading.RLock()


os.register_at_fork(before=_hold_all, after_in_parent=_release_all, after_in_child=_renew_locks)


class NamesakeAround:
    """Widens what a search returns by one search a bearer of a shared name, and re-orders it.

    It has no index of its own. Where no name of the question is shared, the search's own order stays; where
    one is, only the places of its bearers' results change hands. Results may be records, passages, texts, or
    documents of LangChain, LlamaIndex and Haystack; they come back as they were.
    """

    def __init__(
        self, search: Search | None, names: Any = None, *, wider: int = 3, language: str = "en",
        ask: Iterable[str] = (), never: Iterable[str] = (),
    ) -> None:  # fmt: skip
        if search is not None and not callable(search):
            raise UsageError(f"a search is a function `(text, k)`, not {search!r:.60}")
        self._search = search
        self._wider = _count(wider, "wider")
        self._language = language
        self._parameters = NamesakeParameters.of(
            {"encoder": "none", "ask": _names_of(ask, "ask"), "never": _names_of(never, "never")}
        )
        self._things = list(things(names))
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
        text, k = _text(text), _count(k)
        return self.rerank(text, self._widened(text, k, options))[:k]

    def search_many(self, texts: Sequence[str], k: int = 5, **options: Any) -> list[list[Any]]:
        """The same for several questions."""
        return [self.search(text, k, **options) for text in _listed(texts)]

    def _widened(self, text: str, k: int, options: Mapping[str, Any]) -> list[Any]:
        """The results of the question, then those of each bearer of a shared name."""

        def ask(asked: str, most: int) -> list[Any]:
            assert self._search is not None
            return _results(self._search(asked, most, **options), "the search returned")

        results = ask(text, self._wider * k)
        # those who share a name of the question, or whose name it writes in another way
        mentions = [m for m in self._names.find(text) if len(m.pages) > 1 or m.written]
        bearers = [self._things[n] for m in mentions for n in m.pages[:_MOST_BEARERS]]
        respelt = any(m.written for m in mentions)
        more: list[Any] = []
        for thing in bearers:
            words = " ".join([thing.names[0], *thing.attributes.values()])
            more += ask(f"{text} {words}", self._wider * k if respelt else k)
        own = {thing.id for thing in bearers}
        # a name written in another way may be unknown to the search: those who have it go first
        first = [hit for hit in more if respelt and own & _about(_record(hit, 0))]
        distinct: dict[str, Any] = {}
        for number, hit in enumerate([*first, *results, *more]):
            record = _record(hit, number)
            unnamed = record["id"].startswith(f"result {number} ")  # each bearer's search may return it
            distinct.setdefault(str({**record, "id": ""}) if unnamed else record["id"], hit)
        return list(distinct.values())

    def rerank(self, text: str, results: Sequence[Any]) -> list[Any]:
        """Results in a better order; those that belong to no bearer of a shared name keep their places."""
        question, results = _question(0, text), _results(results, "the results are")
        if len(results) < 2:
            return results
        searcher = self._searcher(results)
        (reading,) = searcher.readings([question], 1)
        pages = searcher.index.pages.of_passages(range(len(results))).tolist()
        places = {page: n for n, page in enumerate(pages)}
        groups = [evidence for _, evidence in reading.weighed]
        return [results[places[page]] for page in reordered(pages, groups)]

    def resolve(self, text: str, results: Sequence[Any] | None = None, *, answer: str = "") -> Resolution:
        """Who the name in a question means, judged by what the search returns."""
        question, answer = _question(0, text), _text(answer, "an answer")
        if results is None and self._search is None:
            raise BadInput("there is no search to ask", hint="give one, or its results")
        listed = self._widened(text, 5, {}) if results is None else _results(results, "the results are")
        if not listed:
            return Resolution(text, None, (), False, 0.0, None, 1.0, "nobody")
        return self._searcher(listed).resolve(question, answer)

    def _searcher(self, results: Sequence[Any]) -> Searcher:
        """The results as a small index of their own, in their order."""
        records = [_record(hit, n) for n, hit in enumerate(results)]
        records = [{"entity": r["id"], **r, "page": f"{n:06}"} for n, r in enumerate(records)]
        rows = list(passage_rows(records))
        known = {str(record["id"]): row["page"] for record, row in zip(records, rows, strict=True)}
        entities = {row["entity"] for row in rows}
        given = [
            thing if thing.id in entities else Thing(known[thing.id], thing.names, thing.attributes)
            for thing in self._things
            if thing.id in entities or thing.id in known
        ]
        lexical = Lexical([], Bm25Parameters())
        terms = [lexical.keys(f"{row['title'] or ''} {row['text']}") for row in rows]
        part = Part.of(rows, given, terms, Bm25Parameters(), _MEAN_LENGTH)
        index = Index([part], Bm25Parameters(), language=self._language)
        return Searcher(index, self._parameters, lambda: None)


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
        own = {
            "id": _first(inner, "source_id", "id", "node_id", "id_"),
            "title": _first(inner, "title"),
            "entity": _first(inner, "entity"),
        }
        text = _first(inner, "text", "page_content", "content")
        record = {**{name: v for name, v in own.items() if v is not None}, **meta, "text": text}
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
    return next((v for name in names if (v := getattr(thing, name, None)) is not None), None)


def _count(k: Any, name: str = "k") -> int:
    try:
        if not isinstance(k, bool) and operator.index(k) > 0:
            return operator.index(k)
    except TypeError:
        pass
    raise UsageError(f"{name} is {k!r:.60}: give a whole number from 1")


def _names_of(attributes: Any, option: str) -> tuple[str, ...]:
    listed = (attributes,) if isinstance(attributes, str) else tuple(attributes)
    if not all(isinstance(name, str) for name in listed):
        raise UsageError(f"{option} is a list of attributes' names, not {attributes!r:.60}")
    return listed


def _text(text: Any, what: str = "a question") -> str:
    if not isinstance(text, str):
        raise UsageError(f"{what} is a text, not {text!r:.60}")
    return text


def _question(number: int, text: Any) -> Question:
    return Question(id=str(number), text=_text(text))


def _listed(texts: Any) -> Sequence[Any]:
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise UsageError(
            f"`search_many` takes a list of questions, not {texts!r:.60}", hint="one: `search(text)`"
        )
    return list(texts)


def _results(results: Any, what: str) -> list[Any]:
    if not isinstance(results, Iterable) or isinstance(results, str | bytes | Mapping):
        raise BadInput(
            f"{what} {results!r:.60}, where a list of results is expected",
            hint="an empty list where nothing is found",
        )
    return list(results)
