"""`whichone check`, `compare`, `power` and `score`: what runs and answers are worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from xml.etree import ElementTree

import click
from msgspec.structs import asdict

from whichone.cli import Verbs
from whichone.cli.click_options import JudgeOptions, command
from whichone.cli.printing import emit, emit_json, emit_table
from whichone.files.lines import write_rows
from whichone.measures.budgets import Budgets, GateOptions
from whichone.options import Argument, Asked, Json, Moved, Option, PerQuery, Place
from whichone.progress import talk
from whichone.runs.run_options import CompareOptions, PowerOptions, ScoreOptions, ThreeOptions

if TYPE_CHECKING:
    from whichone.measures.gate import GateReport


@command()
@click.pass_context
def check_command(
    ctx: click.Context,
    run: Place,
    *,
    budgets: Budgets,
    options: GateOptions,
    benchmark: Moved = (),
    junit: Annotated[str | None, Option("Also write a JUnit file.", kind="written")] = None,
    markdown: Annotated[str | None, Option("Also write Markdown.", kind="written")] = None,
    judge: JudgeOptions,
    as_json: Json = False,
) -> None:
    """Fail when a RUN or a folder of answers is worse than its budgets, or than an older one.

    Without any option a search fails when it finds gold in under half of the questions, is significantly and
    by more than --margin worse than BM25 over the same corpus, serves the most popular bearers more than 0.25 better than the
    others, or gives no result to most questions. A budget fails when the whole interval is beyond it, or
    when no question can measure it; when the budget is inside the interval the verdict is undecided,
    which exits 0, or 1 with --strict. The ten worst mistakes are printed.

    \b
    whichone check RUN
    whichone check RUN --max-tail-gap 0.15 --max-confusion 0.2
    whichone check RUN --baseline LAST_RUN --junit whichone.xml
    whichone check RUN --by benchmark --max-confusion 0.4
    whichone check ANSWERS --max-answered-for-namesake 0.05 --min-answer-accuracy 0.7
    """
    from whichone.measures.gate import describe, figures_line, gate_folder
    from whichone.measures.worst import mistake_rows

    with judge.opened() as judging:
        report = gate_folder(
            run, Budgets.of(asdict(budgets)), options, benchmark=benchmark or None, judge=judging
        )
    if junit:
        Path(junit).write_bytes(gate_junit(report))
    if markdown:
        Path(markdown).write_text(gate_markdown(report), "utf-8")
    if as_json:
        emit_json({"verdict": report.verdict, "exit_code": report.exit_code, "report": report})
    else:
        emit_table(describe(report), title=f"{report.system}: {report.verdict}")
        click.echo(figures_line(report))
        if report.worst:
            emit_table(mistake_rows(report.worst), title="the worst mistakes")
    for warning in report.warnings:
        talk(f"whichone: {warning}")
    ctx.exit(report.exit_code)


# `whichone compare`: systems side by side.


@command()
def compare_command(
    runs: Annotated[tuple[str, ...], Argument()], *, plan: CompareOptions, as_json: Json = False
) -> None:
    """Compare two or more RUNS (or ANSWERS) over one benchmark: paired tests by cluster.

    \b
    whichone compare RUN_A RUN_B --measures acc@1,confused@20
    whichone compare RUN_A RUN_B --measures acc@1 --by dataset,shared_name
    whichone compare OTHER_BEARER GOLD --measures em    # what confusion costs
    """
    from whichone.measures.comparison import compare, comparison_rows
    from whichone.measures.intervals import cluster_note
    from whichone.measures.scores import distinctly_named, score_folder

    scores = distinctly_named(
        [score_folder(run, plan.measures, benchmark=plan.benchmark or None) for run in runs], runs
    )
    measures = scores[0].measures
    comparisons = compare(scores, measures, by=plan.by, seed=plan.seed, baseline=plan.baseline)
    for score in scores:
        for caution in score.cautions():
            talk(f"whichone: {caution}")
    note = f"b - a: {cluster_note(scores[0].queries)}; p: permutation test by cluster"
    title = f"paired by cluster on {scores[0].benchmark}"
    emit(comparisons, as_json, comparison_rows(comparisons), title=title, note=note)


# `whichone power`: how many names a difference takes.


@command()
def power_command(
    folders: Annotated[tuple[str, ...], Argument(metavar="[BENCH] [RUN]...")],
    *,
    plan: PowerOptions,
    benchmark: Annotated[str | None, Option("Where the benchmark is stored now, if it was moved.")] = None,
    as_json: Json = False,
) -> None:
    """Say how many names of BENCH it takes to see a difference, from two or more pilot RUNS over it.

    BENCH alone takes the runs over it that are stored beside it; runs alone are enough too. The number
    comes with an interval: a pilot of ten names knows little about how much names differ.

    \b
    whichone power BENCH --difference 0.05
    whichone power RUN_A RUN_B --difference 0.05
    whichone power RUN_A RUN_B --difference 0.02 --measure confused@20 --power 0.9
    """
    from whichone.measures.comparison import SMALL_PILOT, names_needed
    from whichone.measures.scores import distinctly_named, score_folder
    from whichone.runs.run import pilot_runs

    place, runs = pilot_runs(folders)
    benchmark = benchmark or place
    scores = distinctly_named([score_folder(run, (plan.measure,), benchmark=benchmark) for run in runs], runs)
    needed = names_needed(scores, plan)
    rows = [
        {
            "measure": n.measure,
            "a": n.a,
            "b": n.b,
            "names in the pilot": n.pilot,
            f"names for {plan.difference:g}": f"{n.names:,}",
            "interval": " to ".join("?" if end is None else f"{end:,}" for end in (n.fewest, n.most)),
            "the pilot sees": f"{n.smallest:.3f}",
        }
        for n in needed
    ]
    few = needed[0].pilot < SMALL_PILOT
    small = " (with 10 names it held in 87 to 90 of 100 pilots: take 20 or more)" * few
    note = f"interval: 95 %{small}, for the pilot does not know its own spread; plan for its upper end"
    title = f"names to see a difference of {plan.difference:g} with power {plan.power:g}"
    emit(needed, as_json, rows, title=title, note=note)


# `whichone score`: measures over a run, or over files of a known format.


class Score(Verbs):
    """A first word that names a format means files, anything else a folder."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.list_commands(ctx), "-h", "--help"):
            args = [folder.name or "", *args]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[OPTIONS]", "RUN"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of a folder, then the formats of files."""
        click.Command.format_options(folder, ctx, formatter)
        self.format_commands(ctx, formatter)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return folder if cmd_name == folder.name else super().get_command(ctx, cmd_name)


