"""Several tasks mapped in one go, and the paper's Figure 5 drawn from their accounts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whichone.errors import UsageError
from whichone.files.lines import write_atomic
from whichone.papers.kilt.convert.original import Original
from whichone.papers.kilt.mapping.map_task import BINS, Account, map_original, map_task
from whichone.papers.kilt.mapping.plan import MapPlan
from whichone.report.page import PALETTE, Figure, drawing, finish


def map_tasks(
    tasks: Sequence[str],
    base: str,
    out: str,
    plan: MapPlan,
    figure: str | None = None,
    original: tuple[str, Original] | None = None,
) -> list[Account]:
    """Map each task to a file of the same name in `out`, or the only one to `out` itself.

    `original` is a dataset with its files, to be converted first; all of them are one task.
    """
    one_file = out.endswith((".jsonl", ".jsonl.gz"))
    if one_file and len(tasks) > 1 and not original:
        raise UsageError("several tasks need a folder, not one file", where=out)
    if figure and Path(figure).suffix not in (".svg", ".pdf", ".png"):
        raise UsageError("a figure is .svg, .pdf or .png", where=figure)
    if original:
        if not one_file:
            raise UsageError("the files of one dataset become one .jsonl file", where=out)
        accounts = [map_original(original[0], original[1], base, out, plan)]
    else:
        accounts = [
            map_task(task, base, out if one_file else Path(out) / _name(task), plan)
            for task in tasks
        ]
    if figure:
        drawn = bleu_figure(accounts)
        content = {".svg": drawn.svg.encode(), ".pdf": drawn.pdf, ".png": drawn.png}
        write_atomic(figure, content[Path(figure).suffix])
    return accounts


def _name(task: str) -> str:
    return f"{Path(task).name.split('.')[0]}.jsonl"


def bleu_figure(accounts: Sequence[Account]) -> Figure:
    """Figure 5: how the BLEU of the evidence is distributed, one panel a task."""
    rows = (len(accounts) + 1) // 2
    columns = min(2, len(accounts))
    with drawing(rows, columns, (3.4 * columns + 0.6, 2.6 * rows)) as (figure, axes):
        places = [n / BINS for n in range(BINS)]
        for number, account in enumerate(accounts):
            axis = axes[number // columns][number % columns]
            axis.bar(places, account.histogram, width=1 / BINS, align="edge", color=PALETTE[0])
            share = f"{100 * account.discarded:.2f} % discarded"
            axis.set_title(f"{account.file}\n{account.split}: {share}", fontsize=8)
            axis.set_xlabel("BLEU")
            axis.set_ylabel("evidence")
        for number in range(len(accounts), rows * columns):
            axes[number // columns][number % columns].set_visible(False)
        return finish(figure, "bleu", "BLEU of mapped evidence (KILT, Figure 5)")
