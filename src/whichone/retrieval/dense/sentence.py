"""Encoders of sentence-transformers, by folder or name, run by torch."""

from __future__ import annotations

import copy
import functools
import hashlib
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError, missing_extra
from whichone.files.folder import Folder
from whichone.files.mapped import MappedTable
from whichone.files.output import cache_folder, written_beside
from whichone.files.pools import available_cores, run_jobs
from whichone.progress import Advance, progress
from whichone.retrieval.dense import encoder
from whichone.retrieval.indexes import index_folder, open_index

if TYPE_CHECKING:
    import torch


# Encoding at the pace of the device: texts tokenised ahead, sorted by length, cut by tokens.
# A batch contains texts of nearly one length, so that hardly any padding is computed, and about one
# number of tokens, so that the device is always full.


_Pool: TypeAlias = "Callable[[Any, torch.Tensor, torch.Tensor], torch.Tensor]"

TOKENS = 1 << 18
MULTIPLE = 8  # Lengths are rounded up to it: attention with a mask wants rows of 16 bytes

_Ints = npt.NDArray[np.int32]


class Tokenised:
    """Token numbers of many texts, one after the other, and where each begins."""

    def __init__(self, tokens: npt.NDArray[np.integer[Any]], starts: npt.NDArray[np.int64]) -> None:
        self.tokens, self.starts = tokens, starts

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.starts)


