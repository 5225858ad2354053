"""Every program in bench/ with `--small`: it ends well, and prints what it is to print. `./dev bench --small` runs these."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parent.parent / "bench"
PROGRAMS = sorted(p for p in BENCH.glob("*.py") if "__main__" in p.read_text("utf-8"))
SHAPES = {
    "amber_build": r'"alignment, ratio": \[\s*[\d.]+',
    "amber_end_to_end": r'"all over the plain pass": \{\s*"paper, corpus none"',
    "audit_likelihood": r"over bearers [+-][\d.]+",
    "bm25": r"whichone +[\d,]+ +[\d.]+",
    "dense_limited": r"rankings equal: True",
    "figures": r"[1-9]\d* figures in",
    "fuzz": r"damaged inputs, 0 tracebacks",
    "growth": r"\| score \| 300: \d+ MB",
    "intervals": r"lowest: percentile [\d.]+",
    "ladder": r"48k-\w+: \d+ of \d+ questions",
    "leaderboard": r"bm25, 75 questions, 0 failures",
    "ledger": r"\d+ lines in .*ledger\.md",
    "linking": r"[\d,]+ pages of passages, \d+ of dumps",
    "lookup": r"names in texts of 100 words",
    "map_spans": r"1 of 1 results equal",
    "namesake_service": r"at most \d+ MB",
    "namesake_worlds": r"\| russian \| 20",
    "reading": r"five measures in a table +[\d.]+ µs",
    "report_size": r"report: [\d.]+ CPU s",
    "score_entityquestions": r"worst ratio of a token matcher",
    "score_kilt": r"ratio +[\d.]+ +[\d.]+",
    "web_load": r"28 answers confirmed, 0 of them lost",
    "web_search": r"2 runs: peak \d+ MB",
    "wikidata_size": r'"step": "amber", "complete": true',
    "wikipedia": r"XML to tables takes [\d.]+ of the parser alone",
    "wikipedia_larger": r"\| film \{|\| person \{|\| \w+ \{",
    "wikipedia_size": r'"step": "ask-namesake", "complete": true',
}
"""What is somewhere in the output; of the others it is enough that they end well."""


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_small(program: Path) -> None:
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(program), "--small"], capture_output=True, text=True, timeout=280
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-3000:]
    if done.stdout.startswith("skipped: "):
        pytest.skip(done.stdout.splitlines()[0])
    assert re.search(SHAPES.get(program.stem, ""), output), output[-3000:]
    print(f"{program.stem}: {time.perf_counter() - started:.0f} s")
