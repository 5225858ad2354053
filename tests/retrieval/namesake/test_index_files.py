"""The files of names and fields that are sorted on disk are those that would be made in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whichone.corpus.corpus import Corpus
from whichone.corpus.save import save_corpus
from whichone.files.mapped import HashIndex
from whichone.records import Passage
from whichone.retrieval.namesake import lexical
from whichone.retrieval.namesake.lexical import FieldIndex
from whichone.retrieval.namesake.spelling import NameVariants

NAMES = ("Seán O'Brien", "Ann Lee", "Ann B. Lee", "Anne Lee (poet)", "Jean-Luc Picard", "Ann Lee")


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    passages = [
        Passage(id=f"p:{n}#{i}", page=f"p:{n}", title=f"{name} ({n})", text="t", entity=f"e{n % 3}")
        for n, name in enumerate(NAMES * 5)
        for i in range(2)
    ]
    return save_corpus(tmp_path / "corpus", passages)


def test_variants_of_names(corpus: Corpus, tmp_path: Path) -> None:
    NameVariants.write(corpus.names, tmp_path)
    written, made = (NameVariants.open(tmp_path.joinpath, corpus.names), NameVariants.of(corpus.names))
    for index in ("_short", "_forms"):
        assert_same(getattr(written, index), getattr(made, index))
    assert written._words.table().equals(made._words.table())
    assert written.words_like("brian") == made.words_like("brian") == ["brien"]
    assert made.by_short_key("a lee", 9)
    assert written.by_short_key("a lee", 9) == made.by_short_key("a lee", 9)


def assert_same(written: HashIndex, made: HashIndex) -> None:
    np.testing.assert_array_equal(written._hashes, made._hashes)
    np.testing.assert_array_equal(written._rows, made._rows)


def test_fields(corpus: Corpus, tmp_path: Path) -> None:
    FieldIndex.write(corpus, tmp_path)
    written, made = FieldIndex.open(tmp_path.joinpath), FieldIndex.of(corpus)
    assert written.names == made.names == {"entity", "page"}
    assert_same(written._index, made._index)
    assert written.rows("entity", ["e1"]).tolist() == made.rows("entity", ["e1"]).tolist()
    assert written.rows("page", ["p:7"]).tolist() == sorted(corpus.rows_of(corpus.page_row("p:7")))
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == sorted(lexical.FILES)


def test_a_corpus_without_passages(tmp_path: Path) -> None:
    empty = save_corpus(tmp_path / "corpus", [])
    FieldIndex.write(empty, tmp_path)
    NameVariants.write(empty.names, tmp_path)
    assert len(FieldIndex.open(tmp_path.joinpath).rows("page", ["p"])) == 0
    assert NameVariants.open(tmp_path.joinpath, empty.names).words_like("word") == []
