"""What turns texts into one vector a token, and those vectors on disk."""

import logging
import string
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.errors import BadInput, needs
from whichone.files.folder import Folder, file_hash
from whichone.files.lines import read_json
from whichone.progress import progress, talk
from whichone.retrieval.dense.encoder import (
    Vectors,
    batches_by_length,
    each_batch,
    joined,
    loading,
    model_folder,
    weights_hash,
)
from whichone.retrieval.onnx_model import OnnxModel, finite, is_onnx, padded

# How a late-interaction checkpoint wants its texts cut: markers, expansion, what is left out.
# ColBERT's own checkpoints say it in `artifact.metadata`, PyLate's and sentence-transformers' in `config_sentence_transformers.json`
# and beside it. An ONNX model is cut by these rules; torch models by the library.


class TokenRules(msgspec.Struct, frozen=True, kw_only=True):
    """`question_mark` and `passage_mark` are put after the first token; none where they are empty.

    `expand` fills questions with [MASK] up to `question_length`; those are scored too, and seen by the
    other tokens where `attend` says so. `skip_punctuation` leaves out a passage's punctuation.
    """

    question_mark: str = ""
    passage_mark: str = ""
    question_length: int = 32
    passage_length: int = 256
    expand: bool = False
    attend: bool = False
    skip_punctuation: bool = True


def read_rules(folder: Path) -> TokenRules:
    """The rules of a checkpoint's folder; plain tokens where it says nothing."""
    own, pylate = folder / "artifact.metadata", folder / "config_sentence_transformers.json"
    if own.exists():
        settings = _object(own)
        return _convert(
            own,
            question_mark=settings.get("query_token_id", "[unused0]"),
            passage_mark=settings.get("doc_token_id", "[unused1]"),
            question_length=settings.get("query_maxlen", 32),
            passage_length=settings.get("doc_maxlen", 180),
            expand=True,
            attend=settings.get("attend_to_mask_tokens", False),
            skip_punctuation=settings.get("mask_punctuation", True),
        )
    settings = _object(pylate) if pylate.exists() else {}
    if settings.get("model_type") == "MultiVectorEncoder":
        return _native_rules(folder, settings)
    if "query_length" not in settings and "document_length" not in settings:
        return TokenRules()
    return _convert(
        pylate,
        question_mark=(settings.get("query_prefix") or "").strip(),
        passage_mark=(settings.get("document_prefix") or "").strip(),
        question_length=settings.get("query_length", 32),
        passage_length=settings.get("document_length", 180),
        expand=settings.get("do_query_expansion", True),
        attend=settings.get("attend_to_expansion_tokens", False),
        skip_punctuation=settings.get("skiplist_words") != [],
    )


def _native_rules(folder: Path, settings: dict[str, Any]) -> TokenRules:
    """Those of sentence-transformers' own layout: its modules have them."""
    prompts = settings.get("prompts") or {}
    first = _object(folder / "sentence_bert_config.json")
    mask = next(folder.glob("*_MultiVectorMask/config.json"), None)
    expansion = first.get("query_expansion") or {}
    return _convert(
        folder,
        question_mark=(prompts.get("query") or "").strip(),
        passage_mark=(prompts.get("document") or "").strip(),
        question_length=expansion.get("length") or first.get("query_length"),
        passage_length=first.get("document_length"),
        expand=bool(expansion),
        attend=expansion.get("attend"),
        skip_punctuation=mask is not None and bool(_object(mask).get("skiplist_words")),
    )


def _object(path: Path) -> dict[str, Any]:
    settings = read_json(path)
    if not isinstance(settings, dict):
        raise BadInput("an object is expected", file=path)
    return settings


def _convert(path: Path, **values: Any) -> TokenRules:
    try:
        return msgspec.convert({k: v for k, v in values.items() if v is not None}, TokenRules)
    except msgspec.ValidationError as error:
        raise BadInput(f"the settings of a late-interaction model: {error}", file=path) from error


