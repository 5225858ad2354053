"""How memory grows with the data: every command at three sizes, the growth fitted, and what it means at 22 million.

    python bench/growth.py --place /tmp/growth
    python bench/growth.py --only index-bm25,score --sizes 30000,90000,270000 --place /tmp/growth

A size is a number of passages, or of records for the lines that end in "records" and for `import-kilt` and `map`. Memory is
the peak of what is resident and no file, children included and shared pages once. Each command is a process of its own; what it needs is
invented before and not measured. Without `--sizes` each goes up to its largest size that two cores do in ten minutes, a
tenth and three tenths of it. The limit is 1.3 times the memory of a tenth, and 3 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from invented import (
    PER_PAGE,
    asked_pages,
    batches,
    calling,
    page_id,
    page_name,
    question,
    reader,
    title,
    word,
)
from invented_originals import need_fever, need_trex, need_zsre
from measured import Usage, measure, parsed
from report_size import write_answers, write_benchmark, write_run

WHOLE = 22_000_000
QUERIES = 1_000
WIDTH = 64
SMALL = 30_000
"""Passages of the corpus that many records are asked of."""
KILT_RECORDS = 1_000


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


def need_asked(place: Path, queries: int) -> Path:
    """Many queries with name sets over a small corpus, and a run over them."""
    folder = place / "asked"
    folder.mkdir(exist_ok=True)
    if not (folder / "benchmark" / "manifest.json").exists():
        write_benchmark(queries, SMALL, folder)
    if not (folder / "run0" / "manifest.json").exists():
        write_run(0, queries, SMALL, folder)
    return folder


def need_answers(place: Path, queries: int) -> Path:
    """A reader's answers to many queries."""
    folder = need_asked(place, queries)
    if not (folder / "answers" / "manifest.json").exists():
        write_answers(queries, folder)
    return folder / "answers"


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
    file = place / f"questions-{size}-{records}.jsonl"
    pages = pages_of(size)
    if not file.exists():
        with file.open("w") as out:
            for page in each_asked(records, pages):
                record = {"question": question(page, pages), "answers": ["x"], "gold": [title(page, pages)]}
                out.write(json.dumps(record) + "\n")
    return file


def each_asked(records: int, pages: int) -> Iterator[int]:
    return (n * 7_919 % pages for n in range(records))


def need_entity_questions(place: Path, size: int, records: int) -> Path:
    """As released: one JSON list; its questions fit the template of P19."""
    folder = place / f"{size}-{records}"
    folder.mkdir(exist_ok=True)
    file = folder / "P19.dev.json"
    pages = pages_of(size)
    if not file.exists():
        with file.open("w") as out:
            for n, page in enumerate(each_asked(records, pages)):
                asked = f"Where was {page_name(page, pages)} born?"
                answers = [calling(page)]
                record = json.dumps({"question": asked, "answers": answers}, indent=4)
                out.write(("[" if not n else ",\n") + record)
            out.write("]")
    return file


def need_kilt(place: Path, records: int, size: int = 0, name: str = "nq-dev-kilt") -> Path:
    """KILT records; over a corpus of `size` passages their gold is named by its titles."""
    file = place / f"{name}.jsonl" if not size else place / f"{size}-{records}-{name}.jsonl"
    pages = pages_of(size)
    if not file.exists():
        with file.open("w") as out:
            for n in range(records):
                page = n * 7_919 % pages if size else n
                called = title(page, pages) if size else f"Page {n}"
                gold = {"wikipedia_id": str(n), "title": called, "start_paragraph_id": 1}
                gold |= {"start_character": 0, "end_paragraph_id": 1, "end_character": 9}
                gold |= {"bleu_score": 1.0, "section": "Section::::Abstract."}
                output = [{"answer": f"answer {n}", "provenance": [gold]}]
                asked = question(page, pages) if size else f"question number {n}"
                record = {"id": f"{name} {n}", "input": asked, "output": output}
                out.write(json.dumps(record) + "\n")
    return file


def need_small(place: Path) -> Path:
    """A corpus that stays as it is while records grow, indexed before."""
    from whichone.corpus.corpus import Corpus
    from whichone.retrieval.bm25 import Bm25
    from whichone.runs.retrieve import default_index_folder

    small = place.parent / "small"
    small.mkdir(exist_ok=True)
    corpus = Corpus.open(need_corpus(small, SMALL))
    Bm25.over(corpus, default_index_folder(corpus))
    return small / "corpus"


