"""Merging finished parts, and what a knowledge base contains already, into its tables.

Merging joins what no single dump knows: which page a link means, which entity a page is about. Links
and redirects carry titles; their pages are known once all titles and redirects are. Names of kind
title, redirect and anchor follow from that, so they are made anew whenever pages, links, redirects or
entities change. Where no entity is known for a page, the page represents it.
"""

import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from whichone.errors import BadInput
from whichone.files.folder import Folder, file_entry
from whichone.files.output import written_beside
from whichone.files.parts import ByteRange
from whichone.files.tables import TableSchema, columns_sql, sql_text, tables_sql, write_table
from whichone.knowledge.engines import MergeQueries
from whichone.knowledge.formats.sources import PartFiles, PartJob, RefusedRecord, Source
from whichone.knowledge.knowledge_tables import ALL, ENTITIES, LINKS, NAMES, PAGES, REDIRECTS, name_keys
from whichone.names import without_parentheses
from whichone.progress import progress
from whichone.records import without_collector

_INTERNAL = ("positions", "opening brackets", "closing brackets")
_LISTED = 1000  # refused records that a part lists; all are counted


class Finished(msgspec.Struct, frozen=True):
    """A part that is read: what the journal keeps of it."""

    range: ByteRange
    rows: dict[str, int]
    counts: dict[str, int]
    refused: list[RefusedRecord] = []


class Work:
    def __init__(self, source: Source, key: str, partial: Path, parameters: dict[str, Any]) -> None:
        self.source, self.key = source, key
        self.folder = partial.resolve() / f"{source.kind}-{key}"
        self.parameters = parameters
        self.finished: list[Finished] = []
        self.notes: dict[str, int] = {}
        self.siblings: Sequence[PartFiles] = (self,)
        self.start = 0  # positions that earlier files of this kind take up
        self.folder.mkdir(exist_ok=True)

    def file(self, number: int, suffix: str) -> Path:
        """Of a part: `<table>.parquet`, its records again as `zst`, or its `chunks` for a worker elsewhere."""
        return self.folder / f"part-{number:05d}.{suffix}"

    def counted(self, what: str) -> int:
        return sum(f.counts.get(what, 0) for f in self.finished)

    def counts(self) -> dict[str, int]:
        total = sum((Counter(f.counts) for f in self.finished), Counter(self.notes))
        return {k: n for k, n in sorted(total.items()) if n and k not in _INTERNAL}

    def refused(self) -> Iterator[RefusedRecord]:
        return (record for finished in self.finished for record in finished.refused)

    def rows(self, table: str) -> str:
        """A query of all rows of one table; `position` is counted through the whole source."""
        files = [self.file(f.range.number, f"{table}.parquet") for f in self.finished if f.rows.get(table)]
        if not files:
            empty = self.file(0, f"{table}.parquet")
            if not empty.exists():
                raise BadInput("the file is empty", file=self.source.path)
            names = [f'"{n}"' for n in pq.read_schema(empty).names if n != "part"]
            return f"select {', '.join(names)} from read_parquet({sql_text(empty)}) where false"
        everything = f"from {tables_sql(files)}"
        names = pq.read_schema(files[0]).names
        if "position" not in names:
            return f"select * {everything}"
        before, starts = self.start, []
        for finished in self.finished:
            starts.append(f"({finished.range.number}, {before})")
            before += finished.counts.get("positions", 0)
        columns = {n: f'"{n}"' for n in names if n != "part"}
        columns["position"] = "position + start_of_part as position"
        return (
            f"select {', '.join(columns.values())} {everything} "
            f"join (values {', '.join(starts)}) as starts(part, start_of_part) using (part)"
        )


@dataclass(frozen=True)
class PartWork:
    """The task of a worker: read one part, write its files, say what it found."""

    work: tuple[Work, ...]
    skip_bad: bool
    repack: bool

    def describe(self, job: PartJob) -> str:
        path = self.work[job.source].source.path
        to = f" to {job.range.end}" if job.range.end > job.range.start else ""
        return f"byte {job.range.start}{to} of {path}"

    def __call__(self, job: PartJob) -> Finished:
        owner, number = self.work[job.source], job.range.number
        if job.spool is not None:
            job = msgspec.structs.replace(job, chunks=pickle.loads(job.spool.read_bytes()), spool=None)
        if self.repack:
            job = msgspec.structs.replace(job, repack=owner.file(number, "zst"))
        with without_collector():
            read = owner.source.read(job)
        if read.refused and not self.skip_bad:
            raise read.refused[0].error()
        for name, table in read.tables.items():
            if table.num_rows or number == 0:  # part 0 shows the columns of every table
                if "position" in table.column_names:  # which also says in what part it is
                    table = table.append_column("part", pa.repeat(pa.scalar(number, pa.int32()), len(table)))
                with written_beside(owner.file(number, f"{name}.parquet")) as beside:
                    pq.write_table(
                        table, beside, compression="lz4", use_dictionary=False, write_statistics=False
                    )
        counts = {**read.counts, "refused": len(read.refused)}
        rows = {name: table.num_rows for name, table in read.tables.items()}
        return Finished(job.range, rows, counts, read.refused[:_LISTED])


