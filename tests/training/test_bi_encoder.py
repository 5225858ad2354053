"""A real small training: it learns, it resumes exactly, it refuses what it must."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from whichone.errors import BadInput, Missing, UsageError
from whichone.training.examples import Example, Text
from whichone.training.train_encoders import Start
from whichone.training.trainer import Settings, preset

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")


@pytest.fixture
def train(checkpoint: Path, made_examples: Any):
    def make(folder: Path, start: Start | None = None, **changes: Any):
        from whichone.training.train_encoders import BiEncoderTraining

        settings = Settings(
            **{"epochs": 3, "batch": 8, "learning_rate": 1e-3, "longest": 16, "every": 2}
            | {"patience": 0}
            | changes
        )
        examples, held_out = made_examples(), made_examples(8)
        start = start or Start(str(checkpoint))
        return BiEncoderTraining(start, examples, held_out, folder, settings, device="cpu")

    return make


def weights(folder: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(next(folder.rglob("model.safetensors")))


def dies_at(training: Any, step: int) -> None:
    real, steps = training._step, 0

    def dies(batch: Any, at: Any) -> float:
        nonlocal steps
        steps += 1
        if steps == step:
            raise KeyboardInterrupt
        return real(batch, at)

    training._step = dies
    with pytest.raises(KeyboardInterrupt):
        training.run()


def test_it_learns(train: Any, tmp_path: Path) -> None:
    trained = train(tmp_path / "a").run()
    assert trained.losses[-1] < trained.losses[0]
    assert trained.steps == 9
    assert (tmp_path / "a" / "best" / "modules.json").exists()


def test_stopped_and_resumed_gives_the_same_weights(train: Any, tmp_path: Path) -> None:
    train(tmp_path / "whole").run()
    dies_at(train(tmp_path / "parts"), 6)
    train(tmp_path / "parts").run()
    whole, parts = weights(tmp_path / "whole" / "last"), weights(tmp_path / "parts" / "last")
    assert all(torch.equal(whole[name], parts[name]) for name in whole)
    assert not list((tmp_path / "parts").glob(".*"))


@pytest.mark.parametrize(
    ("mode", "learned"), [("only-questions", "questions"), ("only-passages", "passages")]
)
def test_only_one_tower_learns(
    train: Any, checkpoint: Path, tmp_path: Path, mode: str, learned: str
) -> None:
    train(tmp_path / mode, mode=mode).run()
    before = weights(checkpoint)
    for tower in ("questions", "passages"):
        after = weights(tmp_path / mode / "last" / tower)
        changed = any(not torch.equal(before[name], after[name]) for name in before)
        assert changed == (tower == learned)


def test_dpr_pairs_in_both_formats_are_a_start(train: Any, dpr: Path, tmp_path: Path) -> None:
    """The same weights in two formats come to the same; what comes out is a pair that retrieval opens."""
    from whichone.retrieval.dense.encoder import need_encoder

    folders = Start(str(dpr / "question"), str(dpr / "passage"))
    own = Start(str(dpr / "dpr.cp"), base=str(dpr / "bert"))
    found = train(tmp_path / "folders", folders).run()
    assert found.losses[-1] < found.losses[0]
    train(tmp_path / "own", own).run()
    texts = ["w1 w21", "w2"]
    encoders = [need_encoder(str(tmp_path / name / "last")) for name in ("folders", "own")]
    first, second = (e.questions(texts) for e in encoders)
    assert (abs(first - second) < 1e-5).all()
    assert encoders[0].describe()["passage_encoder"]["kind"] == "dpr"
    titled = [e.passages(["w1"], ["w21 w41"]) for e in encoders]
    assert (abs(titled[0] - titled[1]) < 1e-5).all()
    again = train(tmp_path / "again", Start(str(tmp_path / "own" / "best")), epochs=1)
    assert again.towers.scale == 1.0


def test_half_a_dpr_pair_is_no_start(train: Any, dpr: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two folders"):
        train(tmp_path, Start(str(dpr / "question")))
    with pytest.raises(UsageError, match="base"):
        train(tmp_path, Start(str(dpr / "dpr.cp")))
    with pytest.raises(Missing, match="no such folder"):
        train(tmp_path, Start("./nowhere"))


def test_a_loss_that_is_not_finite_stops(train: Any, tmp_path: Path) -> None:
    training = train(tmp_path / "nan")
    with torch.no_grad():
        next(iter(training.towers.questions.module.parameters())).fill_(float("nan"))
    with pytest.raises(BadInput, match="loss is not finite in epoch 1, step 1") as caught:
        training.run()
    assert "there is no checkpoint yet" in str(caught.value)
    assert not (tmp_path / "nan" / "checkpoint.pt").exists()


def test_a_gradient_that_is_not_finite_never_reaches_the_weights(
    train: Any, tmp_path: Path
) -> None:
    training = train(tmp_path / "inf", every=1)
    real, steps = training.loss, 0

    def loss(batch: Any, epoch: int) -> torch.Tensor:
        nonlocal steps
        steps += 1
        found = real(batch, epoch)
        if steps == 2:  # finite itself, infinite in its gradient
            found = found + torch.sqrt(next(iter(training.model.parameters())).sum() * 0.0)
        return found

    training.loss = loss
    with pytest.raises(BadInput, match="gradient is not finite in epoch 1, step 2") as caught:
        training.run()
    assert "the last good checkpoint is" in str(caught.value)
    kept = torch.load(tmp_path / "inf" / "checkpoint.pt", weights_only=True)
    assert kept["progress"]["total"] == 1
    assert all(torch.isfinite(w).all() for w in kept["model"]["encoder"].values())


def test_too_little_memory_says_what_to_make_smaller(train: Any, tmp_path: Path) -> None:
    training = train(tmp_path / "oom")

    def loss(batch: Any, epoch: int) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB")

    training.loss = loss
    with pytest.raises(Missing, match="batches of 8 with texts of up to 16 tokens") as caught:
        training.run()
    assert "--batch" in str(caught.value)


def test_devices_that_are_not_there() -> None:
    from whichone.training.trainer import chosen_device

    assert chosen_device("cpu") == "cpu"
    with pytest.raises(UsageError, match="no device called 'gpu'"):
        chosen_device("gpu")
    if not torch.cuda.is_available():
        with pytest.raises(Missing, match="no GPU"):
            chosen_device("cuda")


def test_another_training_in_the_folder_is_refused(
    train: Any, checkpoint: Path, dpr: Path, tmp_path: Path
) -> None:
    from whichone.training.trainer import Progress

    first = train(tmp_path / "a")
    first.folder.mkdir()
    first._save(Progress())
    with pytest.raises(UsageError, match="settings: seed 0, now 5"):
        train(tmp_path / "a", seed=5).run()
    pair = Start(str(dpr / "question"), str(dpr / "passage"))
    with pytest.raises(UsageError, match="checkpoint, passage_checkpoint"):
        train(tmp_path / "a", pair).run()
    (tmp_path / "a" / "checkpoint.pt").write_bytes(b"half of it")
    with pytest.raises(BadInput, match="cannot be read"):
        train(tmp_path / "a").run()


def test_negatives_that_are_not_there(checkpoint: Path, tmp_path: Path) -> None:
    from whichone.training.train_encoders import BiEncoderTraining

    start = Start(str(checkpoint))
    bare = [Example(id=str(n), question="w1", positive=Text("w1", "w2", str(n))) for n in range(8)]
    with pytest.raises(BadInput, match="no example has bm25 or namesake"):
        BiEncoderTraining(start, bare, [], tmp_path, Settings(batch=4), device="cpu")
    with pytest.raises(BadInput, match="do not fill one batch"):
        few = Settings(batch=16, kinds=())
        BiEncoderTraining(start, bare, [], tmp_path, few, device="cpu")


def test_gold_of_another_is_not_wrong(made_examples: Any) -> None:
    from whichone.training.train_encoders import also_gold

    first = made_examples(1)[0]
    batch = [first, Example(id="z", question="q", positive=first.positive, gold=("x0",))]
    mask = also_gold(batch, [e.positive for e in batch] + [first.negatives[0].passage])
    assert mask.tolist() == [[False, True, False], [True, False, True]]


def test_presets() -> None:
    assert preset("eq-finetune").epochs == 10
    assert preset("eq-finetune", epochs=2).warmup == 1237
    with pytest.raises(UsageError, match="did you mean eq-scratch"):
        preset("eq-scrach")
    with pytest.raises(UsageError, match="at least 2"):
        preset("default", batch=1)
    with pytest.raises(UsageError, match="no negatives called bm52"):
        preset("default", kinds=("bm52",))
