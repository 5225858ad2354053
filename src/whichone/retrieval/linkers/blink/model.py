"""BLINK's models in the layout of its release: `biencoder*.bin` and `crossencoder*.bin` with their `.json`."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.errors import BadInput, Missing, UsageError, missing_extra
from whichone.files.folder import file_hash
from whichone.retrieval.dense.encoder import Vectors
from whichone.retrieval.linkers.blink.text import CONTEXT, ENTITY, BlinkText, MentionText

if TYPE_CHECKING:
    import torch

BATCH, GPU_BATCH = 32, 256
"""Texts that go through an encoder together, here and on a GPU."""
REMEMBERED = 50_000
"""Entities whose token ids are kept: the candidates of many mentions are the same few."""
LEAST_ENTITY = 16
"""Tokens of an entity that a checkpoint must have room for beside a mention."""
Ids = npt.NDArray[np.int32]
BI, CROSS = "biencoder", "crossencoder"
_TOKENIZERS = ("vocab.txt", "tokenizer.json")


class BlinkModel:
    """Vectors of mentions and entities, and scores of pairs; without a cross-encoder no pairs."""

    def __init__(
        self, bi: Any, cross: Any | None, text: BlinkText, *, name: str, weights: str, device: str
    ) -> None:
        self.bi, self.cross, self.text = bi.to(device).eval(), cross, text
        if cross is not None:
            cross.to(device).eval()
        self.name, self.weights, self.device = name, weights, device
        self.size = int(bi.cand_encoder.bert_model.config.hidden_size)
        self.entity_ids = lru_cache(REMEMBERED)(self._entity_ids)

    def describe(self) -> dict[str, Any]:
        return {"model": self.name, "weights": self.weights, "size": self.size}

    def mentions(self, mentions: Sequence[MentionText]) -> Vectors:
        return self._encode(self.bi.context_encoder, [self.mention_ids(m) for m in mentions])

    def entities(self, titles: Sequence[str], texts: Sequence[str]) -> Vectors:
        if not titles:
            return np.zeros((0, self.size), np.float32)
        ids = np.array(self.text.entities_ids(titles, texts), np.int32)
        return self._encode(self.bi.cand_encoder, list(ids))

    def pairs(self, mention: MentionText, entities: Sequence[tuple[str, str]]) -> list[float]:
        """The cross-encoder's score of one mention with each entity (title, description)."""
        assert self.cross is not None
        scores = self._encode(self.cross.encoder, self.pair_ids(mention, entities))
        results: list[float] = scores[:, 0].tolist()
        return results

    def mention_ids(self, mention: MentionText) -> Ids:
        return np.array(self.text.mention_ids(mention), np.int32)

    def _entity_ids(self, title: str, text: str) -> Ids:
        return np.array(self.text.entity_ids(title, text), np.int32)

    def pair_ids(self, mention: MentionText, entities: Sequence[tuple[str, str]]) -> list[Ids]:
        """As released: the padded context, then the entity without its first token."""
        context = self.mention_ids(mention)
        return [np.concatenate([context, self.entity_ids(*entity)[1:]]) for entity in entities]

    def tensors(self, ids: Sequence[Ids]) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        held = torch.from_numpy(np.stack(ids)).to(self.device).long()
        return held, (held != self.text.pad).long()

    def _encode(self, encoder: Any, ids: Sequence[Ids]) -> Vectors:
        import torch

        results = []
        size = BATCH if self.device == "cpu" else GPU_BATCH
        with torch.inference_mode():
            for start in range(0, len(ids), size):
                results.append(
                    encoder(*self.tensors(ids[start : start + size])).float().cpu().numpy()
                )
        return np.concatenate(results) if results else np.zeros((0, self.size), np.float32)

    def save(self, folder: Path) -> None:
        """As `open_blink` reads it, and as BLINK's own program does."""
        import torch

        folder.mkdir(parents=True, exist_ok=True)
        parameters = {"max_context_length": self.text.context, "max_cand_length": self.text.entity}
        for kind, module in ((BI, self.bi), (CROSS, self.cross)):
            if module is not None:
                state = {key: value.cpu() for key, value in module.state_dict().items()}
                torch.save(state, folder / f"{kind}.bin")
                (folder / f"{kind}.json").write_bytes(msgspec.json.encode(parameters))
        self.bi.cand_encoder.bert_model.config.save_pretrained(folder)
        self.text.tokenizer.save_pretrained(folder)


