"""Training a bi-encoder with in-batch, BM25 and namesake negatives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whichone.training.devices import chosen_device
from whichone.training.examples import (
    Example,
    Text,
    check_negatives,
    passages_of_batch,
    training_identity,
)
from whichone.training.loop import Training
from whichone.training.settings import Settings
from whichone.training.start import Start
from whichone.training.towers import Towers

if TYPE_CHECKING:
    import torch


class BiEncoderTraining(Training[Example]):
    """Both towers, or one of them, from any sentence-transformers or DPR checkpoint."""

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
        self.towers = Towers.load(
            start, settings.mode, settings.longest, device, dpr=settings.towers == "dpr"
        )
        self.scale = settings.scale or self.towers.scale
        super().__init__(
            self.towers,
            examples,
            held_out,
            folder,
            settings,
            device=device,
            identity=training_identity("bi-encoder", start.identity(), examples, held_out),
        )

    def loss(self, batch: Sequence[Example], epoch: int) -> torch.Tensor:
        """Each question against all positives and negatives of its batch; what is gold for it aside."""
        import torch

        passages = passages_of_batch(batch, self.settings.kinds, self.settings.hard, epoch)
        questions = self.towers.encode_questions([e.question for e in batch])
        vectors = self.towers.encode_passages(passages)
        scores = questions @ vectors.T * self.scale
        scores = scores.masked_fill(also_gold(batch, passages).to(scores.device), float("-inf"))
        return torch.nn.functional.cross_entropy(
            scores, torch.arange(len(batch), device=scores.device)
        )

    def accuracy(self) -> float:
        return held_out_accuracy(self.towers, self.held_out)


def also_gold(batch: Sequence[Example], passages: Sequence[Text]) -> torch.Tensor:
    """Where a passage is right for a question without being its own positive: it must not count as wrong."""
    import torch

    pages = [p.page for p in passages]
    rows = []
    for i, example in enumerate(batch):
        gold = example.right_pages()
        rows.append([j != i and page in gold for j, page in enumerate(pages)])
    return torch.tensor(rows)


def held_out_accuracy(towers: Towers, examples: Sequence[Example], size: int = 128) -> float:
    """How often the right passage beats the example's own wrong ones and all other right ones."""
    import torch

    passages = list(
        dict.fromkeys(
            [e.positive for e in examples] + [n.passage for e in examples for n in e.negatives]
        )
    )
    place = {p: i for i, p in enumerate(passages)}
    vectors = torch.cat(
        [towers.encode_passages(passages[i : i + size]) for i in range(0, len(passages), size)]
    )
    asked = [e.question for e in examples]
    questions = torch.cat(
        [towers.encode_questions(asked[i : i + size]) for i in range(0, len(asked), size)]
    )
    scores = (questions @ vectors.T).float()
    scores = scores.masked_fill(_other_gold(examples, passages).to(scores.device), float("-inf"))
    right = torch.tensor([place[e.positive] for e in examples], device=scores.device)
    return float((scores.argmax(1) == right).float().mean())


def _other_gold(examples: Sequence[Example], passages: Sequence[Text]) -> torch.Tensor:
    import torch

    by_page: dict[str, list[int]] = {}
    for i, passage in enumerate(passages):
        by_page.setdefault(passage.page, []).append(i)
    mask = torch.zeros((len(examples), len(passages)), dtype=torch.bool)
    for row, example in enumerate(examples):
        for page in example.right_pages():
            for i in by_page.get(page, ()):
                mask[row, i] = passages[i] != example.positive
    return mask
