"""How names are compared while someone types: without accents, without case."""

from __future__ import annotations

import unicodedata


def fold(text: str) -> str:
    """Accents and case removed, blanks squeezed: what is typed is found however it is written."""
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in parts if not unicodedata.combining(c))
    return " ".join(text.casefold().split())
