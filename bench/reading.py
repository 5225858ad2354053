"""What reading costs beside the model: the client beside bare calls, the runner beside the bare reader.

    python bench/reading.py --questions 2000
    python bench/reading.py --batches 256 --device cuda

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

from measured import parsed
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.chat.endpoint import Endpoint, EndpointOptions
from whichone.chat.replies import CallCache
from whichone.files.pools import in_order
from whichone.measures.answer_measures import answer_scores
from whichone.measures.measure import parse_measures
from whichone.measures.scores import score_answers
from whichone.records import Answer, Output, Passage, Provenance, Query, Question, ReadingTask
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
            yield Answer(question=task.question.id, text="answer 3", passages=(task.passages[0].id,))


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


def batches(folder: Path, device: str, number: int) -> None:
    """Readers of random weights, question by question and with the batches that questions share."""
    import torch
    import transformers

    from whichone.reading.claims import ClaimChecker
    from whichone.reading.extractive import DprReader, Extractive
    from whichone.reading.seq2seq import SequenceToSequence

    words = [f"w{n}" for n in range(2_000)]
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "|", "?"]
    tokenizer = transformers.BertTokenizerFast(vocab={w: n for n, w in enumerate([*marks, *words])})
    sizes = {
        "vocab_size": len(tokenizer), "hidden_size": 256, "num_hidden_layers": 4,
        "num_attention_heads": 4, "intermediate_size": 1_024,
    }  # fmt: skip
    names = ("SUPPORTS", "REFUTES", "NEUTRAL")
    labels = {"id2label": dict(enumerate(names)), "label2id": {n: i for i, n in enumerate(names)}}
    bart = transformers.BartConfig(
        vocab_size=len(tokenizer), d_model=256, encoder_layers=4, decoder_layers=4,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=1_024,
        decoder_ffn_dim=1_024, pad_token_id=0, bos_token_id=2, eos_token_id=3,
        decoder_start_token_id=2, forced_eos_token_id=3,
    )  # fmt: skip
    torch.manual_seed(0)
    built = {
        "extractive": transformers.BertForQuestionAnswering(transformers.BertConfig(**sizes)),
        "dpr-reader": transformers.DPRReader(transformers.DPRConfig(**sizes)),
        "claims": transformers.BertForSequenceClassification(transformers.BertConfig(**sizes, **labels)),
        "seq2seq": transformers.BartForConditionalGeneration(bart),
    }
    for name, model in built.items():
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    given = {"device": device, "batch": 64}
    readers = {
        "extractive": Extractive(folder / "extractive", **given),
        "dpr-reader": DprReader.over(None, str(folder / "dpr-reader"), **given),
        "claims": ClaimChecker(folder / "claims", **given),
        "seq2seq": SequenceToSequence(folder / "seq2seq", longest=8, **given),
    }
    tasks = [
        ReadingTask(
            question=Question(id=str(n), text=" ".join(words[n % 900 : n % 900 + 9]) + " ?"),
            passages=tuple(
                Passage(
                    id=f"p{i}", page=f"p{i}", title=words[i], text=" ".join(words[n + i : n + i + 40 + 9 * i])
                )
                for i in range(3)
            ),
        )
        for n in range(number)
    ]
    print(f"{number} questions with 3 passages of 40 to 58 words on {device}, questions a second")
    for name, reader in readers.items():
        list(reader.read(tasks[:4]))
        began = time.perf_counter()
        alone = [answer for task in tasks for answer in reader.read([task])]
        middle = time.perf_counter()
        together = list(reader.read(tasks))
        ended = time.perf_counter()
        same = sum(a.text == b.text for a, b in zip(alone, together, strict=True))
        one, many = number / (middle - began), number / (ended - middle)
        print(
            f"  {name:<11} one by one {one:8.1f}, together {many:8.1f}: {many / one:4.1f} times; {same} the same"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--calls", type=int, default=640)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--wait", type=float, default=0.2)
    parser.add_argument("--batches", type=int, metavar="N", help="only readers on N questions")
    parser.add_argument("--device", default="cpu")
    given = parsed(parser, small="--questions 40 --calls 32 --concurrency 8 --wait 0.01")
    if given.batches:
        with tempfile.TemporaryDirectory() as place:
            batches(Path(place), given.device, given.batches)
        return
    process, url = serve_in_process(given.wait)
    with tempfile.TemporaryDirectory() as place:
        calls(url, given.calls, given.concurrency, given.wait, Path(place))
        reading(Path(place), given.questions)
    process.terminate()  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
