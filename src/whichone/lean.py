"""Starting quickly, in processes that neither convert to pandas nor multiply matrices."""

from __future__ import annotations

import os
import sys


class _NotThere:
    """First among the finders of modules."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ImportError("this process does without pandas")


def start_lean() -> None:
    """For a process of our own and its workers, before it imports Arrow, until it ends.

    Arrow imports pandas where it is installed, a fifth of a second for nothing, and numpy, whose
    linear algebra has a thread on each processor spin for a tenth of a second.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if "pandas" not in sys.modules and _NotThere not in sys.meta_path:
        sys.meta_path.insert(0, _NotThere)
