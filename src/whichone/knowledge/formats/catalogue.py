"""Anybody's own table of things to rows of a knowledge base, by a small TOML file.

name = "places"                 # begins every id: places:5128581
file = "places.jsonl"           # CSV, JSON lines or Parquet, beside the TOML file
delimiter = ";"                 # of a CSV file, if it is no comma
type = "place"                  # or the column that says it, under [columns]
[columns]
id = "geonameid"
name = "name"
aliases = "alternatenames"      # a list, or a text split at `separator` (default "|")
popularity = "population"       # kept as views
text = "description"            # the document; or [documents]
[attributes.country]            # one table a fact that is worth asking for
column = "countrycode"
label = "country"               # default: the attribute's name
kind = "string"                 # string, quantity, time, or entity: an id of this catalogue
[documents]
folder = "texts"                # <id>.txt, <id>.md, or a folder <id> of documents; others are nobody's
owner = "customer"              # or the field of their front matter that says whose they are
template = "{name} is in {countrycode}."     # or a text made of columns
file = "letters.csv"            # or a table of documents, one a row
[documents.columns]             # its columns; as they are called when nothing is said:
id = "id"
owner = "owner"                 # the id of a row of the catalogue; empty: nobody's
title = "title"
text = "text"
"""

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.errors import BadInput, UsageError, did_you_mean, sample
from whichone.files.arrow_records import blocks
from whichone.files.document_formats import Document, document_files, read_document
from whichone.files.lines import (
    open_binary,
    read_json,
    read_json_lines,
    read_rows,
    read_table_rows,
    read_text,
    read_toml,
)
from whichone.files.manifest import BlockHashes, content_hash
from whichone.files.parts import ByteRange, RecordChunk
from whichone.files.tables import group_batches
from whichone.knowledge.engines import MergeQueries
from whichone.knowledge.formats.sources import Columns, PartFiles, PartJob, Read, RefusedRecord
from whichone.knowledge.knowledge_tables import ENTITIES, FACTS, NAMES, PAGES, PROPERTIES, VIEWS
from whichone.progress import talk

# The rows of a catalogue's file, and its documents: a row may have many, and some belong to nobody.


PATH = "path"  # As the owner: the first folder below that of the documents


