"""When do two strings count as one name?"""

import html
import re
import unicodedata

_SPACE = re.compile(r"[\s_]+")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_SIGNS = str.maketrans({"’": "'", "‘": "'", "`": "'", "–": "-", "—": "-", "“": '"', "”": '"'})
_PARENTHESES = re.compile(r"\s*\([^()]*\)")


def name_key(text: str) -> str:
    """Two strings are one name when their keys are equal.

    Compatibility forms are unified (NFKC), blanks and underscores are squeezed to one blank, case is
    folded. Accents and punctuation stay: "Ono" and "Önö" are two names, "AC/DC" is not "ACDC".
    """
    if text.isascii():  # the same by a shorter way; most names are
        return " ".join(text.lower().replace("_", " ").split())
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", folded)).strip()


def without_parentheses(title: str) -> str:
    """A page title without its disambiguating parentheses: "Her (film)" becomes "Her".

    A title that is nothing but parentheses is left as it is.
    """
    return (_PARENTHESES.sub("", title) if "(" in title else title).strip() or title.strip()


def title_key(title: str) -> str:
    """The name key of what a page title names: HTML entities decoded, parentheses removed."""
    return name_key(without_parentheses(html.unescape(title)))


def plain_signs(text: str) -> str:
    """Compatibility forms unified, and one kind of apostrophe, dash and quotation mark."""
    if text.isascii():
        return text.replace("`", "'")
    return unicodedata.normalize("NFKC", text).translate(_SIGNS)


def token_places(text: str) -> list[tuple[int, int]]:
    """Where the words and signs of a text begin and end; `text` has plain signs."""
    return [match.span() for match in _TOKEN.finditer(text)]


def token_key(name: str) -> str:
    """A name as words and signs between blanks: how a name is looked up within a text."""
    return " ".join(_TOKEN.findall(plain_signs(name).replace("_", " ").casefold()))


# How names are compared while someone types: without accents, without case.


def fold(text: str) -> str:
    """Accents and case removed, blanks squeezed: what is typed is found however it is written."""
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join(text.casefold().split())
