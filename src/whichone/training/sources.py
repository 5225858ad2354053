"""What a user names as training data: benchmarks, knowledge bases, and the files of the papers.

A folder is a benchmark, a knowledge base (EntityQuestions are built of it) or a paper's own. A file's
first records say what it is: our examples, DPR's training json, or what a paper offers to read
(`SOURCES`). Papers' files contain no passages, so they need a corpus.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark, over_corpus
from whichone.benchmarks.benchmark_tables import KIND as BENCHMARK
from whichone.corpus.corpus import Corpus as Passages
from whichone.corpus.cut import Cut
from whichone.corpus.make import make_corpus
from whichone.errors import BadInput, Missing, UsageError
from whichone.files.folder import file_hash, folder_kinds
from whichone.files.lines import open_binary
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.progress import talk
from whichone.runs.run import open_corpus
from whichone.training.examples import Example, each_dpr, each_example

EXAMPLES, DPR = "examples", "DPR's json"
_HEAD = 1 << 20


class Corpus(msgspec.Struct, frozen=True):
    """Where the pages are that a question file speaks of: passages, a knowledge base or a corpus folder."""

    passages: str | None = None
    knowledge: str | None = None
    folder: str | None = None

    def check(self) -> None:
        if self.passages and self.knowledge:
            raise UsageError("give a knowledge base or passages, not both")
        if self.folder and (self.passages or self.knowledge):
            raise UsageError("give --corpus, or --passages or --knowledge to make one of")


class TrainingSource(Protocol):
    """A paper's question files as training data."""

    title: str
    """What users call the files."""

    def reads(self, head: bytes) -> bool:
        """Whether a file that begins so is one of them."""
        ...

    def reads_folder(self, folder: Path) -> bool:
        """Whether a folder that is none of ours has such files in it."""
        ...

    def benchmark(
        self, source: Path, files: Sequence[Path], corpus: Corpus, work: Path, place: Path
    ) -> Benchmark:
        """The questions as a benchmark at `place`, over the corpus that all sources share (`given_corpus`)."""
        ...


def _offered() -> dict[str, TrainingSource]:
    sources: list[TrainingSource] = [kind() for kind in registry.every("sources").values()]
    return {source.title: source for source in sources}


def kind_of(source: str | Path) -> str:
    """What a source is, recognised by its manifest or its first record."""
    place = Path(source)
    if str(source).startswith("builtin/") and not place.exists():
        return BENCHMARK
    if not place.exists():
        raise Missing("there is no such file or folder", where=str(source))
    if place.is_dir():
        held = dict(folder_kinds(place)).get(place)
        if held in (BENCHMARK, KNOWLEDGE_BASE):
            return held
        if held is None and not (place / ".partial").exists():
            for title, offered in _offered().items():
                if offered.reads_folder(place):
                    return title
        return BENCHMARK  # whose opening says what is wrong with it
    with open_binary(place) as file:
        head = file.read(_HEAD)
    for kind, marks in (
        (DPR, (b'"positive_ctxs"', b'"question"')),
        (EXAMPLES, (b'"positive"', b'"question"')),
    ):
        if all(mark in head for mark in marks):
            return kind
    for title, offered in _offered().items():
        if offered.reads(head):
            return title
    raise BadInput(
        "this is no training data that is known here",
        file=place,
        hint="a benchmark, a knowledge base, examples.jsonl of a training, DPR's json,"
        " a KILT .jsonl with outputs, or EntityQuestions .json",
    )


def file_examples(source: str | Path) -> Iterator[Example] | None:
    """Examples of a file that contains its passages itself; None for anything else."""
    kind = kind_of(source)
    if kind == EXAMPLES:
        return each_example(source)
    return each_dpr(source) if kind == DPR else None


def source_benchmark(source: str | Path, corpus: Corpus, work: Path) -> Benchmark:
    """The benchmark that a source is or becomes; what was made once is in `work`."""
    kind = kind_of(source)
    if kind == BENCHMARK:
        return Benchmark.open(source)
    if kind == KNOWLEDGE_BASE:
        place = _place(work, kind, [Path(source) / "manifest.json"])
        if not place.exists():
            talk(f"{source}: building EntityQuestions of the knowledge base")
            registry.find("training_builds", "knowledge base")(source, place)
        return Benchmark.open(place)
    _need_corpus(source, kind, corpus)
    files = [Path(source)] if Path(source).is_file() else sorted(Path(source).rglob("*.json*"))
    place = _place(work, kind, [*files, *_files_of(corpus)])
    if place.exists():
        return Benchmark.open(place)
    with over_corpus(shared_corpus(corpus, work)):
        return _offered()[kind].benchmark(Path(source), files, corpus, work, place)


def shared_corpus(corpus: Corpus, work: Path) -> Passages:
    """The one corpus that the questions of all sources are asked of; what was made once is in `work`."""
    if corpus.folder:
        return open_corpus(corpus.folder)
    made_of = corpus.passages or corpus.knowledge or ""
    place = _place(work, "corpus", _files_of(corpus))
    if (place / "manifest.json").exists():
        return Passages.open(place)
    talk(f"{made_of}: made into a corpus for all sources")
    return make_corpus(made_of, place, cut=Cut(way="words", size=100))


def _files_of(corpus: Corpus) -> list[Path]:
    if corpus.passages:
        return [Path(corpus.passages)]
    return [Path(corpus.folder or corpus.knowledge or "") / "manifest.json"]


def _need_corpus(source: str | Path, kind: str, corpus: Corpus) -> None:
    corpus.check()
    if not (corpus.passages or corpus.knowledge or corpus.folder):
        raise UsageError(
            f"a file of {kind} contains questions, not passages",
            where=str(source),
            hint="name the corpus: --corpus CORPUS, --passages FILE (.jsonl, .tsv, BEIR) or --knowledge KB",
        )


def _place(work: Path, kind: str, files: Sequence[Path]) -> Path:
    """A folder that only what it is made of decides."""
    digest = hashlib.sha256(kind.encode())
    for named in files:
        for file in [named] if named.is_file() else sorted(named.glob("corpus.jsonl*")):
            digest.update(f"{file.name}\0{_hash(file)}\0".encode())
    work.mkdir(parents=True, exist_ok=True)
    return work / digest.hexdigest()[:12]


def _hash(file: Path) -> str:
    state = file.stat()
    return _hash_of(file, state.st_mtime_ns, state.st_size)


@functools.cache
def _hash_of(file: Path, changed: int, size: int) -> str:
    """Of a large file of passages, which every source names, once."""
    return file_hash(file)
