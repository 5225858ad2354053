"""How often a 95 % interval over few clusters contains the truth: five methods on simulated names.

    python bench/intervals.py
    python bench/intervals.py --trials 4000 --clusters 8,20 --methods jackknife-t,log-odds
    python bench/intervals.py --pilots builtin/amber,builtin/entityquestions --clusters 10,20,50

Clusters are names, values are a system's results on the questions about a name. Sizes are unequal (log-normal:
half of the clusters have three questions or fewer, some have sixty). At strength 0 they say nothing about the
values; at 0.5 and 1 larger clusters are easier (informative sizes). Four worlds: results right or wrong with
clusters that share a difficulty; results equal within a cluster; differences of two systems; differences that
only one cluster in ten has at all. The truth is the mean over all questions of 2 million clusters.

--pilots draws names from the published runs instead and asks `power` how many it takes to see .05, for every pair of
systems that differ: how often its interval contains the number that all names give, and what power a study reaches
that takes as many names as the number or as the interval's upper end says.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from measured import parsed
from whichone.benchmarks.benchmark import Benchmark
from whichone.measures.comparison import names_needed
from whichone.measures.intervals import degrees_of_freedom, sums_interval, t_quantile
from whichone.measures.measure import parse_measures
from whichone.measures.scores import Scores, score_run
from whichone.runs.run import Run

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]
DRAWN = 600
STRENGTHS = (0.0, 0.5, 1.0)
WORLDS = {
    "right or wrong, half": ("graded", 0.0),
    "right or wrong, high": ("graded", 2.0),
    "equal within, half": ("equal", 0.0),
    "equal within, high": ("equal", 2.0),
    "difference": ("difference", 0.0),
    "rare difference": ("rare", 0.0),
}


def draw(world: str, size: int, strength: float, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Sum and number of the values of each cluster."""
    kind, level = WORLDS[world]
    normal = generator.normal(size=size)
    counts = np.clip(np.round(np.exp(1.2 + 0.9 * normal)), 1, 60)
    difficulty = generator.normal(size=size)
    chance = 1 / (1 + np.exp(-(level + difficulty + strength * normal)))
    whole = counts.astype(np.int64)
    if kind == "graded":
        sums = generator.binomial(whole, chance).astype(np.float64)
    elif kind == "equal":
        sums = counts * (generator.random(size) < chance)
    else:
        other = 1 / (1 + np.exp(-(level + 0.3 + difficulty + 0.7 * generator.normal(size=size))))
        sums = (generator.binomial(whole, chance) - generator.binomial(whole, other)).astype(float)
        if kind == "rare":
            sums *= generator.random(size) < 0.1
    return sums, counts


