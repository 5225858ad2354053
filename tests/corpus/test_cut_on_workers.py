"""Pages cut by row groups, as the workers of a cluster do it: the same passages in the same order."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from whichone.benchmarks.by_name import builtin_knowledge_base
from whichone.corpus.cut import Cut, cut_batches, cut_group, cut_on_workers
from whichone.corpus.page_names import names_of_pages
from whichone.files import tables
from whichone.files.folder import Folder
from whichone.knowledge.engines import opened_engine
from whichone.knowledge.knowledge_tables import KIND
from whichone.options import EngineOptions


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The built-in world in row groups of 50 pages, two in a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "ROW_GROUP", 50)
        patch.setattr(tables, "PART", 100)
        return Folder.open(builtin_knowledge_base(tmp_path_factory.mktemp("world")), KIND)


@pytest.mark.parametrize("some", [False, True], ids=["all pages", "some pages"])
def test_the_same_passages(kb: Folder, some: bool) -> None:
    only = frozenset(kb.table("pages", ["page"])["page"].to_pylist()[30:300:7]) if some else None
    cut, read = Cut(size=20), []
    with opened_engine(kb, EngineOptions(memory="1GB")) as engine:
        engine.release()
        work = partial(cut_group, cut, only, "article")
        batches = list(cut_on_workers(engine, kb, work, read.append))
        left = list(engine.scratch.iterdir())
    rows = [row for batch in batches for row in batch.to_pylist()]
    expected = [row for batch in cut_batches(kb, cut, only=only, kind="article") for row in batch.to_pylist()]
    assert rows == expected
    assert rows
    assert sum(read) == kb.rows("pages")
    assert read[0] == 50
    assert not left


def test_the_same_names(kb: Folder) -> None:
    with opened_engine(kb, EngineOptions(memory="1GB")) as engine:
        engine.shared = True
        counted = sorted(names_of_pages(kb, engine=engine), key=repr)
    assert counted == sorted(names_of_pages(kb), key=repr)
    assert len(counted) > 100


def test_a_group_without_pages_that_are_wanted(kb: Folder, tmp_path: Path) -> None:
    with opened_engine(kb, EngineOptions(memory="1GB")) as engine:
        work = partial(cut_group, Cut(), frozenset(), None)
        batches = list(cut_on_workers(engine, kb, work, lambda read: None))
    assert sum(batch.num_rows for batch in batches) == 0
