"""Training a late-interaction model with in-batch, BM25 and namesake negatives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from whichone.retrieval.token_vectors import Colbert, TokenRules
from whichone.training.bi_encoder import also_gold
from whichone.training.checkpoints import OneModel
from whichone.training.cross_encoder import others
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
from whichone.training.start import Start, place_of

if TYPE_CHECKING:
    import torch

PASSAGES = 64
"""Passages that are encoded at once when no gradient is needed."""

Encoded = tuple["torch.Tensor", "torch.Tensor"]
"""Padded token vectors, and where there are tokens."""


class TokenTower(OneModel):
    """A ColBERT checkpoint, or any encoder, which gets a new projection."""

    key = "late interaction"

    def __init__(self, colbert: Colbert) -> None:
        self.colbert = colbert
        self.model = colbert.module

    @classmethod
    def load(cls, checkpoint: str, settings: Settings, device: str) -> TokenTower:
        import torch

        loaded = Colbert.load(place_of(checkpoint), device=device)
        backbone, rules = loaded.module["backbone"], loaded.rules
        projection = loaded.projection
        if projection is None:
            projection = torch.nn.Linear(backbone.config.hidden_size, settings.size, bias=False)
            torch.nn.init.normal_(projection.weight, std=0.02)
            rules = _marked(rules, loaded.tokenizer)
        longest = min(settings.longest, backbone.config.max_position_embeddings)
        rules = msgspec.structs.replace(rules, passage_length=longest)
        return cls(Colbert(backbone, loaded.tokenizer, projection.to(device), rules))

    def questions(self, texts: Sequence[str]) -> Encoded:
        rows, seen = self.colbert.cutter.questions(texts)
        return self.colbert.vectors(rows, seen), self._places(rows, [range(len(r)) for r in rows])

    def passages(self, passages: Sequence[Text]) -> Encoded:
        cutter = self.colbert.cutter
        rows = cutter.passages([passage.joined() for passage in passages])
        vectors = self.colbert.vectors(rows, [len(row) for row in rows])
        return vectors, self._places(rows, [cutter.kept(row) for row in rows])

    def _places(self, rows: Sequence[Sequence[int]], kept: Sequence[Sequence[int]]) -> torch.Tensor:
        import torch

        mask = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.bool)
        for n, places in enumerate(kept):
            mask[n, list(places)] = True
        return mask.to(self.colbert.device)

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.colbert.save(folder)


def _marked(rules: TokenRules, tokenizer: Any) -> TokenRules:
    """ColBERT's markers and expansion for an encoder that was no late-interaction model before."""
    words = tokenizer.backend_tokenizer
    marks = [mark for mark in ("[unused0]", "[unused1]") if words.token_to_id(mark) is not None]
    if len(marks) == 2:
        rules = msgspec.structs.replace(rules, question_mark=marks[0], passage_mark=marks[1])
    return msgspec.structs.replace(rules, expand=words.token_to_id("[MASK]") is not None)


def all_maxsim(questions: Encoded, passages: Encoded) -> torch.Tensor:
    """MaxSim of every question with every passage."""
    import torch

    asked, asked_mask = questions
    vectors, mask = passages
    close = torch.einsum("qtd,psd->qpts", asked, vectors)
    close = close.masked_fill(~mask[None, :, None, :], float("-inf"))
    closest = close.amax(3) * asked_mask[:, None, :]
    summed: torch.Tensor = closest.sum(2)
    return summed


class LateTraining(Training[Example]):
    """Each question against the right and wrong passages of its batch, by MaxSim."""

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
        device = chosen_device(device)
        torch.manual_seed(settings.seed)  # of a projection that is made anew
        self.tower = TokenTower.load(start.checkpoint, settings, device)
        super().__init__(
            self.tower,
            examples,
            held_out,
            folder,
            settings,
            device=device,
            identity=training_identity("late interaction", start.identity(), examples, held_out),
        )

    def loss(self, batch: Sequence[Example], epoch: int) -> torch.Tensor:
        import torch

        passages = passages_of_batch(batch, self.settings.kinds, self.settings.hard, epoch)
        scores = all_maxsim(
            self.tower.questions([e.question for e in batch]), self.tower.passages(passages)
        )
        scores = scores * (self.settings.scale or 1.0)
        scores = scores.masked_fill(also_gold(batch, passages).to(scores.device), float("-inf"))
        return torch.nn.functional.cross_entropy(
            scores, torch.arange(len(batch), device=scores.device)
        )

    def accuracy(self) -> float:
        """How often the right passage beats all of the example's wrong ones and some others."""
        won = 0
        for i, example in enumerate(self.held_out):
            wrong = [*(n.passage for n in example.negatives), *others(self.held_out, i, 3)]
            listed = [example.positive, *wrong]
            asked = self.tower.questions([example.question])
            scores = [
                score
                for at in range(0, len(listed), PASSAGES)
                for score in all_maxsim(asked, self.tower.passages(listed[at : at + PASSAGES]))[
                    0
                ].tolist()
            ]
            won += len(scores) == 1 or scores[0] > max(scores[1:])
        return won / len(self.held_out)
