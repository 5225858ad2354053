"""Where a derived index lies: one folder for each corpus and set of parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, BrokenFolder, Missing
from whichone.files.folder import Folder


def corpus_hash(benchmark: Benchmark) -> str:
    """The hash of a benchmark's passages: what an index belongs to."""
    return benchmark.corpus.hash


def index_folder(work: Path, kind: str, parameters: Mapping[str, Any]) -> Path:
    """The place of one index; other parameters or another corpus lie in another place."""
    told = msgspec.json.encode(dict(sorted(parameters.items())))
    return work / f"{kind}-{hashlib.sha256(told).hexdigest()[:12]}"


def open_index(place: Path, kind: str, parameters: Mapping[str, Any]) -> Folder | None:
    """The finished index of these parameters, or None where it has to be made (again)."""
    try:
        folder = Folder.open(place, kind)
        folder.check()
    except (Missing, BrokenFolder):
        return None
    return folder if folder.manifest.parameters == dict(parameters) else None


def check_corpus(folder: Folder, corpus: str) -> None:
    """An index answers for the corpus it was made of, and for no other."""
    made_of = folder.manifest.parameters.get("corpus", "")
    if made_of != corpus:
        raise BadInput(
            f"it is an index of another corpus ({made_of[:12] or 'unknown'}, not {corpus[:12]})",
            file=folder.root,
            hint="name another folder with --index, or remove this one",
        )
