"""The runner: cuts the questions into blocks, times, checks, and keeps each block as it comes.

A run can be killed at any moment; started again it goes on after the last finished block.
"""

import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.several import parts_of
from whichone.errors import BadInput, UsageError, WhichoneError, masked, masked_text
from whichone.files.arrow_records import blocks
from whichone.files.folder import Folder
from whichone.files.lines import write_atomic
from whichone.files.tables import TableSchema, read_table
from whichone.progress import progress, talk
from whichone.protocols import Retriever
from whichone.records import Question, Ranking
from whichone.retrieval.adapters.adapted import MEND_IT
from whichone.runs.provenance import Maker, RankingCheck, Returns, identified, latency
from whichone.runs.run import COUNTS, FAILURES, KIND, NOTES, RANKINGS, TIMING, Run, begun
from whichone.versions import environment

BLOCK = 256
DEEPEST = 32  # So many times k passages are looked at for k pages


class _Block(msgspec.Struct):
    """What a finished block leaves beside its rankings."""

    failures: dict[str, str] = {}
    notes: dict[str, str] = {}  # As JSON
    seconds: dict[str, float] = {}
    cpu: float = 0.0  # CPU seconds of this process, all threads together
    empty: int = 0
    short: int = 0
    shallow: int = 0  # Questions whose passages are on fewer pages than were asked for, though there are more
    returns: Returns | None = None


