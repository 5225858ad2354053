"""Training a cross-encoder that re-ranks, with the same wrong passages as a bi-encoder."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whichone.errors import Missing, UsageError, missing_extra
from whichone.training.checkpoints import OneModel
from whichone.training.devices import chosen_device
from whichone.training.examples import Example, Text, check_negatives, training_identity
from whichone.training.loop import Training
from whichone.training.settings import Settings
from whichone.training.start import Start, place_of
from whichone.training.tower import on_device

if TYPE_CHECKING:
    import torch

PAIRS = 256
"""Pairs that are scored at once when no gradient is needed."""


class PairScorer(OneModel):
    """sentence-transformers' CrossEncoder with one score a pair, as it comes from the head."""

    key = "cross-encoder"

    def __init__(self, model: Any) -> None:
        self.model = model

    @classmethod
    def load(cls, checkpoint: str, longest: int, device: str) -> PairScorer:
        """A cross-encoder's folder or name, or any encoder, which gets a new head."""
        import torch

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                from sentence_transformers import CrossEncoder
        except ImportError:
            raise missing_extra("sentence-transformers", "train") from None
        place = place_of(checkpoint)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = CrossEncoder(
                    place,
                    num_labels=1,
                    device=device,
                    activation_fn=torch.nn.Identity(),
                    local_files_only=True,
                )
        except (OSError, ValueError, KeyError) as error:
            raise Missing(
                f"cannot load the checkpoint {checkpoint}: {str(error).splitlines()[0]}",
                hint="name a folder of a cross-encoder or of an encoder, or a model that is on this"
                " machine",
            ) from error
        model.max_seq_length = min(longest, model.max_seq_length or longest)
        return cls(model.float())

    def scores(self, pairs: Sequence[tuple[str, str]]) -> torch.Tensor:
        features = on_device(self.model.preprocess(list(pairs)), self.model.device)
        scores: torch.Tensor = self.model(features)["scores"]
        return scores.float().view(-1)

    def save(self, folder: Path) -> None:
        self.model.save_pretrained(str(folder), create_model_card=False)


class CrossEncoderTraining(Training[Example]):
    """The right passage of a question against its wrong ones and some of its batch's others."""

    def __init__(
        self,
        start: Start,
        examples: Sequence[Example],
        held_out: Sequence[Example],
        folder: Path,
        settings: Settings,
        *,
        device: str | None = None,
    ) -> None:
        import torch

        check_negatives(examples, settings.kinds)
        if not settings.kinds and not settings.others:
            raise UsageError("a re-ranker needs wrong passages", hint="--negatives or --others")
        device = chosen_device(device)
        torch.manual_seed(settings.seed)  # of a head that is made anew
        self.scorer = PairScorer.load(start.checkpoint, settings.longest, device)
        super().__init__(
            self.scorer,
            examples,
            held_out,
            folder,
            settings,
            device=device,
            identity=training_identity("cross-encoder", start.identity(), examples, held_out),
        )

    def loss(self, batch: Sequence[Example], epoch: int) -> torch.Tensor:
        """Softmax over each question's own passages, the right one first."""
        import torch

        kinds, hard = self.settings.kinds, self.settings.hard
        lists = [
            [e.positive, *e.wrong(kinds, hard, epoch), *others(batch, i, self.settings.others)]
            for i, e in enumerate(batch)
        ]
        pairs = [
            (e.question, p.joined()) for e, held in zip(batch, lists, strict=True) for p in held
        ]
        scores = self.scorer.scores(pairs).split([len(held) for held in lists])
        padded = torch.nn.utils.rnn.pad_sequence(
            list(scores), batch_first=True, padding_value=float("-inf")
        )
        right = torch.zeros(len(batch), dtype=torch.long, device=padded.device)
        return torch.nn.functional.cross_entropy(padded, right)

    def accuracy(self) -> float:
        """How often the right passage beats all of the example's wrong ones and some others."""
        import torch

        lists = [
            [e.positive, *(n.passage for n in e.negatives), *others(self.held_out, i, 3)]
            for i, e in enumerate(self.held_out)
        ]
        asked = zip(self.held_out, lists, strict=True)
        pairs = [(e.question, p.joined()) for e, held in asked for p in held]
        scores = torch.cat(
            [self.scorer.scores(pairs[i : i + PAIRS]) for i in range(0, len(pairs), PAIRS)]
        )
        parts = scores.cpu().split([len(held) for held in lists])
        won = [len(part) == 1 or bool(part[0] > part[1:].max()) for part in parts]
        return sum(won) / len(won)


def others(batch: Sequence[Example], place: int, count: int) -> list[Text]:
    """The right passages of the next examples of the batch, those aside that are right here too."""
    right = batch[place].right_pages()
    turned = [*batch[place + 1 :], *batch[:place]]
    wrong = [e.positive for e in turned if e.positive.page not in right]
    return [p for p in dict.fromkeys(wrong) if p != batch[place].positive][:count]
