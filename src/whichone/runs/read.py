"""From a reader's name and options to answers on disk."""

import functools
import hashlib
import shlex
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.benchmarks.several import parts_of
from whichone.errors import BadInput, UsageError, WhichoneError, masked
from whichone.files.arrow_records import MappedRecords, blocks
from whichone.files.folder import Folder
from whichone.options import takes
from whichone.progress import progress, talk
from whichone.protocols import Reader
from whichone.reading.llm import FunctionReader
from whichone.records import Answer, Query, ReadingTask
from whichone.retrieval.adapters.adapted import load_function
from whichone.runs import shown as showing
from whichone.runs.provenance import Maker, drawn, identified, latency
from whichone.runs.run import ANSWERS_KIND, Answers, Run
from whichone.runs.run_options import FLAGS, ReadOptions
from whichone.versions import environment

# The runner of readers: shows passages, checks what comes back, and keeps every answer as it comes.
# It can be killed at any moment; started again it goes on after the last answer. A question that fails
# is kept as a failure, counted, and scored as wrong; it is tried again when the run goes on.


BLOCK = 256
STOP_AFTER = 20  # After so many failures in a row something is wrong with the reader, not with the questions
SYNC = 0.5  # Seconds of answers that a power cut may cost; a killed process costs none

# What answers may rest on: a reader's on what it was shown, a whole RAG's on the corpus.
Cites = Literal["shown", "corpus", "anything"]


