"""Published runs of the built-in benchmarks, and the page that ranks them.

    python bench/leaderboard.py                       # what is missing of all, then docs/leaderboard.md
    python bench/leaderboard.py --only bm25,tfidf     # some systems
    python bench/leaderboard.py --page                # the page alone, from the runs that are there

The runs are in bench/published/BENCHMARK/SYSTEM; `whichone reproduce` makes each of them again. Models are looked for in
`.models` (`./dev models`), and systems whose model is not there are left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PLACE = "bench/published"
BENCHMARKS = ("builtin/amber", "builtin/entityquestions")
DEPTH = 20
MEASURES = ("acc@1", "acc@5", "confused@20")
MODELS = ".models"
QUICK = ("bm25", "tfidf", "title-lookup", "linker", "popular")
"""Made again by a test."""
SYSTEMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "bm25": ("bm25", ()),
    "tfidf": ("tfidf", ()),
    "title-lookup": ("title-lookup", ()),
    "popular": ("popular", ("knowledge=benchmark",)),
    "linker": ("linker", ()),
    "namesake": ("namesake", ("encoder=none",)),
    "namesake-kb": ("namesake", ("encoder=none", "knowledge=benchmark")),
    "minilm": ("dense", (f"encoder={MODELS}/all-MiniLM-L6-v2-int8",)),
    "e5-small": ("dense", (f"encoder={MODELS}/e5-small-v2-int8",)),
    "bge-small": ("dense", (f"encoder={MODELS}/bge-small-en-v1_5-int8",)),
    "fusion": ("fusion", (f"runs={PLACE}/NAME/bm25,{PLACE}/NAME/minilm",)),
    "namesake-minilm": ("namesake", (f"encoder={MODELS}/all-MiniLM-L6-v2-int8",)),
    "late": ("late", (f"model={MODELS}/answerai-colbert-small-backbone-int8",)),
    "cross-encoder": (
        "rerank",
        (f"run={PLACE}/NAME/bm25", f"model={MODELS}/ms-marco-MiniLM-L-12-v2-int8", "depth=10"),
    ),
}


def folder(benchmark: str, system: str) -> Path:
    return ROOT / PLACE / benchmark.partition("/")[2] / system


def options_of(benchmark: str, system: str) -> list[str]:
    return [o.replace("NAME", benchmark.partition("/")[2]) for o in SYSTEMS[system][1]]


def make(benchmark: str, system: str) -> None:
    """One run, from the root of the repository, so that its manifest has no place of this machine in it."""
    options = options_of(benchmark, system)
    needed = [o.partition("=")[2] for o in options if MODELS in o]
    if not all((ROOT / place).exists() for place in needed):
        print(f"{benchmark} {system}: {', '.join(needed)} is not here", file=sys.stderr)
        return
    words = [
        "retrieve",
        benchmark,
        os.path.relpath(folder(benchmark, system), ROOT),
        "-k",
        str(DEPTH),
    ]
    words += ["--retriever", SYSTEMS[system][0], "--name", system]
    words += [word for option in options for word in ("-o", option)]
    subprocess.run([sys.executable, "-m", "whichone", *words], cwd=ROOT, check=True)


def page() -> str:
    """The page, from the runs that are there."""
    parts = [_HEAD]
    for benchmark in BENCHMARKS:
        runs = [name for name in SYSTEMS if (folder(benchmark, name) / "manifest.json").exists()]
        if len(runs) > 1:
            parts.append(_table(benchmark, runs))
    return "\n\n".join(parts) + "\n"


def _table(benchmark: str, names: list[str]) -> str:
    import numpy as np

    from whichone.measures.measure import parse_measures
    from whichone.measures.ranks import ranks_of
    from whichone.measures.score import score_folder
    from whichone.measures.scores import cluster_note, estimate

    measures = parse_measures(MEASURES)
    systems = [score_folder(folder(benchmark, n), MEASURES, benchmark=benchmark) for n in names]
    ranks = ranks_of(systems, measures[0])
    every = np.arange(len(systems[0].queries))
    rows = [(ranks[s.system], s, [estimate(s, m, every) for m in measures]) for s in systems]
    rows.sort(key=lambda row: (row[0], -(row[2][0].value or 0.0), row[1].system))
    lines = [
        f"## {benchmark}",
        "",
        f"{systems[0].benchmark}, {len(every):,} questions; {cluster_note(systems[0].queries)}.",
        "",
        f"| rank | system | {' | '.join(MEASURES)} | made by |",
        f"| --- | --- | {' | '.join('---' for _ in MEASURES)} | --- |",
    ]
    for rank, scores, values in rows:
        retriever = SYSTEMS[scores.system][0]
        made = " ".join(
            [f"--retriever {retriever}", *(f"-o {o}" for o in options_of(benchmark, scores.system))]
        )
        lines.append(f"| {rank} | {scores.marked} | {' | '.join(map(_shown, values))} | `{made}` |")
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if value.value is None:
        return "–"
    if value.low is None:
        return f"{value.value:.3f}"
    return f"{value.value:.3f} [{value.low:.3f}, {value.high:.3f}]"


_HEAD = f"""# Leaderboard

Runs that are published with the built-in benchmarks, as files in `{PLACE}` with their manifests. `whichone reproduce {PLACE}/amber/bm25` makes one
again and compares it. This page is generated: `python bench/leaderboard.py`.

A system's rank on acc@1 is one more than the number of systems that are significantly better (paired permutation test by cluster, Holm-corrected, p < 0.05):
systems that cannot be distinguished share a rank. Systems that see a knowledge base are marked. The built-in worlds are small and clean: compare systems here,
never with figures of papers."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="systems, with commas between")
    parser.add_argument("--benchmarks", default=",".join(BENCHMARKS))
    parser.add_argument("--page", action="store_true", help="make no runs")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else list(SYSTEMS)
    for benchmark in () if arguments.page else arguments.benchmarks.split(","):
        for system in wanted:
            make(benchmark, system)
    (ROOT / "docs" / "leaderboard.md").write_text(page())


if __name__ == "__main__":
    main()
