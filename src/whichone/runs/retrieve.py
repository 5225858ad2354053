"""From a retriever's name and options to a run on disk."""

import functools
import inspect
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone import errors, registry
from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.benchmarks.several import each_of
from whichone.chat.endpoint import remote_host
from whichone.corpus.corpus import Corpus
from whichone.files.arrow_records import Seen, blocks
from whichone.files.folder import Folder, wait_until_unlocked
from whichone.files.lines import read_json_lines
from whichone.files.output import cache_folder
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.options import takes
from whichone.progress import talk
from whichone.protocols import Retriever
from whichone.retrieval.adapters.adapted import FunctionRetriever, load_function
from whichone.retrieval.indexes import index_over
from whichone.runs.provenance import what_leaves
from whichone.runs.run import COUNTS, Run, of_many
from whichone.runs.run_options import RetrieveOptions
from whichone.runs.runner import run_retriever

# What `whichone train` learned from; it is beside `best`, or one above for one of several encoders.
EXAMPLES = "examples.jsonl"
_MODELS = ("encoder", "passage_encoder", "model")
_BLOCK = 4_096


class _Example(msgspec.Struct):
    question: str


def learned_from(options: Mapping[str, Any], benchmark: Benchmark) -> int:
    """How many of the questions a model among the options was trained on, by their text."""
    learned = Seen()
    folders = [Path(str(options[name])) for name in _MODELS if options.get(name)]
    for place in (folder.resolve() for folder in folders if folder.is_dir()):
        files = (folder / EXAMPLES for folder in (place, *place.parents[:2]))
        if file := next(filter(Path.is_file, files), None):
            for block in blocks(read_json_lines(file, _Example), _BLOCK):
                learned.add([e.question for _, e in block], [0] * len(block))
    if not len(learned):
        return 0
    asked = blocks((query.input for query in benchmark.queries), _BLOCK)
    return sum(number is not None for block in asked for number in learned.numbers_of(block))


# Retrievers of others, which bring their own corpus.
ASKED_ELSEWHERE = frozenset({"haystack", "http", "langchain", "llama-index", "mteb"})


@takes(RetrieveOptions)
def retrieve(benchmark: Where, run: str | Path, plan: RetrieveOptions) -> Run:
    """Make the retriever for this benchmark and run it."""
    options, retriever = plan.parameters, plan.retriever
    errors.remember_secrets(options)
    opened = Benchmark.open(benchmark)
    own = ":" in retriever
    theirs = not own and getattr(registry.find("retrievers", retriever), "takes_index", False)
    if plan.index is not None and theirs:  # an index of others, not one that `whichone index` made
        options["index"] = str(plan.index)
    if plan.index is not None and not theirs:
        opened_retriever = index_over(plan.index, opened.corpus, **options)
        retriever = getattr(opened_retriever, "name", retriever)
    else:
        work = default_index_folder(opened.corpus)
        opened_retriever = _made_or_waited_for(retriever, opened, work, options)
    learned = 0 if own else learned_from(options, opened)
    if learned:
        talk(
            f"the model was trained on {learned:,} of the {len(opened.queries):,} questions: scores on"
            " those are no test; split the benchmark before training (whichone build splits)"
        )
    try:
        return run_retriever(
            opened_retriever,
            opened,
            run,
            k=plan.passages or plan.k,
            pages=plan.passages is None,
            name=plan.name or retriever.rpartition(":")[2],
            description=_described(retriever, opened_retriever, options),
            learned=learned,
            returns=plan.returns,
            on_error=plan.on_error,
            timeout=plan.timeout,
            block=plan.block,
        )
    finally:
        if callable(close := getattr(opened_retriever, "close", None)):  # connections, stores
            close()


def _made_or_waited_for(name: str, benchmark: Benchmark, work: Path, options: dict[str, Any]) -> Retriever:
    """The retriever; where another process is building its index, wait and open what it built."""
    while True:
        try:
            return make_retriever(name, benchmark, work, options)
        except errors.LockedFolder as error:
            place = Path(error.file or "").resolve()
            if work.resolve() not in (place, *place.parents):
                raise
            talk(f"waiting for another process that builds {place}")
            wait_until_unlocked(place)


