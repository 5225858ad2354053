"""Every artefact in the formats that its users already have; formats are found by entry point."""

from __future__ import annotations

from pathlib import Path

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark, card_beside, with_licence
from whichone.errors import UsageError, did_you_mean
from whichone.files.folder import Folder
from whichone.files.lines import write_atomic
from whichone.report.show import folder_kind
from whichone.runs.run import Run

GROUPS = {
    "benchmark": "exports",
    "run": "run_exports",
    "answers": "answer_exports",
    "knowledge base": "knowledge_exports",
}


def export(folder: str, out: str | Path, form: str, benchmark: str | None = None) -> dict[str, int]:
    """Write the folder to `out`; how many records each file contains."""
    kind = folder_kind(folder)
    if kind not in GROUPS:
        raise UsageError(f"a {kind} has no other format", where=folder)
    known = registry.names(GROUPS[kind])
    if form not in known:
        raise UsageError(f"a {kind} cannot be written as {form!r}", hint=did_you_mean(form, known))
    write = registry.find(GROUPS[kind], form)
    if kind == "benchmark":
        opened = Benchmark.open(folder)
        written: dict[str, int] = write(opened, out)
        _add_card(Path(out), opened.card)
    elif kind == "run":
        written = write(Run.open(folder), out, benchmark)
    elif kind == "answers":
        written = write(folder, out, benchmark)
    else:
        written = write(folder, out)
        sources = Folder.open(folder, kind).manifest.sources
        _add_card(Path(out), with_licence(f"# {form} export of a knowledge base\n", sources))
    return written


def _add_card(out: Path, card: str) -> None:
    """How it was made, licence and attribution go with every export of texts."""
    if not (out / "README.md").exists():  # which has it
        write_atomic(card_beside(out), card.encode())
