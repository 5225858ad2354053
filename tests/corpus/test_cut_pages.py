"""A builder's corpus: cut as it is read, in the order of its table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from whichone.benchmarks.benchmark import save_benchmark
from whichone.corpus.corpus import PASSAGES
from whichone.corpus.cut import Cut, cut_corpus, cut_passages
from whichone.files import tables
from whichone.files.folder import Folder
from whichone.files.tables import sort_rows
from whichone.knowledge.knowledge_tables import KIND, PAGES
from whichone.records import Output, Query

QUERY = Query(id="q", task="qa", input="Who?", outputs=(Output(answer="Ada"),))


@pytest.fixture
def base(tmp_path: Path) -> Folder:
    rows = [
        {
            "page": f"wiki:{n}",
            "title": f"T{n}",
            "kind": "article",
            "paragraphs": [f"T{n}", *(f"Word {i} of {n}." for i in range(n % 40))],
            "categories": [],
        }
        for n in range(3000)
    ]
    with Folder.create(tmp_path / "kb", KIND) as folder:
        folder.write(PAGES, PAGES.from_rows(rows))
        folder.commit(name="kb")
    return Folder.open(tmp_path / "kb", KIND)


@pytest.mark.parametrize("cut", [Cut(size=7), Cut(way="pages"), Cut(size=7, keep_lists=True)])
def test_what_is_cut_on_the_way_is_what_a_sorted_table_would_hold(
    base: Folder, tmp_path: Path, cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "ROW_GROUP", 1000)
    only = {f"wiki:{n}" for n in range(0, 3000, 2)}
    saved = save_benchmark(
        tmp_path / "one", name="one", queries=[QUERY], passages=cut_corpus(base, cut, only=only)
    )
    assert list(saved.passage_records()) == list(cut_passages(base, cut, only=only))
    assert sort_rows(saved.passages, PASSAGES) is saved.passages
    held = pa.Table.from_batches(cut_corpus(base, cut, only=only), PASSAGES.schema)
    again = save_benchmark(tmp_path / "two", name="one", queries=[QUERY], passages=held)
    assert again.id == saved.id


def test_pages_are_read_as_they_are_wanted(base: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted: list[int] = []

    def told(what: str, total: int, unit: str) -> Told:
        return Told(wanted, total)

    monkeypatch.setattr("whichone.corpus.cut.progress", told)
    reader = cut_corpus(base, Cut())
    assert wanted == []
    reader.read_next_batch()
    reader.read_next_batch()
    assert 0 < sum(wanted) < 3000
    reader.read_all()
    assert sum(wanted) == 3000


class Told:
    """Progress that is written down."""

    def __init__(self, wanted: list[int], total: int) -> None:
        assert total == 3000
        self.wanted = wanted

    def __enter__(self) -> object:
        return self.wanted.append

    def __exit__(self, *_: object) -> None:
        pass


def test_a_corpus_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[pa.RecordBatch]:
        yield from PASSAGES.empty().to_batches()
        raise OSError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(PASSAGES.schema, broken())
    with pytest.raises(OSError, match="the disk is gone"):
        save_benchmark(tmp_path / "bench", name="b", queries=[QUERY], passages=reader)
    assert list(tmp_path.iterdir()) == []
