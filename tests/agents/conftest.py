"""A scripted server, small worlds and a cache of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from answering import own_cache, serve, toy, toy_ambigdocs

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query, page_id, passage_id

__all__ = ["own_cache", "serve", "toy", "toy_ambigdocs"]


@pytest.fixture
def two_adas(tmp_path: Path) -> Benchmark:
    """Two people of one name and a question about each: one is in Leeds, one in Turin."""
    cities = {"1": "Leeds", "2": "Turin"}
    pages = {key: page_id("staff", key) for key in cities}
    bearers = tuple(Bearer(entity=f"staff:{key}", label="Ada Park", pages=(page,)) for key, page in pages.items())  # fmt: skip
    queries = [
        Query(
            id=f"q{key}", task="qa", input=f"Where is Ada Park, desk D{key}?", name="Ada Park",
            name_set="ada", entity=f"staff:{key}", relation="city",
            outputs=(Output(answer=city, provenance=((Provenance(page=pages[key]),),)),),
        )
        for key, city in cities.items()
    ]  # fmt: skip
    passages = [
        Passage(id=passage_id(page, 0), page=page, title="Ada Park", text=f"In {cities[key]}.")
        for key, page in pages.items()
    ]
    sets = [NameSet(id="ada", name="Ada Park", bearers=bearers)]
    return save_benchmark(tmp_path / "adas", name="adas", queries=queries, sets=sets, passages=passages)
