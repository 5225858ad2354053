"""BERT weights out of ONNX files, int8 or fp32, so that a model that comes as one can be trained again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

HEADS = 12


def tensors(file: Path) -> dict[str, np.ndarray]:
    """Parameters by their names in torch; int8 ones are multiplied out by their scales."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(file)).graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}

    def value(name: str) -> np.ndarray | None:
        base = name.removesuffix("_quantized")
        if name.endswith("_quantized"):
            whole = held[name].astype(np.float32) - held[f"{base}_zero_point"].astype(np.float32)
            return whole * held[f"{base}_scale"].astype(np.float32)
        return held.get(name)

    found: dict[str, np.ndarray] = {}
    for name in held:
        base = name.removesuffix("_quantized")
        if re.fullmatch(r"[\w.]+\.(weight|bias)", base):
            found[base] = value(name)
    for node in graph.node:
        if node.op_type not in ("MatMul", "MatMulInteger") or node.input[1] not in held:
            continue
        own = node.input[1].removesuffix("_quantized")
        path = re.fullmatch(r"/(.+)/MatMul(_quant)?", node.name)
        if own in found:  # a layer with a bias is stored as it is multiplied
            found[own] = found[own].T
        elif path:
            found[path[1].replace("/", ".") + ".weight"] = value(node.input[1]).T
    return found


def bert(folder: Path, *, pairs: bool = False) -> tuple[Any, Any]:
    """Model and tokenizer; with `pairs` the head that scores a question with a passage."""
    import torch
    import transformers

    found = tensors(next(folder.glob("*.onnx")))
    plain = {name.removeprefix("bert."): array for name, array in found.items()}
    size = plain["embeddings.word_embeddings.weight"].shape
    layers = 1 + max(int(m[1]) for n in plain if (m := re.match(r"encoder\.layer\.(\d+)\.", n)))
    config = transformers.BertConfig(
        vocab_size=size[0],
        hidden_size=size[1],
        num_hidden_layers=layers,
        num_attention_heads=HEADS,
        intermediate_size=plain["encoder.layer.0.intermediate.dense.bias"].shape[0],
        num_labels=1,
    )
    maker = transformers.BertForSequenceClassification if pairs else transformers.BertModel
    model = maker(config)
    state = {
        (f"bert.{n}" if pairs and not n.startswith("classifier") else n): torch.tensor(a)
        for n, a in plain.items()
    }
    left = model.load_state_dict(state, strict=False).missing_keys
    missing = [name for name in left if pairs or "pooler" not in name]
    if missing:
        raise SystemExit(f"{folder}: no weights of {missing[:5]}")
    return model.eval(), tokenizer_of(folder)


def tokenizer_of(folder: Path) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def pooling(folder: Path) -> str:
    place = folder / "1_Pooling" / "config.json"
    return "first" if json.loads(place.read_text()).get("pooling_mode_cls_token") else "mean"
