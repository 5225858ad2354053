"""An index sorted on disk is the one sorted in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whichone.files import tables
from whichone.files.mapped import HashIndex, hashes


@pytest.mark.parametrize("in_memory", [0, 999, 1_000])
def test_written_piece_by_piece_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int
) -> None:
    monkeypatch.setattr(tables, "SORTED_IN_MEMORY", in_memory)
    texts = [f"name {n % 700}" for n in range(1_000)]
    values = hashes(texts)
    HashIndex.of(values).save(tmp_path, "memory")
    parts = ((values[s : s + 64], np.arange(s, min(s + 64, 1_000))) for s in range(0, 1_000, 64))
    files, shared = HashIndex.write(tmp_path, "disk", parts)
    assert files == ["disk-hashes.npy", "disk-rows.npy"]
    for kind in ("hashes", "rows"):
        memory = (tmp_path / f"memory-{kind}.npy").read_bytes()
        assert (tmp_path / f"disk-{kind}.npy").read_bytes() == memory
    assert len(shared) == 100
    assert all(texts[int(a)] == texts[int(b)] for a, b in shared)
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


def test_an_index_of_nothing(tmp_path: Path) -> None:
    HashIndex.write(tmp_path, "none", [])
    index = HashIndex.open(tmp_path.joinpath, "none")
    assert len(index) == 0
    assert index.rows("anything").tolist() == []
