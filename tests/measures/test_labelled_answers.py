"""The outcome that rules read from 300 real answers against the one that a person gave them.

`labelled_answers.jsonl` was written by bench/outcome_answers.py: SmolLM2-135M, temperature 0.7, over questions of the
built-in AmbER sets, the first 300 answers. Each was then labelled by reading it, before the rules were run:
*right* where a reader would take the accepted answer from it, *namesake* where it is about another bearer even
if it gives none of that bearer's listed values, *wrong* where it is invented, merged or garbled.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from whichone.measures.outcomes import OUTCOMES, text_outcome

FILE = Path(__file__).with_name("labelled_answers.jsonl")


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    """(label, outcome by rule)"""
    rows = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    return [(r["label"], text_outcome(r["answer"], tuple(r["accepted"]), tuple(r["others"]))) for r in rows]


def test_three_hundred_answers_are_labelled(pairs) -> None:
    assert len(pairs) == 300
    labels = Counter(label for label, _ in pairs)
    assert set(labels) <= set(OUTCOMES)
    assert labels == {"wrong": 193, "namesake": 41, "right": 35, "refused": 27, "asked": 4}


def test_agreement(pairs) -> None:
    same = sum(label == found for label, found in pairs) / len(pairs)
    by_label, by_rule = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    chance = sum(by_label[o] * by_rule[o] for o in OUTCOMES) / len(pairs) ** 2
    kappa = (same - chance) / (1 - chance)
    assert round(same, 3) == 0.843
    assert round(kappa, 2) == 0.7


@pytest.mark.parametrize(
    ("kind", "precision", "recall"),
    [
        ("right", 0.76, 0.89),
        ("asked", 0.8, 1.0),
        ("refused", 0.92, 0.81),
        ("namesake", 0.76, 0.46),
        ("wrong", 0.86, 0.92),
    ],
)
def test_each_outcome(pairs, kind: str, precision: float, recall: float) -> None:
    both = sum(label == found == kind for label, found in pairs)
    assert round(both / sum(found == kind for _, found in pairs), 2) == precision
    assert round(both / sum(label == kind for label, _ in pairs), 2) == recall
