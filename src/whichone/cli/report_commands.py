"""`whichone demo`, `experiment`, `report` and `serve`: the whole way at once, and what came of it.

Every step of the demo can be killed and started again, and ends with the same bytes, times aside.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import click
import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import KIND as BENCHMARK
from whichone.benchmarks.by_name import build_builtin, ingest_dumps
from whichone.cli.click_options import command
from whichone.cli.printing import emit, emit_json, emit_table
from whichone.errors import BadInput, UsageError, WhichoneError, needs
from whichone.experiment.plan import ExperimentOptions
from whichone.files.folder import Folder, promise_to_go_on
from whichone.files.lines import write_atomic
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.measures.summary import DEPTH, SummaryRow, as_document, summarise_runs, table_5, table_6
from whichone.options import Argument, Json, Moved
from whichone.progress import talk
from whichone.protocols import Retriever
from whichone.report.report import ReportOptions, make_report
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.runs.retrieve import make_retriever
from whichone.runs.runner import run_retriever
from whichone.web.site_settings import SiteSettings
from whichone.world.compile import compile_builtin

# Systems that need no extra: the retriever and its options.
RETRIEVERS: dict[str, tuple[str, dict[str, str]]] = {
    "bm25": ("bm25", {}),
    "popular": ("popular", {"knowledge": "benchmark"}),
    "namesake": ("namesake", {"encoder": "none"}),
    "namesake-with-kb": ("namesake", {"encoder": "none", "knowledge": "benchmark"}),
}


@dataclass(frozen=True)
class Demo:
    """What a demo made and where it is stored."""

    benchmark: Benchmark
    rows: list[SummaryRow]
    page: Path


def run_demo(out: Path) -> Demo:
    """Make everything under `out`; what is already there and whole is not made again."""
    out.mkdir(parents=True, exist_ok=True)
    promise_to_go_on()
    talk("1/5  the built-in world, as real dumps")
    dumps = compile_builtin(out / "dumps")
    talk("2/5  a knowledge base of them")
    _unless_done(out / "kb", KNOWLEDGE_BASE, lambda: ingest_dumps(dumps, out / "kb"))
    talk("3/5  AmbER sets of it")
    _unless_done(out / "amber", BENCHMARK, lambda: build_builtin("builtin/amber", out / "kb", out / "amber"))
    benchmark = Benchmark.open(out / "amber")
    runs = []
    for name in (*RETRIEVERS, "function"):
        talk(f"4/5  asking {name}")
        if name == "function":
            retriever: Retriever = FunctionRetriever(word_overlap(benchmark), name=name)
        else:
            kind, options = RETRIEVERS[name]
            retriever = make_retriever(kind, benchmark, out / "indexes", dict(options))
        runs.append(run_retriever(retriever, benchmark, out / "runs" / name, k=DEPTH, name=name))
    talk("5/5  the page")
    demo = Demo(benchmark, summarise_runs(runs, benchmark), out / "report.html")
    encoded = msgspec.json.encode(as_document(demo.rows, benchmark))
    document = msgspec.json.format(encoded, indent=2) + b"\n"
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


# `whichone demo`: the whole way, in seconds.


@command()
def demo_command(out: Annotated[str, Argument("made")] = "whichone-demo", *, as_json: Json = False) -> None:
    """Take the built-in world from raw dumps to a table and a page, all under OUT.

    Killed at any moment and started again, it ends with the same bytes.

    \b
    whichone demo
    whichone demo --json
    """
    demo = run_demo(Path(out))
    if as_json:
        emit_json(as_document(demo.rows, demo.benchmark))
    else:
        emit_table(table_5(demo.rows), title="Gold page first, percent (∀: every query of a name right)")
        emit_table(
            table_6(demo.rows),
            title=f"Confused within {DEPTH} pages, percent: a namesake above the gold page",
        )
        click.echo("Intervals by name set are in the page and in --json.")
    talk(f"the page: {demo.page.resolve()}")


# `whichone experiment`: benchmarks x retrievers x readers x settings from one file.


@command()
def experiment_command(
    file: Annotated[str, Argument("written")], *, options: ExperimentOptions, as_json: Json = False
) -> None:
    """Do everything that FILE (TOML) crosses, each cell into a folder of its own.

    Cells that are done are not done again; killed and started again it goes on per question. Any
    cells can be set side by side with `whichone compare`, and put into one `whichone report`.

    \b
    whichone experiment study.toml --dry-run
    whichone experiment study.toml --report study.html
    whichone experiment study.toml --allow my_search:search
    """
    from whichone.experiment import execute as experiment

    if options.dry_run:
        planned = experiment.dry_run(file, options)
        if as_json:
            emit_json(planned)
            return
        trainings = [row for row in planned if row["kind"] == "training"]
        cells = [row for row in planned if row["kind"] != "training"]
        if trainings:
            rows = [{"training": row["name"], "status": row["status"]} for row in trainings]
            emit_table(rows, title=f"{file}: what is trained first")
        if cells:
            rows = [
                {
                    "benchmark": row["benchmark"], "cell": row["name"], "status": row["status"],
                    "questions": row["questions"],
                    "time": f"{_time(row['seconds'])} ({row['basis']})" if row["questions"] else "",
                    "tokens": row["tokens"] if row["questions"] else None,
                    "cost": row["cost"] if row["questions"] else None,
                }
                for row in cells
            ]  # fmt: skip
            emit_table(rows, title=f"{file}: what would run")
            click.echo(_total(cells))
        else:
            click.echo("which cells there are is known when the models are trained")
        return
    results = experiment.run_experiment(file, options)
    if as_json:
        emit_json(results)
    else:
        for kind in ("run", "answers"):
            if rows := [_shown(r) for r in results if r.kind == kind]:
                emit_table(rows, columns=list(dict.fromkeys(c for r in rows for c in r)))
    if options.report:
        for page in experiment.report_experiment(results, options.report):
            talk(f"the page: {page}")
    if failed := [r for r in results if r.status == "failed"]:
        raise BadInput(
            f"{len(failed)} of {len(results)} cells failed",
            hint="fix it and start again: cells that are done are not done again",
        )


def _total(planned: list[dict[str, Any]]) -> str:
    left = [row for row in planned if row["status"] != "done"]
    cost = sum(row["cost"] or 0.0 for row in left)
    unpriced = sum(row["tokens"] is not None and row["cost"] is None for row in left)
    usage_text = f"{len(left)} of {len(planned)} cells to do, about {_time(sum(r['seconds'] for r in left))}"
    if cost:
        usage_text += f", about {cost:.4f} in money"
    if unpriced:
        usage_text += f"; {unpriced} cells without prices (price_prompt and price_completion in options)"
    return usage_text


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _shown(result: Any) -> dict[str, Any]:
    values = {name: estimate["value"] for name, estimate in result.measures.items()}
    shown = {name: "-" if value is None else f"{value:.3f}" for name, value in values.items()}
    return {"benchmark": result.benchmark, "cell": result.name, "status": result.status, **shown}


# `whichone report`: one self-contained page.


@command(makes="places", plain=True)
def report_command(
    places: Annotated[tuple[str, ...], Argument(metavar="RUN... OUT.html")],
    *,
    benchmark: Moved = (),
    options: ReportOptions,
    as_json: Json = False,
) -> None:
    """Write the papers' tables and figures for RUNS to OUT.html, and each table and figure beside it.

    Folders of answers may be among the runs: they give AmbER's Table 7, KILT's Tables 3 and 5, and
    what confusion costs, where a reader was shown both gold and another bearer's pages.

    \b
    whichone report RUN_A RUN_B report.html
    whichone report RUN ANSWERS_GOLD ANSWERS_OTHER_BEARER report.html
    whichone report RUN ANSWERS_GOLD report.html --knowledge KB --study answers.csv
    """
    *runs, out = places
    if not out.endswith((".html", ".htm")) or not runs:
        raise UsageError("runs first, then the page to write", hint="whichone report RUN... OUT.html")
    written = make_report(runs, out, options, benchmark=benchmark or None)
    emit(
        {"written": [str(p) for p in written]},
        as_json,
        f"{out} ({len(written) - 1} tables and figures beside it)",
    )


# `whichone serve`: explorer, user study, annotation and leaderboard in the browser.


@command()
def serve_command(
    folder: Annotated[tuple[str, ...], Argument("folder")] = (), *, settings: SiteSettings
) -> None:
    """Show all benchmarks and runs below FOLDER (builtin/amber without one) as web pages.

    Several benchmarks over one corpus that are named here, or that a run was asked together, are also
    shown as one, with `benchmark` among its filters.

    Nothing opens without a link; the admin's is printed at the start. With --no-login an address is
    printed that opens a single time: the browser that opens it first is the admin until the server ends.

    \b
    whichone demo OUT && whichone serve OUT
    whichone serve AMBER_H AMBER_N RUNS
    whichone serve OUT --host 0.0.0.0 --database postgresql://whichone@db/whichone
    whichone serve --search INDEX --port 8080
    whichone serve --search INDEX --mcp
    """
    if settings.mcp:
        if settings.search is None:
            raise UsageError("--mcp serves an index: give it with --search INDEX")
        with needs(None, "mcp"):
            from whichone.web.mcp_server import mcp_server
        from whichone.namesake import Namesake

        mcp_server(Namesake.open(settings.search)).run("stdio")  # until the client closes its input
        return
    with needs(None, "web"):
        import fastapi  # noqa: F401
        import itsdangerous  # noqa: F401
        import python_multipart  # noqa: F401
        import uvicorn  # noqa: F401
    if settings.search:
        from whichone.web.search_service import serve_search

        serve_search(settings.search, settings)
        return
    from whichone.web.app import serve

    folders = [Path(place).resolve() for place in folder]
    serve(msgspec.structs.replace(settings, folder=folders[0] if folders else None, more=tuple(folders[1:])))
