"""Tiny ONNX models written byte by byte: a table of numbers for each token, looked up and summed.

The format is protobuf (onnx.proto3): a field is its number and wire type, then a varint or a
length with so many bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

_FLOAT, _INT64 = 1, 7


def _varint(value: int) -> bytes:
    parts = bytearray()
    while True:
        parts.append((value & 127) | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(parts)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    content = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _value(name: str, kind: int, shape: list[str | int]) -> bytes:
    dims = b"".join(_bytes(1, _number(1, d) if isinstance(d, int) else _bytes(2, d)) for d in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, dims)))


def _tensor(name: str, array: npt.NDArray[np.float32]) -> bytes:
    dims = b"".join(_number(1, n) for n in array.shape)
    return dims + _number(2, _FLOAT) + _bytes(8, name) + _bytes(9, array.tobytes())


def _node(kind: str, inputs: list[str], output: str, attributes: bytes = b"") -> bytes:
    named = b"".join(_bytes(1, i) for i in inputs)
    return named + _bytes(2, output) + _bytes(4, kind) + attributes


def write_onnx(path: Path, table: npt.NDArray[np.float32], *, output: str, summed: bool) -> None:
    """A model that looks each token up in `table`; `summed` adds the rows of a text up.

    The mask is an input, as every model here takes one; tokens of id 0 should have zeros.
    """
    size = table.shape[1]
    looked_up = "rows" if summed else output
    nodes = [_bytes(1, _node("Gather", ["table", "input_ids"], looked_up))]
    if summed:
        axes = _bytes(5, _bytes(1, "axes") + _number(8, 1) + _number(20, 7))
        keep = _bytes(5, _bytes(1, "keepdims") + _number(3, 0) + _number(20, 2))
        nodes.append(_bytes(1, _node("ReduceSum", ["rows"], output, axes + keep)))
    batch: list[str | int] = ["batch", "tokens"]
    shape: list[str | int] = ["batch", size] if summed else [*batch, size]
    graph = (
        b"".join(nodes)
        + _bytes(2, "graph")
        + _bytes(5, _tensor("table", table))
        + _bytes(11, _value("input_ids", _INT64, batch))
        + _bytes(11, _value("attention_mask", _INT64, batch))
        + _bytes(12, _value(output, _FLOAT, shape))
    )
    model = _number(1, 8) + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _number(2, 12))
    path.write_bytes(model)


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[Q]", "[D]", ".", "red", "green", "blue"]


def write_tokenizer(folder: Path, words: Sequence[str] = WORDS) -> None:
    """A tokenizer of whole words, with [CLS] and [SEP] around."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({w: n for n, w in enumerate(words)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
