"""A real small training: it learns, it resumes exactly, it refuses what it must."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from killed import dies_at

from whichone.errors import BadInput, Missing, UsageError
from whichone.training.examples import Example, Text
from whichone.training.trainer import Start, TrainingSettings, preset

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")


@pytest.fixture
def train(checkpoint: Path, made_examples: Any):
    def make(folder: Path, start: Start | None = None, **changes: Any):
        from whichone.training.encoder_trainings import BiEncoderTraining

        watched = changes.pop("held_out", True)
        settings = TrainingSettings(
            **{"epochs": 3, "batch": 8, "learning_rate": 1e-3, "longest": 16, "every": 2}
            | {"patience": 0}
            | changes
        )
        examples = made_examples()
        held_out = made_examples(8) if watched else []
        start = start or Start(str(checkpoint))
        return BiEncoderTraining(start, examples, held_out, folder, settings, device="cpu")

    return make


def weights(folder: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(next(folder.rglob("model.safetensors")))


def test_it_learns(train: Any, tmp_path: Path) -> None:
    trained = train(tmp_path / "a").run()
    assert trained.losses[-1] < trained.losses[0]
    assert trained.steps == 9
    assert (tmp_path / "a" / "best" / "modules.json").exists()


@pytest.mark.parametrize("held_out", [True, False])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_stopped_and_resumed_gives_the_same_weights(
    train: Any, tmp_path: Path, held_out: bool, accumulate: int
) -> None:
    options = {"held_out": held_out, "accumulate": accumulate}
    whole = train(tmp_path / "whole", **options).run()
    dies_at(train(tmp_path / "parts", **options), 5)
    torn = tmp_path / "parts" / "checkpoints" / "checkpoint-999"
    torn.mkdir()  # as a kill leaves it in the middle of writing
    (torn / "model.safetensors").write_bytes(b"half")
    assert train(tmp_path / "parts", **options).run() == whole
    first, second = weights(tmp_path / "whole" / "best"), weights(tmp_path / "parts" / "best")
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert sorted(p.name for p in (tmp_path / "parts").iterdir()) == ["best", "progress.json"]


def test_done_again_changes_no_byte(train: Any, tmp_path: Path) -> None:
    trained = train(tmp_path / "a").run()
    held = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in _files(tmp_path / "a")}
    assert train(tmp_path / "a").run() == trained
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in _files(tmp_path / "a")} == held


def _files(folder: Path) -> list[Path]:
    return [p for p in folder.rglob("*") if p.is_file()]


def test_gradients_of_several_batches_are_one_step(train: Any, tmp_path: Path) -> None:
    assert train(tmp_path / "a", accumulate=2).run().steps == 6
    assert train(tmp_path / "b", accumulate=3).run().steps == 3
    with pytest.raises(UsageError, match=r">= 1 - at .*accumulate"):
        preset("default", accumulate=0)


def test_the_best_epoch_is_kept_and_patience_ends(train: Any, tmp_path: Path) -> None:
    training = train(tmp_path / "a", epochs=6, patience=2, every=1000)
    said, seen = iter([0.2, 0.6, 0.5, 0.6, 0.9]), []

    def accuracy() -> float:
        state = training.model[0].auto_model.state_dict()
        seen.append({name: value.clone() for name, value in state.items()})
        return next(said)

    training.accuracy = accuracy
    trained = training.run()
    assert (trained.epochs, trained.best_epoch, trained.held_out) == (4, 1, [0.2, 0.6, 0.5, 0.6])
    best = weights(tmp_path / "a" / "best")
    assert all(torch.equal(seen[1][name], best[name]) for name in best)


@pytest.mark.parametrize(
    ("mode", "learned"), [("only-questions", "questions"), ("only-passages", "passages")]
)
def test_only_one_tower_learns(train: Any, checkpoint: Path, tmp_path: Path, mode: str, learned: str) -> None:
    train(tmp_path / mode, mode=mode).run()
    before = weights(checkpoint)
    for tower in ("questions", "passages"):
        after = weights(tmp_path / mode / "best" / tower)
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
    encoders = [need_encoder(str(tmp_path / name / "best")) for name in ("folders", "own")]
    first, second = (e.questions(texts) for e in encoders)
    assert (abs(first - second) < 1e-5).all()
    assert encoders[0].describe()["passage_encoder"]["kind"] == "dpr"
    titled = [e.passages(["w1"], ["w21 w41"]) for e in encoders]
    assert (abs(titled[0] - titled[1]) < 1e-5).all()
    again = train(tmp_path / "again", Start(str(tmp_path / "own" / "best")), epochs=1)
    assert again.ranking.scale == 1.0


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
    assert not list((tmp_path / "nan" / "checkpoints").iterdir())


def test_a_gradient_that_is_not_finite_never_reaches_the_weights(train: Any, tmp_path: Path) -> None:
    training = train(tmp_path / "inf", every=1)
    real, steps = training.criterion.forward, 0

    def loss(*features: Any) -> torch.Tensor:
        nonlocal steps
        steps += 1
        found = real(*features)
        if steps == 2:  # finite itself, infinite in its gradient
            found = found + torch.sqrt(next(iter(training.model.parameters())).sum() * 0.0)
        return found

    training.criterion.forward = loss
    with pytest.raises(BadInput, match="gradient is not finite in epoch 1, step 2") as caught:
        training.run()
    assert "the last good checkpoint stays" in str(caught.value)
    kept = tmp_path / "inf" / "checkpoints" / "checkpoint-1"
    assert all(torch.isfinite(w).all() for w in weights(kept).values())


def test_too_little_memory_says_what_to_make_smaller(train: Any, tmp_path: Path) -> None:
    training = train(tmp_path / "oom")

    def loss(*features: Any) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB")

    training.criterion.forward = loss
    with pytest.raises(Missing, match="batches of 8 with texts of up to 16 tokens") as caught:
        training.run()
    assert "--batch" in str(caught.value)


def test_devices_that_are_not_there() -> None:
    from whichone.training.trainer import chosen_device

    assert chosen_device("cpu") == "cpu"
    with pytest.raises(UsageError, match="no device called 'gpu'"):
        chosen_device("gpu")
    with pytest.raises(UsageError, match="the first GPU that it sees, not cuda:1") as caught:
        chosen_device("cuda:1")
    assert "CUDA_VISIBLE_DEVICES=1" in str(caught.value)
    if not torch.cuda.is_available():
        with pytest.raises(Missing, match="no GPU"):
            chosen_device("cuda")


def test_another_training_in_the_folder_is_refused(
    train: Any, checkpoint: Path, dpr: Path, tmp_path: Path
) -> None:
    dies_at(train(tmp_path / "a"), 1)
    with pytest.raises(UsageError, match="settings: seed 0, now 5"):
        train(tmp_path / "a", seed=5).run()
    pair = Start(str(dpr / "question"), str(dpr / "passage"))
    with pytest.raises(UsageError, match="checkpoint, passage_checkpoint"):
        train(tmp_path / "a", pair).run()
    (tmp_path / "a" / "progress.json").write_bytes(b"half of it")
    with pytest.raises(BadInput, match="not the JSON"):
        train(tmp_path / "a").run()


def test_negatives_that_are_not_there(checkpoint: Path, tmp_path: Path) -> None:
    from whichone.training.encoder_trainings import BiEncoderTraining

    start = Start(str(checkpoint))
    bare = [Example(id=str(n), question="w1", positive=Text("w1", "w2", str(n))) for n in range(8)]
    with pytest.raises(BadInput, match="no example has bm25 or namesake"):
        BiEncoderTraining(start, bare, [], tmp_path, TrainingSettings(batch=4), device="cpu")
    with pytest.raises(BadInput, match="do not fill one batch"):
        few = TrainingSettings(batch=16, kinds=())
        BiEncoderTraining(start, bare, [], tmp_path, few, device="cpu")


def test_gold_of_another_is_not_wrong(made_examples: Any) -> None:
    from whichone.training.encoder_trainings import also_gold

    first = made_examples(1)[0]
    batch = [first, Example(id="z", question="q", positive=first.positive, gold=("x0",))]
    mask = also_gold(batch, [e.positive for e in batch] + [first.negatives[0].passage], range(len(batch)))
    assert mask.tolist() == [[False, True, False], [True, False, True]]


def test_presets() -> None:
    assert preset("eq-finetune").epochs == 10
    assert preset("eq-finetune", epochs=2).warmup == 1237
    with pytest.raises(UsageError, match="did you mean eq-scratch"):
        preset("eq-scrach")
    with pytest.raises(UsageError, match=r">= 2 - at .*batch"):
        preset("default", batch=1)
    with pytest.raises(UsageError, match="no negatives called bm52"):
        preset("default", kinds=("bm52",))