@command("RUN")
def folder(
    run: Place, *, plan: ScoreOptions, judge: JudgeOptions, per_query: PerQuery = None, as_json: Json = False
) -> None:
    """Score a RUN (or ANSWERS) folder, or files of a format: `whichone score kilt --help`.

    \b
    whichone score RUN --measures acc@1,acc@5,acc@20 --by dataset,shared_name --json
    whichone score ANSWERS --measures em,f1,answered_for_namesake --by role
    whichone score ANSWERS --judge my-model --endpoint http://127.0.0.1:8000/v1
    """
    from whichone.measures.intervals import cluster_note
    from whichone.measures.scores import score_folder, slice_rows

    with judge.opened() as judging:
        scores = score_folder(run, plan.measures, benchmark=plan.benchmark or None, judge=judging)
    if per_query:
        write_rows(per_query, list(scores.rows()))
    rows = slice_rows(scores, plan.by)
    if as_json:
        emit_json(rows)
        return
    shown: list[dict[str, Any]] = [{key: _shown(value) for key, value in row.items()} for row in rows]
    emit_table(shown, title=f"{scores.system} on {scores.benchmark}")
    click.echo(cluster_note(scores.queries))
    for caution in scores.cautions():
        talk(f"whichone: {caution}")


def _shown(value: Any) -> Any:
    from whichone.measures.intervals import SHALLOW

    if isinstance(value, dict):
        if value["value"] is None:
            return "-"
        spread = f" [{value['low']:.3f}, {value['high']:.3f}]" if value["low"] is not None else ""
        mark = SHALLOW if value.get("shallow") else ""
        return f"{value['value']:.3f}{mark}{spread} n={value['n']} in {value['clusters']}"
    return "-" if value is None else str(value)


