"""A sample of a knowledge base's entities by popularity: the grey points of AmbER's Figure 2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import UsageError, WhichoneError
from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import KIND

MOST = 100_000
"""As many as the paper draws."""


def popularity_sample(
    place: str | Path, *, most: int = MOST, seed: int = 0
) -> npt.NDArray[np.float64]:
    """Views of entities that have a page with views, the most popular first."""
    base = Folder.open(place, KIND)
    views = base.table("views", ["title", "views"])
    if not len(views):
        raise UsageError(
            f"{place} has no page views, so nothing says how popular its entities are",
            hint="whichone ingest ... --views FILE",
        )
    entities = base.table("entities", ["entity", "title"])
    titles = entities.filter(pc.is_valid(entities["title"])).select(["title"])
    summed = views.group_by("title").aggregate([("views", "sum")])
    joined: pa.Table = titles.join(summed, "title", join_type="inner")
    values = joined["views_sum"].to_numpy().astype(np.float64)
    values = np.sort(values[values > 0])
    if len(values) > most:
        values = np.sort(np.random.default_rng(seed).choice(values, most, replace=False))
    return values[::-1]


def knowledge_beside(benchmark: Benchmark) -> Path | None:
    """The knowledge base that a benchmark was built from, where it is stored beside it."""
    place = benchmark.folder.root.parent / "kb"
    try:
        known = Folder.open(place, KIND).content_hash
    except WhichoneError:
        return None
    return place if known == benchmark.folder.manifest.parents.get("knowledge base") else None