# Tables on which the resolved ones depend, in the order in which they are written.
SOURCES = ("entities", "pages", "redirects", "links")

PAGE_INDEX = "page index"  # What other tables need to know of pages

_INDEXED = ("page", "title", "kind", "entity")

RESOLVED = ("pages", "redirects", "links", "names")
DERIVED_KINDS = ("title", "redirect", "anchor")
_HOPS = 5  # a redirect to a redirect to …; MediaWiki itself follows one
_FORM = r"\(|^\s|\s$"  # titles that `without_parentheses` may change


def resolving(table: str, query: str, files: Mapping[str, Sequence[Path]]) -> str:
    """A query of a table's rows with what they refer to; `files` are the tables written before."""
    if table == "pages":
        return f"""
    select {columns_sql(PAGES, "p", entity="i.entity")} from ({query}) p join {tables_sql(files[PAGE_INDEX])} i on i.page = p.page
    """
    if table == "redirects":
        further = " ".join(
            f"""hop{n} as (
                select h.title, given.target, {n} as hop
                from hop{n - 1} h join given on h.target = given.title
            ),"""
            for n in range(1, _HOPS + 1)
        )
        every = " union all ".join(f"select * from hop{n}" for n in range(_HOPS + 1))
        return f"""
        with given as (
            select title, min(target) as target from ({query}) group by title
        ),
        hop0 as (select title, target, 0 as hop from given),
        {further}
        hops as ({every}),
        known as (select title, min(page) as page from {tables_sql(files[PAGE_INDEX])} group by title),
        ends as (
            select hops.title, arg_min(known.page, hop) as page
            from hops join known on known.title = hops.target group by hops.title
        )
        select given.title, given.target, ends.page as target_page
        from given left join ends on ends.title = given.title
        """
    if table == "links":
        return _links(query, tables_sql(files[PAGE_INDEX]), tables_sql(files["redirects"]))
    return query


def write_page_index(queries: MergeQueries, file: Path, query: str | None, entities: Sequence[Path]) -> None:
    """Title, kind and entity of every page; no query where there are none.

    A page that appears in two sources is an error: one would have to win, with its links.
    """
    if query is None:
        query = f"select {', '.join(f'null::text as {c}' for c in _INDEXED)} where false"
    indexed = f"""
        select p.page, p.title, p.kind, coalesce(p.entity, e.entity) as entity
        from (select {", ".join(_INDEXED)} from ({query})) p left join (
            select title, min(entity) as entity
            from {tables_sql(entities)} where title is not null group by title
        ) e on e.title = p.title
    """
    queries.keep(indexed, file)
    repeated = f"select page from {tables_sql([file])} group by page having count(*) > 1 order by page"
    if twice := [page for (page,) in queries.fetch(f"{repeated} limit 100")]:
        raise BadInput(
            "these pages appear in more than one of the dumps",
            ids=twice,
            hint="take in one dump of each wiki, or dumps of one date that do not overlap",
        )


def _links(query: str, pages: str, redirects: str) -> str:
    return f"""
    select {columns_sql(LINKS, "l", target_page="coalesce(p.page, r.target_page, l.target_page)")}
    from ({query}) l
    left join (
        select split_part(page, ':', 1) as wiki, title, min(page) as page from {pages} group by all
    ) p on p.title = l.target and p.wiki = split_part(l.page, ':', 1)
    left join {redirects} r on r.title = l.target
    """


