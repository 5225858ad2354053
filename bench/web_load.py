"""200 annotators at once against a real server on loopback: latency of clicks, and no answer lost.

Every annotator has a connection of their own and, click after click, sends an annotation and gets the
next task. In the first part all click, on average, once a second; in the second all send at one moment.
Latency is measured at the client. At the end every confirmed answer is looked for in the database.

    python bench/web_load.py [--people 200] [--clicks 15] [--database URL | --postgres] [--kind categories]

`--postgres` starts a PostgreSQL server of its own, as the tests do.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from measured import parsed
from whichone.benchmarks.benchmark import save_benchmark
from whichone.papers.ambigdocs.category_campaign import AskedBearer, CategoryTask
from whichone.records import Output, Passage, Provenance, Query
from whichone.web.annotation import task_queue
from whichone.web.annotation.evidence_tasks import AskedPassage, Task
from whichone.web.storage import open_database
from whichone.web.web_site import Links, SignedTokens, secret_in

CAMPAIGN = "0123456789abcdef"


def made_tasks(kind: str, count: int) -> list[Any]:
    """Five passages a question, or an answer about a name of three bearers."""
    if kind == "evidence":
        return [
            Task(f"q{n}", f"Question {n}?", ("Word",),
                 tuple(AskedPassage(f"wiki:{(5 * n + i) % 1000}#0", control=i == 0) for i in range(5)))
            for n in range(count)
        ]  # fmt: skip
    bearers = tuple(AskedBearer(f"Name ({b})", (f"Answer {b}",), "Words. " * 100) for b in range(3))
    return [
        CategoryTask(query=f"q{n}", qid=f"q{n}", question=f"Question {n}?", name="Name",
                     text="Name (1): Answer 1.", bearers=bearers, automatic="partial", system="s")
        for n in range(count)
    ]  # fmt: skip


def prepare(folder: Path, database_url: str, people: int, clicks: int, kind: str) -> dict[str, str]:
    """A benchmark, a campaign with a task for every click, and a token for everybody, by pseudonym."""
    passages = [
        Passage(id=f"wiki:{n}#0", page=f"wiki:{n}", title=f"Page {n}", text=f"Word {n} and more. " * 30)
        for n in range(1000)
    ]
    output = Output(answer="Word", provenance=((Provenance(page="wiki:0"),),))
    query = Query(id="q", task="qa", input="Which?", outputs=(output,))
    benchmark = save_benchmark(folder / "bench", name="load", queries=[query], passages=passages)
    database = open_database(database_url)
    tasks = made_tasks(kind, people * (clicks + 8) // 3 + people)
    plan = task_queue.QueuePlan(seed=0, kind=kind)
    task_queue.make_campaign(database, CAMPAIGN, benchmark.id, "Load", plan, tasks)
    links = Links(database, SignedTokens(secret_in(folder / "secret")))
    scope = f"campaign:{CAMPAIGN}"
    created = links.create_all("annotator", [f"p{n}" for n in range(people)], scope, 86_400)
    tokens = {link.person: links.token(link) for link in created}
    database.close()
    return tokens


def annotation(task: dict[str, Any]) -> dict[str, Any]:
    if "categories" in task:
        return {"category": "partial"}
    judged = {p["id"]: {"enough": True, "span": p["text"][:8].strip()} for p in task["passages"]}
    return {"passages": judged}


class Annotator:
    """One person with one kept-alive connection; requests are written by hand to stay light."""

    def __init__(self, name: str, token: str, port: int) -> None:
        self.name, self.token, self.port = name, token, port
        self.confirmed: list[int] = []
        self.clicks: list[float] = []
        self.loads: list[float] = []

    async def connect(self) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[Any, float]:
        content = json.dumps(body).encode() if body is not None else b""
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {self.token}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
        )
        start = time.perf_counter()
        self.writer.write(head.encode() + content)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        status = int(answer.split(b" ", 2)[1])
        length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        received = json.loads(await self.reader.readexactly(length))
        if status != 200:
            raise RuntimeError(f"{status}: {received}")
        return received, time.perf_counter() - start

    async def next_task(self) -> dict[str, Any]:
        task, seconds = await self.ask("POST", f"/api/campaigns/{CAMPAIGN}/task")
        self.loads.append(seconds)
        return dict(task)

    async def click(self, task: dict[str, Any]) -> None:
        path = f"/api/campaigns/{CAMPAIGN}/tasks/{task['task']}/annotation"
        answer, seconds = await self.ask("POST", path, annotation(task))
        if answer["kept"]:
            self.confirmed.append(task["task"])
            self.clicks.append(seconds)

    async def work(self, clicks: int) -> None:
        draw = random.Random(self.name)
        await asyncio.sleep(draw.random())
        task = await self.next_task()
        for _ in range(clicks):
            await asyncio.sleep(2 * draw.random())
            await self.click(task)
            task = await self.next_task()
        self.task = task


def print_times(what: str, seconds: list[float]) -> None:
    p50, p95, p99 = (1000 * float(q) for q in np.percentile(seconds, [50, 95, 99]))
    top = 1000 * max(seconds)
    print(f"{what:38} n={len(seconds):6,}  p50 {p50:6.1f}  p95 {p95:6.1f}  p99 {p99:6.1f}  max {top:6.1f} ms")  # fmt: skip


async def load(tokens: dict[str, str], port: int, clicks: int) -> list[Annotator]:
    people = [Annotator(person, token, port) for person, token in tokens.items()]
    await asyncio.gather(*(one.connect() for one in people))
    start = time.perf_counter()
    await asyncio.gather(*(one.work(clicks) for one in people))
    spent = time.perf_counter() - start
    total = sum(len(one.clicks) for one in people)
    print(f"{len(people)} annotators, {total:,} clicks in {spent:.1f} s ({total / spent:.0f} a second)")
    print_times("click: annotation kept", [s for one in people for s in one.clicks])
    print_times("next task shown", [s for one in people for s in one.loads])
    bursts: list[float] = []
    for _ in range(5):
        before = {one.name: len(one.clicks) for one in people}
        await asyncio.gather(*(one.click(one.task) for one in people))
        bursts += [s for one in people for s in one.clicks[before[one.name] :]]
        for one in people:
            one.task = await one.next_task()
    print_times(f"all {len(people)} click at one moment, 5 times", bursts)
    return people


def processor_seconds(process: int) -> float:
    """What a process has used of the processors so far, in all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--people", type=int, default=200)
    options.add_argument("--clicks", type=int, default=15)
    options.add_argument("--database", default=None)
    options.add_argument("--postgres", action="store_true")
    options.add_argument("--kind", choices=("evidence", "categories"), default="evidence")
    given = parsed(options, small="--people 4 --clicks 2")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if given.postgres:
            sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "web"))
            from web_server import postgres_server

            given.database = stack.enter_context(postgres_server())
        measure(folder, given)


