"""DPR's two encoders: one for questions, one for passages (title and text as a pair).

Reads Hugging Face folders (`DPRQuestionEncoder`, `DPRContextEncoder`) and DPR's own checkpoint files,
in which both lie as `question_model.*` and `ctx_model.*`. Checkpoints are opened as weights only:
nothing in them is run.
"""

from __future__ import annotations

import copy
import functools
import pickle
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from whichone.errors import BadInput, Missing, UsageError, missing_extra
from whichone.files.folder import file_hash
from whichone.retrieval.dense.encoder import Vectors, batches_by_length, checked, weights_hash
from whichone.retrieval.dense.packed import PackedModel, fast_rules, first_states
from whichone.retrieval.dense.tokens import Tokeniser

BATCH = 32
LONGEST = 256

Side = Literal["question", "passage"]
_CLASSES = {"question": "DPRQuestionEncoder", "passage": "DPRContextEncoder"}
_INNER = {"question": "question_encoder", "passage": "ctx_encoder"}
_PREFIX = {"question": "question_model.", "passage": "ctx_model."}


class DprSide:
    """One of the two: the vector of a text is its first token's last state."""

    def __init__(
        self, model: Any, tokenizer: Any, name: str, weights: str, longest: int = LONGEST
    ) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        self.name, self.weights, self.longest = name, weights, longest
        self.size = int(model.config.projection_dim or model.config.hidden_size)

    @functools.cached_property
    def packed(self) -> PackedModel | None:
        """On a GPU a copy in half precision that encodes passages."""
        if self.model.device.type != "cuda":
            return None
        import torch

        return packed_side(self.model, self.tokenizer, self.longest, torch.bfloat16)

    def describe(self) -> dict[str, Any]:
        return {
            "encoder": self.name,
            "kind": "dpr",
            "weights": self.weights,
            "size": self.size,
            "longest": self.longest,
        }

    def describe_passages(self) -> dict[str, Any]:
        """On a GPU passages are encoded in half precision, which makes other vectors."""
        return {**self.describe(), **({"encoded_in": "bfloat16"} if self.packed else {})}

    def tokens(self, first: Sequence[str], second: Sequence[str] | None = None) -> Any:
        """As the model takes them; a passage is the pair of its title and text."""
        return self.tokenizer(
            list(first),
            None if second is None else list(second),
            truncation=True,
            max_length=self.longest,
            padding=True,
            return_tensors="pt",
        ).to(self.model.device)

    def encode(self, first: Sequence[str], second: Sequence[str] | None = None) -> Vectors:
        import torch

        vectors = np.zeros((len(first), self.size), np.float32)
        with torch.inference_mode():
            for places in batches_by_length(first if second is None else second, BATCH):
                pairs = None if second is None else [second[n] for n in places]
                tokens = self.tokens([first[n] for n in places], pairs)
                vectors[places] = self.model(**tokens).pooler_output.float().cpu().numpy()
        return checked(vectors, len(first), self.size, self.name)

    def questions(self, texts: Sequence[str]) -> Vectors:
        return self.encode(texts)

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Vectors:
        if self.packed is not None:
            vectors = self.packed.passages(titles, texts)
            return checked(vectors, len(texts), self.size, self.name)
        return self.encode(titles, texts)


def packed_side(model: Any, tokenizer: Any, longest: int, kind: Any) -> PackedModel | None:
    """The same model in another precision, for pairs of title and text that are tokenised ahead."""
    rules = fast_rules(tokenizer)
    if rules is None:
        return None
    return PackedModel(
        copy.deepcopy(model).to(kind).eval(),
        Tokeniser(rules, longest, pairs=True),
        pad=int(tokenizer.pad_token_id or 0),
        device=str(model.device),
        pool=first_states,
    )


