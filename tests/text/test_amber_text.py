"""AmbER's normaliser and its answer search."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from whichone.files.lines import read_json_lines
from whichone.measures.answer_measures import token_f1
from whichone.text import normalisers

WORDS = st.lists(st.sampled_from(["x", "y", "z"]), max_size=8)


def golden(shared: Path, name: str) -> list[dict[str, object]]:
    rows = [r for _, r in read_json_lines(shared / f"golden/amber/primitives/{name}.jsonl")]
    assert rows
    return rows


def test_normaliser_and_tokens_agree_with_the_golden_values(shared: Path) -> None:
    for row in golden(shared, "normalize"):
        assert normalisers.amber_normalize(str(row["text"])) == row["normalized"]
        assert normalisers.amber_tokens(str(row["text"])) == row["tokens"]


def test_exact_match_and_f1_agree_with_the_golden_values(shared: Path) -> None:
    for row in golden(shared, "em_f1"):
        prediction, gold = (
            normalisers.amber_tokens(str(row["prediction"])),
            normalisers.amber_tokens(str(row["gold"])),
        )
        assert (prediction == gold) == row["em"]
        assert token_f1(prediction, gold) == row["f1"]


def test_answer_search_agrees_with_the_golden_values(shared: Path) -> None:
    for row in golden(shared, "answer_in_doc"):
        document, answer = (
            normalisers.amber_tokens(str(row["document"])),
            normalisers.amber_tokens(str(row["answer"])),
        )
        assert normalisers.contains_answer(document, answer) == row["found"]


def test_hyphens_part_words() -> None:
    assert normalisers.amber_tokens("The rock-and-roll of O'Neal") == ["rock", "and", "roll", "of", "oneal"]


def test_an_answer_without_tokens_is_in_every_document_that_has_one() -> None:
    assert normalisers.contains_answer(["word"], [])
    assert not normalisers.contains_answer([], [])


@given(WORDS, WORDS)
def test_contains_answer_is_a_contiguous_run(document: list[str], answer: list[str]) -> None:
    runs = [document[i : i + len(answer)] for i in range(len(document))]
    assert normalisers.contains_answer(document, answer) == (answer in runs)
