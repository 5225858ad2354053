"""`whichone train retriever`: from benchmarks and a checkpoint to an encoder that tells namesakes apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError
from whichone.files.lines import write_atomic
from whichone.progress import talk
from whichone.records import Query
from whichone.retrieval.retrieve import default_index_folder
from whichone.training.bi_encoder import BiEncoderTraining, Trained
from whichone.training.examples import Example, kinds, read_examples, write_examples
from whichone.training.negatives import ExampleMaker
from whichone.training.settings import Settings
from whichone.training.splits import check_leaks, share_of, split_by_name, without_leaks
from whichone.versions import environment


def benchmark_examples(
    benchmark: Benchmark, queries: Sequence[Query], settings: Settings
) -> tuple[list[Example], list[str]]:
    """Examples of some of a benchmark's queries, with the wrong passages the settings ask for."""
    maker = ExampleMaker(
        benchmark, default_index_folder(benchmark), kinds=settings.kinds, seed=settings.seed
    )
    return maker.examples(queries)


def train_retriever(
    sources: Sequence[str | Path],
    out: str | Path,
    *,
    checkpoint: str,
    settings: Settings,
    held_out: float = 0.2,
    test: Sequence[str | Path] = (),
    drop_leaks: bool = False,
    device: str | None = None,
) -> Trained:
    """Train on benchmarks and example files; what is never learned from is said in `training.json`."""
    if not sources:
        raise UsageError("nothing to learn from", hint="name benchmarks or example files")
    examples: list[Example] = []
    unseen: list[Query] = []
    for source in sources:
        if Path(source).is_file():
            examples += read_examples(source)
            continue
        opened = Benchmark.open(source)
        train, test_queries = split_by_name(opened.queries, held_out, seed=settings.seed)
        found, without = benchmark_examples(opened, train, settings)
        if without:
            talk(f"{source}: {len(without)} queries have no gold passage and teach nothing")
        examples += found
        unseen += test_queries
    for place in test:
        unseen += Benchmark.open(place).queries
    if drop_leaks:
        kept = without_leaks(examples, unseen)
        talk(
            f"{len(examples) - len(kept)} examples left out because the test data hold their names"
        )
        examples = kept
    check_leaks(examples, unseen)
    learn = [e for e in examples if share_of(e.name or e.id, settings.seed + 1) >= 0.1]
    watch = [e for e in examples if share_of(e.name or e.id, settings.seed + 1) < 0.1]
    talk(f"{len(learn)} examples to learn from ({kinds(learn)}), {len(watch)} to stop by")
    folder = Path(out)
    training = BiEncoderTraining(checkpoint, learn, watch, folder, settings, device=device)
    trained = training.run()
    write_examples(folder / "examples.jsonl", learn)
    write_atomic(
        folder / "training.json",
        _told(trained, training.identity, unseen, settings, checkpoint),
    )
    return trained


def _told(
    trained: Trained,
    identity: dict[str, Any],
    unseen: Sequence[Query],
    settings: Settings,
    checkpoint: str,
) -> bytes:
    document = {
        "checkpoint": checkpoint,
        "settings": msgspec.to_builtins(settings),
        "identity": identity,
        "epochs": trained.epochs,
        "steps": trained.steps,
        "losses": trained.losses,
        "held_out": trained.held_out,
        "best_epoch": trained.best_epoch,
        "never_seen": [q.id for q in unseen],
        "made": environment(),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
