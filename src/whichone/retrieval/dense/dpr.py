"""DPR's two encoders: one for questions, one for passages (title and text as a pair).

Reads Hugging Face folders (`DPRQuestionEncoder`, `DPRContextEncoder`) and DPR's own checkpoint files,
in which both lie as `question_model.*` and `ctx_model.*`. Checkpoints are opened as weights only:
nothing in them is run.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whichone.errors import BadInput, Missing, UsageError, missing_extra
from whichone.files.folder import file_hash
from whichone.retrieval.dense.encoder import Vectors, batches_by_length, checked, weights_hash

BATCH = 32
LONGEST = 256


class DprEncoder:
    """The vector of a text is its first token's last state; closeness is the inner product."""

    def __init__(
        self, question: Any, passage: Any, tokenizers: tuple[Any, Any], *, told: dict[str, Any]
    ) -> None:
        self._models = {"question": question.eval(), "passage": passage.eval()}
        self._tokenizers = {"question": tokenizers[0], "passage": tokenizers[1]}
        self._told = told
        self.size = int(told["size"])

    def describe(self) -> dict[str, Any]:
        return self._told

    def questions(self, texts: Sequence[str]) -> Vectors:
        return self._encode("question", list(texts), None)

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Vectors:
        return self._encode("passage", list(titles), list(texts))

    def _encode(self, side: str, first: list[str], second: list[str] | None) -> Vectors:
        import torch

        model, tokenizer = self._models[side], self._tokenizers[side]
        vectors = np.zeros((len(first), self.size), np.float32)
        lengths = first if second is None else second
        with torch.inference_mode():
            for places in batches_by_length(lengths, BATCH):
                pairs = None if second is None else [second[n] for n in places]
                tokens = tokenizer(
                    [first[n] for n in places],
                    pairs,
                    truncation=True,
                    max_length=LONGEST,
                    padding=True,
                    return_tensors="pt",
                ).to(model.device)
                vectors[places] = _first_token(model(**tokens)).float().cpu().numpy()
        return checked(vectors, len(first), self.size, str(self._told["encoder"]))


def open_dpr(
    question: str, passage: str | None, *, base: str | None = None, device: str | None = None
) -> DprEncoder:
    """A pair of folders, or one checkpoint of DPR's own with `base`, the folder of its BERT."""
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise missing_extra(error.name or "transformers", "dense") from None
    if Path(question).is_file():
        if base is None:
            raise UsageError(
                "a checkpoint of DPR's own holds weights only",
                where=question,
                hint="name the folder of its BERT (config.json, vocab.txt) with -o base=FOLDER",
            )
        return _own_checkpoint(Path(question), Path(base), device)
    if passage is None:
        raise UsageError("a DPR pair has two folders", hint="-o passage_encoder=FOLDER")
    return _folders(Path(question), Path(passage), device)


def _folders(question: Path, passage: Path, device: str | None) -> DprEncoder:
    from transformers import AutoTokenizer, DPRContextEncoder, DPRQuestionEncoder

    models, tokenizers = [], []
    for kind, folder in ((DPRQuestionEncoder, question), (DPRContextEncoder, passage)):
        if not (folder / "config.json").exists():
            raise Missing("no model folder with a config.json", where=str(folder))
        try:
            model = kind.from_pretrained(folder, local_files_only=True)
            tokenizers.append(AutoTokenizer.from_pretrained(folder, local_files_only=True))
        except (OSError, ValueError, RuntimeError) as error:
            raise BadInput(f"cannot be read as {kind.__name__}: {error}", file=folder) from error
        models.append(model.to(device) if device else model)
    size = models[0].config.projection_dim or models[0].config.hidden_size
    told = {
        "encoder": question.resolve().name,
        "passage_encoder": passage.resolve().name,
        "kind": "dpr",
        "weights": f"{weights_hash(question)}+{weights_hash(passage)}",
        "size": int(size),
        "longest": LONGEST,
    }
    return DprEncoder(models[0], models[1], (tokenizers[0], tokenizers[1]), told=told)


def _own_checkpoint(file: Path, base: Path, device: str | None) -> DprEncoder:
    from transformers import AutoConfig, AutoTokenizer, BertModel

    weights = _weights(file)
    config = AutoConfig.from_pretrained(base, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    models = []
    for prefix in ("question_model.", "ctx_model."):
        own = {
            k.removeprefix(prefix): v
            for k, v in weights.items()
            if k.startswith(prefix) and not k.endswith("embeddings.position_ids")
        }
        model = BertModel(config, add_pooling_layer=any(k.startswith("pooler.") for k in own))
        try:
            missing = model.load_state_dict(own, strict=False).missing_keys
        except RuntimeError as error:
            raise BadInput(f"its weights do not fit {base}: {error}", file=file) from error
        if missing:
            raise BadInput(f"weights of {prefix} are missing", file=file, ids=missing)
        models.append(model.to(device) if device else model)
    told = {
        "encoder": file.name,
        "kind": "dpr",
        "weights": file_hash(file)[:16],
        "size": int(config.hidden_size),
        "longest": LONGEST,
    }
    return DprEncoder(models[0], models[1], (tokenizer, tokenizer), told=told)


def _weights(file: Path) -> dict[str, Any]:
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of other pickle protocols; what it cannot read it refuses
            held = torch.load(file, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError) as error:
        raise BadInput(
            f"not a checkpoint of weights alone: {str(error).splitlines()[0]}",
            file=file,
            hint="what would run code while it is read is refused; save its model_dict by itself",
        ) from error
    found = held.get("model_dict", held) if isinstance(held, dict) else None
    if not isinstance(found, dict) or not any(k.startswith("question_model.") for k in found):
        raise BadInput("it holds no question_model.* weights, so it is no DPR pair", file=file)
    return found


def _first_token(output: Any) -> Any:
    pooled = getattr(output, "pooler_output", None)
    if type(output).__name__.startswith("DPR"):
        return pooled  # already the first token, projected where the model does that
    return output.last_hidden_state[:, 0]
