"""Which questions of a benchmark a model learned from: a score on those is no test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.files.lines import read_json_lines

EXAMPLES = "examples.jsonl"
"""What `whichone train` learned from; it lies beside `best`, or one above for one of several encoders."""
_MODELS = ("encoder", "passage_encoder", "model")


class _Example(msgspec.Struct):
    question: str


def learned_from(options: Mapping[str, Any], benchmark: Benchmark) -> int:
    """How many of the questions a model among the options was trained on, by their text."""
    learned: set[str] = set()
    for name in _MODELS:
        folder = Path(str(options.get(name) or ""))
        if folder.name and folder.is_dir():
            place = folder.resolve()
            for file in (place / EXAMPLES, *(above / EXAMPLES for above in place.parents[:2])):
                if file.is_file():
                    learned.update(e.question for _, e in read_json_lines(file, _Example))
                    break
    return sum(query.input in learned for query in benchmark.queries) if learned else 0