def need_knowledge(place: Path) -> Path:
    """A knowledge base of 10,000 pages with two paragraphs each."""
    from whichone.knowledge.formats.sources import pages_source
    from whichone.knowledge.ingest import ingest

    base = place.parent / "knowledge"
    if not (base / "manifest.json").exists():
        file = place.parent / "kilt_knowledgesource.json"
        pages = pages_of(SMALL)
        with file.open("w") as out:
            for page in range(pages):
                called = title(page, pages)
                record = {
                    "_id": str(page + 1),
                    "wikipedia_id": str(page + 1),
                    "wikipedia_title": called,
                    "text": [f"{called}\n", f"{called} is a {calling(page)} from {word(page)}.\n"],
                }
                out.write(json.dumps(record) + "\n")
        ingest(base, [pages_source(file, None)])
    return base


def need_task(place: Path, records: int) -> Path:
    """Records whose evidence is text, to be mapped."""
    file = place / f"task-{records}.jsonl"
    pages = pages_of(SMALL)
    if not file.exists():
        with file.open("w") as out:
            for n in range(records):
                page = n * 7_919 % pages
                text = f"{title(page, pages)} is a {calling(page)} from"
                evidence = {"title": title(page, pages), "text": text}
                record = {"id": str(n), "input": question(page, pages), "answer": "x"}
                out.write(json.dumps({**record, "evidence": [evidence]}) + "\n")
    return file


def need_vectors(place: Path, size: int) -> Path:
    """Vectors of all passages with their ids, as published ones are."""
    file = place / "vectors.parquet"
    if not file.exists():
        kind = pa.list_(pa.float32(), WIDTH)
        schema = pa.schema([("id", pa.string()), ("embeddings", kind)])
        with pq.ParquetWriter(file, schema) as out:
            for start in range(0, size, 90_000):
                rows = np.arange(start, min(start + 90_000, size))
                drawn = np.random.default_rng(start).standard_normal((len(rows), WIDTH))
                ids = [f"{page_id(row // PER_PAGE)}#{row % PER_PAGE}" for row in rows.tolist()]
                flat = pa.array(drawn.astype(np.float32).ravel())
                vectors = pa.FixedSizeListArray.from_arrays(flat, WIDTH)
                out.write_table(pa.table([pa.array(ids), vectors], schema=schema))
    return file


class DrawnEncoder:
    """Questions as vectors that their text alone decides; passages have theirs already."""

    size = WIDTH

    def questions(self, texts: Sequence[str]) -> np.ndarray:
        seeds = [zlib.crc32(text.encode()) for text in texts]
        drawn = [np.random.default_rng(seed).standard_normal(WIDTH) for seed in seeds]
        return np.array(drawn, np.float32)

    passages = questions

    def describe(self) -> dict[str, object]:
        return {"encoder": "drawn"}


# what is measured

HERE = "growth:first_pages"


def first_pages(question: str, k: int) -> list[str]:
    """A retriever that does nothing: the same pages for every question."""
    return [page_id(n) for n in range(k)]


def repeat_question(question: str, passages: object) -> str:
    """A reader that does nothing."""
    return question


def need_trec(place: Path, queries: int) -> Path:
    """A run as others write it."""
    file = need_asked(place, queries) / "run.txt"
    if not file.exists():
        again(command("export", place / "asked" / "run0", file, "--format", "trec"))
    return file


def need_said(place: Path, queries: int) -> Path:
    """Answers as others write them."""
    file = need_asked(place, queries) / "said.jsonl"
    if not file.exists():
        with file.open("w") as out:
            for n in range(queries):
                out.write(json.dumps({"id": f"q{n:07}", "answer": f"answer {n}"}) + "\n")
    return file


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "whichone", *map(str, words)]


def own(step: str) -> Callable[[Path, int], list[str]]:
    """A step of this program in a process of its own."""

    def made(place: Path, size: int) -> list[str]:
        if step in ("train-examples, records", "reader-examples, records"):
            need_small(place)
            train_files(place, size, SMALL)
        elif step != "corpus":
            need_corpus(place, size)
        if step == "train-examples":
            train_files(place, KILT_RECORDS, size)
        if step == "index-dense":
            need_vectors(place, size)
        if step == "retrieve-dense":
            need_benchmark(place, size)
            if not (place / "index-dense" / "manifest.json").exists():
                again(own("index-dense")(place, size))
        return [sys.executable, __file__, "--inside", step, "--sizes", str(size), "--place", str(place)]

    return made


