"""Starting quickly: Arrow imports pandas where it is installed, a fifth of a second for nothing."""

from __future__ import annotations

import sys


class _NotThere:
    """First among the finders of modules."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name == "pandas":
            raise ImportError("this process does without pandas")


def without_pandas() -> None:
    """For a process of our own that converts nothing to pandas, until it ends."""
    if "pandas" not in sys.modules and _NotThere not in sys.meta_path:
        sys.meta_path.insert(0, _NotThere)
