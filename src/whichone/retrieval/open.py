"""Opens a finished index as the retriever that built it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichone import registry
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.retrieval.indexes import KIND


def open_index_folder(folder: str | Path, **options: Any) -> Any:
    """The retriever of an index folder; `options` are those that its kind may be opened with."""
    opened = Folder.open(folder, KIND)
    kind = registry.find("retrievers", str(opened.manifest.parameters["retriever"]))
    return kind.open(opened.root, **options)


def index_over(folder: str | Path, corpus: Corpus, **options: Any) -> Any:
    """The same, where the index must be one of this corpus."""
    opened = Folder.open(folder, KIND)
    made_of = opened.manifest.parents.get("corpus", "")
    if made_of != corpus.hash:
        raise BadInput(
            f"it is an index of another corpus ({made_of[:12] or 'unknown'}, not {corpus.hash[:12]})",
            file=opened.root,
            hint="build one of this corpus: whichone index CORPUS INDEX",
        )
    return open_index_folder(folder, **options)


def open_indexes(places: str, corpus: Corpus) -> list[tuple[str, Any]]:
    """Several index folders between commas, each with its retriever."""
    listed = [place for place in places.split(",") if place]
    if not listed:
        raise UsageError("no index is named", hint="-o first=INDEX")
    return [(place, index_over(place, corpus)) for place in listed]
