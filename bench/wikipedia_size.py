"""A corpus of Wikipedia's size, invented here: written, indexed by BM25 and `namesake`, and asked; time, memory, disk.

    python bench/wikipedia_size.py all --passages 22000000 --place /data/wikipedia-size
    python bench/wikipedia_size.py all --passages 5000000 --place /data/dense --model MODEL   # dense instead
    python bench/wikipedia_size.py show --place /data/wikipedia-size

Every step is a process of its own that is stopped after `--seconds`; the same command goes on with what is left, so
that a machine that allows ten minutes a command suffices. Memory is the peak of what is resident and no file,
children included. It needs about 45 GB of disk at 22 million passages.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from invented import PER_PAGE, SHARD, ShardWriter, asked_pages, page_id, question
from measured import measure, parsed
from whichone.protocols import Retriever
from whichone.records import Question, page_of

STEPS = ("texts", "corpus", "bm25", "ask-bm25", "namesake", "ask-namesake")
DENSE = ("texts", "corpus", "dense", "second-dense", "ask-dense")
MODEL = "WIKIPEDIA_SIZE_MODEL"
QUESTIONS = 1_000
AT_ONCE = 200


def make_texts(place: Path, passages: int) -> dict[str, object]:
    from whichone.files.pools import available_cores, run_jobs

    shards = place / "shards"
    shards.mkdir(exist_ok=True)
    wanted = [n for n in range(-(-passages // SHARD)) if not (shards / f"{n:05}.arrow").exists()]
    for _ in run_jobs(ShardWriter(shards, passages), iter(wanted), available_cores()):
        pass
    return {"passages": passages, "shards made now": len(wanted)}


def make_corpus(place: Path, passages: int) -> dict[str, object]:
    from whichone.corpus.corpus import PASSAGES
    from whichone.corpus.save import save_corpus

    def read() -> Iterator[pa.RecordBatch]:
        for file in sorted((place / "shards").glob("*.arrow")):
            with pa.ipc.open_file(pa.memory_map(str(file))) as shard:
                for n in range(shard.num_record_batches):
                    yield shard.get_batch(n)

    corpus = save_corpus(
        place / "corpus",
        pa.RecordBatchReader.from_batches(PASSAGES.schema, read()),
        origin={"invented passages": passages},
    )
    assert len(corpus) == passages, len(corpus)
    shutil.rmtree(place / "shards")
    return {"passages": len(corpus), "pages": corpus.page_count}


def make_bm25(place: Path, passages: int) -> dict[str, object]:
    from whichone.corpus.corpus import Corpus
    from whichone.retrieval.bm25 import Bm25

    Bm25.build(Corpus.open(place / "corpus"), place / "bm25")
    return {}


def make_namesake(place: Path, passages: int) -> dict[str, object]:
    from whichone.corpus.corpus import Corpus
    from whichone.retrieval.namesake import NamesakeRetriever

    link_bm25(place)
    NamesakeRetriever.build(Corpus.open(place / "corpus"), place / "namesake", encoder="none")
    return {}


def link_bm25(place: Path) -> None:
    """The BM25 index inside that of `namesake` is the one that is complete already: it is not built twice."""
    inside = place / "namesake" / ".partial" / "bm25"
    if inside.exists():
        return
    for file in (place / "bm25").rglob("*"):
        if file.is_file():
            linked = inside / file.relative_to(place / "bm25")
            linked.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, linked)


class Changed:
    """A second model with the same tokeniser: the first one's, its vectors turned around."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        self.size = encoder.size
        self.tokeniser = encoder.packed.tokeniser
        self.packed = self

    def __call__(self, held: Any) -> Any:
        return -self._encoder.packed(held)

    def describe(self) -> dict[str, Any]:
        return {**self._encoder.describe_passages(), "turned": True}


def encoder() -> Any:
    from whichone.retrieval.dense.encoder import need_encoder

    return need_encoder(os.environ[MODEL], device=device())


