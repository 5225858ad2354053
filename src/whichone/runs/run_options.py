"""What one may ask of a run or of answers: one struct a verb, for `whichone retrieve`, `read`, `work`, `score`, `compare`, `power` and `score three` and their functions."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from whichone.options import Moved, Name, Option, Seed

Passages = Literal["gold", "retrieved", "gold+retrieved", "none", "other-bearer"]


class RetrieveOptions(Struct, frozen=True, kw_only=True):
    """`k` counts pages, of retrievers that rank passages too; `passages`, where it is given, counts passages."""

    retriever: Annotated[
        str,
        Option(
            "Its name (see `whichone list retrievers`), or module:function of your own.", names="retrievers"
        ),
    ] = "bm25"
    options: Annotated[
        dict[str, Any],
        Option(
            "A parameter of the retriever, such as k1=1.2.",
            flags=("-o", "--option"),
            kind="pairs",
            metavar="KEY=VALUE",
        ),
    ] = {}
    encoder: Annotated[
        str | None,
        Option(
            "The encoder of dense and namesake; the same as -o encoder=. `none` uses words only.",
            metavar="PATH|NAME|PACKAGE",
        ),
    ] = None
    model: Annotated[
        str | None,
        Option(
            "The model of rerank, late, sparse and blink; the same as -o model=.",
            metavar="FOLDER|FILE.onnx|NAME",
        ),
    ] = None
    k: Annotated[int, Option("How many pages a question.", flags=("-k",))] = 100
    passages: Annotated[int | None, Option("Instead of -k: how many passages, on whatever pages.")] = None
    returns: Annotated[Literal["page", "passage"] | None, Option("What your function's ids are.")] = None
    index: Annotated[
        str | None,
        Option(
            "One finished index (`whichone index`) to ask; it says which retriever it is. With lucene: a folder of"
            " Lucene's.",
            kind="path",
        ),
    ] = None
    name: Name = None
    on_error: Annotated[
        Literal["fail", "skip"],
        Option("Stop at a failing question, or keep it as a failure, scored as wrong."),
    ] = "fail"
    timeout: Annotated[float | None, Option("Seconds that one block may take.")] = None
    block: Annotated[int, Option("Questions asked at once and kept together.")] = 256

    @property
    def parameters(self) -> dict[str, Any]:
        """Every option of the retriever itself, those with a flag of their own among them."""
        flags = {"encoder": self.encoder, "model": self.model}
        return {**self.options, **{key: value for key, value in flags.items() if value}}


class ShownOptions(Struct, frozen=True, kw_only=True):
    """What a reader is shown; what is not said is the benchmark's own default."""

    passages: Annotated[Passages, Option("What the reader is shown.")] = "gold"
    depth: Annotated[int | None, Option("At most so many passages; 20, AmbigDocs 5.")] = None
    shuffled: Annotated[
        bool | None,
        Option(
            "A seeded order of its own for each question, or by rank; AmbigDocs: shuffled.",
            flags=("--shuffled/--ranked",),
        ),
    ] = None
    page_passages: Annotated[
        int, Option("How many passages represent a page, if the run returned pages; 0: all.")
    ] = 1


# Options of a reader that have a flag of their own on the command line; others go by `-o KEY=VALUE`.
FLAGS = ("endpoint", "model", "prompt", "concurrency", "cache")


class ReadOptions(ShownOptions, frozen=True, kw_only=True):
    """`run` is the run whose passages are shown."""

    reader: Annotated[
        str,
        Option("Its name (see `whichone list readers`), or module:function of your own.", names="readers"),
    ] = "llm"
    run: Annotated[str | None, Option("The run whose passages are shown.", kind="path")] = None
    endpoint: Annotated[str | None, Option("Such as http://HOST/v1.", envvar="WHICHONE_ENDPOINT")] = None
    model: Annotated[
        str | None, Option("The endpoint's name for it; else a checkpoint.", envvar="WHICHONE_MODEL")
    ] = None
    prompt: Annotated[str | None, Option("zero-shot, few-shot, which-one, one-by-one or a file.")] = None
    concurrency: Annotated[int | None, Option("Calls at once; 16 when not given.")] = None
    cache: Annotated[str | None, Option("File of calls already made, or none.")] = None
    options: Annotated[
        dict[str, Any], Option("Of the reader.", flags=("-o", "--option"), kind="pairs", metavar="KEY=VALUE")
    ] = {}
    name: Name = None
    limit: Annotated[
        int | None,
        Option("Ask only so many questions, of names drawn by --seed, all tasks of a name together."),
    ] = None
    tasks: Annotated[
        tuple[str, ...],
        Option(
            "Ask questions of this task only, such as qa, sf or fc; may be given several times.",
            flags=("--task",),
        ),
    ] = ()
    on_error: Annotated[
        Literal["fail", "skip"], Option("Keep a failing question as a failure, scored as wrong; or stop.")
    ] = "skip"
    retry: Annotated[bool, Option("In finished answers: ask again what failed or came back empty.")] = False
    repeat: Annotated[
        int,
        Option(
            "Ask everything so many times, past the cache, and count the questions whose answers differ.",
            shown=False,
        ),
        Meta(ge=1),
    ] = 1
    seed: Seed = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """Every option of the reader itself, those with a flag of their own among them."""
        together = {**{key: getattr(self, key) for key in FLAGS}, **self.options}
        return {key: value for key, value in together.items() if value is not None}


