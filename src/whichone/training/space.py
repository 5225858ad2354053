"""What training does to the space of passages: how close they lie before and after, and a picture.

EntityQuestions, Figure 2: the gold passages of one relation beside those of all other questions. And
what concerns namesakes: how close the bearers of one name lie.
"""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError, must_be_one, needs
from whichone.names import title_key
from whichone.options import Option, Seed, takes
from whichone.records import grouped
from whichone.retrieval.dense.dpr import is_dpr, open_side
from whichone.retrieval.dense.encoder import Encoder, need_encoder
from whichone.runs.retrieve import default_index_folder
from whichone.training.examples import ExampleMaker, Text

Points = npt.NDArray[np.float32]
LEAST = 5
COLOURS = ("#0072b2", "#d55e00")
FORMATS = (".png", ".svg", ".pdf")


class Sample(msgspec.Struct, frozen=True):
    """Gold passages of the relation and of the others, and pairs of passages that share a name."""

    relation: str
    asked: tuple[Text, ...]
    others: tuple[Text, ...]
    bearers: tuple[tuple[Text, Text], ...]

    def texts(self) -> list[Text]:
        return [*self.asked, *self.others, *(text for pair in self.bearers for text in pair)]


class Closeness(msgspec.Struct, frozen=True):
    """Mean cosines of one encoder's passages; None where there is nothing to compare."""

    encoder: str
    relation: float
    others: float
    between: float
    bearers: float | None


class SpaceOptions(msgspec.Struct, frozen=True, kw_only=True):
    encoders: Annotated[
        tuple[str, ...],
        Option(
            "One panel each: the checkpoint a training began with, and what it came to.",
            flags=("--encoder",),
            metavar="PATH|NAME|PACKAGE",
        ),
    ]
    relation: Annotated[
        str | None, Option("Whose gold passages are set off. [default: the most frequent]")
    ] = None
    most: Annotated[int, Option("Passages of each colour, and pairs of bearers.")] = 400
    device: Annotated[str | None, Option("cuda or cpu; cuda where there is one.")] = None
    seed: Seed = 0


@takes(SpaceOptions)
def compare_spaces(
    benchmarks: Sequence[str | Path], out: str | Path, plan: SpaceOptions
) -> tuple[str, list[Closeness]]:
    """The figure, and how close passages lie for each encoder; first the relation whose gold is set off."""
    opened = [Benchmark.open(place) for place in benchmarks]
    index = default_index_folder(opened[0].corpus)
    sample = sample_passages(opened, index, plan.relation, most=plan.most, seed=plan.seed)
    spaces = []
    for name in plan.encoders:
        vectors = vectors_of(open_space_encoder(name, plan.device), sample)
        spaces.append((closeness(name, vectors, sample), vectors))
    draw_space(Path(out), spaces, sample, seed=plan.seed)
    return sample.relation, [found for found, _ in spaces]


def sample_passages(
    benchmarks: Sequence[Benchmark], work: Path, relation: str | None, *, most: int = 400, seed: int = 0
) -> Sample:
    """Drawn by the seed alone; without a relation the one with most questions of all benchmarks."""
    by_relation: dict[str, dict[Text, None]] = {}
    for benchmark in benchmarks:
        for example in ExampleMaker(benchmark, work, kinds=()).examples(benchmark.queries)[0]:
            by_relation.setdefault(example.relation, {})[example.positive] = None
    known = {r: tuple(held) for r, held in by_relation.items() if r}
    if relation is None:
        relation = max(sorted(known), key=lambda r: len(known[r]), default="")
    must_be_one(relation, known, f"no question asks for the relation {relation!r}")
    asked = known[relation]
    others = tuple(dict.fromkeys(t for r, held in sorted(by_relation.items()) if r != relation for t in held))
    others = tuple(t for t in others if t not in set(asked))
    generator = np.random.default_rng(seed)
    asked, others = _drawn(asked, most, generator), _drawn(others, most, generator)
    if min(len(asked), len(others)) < LEAST:
        raise BadInput(
            f"{len(asked)} passages of {relation} and {len(others)} of other questions are too few"
        )
    bearers = [pair for benchmark in benchmarks for pair in _bearers(benchmark)]
    return Sample(relation, asked, others, _drawn(bearers, most, generator))


