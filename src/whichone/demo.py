"""The whole way on the built-in world: dumps, knowledge base, benchmark, retrievers, measures, page.

Every step can be killed and started again, and ends with the same bytes, times aside.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import KIND as BENCHMARK
from whichone.benchmarks.by_name import build_builtin, ingest_dumps
from whichone.errors import WhichoneError
from whichone.files.folder import Folder, can_go_on
from whichone.files.lines import write_atomic
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.measures.summary import SummaryRow, as_document, summarise_runs
from whichone.progress import talk
from whichone.protocols import Retriever
from whichone.report.report import make_report
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.runs.retrieve import make_retriever
from whichone.runs.run import Run
from whichone.runs.runner import run_retriever
from whichone.world.compile import compile_builtin

RETRIEVERS: dict[str, tuple[str, dict[str, str]]] = {
    "bm25": ("bm25", {}),
    "popular": ("popular", {"knowledge": "benchmark"}),
    "namesake": ("namesake", {"encoder": "none"}),
    "namesake-with-kb": ("namesake", {"encoder": "none", "knowledge": "benchmark"}),
}
"""Systems that need no extra: the retriever and its options."""
DEPTH = 20


@dataclass(frozen=True)
class Demo:
    """What a demo made and where it is stored."""

    benchmark: Benchmark
    rows: list[SummaryRow]
    page: Path

    def document(self) -> dict[str, Any]:
        return as_document(self.rows, self.benchmark)


def run_demo(out: Path) -> Demo:
    """Make everything under `out`; what is already there and whole is not made again."""
    out.mkdir(parents=True, exist_ok=True)
    can_go_on()
    talk("1/5  the built-in world, as real dumps")
    dumps = compile_builtin(out / "dumps")
    talk("2/5  a knowledge base of them")
    _unless_done(out / "kb", KNOWLEDGE_BASE, lambda: ingest_dumps(dumps, out / "kb"))
    talk("3/5  AmbER sets of it")
    _unless_done(
        out / "amber",
        BENCHMARK,
        lambda: build_builtin("builtin/amber", out / "kb", out / "amber"),
    )
    benchmark = Benchmark.open(out / "amber")
    runs = []
    for name in (*RETRIEVERS, "function"):
        talk(f"4/5  asking {name}")
        retriever = _retriever(name, benchmark, out / "indexes")
        runs.append(_run(retriever, benchmark, out / "runs" / name, name))
    talk("5/5  the page")
    demo = Demo(benchmark, summarise_runs(runs, benchmark), out / "report.html")
    document = msgspec.json.format(msgspec.json.encode(demo.document()), indent=2) + b"\n"
    summary = out / "demo.json"  # written last, so that the page is whole where it is there
    if not (demo.page.exists() and summary.exists() and summary.read_bytes() == document):
        make_report([run.path for run in runs], demo.page, benchmark=str(out / "amber"))
        write_atomic(summary, document)
    return demo


def _unless_done(path: Path, kind: str, make: Callable[[], object]) -> None:
    try:
        Folder.open(path, kind).verify()
    except WhichoneError:
        make()


def _retriever(name: str, benchmark: Benchmark, work: Path) -> Retriever:
    if name == "function":
        return FunctionRetriever(word_overlap(benchmark), name="function")
    retriever, options = RETRIEVERS[name]
    return make_retriever(retriever, benchmark, work, dict(options))


def _run(retriever: Retriever, benchmark: Benchmark, path: Path, name: str) -> Run:
    return run_retriever(retriever, benchmark, path, k=DEPTH, name=name)


def word_overlap(benchmark: Benchmark) -> Callable[[str, int], list[tuple[str, float]]]:
    """A search function as a user might write it: passages by how many of the question's words they hold."""
    words = re.compile(r"\w+")
    bags = [
        (passage.id, frozenset(words.findall(f"{passage.title} {passage.text}".lower())))
        for passage in benchmark.passage_records()
    ]

    def search(text: str, k: int) -> list[tuple[str, float]]:
        wanted = frozenset(words.findall(text.lower()))
        scored = [(passage, len(wanted & bag) / (1 + len(bag)) ** 0.5) for passage, bag in bags]
        return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:k]

    return search