class DocumentColumns(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str = "id"
    owner: str = "owner"
    title: str = "title"
    text: str = "text"


class Documents(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    folder: str | None = None
    owner: str | None = None
    template: str | None = None
    file: str | None = None
    columns: DocumentColumns = DocumentColumns()


def other_documents(folder: Path, documents: Documents) -> Iterator[Path]:
    """Documents that are not a row's own `<id>.txt` or `<id>.md` beside each other in the folder."""
    every = documents.owner is not None
    return (p for p in document_files(folder) if every or p.parent != folder or not _is_own_text(p))


def nobodys_documents(folder: Path, known: set[str]) -> Iterator[Path]:
    return (p for p in sorted(folder.iterdir()) if _is_own_text(p) and p.is_file() and p.stem not in known)


def _is_own_text(path: Path) -> bool:
    return path.suffix.lower() in (".txt", ".md")


@dataclass(frozen=True)
class DocumentReader:
    """Documents to pages; the entity of a page is the row's id that the document names, if any."""

    name: str
    folder: Path
    documents: Documents

    def read_files(
        self, paths: Sequence[str], first: int
    ) -> tuple[pa.Table, Counter[str], list[tuple[int, str]]]:
        pages, refused = Columns(PAGES.schema), []
        for number, given in enumerate(paths):
            path = Path(given)
            try:
                document = read_document(path)
            except BadInput as error:
                refused.append((first + number, str(error)))
                continue
            place = path.relative_to(self.folder).as_posix()
            own, title = (document.fields.get("id") or place, document.fields.get("title") or document.title)
            pages.add(self._page(own, title, self._owner(document, place), document.text, number))
        return pages.table(), Counter({"documents": len(paths), "positions": len(paths)}), refused

    def read_rows(
        self, rows: Sequence[Mapping[str, Any]], first: int
    ) -> tuple[pa.Table, Counter[str], list[tuple[int, str]]]:
        pages, refused = Columns(PAGES.schema), []
        columns = self.documents.columns
        for number, row in enumerate(rows):
            own, text = text_of(row.get(columns.id)), text_of(row.get(columns.text))
            if not own or not text:
                empty = columns.text if own else columns.id
                refused.append((first + number, f"document {first + number + 1}: {empty} is empty"))
                continue
            title, owner = text_of(row.get(columns.title)), text_of(row.get(columns.owner))
            pages.add(self._page(own, title or "", owner, text, number))
        return pages.table(), Counter({"documents": len(rows), "positions": len(rows)}), refused

    def _owner(self, document: Document, place: str) -> str | None:
        if (asked := self.documents.owner) is not None and asked != PATH:
            return document.fields.get(asked) or None
        first, slash, _ = place.partition("/")
        return first if slash else Path(place).stem

    def _page(self, own: str, title: str, owner: str | None, text: str, position: int) -> tuple[object, ...]:
        entity = f"{self.name}:{owner}" if owner else None
        paragraphs = [p.strip() for p in text.split("\n") if p.strip()]
        return (f"{self.name}:{own}", title, entity, "article", paragraphs, [], None, None, position, None)


def text_of(value: Any) -> str | None:
    """A cell's text without blanks around it; None where it is empty."""
    return None if value is None else str(value).strip() or None


def with_owners(pages: str, entities: str) -> str:
    """Pages of documents: owners that are no row are nobody, and a title is never empty.

    Documents come without their title as first paragraph, which a page of the knowledge base has.
    """
    file = r"regexp_replace(regexp_extract(d.page, '[^/:]*$'), '\.\w+$', '')"
    title = f"coalesce(nullif(d.title, ''), e.label, {file})"
    return f"""
        select d.page, {title} as title, e.entity, d.kind,
            list_concat([{title}], d.paragraphs) as paragraphs,
            d.categories, d.revision, d.timestamp, d.position, d.history
        from ({pages}) d left join ({entities}) e on e.entity = d.entity"""


def rows_of(data: Path, delimiter: str | None, batch_size: int) -> Iterator[Mapping[str, Any]]:
    """Each row by its columns; `delimiter` is that of separated files, where it is not the usual one."""
    if data.name.endswith(".parquet"):
        return _parquet_rows(data, batch_size)
    if ".csv" in data.name or ".tsv" in data.name:
        return _csv_rows(data, delimiter or ("\t" if ".tsv" in data.name else ","))
    return _json_rows(data)


def _json_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with open_binary(path) as file:
        if file.read(64).lstrip().startswith(b"["):
            yield from read_json(path, list[dict[str, Any]])
            return
    for line, row in read_json_lines(path):
        if not isinstance(row, dict):
            raise BadInput("the line is no JSON object", file=path, line=line)
        yield row


def _csv_rows(path: Path, delimiter: str) -> Iterator[Mapping[str, Any]]:
    _, names = next(read_rows(path, delimiter), (0, []))
    other = next((c for c in ";\t|," if c != delimiter and c in names[0]), None) if names else None
    if other is not None and len(names) == 1:
        raise BadInput(
            f"its columns are not divided by {delimiter!r}: {names[0]}",
            file=path,
            hint=f"write delimiter = {msgspec.json.encode(other).decode()} above [columns]",
        )
    yield from (record for _, record in read_table_rows(path, delimiter))


def _parquet_rows(path: Path, batch_size: int) -> Iterator[Mapping[str, Any]]:
    try:
        with pq.ParquetFile(path) as file:
            for batch in group_batches(file, batch_size):
                yield from batch.to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise BadInput(f"not a Parquet file: {error}", file=path) from error


# The TOML file, and the rows to those of a knowledge base.


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

_Kind = Literal["string", "quantity", "time", "entity"]
NAMES_WITHOUT_KEY = NAMES.schema.remove(NAMES.schema.get_field_index("key"))
SCHEMAS = {t.name: t.schema for t in (ENTITIES, FACTS, PROPERTIES, PAGES, VIEWS)} | {
    "names": NAMES_WITHOUT_KEY,
    "documents": PAGES.schema,
}


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Attribute(_Strict, frozen=True):
    column: str
    label: str | None = None
    kind: _Kind = "string"


class ColumnNames(_Strict, frozen=True):
    id: str
    name: str
    aliases: str | None = None
    type: str | None = None
    description: str | None = None
    popularity: str | None = None
    text: str | None = None


class Catalogue(_Strict, frozen=True):
    name: str
    file: str
    columns: ColumnNames
    type: str | None = None
    language: str = "en"
    separator: str = "|"
    delimiter: Annotated[str, msgspec.Meta(min_length=1, max_length=1)] | None = None
    attributes: dict[str, Attribute] = {}
    documents: Documents = Documents()

    def wanted(self) -> list[str]:
        named = [c for c in msgspec.structs.astuple(self.columns) if c is not None]
        return list(dict.fromkeys([*named, *(a.column for a in self.attributes.values())]))


class CatalogueReader:
    def __init__(self, catalogue: Catalogue, folder: Path) -> None:
        self.catalogue = catalogue
        documents = catalogue.documents
        self.folder = folder / documents.folder if documents.folder else None
        self.texts = None if documents.owner else self.folder
        self._apart = bool(documents.owner or documents.file)

    def read(
        self, rows: Sequence[Mapping[str, Any]], first: int
    ) -> tuple[dict[str, pa.Table], Counter[str], list[tuple[int, str]]]:
        """Tables, counts, and the refused rows; `first` is the number of the first row."""
        results = {name: Columns(schema) for name, schema in SCHEMAS.items()}
        counts: Counter[str] = Counter({"records": len(rows), "positions": len(rows)})
        refused: list[tuple[int, str]] = []
        if first == 0:
            datatypes = {"entity": "wikibase-item", "quantity": "quantity", "time": "time"}
            for name, attribute in sorted(self.catalogue.attributes.items()):
                datatype = datatypes.get(attribute.kind, "string")
                results["properties"].add((name, attribute.label or name, datatype, 0))
        for number, record in enumerate(rows):
            try:
                self._take(_plain(record), number, results, counts)
            except ValueError as error:
                refused.append((first + number, f"row {first + number + 1}: {error}"))
        return {name: columns.table() for name, columns in results.items()}, counts, refused

    def _take(
        self, row: Mapping[str, Any], position: int, value: dict[str, Columns], counts: Counter[str]
    ) -> None:
        columns, of = self.catalogue.columns, self.catalogue
        own, label = (text_of(row.get(columns.id)), text_of(row.get(columns.name)))
        if not own or not label:
            raise ValueError(f"{columns.name if own else columns.id} is empty")
        entity = f"{of.name}:{own}"
        facts, text = self._facts(row, entity), self._document(own, row)
        popularity = _count(row.get(columns.popularity)) if columns.popularity else None
        description = text_of(row.get(columns.description)) if columns.description else None
        kind = text_of(row.get(columns.type)) if columns.type else of.type
        types = [kind] if kind else []
        value["entities"].add((entity, label, description, types, None, entity, position, of.name))
        aliases = _several(row.get(columns.aliases), of.separator) if columns.aliases else []
        for place, name in enumerate(dict.fromkeys((label, *aliases))):
            value["names"].add((entity, name, of.language, "alias" if place else "label", 1, place))
        value["facts"].extend(facts)
        if popularity is not None:
            value["views"].add((entity, popularity, of.name))
        else:
            counts["without popularity"] += bool(columns.popularity)
        if text:
            paragraphs = [label, *(p.strip() for p in text.split("\n") if p.strip())]
            value["pages"].add((entity, label, entity, "article", paragraphs, [], None, None, position, None))
        elif not self._apart and not (self.texts is not None and (self.texts / own).is_dir()):
            counts["without a document"] += 1

    def _facts(self, row: Mapping[str, Any], entity: str) -> list[tuple[object, ...]]:
        values = [
            (name, attribute.kind, self._value(given, attribute))
            for name, attribute in self.catalogue.attributes.items()
            for given in _several(row.get(attribute.column), self.catalogue.separator)
        ]
        return [(entity, *value, None, None, None, "normal", place) for place, value in enumerate(values)]

    def _value(self, value: str, attribute: Attribute) -> str:
        if attribute.kind == "entity":
            return f"{self.catalogue.name}:{value}"
        if attribute.kind == "quantity":
            if not _NUMBER.fullmatch(value):
                raise ValueError(f"{attribute.column} is no number: {value!r}")
            return value if value[0] in "+-" else f"+{value}"
        return value

    def _document(self, own: str, row: Mapping[str, Any]) -> str | None:
        documents, column = self.catalogue.documents, self.catalogue.columns.text
        if column and text_of(row.get(column)):
            return text_of(row.get(column))
        if self.texts is not None:
            for suffix in (".txt", ".md"):
                file = self.texts / f"{own}{suffix}"
                if file.is_file():
                    try:
                        return read_text(file).strip()
                    except BadInput as error:
                        raise ValueError(f"{file}: {error.message}") from None
        if documents.template:
            known = {**dict.fromkeys(self.catalogue.wanted()), **row}
            shown = {column: "" if value is None else value for column, value in known.items()}
            try:
                return documents.template.format_map(shown)
            except (KeyError, IndexError, ValueError, AttributeError, TypeError) as error:
                raise ValueError(f"the template does not fit: {error}") from None
        return None


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Whole numbers without a point: tables with gaps in a column keep them as 5128581.0."""
    return {
        column: int(value) if isinstance(value, float) and value.is_integer() else value
        for column, value in row.items()
    }


def _several(value: Any, separator: str) -> list[str]:
    if value is None:
        return []
    values = value if isinstance(value, list | tuple) else str(value).split(separator)
    return [text for v in values if (text := text_of(v))]


def _count(value: Any) -> int | None:
    if (text := text_of(value)) is None:
        return None
    try:
        count = int(float(text))
    except (ValueError, OverflowError):
        raise ValueError(f"popularity is no number: {text!r}") from None
    if count >= 1 << 63:
        raise ValueError(f"popularity is too large: {text[:40]!r}")
    if count < 0:
        raise ValueError(f"popularity is below zero: {text!r}")
    return count


_BATCH = 20_000
_FILES = 200  # Documents that are read at once


class CatalogueSource:
    kind = "catalogue"

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return CatalogueSource, (self.path,)

    @cached_property
    def catalogue(self) -> Catalogue:
        if re.search(r"\.(csv|tsv|jsonl?|parquet)(\.\w+)?$", self.path.name):
            columns = list(next(iter(rows_of(self.path, None, 1)), {}))
            like = {
                word: next((c for c in columns if word in c.lower()), "…") for word in ("id", "name", "text")
            }
            asked = next((c for c in columns if c not in like.values()), "…")
            lines = [
                f'name = "{self.path.name.partition(".")[0]}"',
                f'file = "{self.path.name}"',
                'type = "person"',
                "[columns]",
                *(f'{word} = "{column}"' for word, column in like.items()),
                f"[attributes.{asked}]",
                f'column = "{asked}"',
            ]
            raise UsageError(
                "this is the table itself; --catalogue names a TOML file that says what its columns are",
                where=str(self.path),
                hint="write one beside it (docs/ingest.md), such as\n  " + "\n  ".join(lines),
            )
        return read_toml(self.path, Catalogue, "a catalogue (docs/ingest.md)")

    @cached_property
    def _reader(self) -> CatalogueReader:
        return CatalogueReader(self.catalogue, self.path.parent)

    @property
    def data(self) -> Path:
        return self.path.parent / self.catalogue.file

    def parameters(self) -> dict[str, Any]:
        return msgspec.to_builtins(self.catalogue)

    def check(self) -> None:
        texts, listed = self._reader.folder, self._listed_documents
        if texts is not None and not texts.is_dir():
            raise BadInput("there is no such folder of documents", file=texts)
        if texts is not None and self.catalogue.documents.owner:
            document_files(texts)
        if listed is not None:
            self._check_columns(listed, msgspec.structs.astuple(self.catalogue.documents.columns))
        if next(self._rows(), None) is None:
            raise BadInput("the catalogue has no rows", file=self.data)
        self._check_columns(self.data, self.catalogue.wanted())

    def _check_columns(self, data: Path, wanted: Sequence[str]) -> None:
        if data.name.endswith((".jsonl", ".json", ".ndjson", ".jsonl.gz", ".jsonl.zst")):
            return  # a record may leave out what it does not know
        first = next(self._rows(data), {})
        for column in wanted:
            if column not in first:
                raise BadInput(
                    f"there is no column {column!r}, which {self.path.name} names",
                    file=data,
                    hint=did_you_mean(column, first),
                )

    def fingerprint(self, hashes: BlockHashes | None = None) -> dict[str, Any]:
        results = {"sha256": content_hash(self.data, hashes), "bytes": self.data.stat().st_size}
        if self._reader.folder is not None:
            digest = hashlib.sha256()
            for file in self._all_documents():
                place = file.relative_to(self._reader.folder)
                digest.update(f"{place}\0{content_hash(file, hashes)}\n".encode())
            results["documents"] = digest.hexdigest()
        if self._listed_documents is not None:
            results["table of documents"] = content_hash(self._listed_documents, hashes)
        return results

    @property
    def _listed_documents(self) -> Path | None:
        file = self.catalogue.documents.file
        return self.path.parent / file if file else None

    def _all_documents(self) -> list[Path]:
        folder = self._reader.folder
        return document_files(folder) if folder is not None and any(folder.iterdir()) else []

    def jobs(self, number: int) -> Iterator[PartJob]:
        first = 0
        for part, (kind, batch) in enumerate(self._batches()):
            chunk = RecordChunk(first, msgspec.json.encode({kind: batch}))
            yield PartJob(number, ByteRange(part, first, first), [chunk])
            first += len(batch)

    def _batches(self) -> Iterator[tuple[str, list[Any]]]:
        """Rows of the catalogue first; then documents, which may belong to any row or to none."""
        ids = set[str]()
        column, texts = self.catalogue.columns.id, self._reader.texts
        for batch in blocks(self._rows(), _BATCH):
            if texts is not None:
                ids.update(str(row.get(column)) for row in batch)
            yield "rows", batch
        if self._listed_documents is not None:
            for batch in blocks(self._rows(self._listed_documents), _BATCH):
                yield "documents", batch
        if self._reader.folder is None or not self._all_documents():
            return
        apart = other_documents(self._reader.folder, self.catalogue.documents)
        nobodys = nobodys_documents(texts, ids) if texts is not None else iter(())
        for names in blocks(map(str, itertools.chain(apart, nobodys)), _FILES):
            yield "files", names

    def behind(self, finished: Sequence[ByteRange]) -> int:
        return 0

    def read(self, job: PartJob) -> Read:
        chunk = next(iter(job.chunks or ()))
        ((kind, batch),) = msgspec.json.decode(chunk.data).items()
        if kind == "rows":
            tables, counts, refused = self._reader.read(batch, chunk.offset)
        else:
            documents = DocumentReader(
                self.catalogue.name, self._reader.folder or Path(), self.catalogue.documents
            )
            read = documents.read_rows if kind == "documents" else documents.read_files
            pages, counts, refused = read(batch, chunk.offset)
            tables = {"documents": pages}
        file = self.data if kind == "rows" else self._listed_documents or self.data
        return Read(tables, counts, [RefusedRecord(str(file), None, 0, problem) for _, problem in refused])

    def finish(self, parts: PartFiles, queries: MergeQueries) -> dict[str, str]:
        twice = queries.fetch(
            f"select entity from ({parts.rows('entities')}) group by entity having count(*) > 1 "
            "order by entity limit 20"
        )
        if twice:
            raise BadInput("ids appear in it twice", file=self.data, ids=[entity for (entity,) in twice])
        used = {name for (name,) in queries.fetch(f"select distinct property from ({parts.rows('facts')})")}
        for name, attribute in self.catalogue.attributes.items():
            if name not in used:
                talk(
                    f"{self.path.name}: attribute {name!r} has no value: "
                    f"no row of {self.data.name} has anything in {attribute.column!r}"
                )
        tables = ("entities", "names", "facts", "properties", "pages", "views")
        results = {table: parts.rows(table) for table in tables}
        if parts.counted("documents"):
            documents = with_owners(parts.rows("documents"), parts.rows("entities"))
            results["pages"] = f"{results['pages']} union all by name {documents}"
            self._count_documents(parts, results["pages"], queries)
        return results

    def _count_documents(self, parts: PartFiles, pages: str, queries: MergeQueries) -> None:
        """Documents of nobody, rows without any, and ids that appear in it twice."""
        twice = queries.fetch(
            f"select page from ({pages}) group by page having count(*) > 1 order by page limit 20"
        )
        owners = queries.fetch(
            f"select count(*) filter (entity is null), count(distinct entity) from ({pages})"
        )[0]
        rows = queries.fetch(f"select count(*) from ({parts.rows('entities')})")
        unknown = queries.fetch(
            f"select distinct entity from ({parts.rows('documents')}) where entity not in "
            f"(select entity from ({parts.rows('entities')})) order by entity limit 6"
        )
        if twice:
            raise BadInput("two documents have the same id", file=self.path, ids=[page for (page,) in twice])
        parts.notes["documents of nobody"] = owners[0]
        parts.notes["without a document"] = rows[0][0] - owners[1]
        if unknown and (self.catalogue.documents.file or self.catalogue.documents.owner):
            named = sample([entity.partition(":")[2] for (entity,) in unknown])
            talk(f"{self.path.name}: documents name owners that no row has, and are nobody's: {named}")

    def _rows(self, data: Path | None = None) -> Iterator[Mapping[str, Any]]:
        return rows_of(data or self.data, self.catalogue.delimiter, _BATCH)