def _bootstrap(sums: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
    drawn = np.random.default_rng(0).integers(0, len(sums), (DRAWN, len(sums)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    rest = sums[drawn] - means[:, None] * counts[drawn]
    errors = np.sqrt(_small(len(sums)) * (rest**2).sum(1)) / counts[drawn].sum(1)
    return means, errors, drawn


def _small(size: int) -> float:
    return size / (size - 1)


def percentile(sums: Floats, counts: Floats, bounds: Interval) -> Interval:
    low, high = np.quantile(_bootstrap(sums, counts)[0], [0.025, 0.975])
    return low, high


def bca(sums: Floats, counts: Floats, bounds: Interval) -> Interval:
    means, _, _ = _bootstrap(sums, counts)
    value = sums.sum() / counts.sum()
    left_out = (sums.sum() - sums) / (counts.sum() - counts)
    moved = left_out.mean() - left_out
    curve = (moved**3).sum() / (6 * (moved**2).sum() ** 1.5 + 1e-300)
    normal = NormalDist()
    below = ((means < value).mean() + (means <= value).mean()) / 2
    shift = normal.inv_cdf(float(np.clip(below, 0.001, 0.999)))
    ends = [shift + z for z in (-1.96, 1.96)]
    places = [normal.cdf(shift + end / (1 - curve * end)) for end in ends]
    low, high = np.quantile(means, places)
    return low, high


def studentised(sums: Floats, counts: Floats, bounds: Interval) -> Interval:
    means, errors, _ = _bootstrap(sums, counts)
    value = sums.sum() / counts.sum()
    error = np.sqrt(_small(len(sums)) * ((sums - value * counts) ** 2).sum()) / counts.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.nan_to_num((means - value) / errors, posinf=1e3, neginf=-1e3)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return value - high * error, value - low * error


def jackknife_t(sums: Floats, counts: Floats, bounds: Interval) -> Interval:
    value = sums.sum() / counts.sum()
    left_out = (sums.sum() - sums) / (counts.sum() - counts)
    error = np.sqrt(((left_out - value) ** 2).sum() / _small(len(sums)))
    half = t_quantile(0.975, float(len(sums) - 1)) * error
    return value - half, value + half


def degrees(sums: Floats, counts: Floats, bounds: Interval) -> Interval:
    value = sums.sum() / counts.sum()
    left_out = (sums.sum() - sums) / (counts.sum() - counts)
    error = np.sqrt(((left_out - value) ** 2).sum() / _small(len(sums)))
    half = t_quantile(0.975, degrees_of_freedom(counts)) * error
    return value - half, value + half


def log_odds(sums: Floats, counts: Floats, bounds: Interval) -> Interval:
    found = sums_interval(sums, counts, bounds=bounds)
    assert found.low is not None and found.high is not None, "fewer clusters than it takes"
    return found.low, found.high


METHODS: dict[str, Callable[[Floats, Floats, Interval], Interval]] = {
    "percentile": percentile,
    "bca": bca,
    "studentised": studentised,
    "jackknife-t": jackknife_t,
    "fewer-degrees": degrees,
    "log-odds": log_odds,
}


def pilots(benchmark: str, size: int, trials: int, seed: int) -> str:
    """One row: names drawn with replacement from real runs, as `power` sees them."""
    base, (acc,) = Benchmark.open(benchmark), parse_measures(["acc@1"])
    place = Path(__file__).parent / "published" / benchmark.rpartition("/")[2]
    runs = [Run.open(path) for path in sorted(place.iterdir())]
    scores = [score_run(run, base, [acc]) for run in runs]
    _, numbers = np.unique(scores[0].clusters, return_inverse=True)
    members = [np.flatnonzero(numbers == n) for n in range(numbers.max() + 1)]
    generator, normal = np.random.default_rng([seed, size]), NormalDist()
    pairs = held = 0
    reached: tuple[list[float], list[float]] = ([], [])
    for a, b in combinations(scores, 2):
        (truth,) = names_needed([a, b], measure="acc@1", difference=0.05)
        if truth.spread == 0:
            continue
        pairs += 1
        for _ in range(trials):
            drawn = [members[n] for n in generator.integers(0, len(members), size)]
            rows = np.concatenate(drawn)
            queries = [
                replace(base.queries[int(row)], name_set=f"{n}")
                for n, rows_of_name in enumerate(drawn) for row in rows_of_name
            ]  # fmt: skip
            pair = [
                Scores(s.system, s.benchmark, queries, [acc], {"acc@1": s.values["acc@1"][rows]})
                for s in (a, b)
            ]
            (found,) = names_needed(pair, measure="acc@1", difference=0.05)
            most = found.most if found.most is not None else found.names
            held += (found.fewest or 0) <= truth.names <= most
            for names, powers in zip((found.names, most), reached, strict=True):
                powers.append(normal.cdf(0.05 * math.sqrt(names) / truth.spread - 1.96))
    enough = np.mean(np.array(reached[1]) >= 0.795)
    return (
        f"| {benchmark} | {pairs} | {size} | {held / (pairs * trials):.3f} | {np.mean(reached[0]):.2f} "
        f"| {np.mean(reached[1]):.2f} | {enough:.3f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--clusters", default="8,10,20,50,100")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--pilots", default="", help="benchmarks whose published runs are drawn from")
    parser.add_argument("--seed", type=int, default=0)
    options = parsed(parser, small="--trials 20 --clusters 8")
    if options.pilots:
        print(
            "| benchmark | pairs | names in the pilot | interval holds | power by the number | power by its upper end | of which .80 or more |"
        )
        print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for benchmark in options.pilots.split(","):
            for size in map(int, options.clusters.split(",")):
                print(pilots(benchmark, size, options.trials, options.seed), flush=True)
        return
    methods = options.methods.split(",")
    print("| world | strength | truth | clusters |", " | ".join(methods), "|")
    print("| --- | ---: | ---: | ---: |", " | ".join("---:" for _ in methods), "|")
    lowest = dict.fromkeys(methods, 1.0)
    for world in WORLDS:
        bounds = (-1.0, 1.0) if "difference" in world else (0.0, 1.0)
        for strength in STRENGTHS:
            sums, counts = draw(world, 2_000_000, strength, np.random.default_rng(1))
            truth = sums.sum() / counts.sum()
            for size in map(int, options.clusters.split(",")):
                generator = np.random.default_rng([options.seed, size])
                trials = [draw(world, size, strength, generator) for _ in range(options.trials)]
                cells = []
                for name in methods:
                    ends = np.array([METHODS[name](s, c, bounds) for s, c in trials])
                    held = float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())
                    width = float((ends.clip(*bounds) @ [-1, 1]).mean())
                    lowest[name] = min(lowest[name], held)
                    cells.append(f"{held:.3f} ({width:.2f})")
                line = f"| {world} | {strength:g} | {truth:.3f} | {size} |"
                print(line, " | ".join(cells), "|", flush=True)
    print("lowest:", ", ".join(f"{name} {value:.3f}" for name, value in lowest.items()))


if __name__ == "__main__":
    main()
