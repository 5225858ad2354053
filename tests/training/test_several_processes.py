"""Two processes on loopback train one model: as one that adds up two batches, and resumed to the last bit."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from forked_command import quick_commands

from whichone.files.lines import write_json_lines
from whichone.training.examples import Example

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("one_of_several.py")
IMPORTED = (
    "sentence_transformers",
    "datasets",
    "accelerate",
    "whichone.cli",
    "whichone.training.train_encoders",
    "whichone.training.encoder_trainings",
)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Forked from a process that has imported torch, which takes longer than a training here."""
    with quick_commands(tmp_path_factory.mktemp("commands"), *IMPORTED) as folder:
        yield folder / "forked-python"


def started(
    python: Path, count: int, out: Path, dies_at: int, words: list[str]
) -> list[subprocess.CompletedProcess[str]]:
    """As many processes as torchrun would start on one machine, to their ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    running = [
        subprocess.Popen(
            [str(python), str(PROGRAM), str(out), str(dies_at), *words],
            env={**os.environ, **place, "RANK": str(n), "LOCAL_RANK": str(n), "OMP_NUM_THREADS": "1"}
            if count > 1
            else {**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(count)
    ]
    said = [process.communicate() for process in running]
    return [
        subprocess.CompletedProcess([], process.returncode, *texts)
        for process, texts in zip(running, said, strict=True)
    ]


@pytest.fixture(scope="module")
def still(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny encoder without dropout, so that the number of processes alone can change anything."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(checkpoint), device="cpu")
    config = model[0].auto_model.config
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    folder = tmp_path_factory.mktemp("still") / "model"
    model.save_pretrained(str(folder), create_model_card=False)
    return folder


def learn(folder: Path, made_examples: Callable[..., list[Example]], model: Path, mode: str) -> list[str]:
    if not (folder / "examples.jsonl").exists():
        write_json_lines(folder / "examples.jsonl", made_examples(60))
    given: dict[str, Any] = {"checkpoint": model, "mode": mode, "negatives": "bm25", "batch": 4, "epochs": 2}
    given |= {"held-out": 0.2, "every": 2, "learning-rate": 1e-3, "device": "cpu", "seed": 3}
    options = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    return ["train", "retriever", str(folder / "examples.jsonl"), "OUT", *options]


def weights(out: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return {
        str(file.relative_to(out)): value
        for file in sorted((out / "best").rglob("model.safetensors"))
        for value in [load_file(file)]
    }


def same(a: Path, b: Path, tolerance: float) -> bool:
    one, two = weights(a), weights(b)
    assert one
    assert one.keys() == two.keys()
    return all(
        torch.allclose(one[file][name], two[file][name], rtol=0, atol=tolerance)
        for file in one
        for name in one[file]
    )


@pytest.mark.parametrize("mode", ["both", "only-questions"])
def test_two_processes(tmp_path: Path, made_examples: Any, still: Path, python: Path, mode: str) -> None:
    words = learn(tmp_path, made_examples, still, mode)

    def run(count: int, name: str, dies_at: int = 0, *more: str) -> list[subprocess.CompletedProcess[str]]:
        out = tmp_path / name
        return started(
            python, count, out, dies_at, [str(out) if w == "OUT" else w for w in words] + list(more)
        )

    first, second = run(2, "two")
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert first.stdout.splitlines()[-1].startswith(f"{tmp_path / 'two' / 'best'}: 2 epochs")
    assert "epoch 2: loss" in first.stderr
    assert second.stdout == ""  # it writes nothing in OUT
    assert "epoch" not in second.stderr
    (alone,) = run(1, "one", 0, "--accumulate", "2")
    assert alone.returncode == 0, alone.stderr
    assert same(tmp_path / "two", tmp_path / "one", 1e-5)
    files = {p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*")}
    assert files == {p.relative_to(tmp_path / "two") for p in (tmp_path / "two").rglob("*")}
    if mode == "both":
        return
    ended = run(2, "again", 4)
    assert all(each.returncode for each in ended)
    assert {p.name for p in (tmp_path / "again").glob("checkpoints/*/rng_state*")} == {
        "rng_state_0.pth",
        "rng_state_1.pth",
    }
    (other,) = run(1, "again")
    assert other.returncode == 2
    assert "another training was begun here (processes)" in other.stderr
    resumed = run(2, "again")
    assert [each.returncode for each in resumed] == [0, 0], resumed[0].stderr
    assert resumed[1].stdout == ""
    assert same(tmp_path / "two", tmp_path / "again", 0)
