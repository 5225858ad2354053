"""Finding names in texts: longest first, at word borders, case folded, accents kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_base import small_base

from whichone.knowledge.lookup import NameIndex
from whichone.knowledge.lookup_build import NAME_HASHES, Hashes, Pieces, begin, extend, folded, name_steps
from whichone.names import name_key


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NameIndex]:
    with NameIndex.open(small_base(tmp_path_factory.mktemp("index") / "kb")) as found:
        yield found


def found(index: NameIndex, text: str, **options: bool) -> list[str]:
    mentions = index.find(text, **options)
    assert all(text[m.start : m.end] == m.text for m in mentions)
    return [m.text for m in mentions]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Did Abe Lincoln know Lincoln's man?", ["Abe Lincoln", "Lincoln"]),
        ("abe  LINCOLN (musician) played the trombone", ["abe  LINCOLN (musician)"]),
        ("did abe lincoln play the trombone", ["abe lincoln", "trombone"]),
        ("Abraham Lincolnshire", []),
        ("Abe-Lincoln", ["Lincoln"]),
        ("ＡＢＥ＿Lincoln at Café Zürich", ["ＡＢＥ＿Lincoln", "Café Zürich"]),
        ("Cafe Zurich", []),
        ("これはリンカーンです", ["リンカーン"]),
        ("", []),
    ],
)
def test_names_in_texts(index: NameIndex, text: str, names: list[str]) -> None:
    assert found(index, text) == names


def test_options(index: NameIndex) -> None:
    assert found(index, "A trombone", lower_case=True) == ["trombone"]
    both = found(index, "Abe Lincoln (musician)", overlapping=True)
    assert both == ["Abe Lincoln", "Abe Lincoln (musician)", "Lincoln"]


def test_a_mention_knows_its_bearers(index: NameIndex) -> None:
    [mention] = index.find("Abe Lincoln")
    assert [b.about.entity for b in index.bearers(mention)] == ["Q1", "Q2"]


def test_a_missing_file_is_made_again(tmp_path: Path) -> None:
    base = small_base(tmp_path / "kb")
    NameIndex.open(base).close()
    (base / NAME_HASHES).unlink()
    with NameIndex.open(base) as index:
        assert found(index, "Abe Lincoln") == ["Abe Lincoln"]


@given(st.text(max_size=30))
def test_a_text_folds_as_a_name_does(text: str) -> None:
    """The same pieces come from a name's key and from the name as written in a text."""
    low, _ = folded(text)
    assert [low[a:b] for a, b in Pieces(low).spans] == [
        name_key(text)[a:b] for a, b in Pieces(name_key(text)).spans
    ]


def name_hashes(key: str) -> Hashes:
    """The hashes of a name's beginnings, its own last."""
    pieces = Pieces(key)
    hashes = begin(pieces.bare[:1])
    for n in range(1, len(pieces)):
        hashes = np.concatenate([hashes, extend(hashes[-1:], pieces.following[n : n + 1])])
    return hashes


@given(st.lists(st.sampled_from(["abe", "Lincoln", "'s", "-", " ", "é", "山"]), max_size=8))
def test_a_name_has_one_hash_for_each_beginning(parts: list[str]) -> None:
    key = name_key("".join(parts))
    pieces = Pieces(key)
    hashes = name_hashes(key).tolist()
    assert name_steps(key) == [*pieces.bare[:1].tolist(), *pieces.following[1:].tolist()]
    assert len(hashes) == len(pieces) == len(set(hashes))
    for n, (_, end) in enumerate(pieces.spans):
        assert name_hashes(key[:end]).tolist() == hashes[: n + 1]
