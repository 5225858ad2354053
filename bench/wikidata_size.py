"""A knowledge base of Wikidata's size, invented as tables, and the builders over it out of core; time, memory, disk.

    python bench/wikidata_size.py --entities 100000000 --memory 8GB --place /data/wikidata-size

Every entity has three names and three facts; one in ten is a person, as in Wikidata; one person in fifty shares its
label with others and has a page. Each builder is the command that a user types, in a process of its own that is
stopped after `--seconds`. Memory is the peak of what is resident and no file, children included.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from pathlib import Path

import duckdb

from amber_build import write_knowledge_base
from peak_memory import measure
from whichone.files.folder import Folder
from whichone.knowledge import tables

VALUES = 5_000
PERSONS = 10
SHARING = 50
PROPERTIES = "['P1303','P241','P641','P157','P607','P19','P106','P54','P135','P413']"
BUILDERS = {
    "amber": ["--collection", "human", "--pages", "sets"],
    "ambigdocs": ["--entailment", "none", "--pages", "bearers"],
    "entityquestions": ["--least-facts", "100"],
}


def queries(n: int) -> dict[str, str]:
    """The tables as DuckDB makes them; persons come first, those who share a label are scattered among them."""
    persons = n // PERSONS
    groups = max(persons // (3 * SHARING), 1)
    sharing = f"(i < {persons} and hash(i) % {SHARING} = 0)"
    label = f"case when {sharing} then 'Shared ' || hash(i + 7) % {groups} else 'Label ' || i end"
    return {
        "entities": f"""
            select 'Q' || i entity, {label} "label", null::varchar description,
              case when i < {persons} then ['Q5'] else ['Q34379'] end types, 1::int sitelinks,
              case when i < {persons} then 'T' || i end title, i position, 'bench' source from numbers""",
        "names": f"""
            select 'Q' || i entity, name, lower(name) "key", 'en' "language",
              case when place = 0 then 'label' else 'alias' end kind, 1::bigint count, place::int place
            from (select i, place, case when place = 0 then {label}
                else 'Alias ' || place || ' ' || i end name from numbers, range(3) p(place))""",
        "facts": f"""
            select 'Q' || i entity, ({PROPERTIES})[(1 + hash(i * 31 + place) % 10)::bigint] property,
              'entity' kind, 'Q' || ({n} + hash(i * 17 + place) % {VALUES}) "value",
              null::varchar unit, null::tinyint "precision", null::varchar "language",
              'normal' rank, place::int place from numbers, range(3) p(place) where i < {n}""",
        "properties": f"""
            select p property, p || ' label' "label", 'wikibase-item' datatype, 0::bigint position
            from (select unnest({PROPERTIES}) p)""",
        "views": f"""
            select 'T' || i title, (10 + {n} * 10 // (1 + hash(i) % {n}))::bigint "views",
              'bench' source from numbers where i < {persons}""",
        "pages": f"""
            select 'enwiki:' || i page, 'T' || i title, 'Q' || i entity, 'article' kind,
              ['T' || i, 'Of whom it is said: Label ' || ({n} + hash(i * 17) % {VALUES}) || ' and Label '
                || ({n} + hash(i * 17 + 1) % {VALUES}) || '.'] paragraphs,
              []::varchar[] categories, 1::bigint revision, null::varchar "timestamp", i position,
              null::varchar history from numbers where {sharing}""",
    }  # fmt: skip


def invent(place: Path, entities: int, memory: str) -> dict[str, int]:
    """The knowledge base in `place/kb`; how many rows each table has."""
    config = {"memory_limit": memory, "preserve_insertion_order": "false"}
    con = duckdb.connect(config={**config, "temp_directory": str(place / "spill")})
    # a table is read by all cores, a range by one
    con.execute(f"create temp table numbers as select i from range({entities + VALUES}) t(i)")
    # a corpus is cut in the order of pages
    folder = write_knowledge_base(con, place / "kb", queries(entities), {"pages": "order by page"})
    return {s.name: folder.manifest.files[s.file].rows or 0 for s in tables.ALL}


def disk(folder: Path) -> int:
    return round(sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 2**20)


def built(place: Path, builder: str, memory: str, seconds: float) -> dict[str, object]:
    """One builder as a user runs it."""
    out = place / builder
    shutil.rmtree(out, ignore_errors=True)
    os.environ["TMPDIR"] = str(place)
    command = [sys.executable, "-m", "whichone", "build", builder, str(place / "kb"), str(out)]
    used = measure([*command, *BUILDERS[builder], "--memory", memory, "--json"], timeout=seconds)
    record: dict[str, object] = {
        "step": f"build {builder}",
        "complete": used.code == 0,
        "wall s": round(used.wall, 1),
        "CPU s": round(used.cpu, 1),
        "peak MB": round(used.peak),
    }
    if used.code:
        return record | {"output": used.output[-600:]}
    counts = Folder.open(out, "benchmark").manifest.files
    return record | {
        "queries": counts["queries.parquet"].rows,
        "name sets": counts["sets.parquet"].rows,
        "disk MB": disk(out),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entities", type=int, default=1_000_000)
    parser.add_argument("--memory", default="8GB")
    parser.add_argument("--place", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=570, help="for this call, all its steps")
    parser.add_argument("--builders", nargs="+", choices=tuple(BUILDERS), default=["amber"])
    options = parser.parse_args()
    options.place.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.seconds
    if not (options.place / "kb" / "manifest.json").exists():
        began, used = time.perf_counter(), time.process_time()
        rows = invent(options.place, options.entities, options.memory)
        record: dict[str, object] = {
            "step": "inventing the tables",
            **rows,
            "wall s": round(time.perf_counter() - began, 1),
            "CPU s": round(time.process_time() - used, 1),
            "disk MB": disk(options.place / "kb"),
        }
        print(json.dumps(record), flush=True)
    for builder in options.builders:
        left = end - time.monotonic()
        if left > 5:
            print(json.dumps(built(options.place, builder, options.memory, left)), flush=True)


if __name__ == "__main__":
    main()
