"""Texts as the published programs compare them: SQuAD's and KILT's, AmbER's, AmbigDocs', DrQA's, and ROUGE-L."""

import re
import string
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

import regex
from msgspec import Struct

from whichone.text.language import ENGLISH, SNOWBALL, base_code, listed_stop_words, split_sentences


class SentenceWords(Struct, frozen=True):
    sentences: tuple[tuple[str, ...], ...]
    vocabularies: tuple[frozenset[str], ...]  # The different words of each sentence
    vocabulary: frozenset[str]  # The different words of the text


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


def best_rouge_l(prediction: SentenceWords, golds: Iterable[SentenceWords]) -> float:
    """The highest ROUGE-L over several gold texts, as the package `rouge` 1.0.1 computes it: behind KILT's numbers.

    It differs from the paper that named the measure and from other packages: raw text, sentences end at
    every full stop, and the longest common subsequences of all pairs of sentences are joined as one
    *set* of words.
    """
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
            open_words.difference_update(longest_common_subsequence(gold_sentence, sentence, columns))
            if not open_words:
                return len(shared)
    return len(shared) - len(open_words)


def _columns(words: Sequence[str]) -> dict[str, int]:
    """For each word the places where it appears, as the bits of an integer."""
    columns: dict[str, int] = {}
    for place, word in enumerate(words):
        columns[word] = columns.get(word, 0) | 1 << place
    return columns


def longest_common_subsequence(
    gold: Sequence[str], prediction: Sequence[str], columns: Mapping[str, int] | None = None
) -> list[str]:
    """One longest common subsequence, last word first; `columns` are those of the prediction.

    Where there are several, the walk back from both ends decides: equal words are taken; otherwise
    it steps back in `gold` if the rest there is strictly longer, else in `prediction`.

    A row of the table of lengths is one integer, with a 0 bit where the length grows (Hyyrö 2004).
    So a long text needs neither a table of objects, nor recursion, nor a limit.
    """
    columns = _columns(prediction) if columns is None else columns
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


ARTICLES = frozenset({"a", "an", "the"})

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize(text: str) -> str:
    """SQuAD's normal form, which KILT scores with: lower case, no ASCII punctuation, no English articles, single blanks.

    A hyphen is deleted, so it joins words; Unicode quotes and dashes stay; nothing is composed.
    """
    return " ".join(squad_tokens(text))


def squad_tokens(text: str) -> list[str]:
    lower = text.lower()
    if not (plain := lower.isascii() and lower.replace(" ", "").isalnum()):
        lower = lower.translate(_NO_PUNCTUATION)
        plain = lower.isascii() and lower.isprintable()
    if plain:
        # Only letters, digits and blanks are left, so an article is a whole token. With any other
        # character (a combining accent, a control character) `\b` may end a word inside a token.
        return [word for word in lower.split() if word not in ARTICLES]
    return _ARTICLE.sub(" ", lower).split()


def amber_normalize(text: str) -> str:
    """SQuAD's normal form for AmbER, but a hyphen parts words instead of joining them."""
    return normalize(text.replace("-", " "))


def amber_tokens(text: str) -> list[str]:
    return squad_tokens(text.replace("-", " "))


def contains_answer(document: Sequence[str], answer: Sequence[str]) -> bool:
    """Whether the answer's tokens occur in the document's tokens as one contiguous run.

    An answer without tokens ("The", "...") is found in every document that has a token; the
    released program does the same, and a builder that wants none of it drops such answers first.
    """
    if not answer:
        return bool(document)
    first, length = answer[0], len(answer)
    wanted = list(answer)
    start = -1
    try:
        while True:
            start = document.index(first, start + 1)
            if list(document[start : start + length]) == wanted:
                return True
    except ValueError:
        return False


_DISAMBIGUATION = re.compile(r"\(disambiguation\)$")
_CHARACTER_WORDS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
_WORD = re.compile(rf"[{_CHARACTER_WORDS}]|[^\W_{_CHARACTER_WORDS}]+")
_BREAK = re.compile(r"(?<=[.!?;])\s+(?=\S)")
_SEMICOLON = re.compile(r"(?<=;)\s+(?=\S)")
_ABBREVIATION = re.compile(r"(?:^|[\s(.])(?:[A-Za-z]|Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|no|No)\.$")


