"""The retriever that knows about namesakes, over anybody's own passages: `whichone.Namesake`."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError
from whichone.namesake_around import NamesakeAround, Search
from whichone.records import Passage, Question
from whichone.retrieval.namesake import NamesakeRetriever
from whichone.retrieval.namesake.fields import passes
from whichone.retrieval.namesake.given import things
from whichone.retrieval.namesake.passages import passage_rows, save_passages
from whichone.retrieval.namesake.resolution import Resolution


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

    @classmethod
    def over(
        cls, passages: Any, *, names: Any = None, encoder: str = "auto", **options: Any
    ) -> Namesake:
        """Index passages: a corpus, records with id, title and text, a pandas or an Arrow table.

        A record's `entity` says whom it is about (several passages may be about one), `page` which passages
        belong together; further fields can be filtered by. `names` are records too, or a file of
        records: `id` (an entity, page or passage), `name`, `aliases`, and attributes such as company or
        city; or a mapping from names to ids. `language` ("de", "fr", "es"; else English) is that of the
        passages. The index is temporary until it is saved.
        """
        place = Path(tempfile.mkdtemp(prefix="whichone-namesake-"))
        delete = weakref.finalize(cls, shutil.rmtree, place, ignore_errors=True)
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
            delete()
            raise
        delete.detach()
        weakref.finalize(opened, shutil.rmtree, place, ignore_errors=True)
        return opened

    @staticmethod
    def around(
        search: Search, *, names: Any = None, wider: int = 3, language: str = "en"
    ) -> NamesakeAround:
        """Around a search that exists already, without an index: `search(text, k)` returns results.

        Results are records, passages, texts, or documents of LangChain, LlamaIndex and Haystack, and come back
        as they were. `names` and `language` are as for `over`; a result belongs to a thing by its `entity` or its id.
        """
        return NamesakeAround(search, names, wider=wider, language=language)

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

    def remove(
        self, ids: str | int | Iterable[str | int] = (), *, entity: str | None = None
    ) -> int:
        """Remove passages, or all passages of pages, by id, or those about an entity; how many."""
        listed = [str(ids)] if isinstance(ids, str | int) else [str(own) for own in ids]
        with self._lock:
            return self._retriever.remove(listed, () if entity is None else (str(entity),))

    def refresh(self) -> bool:
        """Take over what other processes have added or removed since; whether there was anything."""
        with self._lock:
            return self._retriever.refresh()

    # searching

    def search(
        self, text: str, k: int = 5, *, filter: Mapping[str, Any] | None = None
    ) -> list[Hit]:
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
        if k < 0:
            raise UsageError(f"k is {k}: ask for at least one passage")
        with self._lock:
            index = self._retriever.index
            answers = []
            for reading in self._retriever.readings(questions, k, filter):
                hits = []
                for row, score in zip(reading.rows, reading.scores, strict=True):
                    passage, raw = index.pages.passage(row)
                    record = {"entity": passage.entity, "page": passage.page, "fields": raw}
                    if filter and not passes(filter, record):
                        continue  # a value whose hash is that of another value
                    fields = msgspec.json.decode(raw) if raw else {}
                    hits.append(Hit(passage, score, fields))
                answers.append(hits)
            return answers

    def resolve(
        self, text: str, *, answer: str = "", filter: Mapping[str, Any] | None = None
    ) -> Resolution:
        """Who the name in a question means, with a calibrated probability for each bearer.

        Where the question does not say enough (`resolvable` is False), `question` is the shortest one back
        that would decide; what comes back goes into `answer`. Of several names the first shared one is
        resolved.
        """
        with self._lock:
            return self._retriever.resolve(_question(0, text), answer, filter)


def _question(number: int, text: Any) -> Question:
    if not isinstance(text, str):
        raise UsageError(f"a question is a text, not {text!r:.60}")
    return Question(id=str(number), text=text)


def _listed(texts: Any) -> Sequence[Any]:
    if isinstance(texts, str):
        raise UsageError("`search_many` takes a list of questions", hint="one: `search(text)`")
    return list(texts)
