"""Mapping evidence to spans: the pruned search beside the exhaustive one, same pages, same result.

    python bench/map_spans.py [--pages 6] [--seed 7]

Pages are invented: paragraphs of 30 to 120 words drawn by Zipf's law. Evidence is a sentence of the
page with words changed, as between two versions of Wikipedia. The exhaustive search computes one
BLEU for every span of every paragraph; `published` is the released program's, which looks at three
paragraphs only.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from typing import Any

from msgspec.structs import astuple

from measured import parsed
from whichone.papers.kilt.spans import match_answer, page_tokens, search, tokenize, words_and_marks

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "papers" / "kilt" / "mapping"))
from test_mapping_spans import exhaustive


def invented_page(rng: random.Random, words: list[str], totals: list[float]) -> list[str]:
    return [
        " ".join(rng.choices(words, cum_weights=totals, k=rng.randint(30, 120)))
        for _ in range(rng.randint(5, 15))
    ]


def changed(rng: random.Random, paragraph: str, words: list[str]) -> str:
    pieces = paragraph.split()
    size = rng.randint(8, 25)
    start = rng.randrange(max(1, len(pieces) - size))
    kept = [
        rng.choice(words) if rng.random() < 0.15 else piece
        for piece in pieces[start : start + size]
        if rng.random() > 0.05
    ]
    return " ".join(kept)


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    started = time.process_time()
    found = function(*arguments)
    return time.process_time() - started, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=6)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parsed(parser, small="--pages 1")
    rng = random.Random(arguments.seed)
    words = [f"w{n}" for n in range(20_000)]
    totals = list(accumulate(1 / (n + 1) for n in range(len(words))))
    spent = {"exhaustive": 0.0, "published": 0.0, "pruned": 0.0}
    spans = same = 0
    for _ in range(arguments.pages):
        paragraphs = invented_page(rng, words, totals)
        page = page_tokens(paragraphs)
        evidence = changed(rng, rng.choice(paragraphs), words)
        original = [token.text for token in tokenize(evidence)]
        spans += sum(len(p) * (len(p) + 1) // 2 for p in page)
        seconds, expected = timed(exhaustive, original, page)
        spent["exhaustive"] += seconds
        seconds, _ = timed(match_answer, evidence, paragraphs, words_and_marks)
        spent["published"] += seconds
        seconds, found = timed(search, original, page)
        spent["pruned"] += seconds
        same += (astuple(found) if found else None) == expected
    print(f"{arguments.pages} pages, {spans:,} spans, {same} of {arguments.pages} results equal")
    for name, seconds in spent.items():
        ratio = spent["exhaustive"] / seconds
        print(f"{name:<12}{seconds:9.3f} s{ratio:10.1f} times faster than exhaustive")
    if same != arguments.pages:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