def batches(
    lengths: npt.NDArray[np.int64], *, tokens: int = TOKENS, multiple: int = MULTIPLE
) -> Iterator[tuple[npt.NDArray[np.int64], int]]:
    """Which texts go together, longest first, and the length they are padded to."""
    if tokens < multiple:
        raise UsageError(f"a batch needs room for at least {multiple} tokens")
    order = np.argsort(-lengths, kind="stable")
    at = 0
    while at < len(order):
        width = int(-(-max(1, lengths[order[at]]) // multiple) * multiple)
        rows = max(1, tokens // width)
        yield order[at : at + rows], width
        at += rows


def padded(held: Tokenised, rows: npt.NDArray[np.int64], width: int, pad: int) -> tuple[_Ints, _Ints]:
    lengths = held.lengths[rows].astype(np.int32)
    places = np.arange(width)
    inside = places < lengths[:, None]
    at = np.where(inside, held.starts[rows][:, None] + places, 0)
    return np.where(inside, held.tokens[at], np.int32(pad)).astype(np.int32, copy=False), lengths


def encode(
    model: Any,
    held: Tokenised,
    *,
    pad: int = 0,
    device: str = "cuda",
    tokens: int = TOKENS,
    pool: _Pool | None = None,
) -> torch.Tensor:
    """Vectors in the precision of the model, in the order of the texts; mean-pooled and normalised by default."""
    import torch

    if not len(held):
        raise BadInput("there is nothing to encode")
    order, parts = [], []
    with torch.inference_mode():
        for rows, width in batches(held.lengths, tokens=tokens):
            ids, lengths = padded(held, rows, width, pad)
            parts.append((pool or _pooled)(model, _to(ids, device), _to(lengths, device)))
            order.append(rows)  # put back at the end: doing it here would wait for the device
        back = np.argsort(np.concatenate(order))
        return torch.cat(parts)[torch.from_numpy(back).to(device)]


def _to(array: _Ints, device: str) -> torch.Tensor:
    import torch

    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.startswith("cuda") else tensor


def _pooled(model: Any, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    import torch

    mask = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
    hidden = model(input_ids=ids, attention_mask=mask)[0]
    total = (hidden * mask[:, :, None]).sum(1)
    return torch.nn.functional.normalize(total / lengths[:, None], dim=1)


def first_normalised(model: Any, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    import torch

    mask = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
    return torch.nn.functional.normalize(model(input_ids=ids, attention_mask=mask)[0][:, 0], dim=1)


def first_states(model: Any, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """What DPR takes: the first token's last state, or its projection."""
    import torch

    mask = (torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]).long()
    return model(input_ids=ids, attention_mask=mask).pooler_output


class PendingVectors:
    """Vectors on their way from the device: it goes on with the next ones meanwhile."""

    def __init__(self, vectors: torch.Tensor) -> None:
        import torch

        self._event: Any = None
        self._here = vectors.float()
        if vectors.is_cuda:
            there = self._here
            self._here = torch.empty(there.shape, dtype=torch.float32, pin_memory=True)
            self._here.copy_(there, non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record()

    def result(self) -> npt.NDArray[np.float32]:
        if self._event is not None:
            self._event.synchronize()
        return self._here.numpy()


class PackedModel:
    """A model that takes tokens made ahead, at the pace of its device."""

    def __init__(
        self, model: Any, tokeniser: Tokeniser, *, pad: int, device: str, pool: _Pool | None = None
    ) -> None:
        self._model, self._pad, self._device, self._pool = model, pad, device, pool
        self.tokeniser = tokeniser

    def __call__(self, held: Tokenised) -> torch.Tensor:
        return encode(self._model, held, pad=self._pad, device=self._device, pool=self._pool)

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of passages whose tokens nobody made ahead."""
        return self(self.tokeniser.tokenised(titles, texts)).float().cpu().numpy()


def fast_rules(tokenizer: Any) -> str | None:
    """A fast tokenizer of transformers as the JSON of its rules; None for one in Python.

    How the last call cut and padded is kept in the tokenizer, and is none of its rules.
    """
    if (own := getattr(tokenizer, "backend_tokenizer", None)) is None:
        return None
    rules = msgspec.json.decode(own.to_str())
    return msgspec.json.encode({**rules, "truncation": None, "padding": None}).decode()


# Token numbers of a corpus' passages: made ahead by all cores, kept for every model with the same tokeniser.


KIND = "passage tokens"
# Passages of a file, a multiple of those of a file of vectors; small, so that a device has work soon and to the end.
SHARD = 16_384
_PIECE = 2_048


class Tokeniser(msgspec.Struct, frozen=True):
    """Everything that decides a passage's token numbers; `rules` is a tokeniser of `tokenizers` as JSON."""

    rules: str
    longest: int
    # Title and text as a pair, as DPR has them (a text without a title alone); else one text after the other.
    pairs: bool = False

    def describe(self) -> dict[str, Any]:
        rules = hashlib.sha256(self.rules.encode()).hexdigest()[:16]
        return {"rules": rules, "longest": self.longest, "pairs": self.pairs, "format": 2}

    def tokenised(self, titles: Sequence[str], texts: Sequence[str]) -> Tokenised:
        """The tokens of some passages, special ones included."""
        return _joined([*self._pieces(titles, texts)])

    def _pieces(self, titles: Sequence[str], texts: Sequence[str]) -> Iterator[Tokenised]:
        own = _loaded(self.rules, self.longest)
        encode = getattr(own, "encode_batch_fast", own.encode_batch)
        for start in range(0, len(texts), _PIECE):
            these = slice(start, start + _PIECE)
            given: Any = encoder.joined(titles[these], texts[these])
            if self.pairs:
                both = zip(titles[these], texts[these], strict=True)
                given = [(title, text) if title else text for title, text in both]
            rows = [encoding.ids for encoding in encode(given)]
            starts = np.zeros(len(rows) + 1, np.int64)
            np.cumsum([len(row) for row in rows], out=starts[1:])
            yield Tokenised(np.concatenate([np.asarray(row, np.int32) for row in rows]), starts)


@functools.lru_cache(2)
def _loaded(rules: str, longest: int) -> Any:
    from tokenizers import Tokenizer

    own = Tokenizer.from_str(rules)
    own.no_padding()
    own.enable_truncation(longest)
    return own


def _joined(parts: Sequence[Tokenised]) -> Tokenised:
    if not parts:
        return Tokenised(np.zeros(0, np.int32), np.zeros(1, np.int64))
    lengths = np.concatenate([part.lengths for part in parts])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Tokenised(np.concatenate([part.tokens for part in parts]), starts)


class TokenMaker:
    """Writes the tokens of a stretch of the corpus, whose table is mapped."""

    def __init__(self, tokeniser: Tokeniser, passages: Path, folder: Path) -> None:
        self._tokeniser, self._passages, self._folder = tokeniser, passages, folder

    @functools.cached_property
    def _table(self) -> MappedTable:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # each process has a core of its own
        return MappedTable.open(self._passages)

    def __call__(self, number: int) -> int:
        rows = self._table.slice(number * SHARD, SHARD, ["title", "text"])
        held = self._tokeniser.tokenised(
            [title or "" for title in rows["title"].to_pylist()], rows["text"].to_pylist()
        )
        write_tokens(self._folder, number, held)
        return len(held)


def write_tokens(folder: Path, number: int, held: Tokenised) -> None:
    """One file: how many passages, lengths, and tokens in as few bytes as they need."""
    kind = np.uint16 if not len(held.tokens) or int(held.tokens.max()) < 2**16 else np.int32
    with written_beside(folder / _name(number)) as beside, beside.open("wb") as file:
        np.array((len(held), np.dtype(kind).itemsize), np.int64).tofile(file)
        held.lengths.astype(np.int32).tofile(file)
        held.tokens.astype(kind).tofile(file)


def read_tokens(path: Path) -> Tokenised:
    raw: npt.NDArray[np.uint8] = np.memmap(path, np.uint8, "r").view(np.ndarray)
    count, width = raw[:16].view(np.int64).tolist()
    end = 16 + 4 * count
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(raw[16:end].view(np.int32), out=starts[1:])
    tokens: npt.NDArray[Any] = raw[end:].view(np.uint16 if width == 2 else np.int32)
    return Tokenised(tokens, starts)


def _name(number: int) -> str:
    return f"tokens-{number:05}.bin"


def corpus_shards(corpus: Corpus, tokeniser: Tokeniser, work: Path | None = None) -> Iterator[Tokenised]:
    """The tokens of a corpus in order; those that are not there yet, each shard as soon as it is made.

    Whoever encodes them works while the others are made.
    """
    described = {**tokeniser.describe(), "corpus": corpus.hash, "shard": SHARD}
    place = index_folder(work or cache_folder() / "indexes" / corpus.hash[:16], "tokens", described)
    if (folder := open_index(place, KIND, described)) is None:
        return _made(corpus, tokeniser, place, described)
    return (read_tokens(folder.path(n)) for n in sorted(folder.manifest.files) if n.startswith("tokens-"))


def _made(
    corpus: Corpus, tokeniser: Tokeniser, place: Path, described: dict[str, Any]
) -> Iterator[Tokenised]:
    assert corpus.folder is not None
    place.parent.mkdir(parents=True, exist_ok=True)
    with Folder.create(place, KIND, resume=True) as created:
        count = -(-len(corpus) // SHARD)
        missing = [n for n in range(count) if not (created.partial / _name(n)).exists()]
        maker = TokenMaker(tokeniser, corpus.folder.path("passages.arrow"), created.partial)
        with (
            progress("tokenising", len(corpus), "passages") as advance,
            _Making(maker, missing, created, advance) as making,
        ):
            advance(len(corpus) - sum(min(SHARD, len(corpus) - n * SHARD) for n in missing))
            for number in range(count):
                if number not in making.missing:
                    created.adopt(_name(number))
                making.wait_for(number)
                yield read_tokens(created.partial / _name(number))
        created.commit(parameters=described, counts={"passages": len(corpus)})


class _Making:
    """Hands shards to all cores beside whatever this process does with those that are there."""

    def __init__(self, maker: TokenMaker, missing: Sequence[int], folder: Folder, advance: Advance) -> None:
        self.missing = frozenset(missing)
        self._maker, self._jobs, self._folder, self._advance = maker, missing, folder, advance
        self._ready: SimpleQueue[int | BaseException] = SimpleQueue()
        self._done: set[int] = set()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="tokenising")

    def __enter__(self) -> _Making:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            for number, rows in run_jobs(self._maker, self._jobs, min(available_cores(), len(self._jobs))):
                self._folder.adopt(_name(number))
                self._advance(rows)
                self._ready.put(number)
                if self._stopped.is_set():
                    return
        except BaseException as error:
            self._ready.put(error)

    def wait_for(self, number: int) -> None:
        while number in self.missing and number not in self._done:
            result = self._ready.get()
            if isinstance(result, BaseException):
                raise result
            self._done.add(result)


# Encoders of sentence-transformers, by folder or name, run by torch.


BATCH = 32
TOGETHER = 512  # texts a call of the library, which says nothing meanwhile


class SentenceEncoder:
    """Questions by the model's query prompt, passages by its document prompt, where it has any."""

    def __init__(self, model: str | Path, *, name: str, device: str | None = None) -> None:
        self.name = name
        self._hash = encoder.weights_hash(Path(model)) if Path(model).is_dir() else ""
        self._model = _load(model, device)
        self.size = int(self._model.get_embedding_dimension() or 0)
        self.packed = None
        if self._model.device.type == "cuda":
            import torch

            self.packed = packed_model(self._model, torch.bfloat16)

    def describe(self) -> dict[str, Any]:
        return {
            "encoder": self.name,
            "kind": "sentence-transformers",
            "weights": self._hash,
            "size": self.size,
            "longest": self._model.max_seq_length,
        }

    def describe_passages(self) -> dict[str, Any]:
        """On a GPU passages are encoded in half precision, which makes other vectors."""
        return {**self.describe(), **({"encoded_in": "bfloat16"} if self.packed else {})}

    def questions(self, texts: Sequence[str]) -> encoder.Vectors:
        return self._encode(self._model.encode_query, list(texts))

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> encoder.Vectors:
        if self.packed is not None:
            return encoder.checked(self.packed.passages(titles, texts), len(texts), self.size, self.name)
        return self._encode(self._model.encode_document, encoder.joined(titles, texts))

    def _encode(self, encode: Any, texts: list[str]) -> encoder.Vectors:
        vectors = np.zeros((len(texts), self.size), np.float32)
        for places in encoder.batches_by_length([len(text) for text in texts], TOGETHER):
            some = [texts[n] for n in places]
            vectors[places] = encode(
                some, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False
            )
        return encoder.checked(vectors, len(texts), self.size, self.name)


def packed_model(model: Any, kind: Any) -> PackedModel | None:
    """For a transformer of which the mean of the tokens or the first one is taken; others go the library's way."""

    parts = [type(part).__name__ for part in model]
    plain = parts in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
    if not plain:
        return None
    mode = model[1].pooling_mode
    pooled = mode if isinstance(mode, str) else "+".join(mode)
    if pooled not in ("mean", "cls"):
        return None
    prompted = any((getattr(model, "prompts", None) or {}).values())
    rules = fast_rules(model.tokenizer)
    if prompted or not model.max_seq_length or rules is None:
        return None
    return PackedModel(
        copy.deepcopy(model[0].auto_model).to(kind).eval(),
        Tokeniser(rules, model.max_seq_length),
        pad=int(model.tokenizer.pad_token_id or 0),
        device=str(model.device),
        pool=first_normalised if pooled == "cls" else None,
    )


def _load(model: str | Path, device: str | None) -> Any:
    try:
        os.environ.setdefault("TQDM_DISABLE", "1")
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        with warnings.catch_warnings(action="ignore"):
            from sentence_transformers import SentenceTransformer
    except ImportError:
        known = Path(model).is_dir()
        raise (
            missing_extra("sentence-transformers", "dense") if known else encoder.unknown_model(str(model))
        ) from None
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    logging.getLogger("transformers").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(action="ignore"):
            return SentenceTransformer(str(model), device=device, local_files_only=True)
    except (OSError, ValueError) as error:
        raise encoder.unknown_model(str(model)) from error
