"""Names that a difference takes: by hand, and checked by the test it is meant for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from whichone.benchmarks.benchmark import save_benchmark
from whichone.errors import UsageError
from whichone.measures.comparison import names_needed, permutation_p
from whichone.measures.measure import parse_measure
from whichone.measures.scores import Scores
from whichone.records import Output, Passage, Provenance, Query

ACC = parse_measure("acc@1")


def scores(system: str, values: np.ndarray) -> Scores:
    queries = [Query(id=f"q{n}", task="qa", input="?", name_set=f"s{n}") for n in range(len(values))]
    return Scores(system, "b-1", queries, [ACC], {"acc@1": values.astype(float)})


def test_by_hand() -> None:
    """Half of 16 names differ by 1: spread sqrt(16/15 * .25), so ((1.95996 + .84162) * .5164 / .1)^2 = 209.3."""
    a, b = scores("a", np.zeros(16)), scores("b", np.array([0.0, 1.0] * 8))
    (found,) = names_needed([a, b], difference=0.1)
    assert found.spread == pytest.approx(np.sqrt(0.25 * 16 / 15))
    assert (found.names, found.pilot) == (210, 16)
    assert found.smallest == pytest.approx(2.80158 * found.spread / 4, abs=1e-4)


def test_the_test_sees_it_at_that_many_names() -> None:
    """Pairs won with .25 and lost with .15, a difference of .1: seen in about 80 % of the worlds."""
    generator = np.random.default_rng(2)

    def world(size: int) -> np.ndarray:
        return generator.choice([1.0, -1.0, 0.0], size, p=[0.25, 0.15, 0.6])

    pilot = world(20_000)
    (found,) = names_needed([scores("a", np.zeros(len(pilot))), scores("b", pilot)], difference=0.1)
    seen = [permutation_p(world(found.names), permutations=500) < 0.05 for _ in range(200)]
    assert 0.7 < np.mean(seen) < 0.9


def test_a_small_pilot_does_not_know_its_own_spread() -> None:
    """400 pilots of 10 names, pairs won with .3 and lost with .2: the truth is reach^2 * .49 / .15^2."""
    generator = np.random.default_rng(4)
    needed = 7.8489 * 0.49 / 0.15**2
    pilots = generator.choice([1.0, -1.0, 0.0], (400, 10), p=[0.3, 0.2, 0.5])
    intervals = [
        names_needed([scores("a", np.zeros(10)), scores("b", pilot)], difference=0.15)[0] for pilot in pilots
    ]
    covered = [n.fewest <= needed + 1 and needed <= n.most for n in intervals]
    assert np.mean(covered) > 0.93
    too_few = [n.names < 0.8 * needed for n in intervals]
    assert np.mean(too_few) > 0.2 > np.mean([n.most < 0.8 * needed for n in intervals])


def test_a_pilot_without_a_difference_promises_nothing() -> None:
    (found,) = names_needed([scores("a", np.ones(10)), scores("b", np.ones(10))], difference=0.05)
    assert (found.names, found.fewest) == (8, 8)
    assert found.most > 900  # 1 - 0.025 ** (1 / 10) of all names may still differ, by 1


def test_mistakes() -> None:
    a, b = scores("a", np.zeros(4)), scores("b", np.ones(4))
    with pytest.raises(UsageError, match="4 names say too little"):
        names_needed([a, b], difference=0.1)
    with pytest.raises(UsageError, match="fraction above 0"):
        names_needed([a, b], difference=0)


def test_a_benchmark_alone_takes_the_runs_beside_it(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from whichone.cli import whichone
    from whichone.errors import Missing

    command = CliRunner()
    queries = [
        Query(id=f"q{n}", task="qa", input=f"Where is place {n}?", name=f"n{n}", name_set=f"s{n}",
              outputs=(Output(answer="x", provenance=((Provenance(page=f"w:{n}"),),)),))
        for n in range(12)
    ]  # fmt: skip
    passages = [
        Passage(id=f"w:{n}#0", page=f"w:{n}", title=f"T{n}", text=f"place {n if n % 3 else 0}")
        for n in range(12)
    ]
    bench = str(tmp_path / "bench")
    save_benchmark(bench, name="b", queries=queries, passages=passages)
    alone = command.invoke(whichone, ["power", bench, "--difference", "0.05"])
    assert isinstance(alone.exception, Missing)
    for name, option in (("a", "k1=0.9"), ("b", "title_weight=0")):
        made = command.invoke(whichone, ["retrieve", bench, str(tmp_path / name), "-k", "3", "-o", option])
        assert made.exit_code == 0, made.output
    found = command.invoke(whichone, ["power", bench, "--difference", "0.05", "--json"])
    assert found.exit_code == 0, found.output
    (row,) = json.loads(found.stdout)
    assert row["pilot"] == 12
    assert "from 2 runs: a, b" in found.stderr
    printed = command.invoke(whichone, ["power", bench, "--difference", "0.05"])
    assert "with 10 names it held in 87 to 90 of 100 pilots" in printed.output
