"""A knowledge base whose tables are in many files: everything that reads it gets the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from whichone.benchmarks.by_name import builtin_knowledge_base
from whichone.benchmarks.catalogue_questions import read_namesakes
from whichone.corpus.cut import cut_passages
from whichone.corpus.page_names import names_of_pages
from whichone.files import tables as files_tables
from whichone.files.folder import Folder
from whichone.knowledge import knowledge_tables
from whichone.knowledge.engines import KNOWLEDGE, open_tables
from whichone.knowledge.formats.kilt_source import kilt_records
from whichone.knowledge.lookup import Lookup


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Folder, Folder]]:
    """The built-in world in one file a table, and in files of 400 rows."""
    whole = builtin_knowledge_base(tmp_path_factory.mktemp("whole"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files_tables, "ROW_GROUP", 200)
        patch.setattr(files_tables, "PART", 400)
        cut = builtin_knowledge_base(tmp_path_factory.mktemp("cut"))
    yield Folder.open(whole, knowledge_tables.KIND), Folder.open(cut, knowledge_tables.KIND)


def test_many_files(bases: tuple[Folder, Folder]) -> None:
    whole, cut = bases
    assert len(whole.parts("names")) == 1
    assert len(cut.parts("names")) == -(-whole.rows("names") // 400) > 3
    cut.verify()
    for schema in knowledge_tables.ALL:
        assert cut.rows(schema.name) == whole.rows(schema.name)
        assert cut.table(schema.name).equals(whole.table(schema.name))


def bearers(kb: Folder) -> list[Any]:
    lookup = Lookup.open(kb.root)
    return [lookup.bearers(row["name"]) for row in kb.table("names").slice(0, 50).to_pylist()]


def names(kb: Folder) -> list[Any]:
    return sorted(names_of_pages(kb), key=repr)  # they come in any order and are sorted in a corpus


def relations(kb: Folder) -> list[int]:
    with open_tables(kb) as opened:
        return [opened.engine.value(getattr(opened, name).count()) for name in KNOWLEDGE]


@pytest.mark.parametrize(
    "read", [cut_passages, kilt_records, names, read_namesakes, bearers, relations], ids=lambda f: f.__name__
)
def test_readers_get_the_same(bases: tuple[Folder, Folder], read: Any) -> None:
    whole, cut = (list(read(kb)) for kb in bases)
    assert whole
    assert cut == whole
