"""Passages of a file read in blocks and sorted on disk are those that a plain reading gives."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from whichone.corpus import passage_files
from whichone.corpus.corpus import Corpus
from whichone.corpus.passage_files import PassageFields, PassageLayout, read_records
from whichone.corpus.save import make_corpus
from whichone.errors import BadInput
from whichone.records import Passage, passage_id


def write_tsv(file: Path, count: int) -> Path:
    lines = ["id\ttext\ttitle"]
    for n in range(count):
        lines.append(f'{n}\t"text ""{n}"" of it"\tPage {n * 7 % 40}')
    file.write_text("\ufeff" + "\n".join(lines) + "\n")
    return file


def plain(file: Path, fields: PassageFields | None = None) -> list[Passage]:
    layout, passages = PassageLayout.of(file, fields or PassageFields()), []
    counts: dict[str, int] = {}
    for line, record in read_records(file):
        read = layout.passage(record, line)
        n = counts[read.page] = counts.get(read.page, -1) + 1
        place = passage_id(read.page, n)
        passages.append(
            Passage(
                id=place,
                page=read.page,
                title=read.title,
                text=read.text,
                source_id=read.own,
                entity=read.entity,
            )
        )
    return sorted(passages, key=lambda p: (p.page, int(p.id.rpartition("#")[2])))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_files, "PASSAGE_RUNS_BLOCK", 1_000)
    monkeypatch.setattr(passage_files, "_RECORDS", 30)
    monkeypatch.setattr(passage_files, "available_cores", lambda: 1)


@pytest.mark.usefixtures("small_blocks")
def test_a_tsv_file_in_many_blocks(tmp_path: Path) -> None:
    file = write_tsv(tmp_path / "psgs.tsv", 200)
    corpus = make_corpus(file, tmp_path / "corpus")
    assert list(corpus.passage_records()) == plain(file)
    assert not list((tmp_path / "corpus").glob(".*"))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".json", ".csv"])
def test_other_files_in_many_blocks(tmp_path: Path, ending: str) -> None:
    rows = [{"id": f"p{n}", "title": f"Zoë {n % 9}", "text": f"words, {n}"} for n in range(90)]
    file = tmp_path / f"passages{ending}"
    if ending == ".csv":
        file.write_text("id,title,text\n" + "".join('{id},{title},"{text}"\n'.format(**r) for r in rows))
    elif ending == ".json":
        file.write_text(json.dumps(rows))
    else:
        data = "\n\n".join(map(json.dumps, rows)).encode()
        file.write_bytes(gzip.compress(data) if ending.endswith(".gz") else data)
    corpus = make_corpus(file, tmp_path / "corpus")
    assert list(corpus.passage_records()) == plain(file)


def test_all_cores_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_tsv(tmp_path / "psgs.tsv", 150)
    whole = make_corpus(file, tmp_path / "whole")
    monkeypatch.setattr(passage_files, "PASSAGE_RUNS_BLOCK", 2_000)
    monkeypatch.setattr(passage_files, "available_cores", lambda: 2)
    assert make_corpus(file, tmp_path / "parts").hash == whole.hash


@pytest.mark.usefixtures("small_blocks")
def test_errors_name_the_line(tmp_path: Path) -> None:
    file = write_tsv(tmp_path / "psgs.tsv", 100)
    lines = file.read_text().splitlines()
    lines[70] = "one field"
    file.write_text("\n".join(lines))
    with pytest.raises(BadInput, match="1 columns, the header 3") as caught:
        make_corpus(file, tmp_path / "corpus")
    assert caught.value.line == 71
    lines[70] = lines[12]
    file.write_text("\n".join(lines))
    with pytest.raises(BadInput, match="passage id '11' occurs twice") as caught:
        make_corpus(file, tmp_path / "corpus")
    assert caught.value.line == 71
    assert not (tmp_path / "corpus" / ".partial").exists()


@pytest.mark.usefixtures("small_blocks")
def test_a_killed_reading_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_tsv(tmp_path / "psgs.tsv", 200)
    calls = 0
    make = passage_files.write_mapped

    def counted(path: Path, *rest: object) -> int:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return make(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(passage_files, "write_mapped", counted)
    with pytest.raises(KeyboardInterrupt):
        make_corpus(file, tmp_path / "corpus")
    runs = len(list((tmp_path / "corpus" / ".partial").glob(".passages-*.arrow")))
    assert runs == 3
    corpus = make_corpus(file, tmp_path / "corpus")
    assert list(corpus.passage_records()) == plain(file)
    whole = calls - 4
    calls = 10
    make_corpus(file, tmp_path / "again")
    assert calls - 10 == whole + 3
    assert Corpus.open(tmp_path / "again").hash == corpus.hash
