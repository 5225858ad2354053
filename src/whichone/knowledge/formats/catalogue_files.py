"""The rows of a catalogue's file, and its documents: a row may have many, and some belong to nobody."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.errors import BadInput
from whichone.files.document_formats import Document, document_files, read_document
from whichone.files.lines import open_binary, read_json, read_json_lines, read_rows, read_table_rows
from whichone.files.tables import group_batches
from whichone.knowledge.formats.sources import Columns
from whichone.knowledge.knowledge_tables import PAGES

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
