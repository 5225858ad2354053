"""A knowledge base of Wikidata's size, invented as tables, and the builders over it out of core; time, memory, disk.

    python bench/wikidata_size.py --entities 100000000 --memory 8GB --place /data/wikidata-size
    python bench/wikidata_size.py --place /data/wikidata-size --show

Every entity has three names and three facts; one in ten is a person, as in Wikidata; one person in fifty shares its
label with others and has a page. Each table and each builder is a step in a process of its own; the builders are the
commands that a user types. Steps are stopped after `--seconds` in all, and the same command goes on with those that
are left; with another `--memory` the builders run again. Memory is the peak of what is resident and no file, children
included; disk is what a step leaves, and the most that it needed meanwhile, what DuckDB spilled included.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb

from amber_build import write_invented
from measured import measure, parsed
from whichone.files.folder import Folder
from whichone.knowledge import knowledge_tables

VALUES = 5_000
PERSONS = 10
SHARING = 50
PROPERTIES = "['P1303','P241','P641','P157','P607','P19','P106','P54','P135','P413']"
BUILDERS = {
    "amber": ["--collection", "human", "--pages", "sets"],
    "entityquestions": ["--least-facts", "100"],
    "ambigdocs": ["--entailment", "none", "--pages", "bearers"],
}
COMMIT = "knowledge base"
ORDERED = {"pages": "order by page"}  # a corpus is cut in the order of pages


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


def invent(place: Path, table: str, entities: int, memory: str) -> int:
    """One table, whole or not at all; how many rows."""
    (place / "tables").mkdir(exist_ok=True)
    schema = next(schema for schema in knowledge_tables.ALL if schema.name == table)
    config = {"memory_limit": memory, "preserve_insertion_order": "false"}
    con = duckdb.connect(config={**config, "temp_directory": str(place / "spill")})
    # a table is read by all cores, a range by one
    con.execute(f"create temp table numbers as select i from range({entities + VALUES}) t(i)")
    unfinished = place / "tables" / f"{schema.file}.unfinished"
    query, order = queries(entities).get(table), ORDERED.get(table, "")
    rows = write_invented(con, unfinished, schema, query, order)
    unfinished.replace(place / "tables" / schema.file)
    return rows


def commit(place: Path) -> int:
    """The tables as a knowledge base, with the checksums of a real one; how many rows in all."""
    rows = {r["step"]: r["rows"] for r in results(place) if r["complete"]}
    shutil.rmtree(place / "kb", ignore_errors=True)
    with Folder.create(place / "kb", knowledge_tables.KIND) as folder:
        for schema in knowledge_tables.ALL:
            os.link(place / "tables" / schema.file, folder.partial / schema.file)
            folder.adopt(schema.file, rows=rows[schema.name])
        folder.commit(name="invented")
    shutil.rmtree(place / "tables")
    return sum(rows[schema.name] for schema in knowledge_tables.ALL)


def disk(folder: Path) -> int:
    """MB of all files below a folder, linked ones once, those that vanish meanwhile not at all."""
    sizes: dict[int, int] = {}
    for at, _, files in os.walk(folder):
        for name in files:
            with suppress(FileNotFoundError):
                state = Path(at, name).lstat()
                sizes[state.st_ino] = state.st_size
    return round(sum(sizes.values()) / 2**20)


@contextmanager
def most_disk(folder: Path, every: float = 0.5) -> Iterator[list[int]]:
    """The most that a folder has while something is done."""
    most, done = [disk(folder)], threading.Event()

    def watch() -> None:
        while not done.wait(every):
            most[0] = max(most[0], disk(folder))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield most
    finally:
        done.set()
        watcher.join()


def run_step(step: str, given: argparse.Namespace, seconds: float) -> bool:
    """Run a step in a process of its own and note what it took; whether it is complete."""
    place: Path = given.place
    command = [sys.executable, __file__, "--place", str(place), "--inside", step]
    command += ["--entities", str(given.entities), "--memory", given.memory]
    if step in BUILDERS:
        shutil.rmtree(place / step, ignore_errors=True)
        command = [sys.executable, "-m", "whichone", "build", step, str(place / "kb")]
        command += [str(place / step), *BUILDERS[step], "--memory", given.memory, "--json"]
    before = disk(place)
    with most_disk(place) as most:
        used = measure(command, timeout=seconds)
    complete = used.code == 0
    record: dict[str, Any] = {
        "step": step,
        "complete": complete,
        "entities": given.entities,
        "memory": given.memory,
        "cores": len(os.sched_getaffinity(0)),
        "wall s": round(used.wall, 1),
        "CPU s": round(used.cpu, 1),
        "peak MB": round(used.peak),
        "disk MB": disk(place) - before,
        "most disk MB": most[0] - before,
    }
    if not complete:
        record["output"] = used.output[-600:]
    elif step in BUILDERS:
        files = Folder.open(place / step, "benchmark").manifest.files
        record["queries"] = files["queries.parquet"].rows
        record["name sets"] = files["sets.parquet"].rows
    else:
        record["rows"] = int(used.output.split()[-1])
    with (place / "results.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")
    print(json.dumps(record), flush=True)
    return complete


def results(place: Path) -> list[dict[str, Any]]:
    file = place / "results.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def show(place: Path) -> None:
    """All steps as a Markdown table."""
    usual = ("memory", "wall s", "CPU s", "peak MB", "disk MB", "most disk MB")
    print(f"| step | {' | '.join(usual)} | |\n" + "| --- " * (len(usual) + 2) + "|")
    for row in results(place):
        figures = " | ".join(f"{row[key]:,}" if key != "memory" else row[key] for key in usual)
        more = [f"{row[key]:,} {key}" for key in ("rows", "queries", "name sets") if key in row]
        more += [] if row["complete"] else ["not complete"]
        print(f"| {row['step']} | {figures} | {', '.join(more)} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entities", type=int, default=1_000_000)
    parser.add_argument("--memory", default="8GB")
    parser.add_argument("--place", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=570, help="for this call, all its steps")
    parser.add_argument("--builders", nargs="*", choices=tuple(BUILDERS), default=tuple(BUILDERS))
    parser.add_argument("--show", action="store_true", help="what was measured, as a table")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = parsed(parser, small="--entities 3000 --memory 500MB --place {place} --builders amber")
    if given.show:
        show(given.place)
        return
    given.place.mkdir(parents=True, exist_ok=True)
    os.environ["TMPDIR"] = str(given.place)  # where the builders spill
    if given.inside == COMMIT:
        print(commit(given.place))
        return
    if given.inside:
        print(invent(given.place, given.inside, given.entities, given.memory))
        return
    earlier = results(given.place)
    if any(row["entities"] != given.entities for row in earlier):
        sys.exit(f"{given.place} has another number of entities: name another --place")
    done = {
        row["step"]
        for row in earlier
        if row["complete"] and (row["step"] not in BUILDERS or row["memory"] == given.memory)
    }
    end = time.monotonic() + given.seconds
    for step in (*(schema.name for schema in knowledge_tables.ALL), COMMIT, *given.builders):
        left = end - time.monotonic()
        if step not in done and (left < 5 or not run_step(step, given, left)):
            sys.exit(f"not complete: {step}; the same command goes on")


if __name__ == "__main__":
    main()
