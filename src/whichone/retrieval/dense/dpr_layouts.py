"""DPR's encoders out of a BERT checkpoint, and back into the layout of its authors' own files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from whichone.errors import Missing
from whichone.retrieval.dense.dpr import (
    _CLASSES,
    _INNER,
    _PREFIX,
    LONGEST,
    DprEncoder,
    DprSide,
    Side,
)
from whichone.retrieval.dense.encoder import weights_hash


def dpr_from_bert(question: str, passage: str, device: str | None = None) -> DprEncoder:
    """Two encoders that begin with the weights of one BERT, or of one each; no projection, no pooler."""
    return DprEncoder(
        _side("question", Path(question), device), _side("passage", Path(passage), device)
    )


def _side(side: Side, folder: Path, device: str | None) -> DprSide:
    import transformers

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bert = transformers.BertModel.from_pretrained(
                str(folder), add_pooling_layer=False, local_files_only=True
            )
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    except (OSError, ValueError) as error:
        raise Missing(
            f"DPR begins with a BERT checkpoint, and {folder} is none: {str(error).splitlines()[0]}",
            hint="name a folder of BERT (bert-base-uncased), or a DPR pair",
        ) from error
    sizes = bert.config.to_dict()
    sizes.pop("model_type", None)
    model = getattr(transformers, _CLASSES[side])(transformers.DPRConfig(**sizes))
    getattr(model, _INNER[side]).bert_model.load_state_dict(bert.state_dict(), strict=False)
    longest = min(LONGEST, int(model.config.max_position_embeddings))
    model = model.to(device) if device else model
    return DprSide(model, tokenizer, folder.resolve().name, weights_hash(folder), longest)


def save_own_checkpoint(file: Path, question: Any, passage: Any) -> None:
    """Both encoders in one file as DPR's own training writes and reads it."""
    import torch

    weights: dict[str, Any] = {}
    for side, model in (("question", question), ("passage", passage)):
        inner = getattr(model, _INNER[side]).bert_model
        weights |= {_PREFIX[side] + name: value.cpu() for name, value in inner.state_dict().items()}
    state = {
        "model_dict": weights,
        "optimizer_dict": {},
        "scheduler_dict": {},
        "offset": 0,
        "epoch": 0,
        "encoder_params": {"encoder_model_type": "hf_bert", "sequence_length": LONGEST},
    }
    beside = file.with_name(f".{file.name}.partial")
    torch.save(state, beside)
    beside.replace(file)