class WorkOptions(Struct, frozen=True, kw_only=True):
    """An agent with its search tool, and how much it may do."""

    agent: Annotated[
        str, Option("module:function of your own, or a plain one to compare with: guess, ask or doubt.")
    ]
    search: Annotated[
        str, Option("Its search tool: a retriever's name, or module:function.", names="retrievers")
    ] = "bm25"
    options: Annotated[
        dict[str, Any],
        Option(
            "A parameter of the search tool, such as encoder=none.",
            flags=("-o", "--option"),
            kind="pairs",
            metavar="KEY=VALUE",
        ),
    ] = {}
    guard: Annotated[
        str | None,
        Option("An index of `namesake`: the agent works once it is known who is meant.", kind="folder"),
    ] = None
    budget: Annotated[int, Option("Calls of tools for a question.")] = 10
    turns: Annotated[int, Option("Questions back that end a turn.")] = 0
    user: Annotated[Literal["simulated", "none"], Option("Who answers what the agent asks.")] = "simulated"
    name: Name = None
    limit: Annotated[int | None, Option("Ask only the first questions.")] = None


class ScoreOptions(Struct, frozen=True, kw_only=True):
    measures: Annotated[
        tuple[str, ...],
        Option(
            "Such as acc@1,confused@20 of a run, em,f1 of answers, or module:function of your own; else the usual ones of its kind.",
            kind="measures",
        ),
    ] = ()
    by: Annotated[
        tuple[str, ...],
        Option(
            "Slice by columns or attributes of the queries: role,relation; popularity (head and tail), popularity:4.",
            kind="words",
        ),
    ] = ()
    benchmark: Moved = ()


class CompareOptions(Struct, frozen=True, kw_only=True):
    measures: Annotated[
        tuple[str, ...],
        Option(
            "Such as acc@1,confused@20 of runs, em,f1 of answers, or module:function of your own; else the usual ones of their kind.",
            kind="measures",
        ),
    ] = ()
    by: Annotated[
        tuple[str, ...],
        Option(
            "Compare in every slice by columns or attributes of the queries: role,relation,popularity:4.",
            kind="words",
        ),
    ] = ()
    baseline: Annotated[str | None, Option("Compare each system with this one only.")] = None
    benchmark: Moved = ()
    seed: Seed = 0


class PowerOptions(Struct, frozen=True, kw_only=True):
    difference: Annotated[float, Option("The difference to see, such as 0.05.")]
    measure: Annotated[str, Option("A measure of the runs.")] = "acc@1"
    power: Annotated[float, Option("How surely it is to be seen.")] = 0.8


class ThreeOptions(Struct, frozen=True, kw_only=True):
    retrievers: Annotated[
        tuple[str, ...],
        Option(
            "Search the three pages of each item alone with this retriever; may be repeated.",
            flags=("--retriever",),
            metavar='"NAME [KEY=VALUE...]"',
        ),
    ] = ()
    fewer: Annotated[
        Literal["skip", "pad"],
        Option("Names with fewer than three bearers: leave them out, or add pages of other names."),
    ] = "skip"
    most: Annotated[int | None, Option("A seeded sample of so many."), Meta(ge=1)] = None
    items_file: Annotated[
        str | None,
        Option(
            "Also write the items, one row each; .jsonl, .csv or .parquet by suffix.",
            flags=("--items",),
            kind="written",
        ),
    ] = None
    study: Annotated[
        str | None, Option("answers.csv of a user study in `whichone serve`: the human row.", kind="file")
    ] = None
    seed: Seed = 0
