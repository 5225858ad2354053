"""Options that the verbs of training share: data, what must not be learned, how it is trained."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from whichone.cli.options import BenchmarkName, Words, json_option, seed_option
from whichone.cli.printing import makes
from whichone.errors import UsageError

if TYPE_CHECKING:
    from whichone.training.trainer import Settings, Trained
    from whichone.training.training_data import Plan


F = TypeVar("F", bound=Callable[..., Any])

_DATA = (
    click.argument("places", nargs=-1, required=True, metavar="SOURCE... OUT"),
    click.option(
        "--passages",
        type=click.Path(),
        help="The corpus of sources that contain none (KILT, EntityQuestions): .jsonl, .tsv, BEIR.",
    ),
    click.option("--knowledge", type=click.Path(), help="Or a knowledge base as their corpus."),
    click.option(
        "--corpus",
        type=click.Path(exists=True),
        help="Or a corpus that exists (`whichone corpus`); one for all sources.",
    ),
    click.option(
        "--held-out",
        default=0.2,
        show_default=True,
        help="Share of names never seen, of a benchmark without a training split.",
    ),
    click.option(
        "--test",
        multiple=True,
        type=click.Path(),
        help="A benchmark whose names must not be learned from.",
    ),
    click.option(
        "--drop-leaks", is_flag=True, help="Leave out examples that share a name with test data."
    ),
    click.option(
        "--disjoint",
        type=click.Choice(["splits", "names", "tokens"]),
        default="splits",
        show_default=True,
        help="What training and test may not share: names, but within a relation in a benchmark's own "
        "splits (splits), names everywhere (names), or no word of a name either (tokens).",
    ),
    click.option(
        "--learn-from-dev",
        is_flag=True,
        help="Learn from records marked dev or test as well; without it they are refused.",
    ),
    click.option(
        "--similar",
        is_flag=True,
        help="Learn from reworded questions (EntityQuestions' FT w/ similar).",
    ),
    click.option(
        "--relation",
        "relations",
        multiple=True,
        help="Of questions that have a relation, learn from this one's alone: P19. Several may be named.",
    ),
)
_TRAINING = (
    click.option(
        "--negatives",
        type=Words(),
        help="Kinds of wrong passages: bm25, namesake, given (DPR's own), or none."
        " [default: bm25,namesake; the preset dpr: bm25]",
    ),
    click.option("--epochs", type=int),
    click.option("--batch", type=int),
    click.option("--learning-rate", type=float),
    click.option("--longest", type=int, help="Tokens a text may have."),
    click.option("--hard", type=int, help="Wrong passages of each kind an example brings."),
    click.option(
        "--per-source",
        type=int,
        help="Draw so many examples of each SOURCE an epoch, a batch of one, in turn.",
    ),
    click.option(
        "--patience", type=int, help="Epochs without gain on held-out names until it stops."
    ),
    click.option(
        "--every",
        type=int,
        help="Steps between checkpoints, beside those at the end of every epoch and at a signal to stop.",
    ),
    click.option("--device", default=None, help="cuda or cpu; cuda where there is one."),
    seed_option,
    json_option,
)


def training_options(function: F) -> F:
    """All of them, in this order in the help."""
    for option in reversed((*_DATA, *_TRAINING)):
        function = option(function)
    return function


def data_options(function: F) -> F:
    """The options of what is learned from alone."""
    for option in reversed(_DATA):
        function = option(function)
    return function


def plan_of(values: dict[str, Any]) -> tuple[Plan, str]:
    """The data that was asked for, and the folder to write; taken out of `values`."""
    from whichone.training.training_data import Corpus, Plan

    *sources, out = values.pop("places")
    if not sources:
        raise UsageError("sources first, then the folder to write", hint="SOURCE... OUT")
    corpus = Corpus(
        passages=values.pop("passages"),
        knowledge=values.pop("knowledge"),
        folder=values.pop("corpus"),
    )
    corpus.check()
    plan = Plan(
        sources=tuple(sources),
        corpus=corpus,
        held_out=values.pop("held_out"),
        test=values.pop("test"),
        drop_leaks=values.pop("drop_leaks"),
        disjoint=values.pop("disjoint"),
        similar=values.pop("similar"),
        learn_from_dev=values.pop("learn_from_dev"),
        relations=values.pop("relations"),
    )
    return plan, out


def settings_of(preset: str, values: dict[str, Any]) -> Settings:
    """The preset's settings with what is left of `values` changed in them."""
    from whichone.training.trainer import preset as named

    negatives = values.pop("negatives")
    kinds = None if not negatives else () if negatives == ("none",) else negatives
    return named(preset, kinds=kinds, **values)


