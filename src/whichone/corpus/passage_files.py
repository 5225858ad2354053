"""Anybody's own passages: JSON lines, TSV or a BEIR folder, with the fields named by the user."""

from __future__ import annotations

import html
import unicodedata
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from whichone.corpus.corpus import from_trec
from whichone.errors import BadInput, Missing, did_you_mean
from whichone.files.document_formats import Document, document_files, read_document
from whichone.files.json_records import array_records
from whichone.files.lines import decode_line, open_binary, read_lines, read_table_rows
from whichone.names import title_key
from whichone.records import Bearer, NameSet, Passage, page_id, passage_id


class PassageFields(msgspec.Struct, frozen=True):
    """Which field of a record is what; `page` groups passages into pages, by title when not given."""

    id: str = "id"
    title: str = "title"
    text: str = "text"
    page: str | None = None
    entity: str | None = None
    """Whom the passage is about; several pages may be about one, and some about nobody."""


def read_records(
    path: str | Path, bad: list[str] | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line (or place) and record of a .jsonl, .json (a list), .tsv or .csv file, compressed or not.

    What is wrong with lines that are no record goes into `bad` where it is given, else it is raised.
    """
    path = Path(path)
    suffixes = [s for s in path.suffixes if s not in (".gz", ".bz2", ".zst")]
    kind = suffixes[-1] if suffixes else ""
    if kind in (".tsv", ".csv"):
        yield from read_table_rows(path, "\t" if kind == ".tsv" else ",", bad)
    elif kind == ".json":
        with open_binary(path) as file:
            if not file.read(1 << 16).removeprefix(BOM_UTF8).lstrip().startswith(b"["):
                raise BadInput("a list of records is expected", file=path)
        yield from enumerate(array_records(path, dict[str, Any]), 1)
    else:
        yield from _read_json_lines(path, bad)


def _read_json_lines(path: Path, bad: list[str] | None) -> Iterator[tuple[int, dict[str, Any]]]:
    decoder = msgspec.json.Decoder()
    for line, text in read_lines(path):
        if not text.strip():
            continue
        try:
            record = decode_line(decoder, text, path, line)
        except BadInput as error:
            if bad is None:
                raise
            bad.append(str(error))
            continue
        yield line, record


def field(record: dict[str, Any], name: str, path: str | Path, line: int) -> Any:
    """A field that must be there."""
    try:
        return record[name]
    except KeyError:
        raise BadInput(
            f"the record has no field {name!r}",
            file=path,
            line=line,
            hint=_other_separator(record) or did_you_mean(name, record),
        ) from None
    except TypeError:
        raise BadInput("a record with named fields is expected", file=path, line=line) from None


def _other_separator(record: dict[str, Any]) -> str | None:
    """A header that is one name with semicolons or tabs in it was written with another separator."""
    only = next(iter(record), "") if len(record) == 1 else ""
    for sign, called in ((";", "semicolons"), ("\t", "tabs")):
        if sign in only:
            return f"the header is {only!r}: separated by {called}; .csv has commas and .tsv tabs"
    return None


def plain_title(title: str) -> str:
    """A title with HTML entities decoded and accents composed: what makes two titles one page."""
    return unicodedata.normalize("NFC", html.unescape(title))


class PassageRecord(msgspec.Struct, frozen=True):
    """A passage as its file has it: not yet numbered on its page."""

    own: str
    page: str
    title: str
    text: str
    entity: str | None


class PassageLayout(msgspec.Struct, frozen=True):
    """Which file has the passages, and how its records are read."""

    file: Path
    fields: PassageFields
    source: str = "corpus"
    exchanged: bool = False
    """Whether it belongs to a BEIR folder."""

    @classmethod
    def of(cls, path: str | Path, fields: PassageFields, source: str = "corpus") -> PassageLayout:
        """Of a file, or of the corpus of a BEIR folder."""
        path = Path(path)
        if not path.is_dir():
            return cls(path, fields, source)
        own = msgspec.structs.replace(fields, id="_id") if fields.id == "id" else fields
        return cls(_corpus_file(path), own, source, True)

    def passage(self, record: dict[str, Any], line: int) -> PassageRecord:
        path, fields = self.file, self.fields
        own = str(field(record, fields.id, path, line))
        own = from_trec(own) if self.exchanged else own
        title, text = _title_and_text(record, fields, path, line)
        key = str(field(record, fields.page, path, line)) if fields.page else title or own
        entity = _entity(record, fields, path, line)
        return PassageRecord(own, page_id(self.source, key), title, text, entity)


def is_documents(path: str | Path) -> bool:
    """Whether this is a folder of documents, not a file of passages and not BEIR's layout."""
    return Path(path).is_dir() and not _is_exchanged(Path(path))


def read_passages(
    path: str | Path, fields: PassageFields, source: str = "corpus"
) -> Iterator[Passage]:
    """Passages in the order of the file; those of one page are numbered as they come.

    Without a page field, passages whose plain titles are equal are one page. All ids are kept in memory:
    `passage_runs.FilePassages` is for files that are larger.
    """
    if is_documents(path):
        yield from read_documents(Path(path), entity=fields.entity, source=source)
        return
    layout = PassageLayout.of(path, fields, source)
    counts: dict[str, int] = {}
    seen: set[str] = set()
    for line, record in read_records(layout.file):
        passage = layout.passage(record, line)
        if passage.own in seen:
            raise occurs_twice(passage.own, layout.file, line)
        seen.add(passage.own)
        n = counts.get(passage.page, 0)
        counts[passage.page] = n + 1
        yield Passage(
            id=passage_id(passage.page, n),
            page=passage.page,
            title=passage.title,
            text=passage.text,
            source_id=passage.own,
            entity=passage.entity,
        )


def occurs_twice(own: str, path: Path, line: int | None) -> BadInput:
    return BadInput(f"passage id {own!r} occurs twice", file=path, line=line)


def _entity(record: dict[str, Any], fields: PassageFields, path: Path, line: int) -> str | None:
    """Whom the passage is about; empty is nobody."""
    entity = field(record, fields.entity, path, line) if fields.entity else None
    return str(entity) if entity not in (None, "") else None


def _title_and_text(
    record: dict[str, Any], fields: PassageFields, path: Path, line: int
) -> tuple[str, str]:
    """FlashRAG's `contents` has both: the title, mostly in quotation marks, is its first line."""
    usual = PassageFields(fields.id, page=fields.page, entity=fields.entity)
    if fields == usual and "contents" in record and "text" not in record:
        title, _, text = str(record["contents"] or "").partition("\n")
        return plain_title(str(record.get("title") or title.strip().strip('"'))), text
    title = plain_title(str(field(record, fields.title, path, line) or ""))
    return title, str(field(record, fields.text, path, line) or "")


def _is_exchanged(folder: Path) -> bool:
    """Whether a folder has the layout of BEIR; any other is a folder of documents."""
    return any(
        (folder / f"{name}.jsonl{end}").exists()
        for name in ("corpus", "queries")
        for end in ("", ".gz")
    )


def _corpus_file(folder: Path) -> Path:
    for name in ("corpus.jsonl", "corpus.jsonl.gz"):
        if (folder / name).exists():
            return folder / name
    raise Missing("a BEIR folder has a corpus.jsonl, this one has none", where=str(folder))


def sets_from_titles(titles: dict[str, str]) -> dict[str, NameSet]:
    """Name sets of a corpus without a knowledge base: pages whose titles name the same.

    `titles` maps page ids to titles. Titles name the same when they are equal once parentheses are
    removed, case is folded and HTML entities are decoded. A set's key is that name.
    """
    by_name: dict[str, list[str]] = {}
    for page, title in titles.items():
        by_name.setdefault(title_key(title), []).append(page)
    return {
        name: NameSet(
            id=f"title:{name}",
            name=name,
            collection="titles",
            bearers=tuple(Bearer(entity=p, label=titles[p], pages=(p,)) for p in sorted(pages)),
        )
        for name, pages in sorted(by_name.items())
        if len(pages) > 1 and name
    }


# A folder of documents as passages: own ids, and whom each document is about.


PATH = "path"
"""As the field of the entity: the folder that a document is in."""
SIZE = 200


def read_documents(
    folder: Path, *, entity: str | None = None, source: str = "corpus"
) -> Iterator[Passage]:
    """Every document under a folder, cut into passages; its id is its front matter's, else its path.

    `entity` is the field of the front matter that says whom a document is about, or "path" for the
    folder it is in.
    """
    seen: dict[str, Path] = {}
    for path in document_files(folder):
        document = read_document(path)
        place = path.relative_to(folder).as_posix()
        own = document.fields.get("id") or place
        if own in seen:
            raise BadInput(f"two documents have the id {own!r}: {seen[own]}", file=path)
        seen[own] = path
        page = page_id(source, own)
        about = _owner(document, path, folder, entity)
        title = document.fields.get("title") or document.title or path.stem.replace("_", " ")
        for n, text in enumerate(_stretches(document.text)):
            yield Passage(
                id=passage_id(page, n),
                page=page,
                title=title,
                text=text,
                source_id=own if n == 0 else f"{own}#{n}",
                entity=about,
            )


def _stretches(text: str) -> list[str]:
    """The words of a document in stretches of two hundred; an empty document is one of its own."""
    words = text.split()
    return [" ".join(words[n : n + SIZE]) for n in range(0, len(words), SIZE)] or [""]


def _owner(document: Document, path: Path, folder: Path, entity: str | None) -> str | None:
    if entity is None:
        return None
    if entity == PATH:
        parent = path.parent.relative_to(folder).as_posix()
        return None if parent == "." else parent
    return document.fields.get(entity) or None