def open_blink(
    place: str | Path, *, base: str | None = None, cross: bool = True, device: str | None = None
) -> BlinkModel:
    """A folder with released weights, or one of `train linker`.

    Released files hold weights only: `base` is the folder of their BERT, for its words.
    """
    torch, transformers = _libraries()
    from whichone.retrieval.linkers.blink.modules import BiEncoder, CrossEncoder, config_of

    folder = Path(place)
    if not folder.is_dir():
        raise Missing("there is no such folder", where=str(place))
    files = {kind: _file(folder, kind) for kind in ((BI, CROSS) if cross else (BI,))}
    words = _words_folder(folder, base)
    tokenizer = transformers.AutoTokenizer.from_pretrained(words, local_files_only=True)
    heads = _heads(words)
    modules = {}
    for kind, file in files.items():
        state = _weights(file, torch)
        prefix = "cand_encoder.bert_model." if kind == BI else "encoder.bert_model."
        if f"{prefix}embeddings.word_embeddings.weight" not in state:
            raise BadInput(f"these are not the weights of BLINK's {kind}: no {prefix}…", file=file)
        config = config_of(state, prefix, heads)
        if config.vocab_size < len(tokenizer):
            raise BadInput(
                f"the weights know {config.vocab_size:,} words, the tokenizer {len(tokenizer):,}",
                file=file,
                hint="name the folder of the BERT that they were trained from as base",
            )
        module = BiEncoder(config) if kind == BI else CrossEncoder(config)
        _fill(module, state, file)
        modules[kind] = module
    lengths = _lengths(files[BI].with_suffix(".json"))
    return BlinkModel(
        modules[BI],
        modules.get(CROSS),
        BlinkText(tokenizer, *lengths),
        name=folder.resolve().name,
        weights="+".join(file_hash(file)[:16] for file in files.values()),
        device=device or ("cuda" if torch.cuda.is_available() else "cpu"),
    )


def new_blink(
    checkpoint: str, device: str, context: int = CONTEXT, entity: int = ENTITY
) -> BlinkModel:
    """Untrained: every encoder begins as the same BERT, the cross-encoder with a new head."""
    _, transformers = _libraries()
    from whichone.retrieval.linkers.blink.modules import BiEncoder, CrossEncoder

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint, local_files_only=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bert = transformers.AutoModel.from_pretrained(checkpoint, local_files_only=True)
    except (OSError, ValueError) as error:
        raise Missing(
            f"cannot load the checkpoint {checkpoint}: {str(error).splitlines()[0]}",
            hint="name a folder of a BERT, or a model that is on this machine",
        ) from error
    if bert.config.model_type != "bert":
        raise UsageError(
            f"BLINK's encoders are BERTs, not {bert.config.model_type}", where=checkpoint
        )
    if BlinkText.with_marks(tokenizer):
        bert.resize_token_embeddings(len(tokenizer))
    room = int(bert.config.max_position_embeddings)
    entity = min(entity, room - context + 1)
    if entity < LEAST_ENTITY:
        raise UsageError(
            f"it reads {room} tokens at most; a mention with {context} and an entity with {LEAST_ENTITY} need "
            f"{context + LEAST_ENTITY - 1}",
            where=checkpoint,
        )
    bi, cross = BiEncoder(bert.config), CrossEncoder(bert.config)
    for part in (bi.context_encoder, bi.cand_encoder, cross.encoder):
        part.bert_model.load_state_dict(bert.state_dict(), strict=False)
    text = BlinkText(tokenizer, context, entity)
    return BlinkModel(bi, cross, text, name=Path(checkpoint).name, weights="", device=device)


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise missing_extra(error.name or "transformers", "dense") from None
    return torch, transformers


def _file(folder: Path, kind: str) -> Path:
    result = sorted(folder.glob(f"{kind}*.bin"))
    if len(result) != 1:
        raise Missing(
            f"{'no' if not result else len(result)} {kind}*.bin in this folder, one is wanted",
            where=str(folder),
            hint="-o cross=false searches without the cross-encoder" if kind == CROSS else None,
        )
    return result[0]


def _words_folder(folder: Path, base: str | None) -> Path:
    for place in (Path(base) if base else None, folder):
        if place is not None and any((place / name).exists() for name in _TOKENIZERS):
            return place
    raise UsageError(
        "BLINK's files hold weights only: there is no vocab.txt beside them",
        where=str(folder),
        hint="name the folder of its BERT (bert-large-uncased for the released ones): -o base=FOLDER",
    )


def _heads(words: Path) -> int | None:
    config = words / "config.json"
    if not config.exists():
        return None
    return msgspec.json.decode(config.read_bytes()).get("num_attention_heads")  # type: ignore[no-any-return]


def _lengths(file: Path) -> tuple[int, int]:
    value = msgspec.json.decode(file.read_bytes()) if file.exists() else {}
    return int(value.get("max_context_length", CONTEXT)), int(value.get("max_cand_length", ENTITY))


def _weights(file: Path, torch: Any) -> dict[str, Any]:
    try:
        state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    except (RuntimeError, OSError, EOFError, pickle.UnpicklingError) as error:
        raise BadInput(f"not a file of weights: {str(error).splitlines()[0]}", file=file) from error
    return {key.removeprefix("module."): value for key, value in state.items()}


def _fill(module: Any, state: dict[str, Any], file: Path) -> None:
    result = module.load_state_dict(state, strict=False)
    missing = [
        key for key in result.missing_keys if "position_ids" not in key and "pooler" not in key
    ]
    if missing:
        raise BadInput(f"{len(missing)} weights are missing, such as {missing[0]}", file=file)