def retrieve(*options: object) -> Callable[[Path, int], list[str]]:
    def made(place: Path, size: int) -> list[str]:
        run = place / f"run-of-{Path(str(options[-1]).replace(':', '-')).name}"
        words = ("-k", 20, "--overwrite", *options)
        return command("retrieve", need_benchmark(place, size), run, *words)

    return made


def retrieve_with(name: str) -> Callable[[Path, int], list[str]]:
    """With an index that is made before."""

    def made(place: Path, size: int) -> list[str]:
        index = place / f"index-{name}"
        if not (index / "manifest.json").exists():
            again(own(f"index-{name}")(place, size))
        return retrieve("--index", index)(place, size)

    return made


def map_original(name: str, place: Path, file: Path, *extra: Path) -> list[str]:
    """The training split: most of the records."""
    words = ("--original", name, "--split", "train", "--overwrite")
    more = (word for path in extra for word in ("--extra", path))
    base = need_knowledge(place)
    return command("map", file, base, place / f"{name}-mapped.jsonl", *words, *more)


COMMANDS: dict[str, Callable[[Path, int], list[str]]] = {
    "corpus": own("corpus"),
    "index-bm25": own("index-bm25"),
    "index-tfidf": own("index-tfidf"),
    "index-namesake": own("index-namesake"),
    "index-dense": own("index-dense"),
    "retrieve-nothing": retrieve("--retriever", HERE),
    "retrieve-bm25": retrieve_with("bm25"),
    "retrieve-tfidf": retrieve_with("tfidf"),
    "retrieve-namesake": retrieve_with("namesake"),
    "retrieve-dense": own("retrieve-dense"),
    "score": lambda place, size: command("score", need_run(place, size)),
    "report": lambda place, size: command(
        "report", need_run(place, size), place / "report.html", "--overwrite"
    ),
    "retrieve-nothing, records": lambda place, size: command(
        "retrieve", need_asked(place, size) / "benchmark", place / "asked" / "nothing",
        "--retriever", HERE, "-k", 20, "--overwrite",
    ),
    "score, records": lambda place, size: command("score", need_asked(place, size) / "run0"),
    "report, records": lambda place, size: command(
        "report", need_asked(place, size) / "run0", place / "report-many.html", "--overwrite"
    ),
    "read, records": lambda place, size: command(
        "read", need_asked(place, size) / "benchmark", place / "asked" / "read",
        "--reader", "growth:repeat_question", "--run", place / "asked" / "run0", "--passages", "retrieved",
        "--overwrite",
    ),
    "import-run, records": lambda place, size: command(
        "import", "run", need_trec(place, size), place / "asked" / "imported",
        "--benchmark", place / "asked" / "benchmark", "--format", "trec", "--overwrite",
    ),
    "import-answers, records": lambda place, size: command(
        "import", "answers", need_asked(place, size) / "benchmark", need_said(place, size),
        place / "asked" / "imported-answers", "--overwrite",
    ),
    "score, answers": lambda place, size: command("score", need_answers(place, size)),
    "report, answers": lambda place, size: command(
        "report", need_answers(place, size), place / "report-answers.html", "--overwrite"
    ),
    "import-questions": lambda place, size: command(
        "import", "questions", need_questions(place, size, QUERIES), place / "questions",
        "--passages", need_passages(place, size), "--gold", "gold", "--overwrite",
    ),
    "import-questions by entity": lambda place, size: command(
        "import", "questions", need_questions(place, size, QUERIES), place / "questions-by-entity",
        "--passages", need_passages(place, size), "--gold", "gold", "--passage-entity", "title",
        "--overwrite",
    ),
    "import-questions, records": lambda place, size: command(
        "import", "questions", need_questions(place, SMALL, size), place / "questions-many",
        "--corpus", need_small(place), "--gold", "gold", "--overwrite",
    ),
    "import-entityquestions": lambda place, size: command(
        "import", "entityquestions", need_entity_questions(place, size, QUERIES), place / "eq",
        "--passages", need_passages(place, size), "--overwrite", "--gold-outside",
    ),
    "import-entityquestions, records": lambda place, size: command(
        "import", "entityquestions", need_entity_questions(place, SMALL, size), place / "eq-many",
        "--corpus", need_small(place), "--overwrite", "--gold-outside",
    ),
    "import-kilt": lambda place, size: command(
        "import", "kilt", need_kilt(place, size), place / "kilt", "--overwrite"
    ),
    "import-kilt over passages": lambda place, size: command(
        "import", "kilt", need_kilt(place, KILT_RECORDS, size), place / "kilt-passages",
        "--passages", need_passages(place, size), "--overwrite",
    ),
    "import-kilt over a corpus, records": lambda place, size: command(
        "import", "kilt", need_kilt(place, size, SMALL), place / "kilt-many",
        "--corpus", need_small(place), "--overwrite",
    ),
    "map": lambda place, size: command(
        "map", need_task(place, size), need_knowledge(place), place / "mapped.jsonl", "--overwrite"
    ),
    "map original trex": lambda place, size: map_original(
        "trex", place, need_trex(place, size, pages_of(SMALL))
    ),
    "map original structured_zeroshot": lambda place, size: map_original(
        "structured_zeroshot", place, need_zsre(place, size, pages_of(SMALL))
    ),
    "map original fever": lambda place, size: map_original(
        "fever", place, *need_fever(place, size, pages_of(SMALL))
    ),
    "train-examples": own("train-examples"),
    "train-examples, records": own("train-examples, records"),
    "reader-examples, records": own("reader-examples, records"),
}  # fmt: skip

