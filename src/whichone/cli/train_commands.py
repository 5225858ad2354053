"""`whichone train`: retrievers, re-rankers, readers, RAG and a linker, and what training does to the space."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import click
from msgspec.structs import asdict, replace

from whichone.cli.click_options import command, field_option
from whichone.cli.printing import emit, emit_json
from whichone.errors import UsageError
from whichone.options import Argument, Json, Option
from whichone.progress import process_number
from whichone.training import space, trainer
from whichone.training.training_data import LearningPlan

if TYPE_CHECKING:
    from whichone.training.trainer import Trained

F = TypeVar("F", bound=Callable[..., Any])
# Settings that every training has.
OF_ALL = [
    "epochs",
    "batch",
    "learning_rate",
    "longest",
    "per_source",
    "patience",
    "accumulate",
    "every",
    "seed",
]


PRESETS = (
    "Settings by name; the papers' are dpr, eq-finetune, eq-scratch, dpr-reader, amber-reader, rag, blink."
)


Sources = Annotated[tuple[str, ...], Argument("text", metavar="SOURCE... OUT")]


def planned(places: tuple[str, ...], plan: LearningPlan) -> tuple[LearningPlan, str]:
    """What is learned from the sources, and the folder that is named last."""
    *sources, out = places
    if not sources:
        raise UsageError("sources first, then the folder to write", hint="SOURCE... OUT")
    plan.corpus.check()
    return replace(plan, sources=tuple(sources)), out


def settings_options(default: str, *fields: str) -> Callable[[F], F]:
    """`--preset`, its settings that may be changed, and `--device`; the command gets `settings`."""
    hints = get_type_hints(trainer.TrainingSettings, include_extras=True)
    offered = (*fields, *OF_ALL)

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def command(**values: Any) -> Any:
            changes = {name: values.pop(name) for name in offered}
            named = values.pop("preset")
            if named == default == "amber-reader" and values.get("kind") == "dpr":
                named = "dpr-reader"
            return function(**values, settings=trainer.preset(named, **changes))

        device = click.option("--device", help="cuda or cpu; cuda where there is one.")
        device(command)
        for name in reversed(offered):
            unset = 0 if name == "seed" else None  # the preset's
            field_option(name, hints[name], unset)(command)
        chosen = click.option("--preset", default=default, show_default=True, help=PRESETS)
        return chosen(command)  # type: ignore[return-value]

    return decorate


def tell(out: str, trained: Trained, as_json: bool, model: str = "best") -> None:
    if process_number():
        return
    if as_json:
        emit_json({**asdict(trained), "folder": out})
        return
    last = f"loss {trained.losses[-1]:.4f}" if trained.losses else "no epoch was finished"
    watched = f", held-out names {max(trained.held_out):.3f}" if trained.held_out else ""
    click.echo(f"{out}/{model}: {trained.epochs} epochs, {trained.steps} steps, {last}{watched}")


# `whichone train linker`: BLINK, a linker of two stages, from hyperlinks.


@command(makes="places", decides=False)
@settings_options("blink")
def train_linker_command(
    places: Annotated[tuple[str, ...], Argument("text", metavar="LINKS... OUT")],
    settings: trainer.TrainingSettings,
    device: str | None,
    *,
    options: trainer.LinkerOptions,
    as_json: Json = False,
) -> None:
    """Train BLINK's two stages on LINKS into the folder OUT; OUT/model is what `--retriever blink` takes.

    LINKS are KILT's entity-linking files, such as those that `export --format kilt-el` writes from the
    hyperlinks of a knowledge base, folders of them, or benchmarks with marked mentions. The bi-encoder learns a mention
    against the other entities of its batch, the cross-encoder against the bi-encoder's best. Stopped and
    started again it goes on from its last checkpoint.

    \b
    whichone export KB links --format kilt-el
    whichone train linker links OUT --corpus CORPUS --checkpoint bert-large-uncased \\
        --held-out links/blink-dev-kilt.jsonl
    whichone retrieve BENCH RUN --retriever blink -o model=OUT/model -o mentions=spacy
    """
    from whichone.training.train_linker import train_linker

    *sources, out = places
    if not sources:
        raise UsageError(
            "files of mentions first, then the folder to write", hint="whichone train linker LINKS... OUT"
        )
    trained = train_linker(sources, out, options, settings=settings, device=device)
    if as_json:
        stages = {
            name: {"epochs": t.epochs, "steps": t.steps, "losses": t.losses, "held_out": t.held_out}
            for name, t in trained.items()
        }
        emit_json({"out": out, "stages": stages})
        return
    for name, t in trained.items():
        watched = f", held-out mentions {max(t.held_out):.3f}" if t.held_out else ""
        click.echo(f"{out}/{name}: {t.epochs} epochs, loss {t.losses[-1]:.4f}{watched}")
    click.echo(f"{out}/model: --retriever blink -o model={out}/model")


# `whichone train rag`: a question encoder and a generator, together, over a fixed index.


@command(makes="places", decides=False)
@settings_options("rag")
def train_rag_command(
    places: Sources,
    settings: trainer.TrainingSettings,
    device: str | None,
    *,
    start: trainer.RagStart,
    options: trainer.RagOptions,
    plan: LearningPlan,
    as_json: Json = False,
) -> None:
    """Train RAG on SOURCEs into the folder OUT; OUT/model is a RAG checkpoint of Hugging Face's.

    Every question's likelihood is summed over the documents that its encoder finds, so that the
    encoder learns which documents help. The passages' vectors stay as they are.

    \b
    whichone train rag BENCH OUT --question-encoder PAIR --generator BART
    whichone train rag BENCH OUT --checkpoint RAG --passage-encoder FOLDER --marginal token
    whichone read BENCH ANSWERS --reader rag --passages none -o model=OUT/model
    """
    from whichone.training.train_rag import train_rag

    plan, out = planned(places, plan)
    trained = train_rag(plan, out, start=start, settings=settings, options=options, device=device)
    tell(out, trained, as_json, model="model")


# `whichone train reader`: readers on KILT-format data, by the papers' presets.


@command(makes="places", decides=False)
@settings_options("amber-reader", "hard")
def train_reader_command(
    places: Sources,
    settings: trainer.TrainingSettings,
    device: str | None,
    *,
    kind: Annotated[Literal["extractive", "seq2seq", "claims", "dpr"], Option("What it is to be.")],
    checkpoint: Annotated[
        str, Option("RoBERTa-large, BART-base and BERT-base in AmbER; any HuggingFace folder or name.")
    ],
    options: trainer.ReaderOptions,
    base: Annotated[str | None, Option("dpr: the BERT folder that a file of DPR's own belongs to.")] = None,
    plan: LearningPlan,
    as_json: Json = False,
) -> None:
    """Train a reader on SOURCEs into the folder OUT; OUT/model is a HuggingFace checkpoint.

    Each query teaches its gold passage, and the best wrong page's passage as one without an answer
    ("none", NEUTRAL). With --context all tasks are learned as text to be written: question answering,
    slot filling, fact checking, entity linking and dialogue. Stopped and started again it goes on from its last checkpoint.

    \b
    whichone train reader BENCH OUT --kind claims --checkpoint bert-base-uncased
    whichone train reader BENCH OUT --kind seq2seq --task sf --negatives tfidf --held-out 0 --checkpoint facebook/bart-base
    whichone train reader BENCH OUT --kind dpr --checkpoint bert-base-uncased
    whichone train reader BENCH OUT --kind seq2seq --context none --checkpoint FOLDER
    whichone train reader A B OUT --kind seq2seq --context retrieved --depth 3 --run RUN --checkpoint FOLDER
    """
    from whichone.training.train_readers import train_dpr_reader, train_reader

    plan, out = planned(places, plan)
    if kind == "dpr":
        trained = train_dpr_reader(
            plan, out, checkpoint=checkpoint, base=base, settings=settings, device=device
        )
    else:
        trained = train_reader(
            plan, out, kind=kind, checkpoint=checkpoint, settings=settings, options=options, device=device
        )
    tell(out, trained, as_json, model="model")


# `whichone train reranker`: a cross-encoder that puts the right bearer first.


@command(makes="places", decides=False)
@settings_options("re-ranker", "kinds", "hard", "others")
def train_reranker_command(
    places: Sources,
    settings: trainer.TrainingSettings,
    device: str | None,
    *,
    checkpoint: Annotated[
        str, Option("What to start from: a cross-encoder, or any encoder, which gets a new head.")
    ],
    plan: LearningPlan,
    as_json: Json = False,
) -> None:
    """Train a cross-encoder on SOURCEs into the folder OUT; OUT/best is what re-ranking takes.

    Sources, wrong passages, splits and the refusal of leaks are those of `train retriever`.

    \b
    whichone train reranker BENCH OUT --checkpoint all-MiniLM-L6-v2
    whichone retrieve BENCH RERANKED --retriever rerank -o run=RUN -o model=OUT/best
    """
    from whichone.training.train_encoders import train_reranker

    plan, out = planned(places, plan)
    tell(
        out,
        train_reranker(plan, out, start=trainer.Start(checkpoint), settings=settings, device=device),
        as_json,
    )


# `whichone train retriever`: make an encoder better at telling namesakes apart.


@command(makes="places", decides=False)
@settings_options("default", "kinds", "hard", "mode", "size", "flops")
def train_retriever_command(
    places: Sources,
    settings: trainer.TrainingSettings,
    device: str | None,
    *,
    start: trainer.Start,
    kind: Annotated[
        Literal["dense", "late", "sparse"],
        Option("One vector a passage, one a token (ColBERT), or weights of words (SPLADE)."),
    ] = "dense",
    per: Annotated[
        Literal["relation"] | None,
        Option("With --mode only-questions: a question encoder for each relation beside the joint one."),
    ] = None,
    plan: LearningPlan,
    as_json: Json = False,
) -> None:
    """Train a retriever on SOURCEs into the folder OUT; OUT/best is what `retrieve` takes.

    A SOURCE is a benchmark (its training split, where it has one), a knowledge base, or a file: DPR's
    json, KILT's jsonl, EntityQuestions' json, examples of a training. Wrong passages come from the
    batch, from BM25, and from the other bearers of the name. Stopped and started again it goes on
    from its last checkpoint.

    \b
    whichone train retriever BENCH OUT --checkpoint all-MiniLM-L6-v2
    whichone train retriever nq-train-kilt.jsonl OUT --knowledge KB --checkpoint all-MiniLM-L6-v2
    whichone train retriever BENCH OUT --checkpoint FOLDER --mode only-questions --per relation
    whichone train retriever nq.json OUT --checkpoint dpr.cp --base BERT --preset eq-finetune
    whichone train retriever BENCH OUT --checkpoint bert-base-uncased --preset dpr
    whichone retrieve BENCH RUN --retriever dense --encoder OUT/best
    whichone train retriever BENCH OUT --kind late --checkpoint all-MiniLM-L6-v2
    whichone retrieve BENCH RUN --retriever late -o model=OUT/best
    """
    from whichone.training.train_encoders import train_retriever

    plan, out = planned(places, plan)
    trained = train_retriever(
        plan, out, start=start, settings=settings, kind=kind, per_relation=per is not None, device=device
    )
    tell(out, trained, as_json)


# `whichone train space`: how close passages lie before and after a training.


@command(makes="places", decides=False)
def train_space_command(
    places: Annotated[tuple[str, ...], Argument("benchmark", metavar="BENCHMARK... OUT")],
    *,
    plan: space.SpaceOptions,
    as_json: Json = False,
) -> None:
    """Draw the gold passages of BENCHMARKs as encoders see them (t-SNE) to OUT (.png, .svg, .pdf).

    Printed are mean cosines: of the relation's passages, of the others, between both, and of the
    first passages of pages that share a name. An encoder may be a DPR pair or its passage half.

    \b
    whichone train space BENCH space.png --encoder all-MiniLM-L6-v2 --encoder OUT/best --relation P19
    """
    *benchmarks, out = places
    if not benchmarks:
        raise UsageError("benchmarks first, then the figure", hint="BENCHMARK... OUT")
    relation, found = space.compare_spaces(benchmarks, out, plan)
    rows = [*map(asdict, found)]
    document = {"figure": out, "relation": relation, "closeness": rows}
    emit(document, as_json, rows, title=f"{out}: mean cosines, {relation}")
