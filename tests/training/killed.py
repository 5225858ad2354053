"""A training that ends in the middle."""

from __future__ import annotations

from typing import Any

import pytest


def dies_at(training: Any, step: int) -> None:
    """Run it, and end at this step as a kill would."""
    real, steps = training.must_be_finite, 0

    def dies(what: str, value: Any, state: Any) -> None:
        nonlocal steps
        steps += what == "gradient"
        if steps == step:
            raise KeyboardInterrupt
        real(what, value, state)

    training.must_be_finite = dies
    with pytest.raises(KeyboardInterrupt):
        training.run()
