"""One reading of Wikipedia addresses."""

from __future__ import annotations

import pytest

from whichone.errors import BadInput
from whichone.knowledge.lookup import Address, read_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://en.wikipedia.org/wiki/Abe_Lincoln", Address("Abe Lincoln", None, "enwiki")),
        ("http://de.m.wikipedia.org/wiki/K%C3%B6ln#Lage", Address("Köln", None, "dewiki")),
        ("//zh-min-nan.wikipedia.org/wiki/A", Address("A", None, "zh_min_nanwiki")),
        ("https://en.wikipedia.org/w/index.php?title=AC/DC", Address("AC/DC", None, "enwiki")),
        ("https://en.wikipedia.org/?curid=307", Address("", "307", "enwiki")),
        ("https://en.wikipedia.org/wiki/A/wiki/B", Address("A/wiki/B", None, "enwiki")),
        ("https://www.wikipedia.org/wiki/A", Address("A", None, None)),
        ("https://example.org/pages/Abe_Lincoln", Address("Abe Lincoln", None, None)),
    ],
)
def test_what_is_asked_for(text: str, expected: Address) -> None:
    assert read_address(text) == expected


def test_no_address() -> None:
    with pytest.raises(BadInput, match="not a web address"):
        read_address("http://[half")