def make_retriever(name: str, benchmark: Benchmark, work: Path, options: dict[str, Any]) -> Retriever:
    """A registered retriever over the benchmark's corpus, or the user's own `module:name`.

    What is named may be a function, which gets the options as further arguments, a class with
    `over(corpus, work, **options)`, or any other class, made with the options. What needs more of a
    benchmark than its corpus is one of this room's own and has `for_run`.
    """
    own = ":" in name
    kind = load_function(name) if own else registry.find("retrievers", name)
    if not own and name not in ASKED_ELSEWHERE and not len(benchmark.corpus):
        raise errors.BadInput(
            f"{benchmark.name} has no corpus: there is nothing that {name} could search",
            file=benchmark.folder.root,
            hint="import it again with --corpus CORPUS or --knowledge KB",
        )
    if own and not hasattr(kind, "over"):
        if inspect.isclass(kind):
            return as_retriever(_called(name, kind, (), options))
        return as_retriever(functools.partial(kind, **options) if options else kind)
    if not own and (leaving := what_leaves(name, options, benchmark)):
        talk(leaving)
    options = _with_knowledge(options, benchmark)
    ours = hasattr(kind, "for_run") and kind.__module__.startswith("whichone.runs.")
    make, given = (kind.for_run, benchmark) if ours else (kind.over, benchmark.corpus)
    opened_retriever: Retriever = _called(name, make, (given, work), options)
    if isinstance(
        making := options.get("make"), str
    ):  # the run is also of the module that made the object asked
        opened_retriever.own_code = sys.modules[making.partition(":")[0]]  # type: ignore[attr-defined]
    return opened_retriever


def _with_knowledge(options: dict[str, Any], benchmark: Benchmark) -> dict[str, Any]:
    """`knowledge=benchmark` is the knowledge base that the benchmark was built from, beside it."""
    if options.get("knowledge") != "benchmark":
        return options
    place = Benchmark.open(each_of(benchmark)[0]).folder.root.parent / "kb"
    try:
        known = Folder.open(place, KNOWLEDGE_BASE).content_hash
    except errors.WhichoneError:
        known = ""
    if known != benchmark.folder.manifest.parents.get("knowledge base", "none"):
        raise errors.Missing(
            "the knowledge base that the benchmark was built from is not beside it",
            where=str(place),
            hint="-o knowledge=KB names it",
        )
    return {**options, "knowledge": str(place)}


def _described(name: str, created: Retriever, options: dict[str, Any]) -> dict[str, Any]:
    """What the retriever says of itself, and the options that only its own code knows.

    whichone's own retrievers describe every option that decides a ranking; a user's class may
    describe none, and its options are part of the run all the same.
    """
    describe = getattr(created, "describe", None)
    description = dict(describe()) if describe else {"retriever": type(created).__name__}
    ours = ":" not in name and type(created).__module__.partition(".")[0] == "whichone"
    if options and not ours:
        description.setdefault("options", errors.masked_options(options))
    making = options.get("make")
    return {**description, "make": making} if isinstance(making, str) else description