score_command = Score(name="score", prefix="score ", help=folder.help)


# `whichone score three`: AmbER's Table 8, the choice among three bearers' pages.


@command("three")
def score_three_command(
    benchmark: Asked,
    places: Annotated[tuple[str, ...], Argument(metavar="[RUN|ANSWERS]...")] = (),
    *,
    plan: ThreeOptions,
    as_json: Json = False,
) -> None:
    """Which of three bearers' pages is the right one? The user study of AmbER's Table 8.

    Each question comes with its gold page and the pages of two namesakes. A RUN chooses the page that
    it ranks best among the three. ANSWERS, of a reader that was shown gold, give the exact match.

    \b
    whichone score three builtin/amber RUN_A RUN_B ANSWERS_GOLD
    whichone score three builtin/amber --retriever bm25 --retriever "namesake encoder=none"
    """
    from whichone.report.three_choice import three_choice_scores, three_document, three_rows

    rows, opened, choices = three_choice_scores(benchmark, places, plan)
    title = f"three pages to choose from, on {opened.id}"
    emit(three_document(rows, opened, choices), as_json, three_rows(rows), title=title)
    if not as_json:
        skipped_text = ", ".join(f"{n:,} {why}" for why, n in choices.skipped.items() if n)
        click.echo(f"{len(choices.items):,} items; left out: {skipped_text or 'none'}", err=True)


# The gate's report as Markdown for a pull request and as JUnit for a CI server.


def gate_markdown(report: GateReport) -> str:
    from whichone.measures.gate import describe, figures_line
    from whichone.measures.worst import mistake_rows

    lines = [
        f"### whichone: {report.verdict}",
        "",
        f"`{report.system}` on `{report.benchmark}`, {report.name_sets} name sets",
        "",
        "| check | verdict | found |",
        "| --- | --- | --- |",
    ]
    lines += [f"| {r['check']} | **{r['verdict']}** | {r['found']} |" for r in describe(report)]
    if report.figures:
        lines += ["", figures_line(report)]
    if report.worst:
        rows = mistake_rows(report.worst)
        lines += ["", "| " + " | ".join(rows[0]) + " |", "| --- " * len(rows[0]) + "|"]
        cells = ([c.replace("|", "\\|").replace("\n", " ") for c in row.values()] for row in rows)
        lines += ["| " + " | ".join(row) + " |" for row in cells]
    lines += [f"\n> {warning}" for warning in report.warnings]
    return "\n".join(lines) + "\n"


def gate_junit(report: GateReport) -> bytes:
    """One test case a check; an undecided check is skipped, or failed when strict."""
    fails = ("failed", "undecided") if report.strict else ("failed",)
    failed = sum(check.verdict in fails for check in report.checks)
    suite = ElementTree.Element(
        "testsuite", name="whichone", tests=str(len(report.checks)), failures=str(failed)
    )
    for check in report.checks:
        case = ElementTree.SubElement(suite, "testcase", classname=report.system, name=check.name)
        if check.verdict in fails:
            failure = ElementTree.SubElement(case, "failure", message=printable(check.message))
            failure.text = "\n".join(printable(str(m)) for m in report.worst)
        elif check.verdict == "undecided":
            ElementTree.SubElement(case, "skipped", message=f"undecided: {check.message}")
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))


def printable(text: str) -> str:
    """Without the control characters that no XML file may contain."""
    return "".join(c if c.isprintable() else " " for c in text)