class Runner:
    """Runs one retriever over one benchmark's questions into one folder."""

    def __init__(
        self,
        retriever: Retriever,
        benchmark: Benchmark,
        *,
        k: int,
        pages: bool = False,
        returns: Returns | None = None,
        on_error: str = "fail",
        timeout: float | None = None,
        block: int = BLOCK,
        learned: int = 0,
    ) -> None:
        """`k` counts passages; with `pages`, the pages that they are on."""
        for count, value in (("k", k), ("block", block)):
            if not isinstance(value, int) or value < 1:
                raise UsageError(f"{count} is a whole number from 1, not {value!r}")
        if on_error not in ("fail", "skip"):
            raise UsageError(f"on_error is 'fail' or 'skip', not {on_error!r}")
        if returns not in (None, "page", "passage"):
            raise UsageError(f"returns is 'page' or 'passage', not {returns!r}")
        self.retriever, self.benchmark, self.k = retriever, benchmark, k
        self.pages, self.on_error, self.timeout = pages, on_error, timeout
        self.block, self.learned = block, learned
        self.check = RankingCheck(benchmark.corpus, returns)

    def run(self, path: Path, *, name: str, description: Mapping[str, Any]) -> Run:
        sees = tuple(getattr(self.retriever, "sees", ("corpus",)))
        more = {"sees": list(sees)} if sees != ("corpus",) else {}
        described = {**identified(self.retriever, description), **more}
        parameters = masked({**described, "k": self.k, **({COUNTS: "pages"} if self.pages else {})})
        identity = {
            "benchmark": self.benchmark.id,
            "parameters": msgspec.to_builtins(parameters),
            "block": self.block,
        }
        maker = Maker.of(self.retriever, description)
        if maker.inputs:
            identity["inputs"] = maker.inputs
        if (done := _finished(path, identity, maker, name)) is not None:
            at = done.folder.manifest.made.get("at")
            talk(f"{path}: was made this way at {at}; nothing is asked again")
            return done
        total = len(self.benchmark.queries)
        started = time.perf_counter()
        with Folder.create(path, KIND, resume=True) as folder:
            _begin(folder, identity, maker.code)
            self._ask_blocks(folder, total)
            counts, timing = _assemble(folder, total)
            folder.commit(
                name=name,
                parameters={**parameters, "returns": self.check.returns},
                parents={"benchmark": self.benchmark.id, **parts_of(self.benchmark)},
                counts={
                    "questions": total,
                    **counts,
                    **({"learned_from": self.learned} if self.learned else {}),
                },
                made={
                    **environment(),
                    **maker.recorded(),
                    "benchmark": self.benchmark.place,
                    "seconds": round(time.perf_counter() - started, 3),
                    **timing,
                },
            )
        return Run.open(path)

    def _ask_blocks(self, folder: Folder, total: int) -> None:
        """Ask what was not asked before; a finished block is two files."""
        questions = (query.question() for query in self.benchmark.queries)
        with progress("retrieving", total, "questions") as advance:
            for number, part in enumerate(blocks(questions, self.block)):
                note = folder.partial / f"block-{number:06}.json"
                if note.exists():
                    done = msgspec.json.decode(note.read_bytes(), type=_Block)
                    self.check.returns = self.check.returns or done.returns
                else:
                    before = time.process_time()
                    block, rows = self._one_block(part)
                    block.cpu = time.process_time() - before
                    pq.write_table(rows, folder.partial / f"rankings-{number:06}.parquet")
                    write_atomic(note, msgspec.json.encode(block))
                advance(len(part))

    def _one_block(self, questions: Sequence[Question]) -> tuple[_Block, pa.Table]:
        block = _Block()
        try:
            rankings = self._ask(questions, block)
        except Exception as error:
            if self.on_error == "fail":
                if isinstance(error, WhichoneError):
                    raise
                name = getattr(self.retriever, "name", type(self.retriever).__name__)
                raise BadInput(
                    f"{name} failed: {type(error).__name__}: {error}",
                    ids=[q.id for q in questions],
                    hint=MEND_IT,
                ) from error
            rankings = self._ask_singly(questions, block)
        rankings = [self.check.translate(ranking) for ranking in rankings]
        self.check.infer(rankings, strict=self.on_error == "fail")
        asked = [self.k] * len(questions)
        if self.pages and self.check.returns == "passage":
            self._deepen(questions, rankings, asked, block)
        rows: list[dict[str, object]] = []
        for question, ranking, depth in zip(questions, rankings, asked, strict=True):
            if question.id in block.failures:
                continue
            try:
                self.check.check(question, ranking, depth)
            except WhichoneError as error:
                if self.on_error == "fail":
                    raise
                block.failures[question.id] = str(error)
                continue
            block.empty += not ranking.passages
            block.short += 0 < len(ranking.passages) < self.k
            if ranking.notes:
                block.notes[question.id] = msgspec.json.encode(dict(ranking.notes)).decode()
            rows.extend(self._rows(self._first_pages(ranking)))
        block.returns = self.check.returns
        return block, RANKINGS.from_rows(rows)

    def _deepen(
        self, questions: Sequence[Question], rankings: list[Ranking], asked: list[int], block: _Block
    ) -> None:
        """Ask on, twice as deep each time, where as many passages as were asked for are on fewer pages.

        A system whose first passages are others when it is asked for more cannot be asked so: what it gave
        first stays, and `shallow` counts it.
        """
        most, depth = min(DEEPEST * self.k, len(self.benchmark.corpus)), self.k
        few = self._on_few_pages(rankings, range(len(rankings)), depth)
        while few and depth < most and getattr(self.retriever, "deepens", True):
            depth = min(2 * depth, most)
            deeper = _within(self.timeout, self.retriever, [questions[n] for n in few], depth)
            grown = []
            for n, ranking in zip(few, map(self.check.translate, deeper), strict=True):
                before = rankings[n].passages
                if ranking.passages[: len(before)] == before:
                    rankings[n], asked[n] = ranking, depth
                    grown.append(n)
                else:
                    block.shallow += 1
            few = self._on_few_pages(rankings, grown, depth)
        block.shallow += len(few) if depth < len(self.benchmark.corpus) else 0

    def _on_few_pages(self, rankings: Sequence[Ranking], places: Iterable[int], depth: int) -> list[int]:
        """The places of the rankings that have fewer pages than k and might go on."""
        wanted = min(self.k, self.benchmark.corpus.page_count)
        return [
            n
            for n in places
            if len(ids := rankings[n].passages) >= depth
            and len({self.check.page(identity) for identity in ids}) < wanted
        ]

    def _first_pages(self, ranking: Ranking) -> Ranking:
        """The ranking up to the first passage of its last page that counts."""
        if len(ranking.passages) <= self.k:
            return ranking
        first = {self.check.page(identity): n for n, identity in reversed([*enumerate(ranking.passages)])}
        end = sorted(first.values())[self.k - 1] + 1 if len(first) >= self.k else None
        return msgspec.structs.replace(ranking, passages=ranking.passages[:end], scores=ranking.scores[:end])

    def _rows(self, ranking: Ranking) -> Iterator[dict[str, object]]:
        scores = ranking.scores or tuple(-float(r) for r in range(len(ranking.passages)))
        for rank, (identity, score) in enumerate(zip(ranking.passages, scores, strict=True), 1):
            yield {
                "question": ranking.question,
                "rank": rank,
                "passage": identity,
                "page": self.check.page(identity),
                "score": score,
            }

    def _ask(self, questions: Sequence[Question], block: _Block) -> list[Ranking]:
        """All rankings of a block, each timed by when it came."""
        rankings: list[Ranking] = []
        last = time.perf_counter()
        for ranking in _within(self.timeout, self.retriever, questions, self.k):
            now = time.perf_counter()
            block.seconds[ranking.question] = now - last
            last = now
            rankings.append(ranking)
        if len(rankings) != len(questions):
            raise BadInput(f"{len(questions)} questions went in, {len(rankings)} rankings came out")
        _spread(block.seconds)
        return rankings

    def _ask_singly(self, questions: Sequence[Question], block: _Block) -> list[Ranking]:
        """After a failing block: each question alone, so that only the failing ones fail."""
        rankings = []
        for question in questions:
            try:
                rankings.extend(self._ask([question], block))
            except Exception as error:
                known = isinstance(error, WhichoneError)
                block.failures[question.id] = (
                    str(error) if known else masked_text(f"{type(error).__name__}: {error}")
                )
                rankings.append(Ranking(question=question.id))
        return rankings


