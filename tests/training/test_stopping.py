"""Stopped at any moment, by SIGINT or SIGTERM, training goes on and comes to the same weights."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from whichone.training.train_encoders import Start  # noqa: E402
from whichone.training.trainer import (  # noqa: E402
    Settings,
    signals_wait,
)


@pytest.fixture
def train(checkpoint: Path, made_examples: Any):
    def make(folder: Path, **changes: Any):
        from whichone.training.train_encoders import BiEncoderTraining

        settings = Settings(
            **{"epochs": 2, "batch": 8, "learning_rate": 1e-3, "longest": 16, "patience": 0}
            | changes
        )
        start = Start(str(checkpoint))
        return BiEncoderTraining(
            start, made_examples(), made_examples(8), folder, settings, device="cpu"
        )

    return make


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(next(folder.rglob("model.safetensors")))


def progress(folder: Path) -> dict[str, Any]:
    return dict(torch.load(folder / "checkpoint.pt", weights_only=True)["progress"])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_a_step(train: Any, tmp_path: Path, number: int) -> None:
    """With a checkpoint every million steps, nothing but the signal and the epochs keep the work."""
    whole = train(tmp_path / "whole", every=10**6)
    whole.run()
    stopped = train(tmp_path / "parts", every=10**6)
    real = stopped.loss

    def loss(batch: Any, epoch: int) -> Any:
        found = real(batch, epoch)
        if stopped.optimizer.state_dict()["state"]:  # from the second step on
            os.kill(os.getpid(), number)
        return found

    stopped.loss = loss

    def ends(signal_number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(number, ends)
    try:
        with pytest.raises(KeyboardInterrupt):
            stopped.run()
        assert signal.getsignal(number) is ends
    finally:
        signal.signal(number, before)
    assert progress(tmp_path / "parts")["total"] == 2
    train(tmp_path / "parts", every=1).run()
    first, second = weights(tmp_path / "whole" / "last"), weights(tmp_path / "parts" / "last")
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_a_checkpoint_at_the_end_of_every_epoch(train: Any, tmp_path: Path) -> None:
    training = train(tmp_path / "t", every=10**6)
    seen = []
    real = training._look_at_held_out

    def look(at: Any) -> None:
        real(at)
        if (tmp_path / "t" / "checkpoint.pt").exists():
            seen.append(progress(tmp_path / "t")["epoch"])

    training._look_at_held_out = look
    training.run()
    assert seen == [1]
    kept = progress(tmp_path / "t")
    assert (kept["epoch"], kept["step"], len(kept["held_out"])) == (2, 0, 2)


def test_a_second_signal_does_not_wait() -> None:
    def ends(signal_number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, ends)
    try:
        with signals_wait() as stop:
            os.kill(os.getpid(), signal.SIGTERM)
            assert stop.asked
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
