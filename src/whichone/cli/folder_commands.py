"""`whichone doctor`, `list`, `export`, `reproduce`, `show` and `verify`: what is installed, what there is, and folders."""

import ast
import importlib.util
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import msgspec

from whichone import registry
from whichone.cli.click_options import command
from whichone.cli.printing import emit, emit_json
from whichone.errors import Missing
from whichone.options import Allow, Argument, Existing, Json, Option, Place
from whichone.versions import installed_version

_PROGRAMS = {
    "java": ("the Spark engine", "apt install default-jre-headless"),
    "chromium": ("tests of reports and the web page", "apt install chromium"),
    "lbzip2": ("the ingestion benchmark's yardstick", "apt install lbzip2"),
    "postgres": ("a web page for many annotators", "apt install postgresql"),
}


class Finding(msgspec.Struct, frozen=True):
    """One thing looked for: what it is for, its version or None, and how to get it."""

    what: str
    kind: str
    version: str | None
    how: str = ""


def _examine() -> Iterator[Finding]:
    """Python, the core packages, each extra's packages, and programs; nothing is imported."""
    yield Finding("python", "core", sys.version.split()[0])
    pairs: dict[tuple[str, str], None] = {}
    for line in requires("whichone") or ():
        package = re.split(r"[\s<>=!~;\[]", line, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if package != "whichone" and (extra is None or extra[1] != "all"):
            pairs.setdefault((package, extra[1] if extra else ""))
    for package, brought_by in pairs:
        how = f"pip install 'whichone[{brought_by}]'" if brought_by else "pip install whichone"
        yield Finding(package, brought_by or "core", installed_version(package), how)
    for program, (purpose, how) in _PROGRAMS.items():
        yield Finding(program, f"program for {purpose}", shutil.which(program), how)


# The names one can type, each with one line that says what it is.


def listed(kind: str) -> list[dict[str, Any]]:
    """Name and first sentence of everything registered; nothing heavy is imported."""
    if kind == "datasets":
        from whichone.benchmarks.by_name import dataset_rows

        return dataset_rows()
    if kind == "benchmarks":
        kind = "builtins"
    if kind == "measures":
        from whichone.measures.measure import every_measure

        return [
            {"name": str(m), "what": m.explained, "of": m.of, "for each": m.population}
            for m in every_measure()
        ]
    return [
        {"name": name, "what": first_sentence(registry.target(kind, name))} for name in registry.names(kind)
    ]


def first_sentence(target: str) -> str:
    """The first line of the docstring at `module:attribute`, read from the source, not imported."""
    module, _, attribute = target.partition(":")
    if (spec := importlib.util.find_spec(module)) is None or not spec.origin:
        return ""
    tree = ast.parse(Path(spec.origin).read_text("utf-8"))
    for n, node in enumerate(tree.body):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == attribute:
            below = next(
                (after.value for after in tree.body[n + 1 : n + 2] if isinstance(after, ast.Expr)), None
            )
            return str(below.value) if isinstance(below, ast.Constant) else ""  # which documents it
        named = isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == attribute
        if named and (text := ast.get_docstring(node)):  # type: ignore[arg-type]
            return text.partition("\n")[0]
        if isinstance(node, ast.ImportFrom) and any(m.name == attribute for m in node.names):
            return first_sentence(f"{node.module}:{attribute}")
    return (ast.get_docstring(tree) or "").partition("\n")[0]


# `whichone doctor`: what is installed, what is missing.


@command()
def doctor_command(*, as_json: Json = False) -> None:
    """Say what is installed, what is missing, and how to get it.

    Exits with 4 when a part of the core is missing; extras are optional.
    """
    findings = [*_examine()]
    rows = [
        {
            "what": f.what,
            "for": f.kind,
            "found": f.version or "missing",
            "how to get it": "" if f.version else f.how,
        }
        for f in findings
    ]
    emit(findings, as_json, rows)
    if lost := [f.what for f in findings if f.kind == "core" and f.version is None]:
        raise Missing(f"the core lacks {', '.join(lost)}", hint="pip install --force-reinstall whichone")


# `whichone export`: a benchmark, a run or a knowledge base in a format that others read.


@command(makes="out", plain=True)
def export_command(
    folder: Annotated[str, Argument("text")],
    out: Place,
    *,
    form: Annotated[str, Option("Such as kilt, amber, beir, trec, dpr, hf, mteb.", flags=("--format",))],
    benchmark: Annotated[str | None, Option("A run: where its benchmark is stored, if it was moved.")] = None,
    unit: Annotated[
        Literal["page", "passage"] | None,
        Option("TREC: run and judgements are of pages, as scores are, or of passages.  [default: page]"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a benchmark, a run or a knowledge base to OUT in another format.

    \b
    whichone export BENCH OUT --format kilt         also amber, ambigdocs, beir, trec, dpr, hf, mteb
    whichone export RUN OUT --format trec           run and qrels of pages; also kilt, amber, dpr
    whichone export RUN OUT --format trec --unit passage
    whichone export ANSWERS predictions.json --format ambigdocs
    whichone export KB source.jsonl --format kilt
    """
    from whichone.report.show import export

    written = export(folder, out, form, benchmark, unit=unit)
    emit(written, as_json, [{"file": name, "records": count} for name, count in written.items()])


# `whichone list`: what there is to choose from.


# Columns of a table where the JSON has more.
SHOWN = {"datasets": ("name", "file", "bytes", "checked", "here", "licence")}


@command()
def list_command(
    kind: Annotated[Literal["benchmarks", "datasets", "retrievers", "readers", "measures"], Argument()],
    *,
    as_json: Json = False,
) -> None:
    """List benchmarks, datasets, retrievers, readers or measures by name.

    \b
    whichone list retrievers
    """
    emit(listed(kind), as_json, columns=SHOWN.get(kind, ()))


# `whichone reproduce`: a run made again from its manifest, and compared.


@command()
def reproduce_command(
    run: Existing,
    out: Annotated[str | None, Argument()] = None,
    *,
    benchmark: Annotated[str | None, Option("Where the benchmark is stored now, if it was moved.")] = None,
    allow: Allow = (),
    as_json: Json = False,
) -> None:
    """Make RUN again from what its manifest says, and compare the two; OUT keeps the new one.

    Exits 0 when every question has the same passages in the same order, 1 otherwise. Scores may differ in their last
    digits between machines; by how much is said.

    \b
    whichone reproduce RUN
    whichone reproduce RUN RUN_AGAIN --benchmark BENCH
    whichone reproduce RUN --allow my_search:search
    whichone reproduce RUN --allow search.example.org
    """
    from whichone.runs.retrieve import reproduce

    result = reproduce(run, out, benchmark=benchmark, allow=allow)
    if as_json:
        emit_json(result)
    elif result.same:
        click.echo(f"{run}: the same, to the last digit of every score")
    elif result.same_order:
        largest = result.largest_difference
        click.echo(f"{run}: the same order; scores differ by {largest:.2g} at most")
    else:
        some = ", ".join(result.other_order[:3])
        click.echo(
            f"{run}: {len(result.other_order):,} of {result.questions:,} questions have another order: {some}"
        )
    if not result.same_order:
        raise click.exceptions.Exit(1)


# `whichone show`: what a folder contains and how it was made.


@command()
def show_command(
    folder: Annotated[str, Argument("text")],
    name: Annotated[str | None, Argument("text")] = None,
    *,
    explain: Annotated[
        bool, Option("A run: what the retriever said about the question with this id.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show a knowledge base (or one NAME in it), a benchmark, a run or a result.

    \b
    whichone show KB "Abe Lincoln"
    whichone show BENCH
    whichone show RUN
    whichone show RUN QUESTION_ID --explain
    """
    from whichone.report.show import show

    document, text = show(folder, name, explain=explain)
    emit(document, as_json, text)


# `whichone verify`: compares every byte of folders with the hashes in their manifests.


@command()
def verify_command(folders: Annotated[tuple[str, ...], Argument("exists")], *, as_json: Json = False) -> None:
    """Read FOLDERS, and every finished folder below them, in full and list all damage.

    Other commands compare only what they read. The exit code is 3 where something is damaged.

    \b
    whichone verify KB BENCH RUN
    whichone verify ~/results
    """
    from whichone.files.folder import verify_folders

    reports = []
    for report in verify_folders([*map(Path, folders)]):
        reports.append(report)
        if as_json:
            continue
        if report.damage:
            click.echo("\n".join(f"{report.folder}: {text}" for text in report.damage))
        else:
            click.echo(f"{report.folder}: {report.files:,} files, {report.bytes:,} bytes, whole")
    if as_json:
        emit_json(reports)
    if any(report.damage for report in reports):
        raise SystemExit(3)
