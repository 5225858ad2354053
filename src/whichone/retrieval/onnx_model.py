"""A transformer exported to ONNX with its tokenizer, run on the CPU without torch."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whichone.errors import BadInput, Missing, needs
from whichone.files.folder import file_hash
from whichone.files.lines import read_json
from whichone.records import Passage
from whichone.retrieval.dense.encoder import Vectors, batches_by_length, checked, joined, weights_hash

Ints = npt.NDArray[np.int64]
Outputs = list[npt.NDArray[np.float32]]

WEIGHTS = ("model.onnx", "model_quantized.onnx")


class OnnxModel:
    """`place` is a folder with `*.onnx` and `tokenizer.json`, or the `.onnx` file itself."""

    def __init__(self, place: str | Path, *, longest: int) -> None:
        with needs(None, "dense"):
            import onnxruntime
            from tokenizers import Tokenizer
        self.file = onnx_file(Path(place))
        self.folder = self.file.parent
        words = self.folder / "tokenizer.json"
        if not words.exists():
            raise Missing(
                "there is no tokenizer.json beside the model",
                where=str(self.file),
                hint="copy it from the checkpoint that the model was exported from",
            )
        try:
            self.tokenizer = Tokenizer.from_file(str(words))
        except Exception as error:  # the library raises nothing more special
            raise BadInput(f"no tokenizer: {error}", file=words) from error
        self.longest = int(min(longest, _own_longest(self.folder)))
        self.tokenizer.enable_truncation(self.longest)
        self.tokenizer.no_padding()  # files may ask for padding to a fixed length
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        # threads that wait by spinning cost 40 % more CPU time where others need the cores
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self._session = onnxruntime.InferenceSession(
                str(self.file), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime raises classes of its own for each failure
            reason = (str(error).splitlines() or ["unknown"])[0]
            raise BadInput(f"no ONNX model: {reason}", file=self.file) from error
        self._inputs = {i.name for i in self._session.get_inputs()}
        self.outputs = {o.name: o.shape for o in self._session.get_outputs()}
        if not {"input_ids", "attention_mask"} <= self._inputs:
            raise BadInput(
                f"the model takes {', '.join(sorted(self._inputs))}, not input_ids and attention_mask",
                file=self.file,
            )

    def run(self, ids: Ints, mask: Ints, kinds: Ints | None = None) -> Outputs:
        """The outputs for a batch of token ids; `kinds` are the segments, all 0 where not given."""
        feeds = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids) if kinds is None else kinds,
        }
        return self._session.run(None, {k: v for k, v in feeds.items() if k in self._inputs})


def onnx_file(place: Path) -> Path:
    """The model's file: the one named, or the best known name in a folder."""
    if place.is_file():
        return place
    known = [place / name for name in WEIGHTS if (place / name).exists()]
    candidates = known or sorted(place.glob("*.onnx"))
    if not candidates:
        raise Missing(
            "there is no ONNX model here",
            where=str(place),
            hint="a folder with model.onnx and tokenizer.json, or the .onnx file itself, is needed",
        )
    return candidates[0]


def _own_longest(folder: Path) -> float:
    """The tokens that the model was trained to read, as transformers saves it; a huge number means no limit."""
    config = folder / "tokenizer_config.json"
    settings = read_json(config) if config.exists() else {}
    longest = settings.get("model_max_length") if isinstance(settings, dict) else None
    return longest if isinstance(longest, int | float) and longest >= 8 else math.inf


def is_onnx(place: str | Path) -> bool:
    """Whether a path is an ONNX file, or a folder with one and no weights for torch."""
    path = Path(place)
    if path.is_file():
        return path.suffix == ".onnx"
    torch = ("model.safetensors", "pytorch_model.bin")
    return path.is_dir() and any(path.glob("*.onnx")) and not any((path / name).exists() for name in torch)


def padded(rows: Sequence[Sequence[int]], fill: int = 0) -> tuple[Ints, Ints]:
    """Rows of ids as one array, and a mask of where ids are."""
    widest = max((len(row) for row in rows), default=0)
    ids = np.full((len(rows), widest), fill, np.int64)
    mask = np.zeros((len(rows), widest), np.int64)
    for n, row in enumerate(rows):
        ids[n, : len(row)] = row
        mask[n, : len(row)] = 1
    return ids, mask


def finite(values: npt.NDArray[Any], name: str) -> npt.NDArray[np.float32]:
    """Scores or vectors in single precision; NaN and infinity are refused."""
    kept = np.asarray(values, np.float32)
    if not np.isfinite(kept).all():
        raise BadInput(f"{name} gave a number that is NaN or infinite")
    return kept


# Encoders exported to ONNX: `*.onnx` and `tokenizer.json` in one folder.