def _called(name: str, make: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Options that are not known or not of the right kind are the user's mistake, and only those."""
    try:
        inspect.signature(make).bind(*arguments, **options)
        return make(*arguments, **options)
    except msgspec.ValidationError as error:
        known = getattr(getattr(make, "__self__", None), "Parameters", None)
        unknown = re.search(r"unknown field `(.+?)`", str(error))
        if known is None or unknown is None:
            raise errors.UsageError(f"{name} does not take these options: {error}") from error
        hint = errors.did_you_mean(unknown[1], known.__struct_fields__)
        raise errors.UsageError(f"{name} has no option {unknown[1]!r}", hint=hint) from error
    except TypeError as error:
        inside = error.__traceback__ and error.__traceback__.tb_next
        if inside and inside.tb_frame.f_code.co_filename != inspect.__file__:
            raise
        raise errors.UsageError(f"{name} does not take these options: {error}") from error


def as_retriever(search: Any, *, batched: bool | None = None, name: str | None = None) -> Retriever:
    """Anything with a `search(questions, k)` of ours as it is; a function wrapped."""
    if isinstance(search, Retriever) and not callable(search):
        return search
    return FunctionRetriever(search, batched=batched, name=name)


def default_index_folder(corpus: Corpus) -> Path:
    """Indexes are derived and can be made again: they are in the cache, by the corpus' hash."""
    return cache_folder() / "indexes" / corpus.hash[:16]


# Making a run again from what its manifest says, and comparing the two.


# Further options of `whichone retrieve` that decide what a run contains.
_TYPED = ("encoder", "model", "index", "returns")
_NOT_OPTIONS = {"k", COUNTS, "retriever", "returns"}


class Reproduced(msgspec.Struct, frozen=True):
    """How a run that was made again differs from the published one."""

    run: str
    same: bool  # Every file but the measured times has the same bytes
    same_order: bool  # Every question has the same passages in the same order
    questions: int
    other_order: list[str]  # The questions with other passages or another order
    largest_difference: float  # Of scores at the same rank, among questions in the same order


def reproduce(
    run: str | Path, out: str | Path | None = None, *, benchmark: str | None = None, allow: Sequence[str] = ()
) -> Reproduced:
    """Run the same system with the same options over the same benchmark, into `out` or for the comparison alone.

    A run names its system, which may be anybody's: code outside the installed packages' entry points runs only
    where its `module:attribute` is in `allow`, and another machine is asked only where its host or address is.
    """
    if out is not None and Path(out).exists():
        raise errors.UsageError("there is something already", where=str(out), hint="name a new folder")
    published = Run.open(run)
    opened = published.benchmark(benchmark)
    how = recorded_call(published)
    _check_addresses(how, allow)
    with tempfile.TemporaryDirectory() as temporary, registry.only_this_code(allow):
        place = Path(out) if out is not None else Path(temporary) / "run"
        return compare_runs(published, retrieve(opened, place, name=published.name, **how))


def _check_addresses(options: Any, allow: Sequence[str]) -> None:
    """Stop before questions, and the key of an environment, go to a machine that only the run names."""
    if isinstance(options, Mapping | list | tuple):
        for value in options.values() if isinstance(options, Mapping) else options:
            _check_addresses(value, allow)
    elif (
        isinstance(options, str)
        and options not in allow
        and (host := remote_host(options)) is not None
        and host not in allow
    ):
        raise errors.UsageError(
            f"the questions, and the key if one is set, would go to {host}, which only the run names",
            hint=f"if it may have them, give --allow {host}",
        )


def recorded_call(run: Run) -> dict[str, Any]:
    """Retriever, options and depth as they were typed, else as the system described itself."""
    manifest = run.folder.manifest
    request = manifest.made.get("request", {})
    words = str(request.get("command", "")).split()
    typed = request.get("options", {}) if words[-1:] == ["retrieve"] else {}
    depth = {"k" if run.counts_pages else "passages": int(manifest.parameters.get("k", 100))}
    if typed.get("retriever"):
        pairs = (option.partition("=") for option in typed.get("options", ()))
        return {
            "retriever": typed["retriever"],
            "options": {key.replace("-", "_"): value for key, _, value in pairs},
            **depth,
            **{name: typed[name] for name in _TYPED if typed.get(name)},
        }
    described: Mapping[str, Any] = manifest.parameters
    if (name := str(described.get("retriever", ""))) not in registry.names("retrievers"):
        raise errors.BadInput(
            f"it does not say how it was made: {name or 'an unknown system'} is no retriever of whichone",
            file=run.path,
            hint="imported runs and functions of one's own cannot be made again from their folder",
        )
    return {"retriever": name, "options": own_options(name, described), **depth}


def own_options(retriever: str, described: Mapping[str, Any]) -> dict[str, Any]:
    """What a retriever that has described itself was given: its own options, and not what it found out."""
    known = retriever in registry.names("retrievers")
    fields = getattr(registry.find("retrievers", retriever), "Parameters", None) if known else None
    names = set(fields.__struct_fields__) if fields is not None else set(described) - _NOT_OPTIONS
    return {key: value for key, value in described.items() if key in names}


def compare_runs(published: Run, again: Run) -> Reproduced:
    """The rankings of two runs, question by question."""
    runs = (published, again)
    questions = sorted({question for run in runs for question in run.ranked_passages()})
    passages = [of_many(run.ranked_passages(), questions) for run in runs]
    scores = [of_many(run.ranked_scores(), questions) for run in runs]
    same = [a == b for a, b in zip(*passages, strict=True)]
    other = [question for question, is_same in zip(questions, same, strict=True) if not is_same]
    differences = (
        abs(a - b)
        for is_same, *both in zip(same, *scores, strict=True)
        if is_same
        for a, b in zip(*both, strict=True)
    )
    return Reproduced(
        run=published.name,
        same=published.folder.content_hash == again.folder.content_hash,
        same_order=not other,
        questions=len(questions),
        other_order=other,
        largest_difference=max(differences, default=0.0),
    )
