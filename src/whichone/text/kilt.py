"""The two normalisers of KILT: one for scores (SQuAD's), one for mapping evidence to a page."""

from __future__ import annotations

import string

from whichone.text.squad import normalize as normalize

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_for_mapping(text: str) -> str:
    """Lower case without ASCII punctuation; articles and spacing stay as they are."""
    return text.lower().translate(_NO_PUNCTUATION)
