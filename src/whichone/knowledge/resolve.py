"""Joining what no single dump knows: which page a link means, which entity a page is about.

Links and redirects carry titles; their pages are known once all titles and redirects are. Names of
kind title, redirect and anchor follow from that, so they are made anew whenever pages, links,
redirects or entities change. Where no entity is known for a page, the page represents it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from whichone.errors import BadInput
from whichone.files.tables import columns_sql, tables_sql
from whichone.knowledge.engine.queries import Queries
from whichone.knowledge.name_keys import name_keys
from whichone.knowledge.tables import LINKS, NAMES, PAGES
from whichone.names import without_parentheses

SOURCES = ("entities", "pages", "redirects", "links")
"""Tables on which the resolved ones depend, in the order in which they are written."""

PAGE_INDEX = "page index"
"""What other tables need to know of pages."""

_INDEXED = ("page", "title", "kind", "entity")

RESOLVED = ("pages", "redirects", "links", "names")
DERIVED_KINDS = ("title", "redirect", "anchor")
_HOPS = 5  # a redirect to a redirect to …; MediaWiki itself follows one
_FORM = r"\(|^\s|\s$"  # titles that `without_parentheses` may change


def resolving(table: str, query: str, files: Mapping[str, Sequence[Path]]) -> str:
    """A query of a table's rows with what they refer to; `files` are the tables written before."""
    if table == "pages":
        return _pages(query, tables_sql(files[PAGE_INDEX]))
    if table == "redirects":
        return _redirects(query, tables_sql(files[PAGE_INDEX]))
    if table == "links":
        return _links(query, tables_sql(files[PAGE_INDEX]), tables_sql(files["redirects"]))
    return query


def write_page_index(
    queries: Queries, file: Path, query: str | None, entities: Sequence[Path]
) -> None:
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
    repeated = (
        f"select page from {tables_sql([file])} group by page having count(*) > 1 order by page"
    )
    twice = [page for (page,) in queries.fetch(f"{repeated} limit 100")]
    if twice:
        raise BadInput(
            "these pages appear in more than one of the dumps",
            ids=twice,
            hint="take in one dump of each wiki, or dumps of one date that do not overlap",
        )


def _pages(query: str, index: str) -> str:
    return f"""
    select {columns_sql(PAGES, "p", entity="i.entity")} from ({query}) p join {index} i on i.page = p.page
    """


def _redirects(query: str, pages: str) -> str:
    """Each title once, with the page at the end of its chain; a circle ends nowhere."""
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
    known as (select title, min(page) as page from {pages} group by title),
    ends as (
        select hops.title, arg_min(known.page, hop) as page
        from hops join known on known.title = hops.target group by hops.title
    )
    select given.title, given.target, ends.page as target_page
    from given left join ends on ends.title = given.title
    """


def _links(query: str, pages: str, redirects: str) -> str:
    return f"""
    select {columns_sql(LINKS, "l", target_page="coalesce(p.page, r.target_page, l.target_page)")}
    from ({query}) l
    left join (
        select split_part(page, ':', 1) as wiki, title, min(page) as page from {pages} group by all
    ) p on p.title = l.target and p.wiki = split_part(l.page, ':', 1)
    left join {redirects} r on r.title = l.target
    """


def write_derived_names(queries: Queries, file: Path, files: Mapping[str, Sequence[Path]]) -> None:
    """The names that titles, redirects and anchor texts give to entities, with their keys.

    A catalogue's page has its entity's id and label, so it adds no name.
    """
    pages, redirects, links = (tables_sql(files[n]) for n in (PAGE_INDEX, "redirects", "links"))
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
    queries.keep_mapped(query, _all_with_keys, NAMES.schema, file)


def _all_with_keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from _with_keys(batch).to_batches()


def _with_keys(batch: pa.RecordBatch) -> pa.Table:
    """The names as they are, and what a title says without its disambiguating parentheses."""
    table = pa.Table.from_batches([batch])
    whole = _placed(table, 0)
    forms = table.filter(
        pc.and_(
            pc.not_equal(table["kind"], "anchor"), pc.match_substring_regex(table["name"], _FORM)
        )
    )
    names = forms["name"].to_pylist()
    bare = [without_parentheses(name) for name in names]
    forms = forms.set_column(
        forms.schema.get_field_index("name"), "name", pa.array(bare, pa.string())
    )
    changed = [form != name for form, name in zip(bare, names, strict=True)]
    return pa.concat_tables([whole, _placed(forms.filter(pa.array(changed, pa.bool_())), 1)])


def _placed(table: pa.Table, place: int) -> pa.Table:
    table = table.append_column("key", name_keys(table["name"].combine_chunks()))
    table = table.append_column("place", pa.repeat(pa.scalar(place, pa.int32()), table.num_rows))
    return table.select(NAMES.schema.names).cast(NAMES.schema)
