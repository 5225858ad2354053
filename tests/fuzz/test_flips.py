"""Flipped bits in folders of every kind; `bench/fuzz.py --flips` runs longer."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from flips import Target, make, problems

from whichone.files import manifest

pytest.importorskip("onnxruntime")
COUNT = 120


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> list[Target]:
    folder = tmp_path_factory.mktemp("flips")
    before = Path.cwd()
    os.chdir(folder)
    try:
        return make(folder)
    finally:
        os.chdir(before)


def test_no_flipped_bit_is_silent(targets: list[Target]) -> None:
    listed = [f"{number}: {problem}" for number, problem in problems(targets, range(COUNT))]
    assert listed == [], "\n".join(listed)


def test_no_flipped_bit_of_a_large_file_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is large: what readers know to compare by the block is compared by blocks of 64 bytes."""
    monkeypatch.setattr(manifest, "AT_ONCE", 0)
    monkeypatch.setattr(manifest, "BLOCK", 128)
    monkeypatch.setattr(manifest, "FINE", 64)
    monkeypatch.chdir(tmp_path)
    by_block = [t for t in make(tmp_path) if t.name in ("corpus", "bm25", "tfidf", "namesake")]
    listed = [f"{n}: {problem}" for n, problem in problems(by_block, range(COUNT // 3))]
    assert listed == [], "\n".join(listed)


def test_what_a_missing_state_no_longer_names_is_kept(targets: list[Target]) -> None:
    import whichone
    from whichone.errors import BrokenFolder

    (place,) = (target.place for target in targets if target.name == "namesake")
    state = place / "updates.json"
    content, files = state.read_bytes(), sorted(place.rglob("*"))
    journal = next(place.glob("journal-*.jsonl"))
    for file, message in ((state, "updates.json is missing"), (journal, "is missing")):
        moved = file.rename(place.parent / file.name)
        with pytest.raises(BrokenFolder, match=message):
            whichone.Namesake.open(place)
        moved.rename(file)
    assert sorted(place.rglob("*")) == files and state.read_bytes() == content
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-1] + b"x")  # the end of the last line, which was confirmed
    with pytest.raises(BrokenFolder, match="the line is damaged"):
        whichone.Namesake.open(place)
    journal.write_bytes(whole[:-9])  # torn: never confirmed
    assert len(whichone.Namesake.open(place))
    journal.write_bytes(whole)