def measure(folder: Path, given: argparse.Namespace) -> None:
    """A server, everybody's clicks, a kill, and a look whether all that was confirmed is there."""
    database = given.database or str(folder / "web.sqlite")
    tokens = prepare(folder, database, given.people, given.clicks, given.kind)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [sys.executable, "-m", "whichone", "serve", str(folder), "--port", str(port)]
    environment = {**os.environ, "WHICHONE_CACHE": str(folder)}
    begun = 0.0
    server = subprocess.Popen(
        [*command, "--database", database, "--secret", str(folder / "secret")], env=environment
    )
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port), 0.2).close()
                break
            except OSError:
                time.sleep(0.2)
        begun = processor_seconds(server.pid)
        people = asyncio.run(load(tokens, port, given.clicks))
    finally:
        used = processor_seconds(server.pid) - begun
        server.kill()  # as hard as it can be
        server.wait()
    opened = open_database(database)
    rows = opened.read("select person, task from annotations where answered is not null")
    kept = {(row["person"], row["task"]) for row in rows}
    confirmed = {(one.name, task) for one in people for task in one.confirmed}
    opened.close()
    print(f"{type(opened).__name__}, {given.kind}: {len(confirmed):,} answers confirmed, "
          f"{len(confirmed - kept)} of them lost, server killed")  # fmt: skip
    requests = sum(len(one.clicks) + len(one.loads) for one in people)
    print(f"the server used {1000 * used / requests:.2f} ms of processor time a request")
    load_now = os.getloadavg()[0]
    print(f"load of the machine over the last minute: {load_now:.1f} on {os.cpu_count()} cores")
    if confirmed - kept:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
