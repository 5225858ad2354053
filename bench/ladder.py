"""The ladder of docs/results.md: what `docs/experiments/ladder.toml` needs, and the section that it makes.

    python bench/ladder.py prepare ../shared artefacts/ladder           # questions, lists to learn from
    python bench/ladder.py vectors artefacts/ladder --models .models    # every encoder over the corpora; best on a GPU
    whichone experiment docs/experiments/ladder.toml --allow bench.bearers.ranked:Ranked
    python bench/ladder.py cost artefacts/ladder --models .models       # CPU time of the rows that a GPU ranked
    python bench/ladder.py section artefacts/ladder                     # tables and paired tests, as Markdown

Every system is asked the same questions: of the half of the names that nothing was trained on, all on shared names,
and draws, by the hash of their ids, of those on unique names and of HotpotQA; all questions of the AmbER sets' half.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from measured import parsed

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

UNIQUE, HOTPOT = 60, 40


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=["prepare", "vectors", "cost", "section"])
    parser.add_argument("places", nargs="+", type=Path, metavar="[SHARED] WORK")
    parser.add_argument("--models", type=Path, default=Path(".models"))
    parser.add_argument("--only", default="", help="vectors: encoders, between commas")
    options = parsed(parser, small="prepare {shared} {place}")
    work = options.places[-1]
    if options.stage == "prepare":
        from bearers.data import prepare

        if len(options.places) != 2:
            parser.error("prepare takes SHARED and WORK")
        if not (work / "train.jsonl.gz").exists():
            prepare(options.places[0], work)
        draw(work)
    elif options.stage == "vectors":
        from bearers.encoders import vectors

        only = options.only.split(",") if options.only else None
        vectors(work, work / "vectors", options.models, only)
    elif options.stage == "cost":
        from bearers.costs import measure

        measure(work, options.models)
    else:
        from bearers.section import section

        section(work)


def draw(work: Path) -> None:
    """`work/drawn`: the questions of `work/48k` that every system is asked."""
    from whichone.benchmarks.benchmark import Benchmark, save_benchmark
    from whichone.training.held_out import share_of

    whole = Benchmark.open(work / "48k")
    by_hash = sorted(whole.queries, key=lambda q: share_of(q.id))
    simple = [q for q in by_hash if q.attributes["dataset"] != "kilt-hotpotqa"]
    chosen: list[Any] = [q for q in simple if q.name_set]
    chosen += [q for q in simple if not q.name_set][:UNIQUE]
    chosen += [q for q in by_hash if q.attributes["dataset"] == "kilt-hotpotqa"][:HOTPOT]
    kept = {q.id for q in chosen}
    drawn = save_benchmark(
        work / "drawn", name="48k", queries=[q for q in whole.queries if q.id in kept],
        sets=whole.sets, passages=whole.passage_records(),
    )  # fmt: skip
    print(f"{drawn.id}: {len(drawn.queries)} of {len(whole.queries)} questions")


if __name__ == "__main__":
    main()
