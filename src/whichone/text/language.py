"""What the language of a text decides: its stemmer, its stop words, and where its sentences end."""

import functools
import re
from collections import Counter
from importlib import resources

ENGLISH = "en"
# Languages with a stemmer of Snowball, by their code.
SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian",
    "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian",
    "ne": "nepali", "nl": "dutch", "nn": "norwegian", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip

_INITIAL = re.compile(r"(?:^|[\s(.])[^\W\d_]\.$")


def base_code(language: str) -> str:
    """ "de" of "de-AT"; English of "simple" and of nothing."""
    code = language.lower().replace("_", "-").partition("-")[0]
    return ENGLISH if code in ("", "simple", "mul", "und") else code


def stemmer_of(language: str) -> str:
    """The name of a language's stemmer; "none" where there is none. English has the first, Porter's."""
    code = base_code(language)
    import Stemmer

    name = "porter" if code == ENGLISH else SNOWBALL.get(code, "none")
    return name if name in Stemmer.algorithms() else "none"  # older libraries have fewer


def stop_words_of(language: str) -> str:
    """The name of a language's stop words, as `stop_words` of BM25 takes it."""
    if (code := base_code(language)) == ENGLISH:
        return "lucene"
    name = SNOWBALL.get(code, {"zh": "chinese", "ko": "korean"}.get(code, ""))
    return name if listed_stop_words(name) else "none"


def listed_stop_words(name: str) -> frozenset[str]:
    """The stop words of a language by its name ("german"); empty where there is no list."""
    return _stop_word_lists().get(name, frozenset())


def likely_language(text: str) -> str:
    """The code of the language whose stop words clearly prevail in a text; empty where none do."""
    times = Counter(re.findall(r"[^\W\d_]+", text.lower()))
    lists = {"en": _ENGLISH} | {c: listed_stop_words(n) for c, n in SNOWBALL.items()}
    counts = {
        c: sum(times[w] for w in known & times.keys()) / max(1, times.total()) for c, known in lists.items()
    }
    best = max(counts, key=lambda code: counts[code])
    clear = counts[best] > _PREVAILS and (best == ENGLISH or counts[best] > 3 * counts[ENGLISH])
    different = len(lists[best] & times.keys())  # a few in, a and no say nothing
    return best if clear and times.total() >= _FEW_WORDS and different >= _DIFFERENT else ""


_ENGLISH = frozenset({
    "the", "and", "of", "is", "was", "were", "to", "for", "with", "that", "by", "at", "from", "his", "her", "he",
    "she", "it", "has", "had",
})  # fmt: skip
_FEW_WORDS, _PREVAILS, _DIFFERENT = 60, 0.15, 5


@functools.cache
def _stop_word_lists() -> dict[str, frozenset[str]]:
    text = resources.files(__package__).joinpath("stop_words.txt").read_text("utf-8")
    lines = (line.split() for line in text.splitlines() if not line.startswith("#"))
    return {language: frozenset(words) for language, *words in lines}


def split_sentences(text: str, language: str) -> list[str]:
    """The sentences of a text, by the abbreviations of its language; an initial ends none."""
    from sentencex import segment

    sentences: list[str] = []
    for part in segment(base_code(language), text):
        if sentences and _INITIAL.search(sentences[-1].rstrip()):
            sentences[-1] += part
        elif part.strip():
            sentences.append(part)
    return [sentence.strip() for sentence in sentences]
