"""Passages of words, tokens and pages, cut from a knowledge base."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from whichone.cli import whichone
from whichone.corpus.cut import (
    Cut,
    cut_page,
    cut_passages,
    load_tokenizer,
    token_blocks,
    word_columns,
    word_passages,
    write_passages,
)
from whichone.errors import Missing, UsageError
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND, PAGES
from whichone.papers.ambigdocs.import_ambigdocs import read_passage_file

PAGE = [
    "Ada\n",
    "Ada was a mathematician.\n",
    "Section::::Life.:Youth.\n",
    "She was born in London.\n",
    "BULLET::::- a note\n",
    "BULLET::::2. another\n",
]


def test_words_without_headings_and_lists() -> None:
    assert list(word_passages(PAGE, size=6)) == ["Ada was a mathematician. She was", "born in London."]
    kept = " ".join(word_passages(PAGE, keep_lists=True))
    assert kept == "Ada was a mathematician. She was born in London. a note another"


def test_tokens_stand_as_in_the_text() -> None:
    def letters(text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i, c in enumerate(text) if c.isalpha()]

    assert list(token_blocks(["T", "a b, c", "d"], size=2, tokenizer=letters)) == ["a b", "c d"]


def test_whole_pages_keep_everything_but_the_title() -> None:
    [text] = cut_page(PAGE, Cut(way="pages"))
    assert text.split("\n") == [
        "Ada was a mathematician.", "Life: Youth.", "She was born in London.", "a note", "another",
    ]  # fmt: skip


@given(st.lists(st.text("ab \n", max_size=30), max_size=8), st.integers(1, 7))
def test_no_word_is_lost_and_none_is_doubled(lines: list[str], size: int) -> None:
    paragraphs = ["T", *lines]
    words = [word for line in lines for word in line.split()]
    found = [passage.split() for passage in word_passages(paragraphs, size=size)]
    assert [word for passage in found for word in passage] == words
    assert all(len(passage) == size for passage in found[:-1])


_BLANKS = " \n\t\x1c\x1f\x85\xa0\u2003\u2028\u200b\u3000"
_LINES = st.sampled_from(["BULLET::::- b", " Section::::c.", ""]) | st.text("ab" + _BLANKS, max_size=9)


@given(st.lists(st.lists(_LINES, max_size=5), max_size=6), st.integers(1, 4), st.integers(0, 2))
def test_columns_of_pages_are_cut_as_each_page_is(pages: list[list[str]], size: int, before: int) -> None:
    column = pa.array(pages, pa.list_(pa.string())).slice(before)
    rows, numbers, texts = (found.to_pylist() for found in word_columns(column, size))
    assert list(zip(rows, numbers, texts, strict=True)) == [
        (row, n, text)
        for row, paragraphs in enumerate(pages[before:])
        for n, text in enumerate(word_passages(paragraphs, size=size))
    ]


@pytest.fixture
def base(tmp_path: Path) -> Path:
    rows = [{"page": f"w:{n}", "title": f'Page "{n}"', "paragraphs": PAGE, "kind": "article"} for n in (2, 1)]
    with Folder.create(tmp_path / "kb", KIND) as folder:
        folder.write(PAGES, PAGES.from_rows(rows))
        folder.commit()
    return tmp_path / "kb"


def test_ids_are_page_and_number(base: Path) -> None:
    found = list(cut_passages(base, Cut(size=6)))
    assert [p.id for p in found] == ["w:1#0", "w:1#1", "w:2#0", "w:2#1"]
    assert [p.id for p in cut_passages(base, Cut(size=6), only={"w:2"})] == ["w:2#0", "w:2#1"]


def test_the_passage_file_is_read_back(base: Path, tmp_path: Path) -> None:
    assert write_passages(base, tmp_path / "psgs.tsv", Cut(size=6)) == 4
    rows = list(read_passage_file(tmp_path / "psgs.tsv"))
    assert [(r.pid, r.title) for r in rows] == [
        ("1", 'Page "1"'), ("2", 'Page "1"'), ("3", 'Page "2"'), ("4", 'Page "2"'),
    ]  # fmt: skip
    assert rows[1].text == "born in London."


def test_passages_as_json_lines_keep_their_ids(base: Path, tmp_path: Path) -> None:
    out = tmp_path / "passages.jsonl.gz"
    arguments = ["corpus", str(base), str(out), "--size", "6", "--keep-lists", "--json"]
    ran = CliRunner().invoke(whichone, arguments)
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout) == {"passages": 4}
    lines = [json.loads(line) for line in gzip.decompress(out.read_bytes()).splitlines()]
    assert [line["id"] for line in lines][:3] == ["w:1#0", "w:1#1", "w:2#0"]
    assert lines[1]["text"] == "born in London. a note another"


def test_what_cannot_be_cut_is_said() -> None:
    with pytest.raises(UsageError):
        Cut(size=0)
    pytest.importorskip("tokenizers")
    with pytest.raises(Missing, match="no such tokeniser"):
        load_tokenizer("no/such/tokenizer.json")


def test_a_tokenizer_file_is_used(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Punctuation()
    made.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_tokenizer(str(tmp_path / "tokenizer.json"))
    assert list(token_blocks(["T", "ab,cd"], size=2, tokenizer=tokenizer)) == ["ab,", "cd"]
