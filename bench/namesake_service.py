"""How fast `namesake` is: opening, one question, an added passage, 16 clients at once, and with a judge.

    python bench/namesake_service.py --passages 1000000 --work FOLDER [--clients 16] [--judge FOLDER ...]

Invents passages of 60 words whose titles are names, a tenth of them shared, indexes them once into the work
folder, and prints: seconds to open, CPU milliseconds a question (median, 95th percentile), milliseconds until an
added passage is found, memory after opening and after all questions, and what 16 clients of `whichone serve --search`
see. Memory is the process's own, and the mapped files that the system may take back at any time. A judge is asked about names of ten bearers each, with
passages of the built-in corpus. Times are those of this machine, whatever else runs on it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import whichone
from measured import parsed
from namesake_worlds import CITIES, FIRMS, WORK
from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.given import passage_rows, save_passages
from whichone.retrieval.namesake.retriever import NamesakeRetriever

_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "al", "en", "or")]


def name_of(number: int) -> str:
    """A name that one in ten numbers shares with the next."""
    draw = random.Random(number - 1 if number % 10 == 9 else number)
    parts = ["".join(draw.choices(_SYLLABLES, k=2)).capitalize() for _ in range(2)]
    return " ".join(parts)


def passages(count: int) -> Iterator[dict[str, Any]]:
    words = np.array([f"w{n}" for n in range(50_000)])
    rng = np.random.default_rng(0)
    for start in range(0, count, 10_000):
        drawn = words[np.minimum(rng.zipf(1.3, (10_000, 48)), len(words)) - 1]
        for n in range(start, min(start + 10_000, count)):
            city, firm, work = CITIES[n % 16], FIRMS[n % 10], WORK[n % 12]
            text = f"{name_of(n)} is a {work} from {city} at {firm}. " + " ".join(drawn[n - start])
            yield {"id": f"p{n}", "title": name_of(n), "text": text, "tenant": f"t{n % 100}"}


def questions(count: int, passages_: int) -> list[str]:
    draw = random.Random(1)
    asked = []
    for _ in range(count):
        n = draw.randrange(passages_)
        asked.append(f"What is the occupation of {name_of(n)} from {CITIES[n % 16]}?")
    return asked


def resident() -> str:
    """The process's own memory, and mapped files in memory."""
    text = Path("/proc/self/status").read_text()
    own, mapped = (int(re.findall(rf"{k}:\s+(\d+)", text)[0]) / 1024 for k in ("RssAnon", "RssFile"))
    return f"{own:.0f} MB own, {mapped:.0f} MB mapped"


def quantiles(seconds: list[float]) -> str:
    p50, p95 = np.percentile(np.array(seconds) * 1e3, [50, 95])
    return f"median {p50:.1f} ms, 95th percentile {p95:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--judge", action="append", default=[])
    options = parsed(parser, small="--passages 2000 --work {place} --clients 2 --questions 20")
    for folder in options.judge:
        with_judge(folder)
    if not options.passages:
        return
    place = options.work / f"service-{options.passages}"
    if not place.exists():
        began = time.process_time()
        beside = options.work / f"service-corpus-{options.passages}"
        corpus = save_passages(beside, passage_rows(passages(options.passages)))
        NamesakeRetriever.build(corpus, place, encoder="none")
        print(f"indexed in {time.process_time() - began:.0f} CPU s", flush=True)
    whichone.Namesake.open(place).search("warm Up", 1)  # compiles BM25 where numba is installed
    began = time.perf_counter()
    namesake = whichone.Namesake.open(place)
    print(f"opened in {time.perf_counter() - began:.2f} s, {resident()}", flush=True)
    asked = questions(options.questions, options.passages)
    for mode, wanted in (("", None), ("with a filter, ", {"tenant": "t7"})):
        took = []
        for text in asked:
            began = time.process_time()
            namesake.search(text, 10, filter=wanted)
            took.append(time.process_time() - began)
        print(f"a question, {mode}CPU: {quantiles(took)}; {resident()}", flush=True)
    took, spent = [], []
    for n in range(100):
        began, cpu = time.perf_counter(), time.process_time()
        namesake.add([{"id": f"a{n}", "title": f"Zorvex Quandle{n}", "text": f"flim{n} flam"}])
        assert namesake.search(f"Zorvex Quandle{n}", 1)[0].id == f"a{n}"
        took.append(time.perf_counter() - began)
        spent.append(time.process_time() - cpu)
    print(f"added and found: {quantiles(took)}; CPU: {quantiles(spent)}", flush=True)
    namesake.remove([f"a{n}" for n in range(100)])
    serve(place, asked, options.clients)
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB", flush=True)


def with_judge(folder: str, bearers: int = 10) -> None:
    """What a question costs whose name ten have, by how many words of each passage are read."""
    texts = [
        text
        for batch in Benchmark.open("builtin/amber").corpus.batches(["text"])
        for text in batch["text"].to_pylist()
    ]
    texts = [text for text in texts if len(text.split()) >= 60][: 20 * bearers]
    records = [{"id": n, "title": name_of(10 * (n // bearers)), "text": text} for n, text in enumerate(texts)]
    namesake = whichone.Namesake.over(records, encoder="none", judge=folder)
    with tempfile.TemporaryDirectory() as place:
        namesake.save(Path(place) / "index")
        for words in (120, 60, 30):
            namesake = whichone.Namesake.open(Path(place) / "index", judge_words=words)
            took, spent = [], []
            for n in range(len(records) // bearers + 2):
                text = f"Where was {name_of(10 * (n % (len(records) // bearers)))} born?"
                began, cpu = time.perf_counter(), time.process_time()
                namesake.search(text, 5)
                took.append(time.perf_counter() - began)
                spent.append(time.process_time() - cpu)
            print(
                f"{Path(folder).name}, {words} words of {bearers} bearers: {quantiles(took[2:])}; CPU: {quantiles(spent[2:])}",
                flush=True,
            )


def serve(place: Path, asked: list[str], clients: int) -> None:
    """Ask a running service by so many clients at once."""
    command = [sys.executable, "-m", "whichone", "serve", "--search", str(place)]
    server = subprocess.Popen(
        [*command, "--port", "8765", "--public"], stderr=subprocess.PIPE, env={**os.environ}
    )
    try:
        while True:
            try:
                ask("/health")
                break
            except OSError:
                time.sleep(0.2)
        took: list[float] = []
        lock = threading.Lock()

        def client(number: int) -> None:
            for text in asked[number::clients]:
                began = time.perf_counter()
                ask("/search", {"text": text, "k": 10})
                with lock:
                    took.append(time.perf_counter() - began)

        began = time.perf_counter()
        threads = [threading.Thread(target=client, args=(n,)) for n in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rate = len(took) / (time.perf_counter() - began)
        print(f"{clients} clients: {quantiles(took)}, {rate:.0f} questions/s", flush=True)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(20)


def ask(path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:8765{path}", data, {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.loads(response.read())


if __name__ == "__main__":
    main()