def open_space_encoder(given: str, device: str | None = None) -> Encoder:
    """Any encoder; of DPR the passage half's folder alone is enough."""
    if Path(given).is_dir() and is_dpr(Path(given)):
        return open_side("passage", Path(given), device)
    return need_encoder(given, device=device)


def _drawn(items: Sequence[Any], most: int, generator: np.random.Generator) -> tuple[Any, ...]:
    return tuple(items[i] for i in sorted(generator.permutation(len(items))[:most]))


def _bearers(benchmark: Benchmark) -> list[tuple[Text, Text]]:
    """First passages of two pages of one name: the benchmark's sets, else equal titles."""
    first: dict[str, Text] = {}
    for passage in benchmark.passage_records():
        first.setdefault(passage.page, Text(passage.title, passage.text, passage.page))
    groups = [[p for b in s.bearers for p in b.pages if p in first] for s in benchmark.sets]
    if not groups:
        groups = list(grouped((title_key(text.title), page) for page, text in first.items()).values())
    return [(first[a], first[b]) for pages in groups for a, b in combinations(pages, 2) if a != b]


def vectors_of(encoder: Encoder, sample: Sample) -> Points:
    """Unit vectors, so that closeness is the cosine whatever the encoder was trained with."""
    texts = sample.texts()
    vectors = encoder.passages([t.title for t in texts], [t.text for t in texts])
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def closeness(name: str, vectors: Points, sample: Sample) -> Closeness:
    a, b = len(sample.asked), len(sample.others)
    asked, others, pairs = vectors[:a], vectors[a : a + b], vectors[a + b :]
    return Closeness(
        encoder=name,
        relation=mean_pairwise(asked),
        others=mean_pairwise(others),
        between=float((asked @ others.T).mean()),
        bearers=float((pairs[::2] * pairs[1::2]).sum(1).mean()) if len(pairs) else None,
    )


def mean_pairwise(vectors: Points) -> float:
    """The mean cosine of two different ones."""
    count = len(vectors)
    return float((np.square(vectors.sum(0)).sum() - count) / (count * (count - 1)))


def draw_space(
    file: Path, values: Sequence[tuple[Closeness, Points]], sample: Sample, *, seed: int = 0
) -> None:
    """One panel an encoder, t-SNE seeded, the relation's passages in one colour, the others in another."""
    if file.suffix not in FORMATS:
        raise UsageError(f"a figure is written as {', '.join(FORMATS)}", where=str(file))
    with needs("matplotlib", "figures"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    with needs("sklearn", "dense"):
        from sklearn.manifold import TSNE
    figure = Figure(figsize=(5 * len(values), 4.6), layout="constrained")
    FigureCanvasAgg(figure)
    a, b = len(sample.asked), len(sample.others)
    for place, (description, vectors) in enumerate(values):
        axes = figure.add_subplot(1, len(values), place + 1)
        if np.ptp(vectors[: a + b], axis=0).max() < 1e-6:
            raise BadInput(
                f"{description.encoder}: all vectors are equal, there is nothing to draw",
                hint="the model tells no passage from another: was it trained?",
            )
        near = min(30.0, (a + b) / 4)
        flat = TSNE(perplexity=near, init="pca", random_state=seed).fit_transform(vectors[: a + b])
        for colour, rows, label in (
            (COLOURS[1], slice(a, a + b), "other questions"),
            (COLOURS[0], slice(0, a), sample.relation),
        ):
            axes.scatter(flat[rows, 0], flat[rows, 1], s=9, c=colour, label=label, alpha=0.7)
        axes.set_title(
            f"{description.encoder}: {sample.relation} {description.relation:.2f}, others {description.others:.2f}"
        )
        axes.set_xticks([])
        axes.set_yticks([])
        axes.legend(loc="best", fontsize=8)
    figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
