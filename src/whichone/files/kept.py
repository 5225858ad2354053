"""Whether this process has kept work from which the same command would go on."""

from __future__ import annotations

_kept = False


def can_go_on() -> None:
    """Work was kept: what is said at an interrupt may promise to go on."""
    global _kept
    _kept = True


def goes_on() -> bool:
    return _kept
