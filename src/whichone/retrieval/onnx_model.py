"""A transformer exported to ONNX with its tokenizer, run on the CPU without torch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whichone.errors import BadInput, Missing, missing_extra
from whichone.files.lines import read_json

Ints = npt.NDArray[np.int64]
Outputs = list[npt.NDArray[np.float32]]

WEIGHTS = ("model.onnx", "model_quantized.onnx")


class OnnxModel:
    """`place` is a folder with `*.onnx` and `tokenizer.json`, or the `.onnx` file itself."""

    def __init__(self, place: str | Path, *, longest: int) -> None:
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError as error:
            raise missing_extra(error.name or "onnxruntime", "dense") from None
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
                f"the model takes {', '.join(sorted(self._inputs))}, not input_ids and"
                " attention_mask",
                file=self.file,
            )

    def run(self, ids: Ints, mask: Ints, kinds: Ints | None = None) -> Outputs:
        """The outputs for a batch of token ids; `kinds` are the segments, all 0 where not given."""
        feeds = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids) if kinds is None else kinds,
        }
        outputs: Outputs = self._session.run(
            None, {k: v for k, v in feeds.items() if k in self._inputs}
        )
        return outputs


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
    return (
        path.is_dir()
        and any(path.glob("*.onnx"))
        and not any((path / name).exists() for name in torch)
    )


def padded(rows: Sequence[Sequence[int]], fill: int = 0) -> tuple[Ints, Ints]:
    """Rows of ids as one array, and a mask of where ids are."""
    widest = max((len(row) for row in rows), default=0)
    ids = np.full((len(rows), widest), fill, np.int64)
    mask = np.zeros((len(rows), widest), np.int64)
    for n, row in enumerate(rows):
        ids[n, : len(row)] = row
        mask[n, : len(row)] = 1
    return ids, mask


def batches_by_length(lengths: Sequence[int], size: int) -> Iterator[list[int]]:
    """Places in batches of similar length, longest first, so that little is padded."""
    order = sorted(range(len(lengths)), key=lambda n: -lengths[n])
    for start in range(0, len(order), size):
        yield order[start : start + size]


def finite(values: npt.NDArray[Any], name: str) -> npt.NDArray[np.float32]:
    """Scores or vectors in single precision; NaN and infinity are refused."""
    kept = np.asarray(values, np.float32)
    if not np.isfinite(kept).all():
        raise BadInput(f"{name} gave a number that is NaN or infinite")
    return kept