class DprEncoder:
    """Both; closeness is the inner product."""

    def __init__(self, question: DprSide, passage: DprSide) -> None:
        self.question, self.passage = question, passage
        self.size = question.size

    def describe(self) -> dict[str, Any]:
        return {
            **self.question.describe(),
            "passage_encoder": self.passage.name,
            "weights": f"{self.question.weights}+{self.passage.weights}",
        }

    @property
    def packed(self) -> PackedModel | None:
        return self.passage.packed

    def describe_passages(self) -> dict[str, Any]:
        return self.passage.describe_passages()

    def questions(self, texts: Sequence[str]) -> Vectors:
        return self.question.questions(texts)

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Vectors:
        return self.passage.passages(titles, texts)


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
                "a checkpoint of DPR's own contains weights only",
                where=question,
                hint="name the folder of its BERT (config.json, vocab.txt) as base",
            )
        return _own_checkpoint(Path(question), Path(base), device)
    if passage is None:
        raise UsageError("a DPR pair has two folders: name the passage encoder's too")
    return DprEncoder(
        open_side("question", Path(question), device), open_side("passage", Path(passage), device)
    )


def is_dpr(folder: Path) -> bool:
    """Whether a folder's config.json says that it is half of a DPR pair."""
    config = folder / "config.json"
    try:
        configuration = msgspec.json.decode(config.read_bytes())
    except (OSError, msgspec.DecodeError):
        return False
    return isinstance(configuration, dict) and configuration.get("model_type") == "dpr"


def open_side(side: Side, folder: Path, device: str | None = None) -> DprSide:
    """One half of a pair, from its own folder."""
    import transformers

    if not (folder / "config.json").exists():
        raise Missing("no model folder with a config.json", where=str(folder))
    try:
        model = getattr(transformers, _CLASSES[side]).from_pretrained(folder, local_files_only=True)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(f"cannot be read as {_CLASSES[side]}: {error}", file=folder) from error
    longest = min(LONGEST, int(model.config.max_position_embeddings), tokenizer.model_max_length)
    model = model.to(device) if device else model
    return DprSide(model, tokenizer, folder.resolve().name, weights_hash(folder), longest)


def _own_checkpoint(file: Path, base: Path, device: str | None) -> DprEncoder:
    import transformers

    weights = _weights(file)
    if not (base / "config.json").exists():
        raise Missing("no model folder with a config.json", where=str(base))
    plain = transformers.AutoConfig.from_pretrained(base, local_files_only=True).to_dict()
    plain.pop("model_type", None)
    config = transformers.DPRConfig(**plain)
    tokenizer = transformers.AutoTokenizer.from_pretrained(base, local_files_only=True)
    longest = min(LONGEST, int(config.max_position_embeddings))
    hashed = file_hash(file)[:16]
    sides = []
    for side, prefix in _PREFIX.items():
        model = getattr(transformers, _CLASSES[side])(config)
        own = {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}
        _fill(getattr(model, _INNER[side]).bert_model, own, prefix, file, base)
        model = model.to(device) if device else model
        sides.append(DprSide(model, tokenizer, file.name, hashed, longest))
    return DprEncoder(sides[0], sides[1])


def _fill(bert: Any, own: dict[str, Any], prefix: str, file: Path, base: Path) -> None:
    """Every weight of the model from the file; its pooler is never used."""
    own = {
        k: v
        for k, v in own.items()
        if not k.endswith("embeddings.position_ids") and not k.startswith("pooler.")
    }
    try:
        missing = bert.load_state_dict(own, strict=False).missing_keys
    except RuntimeError as error:
        raise BadInput(f"its weights do not fit {base}: {error}", file=file) from error
    if missing:
        raise BadInput(f"weights of {prefix} are missing", file=file, ids=missing)


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
    weights = held.get("model_dict", held) if isinstance(held, dict) else None
    if not isinstance(weights, dict) or not any(k.startswith("question_model.") for k in weights):
        raise BadInput("it contains no question_model.* weights, so it is no DPR pair", file=file)
    return weights
