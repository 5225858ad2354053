"""Search as one types over millions of names, and the server's memory with few and with many runs.

    python bench/web_search.py [--names 3000000] [--queries 200000] [--runs 20] [--work FOLDER]

Makes a benchmark of invented shared names (some with accents), two or three bearers each, and runs over
its queries; starts the real server and asks it, over HTTP, what the page asks at every keystroke. Each
kind of question is timed alone, at the client (wall) and as processor time of the server. With `--work`
the benchmark is kept and used again. Memory is the server's peak (VmHWM) after visiting every page with
one run, and again, in a new process, with all of them.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pyarrow as pa

from measured import parsed
from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import KIND, QUERIES, SETS
from whichone.corpus.corpus import PASSAGES
from whichone.corpus.save import save_corpus
from whichone.files.folder import Folder
from whichone.retrieval.indexes import adopt_folder
from whichone.runs.run import FAILURES, RANKINGS, TIMING
from whichone.runs.run import KIND as RUN
from whichone.web.storage import open_database
from whichone.web.web_site import Links, SignedTokens, secret_in

_SYLLABLES = [
    a + b + c
    for a in ("", *"bcdfghjklmnprstvwz", "br", "ch", "gr", "kr", "sch", "sh", "st", "th", "tr")
    for b in ("a", "e", "i", "o", "u", "ei", "ou", "ä", "é", "ø")
    for c in ("", "", "n", "r", "l", "s", "ng", "ck", "rt")
]


def words(draw: random.Random, count: int) -> list[str]:
    return sorted(
        {"".join(draw.choices(_SYLLABLES, k=draw.randint(2, 4))).capitalize() for _ in range(count)}
    )


def invented_names(count: int, seed: int = 0) -> list[str]:
    """Two words, the first drawn from few, the last from many, both unevenly; a number makes it one."""
    draw = random.Random(seed)
    first, last = np.array(words(draw, 6000)), np.array(words(draw, 120_000))
    numbers = np.random.default_rng(seed)
    a = first[(numbers.random(count) ** 3 * len(first)).astype(int)]
    b = last[(numbers.random(count) ** 2 * len(last)).astype(int)]
    return [f"{x} {y}" for x, y in zip(a, b, strict=True)]


def make_benchmark(path: Path, names: int, queries: int) -> None:
    """So many name sets with two or three bearers; queries about the most popular names."""
    made = invented_names(names)
    numbers = np.random.default_rng(1)
    popularity = np.floor(numbers.pareto(0.9, names) * 100) + 1
    bearers = numbers.integers(2, 4, names)
    of = np.repeat(np.arange(names), bearers)
    rank = np.arange(len(of)) - np.repeat(np.cumsum(bearers) - bearers, bearers)
    entity = [f"Q{n}" for n in range(len(of))]
    types = numbers.integers(0, 12, len(of))
    sets = pa.table(
        {
            "set": [f"s{n:08}" for n in of],
            "name": [made[n] for n in of],
            "collection": ["human"] * len(of),
            "rank": pa.array(rank, pa.int32()),
            "entity": entity,
            "label": [made[n] for n in of],
            "role": np.where(rank == 0, "head", "tail"),
            "popularity": popularity[of] / (10.0**rank),
            "types": pa.array([[f"T{n}"] for n in types], pa.list_(pa.string())),
            "pages": pa.array([[f"w:{n}"] for n in range(len(of))], pa.list_(pa.string())),
        }
    )
    asked = np.sort(np.argsort(-popularity, kind="stable")[:queries])
    starts = (np.cumsum(bearers) - bearers)[asked]
    rows = [
        {
            "id": f"q{n:07}", "task": "qa", "input": f"Where was {made[s]} born?", "language": "en",
            "mention": None, "name": made[s], "name_set": f"s{s:08}", "role": "head",
            "relation": f"P{n % 7}", "entity": f"Q{b}", "gold_pages": [f"w:{b}"],
            "outputs": f'[{{"answer":"Somewhere","provenance":[[{{"page":"w:{b}"}}]]}}]',
            "attributes": "{}", "place": n,
        }
        for n, (s, b) in enumerate(zip(asked.tolist(), starts.tolist(), strict=True))
    ]  # fmt: skip
    passages = [
        {"id": f"w:{b}#0", "page": f"w:{b}", "n": 0, "title": "Page", "text": "Words on it.",
         "source_id": None}
        for b in starts.tolist()
    ]  # fmt: skip
    with Folder.create(path, KIND) as folder:
        folder.write(SETS, sets)
        folder.write(QUERIES, QUERIES.from_rows(rows))
        corpus = save_corpus(folder.partial / "corpus", PASSAGES.from_rows(passages))
        adopt_folder(folder, "corpus")
        folder.write_bytes("card.md", b"# Invented names\n")
        folder.commit(
            name="names", parents={"corpus": corpus.hash}, counts={"queries": len(rows), "sets": names}
        )


def make_run(benchmark: Benchmark, path: Path, number: int) -> None:
    """Ten results a query; the gold page is first, or second behind a namesake's."""
    table = benchmark.query_table
    ids = table["id"].to_pylist()
    gold = [int(pages[0][2:]) for pages in table["gold_pages"].to_pylist()]
    draw = np.random.default_rng(number)
    right = draw.random(len(ids)) < 0.4 + number / 60
    page = np.array(gold)[:, None] + np.arange(10)[None, :]
    page[~right, 0], page[~right, 1] = page[~right, 1], page[~right, 0].copy()
    listed = [f"w:{n}" for n in page.ravel()]
    rankings = pa.table(
        {
            "question": np.repeat(ids, 10),
            "rank": pa.array(np.tile(np.arange(1, 11), len(ids)), pa.int32()),
            "passage": [f"{p}#0" for p in listed],
            "page": listed,
            "score": np.tile(1.0 / np.arange(1, 11), len(ids)),
        }
    )
    with Folder.create(path, RUN) as folder:
        folder.write(RANKINGS, rankings)
        folder.write(FAILURES, FAILURES.from_rows([]))
        folder.write(TIMING, TIMING.from_rows([]))
        folder.commit(name=f"run {number}", parents={"benchmark": benchmark.id})


