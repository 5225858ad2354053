"""What changes a system's numbers beside its options: who wrote it, at which commit, and with which weights."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whichone.files.folder import file_hash
from whichone.files.manifest import MANIFEST
from whichone.records import Query


def identified(system: object, description: Mapping[str, Any]) -> dict[str, Any]:
    """A description with the plugin's version and commit, and the hashes of local models that it names."""
    identity = dict(description)
    if plugin := plugin_of(system):
        identity["plugin"] = plugin
    hashes = dict(_local_models(description))
    if hashes:
        identity["model_hashes"] = hashes
    return identity


def plugin_of(system: object) -> dict[str, str]:
    """Package, version and commit of a system that is not whichone's own; empty for whichone's and for loose code."""
    own = getattr(system, "own_code", system)
    module = str(getattr(own, "__module__", "") or type(own).__module__)
    top = module.partition(".")[0]
    if top in ("whichone", "builtins", "__main__"):
        return {}
    distribution = _distribution_with(top, tuple(map(str, sys.path)))
    if distribution is None:
        return {}
    identity = {"package": distribution.name, "version": distribution.version}
    return {**identity, **_commit(distribution)}


@cache
def _distribution_with(package: str, path: tuple[str, ...]) -> metadata.Distribution | None:
    """Which installed distribution a package came with; looked up once, as all distributions have to be read.

    As `packages_distributions` says, which takes a second for the files of all distributions.
    """
    recorded = re.compile(rf"^{re.escape(package)}(/|\.py,|\.([^/,]+\.)?(so|pyd),)", re.M)
    for distribution in metadata.distributions(path=list(path)):
        listed = (distribution.read_text("top_level.txt") or "").split()
        if listed and package not in listed:
            continue
        if listed or recorded.search(distribution.read_text("RECORD") or ""):
            return distribution
    return None


def _commit(distribution: metadata.Distribution) -> dict[str, str]:
    """From what pip wrote at installation; of an editable installation from its git checkout."""
    text = distribution.read_text("direct_url.json")
    if not text:
        return {}
    origin = msgspec.json.decode(text)
    if commit := origin.get("vcs_info", {}).get("commit_id"):
        return {"commit": str(commit)}
    url = str(origin.get("url", ""))
    if not url.startswith("file://"):
        return {}
    folder = url.removeprefix("file://")
    head = _git(folder, "rev-parse", "HEAD")
    if not head:
        return {}
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": f"{head}+changes" if changed else head}


def _git(folder: str, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", folder, *words], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


_MODEL_FILES = ("*.safetensors", "*.bin", "*.onnx", "*.pt", "*.gguf")


def _local_models(description: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Options that name a folder or file with weights, unless the description has their hash already."""
    hashed = "weights" in description
    for key, value in description.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{name}", identity) for name, identity in _local_models(value))
        elif isinstance(value, str) and value and not hashed and _has_weights(Path(value)):
            yield key, model_hash(Path(value))


def _has_weights(path: Path) -> bool:
    try:
        if path.is_file():
            return any(path.match(pattern) for pattern in _MODEL_FILES)
        return path.is_dir() and any(True for p in _MODEL_FILES for _ in path.rglob(p))
    except OSError:
        return False


def model_hash(path: Path) -> str:
    """Of a file, of a folder's manifest, or of the names and hashes of all files with weights."""
    if path.is_file():
        return file_hash(path)[:16]
    if (path / MANIFEST).exists():
        return file_hash(path / MANIFEST)[:16]
    files = sorted({f for pattern in _MODEL_FILES for f in path.rglob(pattern)})
    text = "\n".join(f"{f.relative_to(path)} {file_hash(f)}" for f in files)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def drawn(queries: Sequence[Query], limit: int, seed: int = 0) -> frozenset[str]:
    """So many questions of a seeded draw of names: all tasks of a name, one name after the other.

    The first questions of a file are those of one task, or of the most popular names.
    """
    groups: dict[str, list[str]] = {}
    for query in queries:
        groups.setdefault(query.name_set or query.name or query.entity or query.id, []).append(
            query.id
        )
    names = sorted(groups)
    order = np.random.default_rng(seed).permutation(len(names))
    chosen: list[str] = []
    for place in order:
        chosen += groups[names[place]]
        if len(chosen) >= limit:
            break
    return frozenset(chosen[:limit])
