"""A corpus of its own: what is stored, how it is found, that equal content is one corpus."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.corpus.corpus import Corpus, find_corpus
from whichone.corpus.page_names import Named, names_in_first_sentence
from whichone.corpus.save import put_corpus, save_corpus
from whichone.errors import BadInput, BrokenFolder, Missing
from whichone.files import mapped
from whichone.files.manifest import read_manifest
from whichone.files.mapped import MappedTable, write_mapped
from whichone.records import Output, Passage, Provenance, Query

TEXTS = {
    "w:1": ("Bill Evans (pianist)", ['William "Bill" Evans was an American pianist.', "He played."]),
    "w:2": ("Bill Evans (saxophonist)", ["Bill Evans (born 1958) is a saxophonist."]),
    "w:3": ("Bob Dylan", ["Bob Dylan, born Robert Allen Zimmerman, is a singer known as The Bard."]),
}


def passages() -> list[Passage]:
    return [
        Passage(id=f"{page}#{n}", page=page, title=title, text=text, source_id=f"own-{page}-{n}")
        for page, (title, texts) in TEXTS.items()
        for n, text in enumerate(texts)
    ]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    names = [("w:3", Named("Dylan", "anchor", 7)), ("w:9", Named("Nobody", "redirect"))]
    return save_corpus(tmp_path / "corpus", passages(), name="songs", names=names)


def test_passages_are_found_by_id_by_page_and_by_their_own_id(corpus: Corpus) -> None:
    assert len(corpus) == 4
    assert corpus.page_count == 3
    assert corpus.rows(["w:1#1", "w:3#0", "w:1#2", "w:1", "nothing"]) == [1, 3, None, None, None]
    assert corpus.passages_of("w:1") == ["w:1#0", "w:1#1"]
    assert corpus.passages_of("w:9") == []
    assert corpus.by_source_id(["own-w:2-0", "own"]) == [2, None]
    assert corpus.has("w:2") and corpus.has("w:2#0") and not corpus.has("w:2#1")
    assert corpus.get(["w:3#0", "gone", "w:1#1"])["w:1#1"].text == "He played."
    assert list(corpus.passage_records()) == passages()
    assert corpus.title("w:3") == "Bob Dylan"


def test_names_point_at_pages(corpus: Corpus) -> None:
    def pages(name: str) -> list[tuple[int, str, int]]:
        return [(b.page, b.kind, b.count) for b in corpus.names.bearers(name)]

    assert pages("bill  EVANS") == [(0, "title", 1), (1, "title", 1)]
    assert pages("William Evans") == [(0, "first sentence", 1)]
    assert pages("Dylan") == [(2, "anchor", 7)]
    assert pages("Robert Allen Zimmerman") == [(2, "first sentence", 1)]
    assert pages("The Bard") == [(2, "first sentence", 1)]
    assert pages("Nobody") == []  # its page is not in the corpus


def test_a_corpus_in_memory_answers_as_the_one_on_disk(corpus: Corpus) -> None:
    held = Corpus.of_table(corpus.passages, hash="h")
    assert held.rows(["w:1#1", "w:2#0", "x"]) == [1, 2, None]
    assert held.by_source_id(["own-w:3-0"]) == [3]
    assert [b.page for b in held.names.bearers("Bill Evans")] == [0, 1]
    assert held.titles() == corpus.titles()


def test_equal_content_is_one_corpus_wherever_it_is(corpus: Corpus, tmp_path: Path) -> None:
    again = save_corpus(
        tmp_path / "again", reversed(passages()), name="other", names=[("w:3", Named("Dylan", "anchor", 7))]
    )  # fmt: skip
    assert again.hash == corpus.hash
    put_corpus(corpus, tmp_path / "linked")
    linked = Corpus.open(tmp_path / "linked")
    assert linked.hash == corpus.hash
    linked_file = tmp_path / "linked" / "passages.arrow"
    assert linked_file.samefile(tmp_path / "corpus" / "passages.arrow")


def test_a_corpus_is_found_by_its_hash(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_corpus(corpus.hash).hash == corpus.hash
    with pytest.raises(Missing, match="is not where it was"):
        find_corpus("0" * 64, tmp_path / "nowhere")
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "empty"))
    assert find_corpus(corpus.hash, tmp_path / "corpus").hash == corpus.hash


def test_passages_out_of_order_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    mixed = corpus.passages.take([0, 2, 1, 3]).to_reader()
    with pytest.raises(BadInput, match="not in the order of their pages"):
        save_corpus(tmp_path / "mixed", mixed)
    assert not (tmp_path / "mixed").exists()


def test_rows_are_taken_across_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "BATCH", 4)
    table = pa.table({"n": pa.array(range(11), pa.int64()), "t": [str(n) for n in range(11)]})
    assert write_mapped(tmp_path / "t.arrow", table.to_batches(3), table.schema) == 11
    read = MappedTable.open(tmp_path / "t.arrow")
    assert read.take([9, 0, 4, 4, 3], ["t"])["t"].to_pylist() == ["9", "0", "4", "4", "3"]
    assert read.slice(2, 5, ["n"])["n"].to_pylist() == [2, 3, 4, 5, 6]
    assert [read.value(n, "n") for n in (0, 3, 4, 10)] == [0, 3, 4, 10]
    assert read.strings([10, 0, 5], "t") == ["10", "0", "5"]
    assert [read.number(n, "n") for n in (7, 0)] == [7, 0]
    assert len(read) == 11
    assert read.table().equals(table)


@pytest.mark.parametrize("kept", [0, 100])
def test_a_table_that_ends_too_early_is_named(tmp_path: Path, kept: int) -> None:
    table = pa.table({"t": ["a", "b"]})
    write_mapped(tmp_path / "t.arrow", table.to_batches(), table.schema)
    whole = (tmp_path / "t.arrow").read_bytes()
    (tmp_path / "t.arrow").write_bytes(whole[:kept])
    with pytest.raises(BrokenFolder, match=r"t\.arrow: not a readable Arrow table"):
        MappedTable.open(tmp_path / "t.arrow")


def test_equal_rows_give_equal_bytes(tmp_path: Path) -> None:
    whole = pa.table({"t": ["a", None, "ccc", "", "e"] * 9, "n": list(range(45))})
    pieces = [whole.slice(0, 7), whole.slice(7, 30), whole.slice(37)]
    write_mapped(tmp_path / "one", whole.to_batches(), whole.schema)
    write_mapped(tmp_path / "two", [b for p in pieces for b in p.to_batches()], whole.schema)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    ("title", "text", "names"),
    [
        ("Marilyn Monroe", "Marilyn Monroe (born Norma Jeane Mortenson; June 1, 1926) was an actress.",
         ["Marilyn Monroe", "Norma Jeane Mortenson"]),
        ("Prince (musician)", "Prince Rogers Nelson, known simply as Prince, was a musician.",
         ["Prince Rogers Nelson", "Prince"]),
        ("1989 Tour", "The season was long. Known as Bob.", []),
        ("Ada Park", "Ada Park works in Leeds, in Payroll.", []),
        ("Ada Park", "Ada Park of Leeds, a clerk.", ["Ada Park of Leeds"]),
        ("Paris", "", []),
    ],
)  # fmt: skip
def test_first_sentences_name_their_subject(title: str, text: str, names: list[str]) -> None:
    assert list(names_in_first_sentence(title, text)) == names


def test_a_killed_writer_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from whichone.corpus import save

    whole = save_corpus(tmp_path / "whole", passages(), name="songs")
    origin = {"file": "songs.tsv", "bytes": 17}

    def killed(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(save, "write_names", killed)
        with pytest.raises(KeyboardInterrupt):
            save_corpus(tmp_path / "corpus", passages(), origin=origin)
    assert (tmp_path / "corpus" / ".partial" / "passages.arrow").exists()

    def unread() -> pa.RecordBatchReader:
        def fails() -> object:
            raise AssertionError("complete passages are read again")
            yield

        return pa.RecordBatchReader.from_batches(whole.passages.schema, fails())

    again = save_corpus(tmp_path / "corpus", unread(), origin=origin)
    assert again.hash == whole.hash


def test_work_of_another_origin_is_not_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from whichone.corpus import save

    def killed(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(save, "write_names", killed)
        with pytest.raises(KeyboardInterrupt):
            save_corpus(tmp_path / "corpus", passages()[:2], origin={"file": "a"})
    assert len(save_corpus(tmp_path / "corpus", passages(), origin={"file": "b"})) == 4


def test_texts_are_opened_when_a_passage_is_asked_for(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: list[str] = []
    opened = MappedTable.open

    def noted(path: Path, compare: Any = None) -> MappedTable:
        files.append(path.name)
        return opened(path, compare)

    monkeypatch.setattr(MappedTable, "open", noted)
    corpus = Corpus.open(tmp_path / "corpus")
    assert (len(corpus), corpus.page_row("w:2"), corpus.title("w:2")[:4]) == (4, 1, "Bill")
    assert files == ["pages.arrow"]
    assert corpus.passages_of("w:2") == ["w:2#0"]
    assert files == ["pages.arrow", "passages.arrow"]


class Builder:
    """Saves benchmarks over the same passages, and notes which of them read these."""

    def __init__(self, place: Path) -> None:
        self.place, self.read = place, list[str]()
        self.meanwhile: Thread | None = None

    def save(self, name: str, origin: Mapping[str, Any] | None) -> Benchmark:
        gold = Output(answer="jazz", provenance=((Provenance(page="w:1"),),))
        query = Query(id="q", task="qa", input="What did Bill Evans play?", outputs=(gold,))
        passages = self._passages(name)
        return save_benchmark(self.place / name, name=name, queries=[query], passages=passages, origin=origin)

    def _passages(self, name: str) -> Iterator[Passage]:
        self.read.append(name)
        if self.meanwhile is not None and not self.meanwhile.is_alive():
            self.meanwhile.start()
            self.meanwhile.join(0.5)  # as far as it gets
        yield from passages()


def test_what_is_made_of_the_same_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    builder, origin = Builder(tmp_path), {"knowledge base": "1"}
    asked = [("a", origin), ("b", origin), ("c", {"knowledge base": "2"}), ("d", None)]
    made = [builder.save(name, of) for name, of in asked]
    assert builder.read == ["a", "c", "d"]
    assert len({benchmark.corpus.hash for benchmark in made}) == 1
    assert [benchmark.corpus.name for benchmark in made] == ["a", "b", "c", "d"]
    assert (tmp_path / "a/corpus/names.arrow").samefile(tmp_path / "b/corpus/names.arrow")
    one, linked = (read_manifest(tmp_path / name / "corpus", ["corpus"]) for name in "ab")
    assert replace(one, name="b") == linked
    for benchmark in made:
        shutil.rmtree(benchmark.folder.root)
    assert builder.save("e", origin).corpus.hash == made[0].corpus.hash
    assert builder.read == ["a", "c", "d", "e"]


def test_who_makes_the_same_at_once_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    builder, origin = Builder(tmp_path), {"knowledge base": "1"}
    builder.meanwhile = Thread(target=builder.save, args=("second", origin))
    first = builder.save("first", origin)
    builder.meanwhile.join()
    assert builder.read == ["first"]
    assert Benchmark.open(tmp_path / "second").corpus.hash == first.corpus.hash


def test_without_a_cache_each_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_bytes(b"")
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    builder = Builder(tmp_path)
    for name in "ab":
        builder.save(name, {"knowledge base": "1"})
    assert builder.read == ["a", "b"]