class Server:
    """The real program over a folder, and one connection to it."""

    def __init__(self, folder: Path, cache: Path) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])
        command = [sys.executable, "-m", "whichone", "serve", str(folder), "--port", str(self.port)]
        database, secret = cache / f"web-{self.port}.sqlite", cache / "secret"
        opened = open_database(str(database))
        links = Links(opened, SignedTokens(secret_in(secret)))
        self.headers = {"Authorization": f"Bearer {links.token(links.create('admin'))}"}
        opened.close()
        environment = {**os.environ, "WHICHONE_CACHE": str(cache)}
        command += ["--database", str(database), "--secret", str(secret)]
        self.process = subprocess.Popen(command, env=environment)
        for _ in range(300):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 0.2).close()
                break
            time.sleep(0.2)
        self.line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=3600)

    def get(self, path: str) -> bytes:
        while True:
            self.line.request("GET", path, headers=self.headers)
            answer = self.line.getresponse()
            content = answer.read()
            if answer.status != 503:  # being indexed
                break
            time.sleep(1)
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status}")
        return content

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def peak_mb(self, what: str = "VmHWM") -> float:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


@contextlib.contextmanager
def served(folder: Path, cache: Path) -> Iterator[Server]:
    server = Server(folder, cache)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()


def keystrokes(names: list[str], runs: list[str]) -> dict[str, Callable[[random.Random], dict[str, str]]]:
    """Kinds of questions: what the form sends for one, drawn at random."""

    def prefix(draw: random.Random, size: int) -> str:
        return draw.choice(names)[:size]

    def inside(draw: random.Random, size: int) -> str:
        name = draw.choice(names)
        start = draw.randrange(max(1, len(name) - size))
        return name[start : start + size]

    def absent(draw: random.Random) -> str:
        return inside(draw, 4) + inside(draw, 4)[::-1]

    def plain(draw: random.Random) -> str:
        accents = str.maketrans("äéø", "aeo")
        return draw.choice([n for n in draw.sample(names, 200) if not n.isascii()]).translate(accents)[:6]

    one, two = runs[0], runs[min(1, len(runs) - 1)]
    return {
        "1 letter": lambda d: {"q": inside(d, 1)},
        "2 letters": lambda d: {"q": inside(d, 2)},
        "2 letters, rare": lambda d: {"q": d.choice("qxyjw") + d.choice("qxzjw")},
        "3 letters": lambda d: {"q": inside(d, 3)},
        "5 letters": lambda d: {"q": inside(d, 5)},
        "8 letters": lambda d: {"q": inside(d, 8)},
        "typed without its accents": lambda d: {"q": plain(d)},
        "mostly absent": lambda d: {"q": absent(d)},
        "a name, letter by letter": lambda d: {"q": prefix(d, d.randint(1, 14))},
        "4 letters and a type": lambda d: {"q": inside(d, 4), "type": f"T{d.randrange(12)}"},
        "4 letters and a relation": lambda d: {"q": inside(d, 4), "relation": f"P{d.randrange(7)}"},
        "a type and a relation": lambda d: {"type": f"T{d.randrange(12)}", "relation": f"P{d.randrange(7)}"},
        "4 letters, confused by X": lambda d: {"q": inside(d, 4), "outcome": "confused", "run": one},
        "confused by X": lambda d: {"outcome": "confused", "run": one},
        "right for X, wrong for Y": lambda d: {"outcome": "right-wrong", "run": one, "other": two},
    }  # fmt: skip


