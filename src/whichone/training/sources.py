"""What a user names as training data: benchmarks, knowledge bases, and the files of the papers.

A folder is a benchmark, a knowledge base (EntityQuestions are built of it) or EntityQuestions' own. A
file is told by its first record: our examples, DPR's training json, a KILT file, or EntityQuestions.
The last two hold no passages, so they need a corpus.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.tables import KIND as BENCHMARK
from whichone.errors import BadInput, Missing, UsageError
from whichone.files.folder import file_hash, folder_kinds
from whichone.files.lines import open_binary
from whichone.knowledge.tables import KIND as KNOWLEDGE_BASE
from whichone.progress import talk
from whichone.training.examples import Example, read_dpr, read_examples

EXAMPLES, DPR, KILT, ENTITYQUESTIONS = "examples", "DPR's json", "KILT", "EntityQuestions"
_HEAD = 1 << 20


class Corpus(msgspec.Struct, frozen=True):
    """Where the pages are that a question file speaks of."""

    passages: str | None = None
    knowledge: str | None = None

    def check(self) -> None:
        if self.passages and self.knowledge:
            raise UsageError("give a knowledge base or passages, not both")


def kind_of(source: str | Path) -> str:
    """What a source is, told by its manifest or its first record."""
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
            return ENTITYQUESTIONS
        return BENCHMARK  # whose opening says what is wrong with it
    with open_binary(place) as file:
        head = file.read(_HEAD)
    for kind, marks in (
        (DPR, (b'"positive_ctxs"', b'"question"')),
        (EXAMPLES, (b'"positive"', b'"question"')),
        (KILT, (b'"id"', b'"output"')),
        (ENTITYQUESTIONS, (b'"question"', b'"answers"')),
    ):
        if all(mark in head for mark in marks):
            return kind
    raise BadInput(
        "this is no training data that is known here",
        file=place,
        hint="a benchmark, a knowledge base, examples.jsonl of a training, DPR's json,"
        " a KILT .jsonl with outputs, or EntityQuestions .json",
    )


def file_examples(source: str | Path) -> list[Example] | None:
    """Examples of a file that holds its passages itself; None for anything else."""
    kind = kind_of(source)
    if kind == EXAMPLES:
        return read_examples(source)
    return read_dpr(source) if kind == DPR else None


def source_benchmark(source: str | Path, corpus: Corpus, work: Path) -> Benchmark:
    """The benchmark that a source is or becomes; what was made once lies in `work`."""
    kind = kind_of(source)
    if kind == BENCHMARK:
        return Benchmark.open(source)
    if kind == KNOWLEDGE_BASE:
        place = _place(work, kind, [Path(source) / "manifest.json"])
        if not place.exists():
            from whichone.papers.entityquestions.build import build_entityquestions

            talk(f"{source}: building EntityQuestions of the knowledge base")
            build_entityquestions(source, place)
        return Benchmark.open(place)
    _need_corpus(source, kind, corpus)
    files = [Path(source)] if Path(source).is_file() else sorted(Path(source).rglob("*.json*"))
    held = corpus.passages or str(Path(corpus.knowledge or "") / "manifest.json")
    place = _place(work, kind, [*files, Path(held)])
    if place.exists():
        return Benchmark.open(place)
    return _imported(source, kind, files, corpus, work, place)


def _need_corpus(source: str | Path, kind: str, corpus: Corpus) -> None:
    corpus.check()
    if not (corpus.passages or corpus.knowledge):
        raise UsageError(
            f"a file of {kind} holds questions, not passages",
            where=str(source),
            hint="name the corpus: --passages FILE (.jsonl, .tsv, BEIR) or --knowledge KB",
        )


def _imported(
    source: str | Path, kind: str, files: Sequence[Path], corpus: Corpus, work: Path, place: Path
) -> Benchmark:
    if kind == KILT:
        from whichone.papers.kilt.import_files import Plan, import_kilt

        return import_kilt(files, place, Plan(passages=corpus.passages, knowledge=corpus.knowledge))
    from whichone.benchmarks.published_questions import import_published
    from whichone.corpus.cut.cut import write_passages
    from whichone.papers.entityquestions.files import read_questions

    passages = corpus.passages
    if passages is None:
        passages = str(work / "passages.jsonl.gz")
        write_passages(corpus.knowledge or "", passages)
    return import_published(
        read_questions(source),
        passages,
        place,
        name="entityquestions",
        files=files,
        about="EntityQuestions as released, to learn from.",
    )


def _place(work: Path, kind: str, files: Sequence[Path]) -> Path:
    """A folder that only what it is made of decides."""
    digest = hashlib.sha256(kind.encode())
    for named in files:
        for file in [named] if named.is_file() else sorted(named.glob("corpus.jsonl*")):
            digest.update(f"{file.name}\0{file_hash(file)}\0".encode())
    work.mkdir(parents=True, exist_ok=True)
    return work / digest.hexdigest()[:12]
