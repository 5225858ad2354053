"""What reading costs beside the model: the client beside bare calls, the runner beside the bare reader.

    python bench/reading.py --questions 2000

A server on loopback answers after a fixed wait, so that everything above it is ours. The questions are
invented, with five passages each; times are wall time for calls, CPU time for the rest.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.chat.endpoint import Endpoint, EndpointOptions
from whichone.chat.replies import CallCache
from whichone.files.pools import in_order
from whichone.measures.answer_measures import answer_scores
from whichone.measures.measure import parse_measures
from whichone.measures.scores import score_answers
from whichone.records import Answer, Output, Passage, Provenance, Query, ReadingTask
from whichone.runs.read import run_reader
from whichone.runs.shown import Setting, Shows

REPLY = json.dumps(
    {
        "choices": [{"finish_reason": "stop", "message": {"content": '{"answer": "a"}'}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }
).encode()


async def _serve(wait: float, ready: asyncio.Future[int]) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
                await reader.readexactly(length)
                await asyncio.sleep(wait)
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    + f"Content-Length: {len(REPLY)}\r\n\r\n".encode()
                    + REPLY
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    ready.set_result(server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


def serve_in_process(wait: float) -> tuple[object, str]:
    """A server in a process of its own, so that it takes nothing from the client's."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    mine, theirs = context.Pipe()
    process = context.Process(target=_run_server, args=(wait, theirs), daemon=True)
    process.start()
    return process, f"http://127.0.0.1:{mine.recv()}/v1"


def _run_server(wait: float, pipe) -> None:
    async def main() -> None:
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(_serve(wait, ready))
        pipe.send(await ready)
        await task

    asyncio.run(main())


def calls(url: str, number: int, concurrency: int, wait: float, folder: Path) -> None:
    messages = [{"role": "user", "content": "word " * 500}]
    ideal = number * wait / concurrency

    async def bare() -> float:
        slots = asyncio.Semaphore(concurrency)
        async with httpx.AsyncClient(limits=httpx.Limits(max_connections=concurrency)) as client:

            async def one(n: int) -> None:
                async with slots:
                    body = {"model": "m", "messages": messages, "max_tokens": n}
                    (await client.post(f"{url}/chat/completions", json=body)).raise_for_status()

            started = time.perf_counter()
            await asyncio.gather(*(one(n) for n in range(1, number + 1)))
            return time.perf_counter() - started

    plain = asyncio.run(bare())
    options = EndpointOptions(url=url, model="m", concurrency=concurrency)
    with Endpoint(options, cache=CallCache(folder / "calls.sqlite")) as endpoint:

        def ask(n: int) -> str:
            return endpoint.complete(messages, max_tokens=n).text

        started = time.perf_counter()
        assert len(list(in_order(ask, range(1, number + 1), concurrency))) == number
        ours = time.perf_counter() - started
        started = time.perf_counter()
        list(in_order(ask, range(1, number + 1), concurrency))
        cached = time.perf_counter() - started
    print(f"{number} calls of {wait * 1000:.0f} ms, {concurrency} at once: ideal {ideal:.2f} s")
    print(f"  bare httpx                 {plain:6.2f} s   {plain / ideal:5.2f} of ideal")
    print(
        f"  our client, cached to disk {ours:6.2f} s   {ours / ideal:5.2f} of ideal, {ours / plain:.2f} of bare"
    )
    print(f"  asked again, from cache    {cached:6.2f} s   {number / cached:,.0f} calls/s")


class Fixed:
    name = "fixed"

    def describe(self) -> dict[str, str]:
        return {"reader": "fixed"}

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            yield Answer(
                question=task.question.id, text="answer 3", passages=(task.passages[0].id,)
            )


def invented(path: Path, number: int) -> Benchmark:
    passages = [
        Passage(id=f"b:{n}#{i}", page=f"b:{n}", title=f"Page {n}", text=f"word{n} " * 100)
        for n in range(number)
        for i in range(5)
    ]
    queries = [
        Query(
            id=f"q{n}",
            task="qa",
            input=f"question {n}?",
            outputs=(Output(answer=f"answer {n % 7}", provenance=((Provenance(page=f"b:{n}"),),)),),
            name_set=f"s{n // 4}",
            entity=f"e{n}",
        )
        for n in range(number)
    ]
    return save_benchmark(path, name="bench", queries=queries, passages=passages)


def reading(folder: Path, number: int) -> None:
    benchmark = invented(folder / "bench", number)
    shows = Shows(benchmark, Setting())
    chosen = {q.id: shows.choose(q) for q in benchmark.queries}
    tasks = shows.tasks(benchmark.queries, chosen)
    started = time.process_time()
    bare = list(Fixed().read(tasks))
    plain = time.process_time() - started
    started = time.process_time()
    answers = run_reader(Fixed(), benchmark, folder / "answers", Setting())
    ours = time.process_time() - started
    started = time.process_time()
    for query, answer in zip(benchmark.queries, bare, strict=True):
        answer_scores(answer.text or "", set(query.answers()))
    scored_bare = time.process_time() - started
    measures = parse_measures(["em", "f1", "kilt_em", "answered_for_namesake", "refusal"])
    started = time.process_time()
    score_answers(answers, benchmark, measures)
    scored = time.process_time() - started
    print(f"{number:,} questions with 5 passages of 100 words, no model")
    print(f"  bare reader                {plain * 1e6 / number:8.1f} µs a question")
    print(f"  read, checked, kept        {ours * 1e6 / number:8.1f} µs a question")
    print(f"  KILT's four scores alone   {scored_bare * 1e6 / number:8.1f} µs a question")
    print(f"  five measures in a table   {scored * 1e6 / number:8.1f} µs a question")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--calls", type=int, default=640)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--wait", type=float, default=0.2)
    given = parser.parse_args()
    process, url = serve_in_process(given.wait)
    with tempfile.TemporaryDirectory() as place:
        calls(url, given.calls, given.concurrency, given.wait, Path(place))
        reading(Path(place), given.questions)
    process.terminate()  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