class ReadingRunner:
    """Runs one reader over one benchmark's questions under one setting into one folder."""

    def __init__(
        self,
        reader: Reader,
        benchmark: Benchmark,
        setting: showing.Setting,
        *,
        run: Run | None = None,
        on_error: str = "skip",
        block: int = BLOCK,
        stop_after: int = STOP_AFTER,
        cites: Cites = "shown",
        limit: int | None = None,
        retry: bool = False,
        tasks: Sequence[str] = (),
    ) -> None:
        self.reader, self.benchmark, self.setting = reader, benchmark, setting
        self.retrieved = run if setting.needs_run else None
        self.shows = showing.Shows(benchmark, setting, run)
        self.on_error, self.block, self.stop_after = on_error, block, stop_after
        self.cites, self.queries, self.limit = cites, benchmark.queries, limit
        self.retry = retry
        self.wanted = showing.checked_tasks(tasks, reader, benchmark)

    def run(
        self, path: Path, *, name: str, description: Mapping[str, Any], command: str | None = None
    ) -> Answers:
        parameters = masked(
            msgspec.to_builtins(
                {
                    "reader": identified(self.reader, description),
                    "setting": self.setting,
                    "limit": self.limit,
                    **({"drawn": "by name"} if self.limit is not None else {}),
                    **({"tasks": list(self.wanted)} if self.wanted else {}),
                }
            )
        )
        parents = self._parents(parameters["reader"])
        maker = Maker.of(self.reader, description)
        done = _finished(path, name, parameters, parents, maker)
        if done is not None:
            kept_before = sum(1 for _ in showing.finished_entries(done)) if self.retry else 0
            again = len(done.failures) + len(done.answers) - kept_before
            if not (self.retry and again):
                at = done.folder.manifest.made.get("at")
                failed = f"; {len(done.failures):,} failed, --retry asks them" if done.failures else ""
                talk(f"{path}: was made this way at {at}; nothing is asked again{failed}")
                return done
            talk(f"{path}: asking the {again:,} questions again that failed or got an empty reply")
        started = time.perf_counter()
        with Folder.create(path, ANSWERS_KIND, resume=True, extend=done is not None) as folder:
            identity = {"parameters": parameters, "parents": parents}
            kept = showing.begin(folder, {**identity, **({"inputs": maker.inputs} if maker.inputs else {})})
            for entry in showing.finished_entries(done) if done is not None else ():
                kept.add(entry)
            shown = self._shown()
            self._answer_rest(folder, kept, shown)
            counts = showing.write_tables(
                folder, self.queries, kept, shown, shows=self.setting.passages != "none"
            )
            account = getattr(self.reader, "usage", None)
            asked = (e.usage.seconds for e in kept if not e.usage.cached)
            folder.commit(
                name=name,
                parameters=parameters,
                parents=parents,
                counts=counts,
                made={
                    **environment(),
                    **maker.recorded(),
                    "benchmark": self.benchmark.place,
                    **({"run": str(self.retrieved.path.resolve())} if self.retrieved else {}),
                    **({"command": command} if command else {}),
                    "seconds": round(time.perf_counter() - started, 3),
                    **latency(np.fromiter((seconds for seconds in asked if seconds is not None), float)),
                    **({"endpoint": account()} if account else {}),
                },
            )
        return Answers.open(path)

    def _shown(self) -> MappedRecords[showing.Shown]:
        """What each question is shown, or why it is not asked, in their order."""

        def why_not(query: Query) -> str | None:
            return showing.not_for_reader(query, self.reader, self.wanted)

        chosen: Container[str] | None = None
        if self.limit is not None:
            able = (query for query in self.queries if why_not(query) is None)
            chosen = drawn(able, self.limit, self.setting.seed)
        shown = MappedRecords(showing.Shown)
        for block in blocks(self.queries, 1_024):
            reasons = [why_not(query) for query in block]
            if chosen is not None:
                beyond = f"only {self.limit:,} questions, drawn by name, are asked"
                reasons = [
                    r or (None if q.id in chosen else beyond) for q, r in zip(block, reasons, strict=True)
                ]
            asked = (query for query, reason in zip(block, reasons, strict=True) if reason is None)
            what = self.shows.choose_each(asked)
            shown.extend(showing.Shown(left_out=r) if r else next(what) for r in reasons)
        return shown

    def _parents(self, reader: Mapping[str, Any]) -> dict[str, str]:
        identity = msgspec.json.encode(reader, order="deterministic")
        run = self.retrieved
        return {
            "benchmark": self.benchmark.id,
            "reader": hashlib.sha256(identity).hexdigest()[:16],
            "setting": self.setting.hash,
            **parts_of(self.benchmark),
            **({"run": run.folder.content_hash[:16]} if run is not None else {}),
        }

    def _left(
        self, kept: showing.Entries, shown: Iterable[showing.Shown]
    ) -> Iterator[tuple[Query, showing.Shown]]:
        """The questions that are still to be asked, with what they are shown."""
        for block in blocks(zip(self.queries, shown, strict=True), 1_024):
            known = kept.has([query.id for query, _ in block])
            yield from (pair for pair, has in zip(block, known, strict=True) if not (has or pair[1].left_out))

    def _answer_rest(
        self, folder: Folder, kept: showing.Entries, shown: MappedRecords[showing.Shown]
    ) -> None:
        """Reads every question that has no entry, and adds its own."""
        left = sum(1 for _ in self._left(kept, shown))
        if not left and not len(kept):
            reason = next(s.left_out for s in shown if s.left_out)
            raise BadInput(f"no question of {self.benchmark.id} can be asked: {reason}")
        if (prepare := getattr(self.reader, "prepare", None)) and left:
            prepare(left, self.setting)
        in_a_row, synced, error = 0, 0.0, None
        with progress("reading", left, "questions") as advance:
            in_words = bool(getattr(self.reader, "asks_in_words", False))
            for part in blocks(self._left(kept, shown), self.block):
                chosen = {query.id: what for query, what in part}
                asked = [query for query, _ in part]
                for entry in self._one_block(self.shows.tasks(asked, chosen, in_words=in_words)):
                    kept.add(entry)
                    now = time.monotonic()
                    folder.journal.append(msgspec.to_builtins(entry), sync=now - synced > SYNC)
                    synced = now if now - synced > SYNC else synced
                    in_a_row = in_a_row + 1 if (error := entry.answer.error) else 0
                    if error and self.on_error == "fail":
                        raise BadInput(f"the reader failed: {error}", ids=[entry.answer.question])
                    if in_a_row >= self.stop_after:
                        raise BadInput(
                            f"the last {in_a_row} questions failed, the last one so: {error}",
                            hint="fix it and start again: it goes on where it stopped",
                        )
                    advance(1)
        if kept.failures and kept.failures == len(kept):
            raise BadInput(f"all {len(kept)} questions failed, the last one so: {error}")

    def _one_block(self, tasks: Sequence[ReadingTask]) -> Iterator[showing.Entry]:
        """Checked entries of a block; when the reader itself breaks, each question alone."""
        given: list[showing.Entry] = []
        try:
            for entry in self._read(tasks):
                given.append(entry)
                yield entry
        except WhichoneError:
            raise
        except Exception as error:
            if self.on_error == "fail":
                problem = f"the reader {type(self.reader).__name__} failed: {_said(error)}"
                raise BadInput(problem, ids=[t.question.id for t in tasks[len(given) :]]) from error
            for task in tasks[len(given) :]:
                try:
                    yield from list(self._read([task]))
                except WhichoneError:
                    raise
                except Exception as again:
                    yield showing.entry_of(task, Answer(question=task.question.id, error=_said(again)), 0.0)

    def _read(self, tasks: Sequence[ReadingTask]) -> Iterator[showing.Entry]:
        """What the reader gives for these tasks, checked, one by one as it comes."""
        last, left = time.perf_counter(), list(tasks)
        for answer in self.reader.read(tasks):
            if not left:
                raise BadInput(f"the reader gives more answers than the {len(tasks)} questions it was asked")
            task, now = left.pop(0), time.perf_counter()
            self._check(task, answer)
            yield showing.entry_of(task, answer, now - last)
            last = now
        if missing := [t.question.id for t in left]:
            came = len(tasks) - len(left)
            raise BadInput(f"{len(tasks)} questions went in, {came} answers came out", ids=missing)

    def _check(self, task: ReadingTask, answer: object) -> None:
        asked = task.question.id
        if not isinstance(answer, Answer):
            raise BadInput(f"a reader gives Answers, not {type(answer).__name__}", ids=[asked])
        if answer.question != asked:
            raise BadInput(f"asked {asked}, answered {answer.question}", ids=[asked])
        if not isinstance(answer.text, str | None):
            raise BadInput("the text of an answer is neither text nor None", ids=[asked])
        if self.cites == "anything":
            return
        unknown = set(answer.passages).difference(p.id for p in task.passages)
        known = self.shows.corpus.has if self.cites == "corpus" else lambda _: False
        if strangers := [p for p in answer.passages if p in unknown and not known(p)]:
            what = "it was not shown" if self.cites == "shown" else "that are not in the corpus"
            raise BadInput(f"the answer rests on passages {what}: {strangers[:3]}", ids=[asked])


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _finished(
    path: Path, name: str, parameters: Mapping[str, Any], parents: Mapping[str, str], maker: Maker
) -> Answers | None:
    """The answers themselves when they are already there and were made the same way, by the same code."""
    try:
        answers = Answers.open(path)
    except WhichoneError:
        return None
    manifest = answers.folder.manifest
    same = manifest.parents == parents and manifest.parameters == parameters
    if not same and "served" not in parameters["reader"]:  # an endpoint that is not up says nothing
        reader = dict(manifest.parameters.get("reader", {}))
        reader.pop("served", None)
        less = {**manifest.parameters, "reader": reader}
        others = {k: v for k, v in parents.items() if k != "reader"}
        same = less == parameters and others.items() <= manifest.parents.items()
    return answers if same and maker.made(answers.folder) and answers.name == name else None


