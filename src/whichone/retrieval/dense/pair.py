"""Two encoders in one folder, `questions/` and `passages/`; with `relations/`, one for each relation.

All question encoders ask the same passage vectors: those of `passages/`. A question goes to the
encoder of the relation that its wording tells (`routes.json`), else to `questions/`, the joint one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whichone.errors import BadInput
from whichone.retrieval.dense.dpr import DprSide, Side, is_dpr, open_side
from whichone.retrieval.dense.encoder import Vectors, weights_hash
from whichone.retrieval.dense.packed import PackedModel
from whichone.retrieval.dense.routes import Routes
from whichone.retrieval.dense.sentence import SentenceEncoder

RELATIONS = "relations"
ROUTES = "routes.json"


class PairEncoder:
    """Questions by one encoder or by that of their relation, passages by another, one index for all."""

    def __init__(self, folder: Path, *, name: str, device: str | None = None) -> None:
        self.name = name
        self._folder, self._device = folder, device
        self._passages = _open("passage", folder / "passages", device)
        self._questions = {"": _open("question", folder / "questions", device)}
        self._routes = Routes.open(folder / ROUTES)
        self._relations = _relation_folders(folder)
        self.size = self._passages.size
        if self._questions[""].size != self.size:
            raise BadInput(
                f"questions become vectors of {self._questions[''].size} numbers, passages of"
                f" {self.size}",
                file=folder,
            )

    def describe(self) -> dict[str, Any]:
        description: dict[str, Any] = {
            "encoder": self.name,
            "kind": "pair",
            "size": self.size,
            "question_encoder": self._questions[""].describe(),
            "passage_encoder": self._passages.describe(),
        }
        if self._relations:
            description["relations"] = {r: weights_hash(f) for r, f in self._relations.items()}
        return description

    @property
    def packed(self) -> PackedModel | None:
        """Where passages are encoded from tokens made ahead."""
        return self._passages.packed

    def describe_passages(self) -> dict[str, Any]:
        """What decides the passages' vectors: an index outlives a change of the question encoders."""
        return self._passages.describe_passages()

    def relation(self, text: str) -> str:
        """The relation whose encoder gets the question; empty for the joint one."""
        relation = self._routes.relation(text) or ""
        return relation if relation in self._relations else ""

    def questions(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.size), np.float32)
        places: dict[str, list[int]] = {}
        for place, text in enumerate(texts):
            places.setdefault(self.relation(text), []).append(place)
        for relation, here in places.items():
            vectors[here] = self._question_encoder(relation).questions([texts[n] for n in here])
        return vectors

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Vectors:
        return self._passages.passages(titles, texts)

    def _question_encoder(self, relation: str) -> DprSide | SentenceEncoder:
        if relation not in self._questions:
            self._questions[relation] = _open("question", self._relations[relation], self._device)
        return self._questions[relation]


def _relation_folders(folder: Path) -> dict[str, Path]:
    if not (folder / RELATIONS).is_dir():
        return {}
    return {place.name: place for place in sorted((folder / RELATIONS).iterdir()) if place.is_dir()}


def _open(side: Side, folder: Path, device: str | None) -> DprSide | SentenceEncoder:
    if is_dpr(folder):
        return open_side(side, folder, device)
    return SentenceEncoder(folder, name=folder.name, device=device)
