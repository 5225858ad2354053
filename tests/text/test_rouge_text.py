"""ROUGE-L of the package `rouge`, without its recursion."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.files.lines import read_json_lines
from whichone.measures.answer_measures import token_f1
from whichone.text import normalisers
from whichone.text.normalisers import best_rouge_l, longest_common_subsequence, sentence_words

PERFECT = 0.999999995
TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d", ".", "..", " ", "\n"]), max_size=30).map(" ".join)
WORDS = st.lists(st.sampled_from("abcde"), max_size=12)


def score(prediction: str, gold: str) -> float:
    return best_rouge_l(sentence_words(prediction), [sentence_words(gold)])


def test_pair_scores_agree_with_the_golden_values(shared: Path) -> None:
    rows = [r for _, r in read_json_lines(shared / "golden/kilt/primitives/pair_scores.jsonl")]
    assert rows
    for row in rows:
        prediction, gold = row["prediction"], row["gold"]
        assert (normalisers.normalize(prediction) == normalisers.normalize(gold)) == row["em"]
        assert token_f1(normalisers.squad_tokens(prediction), normalisers.squad_tokens(gold)) == row["f1"]
        assert score(prediction, gold) == row["rougel"]


def test_values_computed_by_hand() -> None:
    assert score("x y", "x y") == PERFECT
    assert score("x. y", "y x") == PERFECT  # a set of words over all pairs of sentences
    assert score("x y z", "x") == pytest.approx(2 * (1 / 3) / (4 / 3), abs=1e-7)
    assert score("...", "x") == 0.0
    assert score("X", "x") == 0.0


def test_the_walk_back_decides_between_equally_long_subsequences() -> None:
    assert longest_common_subsequence("ab", "ba") == ["b"]
    assert longest_common_subsequence("abcb", "bacb") == ["b", "c", "b"]


def test_there_is_no_length_limit() -> None:
    words = " ".join(f"w{n}" for n in range(5000))
    assert score(words, words) == PERFECT
    assert score(words, words.replace("w", "v")) == 0.0
    assert 0 < score(words, " ".join(reversed(words.split()))) < 1e-3


@given(TEXTS, TEXTS)
def test_it_is_the_package_to_the_last_bit(prediction: str, gold: str) -> None:
    rouge = pytest.importorskip("rouge")
    try:
        wanted = rouge.Rouge().get_scores(prediction, gold, avg=True)["rouge-l"]["f"]
    except ValueError:  # "Hypothesis is empty."
        wanted = 0.0
    assert score(prediction, gold) == wanted


@given(WORDS, WORDS)
def test_a_longest_common_subsequence_is_one(gold: list[str], prediction: list[str]) -> None:
    found = longest_common_subsequence(gold, prediction)[::-1]
    for side in (gold, prediction):
        left = iter(side)
        assert all(word in left for word in found)
    lengths = [[0] * (len(prediction) + 1) for _ in range(len(gold) + 1)]
    for i, one in enumerate(gold, 1):
        for j, other in enumerate(prediction, 1):
            lengths[i][j] = (
                lengths[i - 1][j - 1] + 1 if one == other else max(lengths[i - 1][j], lengths[i][j - 1])
            )
    assert len(found) == lengths[-1][-1]