def device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def make_dense(place: Path, passages: int, second: bool = False) -> dict[str, object]:
    """Vectors, with the tokens or from those of the first model, beside what tokeniser and model do alone."""
    from gpu_encoding import model_alone, tokeniser_alone
    from whichone.corpus.corpus import Corpus
    from whichone.retrieval.dense import Dense

    own = encoder()
    corpus = Corpus.open(place / "corpus")
    rows = corpus.passages.select(["title", "text"]).slice(0, min(32_768, passages // 8))
    titles, texts = rows["title"].to_pylist(), rows["text"].to_pylist()
    tokenised, held = tokeniser_alone(own.packed.tokeniser, titles, texts)
    alone = model_alone(own.packed, held)
    model: Any = Changed(own) if second else own
    began = time.perf_counter()
    Dense.build(corpus, place / ("second-dense" if second else "dense"), encoder=model)
    pace = passages / (time.perf_counter() - began)
    slower = alone if second else min(alone, tokenised)
    return {
        "passages a second": round(pace),
        "tokeniser alone": round(tokenised),
        "model alone": round(alone),
        "of the slower": round(pace / slower, 2),
    }


def open_index(name: str, place: Path) -> Retriever:
    if name == "dense":
        from whichone.retrieval.dense import Dense

        return Dense.open(place, encoder=encoder(), search=device())
    if name == "bm25":
        from whichone.retrieval.bm25 import Bm25

        return Bm25.open(place)
    from whichone.retrieval.namesake import NamesakeRetriever

    return NamesakeRetriever.open(place)


def ask(name: str, place: Path, passages: int) -> dict[str, object]:
    """1,000 questions one at a time, as a service gets them, then as many about the pages beside.

    A block of a file is compared with its checksum when it is first read: the first thousand pay for most
    blocks, the second for hardly any.
    """
    opened = time.perf_counter()
    retriever = open_index(name, place / name)
    opened = time.perf_counter() - opened
    pages = -(-passages // PER_PAGE)
    asked = asked_pages(QUESTIONS, pages)
    list(retriever.search([asked_about(page, pages) for page in asked[-10:]], 100))
    first = one_by_one(retriever, asked, pages)
    then = one_by_one(retriever, [(page + 1) % pages for page in asked], pages)
    began = time.perf_counter()
    list(retriever.search([asked_about(page, pages) for page in asked[:AT_ONCE]], 100))
    at_once = AT_ONCE / (time.perf_counter() - began)
    return {
        "seconds to open": round(opened, 2),
        **{f"first {key}": value for key, value in first.items()},
        **then,
        "questions per second, all at once": round(at_once, 1),
    }


def asked_about(page: int, pages: int) -> Question:
    return Question(id=str(page), text=question(page, pages))


def one_by_one(retriever: Retriever, asked: list[int], pages: int, most: float = 60) -> dict[str, float]:
    """What questions take, for at most `most` seconds."""
    began, cpu, right = time.perf_counter(), [], 0
    for page in asked:
        used = time.process_time()
        found = next(iter(retriever.search([asked_about(page, pages)], 100))).passages[:1]
        cpu.append(1000 * (time.process_time() - used))
        right += bool(found) and page_of(found[0]) == page_id(page)
        if time.perf_counter() - began > most:
            break
    wall = time.perf_counter() - began
    middle, late = (sorted(cpu)[int(share * (len(cpu) - 1))] for share in (0.5, 0.95))
    return {
        "questions": len(cpu),
        "questions per second": round(len(cpu) / wall, 1),
        "CPU ms p50": round(middle, 1),
        "CPU ms p95": round(late, 1),
        "asked page first": round(right / len(cpu), 3),
    }


def work(step: str, place: Path, passages: int) -> dict[str, object]:
    if step.startswith("ask-"):
        return ask(step.removeprefix("ask-"), place, passages)
    steps = {
        "texts": make_texts,
        "corpus": make_corpus,
        "bm25": make_bm25,
        "namesake": make_namesake,
        "dense": make_dense,
        "second-dense": partial(make_dense, second=True),
    }
    return steps[step](place, passages)


def run_step(step: str, place: Path, passages: int, seconds: float) -> bool:
    """Run a step in a process of its own and note what it took; whether it is complete."""
    command = [sys.executable, __file__, step, "--inside", "--place", str(place)]
    used = measure([*command, "--passages", str(passages)], timeout=seconds)
    last = used.output.strip().splitlines()[-1:] or [""]
    complete = used.code == 0
    record = {
        "step": step,
        "complete": complete,
        "passages": passages,
        "wall s": round(used.wall, 1),
        "CPU s": round(used.cpu, 1),
        "peak MB": round(used.peak),
        "disk MB": disk(place, step),
        **(json.loads(last[0]) if complete else {}),
    }
    if not complete and used.code != 124:
        print(used.output[-3000:], file=sys.stderr)
    with (place / "results.jsonl").open("a") as file:
        file.write(json.dumps(record) + "\n")
    print(json.dumps(record), flush=True)
    return complete


def disk(place: Path, step: str) -> int:
    """What a step's folder takes, the corpus that is linked into an index apart."""
    folder = place / {"texts": "shards"}.get(step, step.removeprefix("ask-"))
    inside = (f for f in folder.rglob("*") if "corpus" not in f.relative_to(folder).parts)
    return round(sum(file.stat().st_size for file in inside) / 2**20)


def results(place: Path) -> list[dict[str, object]]:
    file = place / "results.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def show(place: Path) -> None:
    """All calls as a Markdown table."""
    print("| step | complete | wall s | CPU s | peak MB | disk MB | |\n" + "| --- " * 7 + "|")
    usual = ("step", "complete", "passages", "wall s", "CPU s", "peak MB", "disk MB")
    for row in results(place):
        more = ", ".join(f"{key} {value:,}" for key, value in row.items() if key not in usual)
        figures = " | ".join(f"{row[key]:,}" for key in usual[3:])
        done = "yes" if row["complete"] else "no, went on"
        print(f"| {row['step']} | {done} | {figures} | {more} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("step", choices=(*STEPS, *DENSE[2:], "all", "show"))
    parser.add_argument("--passages", type=int, default=22_000_000)
    parser.add_argument("--place", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=570, help="for this call, all its steps")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--model", help="a folder with an encoder: dense is measured instead")
    options = parsed(parser, small="all --passages 3000 --place {place}")
    steps = STEPS
    if options.model:
        steps = DENSE
        os.environ[MODEL] = options.model
        os.environ["INVENTED_VOCABULARY"] = f"{options.model}/vocab.txt"
    options.place.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("WHICHONE_CACHE", str(options.place / "cache"))
    if options.step == "show":
        show(options.place)
        return
    if options.inside:
        print(json.dumps(work(options.step, options.place, options.passages)))
        return
    done = {str(row["step"]) for row in results(options.place) if row["complete"]}
    end = time.monotonic() + options.seconds
    for step in steps if options.step == "all" else (options.step,):
        if options.step == "all" and step in done:
            continue
        left = end - time.monotonic()
        if left < 5 or not run_step(step, options.place, options.passages, left):
            sys.exit(f"not complete: {step}; the same command goes on")


if __name__ == "__main__":
    main()
