"""KILT scores of large prediction files, against one plain `json.loads` pass over the same files.

    python bench/score_kilt.py                     # 20,000 records of 100 results
    python bench/score_kilt.py --records 100000    # the size of the budget: at most 4 passes, 1.8 GB

The two programs run in turn, each in a process of its own, and the smaller of `--rounds` times
counts for each; a busy machine slows both, but takes the second core only from ours, so processor
seconds are printed beside the wall clock.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from measured import measure, parsed

WORDS = ("the a of in city river king queen album song film team war north new first music").split()  # noqa: SIM905
PASS = """
import json, sys
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            json.loads(line)
"""


class Cost(NamedTuple):
    wall: float
    processor: float
    memory: int  # the largest resident size of one process, in bytes


def words(rng: random.Random, low: int, high: int) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(low, high)))


def gold_record(rng: random.Random, number: int) -> tuple[dict[str, object], list[str]]:
    outputs: list[dict[str, object]] = []
    pages: list[str] = []
    for _ in range(rng.randint(1, 4)):
        entries = []
        for _ in range(rng.randint(1, 3)):
            page = str(rng.randrange(1, 2_000_000))
            pages.append(page)
            for _ in range(rng.randint(1, 2)):
                place = rng.randint(1, 30)
                entries.append(
                    {
                        "wikipedia_id": page,
                        "title": f"Title {page}",
                        "section": "Section::::Abstract.",
                        "start_paragraph_id": place,
                        "start_character": 0,
                        "end_paragraph_id": place,
                        "end_character": 40,
                        "bleu_score": 1.0,
                    }
                )
        outputs.append({"provenance": entries, "answer": words(rng, 1, 4)})
    return {"id": f"record-{number}", "input": words(rng, 5, 12), "output": outputs}, pages


def guess_record(
    rng: random.Random, gold: dict[str, object], pages: list[str], depth: int
) -> dict[str, object]:
    ranked = [str(rng.randrange(1, 2_000_000)) for _ in range(depth)]
    for page in pages:
        if rng.random() < 0.55:
            ranked[min(int(rng.expovariate(1 / 8)), depth - 1)] = page
    answers = [output["answer"] for output in gold["output"]]  # type: ignore[attr-defined]
    answer = rng.choice(answers) if rng.random() < 0.4 else words(rng, 1, 4)
    entries = [{"wikipedia_id": page} for page in ranked]
    return {"id": gold["id"], "output": [{"answer": answer, "provenance": entries}]}


def write_files(folder: Path, records: int, depth: int) -> list[str]:
    """Predictions in another order than gold; each record has a seed of its own, so none is kept."""
    order = list(range(records))
    with (folder / "gold.jsonl").open("w", encoding="utf-8") as file:
        for number in order:
            gold, _ = gold_record(random.Random(number), number)
            file.write(json.dumps(gold) + "\n")
    random.Random(7).shuffle(order)
    with (folder / "guess.jsonl").open("w", encoding="utf-8") as file:
        for number in order:
            rng = random.Random(number)
            gold, pages = gold_record(rng, number)
            file.write(json.dumps(guess_record(rng, gold, pages, depth)) + "\n")
    return [str(folder / "gold.jsonl"), str(folder / "guess.jsonl")]


def run(command: list[str]) -> Cost:
    used = measure(command)
    if used.code:
        raise SystemExit(f"{command} failed\n{used.output[-2000:]}")
    return Cost(used.wall, used.cpu, used.peak * 2**20)


def best(costs: list[Cost]) -> Cost:
    return Cost(min(c.wall for c in costs), min(c.processor for c in costs), max(c.memory for c in costs))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--depth", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", nargs=2, metavar=("GOLD", "GUESS"), help="score these instead")
    options = parsed(parser, small="--records 200 --depth 10 --rounds 1")
    with tempfile.TemporaryDirectory() as folder:
        files = options.files or write_files(Path(folder), options.records, options.depth)
        gold, guess = files
        named = ["--gold", str(gold), "--guess", str(guess)]
        ours = [sys.executable, "-m", "whichone", "score", "kilt", *named, "--json"]
        plain = [sys.executable, "-c", PASS, *files]
        rounds = [(run(plain), run(ours)) for _ in range(options.rounds)]
    one_pass, scores = best([r[0] for r in rounds]), best([r[1] for r in rounds])
    for name, cost in (("one json.loads pass", one_pass), ("whichone score kilt", scores)):
        print(
            f"{name:22} {cost.wall:7.2f} s wall {cost.processor:7.2f} s processor {cost.memory / 1e9:5.2f} GB"
        )
    print(
        f"{'ratio':22} {scores.wall / one_pass.wall:7.2f}        "
        f"{scores.processor / one_pass.processor:7.2f}             (budget 4, aim 1.5)"
    )


if __name__ == "__main__":
    main()
