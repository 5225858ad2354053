"""Relational steps of the AmbER build beside grouping the names table; alignment beside tokenising.

    python bench/amber_build.py --entities 1000000

Makes a knowledge base of the given size with three names and three facts an entity (a fifth of the
entities share their label), and pages for the alignment part. Everything is timed in one process,
yardstick and work in turns, and the least of several rounds counts; pairs are wall and CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from measured import parsed
from whichone.benchmarks.relations import Account
from whichone.files.folder import Folder
from whichone.files.tables import TableSchema, write_table
from whichone.knowledge import knowledge_tables
from whichone.knowledge.engines import PageRow, look_on_pages
from whichone.papers.amber.alignment import ValueBook, align, beginning, value_book
from whichone.papers.amber.build_amber import opened_pipeline
from whichone.papers.amber.collection import PAPER, RULES_PUBLISHED, AmberRules, load_collection
from whichone.papers.amber.distinguishing import Pipeline
from whichone.papers.amber.sets import Facts, _facts, candidate_sets

VALUES = 5_000
PROPERTIES = "['P1303','P241','P641','P157','P607','P185','P1441','P54','P135','P413']"


def make_knowledge_base(path: Path, entities: int, memory: str, words: int) -> Folder:
    """Tables made by DuckDB itself: names shared by about three, facts on a few thousand values."""
    n, shared = entities, max(entities // 15, 1)
    queries = {
        "entities": f"""
            select 'Q' || i entity, 'L' || i label, null::varchar description,
              case when i < {n} then ['Q5'] else ['Q34379'] end types, 1::int sitelinks,
              'T' || i title, i position, 'bench' source from range({n + VALUES}) t(i)""",
        "names": f"""
            select 'Q' || i entity, name, lower(name) "key", 'en' "language",
              case when place = 0 then 'label' else 'alias' end kind, 1 count, place::int place
            from (select i, place, case
                when place = 0 and i < {n} and hash(i) % 5 = 0 then 'Shared ' || hash(i + 7) % {shared}
                when place = 0 then 'Label ' || i else 'Alias ' || place || ' ' || i end name
              from range({n + VALUES}) t(i), range(3) p(place))""",
        "facts": f"""
            select 'Q' || i entity, ({PROPERTIES})[(1 + hash(i * 31 + place) % 10)::bigint] property,
              'entity' kind, 'Q' || ({n} + hash(i * 17 + place) % {VALUES}) "value",
              null::varchar unit, null::tinyint "precision", null::varchar "language",
              'normal' rank, place::int place from range({n}) t(i), range(3) p(place)""",
        "properties": f"""
            select p property, p || ' label' "label", 'wikibase-item' datatype, 0 position
            from (select unnest({PROPERTIES}) p)""",
        "views": f"""
            select 'T' || i title, (10 + {n} * 10 // (1 + hash(i) % {n}))::bigint "views",
              'bench' source from range({n + VALUES}) t(i)""",
        "pages": f"""
            select 'enwiki:' || i page, 'T' || i title, 'Q' || i entity, 'article' kind,
              ['T' || i, list_aggregate(list_transform(range({words}), lambda x: 'word' || hash(i * 1000 + x) % 5000),
                'string_agg', ' ') || ' Label ' || ({n} + hash(i * 17) % {VALUES})
                || ' and Label ' || ({n} + hash(i * 17 + 1) % {VALUES})] paragraphs,
              []::varchar[] categories, 1 revision, null::varchar "timestamp", i position,
              null::varchar history from range({n if words else 0}) t(i)""",
    }  # fmt: skip
    con = duckdb.connect(config={"memory_limit": memory, "temp_directory": str(path / "spill")})
    return write_knowledge_base(con, path / "kb", queries)


def write_knowledge_base(con: Any, path: Path, queries: Mapping[str, str]) -> Folder:
    """Tables by the queries that invent them; those without a query are empty."""
    with Folder.create(path, knowledge_tables.KIND) as folder:
        for schema in knowledge_tables.ALL:
            file = folder.partial / schema.file
            folder.adopt(schema.file, rows=write_invented(con, file, schema, queries.get(schema.name)))
        folder.commit(name="bench")
        return folder


def write_invented(con: Any, file: Path, schema: TableSchema, query: str | None, order: str = "") -> int:
    """One table by the query that invents it, empty without; how many rows."""
    if query is None:
        return write_table(file, schema.empty(), schema)
    columns = ", ".join(f'"{c}"' for c in schema.schema.names)
    written = con.execute(
        f"copy (select {columns} from ({query}) {order}) to '{file}' (format parquet, compression zstd)"
    ).fetchone()
    return int(written[0])


Pair = tuple[float, float]


def timed(work: Callable[[], Any]) -> tuple[Pair, Any]:
    """Wall and CPU seconds of a piece of work, and what it gave."""
    wall, cpu = time.perf_counter(), time.process_time()
    given = work()
    return (time.perf_counter() - wall, time.process_time() - cpu), given


def compared(yardstick: list[Pair], work: list[Pair], first: str, second: str) -> dict[str, Any]:
    """The least of both, and the one over the other."""
    ours, theirs = ([min(p[n] for p in pairs) for n in range(2)] for pairs in (work, yardstick))
    return {
        first: [round(x, 2) for x in theirs],
        second: [round(x, 2) for x in ours],
        f"{second}, ratio": [round(x / y, 2) for x, y in zip(ours, theirs, strict=True)],
    }


def group_names(kb: Folder, memory: str) -> int:
    """The yardstick: DuckDB groups the names table by name."""
    con = duckdb.connect(config={"memory_limit": memory})
    rows = con.execute(
        f"select count(*) from (select name, count(*) n from '{kb.path('names.parquet')}' "
        "group by name having n > 1)"
    ).fetchone()
    assert rows is not None
    return int(rows[0])


def tokenise(pipeline: Pipeline, facts: Facts) -> int:
    """The yardstick: one pass that cuts and normalises the beginning of every candidate page."""
    asked = ((entity, b"") for entity in {entity for entity, _ in facts})
    return sum(1 for _ in look_on_pages(pipeline.engine, pipeline.pages(), "entity", asked, _cut))


def _cut(page: PageRow) -> bytes:
    return beginning(" ".join(page.paragraphs), 350).encode()


def alignment(pipeline: Pipeline) -> tuple[Facts, ValueBook, int]:
    book = value_book(pipeline, claims=False)
    account = Account(steps=[], remarks=[])
    candidates = candidate_sets(pipeline, account)
    return _facts(candidates, book, account), book, len(candidates)


def measured(kb: Folder, rules: AmberRules, given: argparse.Namespace) -> dict[str, Any]:
    grouping: list[Pair] = []
    steps: list[Pair] = []
    tokenising: list[Pair] = []
    aligning: list[Pair] = []
    result: dict[str, Any] = {}
    for _ in range(given.rounds):
        grouping.append(timed(partial(group_names, kb, given.memory))[0])
        with opened_pipeline(kb, load_collection("human"), rules, memory=given.memory) as p:
            steps.append(timed(p.run)[0])
            result["shared names"] = p.count("shared_names")
            if given.words:
                facts, book, result["candidate sets"] = alignment(p)
                tokenising.append(timed(partial(tokenise, p, facts))[0])
                pair, stated = timed(partial(align, facts, book, p.engine, p.pages(), rules))
                aligning.append(pair)
                result["stated facts"] = len(stated)
    result |= compared(grouping, steps, "group names", "relational steps")
    if given.words:
        result |= compared(tokenising, aligning, "tokenising", "alignment")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entities", type=int, default=1_000_000)
    parser.add_argument("--words", type=int, default=0, help="words a page; 0: no alignment part")
    parser.add_argument("--memory", default="3GB")
    parser.add_argument("--rounds", type=int, default=3)
    given = parsed(parser, small="--entities 2000 --words 20 --rounds 1 --memory 500MB")
    result: dict[str, Any] = {"entities": given.entities}
    with tempfile.TemporaryDirectory() as folder:
        kb = make_knowledge_base(Path(folder), given.entities, given.memory, given.words)
        result["names"] = kb.table("names", columns=["place"]).num_rows
        group_names(kb, given.memory)  # once to warm the file cache
        for rules in (PAPER, RULES_PUBLISHED):
            result[rules.name] = measured(kb, rules, given)
        result["peak memory GB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
