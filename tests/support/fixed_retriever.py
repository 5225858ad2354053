"""A retriever that always finds the same."""

from __future__ import annotations

from whichone.records import Ranking


class Fixed:
    """Ranks the same things for every question."""

    name = "fixed"

    def __init__(self, *ids: str) -> None:
        self.ids = ids

    def search(self, questions, k):
        return [Ranking(question=q.id, passages=self.ids[:k]) for q in questions]
