"""Weights of BERT and MPNet out of ONNX files or checkpoints, so that a model that comes as one can be trained again."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np

HEADS = 12


Stored = tuple[np.ndarray, np.ndarray, np.ndarray, bool]
"""Numbers as a file has them, what is subtracted from them, what they are multiplied by, and whether they are turned."""


def stored(folder: Path) -> dict[str, Stored]:
    """The parameters of a checkpoint or an ONNX model by their names in torch."""
    zero, one = np.zeros((), np.float32), np.ones((), np.float32)
    if (folder / "model.safetensors").exists():
        from safetensors.numpy import load_file

        held = load_file(folder / "model.safetensors")
        return {n: (a, zero, one, False) for n, a in held.items() if a.dtype == np.float32}
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(next(folder.glob("*.onnx")))).graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}

    def value(name: str, turned: bool) -> Stored:
        base = name.removesuffix("_quantized")
        if name.endswith("_quantized"):
            return held[name], held[f"{base}_zero_point"], held[f"{base}_scale"], turned
        return held[name], zero, one, turned

    parameters: dict[str, Stored] = {}
    for name in held:
        base = name.removesuffix("_quantized")
        if re.fullmatch(r"[\w.]+\.(weight|bias)", base):
            parameters[base] = value(name, False)
    for node in graph.node:
        if node.op_type not in ("MatMul", "MatMulInteger") or node.input[1] not in held:
            continue
        own = node.input[1].removesuffix("_quantized")
        path = re.fullmatch(r"/(.+)/MatMul(_quant)?", node.name)
        if own in parameters:  # a layer with a bias is stored as it is multiplied
            parameters[own] = value(node.input[1], True)
        elif path:
            name = path[1].replace("/", ".").removeprefix("model.") + ".weight"
            parameters[name] = value(node.input[1], True)
    return {name.removeprefix("model."): each for name, each in parameters.items()}


def pack(folder: Path, out: Path) -> None:
    """`weights.npz` of 8 bits a number, for a machine without the package onnx, beside what else is needed there."""
    out.mkdir(parents=True, exist_ok=True)
    arrays = {}
    for name, (whole, zero, scale, turned) in stored(folder).items():
        if whole.dtype == np.float32 and whole.ndim == 2:
            axis = 0 if turned else 1  # one scale for each number that comes out
            scale = np.maximum(np.abs(whole).max(axis, keepdims=True) / 127, 1e-12)
            whole = np.rint(whole / scale).astype(np.int8)
        parts = {"whole": whole, "zero": zero, "scale": scale, "turned": turned}
        arrays.update({f"{name}|{part}": array for part, array in parts.items()})
    np.savez_compressed(out / "weights.npz", **arrays)
    for kept in ("tokenizer.json", "config_sentence_transformers.json"):
        if (folder / kept).exists():
            shutil.copy(folder / kept, out)
    if (folder / "1_Pooling").is_dir():
        shutil.copytree(folder / "1_Pooling", out / "1_Pooling", dirs_exist_ok=True)


def tensors(folder: Path) -> dict[str, np.ndarray]:
    """Parameters by their names in torch, multiplied out."""
    if (folder / "weights.npz").exists():
        with np.load(folder / "weights.npz") as held:
            names = {key.partition("|")[0] for key in held}
            parts = ("whole", "zero", "scale", "turned")
            known = {n: tuple(held[f"{n}|{part}"] for part in parts) for n in names}
    else:
        known = stored(folder)
    multiplied = {}
    for name, (whole, zero, scale, turned) in known.items():
        value = (whole.astype(np.float32) - zero.astype(np.float32)) * scale.astype(np.float32)
        multiplied[name] = value.T if turned else value
    return multiplied


def bert(folder: Path, *, pairs: bool = False) -> tuple[Any, Any]:
    """Model and tokenizer, of BERT or MPNet; with `pairs` the head that scores a question with a passage."""
    import torch
    import transformers

    plain = {name.removeprefix("bert."): array for name, array in tensors(folder).items()}
    size = plain["embeddings.word_embeddings.weight"].shape
    layers = 1 + max(int(m[1]) for n in plain if (m := re.match(r"encoder\.layer\.(\d+)\.", n)))
    shape = {
        "vocab_size": size[0],
        "hidden_size": size[1],
        "num_hidden_layers": layers,
        "num_attention_heads": HEADS,
        "intermediate_size": plain["encoder.layer.0.intermediate.dense.bias"].shape[0],
        "max_position_embeddings": plain["embeddings.position_embeddings.weight"].shape[0],
        "num_labels": 1,
    }
    if "encoder.relative_attention_bias.weight" in plain:
        model: Any = transformers.MPNetModel(transformers.MPNetConfig(**shape))
    elif pairs:
        model = transformers.BertForSequenceClassification(transformers.BertConfig(**shape))
    else:
        model = transformers.BertModel(transformers.BertConfig(**shape))
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


def positional(model: Any) -> Any:
    """The model with its inputs in ONNX's order."""
    import torch

    class Positional(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids: Any, mask: Any, kinds: Any) -> Any:
            return self.model(input_ids=ids, attention_mask=mask, token_type_ids=kinds).logits

    return Positional().eval()
