"""Spans: the released program's to the letter, the paper's by the pruned search."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import astuple

from whichone.papers.kilt.spans import (
    Key,
    Page,
    best_span,
    bleu,
    match_answer,
    named_tokenizer,
    page_tokens,
    search,
    tokenize,
    verbatim,
    words_and_marks,
)

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "whitespace": {},
    "regex": {"tokenizer": words_and_marks},
    "spacy_blank_en": {"tokenizer": "spacy"},
    "regex_nonormalize": {"tokenizer": words_and_marks, "normalize": False},
    "whitespace_fast": {"fast": True},
}


def golden(shared: Path, name: str) -> list[dict[str, Any]]:
    file = shared / "golden" / "kilt" / "primitives" / name
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_bleu_is_the_published_one(shared: Path) -> None:
    cases = golden(shared, "bleu.jsonl")
    assert len(cases) > 100
    for case in cases:
        assert bleu(case["span_tokens"], case["original_tokens"]) == case["bleu"]


@pytest.mark.parametrize("setting", SETTINGS)
def test_published_matches(shared: Path, setting: str) -> None:
    options = dict(SETTINGS[setting])
    if options.get("tokenizer") == "spacy":
        pytest.importorskip("spacy")
        options["tokenizer"] = named_tokenizer("spacy")
    for case in golden(shared, "match_answer.jsonl"):
        found = match_answer(case["answer"], case["text"], **options)
        got = [found.paragraph, found.start, found.end, found.bleu]
        assert got == case["result"][setting], case["answer"]


def test_bleu_by_hand() -> None:
    assert bleu(["a", "b", "c", "d", "e"], ["a", "b", "c", "d"]) == pytest.approx(math.exp(-0.25))
    assert 0 < bleu(["a", "b", "c"], ["a", "b", "c", "d"]) < 1e-76
    assert bleu(["a", "b", "x"], ["a", "b"]) == pytest.approx(math.exp(-0.5))
    assert bleu(["a", "b", "c", "d"], list("xabcd")) == pytest.approx((4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)
    assert bleu(["x"], ["a"]) == 0
    assert bleu(["x"], []) == 0


def test_where_the_released_program_crashes_we_go_on() -> None:
    def pieces(text: str) -> list[tuple[str, int]]:
        return [(m.group(), m.start()) for m in re.finditer(r"\S+", text)]

    found = match_answer("of of", ["Title", "song of, of"], pieces)
    assert (found.paragraph, found.start, found.end, found.bleu) == (1, 5, 11, 1.0)
    assert found.crashed
    assert not match_answer("of of", ["Title", "song of, of war"], pieces).crashed


_texts = st.lists(st.sampled_from("abcde"), max_size=14).map(" ".join)


def exhaustive(original: Sequence[str], page: Page) -> tuple[float, int, int, int, int] | None:
    """Every span of every paragraph, one BLEU each."""
    best: Key | None = None
    for number, tokens in enumerate(page):
        words = [token.text for token in tokens]
        for first in range(len(words)):
            for last in range(first, len(words)):
                score = bleu(words[first : last + 1], original)
                key = (-score, last - first + 1, number, first, last)
                if score > 0 and (best is None or key < best):
                    best = key
    if best is None:
        return None
    negative, size, number, first, last = best
    return number, page[number][first].start, page[number][last].end, -negative, size


@given(_texts, st.lists(_texts, min_size=1, max_size=3))
@example("a b a", ["a a b a b b a a", "b a", "a b"])
def test_the_pruned_search_finds_what_the_exhaustive_one_finds(evidence: str, paragraphs: list[str]) -> None:
    page = page_tokens(paragraphs)
    original = [token.text for token in tokenize(evidence)]
    best = search(original, page)
    assert (astuple(best) if best else None) == exhaustive(original, page)


def test_the_shortest_of_equals_then_the_first() -> None:
    page = page_tokens(["the x king", "x the king", "the king"])
    found = search(["the", "queen", "king"], page)
    assert found is not None
    assert (found.paragraph, found.start, found.end, found.tokens) == (1, 2, 10, 2)
    twice = search(["king"], page_tokens(["a king", "king"]))
    assert twice is not None
    assert (twice.paragraph, twice.start) == (0, 2)


def test_places_are_those_of_the_text() -> None:
    paragraphs = ["Soul Food (film)", "It was released by Fox 2000 Pictures, in 1997."]
    found = best_span("released by “Fox-2000” pictures in 1997", paragraphs)
    assert found is not None
    assert paragraphs[1][found.start : found.end] == "released by Fox 2000 Pictures, in 1997"
    assert found.bleu == 1.0
    assert best_span("nothing shared", paragraphs) is None


def test_verbatim_evidence_keeps_its_punctuation_and_whole_words() -> None:
    paragraphs = ["Unsaid. He said (in vain).", "said."]
    found = verbatim("said (in vain).", paragraphs)
    assert found is not None
    assert (found.paragraph, found.start, found.end) == (0, 11, 26)
    assert verbatim("aid", ["said", "first aid"]) == verbatim("aid", ["", "first aid"])
    assert verbatim("  ", paragraphs) is None


def test_scripts_without_blanks_are_mapped_too() -> None:
    found = best_span("東京は日本の首都", ["東京", "東京は、日本の首都である。"])
    assert found is not None
    assert (found.paragraph, found.bleu) == (1, 1.0)


def test_what_the_paper_says_beats_what_was_released() -> None:
    """The released program swallows a token after a run; ours ends where the evidence ends."""
    paragraphs = ["Title", "team of of U.S. (first) war"]
    ours = best_span("of of U.S first", paragraphs)
    assert ours is not None
    assert paragraphs[1][ours.start : ours.end] == "of of U.S. (first"