@cache
def stop_words(language: str = ENGLISH) -> frozenset[str]:
    """NLTK's English stop words without an apostrophe; Snowball's of another language, none where it has none.

    A token has lost its punctuation before it is looked up, so the entries with an apostrophe
    can never match and are not kept.
    """
    if (code := base_code(language)) != ENGLISH:
        return listed_stop_words(SNOWBALL.get(code, ""))
    text = files("whichone.text").joinpath("ambigdocs_stop_words.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def ambigdocs_tokens(text: str, language: str = ENGLISH) -> list[str]:
    """The words of a text: SQuAD's in English; elsewhere runs of letters and digits, since only English has "an" for an article.

    An apostrophe ends a word ("l'Allemagne"); Chinese, Japanese and Thai characters are words of their own.
    """
    return squad_tokens(text) if base_code(language) == ENGLISH else _WORD.findall(text.casefold())


def content_tokens(text: str, without: Iterable[str] = (), language: str = ENGLISH) -> list[str]:
    dropped = stop_words(language).union(without)
    return [token for token in ambigdocs_tokens(text, language) if token not in dropped]


def sentences(text: str, language: str = ENGLISH) -> list[str]:
    """A text cut after full stops, semicolons, question and exclamation marks, by the abbreviations of its language."""
    if base_code(language) != ENGLISH:
        return [part for sentence in split_sentences(text, language) for part in _SEMICOLON.split(sentence)]
    kept_sentences: list[str] = []
    for part in _BREAK.split(text.strip()):
        if kept_sentences and _ABBREVIATION.search(kept_sentences[-1]):
            kept_sentences[-1] += f" {part}"
        elif part:
            kept_sentences.append(part)
    return kept_sentences


def surface_name(ambiguous_entity: str) -> str:
    """The shared name as the scorer sees it: lower case, no trailing "(disambiguation)"."""
    return _DISAMBIGUATION.sub("", ambiguous_entity.strip().lower()).strip()


TOKEN = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")
_SIGMA = regex.compile("[σς]")
WORD_CHARACTER = regex.compile(r"[\p{L}\p{N}\p{M}]")


def spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each token; separators and control characters belong to none."""
    return [match.span() for match in TOKEN.finditer(text)]


def tokens(text: str) -> list[str]:
    """Lower-cased words and other visible characters, as DrQA, DPR and EntityQuestions compare them.

    Each token is lower-cased by itself: whether a sigma is final is decided inside the token, so
    lower-casing the sentence first would give other tokens.
    """
    return [token.lower() for token in TOKEN.findall(text)]


def decomposed(text: str) -> str:
    """Canonical decomposition (NFD); compatibility forms such as ligatures stay apart."""
    return text if text.isascii() else unicodedata.normalize("NFD", text)


def has_tokens(text: str) -> bool:
    return TOKEN.search(text) is not None


def is_sublist(needle: list[str], haystack: list[str]) -> bool:
    n = len(needle)
    return any(haystack[i : i + n] == needle for i in range(len(haystack) - n + 1))


def contains_any(needles: Sequence[list[str]], text: str) -> bool:
    """Whether the tokens of one of the needles appear in a text, one after another; an empty needle never does.

    Most texts are without one of a needle's tokens, which is seen before they are cut. A sigma at the end of a token is
    another letter than inside it, so that tokens with one are looked for in the cut text alone.
    """
    lowered = text.lower()
    near = [
        needle
        for needle in needles
        if needle and all(token in lowered or _SIGMA.search(token) for token in needle)
    ]
    if not near:
        return False
    words = tokens(text)
    return any(is_sublist(needle, words) for needle in near)


def normalize_for_mapping(text: str) -> str:
    """Lower case without ASCII punctuation, as KILT maps evidence; articles and spacing stay as they are."""
    return text.lower().translate(_NO_PUNCTUATION)
