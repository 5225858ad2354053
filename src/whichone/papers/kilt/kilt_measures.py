"""The scores of KILT's programs on their records, and the same as measures of runs and answers."""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from whichone.files.lines import NOT_JSON
from whichone.measures import answer_measures
from whichone.measures.measure import Answered, Maker, Measure, Retrieved, needs_depth, no_depth
from whichone.papers.kilt.kilt_record import UNKNOWN_PAGE

PAGE_KEY = "wikipedia_id"
GetKeys = Callable[[Any], Any]


class Unreadable(Exception):
    """A line that is not a record of its kind; the message says why."""


class RecordReader:
    """Decodes lines of one kind of file into records that keep only the named provenance keys."""

    def __init__(self, kind: str, provenance_keys: Sequence[str], record_keys: Sequence[str]) -> None:
        self._fields = {key: f"key_{n}" for n, key in enumerate(dict.fromkeys(provenance_keys))}
        entry = msgspec.defstruct(
            f"{kind}Provenance",
            [(field, Any, UNSET) for field in self._fields.values()],
            rename={field: key for key, field in self._fields.items()},
            gc=False,
        )
        output = msgspec.defstruct(
            f"{kind}Output",
            [("answer", Any, UNSET), ("provenance", list[entry] | UnsetType, UNSET)],  # type: ignore[valid-type]
        )
        self._type: type[Struct] = msgspec.defstruct(
            f"{kind}Record",
            [
                *((key, Any, UNSET) for key in record_keys),
                ("output", list[output] | UnsetType, UNSET),  # type: ignore[valid-type]
            ],
        )
        self._decode = msgspec.json.Decoder(self._type).decode

    def get(self, *keys: str) -> GetKeys:
        """A function from a provenance entry to the value of a key, or to a tuple for several."""
        return attrgetter(*(self._fields[key] for key in keys))

    def read(self, line: bytes) -> Any:
        """The record; `Unreadable` when the line is no UTF-8, no JSON or another kind of record."""
        try:
            if not line.isascii():
                line.decode()  # msgspec does not look into strings that it skips
            return self._decode(line)
        except UnicodeDecodeError as error:
            raise Unreadable(f"not UTF-8 (byte {error.start + 1} of the line)") from None
        except NOT_JSON:
            # Python's own JSON reader takes NaN and lone surrogates, and so does the official program.
            try:
                return msgspec.convert(json.loads(line.decode()), self._type)
            except json.JSONDecodeError as error:
                if not line.strip():
                    raise Unreadable("a blank line") from None
                raise Unreadable(f"not JSON: {error}") from None
            except RecursionError:
                raise Unreadable("not JSON: nested too deeply") from None
            except (msgspec.ValidationError, UnicodeEncodeError) as error:
                raise Unreadable(f"not a KILT record: {error}") from None


def as_id(value: object) -> str:
    """How the official programs compare ids: as stripped text, so 1, "1" and " 1" are the same."""
    return str(value).strip()


JOINT = "+"


class GoldIds(Struct, frozen=True):
    """What R-precision and the rank list compare with.

    The official program makes them differently: an entry that lacks a rank key is left out of the
    sets for R-precision, but stays in the evidence set with the keys it has. An empty provenance
    list is an evidence set that nobody can complete.
    """

    complete: list[frozenset[str]]  # One for each output, for R-precision
    evidence: list[frozenset[str]]  # Distinct ones, for the rank list


class Ranked(Struct, frozen=True):
    """The ids of a ranking, best first, each once."""

    ids: dict[str, None]
    repeated: bool = False  # Whether an id occurred more than once
    # Whether every entry had the keys, all of them text; otherwise a closer look is needed.
    all_text: bool = True


class IdMaker:
    """Makes ids of provenance entries from the values of the rank keys, joined by a plus sign."""

    def __init__(self, get_keys: GetKeys, several_keys: bool) -> None:
        self._get, self._several = get_keys, several_keys

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
                partial = frozenset(JOINT.join(as_id(p) for p in v if p is not UNSET) for v in values)
            elif UNSET in values:
                partial = full | {""}
            complete.append(full)
            if partial not in evidence:
                evidence.append(partial)
        return GoldIds(complete, evidence)

    def ranked(self, provenance: Sequence[Any]) -> Ranked:
        """Entries that lack a rank key are passed over."""
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
            best = max(best, len(gold.intersection(islice(pages, len(gold)))) / len(gold))
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


LINKING = "el"


def _gated(name: str, value: answer_measures.Value) -> Maker:
    """KILT's version: points only where the first R pages are the R pages of an evidence set."""

    def gated(answered: Answered) -> float | None:
        points = answer_measures.text_value(answered, value)
        return points if points is None or provenance_found(answered) else 0.0

    def measure(k: int | None) -> Measure:
        no_depth(name, k)
        label = f"{name.removeprefix('kilt_')}, where the answer's first R pages are an evidence set's"
        return Measure(name, gated, label=label, of="answers")

    return measure


def provenance_found(answered: Answered) -> bool:
    """R-precision 1 for some evidence set: its R pages are the answer's first R pages.

    Evidence whose page has no id in KILT's files does not count, as in the official program.
    """
    given = _pages_given(answered)
    sets = (
        {source.page for source in group if f":{UNKNOWN_PAGE}" not in source.page}
        for output in answered.query.outputs
        for group in output.provenance
    )
    return any(pages and pages == set(given[: len(pages)]) for pages in sets)


def _pages_given(answered: Answered) -> Sequence[str]:
    """The pages an answer rests on; in entity linking the answer is itself the title of a page."""
    titles = {
        title.strip(): source.page
        for output in answered.query.outputs
        for group in output.provenance
        for source in group
        for title in (source.title, output.answer)
        if title
    }
    page = titles.get((answered.text or "").strip())
    if page is None or answered.query.task != LINKING or answered.cited:
        return answered.pages
    return (page, *answered.pages)


def kilt_recall(k: int | None) -> Measure:
    """KILT's recall@k of a run: the share of the evidence sets that the first k places complete.

    A set takes the place of the last of its pages, so that it is not `recall@k`, the share of gold pages.
    """
    depth = needs_depth("kilt_recall", k)

    def value(retrieved: Retrieved) -> float | None:
        sets = [
            frozenset(source.page for source in group)
            for output in retrieved.query.outputs
            for group in output.provenance
        ]
        evidence = list(dict.fromkeys(sets))
        places = completed_sets(dict.fromkeys(retrieved.pages), evidence)
        return bisect_left(places, depth) / len(evidence) if evidence else None

    return Measure("kilt_recall", value, k)


kilt_accuracy = _gated("kilt_accuracy", answer_measures.accuracy_value)
kilt_exact_match = _gated("kilt_em", answer_measures.exact_value)
kilt_f1 = _gated("kilt_f1", answer_measures.f1_value)
kilt_rouge_l = _gated("kilt_rouge_l", answer_measures.rouge_l_value)
