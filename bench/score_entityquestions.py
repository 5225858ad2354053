"""Labelling every passage of a DPR results file, beside one plain `json.load` of the same file.

usage: python bench/score_entityquestions.py [--questions 2000] [--passages 100] [--words 100]
       [--file RESULTS.json] [--rounds 3]

Both run in processes of their own, in turn; the smallest wall time of each is compared. Memory is
the sum of the peaks of the command and of its largest worker times the number of workers.
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import json
import os
import random
import sys
import tempfile
from pathlib import Path

from measured import measure, parsed

TOKEN_MATCHERS = ("dpr", "entityquestions", "string-title", "dpr-title")
OTHERS = ("dpr-kilt", "dpr-regex", "substring")
BUDGET = 2.0
REFERENCE_MEMORY_MB = 548


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--passages", type=int, default=100)
    parser.add_argument("--words", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--file", type=Path, help="score this file instead of a generated one")
    given = parsed(parser, small="--questions 20 --passages 5 --rounds 1")
    with tempfile.TemporaryDirectory() as folder:
        path = given.file or Path(folder) / "results.json"
        if given.file is None:
            generate(path, given.questions, given.passages, given.words)
        print(f"{path.stat().st_size / 1e6:.0f} MB, {len(os.sched_getaffinity(0))} cores")
        compare(path, given.rounds)


def compare(path: Path, rounds: int) -> None:
    plain = f"import json; json.load(open({str(path)!r}))"
    commands = {"json.load": [sys.executable, "-c", plain]}
    for matcher in TOKEN_MATCHERS + OTHERS:
        arguments = ["score", "entityquestions", str(path), "--match", matcher, "--json"]
        commands[matcher] = [sys.executable, "-m", "whichone", *arguments]
    rounds_of: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            rounds_of[name].append(measured(command))
    best = {name: [min(column) for column in zip(*runs, strict=True)] for name, runs in rounds_of.items()}
    wall, cpu, _ = best["json.load"]
    print(f"{'':16}  wall s  of json.load   CPU s  of json.load    MB")
    for name, (seconds, cpu_seconds, megabytes) in best.items():
        print(
            f"{name:16} {seconds:7.2f} {seconds / wall:13.2f}"
            f" {cpu_seconds:7.2f} {cpu_seconds / cpu:13.2f} {megabytes:5.0f}"
        )
    worst = max(best[name][0] for name in TOKEN_MATCHERS) / wall
    most = max(row[2] for name, row in best.items() if name != "json.load")
    print(f"worst ratio of a token matcher {worst:.2f} (budget {BUDGET}), memory {most:.0f} MB", end=" ")
    print(f"(budget {REFERENCE_MEMORY_MB // 2})")


def measured(command: list[str]) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak megabytes of a process and its workers together."""
    used = measure(command)
    if used.code:
        sys.exit(f"{command} failed\n{used.output[-2000:]}")
    return used.wall, used.cpu, used.peak


def generate(path: Path, questions: int, passages: int, words: int, seed: int = 1) -> None:
    """Invented results: a vocabulary of unequal frequency, a twentieth of it accented."""
    rng = random.Random(seed)
    syllables = [a + b for a in ("b", "d", "gr", "k", "l", "st", "v") for b in ("a", "en", "or", "i")]
    vocabulary = []
    for _ in range(60_000):
        word = "".join(rng.choices(syllables, k=rng.randint(1, 4)))
        word += rng.choice("éüñøãčł") if rng.random() < 0.05 else ""
        vocabulary.append(word.capitalize() if rng.random() < 0.15 else word)
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(vocabulary))))

    def text() -> list[str]:
        drawn = (bisect.bisect(weights, rng.random() * weights[-1]) for _ in range(words))
        return [vocabulary[n] + ("," if rng.random() < 0.1 else "") for n in drawn]

    results = []
    for _ in range(questions):
        names = [rng.sample(vocabulary[20_000:], rng.randint(1, 3)) for _ in range(rng.randint(1, 4))]
        answers = [" ".join(name).title() for name in names]
        ctxs = []
        for rank in range(passages):
            shown = text()
            if rng.random() < 0.15:
                shown[rng.randrange(words)] = rng.choice(answers)
            title = " ".join(rng.sample(vocabulary, 2))
            ctxs.append({"id": str(rank), "title": title, "text": " ".join(shown), "score": "80.1"})
        question = f"Where was {rng.choice(vocabulary)} born?"
        results.append({"question": question, "answers": answers, "ctxs": ctxs})
    path.write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main()
