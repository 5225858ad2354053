"""The retriever that knows about namesakes, over anybody's own passages: `whichone.Namesake`."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.corpus.names import Named
from whichone.corpus.save import save_corpus
from whichone.errors import BadInput, UsageError
from whichone.records import Passage, Question, passage_id
from whichone.retrieval.namesake import NamesakeRetriever


class Hit(msgspec.Struct, frozen=True):
    """A passage that was found, with its score and whose page it is."""

    passage: Passage
    score: float


class Namesake:
    """Searches passages; of several things of one name it hands over the one that is meant.

    Names come from the passages' titles and first sentences, and from `names` where they are given.
    """

    def __init__(self, folder: Path, **options: Any) -> None:
        self._folder = folder
        self._retriever = NamesakeRetriever.open(folder, **options)
        self._corpus = Corpus.open(folder / "corpus")

    @classmethod
    def over(
        cls,
        passages: Any,
        *,
        names: Mapping[str, str | Sequence[str]] | None = None,
        encoder: str = "auto",
        **options: Any,
    ) -> Namesake:
        """Index passages: a corpus, records with id, title and text, a pandas or an Arrow table.

        `names` are further names of things, each with the ids of the pages or passages it means.
        """
        corpus = passages if isinstance(passages, Corpus) else None
        records: list[Passage] = []
        if corpus is None or names:
            records = list(_records(passages) if corpus is None else corpus.passage_records())
        further = list(_further(records, names or {}))
        place = Path(tempfile.mkdtemp(prefix="whichone-namesake-"))
        remove = weakref.finalize(cls, shutil.rmtree, place, ignore_errors=True)
        try:
            if records:
                corpus = save_corpus(place / "corpus", records, names=further)
            if corpus is None:
                raise BadInput("there are no passages")
            NamesakeRetriever.build(corpus, place / "index", encoder=encoder, **options)
            opened = cls(place / "index")
        except BaseException:
            remove()
            raise
        remove.detach()
        weakref.finalize(opened, shutil.rmtree, place, ignore_errors=True)
        return opened

    @classmethod
    def open(cls, folder: str | Path, **options: Any) -> Namesake:
        """Open what `save` or `whichone index --retriever namesake` wrote."""
        return cls(Path(folder), **options)

    def save(self, folder: str | Path) -> None:
        """Keep the index in a folder, complete in itself."""
        if Path(folder).exists():
            raise UsageError("there is something already", where=str(folder))
        shutil.copytree(self._folder, folder)

    def __len__(self) -> int:
        return len(self._corpus)

    def search(self, text: str, k: int = 5) -> list[Hit]:
        """The best passages for a question."""
        return self.search_many([text], k)[0]

    def search_many(self, texts: Sequence[str], k: int = 5) -> list[list[Hit]]:
        """The same for several questions at once."""
        questions = [Question(id=str(n), text=text) for n, text in enumerate(texts)]
        found = []
        for ranking in self._retriever.search(questions, k):
            passages = self._corpus.get(ranking.passages)
            pairs = zip(ranking.passages, ranking.scores, strict=True)
            found.append([Hit(passages[identity], score) for identity, score in pairs])
        return found


def _records(passages: Any) -> Iterable[Passage]:
    """Passages from whatever iterates as records."""
    if hasattr(passages, "to_pylist"):
        passages = passages.to_pylist()
    elif hasattr(passages, "to_dict") and hasattr(passages, "columns"):
        passages = passages.to_dict("records")
    counts: dict[str, int] = {}
    for number, record in enumerate(passages):
        if isinstance(record, Passage):
            yield record
            continue
        try:
            own, text = str(record.get("id", number)), str(record["text"] or "")
        except (AttributeError, KeyError, TypeError):
            raise BadInput(
                f"passage {number} is no record with a text: {record!r:.80}",
                hint='write {"id": ..., "title": ..., "text": ...}',
            ) from None
        page = str(record.get("page") or own)
        n = counts.get(page, 0)
        counts[page] = n + 1
        entity = record.get("entity")
        yield Passage(
            id=passage_id(page, n),
            page=page,
            title=str(record.get("title") or ""),
            text=text,
            source_id=own,
            entity=None if entity is None else str(entity),
        )


def _further(
    records: Sequence[Passage], names: Mapping[str, str | Sequence[str]]
) -> Iterable[tuple[str, Named]]:
    pages = {key: p.page for p in records for key in (p.page, p.id, p.source_id or p.id)}
    for name, listed in names.items():
        for identity in [listed] if isinstance(listed, str) else listed:
            if identity not in pages:
                raise BadInput(f"the name {name!r} means {identity!r}, which is no passage or page")
            yield pages[identity], Named(name, "alias")
