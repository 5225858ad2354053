"""One encoder that learns: sentence-transformers' (unit vectors) or a half of a DPR pair."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from whichone.errors import Missing, missing_extra
from whichone.retrieval.dense.dpr import DprSide
from whichone.retrieval.dense.encoder import refuse_cross_encoder
from whichone.training.examples import Text

if TYPE_CHECKING:
    import torch


class Tower(Protocol):
    """`scale` is what closeness is multiplied by where the settings say nothing else."""

    scale: float

    @property
    def module(self) -> Any: ...

    def questions(self, texts: Sequence[str]) -> torch.Tensor: ...

    def passages(self, passages: Sequence[Text]) -> torch.Tensor: ...

    def save(self, folder: Path) -> None: ...


class SentenceTower:
    """Closeness is the cosine, so that a softmax over it needs a scale."""

    scale = 20.0

    def __init__(self, model: Any, longest: int) -> None:
        self.module = model
        model.max_seq_length = min(longest, model.max_seq_length or longest)
        prompts = dict(getattr(model, "prompts", None) or {})
        self._asks = prompts.get("query") or ""
        self._tells = next(
            (prompts[k] for k in ("document", "passage", "corpus") if prompts.get(k)), ""
        )

    def questions(self, texts: Sequence[str]) -> torch.Tensor:
        return self._encode([self._asks + text for text in texts])

    def passages(self, passages: Sequence[Text]) -> torch.Tensor:
        return self._encode([self._tells + passage.joined() for passage in passages])

    def _encode(self, texts: list[str]) -> torch.Tensor:
        import torch

        features = on_device(self.module.preprocess(texts), self.module.device)
        vectors = self.module(features)["sentence_embedding"].float()
        return torch.nn.functional.normalize(vectors, dim=1)

    def save(self, folder: Path) -> None:
        self.module.save_pretrained(str(folder), create_model_card=False)


class DprTower:
    """Closeness is the inner product, as large as it comes."""

    scale = 1.0

    def __init__(self, side: DprSide, longest: int) -> None:
        self._side = side
        side.longest = min(longest, side.longest)

    @property
    def module(self) -> Any:
        return self._side.model

    def questions(self, texts: Sequence[str]) -> torch.Tensor:
        return self._encode(texts, None)

    def passages(self, passages: Sequence[Text]) -> torch.Tensor:
        return self._encode([p.title for p in passages], [p.text for p in passages])

    def _encode(self, first: Sequence[str], second: Sequence[str] | None) -> torch.Tensor:
        vectors: torch.Tensor = self.module(**self._side.tokens(first, second)).pooler_output
        return vectors.float()

    def save(self, folder: Path) -> None:
        self.module.save_pretrained(folder)
        tokenizer = self._side.tokenizer
        tokenizer.model_max_length = self._side.longest
        tokenizer.save_pretrained(folder)


def on_device(features: dict[str, Any], device: Any) -> dict[str, Any]:
    return {k: v.to(device) if hasattr(v, "to") else v for k, v in features.items()}


def sentence_tower(checkpoint: str, longest: int, device: str) -> SentenceTower:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from sentence_transformers import SentenceTransformer
    except ImportError:
        raise missing_extra("sentence-transformers", "train") from None
    if Path(checkpoint).is_dir():
        refuse_cross_encoder(Path(checkpoint))
    try:
        model = SentenceTransformer(checkpoint, device=device, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise Missing(
            f"cannot load the checkpoint {checkpoint}: {str(error).splitlines()[0]}",
            hint="name a sentence-transformers or DPR folder, an installed package that carries a"
            " model, or a model that is on this machine",
        ) from error
    return SentenceTower(model.float(), longest)
