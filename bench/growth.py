"""How memory grows with the data: every command at three sizes, the growth fitted, and what it means at 22 million.

    python bench/growth.py --sizes 100000,400000,1200000 --place /tmp/growth
    python bench/growth.py --only index-bm25,score --sizes 30000,90000,270000 --place /tmp/growth

A size is a number of passages; imports read that many passages, or half as many records where records are what they
read. Memory is the peak of what is resident and no file (RssAnon), children included. Each command is a process of its
own; what it needs is invented before and not measured. The limit is 1.3 times the memory of the smallest size, and 3 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from invented import PER_PAGE, asked_pages, batches, page_id, page_name, question, reader, title
from peak_memory import Usage, measure

WHOLE = 22_000_000
QUERIES = 1_000
WIDTH = 64


def pages_of(size: int) -> int:
    return -(-size // PER_PAGE)


# what is invented before


def need_corpus(place: Path, size: int) -> Path:
    if not (place / "corpus" / "manifest.json").exists():
        inside(place, size, "corpus")
    return place / "corpus"


def need_benchmark(place: Path, size: int) -> Path:
    from whichone.benchmarks.benchmark import save_benchmark
    from whichone.corpus.corpus import Corpus
    from whichone.records import Output, Provenance, Query

    folder = place / "benchmark"
    if not (folder / "manifest.json").exists():
        pages = pages_of(size)
        queries = (
            Query(
                id=f"q{n}",
                task="qa",
                input=question(page, pages),
                name=page_name(page, pages),
                outputs=(Output(answer="x", provenance=((Provenance(page=page_id(page)),),)),),
            )
            for n, page in enumerate(asked_pages(QUERIES, pages))
        )
        corpus = Corpus.open(need_corpus(place, size))
        save_benchmark(folder, name="invented", corpus=corpus, queries=queries)
    return folder


def need_run(place: Path, size: int) -> Path:
    run = place / "run"
    if not (run / "manifest.json").exists():
        again(command("retrieve", need_benchmark(place, size), run, "--retriever", HERE, "-k", 20))
    return run


def need_passages(place: Path, size: int) -> Path:
    """A psgs_w100.tsv."""
    file = place / "passages.tsv"
    if not file.exists():
        schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("title", pa.string())])
        with file.open("w") as out:
            out.write("id\ttext\ttitle\n")
            for batch in batches(size, schema):
                for row in batch.to_pylist():
                    out.write(f"{row['id']}\t{row['text']}\t{row['title']}\n")
    return file


def need_questions(place: Path, size: int, records: int) -> Path:
    file = place / f"questions-{records}.jsonl"
    pages = pages_of(size)
    if not file.exists():
        with file.open("w") as out:
            for page in asked_pages(records, pages):
                record = {
                    "question": question(page, pages),
                    "answers": ["x"],
                    "gold": [title(page, pages)],
                }
                out.write(json.dumps(record) + "\n")
    return file


def need_entity_questions(place: Path, size: int, records: int) -> Path:
    file = place / "P19.dev.json"
    pages = pages_of(size)
    if not file.exists():
        rows = [
            {"question": question(p, pages), "answers": ["x"]} for p in asked_pages(records, pages)
        ]
        file.write_text(json.dumps(rows))
    return file


def need_kilt(place: Path, records: int) -> Path:
    file = place / "nq-dev-kilt.jsonl"
    if not file.exists():
        with file.open("w") as out:
            for n in range(records):
                gold = {"wikipedia_id": str(n), "title": f"Page {n}", "start_paragraph_id": 1}
                gold |= {"start_character": 0, "end_paragraph_id": 1, "end_character": 9}
                gold |= {"bleu_score": 1.0, "section": "Section::::Abstract."}
                output = [{"answer": f"answer {n}", "provenance": [gold]}]
                record = {"id": str(n), "input": f"question number {n}", "output": output}
                out.write(json.dumps(record) + "\n")
    return file


def need_vectors(place: Path, size: int) -> Path:
    file = place / "vectors.npy"
    if not file.exists():
        out = np.lib.format.open_memmap(file, "w+", np.float32, (size, WIDTH))
        for start in range(0, size, 100_000):
            drawn = np.random.default_rng(start).standard_normal(
                (min(100_000, size - start), WIDTH)
            )
            out[start : start + len(drawn)] = drawn
    return file


# what is measured

HERE = "growth:first_pages"


def first_pages(question: str, k: int) -> list[str]:
    """A retriever that does nothing: the same pages for every question."""
    return [page_id(n) for n in range(k)]


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "whichone", *map(str, words)]


def own(step: str) -> Callable[[Path, int], list[str]]:
    """A step of this program in a process of its own."""

    def made(place: Path, size: int) -> list[str]:
        if step != "corpus":
            need_corpus(place, size)
        return [
            sys.executable,
            __file__,
            "--inside",
            step,
            "--sizes",
            str(size),
            "--place",
            str(place),
        ]

    return made


def retrieve(*options: object) -> Callable[[Path, int], list[str]]:
    def made(place: Path, size: int) -> list[str]:
        run = place / f"run-{abs(hash(options))}"
        words = ("-k", 20, "--overwrite", *options)
        return command("retrieve", need_benchmark(place, size), run, *words)

    return made


COMMANDS: dict[str, Callable[[Path, int], list[str]]] = {
    "corpus": own("corpus"),
    "index-bm25": own("index-bm25"),
    "index-tfidf": own("index-tfidf"),
    "index-namesake": own("index-namesake"),
    "retrieve-nothing": retrieve("--retriever", HERE),
    "retrieve-bm25": retrieve("--retriever", "bm25"),
    "retrieve-tfidf": retrieve("--retriever", "tfidf"),
    "retrieve-namesake": retrieve("--retriever", "namesake", "--encoder", "none"),
    "score": lambda place, size: command("score", need_run(place, size)),
    "report": lambda place, size: command("report", need_run(place, size), place / "report.html"),
    "import-questions": lambda place, size: command(
        "import", "questions", need_questions(place, size, QUERIES), place / "questions",
        "--passages", need_passages(place, size), "--gold", "gold", "--overwrite",
    ),
    "import-entityquestions": lambda place, size: command(
        "import", "entityquestions", need_entity_questions(place, size, QUERIES), place / "eq",
        "--passages", need_passages(place, size), "--overwrite",
    ),
    "import-kilt": lambda place, size: command(
        "import", "kilt", need_kilt(place, size // 2), place / "kilt", "--overwrite"
    ),
    "train-examples": own("train-examples"),
}  # fmt: skip


def inside(place: Path, size: int, step: str) -> None:
    from whichone.corpus.corpus import Corpus
    from whichone.corpus.save import save_corpus

    if step == "corpus":
        save_corpus(place / "corpus", reader(size))
        return
    corpus = Corpus.open(place / "corpus")
    if step == "index-bm25":
        from whichone.retrieval.bm25 import Bm25

        Bm25.build(corpus, place / step)
    elif step == "index-tfidf":
        from whichone.retrieval.tfidf import TfIdf

        TfIdf.build(corpus, place / step)
    elif step == "index-namesake":
        from whichone.retrieval.namesake import NamesakeRetriever

        NamesakeRetriever.build(corpus, place / step, encoder="none")
    elif step == "train-examples":
        from whichone.benchmarks.benchmark import Benchmark
        from whichone.training.negatives import ExampleMaker

        benchmark = Benchmark.open(need_benchmark(place, size))
        maker = ExampleMaker(benchmark, place / "work", kinds=("bm25",), most=1, seed=0)
        maker.examples(benchmark.queries)


def again(words: Sequence[str]) -> Usage:
    used = measure(words, timeout=600)
    if used.code:
        print(used.output[-1500:], file=sys.stderr)
    return used


def fitted(sizes: Sequence[int], peaks: Sequence[float]) -> tuple[float, float]:
    """Bytes a passage by least squares, and GB at 22 million."""
    if len(sizes) < 2:
        return 0.0, peaks[-1] / 1024
    slope, base = np.polyfit(sizes, peaks, 1)
    return float(slope) * 2**20, float(base + slope * WHOLE) / 1024


def rows(names: Sequence[str], sizes: Sequence[int], place: Path) -> Iterator[str]:
    yield (
        "| command | "
        + " | ".join(f"{n:,}" for n in sizes)
        + " | ratio | bytes each | GB at 22 M |"
    )
    yield "| --- " * (len(sizes) + 4) + "|"
    for name in names:
        peaks, told = [], []
        for size in sizes:
            folder = place / str(size)
            folder.mkdir(parents=True, exist_ok=True)
            used = again(COMMANDS[name](folder, size))
            told.append(f"{used.peak:,.0f} MB, {used.cpu:.0f} s" if not used.code else "failed")
            if not used.code:
                peaks.append((size, used.peak))
        each, whole = fitted(*zip(*peaks, strict=True)) if peaks else (0.0, 0.0)
        ratio = peaks[-1][1] / peaks[0][1] if peaks else 0.0
        yield f"| {name} | {' | '.join(told)} | {ratio:.2f} | {each:,.0f} | {whole:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="100000,400000,1200000")
    parser.add_argument("--only", help=f"between commas: {', '.join(COMMANDS)}")
    parser.add_argument("--place", type=Path, required=True)
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    os.environ["WHICHONE_CACHE"] = str(options.place.resolve() / "cache")
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parent)  # for `HERE`
    if options.inside:
        inside(options.place, sizes[0], options.inside)
        return
    for line in rows(
        options.only.split(",") if options.only else list(COMMANDS), sizes, options.place
    ):
        print(line, flush=True)


if __name__ == "__main__":
    main()
