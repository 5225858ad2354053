"""BLINK's models in the layout of its release: `biencoder*.bin` and `crossencoder*.bin` with their `.json`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.errors import BadInput, Missing, UsageError
from whichone.files.folder import file_hash
from whichone.records import Record
from whichone.retrieval.dense.encoder import Vectors, device_of, loading, plain_weights, torch_libraries

if TYPE_CHECKING:
    import torch


START, END, TITLE = "[unused0]", "[unused1]", "[unused2]"
CONTEXT, ENTITY = 32, 128  # Tokens of a context and of an entity, as in the released models


class MentionText(Record, frozen=True):
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
        return int(tokenizer.add_special_tokens({"additional_special_tokens": missing})) if missing else 0

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def mention_ids(self, mention: MentionText) -> list[int]:
        """Context around the mention, each side with half of what is left; what one side spares, the other has.

        Marks surround a mention; a text that mentions nobody has none, and its end is read.
        """
        inside = self._ids(mention.mention)[: self.context - 4]
        marked = [self.marks[0], *inside, self.marks[1]] if mention.mention else []
        left, right = self._ids(mention.left), self._ids(mention.right)
        room = self.context - 2 - len(marked)
        before = min(len(left), max(room // 2, room - len(right)))
        after = min(len(right), room - before)
        inner = [*left[len(left) - before :], *marked, *right[:after]]
        return self._padded([self._first, *inner, self._last], self.context)

    def entities_ids(self, titles: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
        """Title and description; many at once, which the tokenizer does several times as fast."""
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


BATCH, GPU_BATCH = 32, 256  # Texts that go through an encoder together, here and on a GPU
REMEMBERED = 50_000  # Entities whose token ids are kept: the candidates of many mentions are the same few
LEAST_ENTITY = 16  # Tokens of an entity that a checkpoint must have room for beside a mention
Ids = npt.NDArray[np.int32]
BI, CROSS = "biencoder", "crossencoder"
_TOKENIZERS = ("vocab.txt", "tokenizer.json")


class BlinkModel:
    """Vectors of mentions and entities, and scores of pairs; without a cross-encoder no pairs."""

    def __init__(
        self,
        bi: Any,
        cross: Any | None,
        text: BlinkText,
        *,
        name: str,
        weights: str,
        device: str,
        longest: int | None = None,
    ) -> None:
        """`longest` is how many tokens of a pair the cross-encoder reads."""
        self.bi, self.cross, self.text = bi.to(device).eval(), cross, text
        if cross is not None:
            cross.to(device).eval()
        self.name, self.weights, self.device = name, weights, device
        self.longest = longest or text.context + text.entity - 1
        self.size = int(bi.cand_encoder.bert_model.config.hidden_size)
        self.entity_ids = lru_cache(REMEMBERED)(self._entity_ids)

    def describe(self) -> dict[str, Any]:
        return {"model": self.name, "weights": self.weights, "size": self.size}

    def mentions(self, mentions: Sequence[MentionText]) -> Vectors:
        return self._encode(self.bi.context_encoder, [self.mention_ids(m) for m in mentions])

    def entities(self, titles: Sequence[str], texts: Sequence[str]) -> Vectors:
        return self.entity_vectors(list(self.entities_ids(titles, texts)))

    def entity_vectors(self, ids: Sequence[Ids]) -> Vectors:
        return self._encode(self.bi.cand_encoder, ids)

    def pairs(self, mention: MentionText, entities: Sequence[Ids]) -> list[float]:
        assert self.cross is not None
        return self._encode(self.cross.encoder, self.pair_ids(mention, entities), pairs=True)[:, 0].tolist()

    def mention_ids(self, mention: MentionText) -> Ids:
        return np.array(self.text.mention_ids(mention), np.int32)

    def entities_ids(self, titles: Sequence[str], texts: Sequence[str]) -> Ids:
        ids = self.text.entities_ids(titles, texts)
        return np.array(ids, np.int32).reshape(len(ids), self.text.entity)

    def _entity_ids(self, title: str, text: str) -> Ids:
        return np.array(self.text.entities_ids([title], [text])[0], np.int32)

    def pair_ids(self, mention: MentionText, entities: Sequence[Ids]) -> list[Ids]:
        """As released: the padded context, then the entity without its first token."""
        context = self.mention_ids(mention)
        return [np.concatenate([context, ids[1:]])[: self.longest] for ids in entities]

    def tensors(
        self, ids: Sequence[Ids], *, pairs: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Token ids, segments and mask; the segment of a pair's entity is 1, everything else is 0."""
        import torch

        held = torch.from_numpy(np.stack(ids)).to(self.device).long()
        mask = (held != self.text.pad).long()
        segments = torch.zeros_like(held)
        if pairs:
            segments[:, self.text.context :] = mask[:, self.text.context :]
        return held, segments, mask

    def _encode(self, encoder: Any, ids: Sequence[Ids], *, pairs: bool = False) -> Vectors:
        import torch

        results = []
        size = BATCH if self.device == "cpu" else GPU_BATCH
        with torch.inference_mode():
            for start in range(0, len(ids), size):
                tensors = self.tensors(ids[start : start + size], pairs=pairs)
                results.append(encoder(*tensors).float().cpu().numpy())
        return np.concatenate(results) if results else np.zeros((0, self.size), np.float32)

    def save(self, folder: Path) -> None:
        """As `open_blink` reads it, and as BLINK's own program does."""
        import torch

        folder.mkdir(parents=True, exist_ok=True)
        parameters = {
            "max_context_length": self.text.context,
            "max_cand_length": self.text.entity,
            "max_seq_length": self.longest,
        }
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
    _, transformers = torch_libraries()
    from whichone.retrieval.blink_layers import BiEncoder, CrossEncoder, config_of

    folder = Path(place)
    if not folder.is_dir():
        raise Missing("there is no such folder", where=str(place))
    files = {kind: _file(folder, kind) for kind in ((BI, CROSS) if cross else (BI,))}
    words = _words_folder(folder, base)
    tokenizer = transformers.AutoTokenizer.from_pretrained(words, local_files_only=True)
    heads = _heads(words)
    modules = {}
    for kind, file in files.items():
        state = {k.removeprefix("module."): v for k, v in plain_weights(file).items()}
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
        _fill(module, state, file, needs_pooler=kind == CROSS)
        modules[kind] = module
    lengths, pairs = _parameters(files[BI]), _parameters(files.get(CROSS, files[BI]))
    context = int(lengths.get("max_context_length", CONTEXT))
    entity = int(lengths.get("max_cand_length", ENTITY))
    return BlinkModel(
        modules[BI],
        modules.get(CROSS),
        BlinkText(tokenizer, context, entity),
        name=folder.resolve().name,
        weights="+".join(file_hash(file)[:16] for file in files.values()),
        device=device_of(device),
        longest=int(pairs.get("max_seq_length", context + entity - 1)),
    )