LARGEST = {
    "index-tfidf": 1_000_000,
    "index-namesake": 2_000_000,
    "retrieve-bm25": 2_000_000,
    "retrieve-tfidf": 1_000_000,
    "retrieve-namesake": 2_000_000,
    "retrieve-dense": 2_000_000,
    "index-dense": 2_000_000,
    "retrieve-nothing, records": 2_000_000,
    "score, records": 2_000_000,
    "report, records": 1_000_000,
    "score, answers": 1_000_000,
    "report, answers": 1_000_000,
    "import-questions, records": 1_000_000,
    "import-entityquestions, records": 1_000_000,
    "import-kilt": 2_000_000,
    "import-kilt over a corpus, records": 1_000_000,
    "map": 400_000,
    "map original trex": 1_000_000,
    "map original structured_zeroshot": 1_000_000,
    "map original fever": 1_000_000,
    "train-examples": 2_000_000,
    "train-examples, records": 200_000,
    "reader-examples, records": 200_000,
}
"""Sizes that two cores do in ten minutes, where it is not 4 million."""


def inside(place: Path, size: int, step: str) -> None:
    from whichone.corpus.corpus import Corpus
    from whichone.corpus.save import save_corpus

    if step == "corpus":
        save_corpus(place / "corpus", reader(size))
        return
    if step.startswith("train-examples"):
        train_examples(place, size, step.endswith("records"))
        return
    if step == "reader-examples, records":
        reader_examples(place, size)
        return
    corpus = Corpus.open(place / "corpus")
    shutil.rmtree(place / step, ignore_errors=True)
    if step == "index-bm25":
        from whichone.retrieval.bm25 import Bm25

        Bm25.build(corpus, place / step)
    elif step == "index-tfidf":
        from whichone.retrieval.baselines import TfIdf

        TfIdf.build(corpus, place / step)
    elif step == "index-namesake":
        from whichone.retrieval.namesake import NamesakeRetriever

        NamesakeRetriever.build(corpus, place / step, encoder="none")
    elif step == "index-dense":
        from whichone.retrieval.dense import Dense

        vectors = str(place / "vectors.parquet")
        Dense.build(corpus, place / step, encoder=DrawnEncoder(), vectors=vectors)
    elif step == "retrieve-dense":
        from whichone.benchmarks.benchmark import Benchmark
        from whichone.retrieval.dense import Dense
        from whichone.runs.runner import run_retriever

        opened = Dense.open(place / "index-dense", encoder=DrawnEncoder())
        shutil.rmtree(place / "run-dense", ignore_errors=True)
        benchmark = Benchmark.open(place / "benchmark")
        run_retriever(opened, benchmark, place / "run-dense", k=20, name="dense")


