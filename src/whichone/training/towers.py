"""The two towers of a bi-encoder: one shared encoder, or one for questions and one for passages."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whichone.errors import UsageError
from whichone.retrieval.dense.dpr import dpr_from_bert, is_dpr, open_dpr, save_own_checkpoint
from whichone.training.examples import Text
from whichone.training.settings import Mode
from whichone.training.start import Start, place_of
from whichone.training.tower import DprTower, SentenceTower, Tower, sentence_tower

if TYPE_CHECKING:
    import torch


class Towers:
    """Encodes questions and passages with gradients where its mode lets them learn."""

    def __init__(self, questions: Tower, passages: Tower, mode: Mode) -> None:
        self.questions = questions
        self.passages = passages
        self.mode = mode
        self.saves_fixed = True
        for name, tower in self.towers().items():
            tower.module.requires_grad_(name in self.learning())

    @classmethod
    def load(
        cls, start: Start, mode: Mode, longest: int, device: str, *, dpr: bool = False
    ) -> Towers:
        """From one checkpoint or two; a folder with `questions/` and `passages/` contains two."""
        place, other = place_of(start.checkpoint), start.passages and place_of(start.passages)
        if other is None and (Path(place) / "questions").is_dir():
            place, other = str(Path(place) / "questions"), str(Path(place) / "passages")
        if Path(place).is_file() or is_dpr(Path(place)):
            pair = open_dpr(place, other, base=start.base, device=device)
            return cls(DprTower(pair.question, longest), DprTower(pair.passage, longest), mode)
        if dpr:
            pair = dpr_from_bert(place, other or place, device)
            return cls(DprTower(pair.question, longest), DprTower(pair.passage, longest), mode)
        first = sentence_tower(place, longest, device)
        if other is not None:
            return cls(first, sentence_tower(other, longest, device), mode)
        if mode == "both":
            return cls(first, first, mode)
        return cls(first, SentenceTower(copy.deepcopy(first.module), longest), mode)

    @property
    def shared(self) -> bool:
        return self.questions is self.passages

    @property
    def scale(self) -> float:
        return self.questions.scale

    def towers(self) -> dict[str, Tower]:
        if self.shared:
            return {"encoder": self.questions}
        return {"questions": self.questions, "passages": self.passages}

    def learning(self) -> set[str]:
        if self.shared:
            return {"encoder"}
        return {
            "both": {"questions", "passages"},
            "only-questions": {"questions"},
            "only-passages": {"passages"},
        }[self.mode]

    def _learning_towers(self) -> dict[str, Tower]:
        return {n: t for n, t in sorted(self.towers().items()) if n in self.learning()}

    def parameters(self) -> list[Any]:
        return [p for tower in self._learning_towers().values() for p in tower.module.parameters()]

    def encode_questions(self, texts: Sequence[str]) -> torch.Tensor:
        """Vectors; without gradients where the tower does not learn."""
        import torch

        with torch.set_grad_enabled(self.mode != "only-passages" and torch.is_grad_enabled()):
            return self.questions.questions(texts)

    def encode_passages(self, passages: Sequence[Text]) -> torch.Tensor:
        import torch

        with torch.set_grad_enabled(self.mode != "only-questions" and torch.is_grad_enabled()):
            return self.passages.passages(passages)

    def train(self) -> None:
        for name, tower in self.towers().items():
            tower.module.train(name in self.learning())

    def eval(self) -> None:
        for tower in self.towers().values():
            tower.module.eval()

    def state(self) -> dict[str, Any]:
        return {name: tower.module.state_dict() for name, tower in self._learning_towers().items()}

    def load_state(self, state: dict[str, Any]) -> None:
        if state.keys() != self.learning():
            raise UsageError("the checkpoint is of another model: its towers do not fit")
        for name, tower in self._learning_towers().items():
            tower.module.load_state_dict(state[name])

    def save(self, folder: Path) -> None:
        """As a folder that retrieval opens: one encoder, or `questions/` and `passages/`."""
        kept = self.towers() if self.saves_fixed else self._learning_towers()
        for name, tower in kept.items():
            tower.save(folder if self.shared else folder / name)
        if isinstance(self.questions, DprTower) and isinstance(self.passages, DprTower):
            save_own_checkpoint(folder / "dpr.cp", self.questions.module, self.passages.module)
