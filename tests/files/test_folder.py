"""The commit protocol: a folder is whole, or it says what is wrong with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from whichone.errors import BadInput, BrokenFolder, LockedFolder, Missing, NewerFormat, UsageError
from whichone.files.folder import Folder
from whichone.files.manifest import MANIFEST
from whichone.files.tables import TableSchema

NUMBERS = TableSchema("numbers", pa.schema([("n", pa.int64()), ("word", pa.string())]), ("n",))


def make(path: Path, rows: int = 3) -> Folder:
    with Folder.create(path, "thing") as folder:
        table = pa.table({"n": list(range(rows, 0, -1)), "word": ["x"] * rows})
        folder.write(NUMBERS, table)
        folder.commit(name="t", parameters={"rows": rows}, made={"at": "some time"})
    return Folder.open(path, "thing")


def test_a_committed_folder_reads_back_sorted(tmp_path: Path) -> None:
    folder = make(tmp_path / "f")
    assert folder.table("numbers")["n"].to_pylist() == [1, 2, 3]
    assert folder.manifest.parameters == {"rows": 3}
    assert not (tmp_path / "f" / ".partial").exists()
    assert not (tmp_path / "f" / ".lock").exists()


def test_what_the_manifest_does_not_name_does_not_exist(tmp_path: Path) -> None:
    make(tmp_path / "f")
    (tmp_path / "f" / "stray.parquet").write_bytes(b"")
    with pytest.raises(BrokenFolder, match="has no stray"):
        Folder.open(tmp_path / "f", "thing").path("stray.parquet")


def test_made_does_not_change_the_content_hash(tmp_path: Path) -> None:
    first, second = make(tmp_path / "a"), make(tmp_path / "b")
    assert first.content_hash == second.content_hash
    assert first.content_hash != make(tmp_path / "c", rows=4).content_hash


def test_broken_folders_say_so(tmp_path: Path) -> None:
    with pytest.raises(Missing):
        Folder.open(tmp_path / "none", "thing")
    make(tmp_path / "f")
    with pytest.raises(BadInput, match=r"of the kind thing \(wanted: run\)"):
        Folder.open(tmp_path / "f", "run")
    with (tmp_path / "f" / "numbers.parquet").open("ab") as file:
        file.write(b"more")
    with pytest.raises(BrokenFolder, match="its manifest says"):
        Folder.open(tmp_path / "f", "thing")
    (tmp_path / "f" / "numbers.parquet").unlink()
    with pytest.raises(BrokenFolder, match="missing"):
        Folder.open(tmp_path / "f", "thing")


def test_verify_finds_a_changed_byte(tmp_path: Path) -> None:
    folder = make(tmp_path / "f")
    file = tmp_path / "f" / "numbers.parquet"
    data = bytearray(file.read_bytes())
    data[20] ^= 1
    file.write_bytes(data)
    with pytest.raises(BrokenFolder, match="is damaged"):
        folder.verify()


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "f")
    manifest = json.loads((tmp_path / "f" / MANIFEST).read_text())
    manifest["format"] = 99
    (tmp_path / "f" / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(NewerFormat, match="format 99"):
        Folder.open(tmp_path / "f", "thing")


def test_half_written(tmp_path: Path) -> None:
    with Folder.create(tmp_path / "f", "thing") as folder:
        folder.write(NUMBERS, NUMBERS.empty())
    with pytest.raises(BrokenFolder, match="half-written"):
        Folder.open(tmp_path / "f", "thing")


class Broken(Exception):
    """What goes wrong while a folder is written."""


def break_off(path: Path, *, resume: bool = False) -> None:
    with pytest.raises(Broken), Folder.create(path, "thing", resume=resume) as folder:
        folder.write_bytes("begun", b"something")
        raise Broken


def test_an_error_leaves_nothing_but_what_was_there(tmp_path: Path) -> None:
    break_off(tmp_path / "new")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty").mkdir()
    break_off(tmp_path / "empty")
    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]
    before = make(tmp_path / "f").content_hash
    break_off(tmp_path / "f")
    assert Folder.open(tmp_path / "f", "thing").content_hash == before
    assert sorted(p.name for p in (tmp_path / "f").iterdir()) == [MANIFEST, "numbers.parquet"]


def test_work_that_can_go_on_outlives_an_error(tmp_path: Path) -> None:
    break_off(tmp_path / "f", resume=True)
    with Folder.create(tmp_path / "f", "thing", resume=True) as folder:
        assert (folder.partial / "begun").read_bytes() == b"something"


def test_an_error_while_committing_is_made_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "f", rows=2)
    with monkeypatch.context() as patch, pytest.raises(Broken):
        patch.setattr(Path, "replace", _replace_but_no_table)
        make(tmp_path / "f", rows=5)
    with pytest.raises(BrokenFolder, match="half-written"):
        Folder.open(tmp_path / "f", "thing")
    with Folder.create(tmp_path / "f", "thing", extend=True) as folder:
        assert folder.table("numbers").num_rows == 5


_replace = Path.replace


def _replace_but_no_table(file: Path, target: Path) -> Path:
    if file.suffix == ".parquet":
        raise Broken
    return _replace(file, target)


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with Folder.create(tmp_path / "f", "thing"), pytest.raises(LockedFolder, match=str(os.getpid())):
        Folder.create(tmp_path / "f", "thing")


def test_other_peoples_files_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(UsageError, match="other files"):
        Folder.create(tmp_path, "thing")
    make(tmp_path / "f")
    with pytest.raises(UsageError, match="may not replace"):
        Folder.create(tmp_path / "f", "run")


@pytest.mark.parametrize("step", range(6))
def test_killed_at_any_step_of_a_commit(tmp_path: Path, step: int) -> None:
    """A commit that dies after its nth change on disk leaves the old folder, none, or the new one."""
    program = f"""
import os, sys, pathlib
import pyarrow as pa
from whichone.files.folder import Folder
from whichone.files.tables import TableSchema
schema = TableSchema("numbers", pa.schema([("n", pa.int64()), ("word", pa.string())]), ("n",))
folder = Folder.create({str(tmp_path / "f")!r}, "thing")
folder.write(schema, pa.table({{"n": [7], "word": ["new"]}}))
changes = 0
for name in ("replace", "unlink"):
    def counted(self, *args, _real=getattr(pathlib.Path, name), **kwargs):
        global changes
        if changes == {step}:
            os._exit(9)
        changes += 1
        return _real(self, *args, **kwargs)
    setattr(pathlib.Path, name, counted)
folder.commit(name="new")
"""
    make(tmp_path / "f")
    subprocess.run([sys.executable, "-c", program], check=False)
    with Folder.create(tmp_path / "f", "thing", resume=True) as folder:
        committed = (tmp_path / "f" / MANIFEST).exists()
        if not committed:
            folder.write(NUMBERS, pa.table({"n": [7], "word": ["new"]}))
            folder.commit(name="new")
    opened = Folder.open(tmp_path / "f", "thing")
    opened.verify()
    assert opened.table("numbers")["n"].to_pylist() in ([7], [1, 2, 3])


def test_the_journal_ignores_a_torn_last_line(tmp_path: Path) -> None:
    with Folder.create(tmp_path / "f", "thing") as folder:
        folder.journal.append({"part": 1})
        with folder.journal.path.open("ab") as file:
            file.write(b'{"part": 2')
        assert folder.journal.read() == [{"part": 1}]