SOURCES = 11


def train_examples(place: Path, size: int, records: bool) -> None:
    """Multi-task examples of eleven KILT training files over one corpus, with BM25 and namesakes as negatives."""
    from whichone.training.trainer import TrainingSettings
    from whichone.training.training_data import LearningPlan, TrainingCorpus, training_data

    asked, held = (size, need_small(place)) if records else (KILT_RECORDS, place / "corpus")
    over = SMALL if records else size
    files = train_files(place, asked, over)
    plan = LearningPlan(sources=tuple(map(str, files)), corpus=TrainingCorpus(folder=str(held)))
    settings = TrainingSettings(batch=32, kinds=("bm25", "namesake"), per_source=1_000)
    shutil.rmtree(place / "work", ignore_errors=True)
    data = training_data(plan, settings, place / "work")
    print(len(data.learn), len(data.watch))


def reader_examples(place: Path, size: int) -> None:
    """What a reader learns from the same files."""
    from whichone.runs.retrieve import default_index_folder
    from whichone.training.reading_examples import reading_examples, reading_queries
    from whichone.training.training_data import LearningPlan, TrainingCorpus

    files = tuple(map(str, train_files(place, size, SMALL)))
    plan = LearningPlan(sources=files, corpus=TrainingCorpus(folder=str(need_small(place))))
    for part in reading_queries(plan, 0, place / "work")[0]:
        work = default_index_folder(part.benchmark.corpus)
        print(len(reading_examples(part.benchmark, part.records, "seq2seq", work)[0]))


def train_files(place: Path, records: int, size: int) -> list[Path]:
    """Eleven files whose names say that they are to learn from."""
    return [need_kilt(place, -(-records // SOURCES), size, f"task{n}-train-kilt") for n in range(SOURCES)]


def again(words: Sequence[str]) -> Usage:
    used = measure(words, timeout=3_600)
    if used.code:
        print(used.output[-1500:], file=sys.stderr)
    return used


def fitted(sizes: Sequence[int], peaks: Sequence[float]) -> tuple[float, float]:
    """Bytes a passage by least squares, and GB at 22 million."""
    if len(sizes) < 2:
        return 0.0, peaks[-1] / 1024
    slope, base = np.polyfit(sizes, peaks, 1)
    return float(slope) * 2**20, float(base + slope * WHOLE) / 1024


def row(name: str, sizes: Sequence[int], place: Path) -> str:
    peaks, cells = [], []
    for size in sizes:
        folder = place / str(size)
        folder.mkdir(parents=True, exist_ok=True)
        used = again(COMMANDS[name](folder, size))
        cell = f"{used.peak:,.0f} MB, {used.cpu:.0f} s" if not used.code else "failed"
        cells.append(f"{size:,}: {cell}")
        if not used.code:
            peaks.append((size, used.peak))
    each, whole = fitted(*zip(*peaks, strict=True)) if peaks else (0.0, 0.0)
    ratio = peaks[-1][1] / peaks[0][1] if peaks else 0.0
    return f"| {name} | {' | '.join(cells)} | {ratio:.2f} | {each:,.0f} | {whole:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", help="between commas; else up to the largest of each command")
    parser.add_argument("--only", help=f"between semicolons or commas: {', '.join(COMMANDS)}")
    parser.add_argument("--place", type=Path, required=True)
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    options = parsed(parser, small="--only corpus,score --sizes 300,600,900 --place {place}")
    sizes = [int(size) for size in options.sizes.split(",")] if options.sizes else None
    place = options.place.resolve()
    place.mkdir(parents=True, exist_ok=True)
    os.environ["WHICHONE_CACHE"] = str(place / "cache")
    here = str(Path(__file__).resolve().parent)  # for `HERE`
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    if options.inside:
        assert sizes
        inside(options.place, sizes[0], options.inside)
        return
    only = options.only or ""
    mark = ";" if ";" in only or only in COMMANDS else ","
    print("| command | a tenth | three tenths | largest | ratio | bytes each | GB at 22 M |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for name in filter(None, options.only.split(mark)) if options.only else list(COMMANDS):
        most = LARGEST.get(name, 4_000_000)
        print(row(name, sizes or [most // 10, most * 3 // 10, most], place), flush=True)


if __name__ == "__main__":
    main()
