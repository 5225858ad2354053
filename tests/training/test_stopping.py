"""Stopped at any moment, by SIGINT or SIGTERM, training goes on and comes to the same weights."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from whichone.training.trainer import Start, TrainingSettings, signals_wait  # noqa: E402


@pytest.fixture
def train(checkpoint: Path, made_examples: Any):
    def make(folder: Path, **changes: Any):
        from whichone.training.encoder_trainings import BiEncoderTraining

        settings = TrainingSettings(
            **{"epochs": 2, "batch": 8, "learning_rate": 1e-3, "longest": 16, "patience": 0} | changes
        )
        start = Start(str(checkpoint))
        return BiEncoderTraining(start, made_examples(), made_examples(8), folder, settings, device="cpu")

    return make


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(next(folder.rglob("model.safetensors")))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("step", [2, 3])
def test_a_signal_in_the_middle_of_a_step(train: Any, tmp_path: Path, number: int, step: int) -> None:
    """With a checkpoint every million steps, nothing but the signal and the epochs keep the work."""
    whole = train(tmp_path / "whole", every=10**6).run()
    stopped = train(tmp_path / "parts", every=10**6)
    real, steps = stopped.criterion.forward, 0

    def loss(*features: Any) -> Any:
        nonlocal steps
        steps += 1
        if steps == step:
            os.kill(os.getpid(), number)
        return real(*features)

    stopped.criterion.forward = loss

    def ends(signal_number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(number, ends)
    try:
        with pytest.raises(KeyboardInterrupt):
            stopped.run()
    finally:
        signal.signal(number, before)
    kept = tmp_path / "parts" / "checkpoints" / f"checkpoint-{step}"
    assert json.loads((kept / "trainer_state.json").read_text())["global_step"] == step
    assert train(tmp_path / "parts", every=1).run() == whole
    first, second = weights(tmp_path / "whole" / "best"), weights(tmp_path / "parts" / "best")
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_a_checkpoint_at_the_end_of_every_epoch(train: Any, tmp_path: Path) -> None:
    training = train(tmp_path / "t", every=10**6)
    real, seen = training.accuracy, []

    def accuracy() -> float:
        places = (tmp_path / "t" / "checkpoints").glob("checkpoint-*")
        seen.append(sorted(place.name for place in places))
        return float(real())

    training.accuracy = accuracy
    training.run()
    assert seen == [[], ["checkpoint-3"]]


def test_a_second_signal_does_not_wait() -> None:
    def ends(signal_number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, ends)
    try:
        with signals_wait() as asked:
            os.kill(os.getpid(), signal.SIGTERM)
            assert asked == [signal.SIGTERM]
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