def new_blink(checkpoint: str, device: str, context: int = CONTEXT, entity: int = ENTITY) -> BlinkModel:
    """Untrained: every encoder begins as the same BERT, the cross-encoder with a new head."""
    _, transformers = torch_libraries()
    from whichone.retrieval.blink_layers import BiEncoder, CrossEncoder

    with loading(
        f"cannot load the checkpoint {checkpoint}",
        "name a folder of a BERT, or a model that is on this machine",
    ):
        tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint, local_files_only=True)
        bert = transformers.AutoModel.from_pretrained(checkpoint, local_files_only=True)
    if bert.config.model_type != "bert":
        raise UsageError(f"BLINK's encoders are BERTs, not {bert.config.model_type}", where=checkpoint)
    if BlinkText.with_marks(tokenizer):
        bert.resize_token_embeddings(len(tokenizer))
    room = int(bert.config.max_position_embeddings)
    if (entity := min(entity, room - context + 1)) < LEAST_ENTITY:
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
    return msgspec.json.decode(config.read_bytes()).get("num_attention_heads")


def _parameters(weights: Path) -> dict[str, Any]:
    """What the program that trained the weights wrote beside them."""
    file = weights.with_suffix(".json")
    return msgspec.json.decode(file.read_bytes(), type=dict[str, Any]) if file.exists() else {}


def _fill(module: Any, state: dict[str, Any], file: Path, *, needs_pooler: bool) -> None:
    """Every weight that is used: a bi-encoder takes first states, a cross-encoder the pooled one."""
    left = module.load_state_dict(state, strict=False).missing_keys
    missing = [key for key in left if "position_ids" not in key and (needs_pooler or "pooler" not in key)]
    if missing:
        raise BadInput(f"{len(missing)} weights are missing, such as {missing[0]}", file=file)
