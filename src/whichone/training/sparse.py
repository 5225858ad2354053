"""Training a learned sparse model (SPLADE) with in-batch, BM25 and namesake negatives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whichone.retrieval.sparse import Splade
from whichone.training.bi_encoder import also_gold
from whichone.training.checkpoints import OneModel
from whichone.training.cross_encoder import others
from whichone.training.devices import chosen_device
from whichone.training.examples import (
    Example,
    check_negatives,
    passages_of_batch,
    training_identity,
)
from whichone.training.loop import Training
from whichone.training.settings import Settings
from whichone.training.start import Start, place_of

if TYPE_CHECKING:
    import torch

PASSAGES = 32


class SparseTower(OneModel):
    """A masked language model whose words' weights are learned."""

    key = "learned sparse"

    def __init__(self, splade: Splade) -> None:
        self.splade = splade
        self.model = splade.model

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.splade.save(folder)


def flops(weights: torch.Tensor) -> torch.Tensor:
    """How many multiplications an average pair costs: words' mean weights squared, added up.

    The regulariser of Formal et al. (2021), after Paria et al. (2020): it makes weights zero.
    """
    cost: torch.Tensor = weights.mean(0).square().sum()
    return cost


class SparseTraining(Training[Example]):
    """Each question against the right and wrong passages of its batch, by inner product."""

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
        check_negatives(examples, settings.kinds)
        device = chosen_device(device)
        place = place_of(start.checkpoint)
        self.splade = Splade.load(place, device=device, longest=settings.longest)
        super().__init__(
            SparseTower(self.splade),
            examples,
            held_out,
            folder,
            settings,
            device=device,
            identity=training_identity("learned sparse", start.identity(), examples, held_out),
        )

    def loss(self, batch: Sequence[Example], epoch: int) -> torch.Tensor:
        import torch

        passages = passages_of_batch(batch, self.settings.kinds, self.settings.hard, epoch)
        questions = self.splade.weights([e.question for e in batch])
        weights = self.splade.weights([p.joined() for p in passages])
        scores = questions @ weights.T * (self.settings.scale or 1.0)
        scores = scores.masked_fill(also_gold(batch, passages).to(scores.device), float("-inf"))
        right = torch.arange(len(batch), device=scores.device)
        ranking = torch.nn.functional.cross_entropy(scores, right)
        return ranking + self.settings.flops * (flops(questions) + flops(weights))

    def accuracy(self) -> float:
        """How often the right passage beats all of the example's wrong ones and some others."""
        won = 0
        for i, example in enumerate(self.held_out):
            wrong = [*(n.passage for n in example.negatives), *others(self.held_out, i, 3)]
            texts = [p.joined() for p in (example.positive, *wrong)]
            asked = self.splade.weights([example.question])
            scores = [
                score
                for at in range(0, len(texts), PASSAGES)
                for score in (asked @ self.splade.weights(texts[at : at + PASSAGES]).T)[0].tolist()
            ]
            won += len(scores) == 1 or scores[0] > max(scores[1:])
        return won / len(self.held_out)
