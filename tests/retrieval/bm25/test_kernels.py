"""What numba compiled is kept on disk, also where several processes compile at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from whichone.retrieval.bm25.kernels import compiled


def total(values: Any) -> Any:
    found = 0
    for value in values:
        found += value
    return found


def test_two_that_compile_at_once_do_not_take_each_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second reads the index before the first has written it, and writes its own while the first's code is not yet there."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    whole, real = np.arange(5), np.arange(5) / 2
    first, second, later = (compiled(total) for _ in range(3))
    save = first._cache._cache_file._save_data

    def meanwhile(name: str, data: Any) -> None:
        assert second(real) == 5
        save(name, data)

    monkeypatch.setattr(second._cache._cache_file, "_load_index", dict)
    monkeypatch.setattr(first._cache._cache_file, "_save_data", meanwhile)
    assert first(whole) == 10
    assert later(real) == 5
    assert sum(later.stats.cache_hits.values()) == 1
    assert later(whole) == 10
