"""The hashes of the packages that the tests run with, compared with what pip would install."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from pinned_hashes import chosen, differences, recorded, write


@pytest.fixture
def pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One pin, whose wheel lies in a folder that pip looks into instead of an index."""
    wheel = tmp_path / "falcon-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as written:
        written.writestr(
            "falcon-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: falcon\nVersion: 1.0\n"
        )
        written.writestr(
            "falcon-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        written.writestr("falcon-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    (tmp_path / "pins.txt").write_text("falcon==1.0  # a bird\n")
    return tmp_path / "pins.txt"


def test_a_file_that_was_exchanged_is_named(pins: Path, tmp_path: Path) -> None:
    name = "falcon-1.0-py3-none-any.whl"
    sha256 = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert chosen(pins) == {name: sha256}
    assert differences(chosen(pins), {(sha256, name), ("a" * 64, name)}) == []
    assert differences(chosen(pins), {("a" * 64, name)}) == [
        f"{name} has the hash {sha256}, which is not recorded"
    ]


def test_files_of_other_machines_stay_and_old_versions_go(pins: Path, tmp_path: Path) -> None:
    hashes = tmp_path / "hashes"
    other, old = "falcon-1.0-cp311-cp311-win_amd64.whl", "falcon-0.9-py3-none-any.whl"
    hashes.write_text(f"{'a' * 64}  {other}\n{'b' * 64}  {old}\n")
    write(pins, hashes)
    assert {name for _, name in recorded(hashes)} == {other, "falcon-1.0-py3-none-any.whl"}


def test_a_pin_that_no_index_has_is_an_error(pins: Path) -> None:
    pins.write_text("falcon==2.0\n")
    with pytest.raises(SystemExit, match="cannot resolve"):
        chosen(pins)
