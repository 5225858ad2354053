"""Which passages a search may return: not those removed, and only those a filter lets through."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
_NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Selection:
    """Rows in ascending order; `allowed` is None where there is no filter."""

    removed: Rows = field(default_factory=lambda: _NOTHING)
    allowed: Rows | None = None

    @property
    def everything(self) -> bool:
        return self.allowed is None and not len(self.removed)

    def keeps(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """For each row whether it may be returned."""
        kept = ~_among(rows, self.removed)
        return kept if self.allowed is None else kept & _among(rows, self.allowed)


def _among(rows: Rows, listed: Rows) -> npt.NDArray[np.bool_]:
    if not len(listed):
        return np.zeros(len(rows), np.bool_)
    places = np.searchsorted(listed, rows)
    places[places == len(listed)] = 0
    return np.asarray(listed[places] == rows)
