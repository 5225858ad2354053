"""`whichone build`: benchmarks of a catalogue and of PAQ, and noisy, incomplete, small or split ones of another benchmark."""

from typing import Annotated

from whichone.benchmarks import derive
from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.catalogue_build import CatalogueOptions, build_catalogue, examples
from whichone.benchmarks.open_questions import PaqOptions, sample_paq
from whichone.cli.click_options import command, corpus_option
from whichone.cli.printing import emit, emit_benchmark, emit_table
from whichone.errors import BadInput, UsageError
from whichone.options import Argument, Asked, Existing, Json, Memory, Option, Place, Seed
from whichone.runs.run import Run


@command("catalogue", makes="bench")
@corpus_option
def build_catalogue_command(
    kb: Existing,
    bench: Place,
    *,
    options: CatalogueOptions,
    wordings: Annotated[str | None, Option("A file of wordings of your own.", kind="exists")] = None,
    called: Annotated[str | None, Option("The benchmark's name; the catalogue's when not given.")] = None,
    shown: Annotated[
        int, Option("Print so many questions drawn at random.", flags=("--examples",), shown=False)
    ] = 0,
    as_json: Json = False,
) -> None:
    """Make questions about the namesakes of a knowledge base KB and write them to the folder BENCH.

    Who is meant is said by an attribute, described in other words, denied by what the namesake is, or left
    out: a search that only compares words does not get all of them.

    \b
    whichone build catalogue KB BENCH --examples 30
    whichone build catalogue KB BENCH --underspecified 0.5
    whichone build catalogue KB TASKS --tasks act --limit 2000
    """
    created = build_catalogue(kb, bench, options, wordings=wordings, called=called)
    emit_benchmark(created, as_json)
    if shown and not as_json:
        emit_table(examples(created, shown, options.seed))


# `whichone build noise`: the same questions with names as people write them.


@command("noise", makes="out")
def build_noise_command(
    bench: Place, out: Place, *, plan: derive.NoiseOptions, as_json: Json = False
) -> None:
    """Write the names in the questions of BENCH as people do, and keep the clear ones beside, in OUT.

    Kinds are typo, initials, order, nickname, accents, partial, possessive and case. Every system can then be
    scored against the kind and the strength of noise.

    \b
    whichone build noise BENCH OUT --kind typo --kind initials
    whichone retrieve OUT RUN --retriever bm25
    whichone score RUN --measures acc@1 --by noise,strength
    """
    emit_benchmark(derive.noisy_benchmark(Benchmark.open(bench), out, plan), as_json)


# `whichone build absent`: a share of the bearers left out, whose questions stay.


@command("absent", makes="out")
def build_absent_command(
    bench: Asked, out: Place, *, plan: derive.AbsentOptions, as_json: Json = False
) -> None:
    """Leave a share of the bearers of BENCH out of its corpus and keep their questions, marked, in OUT.

    Their pages and names go, so that the one who is meant is not there. A system that hands a namesake over
    all the same is wrong, and one that refuses those who are there is of no use: the measures are
    handed_over and refused_present.

    \b
    whichone build absent BENCH OUT --share 0.2
    whichone retrieve OUT RUN --retriever namesake
    whichone score RUN --measures handed_over,refused_present
    whichone check RUN --max-handed-over 0.2 --max-refused-present 0.05
    """
    emit_benchmark(derive.absent_benchmark(Benchmark.open(bench), out, plan), as_json)


# `whichone build paq`: a sample of PAQ to train on.


@command("paq", makes="bench")
@corpus_option
def build_paq_command(
    metadata: Place,
    passages: Place,
    bench: Place,
    *,
    plan: PaqOptions,
    memory: Memory = "2GB",
    as_json: Json = False,
) -> None:
    """Sample PAQ as the EntityQuestions paper does, over DPR's PASSAGES, into the benchmark BENCH.

    Passages with at least three questions, one question each, split 70/15/15 with no page and no name
    in two parts; `train retriever` learns from the training part.

    \b
    whichone build paq PAQ.metadata.jsonl.gz psgs_w100.tsv BENCH --sample 100000
    whichone train retriever BENCH OUT --checkpoint bert-base-uncased --negatives bm25
    """
    emit_benchmark(sample_paq(metadata, passages, bench, plan, memory=memory), as_json)


# `whichone build small`: a benchmark over a small corpus of its own.


@command("small", makes="places")
def build_small_command(
    places: Annotated[tuple[str, ...], Argument(metavar="BENCH [RUN...] OUT")],
    *,
    plan: derive.SmallOptions,
    as_json: Json = False,
) -> None:
    """Keep the queries of BENCH and only the pages that make them hard; write it to OUT.

    Gold pages, the pages of all bearers of the names, and the first k pages of each RUN for each
    query: a corpus for a laptop, beside the full one.

    \b
    whichone build small BENCH RUN_BM25 RUN_DENSE OUT -k 20
    """
    if len(places) < 2:
        raise UsageError("a benchmark first, then runs, last the folder to write")
    benchmark = Benchmark.open(places[0])
    runs = [Run.open(place) for place in places[1:-1]]
    for run in runs:
        if run.benchmark_id != benchmark.id:
            raise BadInput(f"the run is over {run.benchmark_id}, not {benchmark.id}", file=run.path)
    names = [run.name for run in runs]
    notes = [n if names.count(n) == 1 else f"{n} ({r.path.name})" for n, r in zip(names, runs, strict=True)]
    created = derive.small_corpus(
        benchmark,
        places[-1],
        {name: run.ranked_pages() for name, run in zip(notes, runs, strict=True)},
        plan,
        sources={f"run {n}": r.folder.content_hash for n, r in zip(notes, runs, strict=True)},
    )
    emit_benchmark(created, as_json)


# `whichone build splits`: parts of a benchmark that share no name and no entity.


@command("splits", makes="out", parts=True)
def build_splits_command(
    benchmark: Asked,
    out: Place,
    *,
    shares: Annotated[tuple[str, ...], Option("The parts and their shares of the queries.", kind="words")] = (
        "train=0.8",
        "dev=0.1",
        "test=0.1",
    ),
    by: Annotated[
        str | None, Option("Instead: a part for each value of this attribute, such as split.")
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Split BENCHMARK by name into benchmarks OUT/train, OUT/dev and OUT/test.

    Names that share an entity or a gold page go together, so that nothing learnt on one part is
    asked in another. All parts are asked of the same corpus.

    \b
    whichone build splits BENCH PARTS --shares train=0.7,test=0.3 --seed 1
    whichone build splits INVENTORS PARTS --by split
    """
    whole = Benchmark.open(benchmark)
    splits = (
        derive.own_parts(whole, out, by)
        if by
        else derive.split_benchmark(whole, out, _shares(shares), seed=seed)
    )
    rows = []
    for part, split in splits.items():
        counts = {what: split.folder.manifest.counts[what] for what in ("queries", "sets")}
        rows.append({"part": part, "id": split.id, **counts, "path": str(split.folder.root)})
    emit(rows, as_json)


def _shares(words: tuple[str, ...]) -> dict[str, float]:
    shares = {}
    for word in words:
        part, _, share = word.partition("=")
        try:
            shares[part] = float(share)
        except ValueError:
            raise UsageError(f"{word!r} is no part and share", hint="write it as dev=0.1") from None
        derive.checked_part(part)
    return shares