BATCH = 32
LONGEST = 256


class OnnxEncoder:
    """Runs the model on the CPU and pools its last layer: mean over the words, or the first."""

    def __init__(self, folder: Path, *, name: str, longest: int = LONGEST) -> None:
        self._model = OnnxModel(folder, longest=longest)
        self.name = name
        self._hash = weights_hash(folder)
        self._longest = longest
        self._first_word = _pools_first(folder)
        self._asks, self._tells = prompts(folder)
        size = next(iter(self._model.outputs.values()))[-1]
        self.size = size if isinstance(size, int) else self._pooled(["size"]).shape[1]

    def describe(self) -> dict[str, Any]:
        return {
            "encoder": self.name,
            "kind": "onnx",
            "weights": self._hash,
            "size": self.size,
            "longest": self._longest,
            "pooling": "first" if self._first_word else "mean",
            **({"prompts": [self._asks, self._tells]} if self._asks or self._tells else {}),
        }

    def questions(self, texts: Sequence[str]) -> Vectors:
        return self._encode([self._asks + text for text in texts])

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Vectors:
        return self._encode([self._tells + text for text in joined(titles, texts)])

    def _encode(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.size), np.float32)
        for places in batches_by_length([len(text) for text in texts], BATCH):
            vectors[places] = self._pooled([texts[n] for n in places])
        return checked(vectors, len(texts), self.size, self.name)

    def _pooled(self, texts: list[str]) -> Vectors:
        ids, seen = padded([e.ids for e in self._model.tokenizer.encode_batch(texts)])
        last = self._model.run(ids, seen)[0]
        if last.ndim == 2:
            pooled = last
        elif self._first_word:
            pooled = last[:, 0]
        else:
            mask = seen[:, :, None].astype(np.float32)
            pooled = (last * mask).sum(1) / np.maximum(mask.sum(1), 1)
        return pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)


def _pools_first(folder: Path) -> bool:
    config = folder / "1_Pooling" / "config.json"
    if not config.exists():
        return False
    configuration = read_json(config)
    if not isinstance(configuration, dict):
        raise BadInput("not a pooling configuration", file=config)
    return bool(configuration.get("pooling_mode_cls_token")) or configuration.get("pooling_mode") == "cls"


def prompts(folder: Path) -> tuple[str, str]:
    """What a model wants before a question and before a passage, as sentence-transformers saves it."""
    config = folder / "config_sentence_transformers.json"
    settings = read_json(config) if config.exists() else {}
    named = settings.get("prompts") if isinstance(settings, dict) else None
    if not isinstance(named, dict):
        return "", ""
    tells = next((named[k] for k in ("document", "passage", "corpus") if named.get(k)), "")
    return str(named.get("query") or ""), str(tells)


# Scores pairs of question and passage with a cross-encoder exported to ONNX, without torch.


ONNX_BATCH = 16
ONNX_LONGEST = 512


class OnnxCrossEncoder:
    """A folder with `*.onnx` and `tokenizer.json`, or the `.onnx` file; one number a pair is its score."""

    def __init__(self, model: str | Path, *, longest: int = ONNX_LONGEST) -> None:
        self._model = OnnxModel(model, longest=longest)
        self._name = self._model.folder.resolve().name
        self._hash = file_hash(self._model.file)[:16]
        self._longest = self._model.longest
        shape = next(iter(self._model.outputs.values()))
        if len(shape) != 2 or shape[1] not in (1, 2):
            raise BadInput(
                f"no cross-encoder: its output has the shape {shape}, not one score a pair",
                file=self._model.file,
                hint="search with it: --retriever dense or --retriever late",
            )

    def describe(self) -> dict[str, Any]:
        return {
            "by": "cross-encoder",
            "model": self._name,
            "weights": self._hash,
            "kind": "onnx",
            "longest": self._longest,
        }

    def scores(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float32]:
        encoded = self._model.tokenizer.encode_batch(list(pairs)) if pairs else []
        scores = np.zeros(len(pairs), np.float32)
        for places in batches_by_length([len(e.ids) for e in encoded], ONNX_BATCH):
            ids, mask = padded([encoded[n].ids for n in places])
            kinds, _ = padded([encoded[n].type_ids for n in places])
            logits = self._model.run(ids, mask, kinds)[0]
            scores[places] = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
        return finite(scores, self._name)

    def order(
        self, question: str, passages: Sequence[Passage]
    ) -> tuple[list[int], list[float], dict[str, Any]]:
        scores = self.scores([(question, f"{p.title} {p.text}".strip()) for p in passages])
        places = np.argsort(-scores, kind="stable").tolist()
        return places, [float(scores[n]) for n in places], {}
