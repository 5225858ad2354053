"""Damage is seen where it is read: every block, every file, the manifest itself."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from whichone.cli import whichone
from whichone.corpus.corpus import Corpus
from whichone.corpus.save import save_corpus
from whichone.errors import BrokenFolder, WhichoneError
from whichone.files import manifest, mapped
from whichone.files.folder import Folder, verify_folder, verify_folders
from whichone.files.manifest import MANIFEST, FileEntry
from whichone.files.tables import TableSchema
from whichone.records import Passage, Question
from whichone.retrieval.bm25 import Bm25

TWO = TableSchema("two", pa.schema([("n", pa.int64()), ("word", pa.string())]), ("n",))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "BLOCK", 64)
    monkeypatch.setattr(manifest, "FINE", 64)


def make(path: Path) -> Folder:
    with Folder.create(path, "thing") as folder:
        words = [f"{random.Random(n).random()}" for n in range(200)]
        folder.write(TWO, pa.table({"n": list(range(200)), "word": words}))
        folder.write_bytes("plain.bin", bytes(range(256)))
        folder.commit(parameters={"rows": 200, "share": 0.25})
    return Folder.open(path, "thing")


def flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


def test_sums_are_those_of_each_block(small_blocks: None, tmp_path: Path) -> None:
    data = random.Random(0).randbytes(150)
    (tmp_path / "f").write_bytes(data)
    _, sums = manifest.sums_of(tmp_path / "f")
    pieces = [data[:64], data[64:128], data[128:]]
    assert sums == "".join(f"{zlib.crc32(piece):08x}" for piece in pieces)
    (tmp_path / "empty").write_bytes(b"")
    assert manifest.sums_of(tmp_path / "empty")[1] == ""


def test_a_large_file_has_finer_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "AT_ONCE", 100)
    monkeypatch.setattr(manifest, "BLOCK", 64)
    monkeypatch.setattr(manifest, "FINE", 16)
    folder = make(tmp_path / "f")
    sums = folder.manifest.files["plain.bin"].crc32
    assert len(sums) == 8 * 256 // 16
    flip(tmp_path / "f/plain.bin", 40)
    compare = folder.path_by_block("plain.bin")[1]
    assert compare is not None
    compare([(0, 31), (48, 256)])
    with pytest.raises(BrokenFolder, match=r"bytes 32 to 47"):
        compare([(31, 33)])
    assert manifest.Blocks(tmp_path / "f/plain.bin", sums).damage() == [2]


def test_every_flipped_byte_of_every_file_is_seen(tmp_path: Path) -> None:
    make(tmp_path / "f")
    missed = []
    for name in (MANIFEST, "two.parquet", "plain.bin"):
        file = tmp_path / "f" / name
        whole = file.read_bytes()
        for at in range(0, len(whole), 7):
            flip(file, at)
            try:
                folder = Folder.open(tmp_path / "f", "thing")
                folder.table("two")
                folder.path("plain.bin")
                missed.append((name, at))
            except WhichoneError:
                pass
            file.write_bytes(whole)
    assert missed == []


def test_only_what_is_read_is_compared(small_blocks: None, tmp_path: Path) -> None:
    folder = make(tmp_path / "f")
    ends = manifest.BLOCK
    whole = (tmp_path / "f/two.parquet").read_bytes()
    words = whole.index(b"0.")  # the values of the second column
    flip(tmp_path / "f/two.parquet", words + 2 * ends)
    assert folder.table("two", ["n"])["n"].to_pylist() == list(range(200))
    with pytest.raises(BrokenFolder, match="two.parquet is damaged"):  # noqa: RUF043
        folder.table("two", ["word"])


def test_a_block_is_compared_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path / "f")
    read: list[int] = []
    compare = manifest._block_crc
    monkeypatch.setattr(
        manifest, "_block_crc", lambda file, n, size: (read.append(n), compare(file, n, size))[1]
    )
    folder.path("plain.bin")
    folder.path("plain.bin")
    assert read == [0]


def test_a_large_file_is_compared_whole_before_it_is_used(
    small_blocks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "AT_ONCE", 100)
    folder = make(tmp_path / "f")
    flip(tmp_path / "f/plain.bin", 130)  # in neither the first nor the last block
    with pytest.raises(BrokenFolder, match=r"bytes 128 to 191"):
        folder.path("plain.bin")


def test_a_large_mapped_table_is_compared_by_the_batch_that_is_read(
    small_blocks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "AT_ONCE", 100)
    monkeypatch.setattr(mapped, "BATCH", 16)
    words = [f"word {n:04}" for n in range(160)]
    table = pa.table({"word": words})
    with Folder.create(tmp_path / "f", "thing") as folder:
        mapped.write_mapped(folder.partial / "w.arrow", table.to_batches(), table.schema)
        folder.adopt("w.arrow")
        folder.commit()
    file = tmp_path / "f/w.arrow"
    flip(file, file.read_bytes().index(b"word 0085") + 6)  # "word 0085" becomes "word 0185"

    def opened() -> mapped.MappedTable:
        folder = Folder.open(tmp_path / "f", "thing")
        return mapped.MappedTable.open(*folder.path_by_block("w.arrow"))

    unread = opened()
    for row in (0, 64, 111, 159):
        assert unread.string(row, "word") == unread.value(row, "word") == words[row]
    for read in (
        lambda t: t.string(85, "word"),
        lambda t: t.value(85, "word"),
        lambda t: t.take([3, 85], ["word"]),
        lambda t: t.slice(60, 40, ["word"]),
        lambda t: t.table(),
        lambda t: list(t.batches()),
    ):
        with pytest.raises(BrokenFolder, match=r"w\.arrow is damaged"):
            read(opened())


def test_large_postings_are_compared_by_the_lists_that_are_read(
    small_blocks: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "AT_ONCE", 100)
    monkeypatch.setattr(manifest, "FINE", 16)
    texts = [f"common term{n % 7} rare{n}" for n in range(40)]
    save_corpus(
        tmp_path / "c",
        [Passage(id=f"p{n}", page=f"p{n}", title="", text=text) for n, text in enumerate(texts)],
    )
    Bm25.build(Corpus.open(tmp_path / "c"), tmp_path / "i")
    words = [f"rare{n}" for n in range(40)]
    asked = [Question(id=word, text=word) for word in words]
    whole = [list(Bm25.open(tmp_path / "i").search([q], 3)) for q in asked]
    flip(tmp_path / "i/postings.npy", 128 + 4 * 20)
    answers: list[object] = []
    for question in asked:
        try:
            answers.append(list(Bm25.open(tmp_path / "i").search([question], 3)))
        except BrokenFolder as error:
            assert "postings.npy is damaged" in str(error)
            answers.append(None)
    damaged = [n for n, answer in enumerate(answers) if answer is None]
    assert 0 < len(damaged) < 20
    assert [a for a in answers if a is not None] == [w for n, w in enumerate(whole) if n not in damaged]


def test_folders_without_checksums_of_blocks_open(tmp_path: Path) -> None:
    folder = make(tmp_path / "f")
    old = {n: FileEntry(e.sha256, e.bytes, e.rows) for n, e in folder.manifest.files.items()}
    folder.manifest.files.update(old)
    assert folder.table("two", ["n"]).num_rows == 200
    assert list(folder.damage()) == []
    flip(tmp_path / "f/plain.bin", 5)
    assert [e.message for e in folder.damage()] == ["plain.bin is not the file its manifest names"]


def test_verify_reports_every_damaged_file(small_blocks: None, tmp_path: Path) -> None:
    make(tmp_path / "below/a")
    make(tmp_path / "below/b")
    flip(tmp_path / "below/b/plain.bin", 70)
    flip(tmp_path / "below/b/plain.bin", 200)
    (tmp_path / "below/b/two.parquet").unlink()
    whole, broken = verify_folders([tmp_path / "below"])
    assert (whole.files, whole.kind, whole.damage) == (2, "thing", [])
    assert len(broken.damage) == 2
    assert "bytes 64 to 127, 192 to 255" in broken.damage[0]
    assert broken.damage[1] == "two.parquet is missing"
    flip(tmp_path / "below/a" / MANIFEST, 5)
    assert len(verify_folder(tmp_path / "below/a").damage) == 1


def test_the_command(tmp_path: Path) -> None:
    make(tmp_path / "f")
    good = CliRunner().invoke(whichone, ["verify", str(tmp_path / "f")])
    assert (good.exit_code, good.output.endswith("whole\n")) == (0, True)
    flip(tmp_path / "f/plain.bin", 0)
    bad = CliRunner().invoke(whichone, ["verify", str(tmp_path / "f"), "--json"])
    assert bad.exit_code == 3
    assert "plain.bin is damaged" in bad.output
    (tmp_path / "none").mkdir()
    nothing = CliRunner().invoke(whichone, ["verify", str(tmp_path / "none")])
    assert isinstance(nothing.exception, WhichoneError)


def test_files_beside_a_folder_keep_their_own_sums(tmp_path: Path) -> None:
    file = tmp_path / "derived"
    file.write_bytes(b"derived")
    assert manifest.is_whole(file)
    manifest.write_sums(file)
    assert manifest.is_whole(file)
    flip(file, 3)
    assert not manifest.is_whole(file)
    manifest.forget_sums(file)
    assert manifest.is_whole(file)
