"""The human row of AmbER's Table 8: the answers that people gave in a study of `whichone serve`."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, Missing, sample
from whichone.measures.intervals import cluster, interval
from whichone.measures.summary import collection_of
from whichone.measures.three_choice import ThreeRow
from whichone.records import Query

COLUMNS = ("person", "query", "right", "exact", "check")
EXPORT = "export it from the study's page: /study/KEY/export/answers.csv"


def people_rows(file: str | Path, benchmark: Benchmark) -> list[ThreeRow]:
    """A row a collection: how often people picked the right page, and marked the answer.

    Whoever failed an attention check is left out, as on the study's own page.
    """
    rows = _answers(Path(file))
    failed = {row["person"] for row in rows if row["check"] == "1" and row["right"] != "1"}
    counted = [row for row in rows if row["check"] != "1" and row["person"] not in failed]
    if not counted:
        raise BadInput("the study has no answer of anyone who passed its checks", file=file)
    queries = {query.id: query for query in benchmark.queries}
    groups: dict[str, list[tuple[Query, Mapping[str, str]]]] = {}
    strangers: list[str] = []
    for row in counted:
        # an exported cell that a spreadsheet would take for a formula begins with an apostrophe
        query = queries.get(row["query"]) or queries.get(row["query"].removeprefix("'"))
        if query is None:
            strangers.append(row["query"])
        else:
            groups.setdefault(collection_of(query) or "all", []).append((query, row))
    if strangers:
        raise BadInput(
            f"the study asked questions that {benchmark.id} does not have: {sample(strangers)}",
            file=file,
        )
    return [
        _row(collection, answered, len({row["person"] for row in counted}))
        for collection, answered in sorted(groups.items())
    ]


def _row(
    collection: str, answered: Sequence[tuple[Query, Mapping[str, str]]], people: int
) -> ThreeRow:
    clusters = [":".join(cluster(query)) for query, _ in answered]
    right, exact = (
        interval([float(row[column] == "1") for _, row in answered], clusters)
        for column in ("right", "exact")
    )
    items = len({query.id for query, _ in answered})
    return ThreeRow(f"people ({people})", collection, items, accuracy=right, em=exact)


def _answers(file: Path) -> list[dict[str, str]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            reader = csv.DictReader(text)
            missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise BadInput(
                    f"these are not the answers of a study: no column {', '.join(missing)}",
                    file=file,
                    hint=EXPORT,
                )
            rows = [{name: row[name] or "" for name in COLUMNS} for row in reader]
    except OSError as error:
        raise Missing(f"cannot read the study's answers: {error}", hint=EXPORT) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"not a CSV file: {error}", file=file, hint=EXPORT) from error
    for number, row in enumerate(rows, 2):
        if not {row["right"], row["exact"], row["check"]} <= {"0", "1"}:
            raise BadInput("right, exact and check are 0 or 1", file=file, line=number)
    return rows
