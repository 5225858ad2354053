"""BLINK's models in the layout of its release: `biencoder*.bin` and `crossencoder*.bin` with their `.json`."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import torch
import transformers
from torch import nn

from whichone.errors import BadInput, Missing, UsageError, missing_extra
from whichone.files.folder import file_hash
from whichone.records import Record
from whichone.retrieval.dense.encoder import Vectors

# Mentions in context and entities as BLINK's models read them.


START, END, TITLE = "[unused0]", "[unused1]", "[unused2]"
CONTEXT, ENTITY = 32, 128
"""Tokens of a context and of an entity, as in the released models."""


class MentionText(Record, frozen=True):
    """A mention with the text before and behind it."""

    left: str
    mention: str
    right: str


class BlinkText:
    """Texts to token ids of a fixed length."""

    def __init__(self, tokenizer: Any, context: int = CONTEXT, entity: int = ENTITY) -> None:
        self.tokenizer, self.context, self.entity = tokenizer, context, entity
        self.marks = [tokenizer.convert_tokens_to_ids(mark) for mark in (START, END, TITLE)]
        self.pad = int(tokenizer.pad_token_id or 0)
        self._first, self._last = tokenizer.cls_token_id, tokenizer.sep_token_id

    @staticmethod
    def with_marks(tokenizer: Any) -> int:
        """Add the marks to a tokenizer that has none (BERT's own has them); how many were added."""
        words = tokenizer.get_vocab()
        missing = [mark for mark in (START, END, TITLE) if mark not in words]
        return (
            int(tokenizer.add_special_tokens({"additional_special_tokens": missing}))
            if missing
            else 0
        )

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def mention_ids(self, mention: MentionText) -> list[int]:
        """Context around the mention, each side with half of what is left; what one side spares, the other has."""
        marked = [self.marks[0], *self._ids(mention.mention)[: self.context - 4], self.marks[1]]
        left, right = self._ids(mention.left), self._ids(mention.right)
        room = self.context - 2 - len(marked)
        before = min(len(left), max(room // 2, room - len(right)))
        after = min(len(right), room - before)
        inner = [*left[len(left) - before :], *marked, *right[:after]]
        return self._padded([self._first, *inner, self._last], self.context)

    def entity_ids(self, title: str, text: str) -> list[int]:
        return self.entities_ids([title], [text])[0]

    def entities_ids(self, titles: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
        """Of many at once, which the tokenizer does several times as fast."""
        read = [
            self.tokenizer(list(part), add_special_tokens=False, verbose=False)["input_ids"]
            for part in (titles, texts)
        ]
        return [self._entity(title, text) for title, text in zip(*read, strict=True)]

    def _entity(self, title: list[int], text: list[int]) -> list[int]:
        inner = [*title, self.marks[2], *text][: self.entity - 2]
        return self._padded([self._first, *inner, self._last], self.entity)

    def _padded(self, ids: list[int], length: int) -> list[int]:
        return [*ids, *[self.pad] * (length - len(ids))]


# BLINK's models in the layout of its release: `biencoder*.bin` and `crossencoder*.bin` with their `.json`.


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


# BLINK's networks, with the names that its released weights have; imported where torch is used.


class BertEncoder(nn.Module):  # type: ignore[misc]  # torch has no types here
    """The first token's last state; with a head, the head's value of the pooled state."""

    def __init__(self, bert: Any, outputs: int | None = None) -> None:
        super().__init__()
        self.bert_model = bert
        self.additional_linear = nn.Linear(bert.config.hidden_size, outputs) if outputs else None
        self.dropout = nn.Dropout(0.1)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        states = self.bert_model(input_ids=ids, attention_mask=mask)
        if self.additional_linear is None:
            first: torch.Tensor = states.last_hidden_state[:, 0]
            return first
        value: torch.Tensor = self.additional_linear(self.dropout(states.pooler_output))
        return value


class BiEncoder(nn.Module):  # type: ignore[misc]  # torch has no types here
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.context_encoder = BertEncoder(transformers.BertModel(config))
        self.cand_encoder = BertEncoder(transformers.BertModel(config))


class CrossEncoder(nn.Module):  # type: ignore[misc]  # torch has no types here
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.encoder = BertEncoder(transformers.BertModel(config), 1)


def config_of(state: dict[str, torch.Tensor], prefix: str, heads: int | None) -> Any:
    """A BERT's sizes from its weights; the number of heads is not in them: 64 numbers each, as in BERT."""
    words = state[f"{prefix}embeddings.word_embeddings.weight"]
    layers = {
        int(key.removeprefix(f"{prefix}encoder.layer.").partition(".")[0])
        for key in state
        if key.startswith(f"{prefix}encoder.layer.")
    }
    hidden = words.shape[1]
    return transformers.BertConfig(
        vocab_size=words.shape[0],
        hidden_size=hidden,
        num_hidden_layers=len(layers),
        num_attention_heads=heads or max(1, hidden // 64),
        intermediate_size=state[f"{prefix}encoder.layer.0.intermediate.dense.weight"].shape[0],
        max_position_embeddings=state[f"{prefix}embeddings.position_embeddings.weight"].shape[0],
        type_vocab_size=state[f"{prefix}embeddings.token_type_embeddings.weight"].shape[0],
    )