def told(
    server: Server, key: str, kinds: dict[str, Callable[[random.Random], dict[str, str]]], each: int
) -> None:
    print(f"{'question':28} {'p50':>8} {'p95':>8} {'p99':>8} {'max':>8}  ms wall   server CPU ms")
    for kind, drawn in kinds.items():
        draw = random.Random(kind)
        before, wall = server.processor_seconds(), []
        for _ in range(each):
            asked = urlencode({**drawn(draw), "fragment": "true"})
            start = time.perf_counter()
            server.get(f"/b/{key}?{asked}")
            wall.append(1000 * (time.perf_counter() - start))
        used = 1000 * (server.processor_seconds() - before) / each
        p50, p95, p99 = np.percentile(wall, [50, 95, 99])
        print(f"{kind:28} {p50:8.1f} {p95:8.1f} {p99:8.1f} {max(wall):8.1f}             {used:6.1f}", flush=True)  # fmt: skip


def visit(server: Server, key: str, runs: list[str]) -> None:
    """Every page of the explorer, some of them many times."""
    draw = random.Random(0)
    for number in range(60):
        run, other = draw.choice(runs), draw.choice(runs)
        server.get(f"/b/{key}/set/{number + 1}?run={run}&run={other}")
        server.get(f"/b/{key}?q=an&outcome=confused&run={run}&fragment=true")
        server.get(f"/b/{key}/compare?run={run}&other={other}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--names", type=int, default=3_000_000)
    options.add_argument("--queries", type=int, default=200_000)
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--each", type=int, default=100)
    options.add_argument("--work", type=Path, default=None)
    given = parsed(options, small="--names 500 --queries 300 --runs 2 --each 2")
    with contextlib.ExitStack() as stack:
        temporary = given.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder, cache = temporary / "served", temporary / "cache"
        if not (folder / "bench" / "manifest.json").exists():
            make_benchmark(folder / "bench", given.names, given.queries)
        benchmark = Benchmark.open(folder / "bench")
        shutil.rmtree(folder / "runs", ignore_errors=True)
        cache.mkdir(exist_ok=True)
        print(f"{given.names:,} names, {len(benchmark.query_table):,} queries", flush=True)
        for runs in (1, given.runs):
            for number in range(runs):
                if not (folder / "runs" / f"{number}").exists():
                    make_run(benchmark, folder / "runs" / f"{number}", number)
            with served(folder, cache) as server:
                shelf = json.loads(server.get("/api/benchmarks"))[0]
                key, keys = shelf["key"], [run["key"] for run in shelf["runs"]]
                used, start = server.processor_seconds(), time.perf_counter()
                server.get(f"/b/{key}")
                print(f"first visit with {runs} runs: {time.perf_counter() - start:.1f} s, "
                      f"{server.processor_seconds() - used:.1f} s of CPU, peak {server.peak_mb():,.0f} MB", flush=True)  # fmt: skip
            with served(folder, cache) as server:  # everything is there; a server of another day
                if runs == given.runs:
                    told(server, key, keystrokes(invented_names(given.names), keys), given.each)
                start = time.perf_counter()
                server.get(f"/b/{key}")
                whole = time.perf_counter() - start
            with served(folder, cache) as server:
                server.get(f"/b/{key}")
                visit(server, key, keys)
                print(f"{runs} runs: peak {server.peak_mb():,.0f} MB, now {server.peak_mb('VmRSS'):,.0f} MB; "
                      f"whole page {1000 * whole:.0f} ms", flush=True)  # fmt: skip
        print(f"index of the benchmark: {size(cache, 'benchmark'):,.0f} MB, of a run {size(cache, 'run') / given.runs:,.0f} MB")  # fmt: skip
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def size(cache: Path, kind: str) -> float:
    return sum(p.stat().st_size for p in (cache / "web").glob(f"{kind}-*")) / 2**20


if __name__ == "__main__":
    main()
