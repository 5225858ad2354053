"""How a retriever is trained: everything that decides the outcome, and the papers' presets."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any, Literal

import msgspec

from whichone.errors import UsageError, did_you_mean, sample

Mode = Literal["both", "only-questions", "only-passages"]
KINDS = ("bm25", "namesake", "given")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`warmup` below 1 is a share of all steps, else a number of steps.

    `mode`: both towers learn (one shared encoder where the checkpoint is one), or one of them while
    the other stays as it is: then an index of passages stays valid, or questions do.
    """

    epochs: int = 4
    learning_rate: float = 2e-5
    batch: int = 32
    warmup: float = 0.1
    longest: int = 256
    clip: float = 2.0
    scale: float | None = None
    """What closeness is multiplied by: 20 for cosines, 1 for DPR's inner products where it is not given."""
    weight_decay: float = 0.01
    hard: int = 1
    """Wrong passages of each kind that an example brings into its batch."""
    others: int = 3
    """Right passages of other examples of the batch that a re-ranker's example is shown as wrong."""
    per_source: int = 0
    """Examples drawn of each source an epoch, sources taking turns by the batch; 0 mixes all as they are."""
    mode: Mode = "both"
    kinds: tuple[str, ...] = ("bm25", "namesake")
    seed: int = 0
    patience: int = 3
    """Epochs without improvement on held-out names after which training stops; 0 never."""
    every: int = 200
    """Steps between checkpoints, beside those at the end of every epoch and at a signal to stop."""
    towers: Literal["", "dpr"] = ""
    """dpr: a BERT checkpoint is turned into DPR's two encoders, whose vectors are those of their first token."""
    size: int = 128
    """Numbers a token's vector has after a projection that is made anew (late interaction)."""
    flops: float = 3e-4
    """How much many words cost (learned sparse): weight of the regulariser that makes weights zero."""

    def check(self) -> None:
        if self.batch < 2:
            raise UsageError("a batch needs at least 2 examples: its own others are the negatives")
        if self.epochs < 1 or self.longest < 8 or not 0 < self.learning_rate < 1e38:
            raise UsageError(
                "epochs, longest and learning_rate must be positive (longest at least 8)"
            )
        if self.every < 1:
            raise UsageError("every must be at least 1 step")
        if self.hard < 1 or self.others < 0:
            raise UsageError("hard must be at least 1, and others not negative")
        if self.size < 1 or not 0 <= self.flops < 1e38:
            raise UsageError("size must be at least 1, and flops not negative")
        if self.per_source and self.per_source < self.batch:
            raise UsageError(
                f"{self.per_source} examples of a source do not fill one batch of {self.batch}"
            )
        unknown = [kind for kind in self.kinds if kind not in KINDS]
        if unknown:
            raise UsageError(
                f"there are no negatives called {sample(unknown)}",
                hint=f"{', '.join(KINDS)}, or none for in-batch ones only",
            )


def preset(name: str, **changes: Any) -> Settings:
    """A preset's settings, with some of them changed."""
    text = files("whichone.training").joinpath("presets.toml").read_text("utf-8")
    known = tomllib.loads(text)
    if name not in known:
        raise UsageError(f"there is no preset {name!r}", hint=did_you_mean(name, known))
    given = {k: v for k, v in changes.items() if v is not None}
    settings = msgspec.convert({**known[name], **given}, Settings)
    settings.check()
    return settings
