"""R-precision and KILT's rank list, in which a whole evidence set counts as one result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from msgspec import UNSET, Struct

from whichone.papers.kilt.scores.records import GetKeys, as_id

JOINT = "+"


class GoldIds(Struct, frozen=True):
    """What R-precision and the rank list compare with.

    The official program makes them differently: an entry that lacks a rank key is left out of the
    sets for R-precision, but stays in the evidence set with the keys it has. An empty provenance
    list is an evidence set that nobody can complete.
    """

    complete: list[frozenset[str]]
    """One for each output, for R-precision."""
    evidence: list[frozenset[str]]
    """Distinct ones, for the rank list."""


class Ranked(Struct, frozen=True):
    """The ids of a ranking, best first, each once."""

    ids: dict[str, None]
    repeated: bool = False
    """Whether an id occurred more than once."""
    all_text: bool = True
    """Whether every entry had the keys, all of them text; otherwise a closer look is needed."""


class IdMaker:
    """Makes ids of provenance entries from the values of the rank keys, joined by a plus sign."""

    def __init__(self, get_keys: GetKeys, several_keys: bool) -> None:
        self._get = get_keys
        self._several = several_keys

    def gold(self, outputs: Iterable[Any]) -> GoldIds:
        complete: list[frozenset[str]] = []
        evidence: list[frozenset[str]] = []
        for output in outputs:
            if output.provenance is UNSET:
                complete.append(frozenset())
                continue
            values = list(map(self._get, output.provenance))
            full = partial = frozenset(self._ids(values))
            if self._several:
                partial = frozenset(
                    JOINT.join(as_id(p) for p in v if p is not UNSET) for v in values
                )
            elif UNSET in values:
                partial = full | {""}
            complete.append(full)
            if partial not in evidence:
                evidence.append(partial)
        return GoldIds(complete, evidence)

    def ranked(self, provenance: Sequence[Any]) -> Ranked:
        """The ids of a prediction; entries that lack a rank key are passed over."""
        values = list(map(self._get, provenance))
        all_ids = self._ids(values)
        ids = dict.fromkeys(all_ids)
        return Ranked(ids, len(ids) < len(all_ids), all_ids is values)

    def _ids(self, values: list[Any]) -> list[str]:
        """As stripped text; the list itself where that changes nothing."""
        if self._several:
            return [JOINT.join(map(as_id, v)) for v in values if UNSET not in v]
        try:
            joined = JOINT.join(values)
        except TypeError:
            return [as_id(v) for v in values if v is not UNSET]
        if joined.split(None, 1) == [joined]:  # no white space anywhere, so nothing to strip
            return values
        return [v.strip() for v in values]


def r_precision(ranked: dict[str, None], complete: Iterable[frozenset[str]]) -> float:
    """The best, over gold outputs, of hits among the first R results divided by R."""
    best = 0.0
    pages = ranked.keys()
    for gold in complete:
        if not pages.isdisjoint(gold):
            hits = len(gold.intersection(islice(pages, len(gold))))
            best = max(best, hits / len(gold))
    return best


def completed_sets(ranked: dict[str, None], evidence: Sequence[frozenset[str]]) -> list[int]:
    """Positions, from 0, of the completed evidence sets in the rank list.

    Each result in no set takes a place. A set takes the place of the last of its pages seen so far;
    its earlier place is given up, so a completed set leaves no gap and an unfinished one contains one
    place. A page of two sets takes two.
    """
    if not any(ranked.keys() >= pages for pages in evidence if pages):
        return []
    order = list(ranked)
    all_places = {order.index(page) for pages in evidence for page in pages if page in ranked}
    missing = [set(pages) for pages in evidence]
    places: list[int] = []  # 0: in no set, 1: completes a set, negative: an unfinished set
    seen = 0
    for position in sorted(all_places):
        places.extend([0] * (position - seen))
        seen = position + 1
        page = order[position]
        for number, pages_left in enumerate(missing, 2):
            if page in pages_left:
                if -number in places:
                    places.remove(-number)
                pages_left.remove(page)
                places.append(-number if pages_left else 1)
    return [place for place, content in enumerate(places) if content == 1]
