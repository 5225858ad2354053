"""A small encoder as a file that is carried to another machine: large matrices in int8, a scale for each row."""

from __future__ import annotations

import lzma
import shutil
from pathlib import Path

import numpy as np

WEIGHTS = "model.safetensors"
_SMALL = 1 << 20


def pack(model: Path, out: Path) -> None:
    """A folder of sentence-transformers', smaller."""
    from safetensors.numpy import load_file

    held: dict[str, np.ndarray] = {}
    for name, value in load_file(model / WEIGHTS).items():
        if value.ndim == 2 and value.size > 4_096:
            scale = np.maximum(np.abs(value).max(1), 1e-12).astype(np.float32) / 127
            held[name] = np.round(value / scale[:, None]).astype(np.int8)
            held[f"{name}|scale"] = scale
        else:
            held[name] = value
    for file in (f for f in model.rglob("*") if f.suffix == ".json" and f.stat().st_size < _SMALL):
        place = out / file.relative_to(model)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
    with lzma.open(out / "weights.npz.xz", "wb") as packed:
        np.savez(packed, **held)


def unpack(packed: Path, out: Path) -> Path:
    """What `pack` made, as the folder that it was made of."""
    from safetensors.numpy import save_file

    if (out / WEIGHTS).exists():
        return out
    shutil.copytree(packed, out, ignore=shutil.ignore_patterns("weights.npz.xz"), dirs_exist_ok=True)
    with lzma.open(packed / "weights.npz.xz", "rb") as file:
        held = dict(np.load(file))
    weights = {
        name: value.astype(np.float32) * held[f"{name}|scale"][:, None] if f"{name}|scale" in held else value
        for name, value in held.items()
        if not name.endswith("|scale")
    }
    save_file(weights, out / WEIGHTS, metadata={"format": "pt"})
    return out