# From a reader's name and options to answers on disk.


@takes(ReadOptions)
def read_repeatedly(
    benchmark: Where, answers: str | Path, plan: ReadOptions
) -> tuple[Answers, dict[str, int]]:
    """The answers, and how many questions were answered differently in `ANSWERS-repeat-2` and so on.

    Repetitions go past the cache of calls: a reply out of the cache is the same by construction.
    """
    first = read(benchmark, answers, plan)
    own = {**plan.options, "cache": "none"} if plan.reader == "llm" else plan.options
    again = [
        read(benchmark, f"{answers}-repeat-{number}", plan, options=own)
        for number in range(2, plan.repeat + 1)
    ]
    return first, differences([first, *again], Benchmark.open(benchmark)) if again else {}


def differences(answers: Sequence[Answers], benchmark: Benchmark) -> dict[str, int]:
    """Questions asked every time, and those of them whose text differs, failures among the differences."""
    given = [{q: a.text for q, a in item.answers.items()} for item in answers]
    asked = [q.id for q in benchmark.queries if q.id not in answers[0].left_out]
    differing = sum(len({(q in item, item.get(q)) for item in given}) > 1 for q in asked)
    return {"times": len(answers), "questions": len(asked), "differing": differing}


@takes(ReadOptions)
def read(benchmark: Where, answers: str | Path, plan: ReadOptions, **runner: Any) -> Answers:
    """Make the reader for this benchmark and let it read; `runner` are further options of `ReadingRunner`."""
    opened = Benchmark.open(benchmark)
    setting = showing.setting_for(opened, plan, plan.seed)
    retrieved = Run.open(plan.run) if plan.run is not None else None
    opened_reader = make_reader(plan.reader, opened, plan.parameters)
    runner.setdefault("cites", getattr(opened_reader, "cites", "shown"))
    try:
        return run_reader(
            opened_reader,
            opened,
            answers,
            setting,
            run=retrieved,
            name=plan.name or system_name(opened_reader, setting, retrieved),
            command=command_line(opened.place, answers, plan, setting, retrieved),
            on_error=plan.on_error,
            limit=plan.limit,
            retry=plan.retry,
            tasks=plan.tasks,
            **runner,
        )
    finally:
        if close := getattr(opened_reader, "close", None):
            close()


