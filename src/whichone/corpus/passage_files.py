"""Anybody's own passages: JSON lines, TSV or a BEIR folder, with the fields named by the user."""

import functools
import html
import itertools
import operator
import re
import unicodedata
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.corpus import PASSAGES, from_trec
from whichone.errors import BadInput, Missing, did_you_mean, how_many, sample
from whichone.files.arrow_records import blocks
from whichone.files.compressed import DAMAGE
from whichone.files.document_formats import Document, document_files, read_document
from whichone.files.json_records import array_records
from whichone.files.lines import (
    check_names,
    decode_line,
    open_binary,
    read_lines,
    read_rows,
    read_table_rows,
    tab_fields,
    table_record,
)
from whichone.files.mapped import MappedTable, mapped_rows, run_starts, write_mapped
from whichone.files.pools import available_cores, run_jobs
from whichone.files.tables import TableSchema, connect, in_key_order
from whichone.names import title_key
from whichone.options import Option
from whichone.progress import progress, talk
from whichone.records import PASSAGE_MARK, Bearer, NameSet, Passage, grouped, page_id, passage_id


class PassageFields(msgspec.Struct, frozen=True):
    """Which field of a record is what.

    A page is what `page` names, else the entity where a passage has one, else its title; passages of
    different entities are on different pages, however they are grouped. Of `entity` alone a record may have none.
    """

    id: Annotated[str, Option("Field of a passage's id.", flags=("--passage-id",))] = "id"
    title: Annotated[str, Option("Field of a passage's title.")] = "title"
    text: Annotated[str, Option("Field of a passage's text.")] = "text"
    page: Annotated[
        str | None, Option("Field that groups passages into pages; else the entity, else the title.")
    ] = None
    # Several pages may be about one entity, and some about nobody.
    entity: Annotated[
        str | None,
        Option(
            "Field of the entity that a passage is about; of documents also: path. Else `entity`, where there is one.",
            flags=("--passage-entity",),
        ),
    ] = None


class CorpusFields(PassageFields, frozen=True):
    """Where no question has fields too, they have shorter names."""

    id: Annotated[str, Option("Field of a passage's id.", flags=("--id", "--passage-id"))] = "id"
    entity: Annotated[
        str | None,
        Option(
            "Field that says whom a passage is about; of documents also: path. Else `entity`, where there is one.",
            flags=("--entity", "--passage-entity"),
        ),
    ] = None


