"""How else a name may be written: without accents, in another script, for short, or with a slip of the pen."""

from __future__ import annotations

import functools
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from importlib.resources import files

_LETTERS = str.maketrans(
    {
        "ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "þ": "th", "ð": "d", "ı": "i",
        "а": "a", "б": "b", "в": "v", "г": "g", "д": "d", "е": "e", "ж": "zh", "з": "z", "и": "i",
        "й": "i", "к": "k", "л": "l", "м": "m", "н": "n", "о": "o", "п": "p", "р": "r", "с": "s",
        "т": "t", "у": "u", "ф": "f", "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch", "ъ": "",
        "ы": "y", "ь": "", "э": "e", "ю": "yu", "я": "ya", "є": "ye", "і": "i", "ї": "yi", "ґ": "g",
        "α": "a", "β": "v", "γ": "g", "δ": "d", "ε": "e", "ζ": "z", "η": "i", "θ": "th", "ι": "i",
        "κ": "k", "λ": "l", "μ": "m", "ν": "n", "ξ": "x", "ο": "o", "π": "p", "ρ": "r", "σ": "s",
        "ς": "s", "τ": "t", "υ": "y", "φ": "f", "χ": "ch", "ψ": "ps", "ω": "o",
    }
)  # fmt: skip
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ё": "yo"})
PARTICLES = frozenset(
    [
        "de",
        "van",
        "von",
        "der",
        "den",
        "da",
        "di",
        "del",
        "la",
        "le",
        "bin",
        "al",
        "of",
        "y",
        "e",
        "zu",
        "d",
        "l",
    ]
)
ARTICLES = frozenset(
    ["the", "der", "die", "das", "le", "la", "les", "l", "el", "los", "las", "il", "lo"]
)
COMPANIES = frozenset(
    [
        "inc",
        "ltd",
        "llc",
        "corp",
        "co",
        "plc",
        "gmbh",
        "ag",
        "kg",
        "se",
        "sa",
        "sarl",
        "srl",
        "bv",
        "nv",
        "oy",
        "ab",
    ]
)
GENERATIONS = frozenset(["jr", "sr", "junior", "senior", "ii", "iii", "iv"])
HONORIFICS = frozenset(
    [
        "mr",
        "mrs",
        "ms",
        "miss",
        "mx",
        "dr",
        "prof",
        "professor",
        "sir",
        "dame",
        "lady",
        "lord",
        "herr",
        "herrn",
        "frau",
        "hr",
        "fr",
        "mme",
        "mlle",
        "monsieur",
        "madame",
        "mademoiselle",
        "sr",
        "sra",
        "srta",
        "senor",
        "senora",
        "senorita",
        "don",
        "dona",
    ]
)
"""Before a last name; in plain letters."""
SHORTEST_TYPO = 4
"""In shorter words one edit makes another word."""


def folded(token: str) -> str:
    """A word in plain Latin letters: accents off, other scripts and letters transliterated."""
    if token.isascii():
        return token
    written = token.casefold().translate(_LETTERS)
    return "".join(
        c for c in unicodedata.normalize("NFKD", written) if not unicodedata.combining(c)
    )


def foldings(token: str) -> Iterator[str]:
    """The plain forms under which a word may be looked for: "müller" as "muller" and "mueller"."""
    yield folded(token)
    if not token.isascii() and token.translate(_UMLAUTS) != token:
        yield folded(token.translate(_UMLAUTS))


def deletions(token: str) -> Iterator[str]:
    """The word with one letter left out, each way: two words within one edit share one of these."""
    if len(token) >= SHORTEST_TYPO:
        for at in range(len(token)):
            if not at or token[at] != token[at - 1]:
                yield token[:at] + token[at + 1 :]


def within_one_edit(a: str, b: str) -> bool:
    """Whether one letter more, less or other, or two neighbours swapped, make one word of the other."""
    if a == b:
        return True
    if abs(len(a) - len(b)) > 1:
        return False
    at = next(
        (n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
    if len(a) == len(b):
        swapped = a[at : at + 2] == b[at : at + 2][::-1] and a[at + 2 :] == b[at + 2 :]
        return swapped or a[at + 1 :] == b[at + 1 :]
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    return longer[at + 1 :] == shorter[at:]


@functools.cache
def nicknames() -> Mapping[str, tuple[str, ...]]:
    """What a nickname, in plain letters, may be short for, in all languages."""
    raw = tomllib.loads(files(__package__).joinpath("nicknames.toml").read_text("utf-8"))
    known: dict[str, dict[str, None]] = {}
    for language in raw.values():
        for short, listed in language.items():
            known.setdefault(folded(short), {}).update(dict.fromkeys(listed))
    return {short: tuple(listed) for short, listed in known.items()}
