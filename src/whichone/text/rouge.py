"""ROUGE-L as the package `rouge` 1.0.1 computes it: the one behind KILT's published numbers.

It differs from the paper that named the measure and from other packages: raw text, sentences end at
every full stop, and the longest common subsequences of all pairs of sentences are joined as one
*set* of words.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class SentenceWords(Struct, frozen=True):
    """A text cut into sentences of words, and how many different words it has."""

    sentences: tuple[tuple[str, ...], ...]
    vocabulary: frozenset[str]


def sentence_words(text: str) -> SentenceWords:
    """Cut at full stops and blanks; a sentence of blanks only has one word, the empty one."""
    if "." not in text:
        words = tuple(text.split()) or ("",)
        return SentenceWords((words,) if text else (), frozenset(words))
    sentences = tuple(tuple(piece.split()) or ("",) for piece in text.split(".") if piece)
    return SentenceWords(sentences, frozenset().union(*sentences))


def rouge_l(prediction: SentenceWords, gold: SentenceWords) -> float:
    """F-measure of the words in any longest common subsequence; 0 where a side has no sentence."""
    if not prediction.sentences or not gold.sentences:
        return 0.0
    common = prediction.vocabulary & gold.vocabulary
    if not common:
        return 0.0
    found = _words_in_common(gold, prediction, common)
    precision = found / len(prediction.vocabulary)
    recall = found / len(gold.vocabulary)
    return 2.0 * ((precision * recall) / (precision + recall + 1e-8))


def _words_in_common(gold: SentenceWords, prediction: SentenceWords, common: frozenset[str]) -> int:
    if len(common) == 1:
        return 1  # some pair of sentences shares the word, and then it is a subsequence of both
    words: set[str] = set()
    for gold_sentence in gold.sentences:
        for sentence in prediction.sentences:
            words.update(longest_common_subsequence(gold_sentence, sentence))
            if len(words) == len(common):
                return len(words)
    return len(words)


def longest_common_subsequence(gold: Sequence[str], prediction: Sequence[str]) -> list[str]:
    """One longest common subsequence, last word first.

    Where there are several, the walk back from both ends decides: equal words are taken; otherwise
    it steps back in `gold` if the rest there is strictly longer, else in `prediction`. A row of the
    length table is one integer whose bit j says that the length grows at column j (Hyyrö 2004), so
    long texts need neither a quadratic table of objects nor recursion.
    """
    columns: dict[str, int] = {}
    for j, word in enumerate(prediction):
        columns[word] = columns.get(word, 0) | 1 << j
    all_columns = (1 << len(prediction)) - 1
    flat = all_columns
    rows = []  # rows[i] has a 0 where the length grows, after the first i + 1 words of gold
    for word in gold:
        matches = columns.get(word, 0) & flat
        flat = (flat + matches | flat - matches) & all_columns
        rows.append(flat)

    taken: list[str] = []
    i, j = len(gold) - 1, len(prediction) - 1
    while i >= 0 and j >= 0:
        if gold[i] == prediction[j]:
            taken.append(gold[i])
            i -= 1
            j -= 1
        elif rows[i] >> j & 1:
            j -= 1
        else:
            i -= 1
    return taken