def read_records(path: str | Path, bad: list[str] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line (or place) and record of a .jsonl, .json (a list), .tsv or .csv file, compressed or not.

    What is wrong with lines that are no record goes into `bad` where it is given, else it is raised.
    """
    path = Path(path)
    if (kind := _kind(path)) in (".tsv", ".csv"):
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


ENTITY = "entity"  # The field of the entity where none is named
OURS = "made.json"  # In a BEIR folder that is an export of ours, whose passages say their pages and entities


def field(record: dict[str, Any], name: str, path: str | Path, line: int) -> Any:
    """A field that must be there; `metadata.page` is one inside another."""
    try:
        if name in record:
            return record[name]
        return functools.reduce(operator.getitem, name.split("."), record)
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


def page_apart(page: str, entity: str | None) -> str:
    """Where the passages of a page go that are about somebody else than its first ones."""
    return f"{page} ({entity or 'nobody'})"


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
    source: str = "corpus"  # What page ids begin with; where it is empty they are whole as they are
    exchanged: bool = False  # Whether it belongs to a BEIR folder

    @classmethod
    def of(cls, path: str | Path, fields: PassageFields, source: str = "corpus") -> Self:
        """Of a file, or of the corpus of a BEIR folder."""
        path = Path(path)
        if not path.is_dir():
            return cls(path, fields, source)
        own = msgspec.structs.replace(fields, id="_id") if fields.id == "id" else fields
        if fields.page is None and fields.entity is None and (path / OURS).exists():
            own, source = msgspec.structs.replace(own, page="metadata.page", entity="metadata.entity"), ""
        files = [f for f in (path / "corpus.jsonl", path / "corpus.jsonl.gz") if f.exists()]
        if not files:
            raise Missing("a BEIR folder has a corpus.jsonl, this one has none", where=str(path))
        return cls(files[0], own, source, True)

    def passage(self, record: dict[str, Any], line: int) -> PassageRecord:
        path, fields = self.file, self.fields
        own = str(field(record, fields.id, path, line))
        own = from_trec(own) if self.exchanged else own
        title, text = _title_and_text(record, fields, path, line)
        if fields.entity:
            about = field(record, fields.entity, path, line)
        elif not isinstance(about := record.get(ENTITY), str | int):
            about = None
        entity = None if about in (None, "") else str(about)
        key = str(field(record, fields.page, path, line)) if fields.page else entity or title or own
        return PassageRecord(own, page_id(self.source, key) if self.source else key, title, text, entity)


def is_documents(path: str | Path) -> bool:
    """Whether this is a folder of documents, not a file of passages and not BEIR's layout."""
    files = (Path(path) / f"{name}.jsonl{end}" for name in ("corpus", "queries") for end in ("", ".gz"))
    return Path(path).is_dir() and not any(file.exists() for file in files)


def _title_and_text(record: dict[str, Any], fields: PassageFields, path: Path, line: int) -> tuple[str, str]:
    """FlashRAG's `contents` has both: the title, mostly in quotation marks, is its first line."""
    if (fields.title, fields.text) == ("title", "text") and "contents" in record and "text" not in record:
        title, _, text = str(record["contents"] or "").partition("\n")
        return plain_title(str(record.get("title") or title.strip().strip('"'))), text
    title = plain_title(str(field(record, fields.title, path, line) or ""))
    return title, str(field(record, fields.text, path, line) or "")


def pages_by_title(titles: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The page of each title, from pages and titles; a title that several pages have means none of them."""
    pages: dict[str, str | None] = {}
    for page, title in titles:
        pages[title] = page if pages.get(title, page) == page else None
    return {title: page for title, page in pages.items() if page is not None}


def sets_from_titles(titles: dict[str, str]) -> dict[str, NameSet]:
    """Name sets of a corpus without a knowledge base: pages whose titles name the same.

    `titles` maps page ids to titles. Titles name the same when they are equal once parentheses are
    removed, case is folded and HTML entities are decoded. A set's key is that name.
    """
    by_name = grouped((title_key(title), page) for page, title in titles.items())
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


PATH = "path"  # As the field of the entity: the folder that a document is in
SIZE = 200


def read_documents(folder: Path, *, entity: str | None = None, source: str = "corpus") -> Iterator[Passage]:
    """Every document under a folder, cut into passages; its id is its front matter's, else its path.

    `entity` is the field of the front matter that says whom a document is about, else "entity", or "path" for
    the folder it is in.
    """
    seen: dict[str, Path] = {}
    for path in document_files(folder):
        document = read_document(path)
        own = document.fields.get("id") or path.relative_to(folder).as_posix()
        if own in seen:
            raise BadInput(f"two documents have the id {own!r}: {seen[own]}", file=path)
        seen[own] = path
        page = page_id(source, own)
        about = _owner(document, path, folder, entity)
        title = document.fields.get("title") or document.title or path.stem.replace("_", " ")
        words = document.text.split()
        stretches = (" ".join(words[start : start + SIZE]) for start in range(0, max(len(words), 1), SIZE))
        for n, text in enumerate(stretches):
            yield Passage(
                id=passage_id(page, n),
                page=page,
                title=title,
                text=text,
                source_id=own if n == 0 else f"{own}#{n}",
                entity=about,
            )


def _owner(document: Document, path: Path, folder: Path, entity: str | None) -> str | None:
    if entity == PATH:
        parent = path.parent.relative_to(folder).as_posix()
        return None if parent == "." else parent
    return document.fields.get(entity or ENTITY) or None


# Passages of a file of any length: read by all cores in blocks of lines, sorted on disk, numbered on their pages.


PASSAGE_RUNS_BLOCK = 16 << 20  # Bytes of lines that one worker reads at a time

_RECORDS = 20_000

Header = tuple[int, list[str]]

_text = pa.string()
UNNUMBERED = TableSchema.of(
    "passages",
    ("page", "place"),
    ("page", _text),
    ("place", pa.int64()),  # the line, or the number on the page where it is known
    ("title", _text),
    ("text", _text),
    ("source_id", _text),
    ("entity", _text),
)


class Lines(msgspec.Struct, frozen=True):
    """Whole lines of a file, the first of which has this number."""

    number: int
    first: int
    data: bytes

    def __str__(self) -> str:
        return f"the lines from {self.first:,} on"


class Records(msgspec.Struct, frozen=True):
    """Records with their lines, or passages with their numbers, where a file is not cut by lines."""

    number: int
    records: Sequence[tuple[int, Any]]

    def __str__(self) -> str:
        return f"records from {self.records[0][0]:,} on"


class PassageRunMaker:
    """Writes the passages of a block in the order of the file."""

    def __init__(self, layout: PassageLayout, header: Header | None, folder: Path) -> None:
        self._layout, self._header, self._folder = layout, header, folder

    def __call__(self, job: Lines | Records) -> int:
        records = self._records(job) if isinstance(job, Lines) else job.records
        rows = [
            _row(line, record if isinstance(record, Passage) else self._layout.passage(record, line))
            for line, record in records
        ]
        columns = list(zip(*rows, strict=True)) or [()] * len(UNNUMBERED.schema)
        table = UNNUMBERED.from_columns(dict(zip(UNNUMBERED.schema.names, columns, strict=True)))
        write_mapped(run_file(self._folder, job.number), table.to_batches(), UNNUMBERED.schema)
        return len(rows)

    def _records(self, job: Lines) -> Iterator[tuple[int, Any]]:
        decoder, path = msgspec.json.Decoder(), self._layout.file
        for line, raw in enumerate(job.data.split(b"\n"), job.first):
            raw = raw.removesuffix(b"\r")
            if self._header is None:
                if raw.strip():
                    yield line, decode_line(decoder, raw, path, line)
            elif raw and line > self._header[0]:
                yield line, table_record(self._header[1], tab_fields(_decoded(raw, path, line)), path, line)


def _row(line: int, passage: Passage | PassageRecord) -> tuple[str, int, str, str, str | None, str | None]:
    own = passage.source_id if isinstance(passage, Passage) else passage.own
    return passage.page, line, passage.title, passage.text, own, passage.entity


def _decoded(raw: bytes, path: Path, line: int) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8: {error}", file=path, line=line, hint="save it as UTF-8") from error


class FilePassages:
    """The passages of a file, a BEIR folder or a folder of documents, for `save_corpus`."""

    def __init__(self, path: str | Path, fields: PassageFields | None = None, source: str = "corpus") -> None:
        self.path = Path(path)
        self._fields, self._source = fields or PassageFields(), source

    def __call__(self, folder: Path) -> Iterator[pa.RecordBatch]:
        """Batches in the order of page and number; whoever has written them removes the runs from the folder.

        Runs that a killed reader completed are not made again.
        """
        runs = self._runs(folder)
        fields = self._layout.fields
        if fields.entity is None and fields.page is None and not is_documents(self.path):
            say_several_bearers(self._layout)
        if not is_documents(self.path):
            _keep_entities_apart(runs, nobody_apart=fields.page is None)
        rows = mapped_rows(runs) if runs else UNNUMBERED.empty()
        if not len(rows):
            raise BadInput("there are no passages", file=self.path)
        yield from numbered(in_key_order(rows, UNNUMBERED, folder))

    def origin(self) -> dict[str, Any]:
        """What decides the passages, without reading them."""
        files = sorted(self.path.rglob("*")) if self.path.is_dir() else [self.path]
        states = [(str(file), file.stat()) for file in files if file.is_file()]
        return {
            "files": [[name, state.st_size, state.st_mtime_ns] for name, state in states],
            "fields": msgspec.to_builtins(self._fields),
            "source": self._source,
            "block": PASSAGE_RUNS_BLOCK,
        }

    @functools.cached_property
    def _layout(self) -> PassageLayout:
        if is_documents(self.path):
            return PassageLayout(self.path, self._fields, self._source)
        return PassageLayout.of(self.path, self._fields, self._source)

    def _runs(self, folder: Path) -> list[Path]:
        header = _header(self._layout.file) if _kind(self._layout.file) == ".tsv" else None
        maker = PassageRunMaker(self._layout, header, folder)
        jobs = self._jobs()
        few = list(itertools.islice(jobs, 2))
        count = len(few)
        with progress("reading", None, "passages") as advance:

            def missing() -> Iterator[Lines | Records]:
                nonlocal count
                for job in itertools.chain(few, jobs):
                    count = job.number + 1
                    if not run_file(folder, job.number).exists():
                        yield job

            workers = available_cores() if len(few) > 1 else 1
            for _, rows in run_jobs(maker, missing(), workers):
                advance(rows)
        return [run_file(folder, number) for number in range(count)]

    def _jobs(self) -> Iterator[Lines | Records]:
        file = self._layout.file
        if is_documents(self.path):
            passages = read_documents(self.path, entity=self._fields.entity, source=self._source)
            return _blocks_of_records((int(p.id.rpartition(PASSAGE_MARK)[2]), p) for p in passages)
        if _kind(file) in (".csv", ".json"):
            return _blocks_of_records(read_records(file))
        return _blocks_of_lines(file)

    def named_twice(self, own: str) -> BadInput:
        records = read_records(self._layout.file)
        lines = (line for line, record in records if self._layout.passage(record, line).own == own)
        line = next(itertools.islice(lines, 1, None), None)
        return BadInput(f"passage id {own!r} occurs twice", file=self._layout.file, line=line)


_LOOKED_AT = 200_000
_CODE = re.compile(r"(?=[\w.:/-]*\d)(?=[\w.:/-]*[^\W\d_])[\w.:/-]+")
_DATE = re.compile(r"\d{4}-\d\d(-\d\d.*)?|.*:\d\d.*")
_NUMBERED = re.compile(r"(.*?)(\d+)")
_PART_MARKS = ("#", "_", ":", ".", "/", "|")  # What stands before the number of a part: page#3
_CUT_LENGTH = 25  # Words; a page is not cut into pieces that are shorter on the average


def say_several_bearers(layout: PassageLayout) -> None:
    """Say so where pages are taken by their titles, and the records show that one title has several bearers.

    They do where passages of the title have several values of a field that says whom a passage is about, or ids that
    do not count the parts of one page.
    """
    fields, count = layout.fields, 0
    passages: dict[str, list[tuple[str, int]]] = {}
    titles_of: dict[str, Counter[tuple[str, str]]] = {}
    for line, record in itertools.islice(read_records(layout.file), _LOOKED_AT):
        count, passage = count + 1, layout.passage(record, line)
        if passage.entity or not passage.title:
            continue
        passages.setdefault(passage.title, []).append((passage.own, len(passage.text.split())))
        for name in record.keys() - {fields.id, fields.title, fields.text}:
            if isinstance(record[name], str | int) and record[name] != "":
                titles_of.setdefault(name, Counter())[str(record[name]), passage.title] += 1
    stems = Counter(
        {(m[1], t) for t, own in passages.items() for i, _ in own if (m := _NUMBERED.fullmatch(i))}
    )
    titles_of_stem = Counter(stem for stem, _ in stems)
    rows = {title for title, own in passages.items() if not _are_parts(own, titles_of_stem)}
    several = {
        name: [t for t, n in Counter(title for _, title in pairs).items() if n > 1 and (t in rows or repeats)]
        for name, pairs in titles_of.items()
        for repeats in [len({value for value, _ in pairs}) < pairs.total()]
        if _says_who(pairs)
    }
    # of two fields that tell bearers apart, the one with fewer values is whom a passage is about
    found = [name for name, titles in several.items() if titles]
    best = min(found, key=lambda name: len({value for value, _ in titles_of[name]}), default=None)
    if shown := several[best] if best else sorted(rows):
        told_by = f"several values of {best!r}" if best else f"unrelated {fields.id!r}"
        among = f" among the first {count:,} passages" if count == _LOOKED_AT else ""
        talk(
            f"passages of {how_many(len(shown), 'title')}{among} have {told_by}, and each title is one page"
            f" ({sample(shown, 3)}); where these are different bearers, say whom a passage is about with"
            f" --passage-entity {best or 'FIELD'}, or what a page is with --page {best or fields.id}"
        )


def _says_who(pairs: Counter[tuple[str, str]]) -> bool:
    """Whether the values of a field, each with the titles of its passages, are somebody's id.

    Codes are; so are other values that return mostly with a title of their own, unless they count each title's
    passages from the start.
    """
    by_value: dict[str, list[int]] = {}
    by_title: dict[str, list[str]] = {}
    for (value, title), times in pairs.items():
        by_value.setdefault(value, []).append(times)
        by_title.setdefault(title, []).append(value)
    if all(_CODE.fullmatch(value) and not _DATE.fullmatch(value) for value in by_value):
        return True
    returning = [times for times in by_value.values() if sum(times) > 1]
    several = [values for values in by_title.values() if len(values) > 1]
    counting = sum(not {"0", "1"}.isdisjoint(values) for values in several)
    own = sum(max(times) * 2 > sum(times) for times in returning)
    return bool(returning) and own * 2 > len(returning) and counting * 2 <= len(several)


def _are_parts(passages: Sequence[tuple[str, int]], titles_of_stem: Mapping[str, int]) -> bool:
    """Whether the passages of a title, ids and lengths, are parts of one page, not entries of one name.

    Their ids are numbers behind a mark and a stem that no other title has, "page#1"; or they are consecutive, and
    the passages as long as pieces of a page are.
    """
    parts = [_NUMBERED.fullmatch(own) for own, _ in passages]
    stems = {part[1] if part else None for part in parts}
    if len(passages) < 2 or len(stems) > 1 or None in stems:
        return len(passages) < 2
    (stem,) = stems
    if stem and stem.endswith(_PART_MARKS) and titles_of_stem[stem] == 1:
        return True
    numbers = sorted(int(part[2]) for part in parts if part)
    lengths = [words for _, words in passages][:-1]  # the last piece is as short as it is
    return numbers[-1] - numbers[0] < len(numbers) and sum(lengths) >= _CUT_LENGTH * len(lengths)


_MIXED = """
select page, arg_min(entity, place) as owner from passages group by page
having count(distinct entity) > 1 or ({nobody_apart} and count(entity) between 1 and count(*) - 1)
"""


def _keep_entities_apart(runs: Sequence[Path], nobody_apart: bool) -> None:
    """Move passages off the pages whose first passages are about another entity.

    Grouped by titles, a passage about nobody is only by chance on the page of an entity; grouped by a
    field of their own, passages about nobody belong where that field puts them.
    """
    tables = [MappedTable.open(run).table() for run in runs]
    whole = pa.concat_tables([t.select(["page", "place", "entity"]) for t in tables]) if tables else None
    if whole is None or whole["entity"].null_count == len(whole):
        return
    with connect() as connection:
        connection.register("passages", whole)
        owners = dict(connection.execute(_MIXED.format(nobody_apart=nobody_apart)).fetchall())
    if not owners:
        return
    for run, table in zip(runs, tables, strict=True):
        pages = [
            page
            if (owner := owners.get(page)) is None or owner == entity or not (entity or nobody_apart)
            else page_apart(page, entity)
            for page, entity in zip(*(table[c].to_pylist() for c in ("page", "entity")), strict=True)
        ]
        write_mapped(run, table.set_column(0, "page", pa.array(pages, _text)).to_batches(), UNNUMBERED.schema)
    talk(
        f"{len(owners):,} of the pages as grouped had passages about different entities: they are apart now"
        f" ({sample(sorted(owners), 3, count=len(owners))})"
    )


def _kind(path: Path) -> str:
    return next((s for s in reversed(path.suffixes) if s not in (".gz", ".bz2", ".zst")), "")


def _header(path: Path) -> Header | None:
    for line, names in read_rows(path, "\t"):
        check_names(names, path, line)
        return line, names
    return None


def _blocks_of_lines(path: Path) -> Iterator[Lines]:
    line, rest = 1, b""
    with open_binary(path) as file:
        for number in itertools.count():
            try:
                data = file.read(PASSAGE_RUNS_BLOCK)
            except (BadInput, OSError, *DAMAGE) as error:
                raise BadInput(
                    f"damaged after line {line}: {getattr(error, 'message', error)}",
                    file=path,
                    line=line,
                    hint="the file is truncated or not what its first bytes say; fetch it again",
                ) from error
            block = rest + data if number else data.removeprefix(BOM_UTF8)
            cut = block.rfind(b"\n") + 1 if data else len(block)
            if block:
                yield Lines(number, line, block[:cut])
            if not data:
                return
            rest, line = block[cut:], line + block.count(b"\n")


def _blocks_of_records(records: Iterable[tuple[int, Any]]) -> Iterator[Records]:
    return (Records(number, block) for number, block in enumerate(blocks(records, _RECORDS)))


def run_file(folder: Path, number: int) -> Path:
    return folder / f".passages-{number:06}.arrow"


def remove_runs(folder: Path) -> None:
    for run in folder.glob(".passages-*.arrow"):
        run.unlink()


def numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Passages that come in the order of their pages, with numbers and ids."""
    last, next_number = None, 0
    for batch in batches:
        pages = batch["page"]
        starts = run_starts(pages)
        counts = np.diff(starts, append=len(pages))
        n = np.arange(len(pages)) - np.repeat(starts, counts)
        if pages[0].as_py() == last:  # the page goes on in this batch
            n[: counts[0]] += next_number
        last, next_number = pages[-1].as_py(), int(n[-1]) + 1
        number = pa.array(n.astype(np.int32))
        columns = {
            "id": pc.binary_join_element_wise(pages, number.cast(_text), PASSAGE_MARK),
            "page": pages,
            "n": number,
            **{name: batch[name] for name in ("title", "text", "source_id", "entity")},
            "fields": pa.nulls(len(pages), _text),
        }
        yield pa.RecordBatch.from_pydict(columns, schema=PASSAGES.schema)
