"""Names that a user gives: further names of things, their ids, and attributes that tell them apart."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from whichone.corpus.corpus import NAMES, PASSAGES, Corpus
from whichone.corpus.page_names import CorpusNames, Named, key_hashes
from whichone.corpus.passage_files import page_apart, read_records
from whichone.corpus.save import save_corpus
from whichone.errors import BadInput
from whichone.files.mapped import HashIndex, MappedTable, PathOf, write_mapped
from whichone.files.tables import connect, query_batches, sort_rows, tables_sql
from whichone.records import Passage, page_of, passage_id

_text = pa.string()
_THINGS = pa.schema([("page", pa.int64()), ("id", _text), ("names", _text), ("attributes", _text)])
FILES = ("given-names.arrow", "given-things.arrow", "given-hashes.npy", "given-rows.npy")
_NAMES = ("name", "names", "alias", "aliases", "label")
_IDS = ("id", "entity", "page")
_NAMED = 'write {"id": ..., "name": ..., "aliases": [...], "city": ...} for each'
_TEXT = 'write {"id": ..., "title": ..., "text": ...} for each'


class Thing(msgspec.Struct, frozen=True):
    """Something that has names: its id, which passages carry as `entity` or as their own id."""

    id: str
    names: tuple[str, ...]
    attributes: Mapping[str, str] = {}


def things(names: Any) -> Iterator[Thing]:
    """From records (or a table, or a file of records), or from a mapping of names to ids."""
    if names is None:
        return
    if isinstance(names, str | Path):
        for line, record in read_records(names):
            yield _thing(record, f"{names}, line {line}")
        return
    if isinstance(names, Mapping):
        for name, listed in names.items():
            several = isinstance(listed, Iterable) and not isinstance(listed, str)
            for identity in listed if several else [listed]:
                yield Thing(str(identity), (str(name),))
        return
    for number, record in enumerate(rows_of_table(names, "names", _NAMED)):
        yield record if isinstance(record, Thing) else _thing(record, f"names[{number}]")


def rows_of_table(table: Any, what: str, example: str) -> Iterable[Any]:
    """The rows of a pandas or an Arrow table as records; a list of anything as it is."""
    if hasattr(table, "to_batches"):
        return (row for batch in table.to_batches() for row in batch.to_pylist())
    if hasattr(table, "to_pylist"):
        return list(table.to_pylist())
    if hasattr(table, "to_dict") and hasattr(table, "columns"):
        return ({str(name): value for name, value in row.items()} for row in table.to_dict("records"))
    if isinstance(table, str | bytes | Mapping) or not isinstance(table, Iterable):
        raise BadInput(f"{what} are a list of records, or a table, not {table!r:.60}", hint=example)
    return table


def is_missing(value: Any) -> bool:
    """Whether a cell of a table has no value: None, NaN, and what pandas has for it."""
    nan = isinstance(value, float | np.floating) and value != value
    return value is None or nan or type(value).__name__ in ("NAType", "NaTType")


def _thing(record: Any, where: str) -> Thing:
    if not isinstance(record, Mapping):
        raise BadInput(f"{where} is no record: {record!r:.80}", hint=_NAMED)
    own = next((str(record[key]) for key in _IDS if not is_missing(record.get(key))), None)
    names = [text for key in _NAMES for text in _texts(record.get(key))]
    if own is None or not names:
        missing = "id" if own is None else "name"
        raise BadInput(f"{where} has no {missing}: {dict(record)!r:.120}", hint=_NAMED)
    attributes = {
        str(key): ", ".join(_texts(value))
        for key, value in record.items()
        if key not in (*_NAMES, *_IDS) and _texts(value)
    }
    return Thing(own, tuple(dict.fromkeys(names)), attributes)


def _texts(value: Any) -> list[str]:
    if is_missing(value):
        return []
    listed = value if isinstance(value, list | tuple | set | frozenset) else [value]
    if hasattr(value, "tolist") and not isinstance(value, str):
        listed = value.tolist() if isinstance(value.tolist(), list) else [value.tolist()]
    return [str(each).strip() for each in listed if not is_missing(each) and str(each).strip()]


class GivenNames:
    """The given names that mean pages of one corpus, and what is known of these pages."""

    def __init__(self, names: CorpusNames, known: MappedTable) -> None:
        self.names, self._known = names, known
        self._pages = pa.chunked_array([b["page"] for b in known.batches(["page"])], pa.int64()).to_numpy()

    @classmethod
    def of(cls, corpus: Corpus, given: Iterable[Thing], *, strict: bool = True) -> Self:
        """In memory; with `strict` every id must be that of an entity, a page or a passage."""
        listed = list(given)
        pages = pages_of(corpus, [thing.id for thing in listed])
        rows: list[dict[str, Any]] = []
        known: dict[int, dict[str, Any]] = {}
        for thing in listed:
            if not pages[thing.id] and strict:
                raise BadInput(
                    f"{thing.names[0]!r} means {thing.id!r}, which is no entity, page or passage",
                    ids=[thing.id],
                )
            for page in pages[thing.id]:
                rows += [Named(name, "alias").row(page) for name in thing.names]
                empty: dict[str, Any] = {"names": {}, "attributes": {}}
                about = known.setdefault(page, {"page": page, "id": thing.id, **empty})
                about["names"].update(dict.fromkeys(thing.names))
                about["attributes"].update(thing.attributes)
        for about in known.values():
            about["names"] = msgspec.json.encode(list(about["names"])).decode()
            about["attributes"] = msgspec.json.encode(about["attributes"]).decode()
        table = sort_rows(NAMES.from_rows(rows), NAMES)
        things = pa.Table.from_pylist([known[page] for page in sorted(known)], schema=_THINGS)
        return cls(CorpusNames.of(MappedTable.of(table)), MappedTable.of(things))

    def save(self, folder: Path) -> None:
        write_mapped(folder / FILES[0], self.names.table.batches(), NAMES.schema)
        write_mapped(folder / FILES[1], self._known.batches(), _THINGS)
        parts = list(key_hashes(self.names.table))
        index = HashIndex.of(np.concatenate([values for values, _ in parts]))
        index.pointing_at(np.concatenate([rows for _, rows in parts])).save(folder, "given")

    @classmethod
    def open(cls, file: PathOf) -> Self:
        names = CorpusNames(MappedTable.open(file(FILES[0])), HashIndex.open(file, "given"))
        return cls(names, MappedTable.open(file(FILES[1])))

    def __len__(self) -> int:
        return len(self._pages)

    def attributes(self, page: int) -> Mapping[str, str]:
        """What was given about the thing that a page is about."""
        thing = self.thing(page)
        return {} if thing is None else thing.attributes

    def thing(self, page: int) -> Thing | None:
        """What was given for a page."""
        at = int(self._pages.searchsorted(page))
        if at == len(self._pages) or self._pages[at] != page:
            return None
        own, names, known = (self._known.strings([at], c)[0] for c in ("id", "names", "attributes"))
        return Thing(own, tuple(msgspec.json.decode(names)), msgspec.json.decode(known))

    def things(self) -> Iterator[Thing]:
        """All that was given, as many times as it has pages."""
        for page in self._pages.tolist():
            if (thing := self.thing(page)) is not None:
                yield thing


def pages_of(corpus: Corpus, ids: Sequence[str]) -> dict[str, list[int]]:
    """For each id the pages of that entity; else the page, or the page of the passage, of that id."""
    results: dict[str, dict[int, None]] = {identity: {} for identity in ids}
    wanted = pa.array(list(results), pa.string())
    first = 0
    for batch in corpus.batches(["entity"]):
        places = pc.indices_nonzero(pc.is_in(batch["entity"], wanted)).to_numpy()
        if len(places):
            owners = corpus.pages_of_rows(places.astype("int64") + first).tolist()
            entities = batch["entity"].take(pa.array(places)).to_pylist()
            for page, entity in zip(owners, entities, strict=True):
                results[entity][page] = None
        first += batch.num_rows
    rest = [identity for identity, pages in results.items() if not pages]
    places_of_pages = corpus.page_rows(rest)
    sources = corpus.by_source_id(rest)
    for identity, page, source, row in zip(rest, places_of_pages, sources, corpus.rows(rest), strict=True):
        if page is None and (row is not None or source is not None):
            place = row if row is not None else source
            assert place is not None
            page = int(corpus.pages_of_rows(np.array([place]))[0])
        if page is not None:
            results[identity][page] = None
    return {identity: list(pages) for identity, pages in results.items()}


# Anybody's passages as rows of a corpus: records with an id, a title, a text and further fields.


_PART = 200_000
_COLUMNS = ("id", "title", "text", "page", "entity", "source_id", "n")
Row = dict[str, Any]


def passage_rows(
    passages: Any,
    next_number: Callable[[str], int] = lambda _: 0,
    owner: Callable[[str], str | None] = lambda _: None,
    new_id: Callable[[int], str] = "passage {}".format,
) -> Iterator[Row]:
    """Rows of the table of passages; `next_number` is a page's first free number, `owner` its entity.

    `new_id` makes the id of a record without one from its place.

    A page is about one entity: a passage about another one, of the same `page`, is on a page of its own.
    """
    counts: dict[str, int] = {}
    owners: dict[str, str] = {}
    for number, record in enumerate(rows_of_table(passages, "passages", _TEXT)):
        if isinstance(record, Passage):
            yield _of_passage(record)
            continue
        if isinstance(record, str) or not isinstance(record, Mapping):
            raise _no_record(number, record)
        text = record.get("text")
        if not isinstance(text, str):
            raise _no_record(number, record)
        record = {name: value for name, value in record.items() if not is_missing(value)}
        own = str(record.get("id", "")) or new_id(number)
        page = str(record.get("page") or own)
        entity = str(record["entity"]) if "entity" in record else None
        if entity is not None and page != own:
            if page not in owners:
                owners[page] = owner(page) or entity
            page = page if owners[page] == entity else page_apart(page, entity)
        n = counts.get(page)
        n = next_number(page) if n is None else n
        counts[page] = n + 1
        fields = {k: v for k, v in record.items() if k not in _COLUMNS}
        yield {
            "id": passage_id(page, n),
            "page": page,
            "n": n,
            "title": str(record.get("title") or ""),
            "text": text,
            "source_id": own,
            "entity": entity,
            "fields": msgspec.json.encode(fields, enc_hook=str).decode() if fields else None,
        }


def _no_record(number: int, record: Any) -> BadInput:
    return BadInput(f"passage {number} is no record with a text: {record!r:.80}", hint=_TEXT)


def _of_passage(passage: Passage) -> Row:
    number = passage.id.rpartition("#")[2] if page_of(passage.id) != passage.id else "0"
    return {
        "id": passage.id,
        "page": passage.page,
        "n": int(number) if number.isdigit() else 0,
        "title": passage.title,
        "text": passage.text,
        "source_id": passage.source_id,
        "entity": passage.entity,
        "fields": None,
    }


def save_passages(place: Path, rows: Iterable[Row], *, name: str = "corpus", language: str = "") -> Corpus:
    """A corpus of rows, sorted on disk where they are many."""
    iterator = iter(rows)
    if not (first := list(islice(iterator, _PART))):
        raise BadInput("there are no passages")
    if len(first) < _PART:
        return save_corpus(place, _checked(_table(first)), name=name, language=language)
    place.parent.mkdir(parents=True, exist_ok=True)
    parts: list[Path] = []
    try:
        while first:
            parts.append(place.parent / f".{place.name}-{len(parts):05}.parquet")
            pq.write_table(_table(first), parts[-1])
            first = list(islice(iterator, _PART))
        with connect(spill=place.parent) as connection:
            _check_parts(connection, parts)
            batches = query_batches(connection, f"select * from {tables_sql(parts)}", PASSAGES)
            reader = pa.RecordBatchReader.from_batches(PASSAGES.schema, batches)
            return save_corpus(place, reader, name=name, language=language)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)


def _table(rows: list[Row]) -> pa.Table:
    try:
        return pa.Table.from_pylist(rows, PASSAGES.schema)
    except UnicodeEncodeError:
        raise not_text(rows) from None


def same_id(own: str) -> BadInput:
    return BadInput(f"two passages have the id {own!r}", ids=[own])


def not_text(rows: Iterable[Row]) -> BadInput:
    """Which passage has half a character (a lone surrogate) in it."""
    for row in rows:
        try:
            "".join(map(str, row.values())).encode()
        except UnicodeEncodeError:
            own = str(row["source_id"] or row["id"]).encode("ascii", "replace").decode()
            return BadInput(
                f"the passage {own!r} contains half a character, which no file can contain",
                hint='repair the text first: text.encode("utf-8", "replace").decode()',
                ids=[own],
            )
    return BadInput("a passage contains half a character, which no file can contain")


def _check_parts(connection: Any, parts: list[Path]) -> None:
    files = ", ".join(f"'{part}'" for part in parts)
    twice = connection.execute(
        f"SELECT source_id FROM read_parquet([{files}]) WHERE source_id IS NOT NULL"
        " GROUP BY source_id HAVING count(*) > 1 LIMIT 1"
    ).fetchone()
    if twice is not None:
        raise same_id(twice[0])


def _checked(table: pa.Table) -> pa.Table:
    """Passages whose ids differ: a second one of the same id would hide the first."""
    ids = table["source_id"].to_pylist()
    seen: set[str] = set()
    for own in ids:
        if own is not None and own in seen:
            raise same_id(own)
        seen.add(own)
    return table
