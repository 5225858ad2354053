"""Opening HuggingFace checkpoints for readers, and running them in batches that fit."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from whichone.errors import BadInput, Missing, missing_extra
from whichone.progress import talk

T = TypeVar("T")
R = TypeVar("R")

HEADS = {
    "AutoModelForQuestionAnswering": "ForQuestionAnswering",
    "AutoModelForSeq2SeqLM": "ForConditionalGeneration",
    "AutoModelForSequenceClassification": "ForSequenceClassification",
}


def open_checkpoint(place: str | Path, kind: str, device: str | None) -> tuple[Any, Any, str]:
    """Model, tokenizer and device; `kind` is one of transformers' Auto classes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import torch
            import transformers
    except ImportError:
        raise missing_extra("transformers", "dense") from None
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        config = transformers.AutoConfig.from_pretrained(str(place))
        _check_head(config, kind, place)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = getattr(transformers, kind).from_pretrained(str(place))
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(place))
    except (OSError, ValueError) as error:
        raise Missing(
            f"cannot load the checkpoint {place}: {error}",
            hint="name a folder in HuggingFace's format, or a model that is on this machine",
        ) from error
    return model.to(device).eval(), tokenizer, device


def _check_head(config: Any, kind: str, place: str | Path) -> None:
    """A checkpoint without the head would answer at random."""
    heads = list(getattr(config, "architectures", None) or ())
    wanted = HEADS[kind]
    if heads and not any(head.endswith(wanted) for head in heads):
        raise BadInput(
            f"a checkpoint of the wrong kind: it is a {', '.join(heads)}, a model {wanted} is needed",
            file=place,
        )


def weights_fingerprint(place: str | Path) -> str:
    """The hash of a local checkpoint's weights; empty for one that is known by name only."""
    digest = hashlib.sha256()
    files = sorted([*Path(place).glob("*.safetensors"), *Path(place).glob("pytorch_model*.bin")])
    for file in files:
        with file.open("rb") as data:
            while block := data.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16] if files else ""


def in_batches(
    work: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T], size: int
) -> Iterator[R]:
    """Results item by item; where memory runs out the batch is halved, and that is said."""
    import torch

    at = 0
    while at < len(items):
        try:
            yield from work(items[at : at + size])
        except torch.OutOfMemoryError:
            if size == 1:
                raise BadInput(
                    "one text alone does not fit into memory", hint="a smaller model or --depth"
                ) from None
            size //= 2
            torch.cuda.empty_cache()
            talk(f"out of memory: going on with batches of {size}")
            continue
        at += size
