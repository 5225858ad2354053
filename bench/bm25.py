"""BM25 beside tantivy: time and memory of building, queries a second, in one run.

    python bench/bm25.py --passages 1000000

Texts are invented (Zipf-distributed words, 100 a passage). Every system is built and asked in a
process of its own, so that its peak memory is its own. Seconds are CPU seconds of that process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

WORDS = 100
VOCABULARY = 1_000_000
COMMON = 40  # left out of queries, as stop words would be
SYSTEMS = ("whichone-numba", "whichone-numpy", "tantivy")


def word(number: int) -> str:
    letters = ""
    number += 702  # at least three letters, so that no invented word is a stop word
    while number:
        number, rest = divmod(number, 26)
        letters += "abcdefghijklmnopqrstuvwxyz"[rest]
    return "q" + letters


def draws(seed: int, rows: int, columns: int, skip: int = 0) -> np.ndarray:
    """Word numbers by Zipf's law with exponent 1, cut off at the size of the vocabulary."""
    generator = np.random.default_rng(seed)
    low, high = np.log(1 + skip), np.log(VOCABULARY)
    return np.exp(generator.uniform(low, high, (rows, columns))).astype(np.int64)


def passages(count: int) -> Iterator[str]:
    names = [word(n) for n in range(VOCABULARY)]
    for start in range(0, count, 10_000):
        for row in draws(start + 1, min(10_000, count - start), WORDS).tolist():
            yield " ".join([names[n] for n in row])


def queries(count: int) -> list[str]:
    return [" ".join(word(n) for n in row) for row in draws(0, count, 5, COMMON).tolist()]


def measure_ours(backend: str, count: int, asked: list[str], folder: Path) -> dict[str, float]:
    from whichone.records import Passage, Question
    from whichone.retrieval.bm25 import Bm25

    records = (
        Passage(id=f"b:{n}#0", page=f"b:{n}", title="", text=text)
        for n, text in enumerate(passages(count))
    )
    started = time.process_time()
    Bm25.build(records, folder)
    built = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    retriever = Bm25.open(folder, backend=backend)
    questions = [Question(id=str(n), text=text) for n, text in enumerate(asked)]
    list(retriever.search(questions[:5], 100))  # compiled, mapped
    started = time.process_time()
    found = sum(len(r.passages) for r in retriever.search(questions, 100))
    return {"build": built, "peak": peak, "search": time.process_time() - started, "found": found}


def measure_tantivy(count: int, asked: list[str], folder: Path) -> dict[str, float]:
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("text", stored=False, tokenizer_name="en_stem")
    schema.add_integer_field("id", stored=True, fast=True)
    folder.mkdir(parents=True)
    index = tantivy.Index(schema.build(), path=str(folder))
    started = time.process_time()
    writer = index.writer(heap_size=256_000_000, num_threads=1)
    for n, text in enumerate(passages(count)):
        writer.add_document(tantivy.Document(text=text, id=n))
    writer.commit()
    writer.wait_merging_threads()
    built = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    index.reload()
    searcher = index.searcher()
    parsed = [index.parse_query(text, ["text"]) for text in asked]
    for query in parsed[:5]:
        searcher.search(query, 100)
    started = time.process_time()
    found = 0
    for text in asked:
        hits = searcher.search(index.parse_query(text, ["text"]), 100).hits
        found += len([(score, searcher.doc(address)["id"]) for score, address in hits])
    return {"build": built, "peak": peak, "search": time.process_time() - started, "found": found}


def measure(system: str, count: int, asked: list[str], folder: Path) -> dict[str, float]:
    if system == "tantivy":
        return measure_tantivy(count, asked, folder)
    return measure_ours(system.removeprefix("whichone-"), count, asked, folder)


def text_seconds(count: int) -> float:
    """What inventing the texts costs, taken off every build."""
    started = time.process_time()
    for _ in passages(count):
        pass
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--system", choices=SYSTEMS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    asked = queries(options.queries)
    if options.system:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "index"
            found = measure(options.system, options.passages, asked, folder)
            found["disk"] = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 2**20
        print(json.dumps(found))
        return
    texts = text_seconds(options.passages)
    rows = {}
    for system in SYSTEMS:
        command = [sys.executable, __file__, "--system", system]
        command += ["--passages", str(options.passages), "--queries", str(options.queries)]
        rows[system] = json.loads(subprocess.run(command, check=True, stdout=-1).stdout)
    print(f"{options.passages:,} passages of {WORDS} words, {options.queries} queries, top 100")
    print("system          build CPU s   peak MB  disk MB  queries/CPU s  ratio to tantivy")
    base = options.queries / rows["tantivy"]["search"]
    for system, row in rows.items():
        rate = options.queries / row["search"]
        print(
            f"{system:<15} {row['build'] - texts:>11.1f} {row['peak']:>9,.0f} {row['disk']:>8,.0f}"
            f" {rate:>14,.0f} {rate / base:>17.2f}"
        )


if __name__ == "__main__":
    main()