def tell(out: str, trained: Trained, as_json: bool, model: str = "best") -> None:
    import msgspec

    from whichone.cli.printing import emit_json

    if as_json:
        emit_json({**msgspec.structs.asdict(trained), "folder": out})
        return
    last = f"loss {trained.losses[-1]:.4f}" if trained.losses else "no epoch was finished"
    watched = f", held-out names {max(trained.held_out):.3f}" if trained.held_out else ""
    click.echo(f"{out}/{model}: {trained.epochs} epochs, {trained.steps} steps, {last}{watched}")


# `whichone train linker`: BLINK, a linker of two stages, from hyperlinks.


@click.command()
@makes("places", decides=False)
@click.argument("places", nargs=-1, required=True, metavar="LINKS... OUT")
@click.option(
    "--corpus",
    required=True,
    type=click.Path(exists=True, file_okay=False),
    help="The corpus whose pages are the entities: title and first passage describe each.",
)
@click.option(
    "--checkpoint", required=True, help="A BERT to start from: bert-large-uncased in the paper."
)
@click.option(
    "--held-out",
    multiple=True,
    type=click.Path(exists=True),
    help="Files of the same kind to watch; the best epoch there is kept.",
)
@click.option("--candidates", default=64, show_default=True, help="Entities for the second stage.")
@click.option("--cross-batch", default=2, show_default=True, help="Mentions a batch of that stage.")
@click.option(
    "--cross-epochs",
    type=click.IntRange(min=1),
    help="Epochs of that stage, which costs as much more as it has candidates. [default: as --epochs]",
)
@click.option(
    "--learn-from-dev",
    is_flag=True,
    help="Learn from files and benchmarks marked dev or test as well; without it they are refused.",
)
@click.option("--preset", default="blink", show_default=True)
@click.option("--epochs", type=int)
@click.option("--batch", type=int)
@click.option("--learning-rate", type=float)
@click.option("--device", default=None, help="cuda or cpu; cuda where there is one.")
@seed_option
@json_option
def train_linker_command(
    places: tuple[str, ...],
    corpus: str,
    checkpoint: str,
    held_out: tuple[str, ...],
    candidates: int,
    cross_batch: int,
    cross_epochs: int | None,
    learn_from_dev: bool,
    preset: str,
    device: str | None,
    seed: int,
    as_json: bool,
    **changes: Any,
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
    from whichone.cli.printing import emit_json
    from whichone.training.train_linker import train_linker
    from whichone.training.trainer import preset as settings_of

    *sources, out = places
    if not sources:
        raise UsageError(
            "files of mentions first, then the folder to write",
            hint="whichone train linker LINKS... OUT",
        )
    trained = train_linker(
        sources,
        out,
        corpus=corpus,
        checkpoint=checkpoint,
        settings=settings_of(preset, seed=seed, **changes),
        held_out=held_out,
        candidates=candidates,
        cross_batch=cross_batch,
        cross_epochs=cross_epochs,
        learn_from_dev=learn_from_dev,
        device=device,
    )
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


@click.command()
@makes("places", decides=False)
@data_options
@click.option("--checkpoint", help="A RAG checkpoint in Hugging Face's format to go on from.")
@click.option("--question-encoder", help="Or DPR's question encoder, or a pair's folder, with ...")
@click.option("--generator", help="... a BART or T5 checkpoint.")
@click.option(
    "--passage-encoder", help="Whose vectors are the index, and stay; the pair's other half."
)
@click.option(
    "--marginal",
    type=click.Choice(["sequence", "token"]),
    help="RAG-Sequence or RAG-Token; else what the checkpoint is, or sequence.",
)
@click.option("--documents", default=5, show_default=True, help="Documents a question.")
@click.option(
    "--reencode",
    type=click.Choice(["step", "epoch", "never"]),
    default="step",
    show_default=True,
    help="How often questions are encoded anew to find their documents.",
)
@click.option("--preset", default="rag", show_default=True)
@click.option("--epochs", type=int)
@click.option("--batch", type=int)
@click.option("--learning-rate", type=float)
@click.option("--longest", type=int, help="Tokens of a document with its question.")
@click.option("--per-source", type=int, help="Draw so many examples of each dataset an epoch.")
@click.option("--every", type=int, help="Steps between checkpoints.")
@click.option("--device", default=None, help="cuda or cpu; cuda where there is one.")
@seed_option
@json_option
def train_rag_command(
    checkpoint: str | None,
    question_encoder: str | None,
    generator: str | None,
    passage_encoder: str | None,
    marginal: Literal["sequence", "token"] | None,
    documents: int,
    reencode: Literal["step", "epoch", "never"],
    preset: str,
    device: str | None,
    seed: int,
    as_json: bool,
    **values: Any,
) -> None:
    """Train RAG on SOURCEs into the folder OUT; OUT/model is a RAG checkpoint of Hugging Face's.

    Every question's likelihood is summed over the documents that its encoder finds, so that the
    encoder learns which documents help. The passages' vectors stay as they are.

    \b
    whichone train rag BENCH OUT --question-encoder PAIR --generator BART
    whichone train rag BENCH OUT --checkpoint RAG --passage-encoder FOLDER --marginal token
    whichone read BENCH ANSWERS --reader rag --passages none -o model=OUT/model
    """
    from whichone.training.train_rag import RagOptions, RagStart, train_rag
    from whichone.training.trainer import preset as settings_of

    plan, out = plan_of(values)
    trained = train_rag(
        plan,
        out,
        start=RagStart(
            checkpoint=checkpoint,
            question_encoder=question_encoder,
            generator=generator,
            passage_encoder=passage_encoder,
            marginal=marginal,
        ),
        settings=settings_of(preset, seed=seed, **values),
        options=RagOptions(documents=documents, reencode=reencode),
        device=device,
    )
    tell(out, trained, as_json, model="model")


# `whichone train reader`: readers on KILT-format data, by the papers' presets.


@click.command()
@makes("places", decides=False)
@click.option(
    "--kind", type=click.Choice(["extractive", "seq2seq", "claims", "dpr"]), required=True
)
@click.option(
    "--checkpoint",
    required=True,
    help="RoBERTa-large, BART-base and BERT-base in AmbER; any HuggingFace folder or name.",
)
@click.option(
    "--context",
    type=click.Choice(["none", "gold", "retrieved"]),
    help="seq2seq: passages before the question, for every task (BART, T5, BART + DPR); "
    "without it one passage at a time, wrong ones as none (AmbER).",
)
@click.option(
    "--depth", default=3, show_default=True, help="With --context: at most so many passages."
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    type=click.Path(),
    help="With --context retrieved: a run over a SOURCE; BM25 where there is none.",
)
@click.option(
    "--prefix", default="", help="seq2seq: text before every input; {task} is the task's name."
)
@click.option("--preset", default="amber-reader", show_default=True)
@data_options
@click.option(
    "--negatives",
    type=click.Choice(["bm25", "tfidf", "namesake", "kilt"]),
    default="bm25",
    show_default=True,
    help="Whose best wrong page is shown as one without an answer; AmbER's paper: tfidf; KILT's claims: "
    "kilt, BM25's and another passage of the gold pages.",
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    help="Learn this task only; the reader then answers no other.",
)
@click.option("--base", help="dpr: the BERT folder that a file of DPR's own belongs to.")
@click.option("--hard", type=int, help="dpr: wrong passages a question is shown.")
@click.option("--epochs", type=int)
@click.option("--batch", type=int)
@click.option("--learning-rate", type=float)
@click.option("--longest", type=int, help="Tokens a text may have.")
@click.option(
    "--per-source",
    type=int,
    help="Draw so many examples of each SOURCE an epoch, a batch of one, in turn.",
)
@click.option("--device", default=None, help="cuda or cpu; cuda where there is one.")
@seed_option
@json_option
def train_reader_command(
    kind: Literal["extractive", "seq2seq", "claims", "dpr"],
    checkpoint: str,
    context: Literal["none", "gold", "retrieved"] | None,
    depth: int,
    runs: tuple[str, ...],
    prefix: str,
    preset: str,
    base: str | None,
    negatives: Literal["bm25", "tfidf", "namesake", "kilt"],
    tasks: tuple[str, ...],
    device: str | None,
    seed: int,
    as_json: bool,
    **changes: Any,
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
    from whichone.cli.printing import emit_json
    from whichone.training.train_readers import Shown, train_reader
    from whichone.training.trainer import preset as settings_of

    plan, out = plan_of(changes)
    if kind == "dpr":
        from whichone.training.train_readers import train_dpr_reader

        chosen = "dpr-reader" if preset == "amber-reader" else preset
        created = train_dpr_reader(
            plan,
            out,
            checkpoint=checkpoint,
            base=base,
            settings=settings_of(chosen, seed=seed, **changes),
            device=device,
        )
        tell(out, created, as_json, model="model")
        return
    settings = settings_of(preset, seed=seed, **changes)
    trained = train_reader(
        plan,
        out,
        kind=kind,
        checkpoint=checkpoint,
        settings=settings,
        negatives=negatives,
        tasks=tasks,
        shown=Shown(context=context, depth=depth, runs=runs, prefix=prefix),
        device=device,
    )
    if as_json:
        emit_json(
            {
                "out": out,
                "epochs": trained.epochs,
                "steps": trained.steps,
                "losses": trained.losses,
            }
        )
    else:
        click.echo(
            f"{out}/model: {trained.epochs} epochs, {trained.steps} steps,"
            f" loss {trained.losses[-1]:.4f}"
        )


# `whichone train reranker`: a cross-encoder that puts the right bearer first.


@click.command()
@makes("places", decides=False)
@click.option(
    "--checkpoint",
    required=True,
    help="What to start from: a cross-encoder, or any encoder, which gets a new head.",
)
@click.option("--preset", default="re-ranker", show_default=True)
@click.option(
    "--others", type=int, help="Right passages of the batch's others shown as wrong. [default: 3]"
)
@training_options
def train_reranker_command(
    checkpoint: str,
    preset: str,
    device: str | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Train a cross-encoder on SOURCEs into the folder OUT; OUT/best is what re-ranking takes.

    Sources, wrong passages, splits and the refusal of leaks are those of `train retriever`.

    \b
    whichone train reranker BENCH OUT --checkpoint all-MiniLM-L6-v2
    whichone retrieve BENCH RERANKED --retriever rerank -o run=RUN -o model=OUT/best
    """
    from whichone.training.train_encoders import Start, train_reranker

    plan, out = plan_of(values)
    trained = train_reranker(
        plan,
        out,
        start=Start(checkpoint),
        settings=settings_of(preset, values),
        device=device,
    )
    tell(out, trained, as_json)


# `whichone train retriever`: make an encoder better at telling namesakes apart.


@click.command()
@makes("places", decides=False)
@click.option(
    "--checkpoint",
    required=True,
    help="What to start from: a sentence-transformers or DPR folder, a package, a name, a DPR file.",
)
@click.option("--passage-checkpoint", help="The passage encoder, where it is another one (DPR).")
@click.option("--base", help="The BERT folder that a checkpoint file of DPR's own belongs to.")
@click.option(
    "--preset",
    default="default",
    show_default=True,
    help="default, dpr, eq-finetune or eq-scratch.",
)
@click.option(
    "--mode",
    type=click.Choice(["both", "only-questions", "only-passages"]),
    default="both",
    show_default=True,
    help="Which encoders learn.",
)
@click.option(
    "--kind",
    type=click.Choice(["dense", "late", "sparse"]),
    default="dense",
    show_default=True,
    help="One vector a passage, one a token (ColBERT), or weights of words (SPLADE).",
)
@click.option(
    "--size", type=int, help="late: numbers a token has, where it starts anew. [default: 128]"
)
@click.option("--flops", type=float, help="sparse: how much many words cost. [default: 0.0003]")
@click.option(
    "--per",
    type=click.Choice(["relation"]),
    help="With --mode only-questions: a question encoder for each relation beside the joint one.",
)
@training_options
def train_retriever_command(
    checkpoint: str,
    passage_checkpoint: str | None,
    base: str | None,
    kind: Any,
    preset: str,
    per: str | None,
    device: str | None,
    as_json: bool,
    **values: Any,
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
    from whichone.training.train_encoders import Start, train_retriever

    plan, out = plan_of(values)
    trained = train_retriever(
        plan,
        out,
        start=Start(checkpoint, passage_checkpoint, base),
        settings=settings_of(preset, values),
        kind=kind,
        per_relation=per is not None,
        device=device,
    )
    tell(out, trained, as_json)


# `whichone train space`: how close passages lie before and after a training.


@click.command()
@makes("places", decides=False)
@click.argument("places", nargs=-1, required=True, type=BenchmarkName(), metavar="BENCHMARK... OUT")
@click.option(
    "--encoder",
    "encoders",
    multiple=True,
    required=True,
    metavar="PATH|NAME|PACKAGE",
    help="One panel each: the checkpoint a training began with, and what it came to.",
)
@click.option("--relation", help="Whose gold passages are set off. [default: the most frequent]")
@click.option(
    "--most", default=400, show_default=True, help="Passages of each colour, and pairs of bearers."
)
@click.option("--device", default=None, help="cuda or cpu; cuda where there is one.")
@seed_option
@json_option
def train_space_command(
    places: tuple[str, ...],
    encoders: tuple[str, ...],
    relation: str | None,
    most: int,
    device: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Draw the gold passages of BENCHMARKs as encoders see them (t-SNE) to OUT (.png, .svg, .pdf).

    Printed are mean cosines: of the relation's passages, of the others, between both, and of the
    first passages of pages that share a name. An encoder may be a DPR pair or its passage half.

    \b
    whichone train space BENCH space.png --encoder all-MiniLM-L6-v2 --encoder OUT/best --relation P19
    """
    from pathlib import Path

    import msgspec

    from whichone.benchmarks.benchmark import Benchmark
    from whichone.cli.printing import emit_json, emit_table
    from whichone.runs.retrieve import default_index_folder
    from whichone.training import space

    *benchmarks, out = places
    if not benchmarks:
        raise UsageError("benchmarks first, then the figure", hint="BENCHMARK... OUT")
    opened = [Benchmark.open(place) for place in benchmarks]
    sample = space.sample_passages(
        opened, default_index_folder(opened[0].corpus), relation, most=most, seed=seed
    )
    spaces = []
    for name in encoders:
        vectors = space.vectors_of(space.open_space_encoder(name, device), sample)
        spaces.append((space.closeness(name, vectors, sample), vectors))
    space.draw_space(Path(out), spaces, sample, seed=seed)
    rows = [msgspec.structs.asdict(description) for description, _ in spaces]
    if as_json:
        emit_json({"figure": out, "relation": sample.relation, "closeness": rows})
    else:
        emit_table(rows, title=f"{out}: mean cosines, {sample.relation}")
