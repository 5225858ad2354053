"""Clean wording: no query of the built-in world or of two invented ones has a mistake that we know of."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.by_name import builtin_benchmark, ingest_dumps
from whichone.papers.amber.build_amber import build_amber
from whichone.papers.amber.collection import PUBLISHED, load_collection, rules_called
from whichone.papers.amber.instantiate import CLEAN, clean_template, cleaned
from whichone.world.invent import Invention, write_invented

MISTAKES = {
    "a blank before a stop": r"\s[.?!,;]",
    "two stops": r"[.?!]{2,}",
    "two blanks": r"\s{2,}",
    "a word twice": r"\b(the|a|an|team|movement|position|industry|was|is|of|in) \1\b",
    "a before a vowel": r"\ba (?!uni|use|eu|one\b|U\.|UK|US)[aeiou]",
    "an before a consonant": r"\ban (?!hour|honou?r|heir)[bcdfgjklmnpqrstvwyz]",
    "the before a name without it": r"\bthe (World War|Operation|The )",
    "one of many": r"\b1 seasons\b|\bwere 1 ",
    "no end": r"[^.?]$",
    "a slot": r"\$(name|object|qualifier)",
}


def mistakes(benchmark: Benchmark) -> list[tuple[str, str]]:
    asked = {q.input for q in benchmark.queries if q.task in ("qa", "fc")}
    return [
        (what, text)
        for text in sorted(asked)
        for what, pattern in MISTAKES.items()
        if re.search(pattern, text)
    ]


def test_the_built_in_world() -> None:
    benchmark = Benchmark.open(builtin_benchmark("builtin/amber"))
    assert mistakes(benchmark) == []
    texts = {q.input for q in benchmark.queries}
    assert "Carrie wrote Stephen King." not in texts
    assert any(text.endswith(" wrote Carrie.") for text in texts)


@pytest.mark.parametrize("seed", [1, 2])
def test_invented_worlds(seed: int, tmp_path: Path) -> None:
    write_invented(Invention(entities=600, seed=seed), tmp_path / "dumps")
    files = {path.name: path for path in (tmp_path / "dumps").iterdir()}
    ingest_dumps(files, tmp_path / "kb")
    for name in PUBLISHED:
        made, *_ = build_amber(tmp_path / "kb", tmp_path / name, load_collection(name))
        assert made.queries and mistakes(made) == []


def test_published_wording_keeps_the_mistakes(tmp_path: Path) -> None:
    kb = builtin_benchmark("builtin/amber").parent / "kb"
    rules = rules_called("paper", wording="published")
    made, *_ = build_amber(kb, tmp_path / "bench", load_collection("nonhuman"), rules)
    kinds = {what for what, _ in mistakes(made)}
    assert {"a blank before a stop", "two stops"} <= kinds
    assert rules_called("published").wording == "published"


def test_every_clean_template_replaces_a_released_one() -> None:
    released = {
        template
        for name in PUBLISHED
        for known in load_collection(name).properties.values()
        for template in (*known.questions.get("en", ()), *known.claims.get("en", ()))
    }
    assert set(CLEAN) <= released
    for old, new in CLEAN.items():
        assert {s for s in ("$name", "$object") if s in old} == {s for s in ("$name", "$object") if s in new}


@pytest.mark.parametrize(
    ("template", "text", "expected"),
    [
        ("$name plays in the position of a $object.", "A plays in the position of a inside forward.",
         "A plays in the position of an inside forward."),
        ("$name fought in the $object.", "A fought in the World War II.", "A fought in World War II."),
        ("$name fought in the $object.", "A fought in the The Troubles.", "A fought in The Troubles."),
        ("$name was a part of the $object movement.", "A was a part of the Art movement movement.",
         "A was a part of the Art movement."),
        ("There were $object seasons in $name.", "There were 1 seasons in A.",
         "There was 1 season in A."),
        ("$object is the record label for $name.", "X is the record label for Y Inc..",
         "X is the record label for Y Inc."),
        ("Who wrote $name?", "Who wrote What Now??", "Who wrote What Now?"),
        ("$name was killed by $object.", "A was killed by Red Army.", "A was killed by the Red Army."),
        ("$name plays for the team $object.", "A plays for the team Fiji national team.",
         "A plays for the Fiji national team."),
    ],
)  # fmt: skip
def test_grammar_around_values(template: str, text: str, expected: str) -> None:
    assert cleaned(text, template) == expected
    assert clean_template("Who wrote $name?") == "Who wrote $name?"
