"""Several collections as one benchmark over one corpus, such as the AmbER sets that come with whichone."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.relations import Account
from whichone.corpus.page_names import names_of_pages
from whichone.errors import UsageError
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND
from whichone.papers.amber.build import build_amber
from whichone.papers.amber.collection import PUBLISHED, Collection, load_collection
from whichone.papers.amber.corpus import Extent
from whichone.papers.amber.layout import TUPLES_FILE
from whichone.papers.amber.rules import PAPER, Rules
from whichone.papers.amber.statistics import set_statistics


def build_builtin(kb: Path, out: Path) -> Benchmark:
    """AmbER sets of the built-in world: 85 shared names, three tasks.

    Both collections are over one corpus.
    """
    with tempfile.TemporaryDirectory() as temporary:
        parts = [
            build_amber(kb, Path(temporary) / name, load_collection(name))[0] for name in PUBLISHED
        ]
        return _save(out, parts, name="builtin-amber", passages=parts[0].passages)


def build_collections(
    kb: str | Path,
    out: str | Path,
    collections: Sequence[Collection],
    rules: Rules = PAPER,
    *,
    extent: Extent = "all",
    **options: Any,
) -> tuple[Benchmark, list[Account]]:
    """One benchmark of one collection or several; `options` are those of `build_amber`."""
    if len({collection.key for collection in collections}) < len(collections):
        raise UsageError("a collection is named twice", hint="each --collection once")
    if len(collections) == 1:
        benchmark, account = build_amber(kb, out, collections[0], rules, extent=extent, **options)
        return benchmark, [account]
    with tempfile.TemporaryDirectory(dir=_beside(Path(out))) as temporary:
        built = [
            build_amber(
                kb,
                Path(temporary) / str(number),
                collection,
                rules,
                extent="none" if number and extent == "all" else extent,
                **options,
            )
            for number, collection in enumerate(collections)
        ]
        parts = [part for part, _ in built]
        queries = [query for part in parts for query in part.queries]
        benchmark = _save(
            out,
            parts,
            name=f"amber-{'-'.join(collection.key for collection in collections)}",
            passages=_passages(parts) if extent == "sets" else parts[0].passages,
            names=names_of_pages(Folder.open(kb, KIND)),
            counts={
                **set_statistics([s for part in parts for s in part.sets], queries),
                "collections": {part.name: part.folder.manifest.counts for part in parts},
            },
            files={TUPLES_FILE: b"".join(p.folder.path(TUPLES_FILE).read_bytes() for p in parts)},
        )
    return benchmark, [account for _, account in built]


def _save(out: str | Path, parts: Sequence[Benchmark], **options: Any) -> Benchmark:
    manifests = [part.folder.manifest for part in parts]
    cut = {"corpus": manifests[0].parameters["corpus"]}
    options.setdefault("counts", {"sets": sum(len(part.sets) for part in parts)})
    return save_benchmark(
        out,
        queries=[query for part in parts for query in part.queries],
        sets=[name_set for part in parts for name_set in part.sets],
        card="\n".join(part.card for part in parts),
        parameters={m.name: {**m.parameters, **cut} for m in manifests},
        sources=manifests[0].sources,
        parents=manifests[0].parents,
        **options,
    )


def _passages(parts: Sequence[Benchmark]) -> pa.Table:
    """The passages of all, each once."""
    table = pa.concat_tables([part.passages for part in parts])
    _, first = np.unique(table["id"].to_numpy(zero_copy_only=False), return_index=True)
    return table.take(np.sort(first))


def _beside(out: Path) -> Path:
    """Where parts are built: on the disk that the whole goes to."""
    out.parent.mkdir(parents=True, exist_ok=True)
    return out.parent
