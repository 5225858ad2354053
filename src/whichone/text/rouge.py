"""ROUGE-L as the package `rouge` 1.0.1 computes it: the one behind KILT's published numbers.

It differs from the paper that named the measure and from other packages: raw text, sentences end at
every full stop, and the longest common subsequences of all pairs of sentences are joined as one
*set* of words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct


class SentenceWords(Struct, frozen=True):
    """A text cut into sentences of words."""

    sentences: tuple[tuple[str, ...], ...]
    vocabularies: tuple[frozenset[str], ...]
    """The different words of each sentence."""
    vocabulary: frozenset[str]
    """The different words of the text."""


def sentence_words(text: str) -> SentenceWords:
    """Cut at full stops and blanks; a sentence of blanks only has one word, the empty one."""
    if "." not in text:
        words = tuple(text.split()) or ("",)
        vocabulary = frozenset(words)
        return SentenceWords((words,), (vocabulary,), vocabulary) if text else _NOTHING
    sentences = tuple(tuple(piece.split()) or ("",) for piece in text.split(".") if piece)
    vocabularies = tuple(map(frozenset, sentences))
    return SentenceWords(sentences, vocabularies, frozenset().union(*vocabularies))


_NOTHING = SentenceWords((), (), frozenset())


def rouge_l(prediction: SentenceWords, gold: SentenceWords) -> float:
    """F-measure of the words in any longest common subsequence; 0 where a side has no sentence."""
    return best_rouge_l(prediction, (gold,))


def best_rouge_l(prediction: SentenceWords, golds: Iterable[SentenceWords]) -> float:
    """The highest ROUGE-L over several gold texts."""
    best = 0.0
    for gold in golds:
        shared = prediction.vocabulary & gold.vocabulary
        if shared and _f_measure(len(shared), prediction, gold) > best:
            best = max(best, _f_measure(_words_found(prediction, gold, shared), prediction, gold))
    return best


def _f_measure(count: int, prediction: SentenceWords, gold: SentenceWords) -> float:
    precision = count / len(prediction.vocabulary)
    recall = count / len(gold.vocabulary)
    return 2.0 * ((precision * recall) / (precision + recall + 1e-8))


def _words_found(prediction: SentenceWords, gold: SentenceWords, shared: frozenset[str]) -> int:
    """How many of the shared words are in the subsequence of some pair of sentences."""
    if len(shared) == 1:
        return 1  # some pair has the word, and one word in common is a subsequence
    open_words = set(shared)
    for sentence, vocabulary in zip(prediction.sentences, prediction.vocabularies, strict=True):
        columns: dict[str, int] = {}
        for gold_sentence, gold_vocabulary in zip(gold.sentences, gold.vocabularies, strict=True):
            if open_words.isdisjoint(vocabulary & gold_vocabulary):
                continue  # this pair cannot add a word
            columns = columns or _columns(sentence)
            open_words.difference_update(_walk_back(gold_sentence, sentence, columns))
            if not open_words:
                return len(shared)
    return len(shared) - len(open_words)


def longest_common_subsequence(gold: Sequence[str], prediction: Sequence[str]) -> list[str]:
    """One longest common subsequence, last word first.

    Where there are several, the walk back from both ends decides: equal words are taken; otherwise
    it steps back in `gold` if the rest there is strictly longer, else in `prediction`.
    """
    return _walk_back(gold, prediction, _columns(prediction))


def _columns(words: Sequence[str]) -> dict[str, int]:
    """For each word the places where it appears, as the bits of an integer."""
    columns: dict[str, int] = {}
    for place, word in enumerate(words):
        columns[word] = columns.get(word, 0) | 1 << place
    return columns


def _walk_back(
    gold: Sequence[str], prediction: Sequence[str], columns: dict[str, int]
) -> list[str]:
    """A row of the table of lengths is one integer, with a 0 bit where the length grows (Hyyrö 2004).

    So a long text needs neither a table of objects, nor recursion, nor a limit.
    """
    everywhere = (1 << len(prediction)) - 1
    flat = everywhere
    rows = []
    for word in gold:
        matches = columns.get(word, 0) & flat
        flat = (flat + matches | flat - matches) & everywhere
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