def run_reader(
    reader: Reader,
    benchmark: Benchmark,
    path: str | Path,
    setting: showing.Setting,
    *,
    run: Run | None = None,
    name: str | None = None,
    command: str | None = None,
    **options: Any,
) -> Answers:
    """Let a reader read; `options` are those of `ReadingRunner`."""
    describe: Callable[[], dict[str, Any]] | None = getattr(reader, "describe", None)
    runner = ReadingRunner(reader, benchmark, setting, run=run, **options)
    return runner.run(
        Path(path),
        name=name or system_name(reader, setting, run),
        description=describe() if describe else {"reader": type(reader).__name__},
        command=command,
    )


def make_reader(name: str, benchmark: Benchmark, options: Mapping[str, Any]) -> Reader:
    """A registered reader for this benchmark, or the user's own `module:function`."""
    if ":" in name:
        answer = load_function(name)
        if options and not callable(answer):
            raise UsageError(f"{name} is an object: it takes no options, here {', '.join(options)}")
        return as_reader(functools.partial(answer, **options) if options else answer)
    kind = registry.find("readers", name)
    ours = hasattr(kind, "for_run") and kind.__module__.startswith("whichone.runs.")
    try:
        opened_reader: Reader = (
            kind.for_run(benchmark, **options) if ours else kind.over(benchmark.corpus, **options)
        )
    except (msgspec.ValidationError, TypeError) as error:
        raise UsageError(f"{name} does not take these options: {error}") from error
    return opened_reader


def as_reader(answer: Any, *, name: str | None = None) -> Reader:
    """Anything with whichone's `read(tasks)` as it is; a function wrapped."""
    if isinstance(answer, Reader) and not callable(answer):
        return answer
    return FunctionReader(answer, name=name)


def system_name(reader: object, setting: showing.Setting, run: Run | None = None) -> str:
    own = str(getattr(reader, "name", type(reader).__name__))
    if getattr(reader, "retrieves", False):
        return own
    return joined_name(own, setting.passages, run.name if run is not None else None)


def joined_name(reader: str, passages: str, retriever: str | None) -> str:
    """As the papers write it: `BART + DPR`, with what else was shown in parentheses."""
    if passages == "retrieved" and retriever:
        return f"{reader} + {retriever}"
    if passages == "gold+retrieved" and retriever:
        return f"{reader} (gold) + {retriever}"
    shown = {"none": "closed book", "other-bearer": "other bearer"}
    return f"{reader} ({shown.get(passages, passages)})"


def command_line(
    benchmark: str | list[str],
    answers: str | Path,
    plan: ReadOptions,
    setting: showing.Setting,
    run: Run | None,
) -> str:
    """The command that makes the answers again; keys are in the environment, never in here."""
    places = [benchmark] if isinstance(benchmark, str) else benchmark
    words = ["whichone", "read", *places, str(answers), "--reader", plan.reader]
    words += ["--passages", setting.passages, "--depth", str(setting.depth)]
    words += ["--shuffled" if setting.shuffled else "--ranked", "--seed", str(setting.seed)]
    if setting.page_passages != 1:
        words += ["--page-passages", str(setting.page_passages)]
    if run is not None:
        words += ["--run", str(run.path)]
    if plan.limit is not None:
        words += ["--limit", str(plan.limit)]
    for task in plan.tasks:
        words += ["--task", task]
    for key, value in plan.parameters.items():
        words += [f"--{key}", str(value)] if key in FLAGS else ["-o", f"{key}={value}"]
    return shlex.join(words)
