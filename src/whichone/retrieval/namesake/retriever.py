"""`namesake`: every bearer of every name in the question, ordered by how well it fits the rest."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whichone.corpus.corpus import Corpus
from whichone.corpus.given import Thing, things
from whichone.files.folder import Folder, file_hash
from whichone.records import Passage, Question, Ranking
from whichone.retrieval.bm25 import Bm25Parameters
from whichone.retrieval.dense.encoder import encoder_name, find_encoder
from whichone.retrieval.indexes import KIND, found_or_built, opened
from whichone.retrieval.namesake.asking import Resolution
from whichone.retrieval.namesake.lexical import Filter
from whichone.retrieval.namesake.question_names import Mention
from whichone.retrieval.namesake.questions_asked import Searcher, WeighedQuestion
from whichone.retrieval.namesake.snapshot import NAME, Index, build_part
from whichone.retrieval.namesake.updates import Updates
from whichone.retrieval.namesake.weights import NamesakeParameters

# Options that decide what is written when indexing; the others only how it is searched.
_BUILT = ("encoder", "names")


class NamesakeRetriever:
    """Finds the names in a question, takes all their bearers, and weighs them."""

    name = NAME
    Parameters = NamesakeParameters

    def __init__(self, folder: Path, parameters: NamesakeParameters) -> None:
        self.folder = folder
        self.parameters = parameters
        place, self._corpus, _ = opened(folder, NAME)
        bm25 = Folder.open(folder / "bm25", KIND).manifest.parameters["options"]
        kept = {**msgspec.to_builtins(parameters)}
        self.updates = Updates(folder, msgspec.convert(bm25, Bm25Parameters), kept)
        self._bm25 = {"retriever": "bm25", **bm25}
        self._made = dict(place.manifest.made)
        self._encoder = functools.cache(lambda: find_encoder(parameters.encoder, device=parameters.device))
        self._searcher = Searcher(self.updates.index, parameters, self._encoder)

    @classmethod
    def over(cls, corpus: Corpus, work: Path, **options: Any) -> NamesakeRetriever:
        """An index of the corpus in the work folder: built, or opened where it is there already."""
        parameters = NamesakeParameters.of(options)
        built = {k: v for k, v in options.items() if k in _BUILT}
        encoder = find_encoder(parameters.encoder, device=parameters.device)
        model: dict[str, Any] = {"layout": 8}
        if encoder is not None:
            model["encoder"] = encoder.describe()
        if parameters.names:
            model["names"] = file_hash(Path(parameters.names))
        return cls.open(found_or_built(cls, corpus, work, built, model), **options)

    @classmethod
    def build(
        cls, corpus: Corpus | Iterable[Passage], folder: Path, *, given: Iterable[Thing] = (), **options: Any
    ) -> NamesakeRetriever:
        """Index a corpus, or any passages, into a folder; options are those it is opened with."""
        parameters = NamesakeParameters.of(options)
        kept = msgspec.to_builtins(parameters)
        for name in ("knowledge", "names", "judge"):
            if kept[name] and not (name == "judge" and kept[name] in ("reader", "none")):
                kept[name] = str(Path(kept[name]).resolve())
        encoder = find_encoder(parameters.encoder, device=parameters.device)
        kept["encoder"] = encoder_name(parameters.encoder, encoder)
        build_part(corpus, Path(folder), kept, [*things(parameters.names), *given], encoder)
        return cls.open(folder)

    @classmethod
    def open(cls, folder: str | Path, **options: Any) -> NamesakeRetriever:
        """Open an index; `options` go before those it was built with."""
        _, _, kept = opened(folder, cls.name)
        known = set(NamesakeParameters.__struct_fields__)
        mine = {name: value for name, value in kept.items() if name in known}
        if options.get("encoder") == "auto" and "encoder" in mine:
            options = {name: value for name, value in options.items() if name != "encoder"}
        if options.get("encoder") == "none" and mine.get("judge") is None:
            mine["judge"] = "none"
        return cls(Path(folder), NamesakeParameters.of({**mine, **options}))

    @property
    def sees(self) -> tuple[str, ...]:
        more = self.parameters.knowledge or any(part.given for part in self.index.parts)
        return ("corpus", "knowledge base") if more else ("corpus",)

    @property
    def index(self) -> Index:
        return self._searcher.index

    def describe(self) -> dict[str, Any]:
        index = self.index
        changed = len(index.parts) > 1 or len(index.removed)
        described = {
            "retriever": "namesake",
            **msgspec.to_builtins(self.parameters),
            **self._searcher.describe(),
            "bm25": self._bm25,
            "corpus": self._corpus.hash,
            "versions": self._made.get("versions", {}),
            **({"passages": len(index)} if changed else {}),
        }
        if described.get("knowledge_base"):  # what it is, not where it is on this machine
            described["knowledge"] = described["knowledge_base"]["id"]
        return described

    def close(self) -> None:
        """Nothing is left to write."""

    # changing

    def add(self, passages: Any, names: Any = None) -> int:
        """Add passages, or replace those of the same id; on disk, and found, when this returns."""
        count = self.updates.add(passages, things(names))
        self._take_over()
        return count

    def remove(self, ids: Iterable[str] = (), entities: Iterable[str] = ()) -> int:
        """Remove passages or pages by id, or entities; how many passages."""
        count = self.updates.remove(ids, entities)
        self._take_over()
        return count

    def refresh(self) -> bool:
        """Take over what others have added or removed since; whether there was anything."""
        if changed := self.updates.refresh():
            self._take_over()
        return changed

    def _take_over(self) -> None:
        self._searcher = Searcher(self.updates.index, self.parameters, self._encoder, self._searcher)

    # searching

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        """Passages for each question."""
        for question, reading in zip(questions, self.readings(questions, k), strict=True):
            nobody = self._searcher.nobody(question.text, reading)
            yield Ranking(
                question=question.id,
                passages=tuple(self.index.pages.passage_ids(reading.rows)),
                scores=tuple(reading.scores),
                notes={
                    **reading.notes(self.index),
                    **(
                        {}
                        if nobody is None
                        else {
                            "nobody": round(nobody, 4),
                            "declines": nobody >= self._searcher.fit.nobody_from,
                        }
                    ),
                },
            )

    def readings(
        self, questions: Sequence[Question], k: int, wanted: Filter | None = None
    ) -> Iterator[WeighedQuestion]:
        """The same with everything that was weighed; rows instead of ids."""
        return self._searcher.readings(questions, k, wanted)

    def resolve(self, question: Question, answer: str = "", wanted: Filter | None = None) -> Resolution:
        """Who the name in a question means."""
        return self._searcher.resolve(question, answer, wanted)

    def weighed(self, question: Question) -> WeighedQuestion:
        """What was understood of a question, with everything that was weighed."""
        return next(iter(self.readings([question], 1)))

    def mentions(self, question: Question) -> list[Mention]:
        """The names of a question."""
        return self._searcher.mentions(question, self.index.whole)

    def passage(self, identity: str) -> Passage:
        """A passage of the base or of what was added; a `KeyError` where there is none of this id."""
        for row in self.index.rows_of(identity):
            if self.index.whole.keeps(np.array([row]))[0]:
                return self.index.pages.passage(row)[0]
        raise KeyError(identity)

    def page_id(self, page: int) -> str:
        return self.index.pages.id(page)
