"""`whichone score entityquestions`: top-k accuracy of DPR results files."""

from __future__ import annotations

import click

from whichone.cli.options import json_option, k_option, per_query_option


@click.command()
@click.argument("results", nargs=-1, required=True, type=click.Path())
@k_option("1,5,20,100")
@click.option(
    "--match",
    "matcher",
    default="dpr",
    show_default=True,
    metavar="NAME",
    help="How an answer is looked for: dpr, dpr-title, dpr-regex, dpr-kilt, entityquestions, "
    "string-title, title, substring or has-answer.",
)
@click.option(
    "--empty-answers",
    type=click.Choice(["error", "match"]),
    default="error",
    show_default=True,
    help="An answer without tokens: refuse it, or count every passage a hit as published.",
)
@click.option("--workers", type=click.IntRange(min=1), default=None, help="Default: every core.")
@per_query_option
@json_option
def command(
    results: tuple[str, ...],
    depths: tuple[int, ...],
    matcher: str,
    empty_answers: str,
    workers: int | None,
    per_query: str | None,
    as_json: bool,
) -> None:
    """Score retrieval RESULTS in DPR's format, one file (or a folder of files) a relation.

    A file is a JSON list (or JSON lines) of question, answers and ctxs, best first; .gz, .bz2 and
    .zst are read too. A file that names each question's relation, as `export RUN --format dpr` writes it,
    is taken apart by it. Macro, which the paper's Table 1 reports, is the mean over relations, micro the
    mean over questions.

    \b
    whichone score entityquestions P19.test.json P26.test.json -k 1,5,20,100 --json
    """
    from whichone.cli.output import emit_json, emit_table, write_rows
    from whichone.measures.matching.labels import by_relation, label_files, per_query_rows
    from whichone.measures.matching.top_k import relation_names, result_files, top_k

    paths = result_files(results)
    names = relation_names(paths)
    labelled = label_files(paths, matcher, empty_answers=empty_answers == "match", workers=workers)
    files = by_relation({name: labels for name, (_, labels) in zip(names, labelled, strict=True)})
    scores = top_k(files, depths)
    if per_query:
        write_rows(per_query, per_query_rows(files))
    questions = [question for labels in files.values() for question in labels]
    click.echo(
        f"{len(questions)} questions, {sum(q.passages for q in questions)} passages, "
        f"{sum(len(q.hits) for q in questions)} of them with an answer (matcher {matcher})",
        err=True,
    )
    if as_json:
        emit_json(scores)
        return
    rows = {**scores.relations, "macro": scores.macro, "micro": scores.micro}
    emit_table([{"relation": name, **by_k} for name, by_k in rows.items()])