class Cutter:
    """Texts to token ids by these rules; `tokenizer` is of the tokenizers library."""

    def __init__(self, tokenizer: Any, rules: TokenRules, *, file: str | Path = "") -> None:
        self.rules, self._tokenizer, self._file = rules, tokenizer, file
        self._question_mark = self._number(rules.question_mark)
        self._passage_mark = self._number(rules.passage_mark)
        self._mask = tokenizer.token_to_id("[MASK]")
        if rules.expand and self._mask is None:
            raise BadInput("questions are filled with [MASK], which is no token here", file=file)
        self._skipped = {
            number
            for sign in string.punctuation
            if rules.skip_punctuation and (number := tokenizer.token_to_id(sign)) is not None
        }

    def _number(self, mark: str) -> int | None:
        if not mark:
            return None
        number: int | None = self._tokenizer.token_to_id(mark)
        if number is None:
            raise BadInput(f"the marker {mark!r} is no token of the model", file=self._file)
        return number

    def questions(self, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        """The ids of each question, and how many of them the model attends to."""
        length = self.rules.question_length
        rows = self._cut(texts, length, self._question_mark)
        seen = [len(row) for row in rows]
        if not self.rules.expand:
            return rows, seen
        filled = [row + [self._mask] * (length - len(row)) for row in rows]
        return filled, [length] * len(rows) if self.rules.attend else seen

    def passages(self, texts: Sequence[str]) -> list[list[int]]:
        return self._cut(texts, self.rules.passage_length, self._passage_mark)

    def kept(self, ids: Sequence[int]) -> list[int]:
        """The places of a passage's tokens that are stored and scored."""
        return [n for n, token in enumerate(ids) if token not in self._skipped] or list(range(len(ids)))

    def _cut(self, texts: Sequence[str], length: int, mark: int | None) -> list[list[int]]:
        self._tokenizer.enable_truncation(length - (mark is not None))
        self._tokenizer.no_padding()
        rows = [list(e.ids) for e in self._tokenizer.encode_batch(list(texts))]
        return rows if mark is None else [[*row[:1], mark, *row[1:]] for row in rows]


# ColBERT's and PyLate's checkpoints, and any encoder as a start, by sentence-transformers' MultiVectorEncoder.


BATCH = 32


def token_model(checkpoint: str, *, device: str | None = None, new_size: int | None = None) -> Any:
    """The MultiVectorEncoder of a late-interaction checkpoint, or of any encoder's token vectors.

    With `new_size` an encoder that was none before gets a projection, made anew, and ColBERT's
    markers and expansion where its tokeniser has their tokens.
    """
    with needs("sentence-transformers", "dense"), warnings.catch_warnings(action="ignore"):
        from sentence_transformers import MultiVectorEncoder
        from sentence_transformers.base.modules import Dense, Normalize, Transformer
        from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
    place = _model_folder(checkpoint)
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    with loading(
        f"cannot load the late-interaction model {checkpoint}",
        "name a folder of a ColBERT, PyLate or transformers checkpoint, or of an ONNX model",
    ):
        if _is_late(Path(place)):
            model = MultiVectorEncoder(place, device=device, local_files_only=True).float()
            _check_projection(model, place)
            return model
        rules = TokenRules()
        encoder = Transformer(
            place,
            query_length=rules.question_length,
            document_length=rules.passage_length,
            model_kwargs={"local_files_only": True},
        )
    parts: list[Any] = [encoder]
    prompts = {}
    if new_size is not None:
        parts.append(
            Dense(
                encoder.get_embedding_dimension(),
                new_size,
                bias=False,
                activation_function=None,
                module_input_name="token_embeddings",
            )
        )
        prompts = _markers(encoder, rules)
    known = encoder.tokenizer.get_vocab()
    parts.append(MultiVectorMask(skiplist_words=[sign for sign in string.punctuation if sign in known]))
    parts.append(Normalize(module_input_name="token_embeddings"))
    return MultiVectorEncoder(modules=parts, device=device, prompts=prompts or None).float()


def _model_folder(checkpoint: str) -> str:
    """The folder of a model: itself, in an installed package, or in the hub's cache."""
    if (found := model_folder(checkpoint)) is not None or Path(checkpoint).exists():
        return str(found or checkpoint)
    try:
        from huggingface_hub import snapshot_download

        return str(snapshot_download(checkpoint, local_files_only=True))
    except (OSError, ValueError):
        return checkpoint


def _is_late(folder: Path) -> bool:
    """Whether a folder's files say that it is a late-interaction model."""
    own, config = folder / "config_sentence_transformers.json", folder / "config.json"
    said = _object(own) if own.exists() else {}
    architectures = (_object(config) if config.exists() else {}).get("architectures") or []
    return (
        said.get("model_type") in ("MultiVectorEncoder", "ColBERT")
        or "query_length" in said
        or "HF_ColBERT" in architectures
    )


def _check_projection(model: Any, place: str) -> None:
    for part in model:
        if hasattr(part, "in_features") and part.in_features != (size := model[0].get_embedding_dimension()):
            raise BadInput(
                f"the projection takes {part.in_features} numbers, the encoder gives {size}", file=place
            )


def _markers(encoder: Any, rules: TokenRules) -> dict[str, str]:
    tokenizer = encoder.tokenizer
    known = tokenizer.get_vocab()
    if "[MASK]" in known:
        encoder.query_expansion = {"strategy": "fixed", "length": rules.question_length}
    marks = [mark for mark in ("[unused0]", "[unused1]") if mark in known]
    if len(marks) < 2:
        return {}
    tokenizer.add_special_tokens({"additional_special_tokens": marks})
    return {"query": f"{marks[0]} ", "document": f"{marks[1]} "}


class ColbertTokens:
    """A checkpoint as an encoder of tokens, run by sentence-transformers."""

    def __init__(self, model: str, *, device: str | None = None) -> None:
        self.name = Path(model).resolve().name if Path(model).is_dir() else model
        self._model = token_model(model, device=device)
        self._hash = weights_hash(Path(model)) if Path(model).is_dir() else ""
        self.size = int(self._model.get_embedding_dimension())

    def describe(self) -> dict[str, Any]:
        first = self._model[0]
        parts = [type(part).__name__ for part in self._model]
        return {
            "model": self.name,
            "kind": "ColBERT" if "Dense" in parts else "backbone MaxSim",
            "weights": self._hash,
            "size": self.size,
            "rules": {
                "prompts": {k: v for k, v in self._model.prompts.items() if v},
                "question_length": first.query_length,
                "passage_length": first.document_length,
                "expansion": first.query_expansion,
                "skipped": next(
                    ("".join(p.skiplist_words) for p in self._model if hasattr(p, "skiplist_words")), ""
                ),
            },
        }

    def questions(self, texts: Sequence[str]) -> list[Vectors]:
        return self._encode(self._model.encode_query, list(texts))

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> list[Vectors]:
        return self._encode(self._model.encode_document, joined(titles, texts))

    def _encode(self, encode: Any, texts: list[str]) -> list[Vectors]:
        encoded = encode(texts, batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False)
        return [finite(np.asarray(vectors, np.float32), self.name) for vectors in encoded]


# What turns texts into one vector a token: an ONNX model, or a ColBERT or PyLate checkpoint.


class TokenEncoder(Protocol):
    """Each text as an array of unit vectors, one a token."""

    size: int

    def questions(self, texts: Sequence[str]) -> list[Vectors]: ...

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> list[Vectors]: ...

    def describe(self) -> dict[str, Any]: ...


def open_token_encoder(model: str, *, device: str | None = None) -> TokenEncoder:
    place = model_folder(model) or Path(model)
    return OnnxTokens(place) if is_onnx(place) else ColbertTokens(model, device=device)


class OnnxTokens:
    """A model whose first output has a vector for each token.

    An output called `last_hidden_state` comes from an encoder without ColBERT's projection: its
    MaxSim is described as that of a backbone.
    """

    def __init__(self, place: Path, rules: TokenRules | None = None) -> None:
        folder = place if place.is_dir() else place.parent
        self.rules = rules or read_rules(folder)
        self._model = OnnxModel(place, longest=max(self.rules.question_length, self.rules.passage_length))
        self.name = self._model.folder.resolve().name
        self._hash = file_hash(self._model.file)[:16]
        self._cutter = Cutter(self._model.tokenizer, self.rules, file=self._model.file)
        self._output, shape = next(iter(self._model.outputs.items()))
        if len(shape) != 3:
            raise BadInput(
                f"the model's first output has the shape {shape}, not one vector a token",
                file=self._model.file,
            )
        size = shape[-1]
        self.size = size if isinstance(size, int) else self.questions(["size"])[0].shape[1]

    def describe(self) -> dict[str, Any]:
        backbone = self._output == "last_hidden_state"
        return {
            "model": self.name,
            "kind": "onnx, backbone MaxSim" if backbone else "onnx",
            "weights": self._hash,
            "size": self.size,
            "rules": msgspec.to_builtins(self.rules),
        }

    def questions(self, texts: Sequence[str]) -> list[Vectors]:
        rows, seen = self._cutter.questions(texts)
        return self._encode(rows, seen, [list(range(len(row))) for row in rows])

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> list[Vectors]:
        rows = self._cutter.passages(joined(titles, texts))
        return self._encode(rows, [len(r) for r in rows], [self._cutter.kept(r) for r in rows])

    def _encode(self, rows: list[list[int]], seen: list[int], kept: list[list[int]]) -> list[Vectors]:
        encoded: list[Vectors] = [np.zeros((0, 0), np.float32)] * len(rows)
        for places in batches_by_length([len(row) for row in rows], BATCH):
            ids, _ = padded([rows[n] for n in places])
            mask = (np.arange(ids.shape[1]) < np.array([[seen[n]] for n in places])).astype(np.int64)
            for vectors, n in zip(self._model.run(ids, mask)[0], places, strict=True):
                encoded[n] = unit(finite(vectors[kept[n]], self.name))
        return encoded


def unit(vectors: Vectors) -> Vectors:
    """Vectors of length 1; those of length 0 stay."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


# Token vectors on disk: compressed, written shard by shard, gone on with after a kill, mapped.


KIND = "token vectors"
SHARD = 2_048
_PARTS = ("lengths", "scales", "tokens")  # In the order of writing: a shard is there when its tokens are

Precision = Literal["float16", "int8", "int4"]


def compress(vectors: Vectors, precision: Precision) -> tuple[npt.NDArray[Any], Vectors]:
    """Vectors as they are stored, and a scale for each: int8 and int4 keep the largest number exact."""
    if (largest := {"int8": 127, "int4": 7}.get(precision)) is None:
        return vectors.astype(np.float16), np.ones(len(vectors), np.float32)
    scales = np.abs(vectors).max(1, initial=0) / largest
    scales = np.where(scales > 0, scales, 1).astype(np.float32)
    whole = np.rint(vectors / scales[:, None]).astype(np.int8)
    if precision == "int8":
        return whole, scales
    if whole.shape[1] % 2:
        whole = np.pad(whole, ((0, 0), (0, 1)))
    shifted = (whole + 8).astype(np.uint8)
    return shifted[:, ::2] << 4 | shifted[:, 1::2], scales


def decompress(stored: npt.NDArray[Any], scales: Vectors, precision: Precision, size: int) -> Vectors:
    if precision == "int4":
        whole = np.empty((len(stored), 2 * stored.shape[1]), np.float32)
        whole[:, ::2] = stored >> 4
        whole[:, 1::2] = stored & 15
        return (whole[:, :size] - 8) * scales[:, None]
    return stored.astype(np.float32) * scales[:, None]


@dataclass(frozen=True)
class _Shard:
    starts: npt.NDArray[np.int64]
    scales: Vectors
    tokens: npt.NDArray[Any]


class StoredTokens:
    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.size = int(folder.manifest.parameters["size"])
        self.precision: Precision = folder.manifest.parameters["precision"]
        self._shards = list(self._open())
        self._count = sum(len(shard.starts) - 1 for shard in self._shards)

    def __len__(self) -> int:
        return self._count

    def _open(self) -> Iterator[_Shard]:
        for name in sorted(n for n in self.folder.manifest.files if n.startswith("tokens-")):
            lengths = np.load(self.folder.path(name.replace("tokens", "lengths")))
            scales = np.load(self.folder.path(name.replace("tokens", "scales")), mmap_mode="r")
            tokens = np.load(self.folder.path(name), mmap_mode="r")
            starts = np.concatenate([[0], np.cumsum(lengths)])
            if starts[-1] != len(tokens) or len(tokens) != len(scales):
                raise BadInput(
                    "lengths and tokens do not fit each other",
                    file=self.folder.root / name,
                    hint="remove the folder: it is made again",
                )
            yield _Shard(starts, scales, tokens)

    def read(self, row: int) -> Vectors:
        shard = self._shards[row // SHARD]
        place = slice(*shard.starts[row % SHARD : row % SHARD + 2])
        return decompress(shard.tokens[place], shard.scales[place], self.precision, self.size)

    def read_all(self, rows: Sequence[int]) -> list[Vectors]:
        return [self.read(row) for row in rows]


def store_tokens(
    passages: pa.Table, encoder: TokenEncoder, place: Path, *, precision: Precision, corpus: str
) -> StoredTokens:
    """Encode all passages; a killed encoding goes on with the next shard."""
    parameters = {**encoder.describe(), "precision": precision, "corpus": corpus, "shard": SHARD}
    total = passages.num_rows
    with Folder.create(place, KIND, resume=True) as folder:
        if folder.resumes(parameters) and list(folder.partial.glob("tokens-*.npy")):
            talk(f"going on with the token vectors in {place}")
        count = 0
        with progress("encoding", total, "passages") as advance:
            for number, start in enumerate(range(0, total, SHARD)):
                rows = passages.slice(start, SHARD)
                if not (folder.partial / f"tokens-{number:05}.npy").exists():
                    texts = (rows["title"].to_pylist(), rows["text"].to_pylist())
                    with each_batch(advance, rows.num_rows):
                        encoded = encoder.passages(*texts)
                    _save(folder.partial, number, encoded, precision)
                else:
                    advance(rows.num_rows)
                for part in _PARTS:
                    folder.adopt(f"{part}-{number:05}.npy")
                count += len(np.load(folder.partial / f"tokens-{number:05}.npy", mmap_mode="r"))
        folder.commit(parameters=parameters, counts={"passages": total, "tokens": count})
    return StoredTokens(Folder.open(place, KIND))


def _save(partial: Path, number: int, encoded: Sequence[Vectors], precision: Precision) -> None:
    tokens, scales = compress(np.concatenate(encoded), precision)
    lengths = np.array([len(vectors) for vectors in encoded], np.int64)
    arrays: list[npt.NDArray[Any]] = [lengths, scales, tokens]
    for part, array in zip(_PARTS, arrays, strict=True):
        beside = partial / f".{part}-{number:05}.npy"
        np.save(beside, array)
        beside.replace(partial / f"{part}-{number:05}.npy")