def _derived(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The names as they are, and what a title says without its disambiguating parentheses."""
    for batch in batches:
        table = pa.Table.from_batches([batch])
        forms = table.filter(
            pc.and_(pc.not_equal(table["kind"], "anchor"), pc.match_substring_regex(table["name"], _FORM))
        )
        names = forms["name"].to_pylist()
        bare = [without_parentheses(name) for name in names]
        forms = forms.set_column(forms.schema.get_field_index("name"), "name", pa.array(bare, pa.string()))
        changed = [form != name for form, name in zip(bare, names, strict=True)]
        for place, named in enumerate((table, forms.filter(pa.array(changed, pa.bool_())))):
            places = pa.repeat(pa.scalar(place, pa.int32()), named.num_rows)
            yield from _keyed(named.append_column("place", places).to_batches())


def merge_tables(folder: Folder, work: Sequence[Work], engine: MergeQueries) -> dict[str, int]:
    """Write every table that gets new rows; how many rows each table then has.

    Tables that no other one needs are written beside those that build on each other: these need
    of the pages no more than their index, so that the pages themselves are among the former.
    """
    queries: dict[str, list[str]] = {schema.name: [] for schema in ALL}
    for owner in work:
        alike = (owner.source.kind, owner.parameters)
        owner.siblings = [w for w in work if (w.source.kind, w.parameters) == alike]
        for table, query in owner.source.finish(owner, engine).items():
            queries[table].append(query)
    with progress("merging tables", len(ALL), "tables") as advance, ThreadPoolExecutor(1) as beside:
        merge = _Merge(folder, queries, engine)
        keyed = beside.submit(merge.key_names)
        others = [schema for schema in ALL if schema.name not in (*SOURCES, "names")]
        alone = [beside.submit(merge.write, schema) for schema in others]
        merge.write(ENTITIES)
        merge.index_pages()
        alone.append(beside.submit(merge.write, PAGES))
        for schema in (REDIRECTS, LINKS):
            merge.write(schema)
        merge.derive_names()
        keyed.result()
        merge.write(NAMES)
        advance(len(ALL) - len(alone))
        for done in alone:
            done.result()
            advance(1)
    return merge.rows


class _Merge:
    def __init__(self, folder: Folder, queries: dict[str, list[str]], engine: MergeQueries) -> None:
        self.rows: dict[str, int] = {}
        self._folder, self._queries, self._engine = folder, queries, engine
        self._place = folder.partial.resolve()  # workers of a cluster are in other folders
        self._files: dict[str, list[Path]] = {}
        self._stale = any(queries[name] for name in SOURCES)  # links, page entities, page names

    def key_names(self) -> None:
        """Names with their keys: a Python function, so it is applied outside the engine."""
        if self._queries["names"]:
            keyed = self._place / "keyed.parquet"
            columns = ", ".join(n for n in NAMES.schema.names if n != "key")
            query = f"select {columns} from ({_union(self._queries['names'])})"
            self._engine.keep_mapped(query, _keyed, NAMES.schema, keyed)
            self._queries["names"] = [_select([keyed])]

    def index_pages(self) -> None:
        if self._stale:
            queries = [*self._held(PAGES), *self._queries["pages"]]
            query = _union(queries) if queries else None
            index = self._place / "page_index.parquet"
            self._files[PAGE_INDEX] = [index]
            write_page_index(self._engine, index, query, self._files["entities"])

    def derive_names(self) -> None:
        if self._stale:
            derived = self._place / "derived.parquet"
            self._files["derived"] = [derived]
            pages, redirects, links = (tables_sql(self._files[n]) for n in (PAGE_INDEX, "redirects", "links"))
            query = f"""
            with about as (
                select page, coalesce(entity, page) as entity, title,
                       case when page like '%wiki:%'
                            then replace(split_part(page, ':', 1), 'wiki', '') else '' end as language
                from {pages} where kind = 'article' and page is distinct from entity
            )
            select entity, title as name, language, 'title' as kind, 1 as count from about
            union all
            select entity, r.title, language, 'redirect', 1
            from {redirects} r join about on about.page = r.target_page
            union all
            select entity, text, language, 'anchor', count(*)
            from {links} l join about on about.page = l.target_page where text <> ''
            group by entity, text, language
            """
            self._engine.keep_mapped(query, _derived, NAMES.schema, derived)

    def write(self, schema: TableSchema) -> None:
        queries, held = self._queries[schema.name], self._held(schema)
        renewed = self._stale and schema.name in RESOLVED
        if schema is NAMES and renewed:
            queries = [*queries, _select(self._files["derived"])]
        if held and not queries and not renewed:
            self._files[schema.name] = self._held_files(schema)
            return
        if held or queries:
            query = resolving(schema.name, _union([*held, *queries]), self._files)
            parts = self._engine.write(query, schema, self._place)
        else:
            write_table(self._place / schema.file, schema.empty(), schema)
            parts = {schema.file: file_entry(self._place / schema.file, 0)}
        self._folder.adopt_parts(schema.name, parts)
        self._files[schema.name] = [self._place / name for name in parts]
        self.rows[schema.name] = sum(entry.rows or 0 for entry in parts.values())

    def _held_files(self, schema: TableSchema) -> list[Path]:
        return [file.resolve() for file in self._folder.parts(schema.name)]

    def _held(self, schema: TableSchema) -> list[str]:
        """What a knowledge base contains already, without the names that are made anew."""
        if self._folder.manifest.files.get(schema.file) is None:
            return []
        select = _select(self._held_files(schema))
        if schema is NAMES and self._stale:
            select = f"{select} where kind not in {DERIVED_KINDS}"
        return [select]


def _union(queries: Sequence[str]) -> str:
    return " union all by name ".join(queries)


def _select(files: Sequence[Path]) -> str:
    return f"select * from {tables_sql(files)}"


def _keyed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        table = pa.Table.from_batches([batch]).append_column("key", name_keys(batch["name"]))
        yield from table.select(NAMES.schema.names).cast(NAMES.schema).to_batches()
