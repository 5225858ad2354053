"""`whichone report` and `whichone score` over many queries and several systems: CPU seconds and memory.

    python bench/report_size.py --queries 100000 --systems 5

Queries, name sets and rankings are invented; a ranking has its gold at a place drawn for each system.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from invented import asked_pages, page_id, page_name, question, reader
from measured import measure, parsed

DEEP = 20


def write_benchmark(queries: int, passages: int, place: Path) -> None:
    from whichone.benchmarks.benchmark import save_benchmark
    from whichone.corpus.save import save_corpus
    from whichone.records import Bearer, NameSet, Output, Provenance, Query

    pages = -(-passages // 3)
    corpus = save_corpus(place / "corpus", reader(passages))
    asked = asked_pages(queries, pages)
    save_benchmark(
        place / "benchmark",
        name="invented",
        corpus=corpus,
        queries=(
            Query(
                id=f"q{n:07}",
                task="qa",
                input=question(page, pages),
                name=page_name(page, pages),
                name_set=f"s{n // 2}",
                role="head" if n % 2 == 0 else "tail",
                relation=f"P{n % 20}",
                entity=f"e{page}",
                outputs=(
                    Output(answer=f"answer {n}", provenance=((Provenance(page=page_id(page)),),)),
                ),
            )
            for n, page in enumerate(asked)
        ),
        sets=(
            NameSet(
                id=f"s{n // 2}",
                name=page_name(asked[n], pages),
                bearers=tuple(
                    Bearer(entity=f"e{p}", role=role, popularity=pop, pages=(page_id(p),))
                    for p, role, pop in zip(
                        asked[n : n + 2], ("head", "tail"), (100.0, 1.0), strict=False
                    )
                ),
            )
            for n in range(0, queries, 2)
        ),
    )  # fmt: skip


def write_run(number: int, queries: int, passages: int, place: Path) -> None:
    """A run in the files of runs: gold at a geometric place, other pages around it."""
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.files.folder import Folder
    from whichone.runs.run import FAILURES, KIND, RANKINGS, TIMING

    pages = -(-passages // 3)
    asked = np.array(asked_pages(queries, pages))
    generator = np.random.default_rng(number)
    ranked = generator.integers(0, pages, (queries, DEEP))
    gold = generator.geometric(0.2 + 0.05 * number, queries) - 1
    ranked[np.arange(queries), np.minimum(gold, DEEP - 1)] = asked
    benchmark = Benchmark.open(place / "benchmark")

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, queries, 5_000):
            rows = ranked[start : start + 5_000]
            ids = [page_id(int(page)) for page in rows.ravel()]
            yield pa.RecordBatch.from_pydict(
                {
                    "question": np.repeat([f"q{start + n:07}" for n in range(len(rows))], DEEP),
                    "rank": np.tile(np.arange(1, DEEP + 1), len(rows)),
                    "passage": [f"{page}#0" for page in ids],
                    "page": ids,
                    "score": np.tile(np.linspace(9, 1, DEEP), len(rows)),
                },
                schema=RANKINGS.schema,
            )

    with Folder.create(place / f"run{number}", KIND) as folder:
        folder.write(RANKINGS, pa.RecordBatchReader.from_batches(RANKINGS.schema, batches()))
        folder.write(FAILURES, FAILURES.from_rows([]))
        folder.write(TIMING, TIMING.from_rows([]))
        folder.commit(
            name=f"system{number}",
            parameters={"retriever": f"system{number}", "k": DEEP, "returns": "passage"},
            parents={"benchmark": benchmark.id},
            made={"benchmark": str(benchmark.folder.root.resolve())},
        )


def write_answers(queries: int, place: Path) -> None:
    """A reader's answers: right, those of the name's other bearer, or none."""
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.files.folder import Folder
    from whichone.runs.run import ANSWERS, ANSWERS_KIND, ANSWERS_TIMING, FAILURES, LEFT_OUT

    benchmark = Benchmark.open(place / "benchmark")
    drawn = np.random.default_rng(0).random(queries)

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, queries, 5_000):
            rows = []
            for n in range(start, min(start + 5_000, queries)):
                said = n if drawn[n] < 0.6 else n ^ 1
                text = f"It is answer {said}." if drawn[n] < 0.9 else None
                pages = [f"{page_id(page)}#0" for page in range(5)]
                rows.append({"question": f"q{n:07}", "text": text, "passages": pages[:1], "shown": pages})
            yield pa.RecordBatch.from_pylist(rows, schema=ANSWERS.schema)

    with Folder.create(place / "answers", ANSWERS_KIND) as folder:
        folder.write(ANSWERS, pa.RecordBatchReader.from_batches(ANSWERS.schema, batches()))
        for schema in (FAILURES, LEFT_OUT, ANSWERS_TIMING):
            folder.write(schema, schema.from_rows([]))
        folder.commit(
            name="reader",
            parameters={"reader": "invented", "setting": {"passages": "retrieved"}},
            parents={"benchmark": benchmark.id, "reader": "0" * 64},
            made={"benchmark": str(benchmark.folder.root.resolve())},
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--systems", type=int, default=5)
    parser.add_argument("--passages", type=int, default=600_000)
    parser.add_argument("--place", type=Path, help="a folder that is kept")
    options = parsed(parser, small="--queries 300 --systems 2 --passages 1200")
    with tempfile.TemporaryDirectory() as temporary:
        place = options.place or Path(temporary)
        place.mkdir(parents=True, exist_ok=True)
        if not (place / "benchmark").exists():
            write_benchmark(options.queries, options.passages, place)
        runs = [str(place / f"run{n}") for n in range(options.systems)]
        for number, run in enumerate(runs):
            if not Path(run).exists():
                write_run(number, options.queries, options.passages, place)
        whichone = [sys.executable, "-m", "whichone"]
        for name, command in (
            ("score", ["score", runs[0], "--json"]),
            ("report", ["report", *runs, str(place / "report.html")]),
        ):
            used = measure([*whichone, *command])
            print(f"{name}: {used.cpu:.1f} CPU s, {used.wall:.1f} s, peak {used.peak:,.0f} MB")
            if used.code:
                print(used.output[-2000:])


if __name__ == "__main__":
    main()
