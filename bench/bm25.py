"""BM25 beside tantivy: building and searching, CPU, memory and disk, in one run.

    python bench/bm25.py --passages 1000000

Texts are invented (Zipf-distributed words, 100 a passage), written once as a corpus, and read from there by every
system in a process of its own. Seconds are CPU seconds of that process and its children; memory is the peak of what
is resident and no file, children included and shared pages once. tantivy keeps frequencies without positions, as we do.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from measured import cpu_spent, measure, parsed, timed

WORDS = 100
VOCABULARY = 1_000_000
COMMON = 40  # left out of queries, as stop words would be
BATCH = 10_000
SYSTEMS = ("whichone", "tantivy")


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
    for start in range(0, count, BATCH):
        for row in draws(start + 1, min(BATCH, count - start), WORDS).tolist():
            yield " ".join([names[n] for n in row])


def queries(count: int) -> list[str]:
    return [" ".join(word(n) for n in row) for row in draws(0, count, 5, COMMON).tolist()]


def write_corpus(count: int, place: Path) -> None:
    from whichone.corpus.corpus import PASSAGES
    from whichone.corpus.save import save_corpus

    def batches() -> Iterator[pa.RecordBatch]:
        held: list[dict[str, object]] = []
        for n, text in enumerate(passages(count)):
            page = f"b:{n:08}"
            held.append({"id": f"{page}#0", "page": page, "n": 0, "title": "", "text": text})
            if len(held) == BATCH or n + 1 == count:
                yield from PASSAGES.from_rows(held).to_batches()
                held = []

    save_corpus(place, pa.RecordBatchReader.from_batches(PASSAGES.schema, batches()))


def build_ours(corpus: Path, folder: Path) -> None:
    from whichone.corpus.corpus import Corpus
    from whichone.retrieval.bm25 import Bm25

    Bm25.build(Corpus.open(corpus), folder)


def search_ours(folder: Path, asked: list[str]) -> float:
    from whichone.records import Question
    from whichone.retrieval.bm25 import Bm25

    retriever = Bm25.open(folder, backend="numba")
    questions = [Question(id=str(n), text=text) for n, text in enumerate(asked)]
    list(retriever.search(questions[:5], 100))  # compiled, mapped
    started = cpu_spent()
    for _ in retriever.search(questions, 100):
        pass
    return cpu_spent() - started


def build_tantivy(corpus: Path, folder: Path) -> None:
    import tantivy

    from whichone.corpus.corpus import Corpus

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("text", stored=False, tokenizer_name="en_stem", index_option="freq")
    schema.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    folder.mkdir(parents=True)
    writer = tantivy.Index(schema.build(), path=str(folder)).writer(256_000_000, 1)
    for batch in Corpus.open(corpus).batches(["id", "text"]):
        for identity, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            writer.add_document(tantivy.Document(text=text, id=identity))
    writer.commit()
    writer.wait_merging_threads()


def search_tantivy(folder: Path, asked: list[str]) -> float:
    import tantivy

    index = tantivy.Index.open(str(folder))
    searcher = index.searcher()
    for text in asked[:5]:
        searcher.search(index.parse_query(text, ["text"]), 100)
    started = cpu_spent()
    for text in asked:
        hits = searcher.search(index.parse_query(text, ["text"]), 100).hits
        [(score, searcher.doc(address)["id"]) for score, address in hits]
    return cpu_spent() - started


def work(system: str, step: str, corpus: Path, folder: Path, asked: list[str]) -> dict[str, float]:
    if step == "build":
        build = build_tantivy if system == "tantivy" else build_ours
        return {"seconds": timed(lambda: build(corpus, folder))[1]}
    if system == "tantivy":
        return {"seconds": search_tantivy(folder, asked)}
    return {"seconds": search_ours(folder, asked)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--place", type=Path, help="where the corpus and the indexes are written")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)
    options = parsed(parser, small="--passages 3000 --queries 20")
    asked = queries(options.queries)
    if options.step:
        system, step = options.step
        folder = options.place / system
        print(json.dumps(work(system, step, options.place / "corpus", folder, asked)))
        return
    with tempfile.TemporaryDirectory(dir=options.place) as place:
        write_corpus(options.passages, Path(place) / "corpus")
        rows = {}
        for system, step in (
            ("whichone", "build"),
            ("tantivy", "build"),
            *((system, "search") for system in SYSTEMS),
        ):
            command = [sys.executable, __file__, "--step", system, step, "--place", place]
            used = measure([*command, "--queries", str(options.queries)])
            try:
                seconds = json.loads(used.output.splitlines()[-1])["seconds"]
            except (IndexError, ValueError):
                sys.exit(used.output)
            rows[system, step] = seconds, used.peak, used.wall
        disk = {
            name: sum(f.stat().st_size for f in (Path(place) / name).rglob("*") if "corpus" not in f.parts)
            / 2**20
            for name in ("whichone", "tantivy")
        }
    show(options.passages, options.queries, rows, disk)


def show(
    passages: int,
    queries: int,
    rows: dict[tuple[str, str], tuple[float, float, float]],
    disk: dict[str, float],
) -> None:
    print(f"{passages:,} passages of {WORDS} words, {queries} queries, top 100")
    print("building     CPU s  ratio   wall s   peak MB  disk MB  ratio")
    base = rows["tantivy", "build"][0]
    for name in ("whichone", "tantivy"):
        seconds, peak, wall = rows[name, "build"]
        print(
            f"{name:<10} {seconds:>7.1f} {seconds / base:>6.2f} {wall:>8.1f} {peak:>9,.0f}"
            f" {disk[name]:>8,.0f} {disk[name] / disk['tantivy']:>6.2f}"
        )
    print("searching       queries/CPU s  ratio   peak MB")
    rate = queries / rows["tantivy", "search"][0]
    for system in SYSTEMS:
        seconds, peak, _ = rows[system, "search"]
        print(f"{system:<15} {queries / seconds:>13,.0f} {queries / seconds / rate:>6.2f} {peak:>9,.0f}")


if __name__ == "__main__":
    main()
