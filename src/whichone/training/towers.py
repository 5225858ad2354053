"""The two towers of a bi-encoder: one shared encoder, or one for questions and one for passages."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whichone.errors import Missing, UsageError, missing_extra
from whichone.training.settings import Mode

if TYPE_CHECKING:
    import torch


class Towers:
    """Encodes questions and passages with gradients where its mode lets them learn."""

    def __init__(self, questions: Any, passages: Any, mode: Mode, longest: int) -> None:
        self.questions = questions
        self.passages = passages
        self.mode = mode
        for model in self.modules().values():
            model.max_seq_length = min(longest, model.max_seq_length or longest)
        for name, model in self.modules().items():
            learns = name in self.learning()
            for parameter in model.parameters():
                parameter.requires_grad_(learns)

    @classmethod
    def load(cls, checkpoint: str | Path, mode: Mode, longest: int, device: str) -> Towers:
        """From a sentence-transformers folder or name; one with `questions/` and `passages/` has two."""
        place = Path(checkpoint)
        if (place / "questions").is_dir() and (place / "passages").is_dir():
            return cls(
                _load(place / "questions", device), _load(place / "passages", device), mode, longest
            )
        model = _load(checkpoint, device)
        if mode == "both":
            return cls(model, model, mode, longest)
        return cls(model, copy.deepcopy(model), mode, longest)

    @property
    def shared(self) -> bool:
        return self.questions is self.passages

    def modules(self) -> dict[str, Any]:
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

    def parameters(self) -> list[Any]:
        modules = self.modules()
        return [p for name in sorted(self.learning()) for p in modules[name].parameters()]

    def encode(self, which: str, texts: Sequence[str]) -> torch.Tensor:
        """Normalised vectors; without gradients where the tower does not learn."""
        import torch

        model = self.questions if which == "questions" else self.passages
        learns = self.shared or which in self.learning()
        features = model.preprocess(list(texts))
        features = {k: v.to(model.device) if hasattr(v, "to") else v for k, v in features.items()}
        with torch.set_grad_enabled(learns and torch.is_grad_enabled()):
            return torch.nn.functional.normalize(
                model(features)["sentence_embedding"].float(), dim=1
            )

    def train(self) -> None:
        for name, model in self.modules().items():
            model.train(name in self.learning())

    def eval(self) -> None:
        for model in self.modules().values():
            model.eval()

    def state(self) -> dict[str, Any]:
        return {name: model.state_dict() for name, model in self.modules().items()}

    def load_state(self, state: dict[str, Any]) -> None:
        if state.keys() != self.modules().keys():
            raise UsageError("the checkpoint is of another model: its towers do not fit")
        for name, model in self.modules().items():
            model.load_state_dict(state[name])

    def save(self, folder: Path) -> None:
        """As sentence-transformers folders: one, or `questions/` and `passages/`."""
        for name, model in self.modules().items():
            target = folder if self.shared else folder / name
            model.save_pretrained(str(target), create_model_card=False)


def _load(checkpoint: str | Path, device: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from sentence_transformers import SentenceTransformer
    except ImportError:
        raise missing_extra("sentence-transformers", "train") from None
    try:
        model = SentenceTransformer(
            str(checkpoint), device=device, local_files_only=Path(checkpoint).exists()
        )
    except (OSError, ValueError) as error:
        raise Missing(
            f"cannot load the checkpoint {checkpoint}: {error}",
            hint="name a sentence-transformers folder, or a model that is on this machine",
        ) from error
    return model.float()
