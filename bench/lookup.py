"""Lookups and search-as-you-type beside scanning the names table; names in texts beside splitting them.

    python bench/lookup.py --names 1000000

Makes a knowledge base of invented names (two or three words, their frequencies like those of real
ones), derives its lookup, asks it questions drawn from the names, and times each question alone,
in CPU time of its thread, as a shared machine makes wall time a matter of luck.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from measured import parsed
from whichone.files.folder import Folder
from whichone.files.tables import connect, tables_sql
from whichone.knowledge import lookup_build
from whichone.knowledge.knowledge_tables import ALL, ENTITIES, KIND, NAMES, PAGES, REDIRECTS, VIEWS
from whichone.knowledge.lookup import Lookup, NameIndex
from whichone.knowledge.lookup_build import Pieces, folded

BUDGET_MS = 5.0
_SYLLABLES = [
    a + b + c
    for a in ("", *"bcdfghjklmnprstvwz", "br", "ch", "gr", "kr", "sch", "sh", "st", "th", "tr")
    for b in ("a", "e", "i", "o", "u", "ei", "ou", "ä")
    for c in ("", "", "n", "r", "l", "s", "ng", "ck", "rt")
]


def words(rng: random.Random, count: int) -> list[str]:
    made = {"".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))).capitalize() for _ in range(count)}
    return sorted(made)


def names(rng: random.Random, count: int) -> Iterator[str]:
    """Two or three words, the first drawn from few, the last from many, both unevenly."""
    first, last = words(rng, 4000), words(rng, 60_000)
    for _ in range(count):
        a = first[int(rng.random() ** 3 * len(first))]
        b = last[int(rng.random() ** 2 * len(last))]
        yield f"{a} {b}" if rng.random() < 0.5 else f"{a} {rng.choice(first)} {b}"


def make_base(path: Path, count: int, seed: int) -> Folder:
    """So many names; every entity has four and a page."""
    rng = random.Random(seed)
    made = list(names(rng, count))
    entities = count // 4
    ids = [f"Q{n}" for n in range(entities)]
    titles = [f"{made[4 * n]} ({n})" for n in range(entities)]
    empty = pa.nulls(entities, pa.string())
    texts = pa.nulls(entities, pa.list_(pa.string()))
    numbers = pa.array(range(entities), pa.int64())
    views = [int(rng.paretovariate(0.9)) for _ in ids]
    tables = {
        ENTITIES: {"entity": ids, "label": made[::4], "description": empty, "types": texts,
                   "sitelinks": pa.array([1] * entities, pa.int32()), "title": titles,
                   "position": numbers, "source": ["bench"] * entities},
        NAMES: {"entity": [ids[n // 4] for n in range(count)], "name": made,
                "key": [m.lower() for m in made], "language": ["en"] * count,
                "kind": ["label" if n % 4 == 0 else "alias" for n in range(count)],
                "count": pa.array([1] * count, pa.int64()),
                "place": pa.array([n % 4 for n in range(count)], pa.int32())},
        PAGES: {"page": [f"w:{n}" for n in range(entities)], "title": titles, "entity": ids,
                "kind": ["article"] * entities, "paragraphs": texts, "categories": texts,
                "revision": numbers, "timestamp": empty, "position": numbers, "history": empty},
        REDIRECTS: {"title": [f"R{n}" for n in range(entities)], "target": titles,
                    "target_page": [f"w:{n}" for n in range(entities)]},
        VIEWS: {"title": titles, "views": pa.array(views, pa.int64()), "source": ["bench"] * entities},
    }  # fmt: skip
    with Folder.create(path, KIND) as folder:
        rows = {}
        for table in ALL:
            columns = tables.pop(table, None)
            data = pa.table(columns, schema=table.schema) if columns else table.empty()
            rows[table.name] = folder.write(table, data)
        folder.commit(counts=rows)
    return Folder.open(path, KIND)


def timed(name: str, ask: Callable[[str], object], questions: Sequence[str]) -> None:
    took = []
    for question in questions:
        began = time.thread_time()
        ask(question)
        took.append((time.thread_time() - began) * 1000)
    took.sort()
    within = sum(t <= BUDGET_MS for t in took) / len(took)
    print(
        f"{name:34} median {statistics.median(took):7.3f}  95% {took[int(0.95 * len(took))]:7.3f}  "
        f"worst {took[-1]:7.3f} ms   within {BUDGET_MS:g} ms: {within:.1%}"
    )


def lookups(folder: Folder, rng: random.Random, asked: int) -> list[str]:
    with Lookup.open(folder) as lookup:
        total = lookup.rows("select max(id) from names")[0][0]
        known = [
            lookup.rows("select name from names where id = ?", rng.randint(1, total))[0][0]
            for _ in range(asked)
        ]
        count = folder.manifest.counts["entities"]
        ids = [rng.randrange(count) for _ in range(asked)]
        timed("entity by id", lookup.entity, [f"Q{n}" for n in ids])
        timed("page by id", lookup.page, [f"w:{n}" for n in ids])
        timed("page through a redirect", lookup.page_of_title, [f"R{n}" for n in ids])
        timed("bearers of a name", lookup.bearers, known)
        for size in (1, 2, 3, 5, 8):
            timed(f"prefix of {size}", lookup.search_prefix, [n[:size] for n in known])
        for size in (3, 5, 8):
            cuts = [n[(at := rng.randrange(max(1, len(n) - size))) : at + size] for n in known]
            timed(f"substring of {size}", lookup.search_substring, cuts)
        absent = ["".join(rng.choices(_SYLLABLES, k=4)) for _ in range(asked)]
        timed("substring, mostly absent", lookup.search_substring, absent)
        timed("search as one types", lookup.search, [n[: rng.randint(1, 9)] for n in known])
        distinct = lookup.rows("select count(*) from names")[0][0]
        print(f"{distinct:,} distinct names")
    query = f"select name from {tables_sql(folder.parts('names'))} where contains(key, ?) limit 10"
    with connect("2GB") as engine:
        few = known[:10]
        timed("beside: scan with DuckDB", lambda n: engine.execute(query, [n.lower()]).fetchall(), few)
    return known


def texts_with_names(folder: Folder, rng: random.Random, known: Sequence[str], count: int) -> None:
    filler = [w.lower() for w in words(rng, 3000)]
    texts = []
    for _ in range(count):
        body = rng.choices(filler, k=96)
        for _ in range(4):
            body.insert(rng.randrange(len(body)), rng.choice(known))
        texts.append(" ".join(body))
    began = time.process_time()
    for text in texts:
        Pieces(folded(text)[0])
    pieces = time.process_time() - began
    with NameIndex.open(folder) as index:
        index.find(texts[0])
        began = time.process_time()
        found = sum(len(index.find(text)) for text in texts)
        took = time.process_time() - began
    print(
        f"names in texts of 100 words: {count / took:,.0f} texts/s, {found / count:.1f} names a text; "
        f"{took / pieces:.2f} times cutting the texts into pieces"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("--asked", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="keep the knowledge base here")
    options = parsed(parser, small="--names 3000 --asked 20")
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as scratch:
        path = options.folder or Path(scratch) / "kb"
        folder = make_base(path, options.names, options.seed)
        began, cpu = time.perf_counter(), time.process_time()
        lookup_build.build_lookup(folder)
        wall, cpu = time.perf_counter() - began, time.process_time() - cpu
        size = (path / lookup_build.LOOKUP).stat().st_size
        print(f"built in {wall:.0f} s ({cpu:.0f} s CPU), {size / options.names:.0f} bytes a name")
        known = lookups(folder, rng, options.asked)
        texts_with_names(folder, rng, known, 1000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of all steps {peak:,.0f} MB")


if __name__ == "__main__":
    main()
