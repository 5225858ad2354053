"""A re-ranker trained for real: it learns, resumes exactly, and re-ranking opens it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from killed import dies_at

from whichone.errors import BadInput, UsageError
from whichone.records import Passage
from whichone.training.trainer import Start, TrainingSettings

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")


def training(start: Path, examples: Any, held_out: Any, folder: Path, **changes: Any):
    from whichone.training.encoder_trainings import CrossEncoderTraining

    settings = TrainingSettings(
        **{"epochs": 3, "batch": 8, "learning_rate": 3e-3, "longest": 24, "every": 2}
        | {"patience": 0}
        | changes
    )
    return CrossEncoderTraining(Start(str(start)), examples, held_out, folder, settings, device="cpu")


def weights(folder: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


def test_it_learns_resumes_and_re_ranks(checkpoint: Path, made_examples: Any, tmp_path: Path) -> None:
    from whichone.retrieval.rerank import CrossEncoderOrder

    learn, watch = made_examples(), made_examples(8)
    trained = training(checkpoint, learn, watch, tmp_path / "whole").run()
    assert trained.losses[-1] < trained.losses[0]
    dies_at(training(checkpoint, learn, watch, tmp_path / "parts"), 6)
    training(checkpoint, learn, watch, tmp_path / "parts").run()
    whole, parts = weights(tmp_path / "whole" / "best"), weights(tmp_path / "parts" / "best")
    assert all(torch.equal(whole[name], parts[name]) for name in whole)

    order = CrossEncoderOrder(str(tmp_path / "whole" / "best"))
    held = [learn[0].positive, learn[0].negatives[0].passage, learn[5].positive]
    passages = [Passage(id=p.page, page=p.page, title=p.title, text=p.text) for p in held]
    places, scores, _ = order.order(learn[0].question, passages)
    assert sorted(places) == [0, 1, 2]
    scorer = training(tmp_path / "whole" / "best", learn, (), tmp_path / "again").model
    wanted = scorer.predict([(learn[0].question, p.joined()) for p in held])
    assert scores == pytest.approx([float(wanted[n]) for n in places], abs=1e-5)


def test_others_are_never_right(made_examples: Any) -> None:
    from whichone.training.encoder_trainings import others

    batch = made_examples(4)
    same_page = made_examples(1)[0]
    found = others([*batch, same_page], 0, 5)
    assert [p.page for p in found] == ["p1", "p2", "p3"]
    assert [p.page for p in others(batch, 2, 2)] == ["p3", "p0"]


def test_a_re_ranker_without_wrong_passages(checkpoint: Path, made_examples: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs wrong passages"):
        training(checkpoint, made_examples(), (), tmp_path, kinds=(), others=0)


def test_an_encoder_is_no_re_ranker_and_a_re_ranker_no_encoder(
    checkpoint: Path, made_examples: Any, tmp_path: Path
) -> None:
    """Either would run, and order at random."""
    from whichone.retrieval.dense.encoder import need_encoder
    from whichone.retrieval.rerank import CrossEncoderOrder
    from whichone.training.encoder_trainings import Towers

    with pytest.raises(BadInput, match="it is a BertModel, which scores no pairs"):
        CrossEncoderOrder(str(checkpoint), device="cpu")
    training(checkpoint, made_examples(), (), tmp_path, epochs=1).run()
    best = str(tmp_path / "best")
    with pytest.raises(BadInput, match="this is a cross-encoder"):
        need_encoder(best)
    with pytest.raises(BadInput, match="this is a cross-encoder"):
        Towers.load(Start(best), "both", 24, "cpu")