def _finished_blocks(folder: Folder) -> Iterator[_Block]:
    decode = msgspec.json.Decoder(_Block).decode
    return (decode(note.read_bytes()) for note in sorted(folder.partial.glob("block-*.json")))


def _within(
    seconds: float | None, retriever: Retriever, questions: Sequence[Question], k: int
) -> Iterator[Ranking]:
    """The retriever's rankings, or an error when a block takes longer than it may."""
    if seconds is None:
        yield from _rankings(retriever, questions, k)
        return
    rankings: list[Ranking] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            rankings.extend(_rankings(retriever, questions, k))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise BadInput(
            f"no result after {seconds:g} seconds",
            ids=[q.id for q in questions],
            hint="give it more time with --timeout, or fewer questions at once with --block",
        )
    if failure:
        raise failure[0]
    yield from rankings


def _rankings(retriever: Retriever, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
    given: Any = retriever.search(questions, k)
    for ranking in given if isinstance(given, Iterable) else [given]:
        if not isinstance(ranking, Ranking):
            raise BadInput(
                f"{ranking!r:.60} came back, where a Ranking for each question is expected",
                hint="give Ranking(question=question.id) where nothing is found",
            )
        yield ranking


def _spread(seconds: dict[str, float]) -> None:
    """A system that answers many at once spent its time on all of them, not on the first.

    It may do so for a block or for several batches of one size in it: then there is one long wait at the
    start of each, and next to nothing between. The first question may have been asked alone.
    """
    questions, values = list(seconds), list(seconds.values())
    for alone in (0, 1):
        if (size := _batch_size(values[alone:])) > 1:
            for start in range(alone, len(values), size):
                batch = values[start : start + size]
                for question in questions[start : start + size]:
                    seconds[question] = sum(batch) / len(batch)
            return


def _batch_size(values: Sequence[float]) -> int:
    """How many came at once, each time; 1 where they came one by one."""
    if len(values) < 2:
        return 1
    waits = [n for n, value in enumerate(values) if value >= 0.01 * max(values)]
    between = sum(values) - sum(values[n] for n in waits)
    size = waits[1] - waits[0] if len(waits) > 1 else len(values)
    regular = waits == list(range(0, len(values), size))
    most = 0.25 if len(waits) > 2 else 0.05  # several waits at one distance are hardly chance
    return size if regular and between < most * sum(values) else 1


def _finished(path: Path, identity: Mapping[str, Any], maker: Maker, name: str) -> Run | None:
    """The run itself when it is already there and was made the same way, by the same code."""
    try:
        run = Run.open(path)
    except WhichoneError:
        return None
    made_with = {k: v for k, v in run.description.items() if k != "returns"}
    same = (run.benchmark_id, made_with) == (identity["benchmark"], identity["parameters"])
    return run if same and run.name == name and maker.made(run.folder) else None


def _begin(folder: Folder, identity: Mapping[str, Any], code: str | None) -> None:
    """Keep earlier blocks only when they belong to this very run.

    Code that was fixed after a failure goes on: what it had done is kept, and it is said.
    """
    if entries := [*begun(folder, identity)]:
        changed = any(entry.get("code") != code for entry in entries)
        kept = any(folder.partial.glob("block-*.json"))
        parameters = ": blocks that were made before the code changed are kept" if kept and changed else ""
        talk(f"going on with {folder.root}{parameters}")
    folder.journal.append({"code": code})


def _assemble(folder: Folder, questions: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tables of all finished blocks, what to count, and how long a question took.

    A system that failed at everything made no run; nothing of it is kept for the next start.
    """
    of_blocks = [
        (len(b.failures), b.empty, b.short, b.shallow, b.cpu, bool(b.notes)) for b in _finished_blocks(folder)
    ]
    failed, empty, short, shallow, cpu, noted = map(
        sum, zip(*of_blocks or [(0, 0, 0, 0, 0.0, False)], strict=True)
    )
    if failed and failed == questions:
        *_, last = (error for b in _finished_blocks(folder) for error in b.failures.values())
        shutil.rmtree(folder.partial)
        raise BadInput(f"all {questions:,} questions failed, the last one so: {last}")

    def write_by_question(schema: TableSchema, column: str, values: str) -> None:
        by_block = (getattr(block, values) for block in _finished_blocks(folder))
        rows = ([{"question": q, column: value} for q, value in block.items()] for block in by_block)
        folder.write_in_any_order(schema, map(schema.from_rows, rows))

    rankings = map(read_table, sorted(folder.partial.glob("rankings-*.parquet")))
    folder.write_in_any_order(RANKINGS, rankings)
    write_by_question(FAILURES, "error", "failures")
    write_by_question(TIMING, "seconds", "seconds")
    if noted:
        write_by_question(NOTES, "notes", "notes")
    counts = {"failures": failed, "empty": empty, "fewer_than_k": short}
    seconds = np.fromiter((s for b in _finished_blocks(folder) for s in b.seconds.values()), np.float64)
    timing = {**latency(seconds), "cpu_seconds": round(cpu, 3)} if len(seconds) else {}
    return {**counts, **({"shallow": shallow} if shallow else {})}, timing


def run_retriever(
    retriever: Retriever,
    benchmark: Benchmark,
    path: str | Path,
    *,
    k: int,
    name: str,
    description: Mapping[str, Any] | None = None,
    **options: Any,
) -> Run:
    """Run a retriever over a benchmark; `options` are those of `Runner`."""
    describe = getattr(retriever, "describe", None)
    parameters = dict(description or (describe() if describe else {"retriever": type(retriever).__name__}))
    return Runner(retriever, benchmark, k=k, **options).run(Path(path), name=name, description=parameters)
