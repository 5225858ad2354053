"""The three-document choice (AmbER, Table 8) of runs, retrievers and readers, and its table."""

import csv
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone import registry
from whichone.benchmarks.bearer_labels import ThreeChoice, ThreeChoices, three_choices
from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import BadInput, Missing, UsageError, sample
from whichone.files.arrow_records import Seen, blocks
from whichone.files.lines import write_rows
from whichone.measures.intervals import Estimate, cluster, cluster_note, clusters_of, interval
from whichone.measures.measure import parse_measures
from whichone.measures.scores import score_answers
from whichone.measures.summary import collection_of, group_of, percent
from whichone.options import takes
from whichone.progress import progress
from whichone.protocols import Retriever
from whichone.records import NameSet, Query, grouped
from whichone.report.answer_sections import answers_among
from whichone.report.page import Cell, Section, Table
from whichone.retrieval.adapters.adapted import load_function
from whichone.retrieval.dense.encoder import encoders_kept
from whichone.runs.provenance import RankingCheck
from whichone.runs.retrieve import make_retriever
from whichone.runs.run import Answers, Run, of_many
from whichone.runs.run_options import ThreeOptions

# AmbER's Table 8: which of three bearers' pages a system puts first, and a reader's exact match.


_BLOCK = 4_096
RULE = (
    "of the three pages the one that a run ranks best is its choice; a run whose list contains none of "
    "them has chosen none, and is wrong"
)


class ThreeRow(msgspec.Struct, frozen=True):
    """One system on one collection; a retriever has an accuracy, a reader an exact match."""

    system: str
    collection: str
    items: int
    accuracy: Estimate | None = None
    none_found: Estimate | None = None
    em: Estimate | None = None


def score_three(
    benchmark: Benchmark,
    choices: ThreeChoices,
    ranked: Mapping[str, Mapping[str, Sequence[str]]],
    answers: Sequence[Answers] = (),
) -> list[ThreeRow]:
    """Rows by collection; `ranked` contains for each system the pages of each query, best first."""
    if not choices.items:
        skipped_text = ", ".join(f"{n:,} {why}" for why, n in choices.skipped.items() if n)
        raise BadInput(
            f"no question of {benchmark.name} has three bearers' pages ({skipped_text})",
            hint="--fewer pad fills up names with two bearers",
        )
    query_rows, by_collection = _places(choices.items, benchmark.queries)
    clusters = clusters_of(benchmark.queries).numbers
    rows = []
    for system, pages in ranked.items():
        right, none = _chosen(choices.items, pages)
        for collection, own in by_collection:
            groups = clusters[query_rows[own]]
            estimates = [interval(values[own], groups) for values in (right, none)]
            rows.append(ThreeRow(system, collection, len(own), *estimates))
    for answer in answers:
        if answer.benchmark_id != benchmark.id:
            raise BadInput(
                f"the answers are over {answer.benchmark_id}, not {benchmark.id}", file=answer.path
            )
        exact = score_answers(answer, benchmark, parse_measures(["em"])).values["em"][query_rows]
        for collection, own in by_collection:
            asked = own[~np.isnan(exact[own])]
            if len(asked):
                em = interval(exact[asked], clusters[query_rows[asked]])
                rows.append(ThreeRow(answer.name, collection, len(asked), em=em))
    return sorted(rows, key=lambda row: row.collection)


def _chosen(items: Sequence[ThreeChoice], pages: Mapping[str, Sequence[str]]) -> tuple[Any, Any]:
    """For each item whether the gold page is the best ranked of its three, and whether none of them is ranked."""
    right, none = np.zeros(len(items), np.float64), np.zeros(len(items), np.float64)
    place = 0
    for block in blocks(items, _BLOCK):
        firsts = [
            next((p for p in ranked if p in item.pages), None)
            for item, ranked in zip(block, of_many(pages, [item.query for item in block]), strict=True)
        ]
        where = slice(place, place + len(block))
        right[where] = [f == item.gold for f, item in zip(firsts, block, strict=True)]
        none[where] = [first is None for first in firsts]
        place += len(block)
    return right, none


def _places(
    items: Sequence[ThreeChoice], queries: Sequence[Query]
) -> tuple[npt.NDArray[np.int64], list[tuple[str, npt.NDArray[np.int64]]]]:
    """The row of each item's query, and the items of each collection in the order of their names."""
    known = Seen()
    for first, block in enumerate(blocks(items, _BLOCK)):
        known.add([item.query for item in block], range(first * _BLOCK, first * _BLOCK + len(block)))
    rows, groups, names = np.zeros(len(items), np.int64), np.zeros(len(items), np.int32), {"": 0}
    for first, queried in enumerate(blocks(queries, _BLOCK)):
        for n, place in enumerate(known.numbers_of([query.id for query in queried])):
            if place is not None:
                rows[place] = first * _BLOCK + n
                groups[place] = names.setdefault(group_of(queried[n]) or "all", len(names))
    listed = ((name, np.flatnonzero(groups == group)) for name, group in sorted(names.items()))
    return rows, [(name, own) for name, own in listed if len(own)]


def three_document(rows: Sequence[ThreeRow], benchmark: Benchmark, choices: ThreeChoices) -> dict[str, Any]:
    """One JSON document: per system and collection its figures, as fractions."""
    systems: dict[str, dict[str, Any]] = {}
    for row in rows:
        figures = {"accuracy": row.accuracy, "none_found": row.none_found, "em": row.em}
        systems.setdefault(row.system, {})[row.collection] = {
            name: estimate.brief() if estimate is not None else None for name, estimate in figures.items()
        }
    return {
        "benchmark": benchmark.id,
        "items": len(choices.items),
        "padded": sum(item.padded > 0 for item in choices.items),
        "skipped": choices.skipped,
        "systems": systems,
        "rule": RULE,
        "intervals": cluster_note(benchmark.queries),
    }


def three_rows(rows: Sequence[ThreeRow]) -> list[dict[str, Any]]:
    """Rows for a terminal, in percent as the paper prints them."""
    return [
        {
            "collection": row.collection,
            "system": row.system,
            "right page": percent(row.accuracy) if row.accuracy else "-",
            "none of the three": percent(row.none_found) if row.none_found else "-",
            "EM": percent(row.em) if row.em else "-",
            "items": row.items,
        }
        for row in rows
    ]


# The human row of AmbER's Table 8: the answers that people gave in a study of `whichone serve`.
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
            f"the study asked questions that {benchmark.id} does not have: {sample(strangers)}", file=file
        )
    results, people = [], len({row["person"] for row in counted})
    for collection, answered in sorted(groups.items()):
        clusters = [":".join(cluster(query)) for query, _ in answered]
        right, exact = (
            interval([float(row[column] == "1") for _, row in answered], clusters)
            for column in ("right", "exact")
        )
        items = len({query.id for query, _ in answered})
        results.append(ThreeRow(f"people ({people})", collection, items, accuracy=right, em=exact))
    return results


def _answers(file: Path) -> list[dict[str, str]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as text:
            reader = csv.DictReader(text)
            if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
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


# Any retriever on corpora of three pages: each item of AmbER's Table 8 is searched on its own.


def rank_three(
    retriever: str, benchmark: Benchmark, items: Sequence[ThreeChoice], options: dict[str, Any] | None = None
) -> dict[str, list[str]]:
    """For each item's query the three pages in the order in which the retriever finds them.

    The retriever is made anew for every three pages: words are rare or frequent among these alone.
    """
    kind = load_function(retriever) if ":" in retriever else registry.find("retrievers", retriever)
    if not hasattr(kind, "over"):
        raise UsageError(
            f"{retriever} cannot be given a corpus of three pages",
            hint="make a run with a deep -k and name the run; its ranking is cut to the three pages",
        )
    ranked: dict[str, list[str]] = {}
    with (
        encoders_kept(),
        tempfile.TemporaryDirectory(prefix="whichone-three-") as folder,
        progress("choosing", len(items), "items") as advance,
    ):
        for n, (small, members) in enumerate(_corpora(benchmark, items, Path(folder))):
            opened_retriever = make_retriever(
                retriever, small, Path(folder) / f"index-{n}", dict(options or {})
            )
            ranked.update(_ranked_pages(opened_retriever, small))
            advance(len(members))
    return ranked


def _ranked_pages(retriever: Retriever, small: Benchmark) -> Iterator[tuple[str, list[str]]]:
    check = RankingCheck(small.corpus)
    questions = small.questions()
    depth = len(small.corpus)
    rankings = [check.translate(r) for r in retriever.search(questions, depth)]
    check.infer(rankings)
    for question, ranking in zip(questions, rankings, strict=True):
        check.check(question, ranking, depth)
        yield question.id, list(dict.fromkeys(map(check.page, ranking.passages)))


def _corpora(
    benchmark: Benchmark, items: Sequence[ThreeChoice], folder: Path
) -> Iterator[tuple[Benchmark, list[ThreeChoice]]]:
    """A small benchmark for each three pages, with all the items that are asked of these."""
    groups = grouped((tuple(sorted(item.pages)), item) for item in items)
    wanted = {page for pages in groups for page in pages}
    rows = grouped(
        (page, n) for n, page in enumerate(benchmark.passages["page"].to_pylist()) if page in wanted
    )
    names = list(benchmark.corpus.further_names(wanted))
    queries = {query.id: query for query in benchmark.queries}
    sets = {name_set.id: name_set for name_set in benchmark.sets}
    for n, (pages, members) in enumerate(groups.items()):
        asked = [queries[item.query] for item in members]
        own = {query.name_set or "" for query in asked}
        yield (
            save_benchmark(
                folder / f"three-{n}",
                name=benchmark.name,
                queries=asked,
                passages=benchmark.passages.take([row for page in pages for row in rows[page]]),
                names=[(page, name) for page, name in names if page in pages],
                sets=[_among(sets[key], pages) for key in sorted(own & sets.keys())],
                allow_no_gold=True,
            ),
            members,
        )


def _among(name_set: NameSet, pages: Sequence[str]) -> NameSet:
    kept = ((b, tuple(p for p in b.pages if p in pages)) for b in name_set.bearers)
    bearers = tuple(msgspec.structs.replace(bearer, pages=own) for bearer, own in kept if own)
    return msgspec.structs.replace(name_set, bearers=bearers)


_Ranked = Mapping[str, Sequence[str]]


@takes(ThreeOptions)
def three_choice_scores(
    place: str, folders: Sequence[str | Path], plan: ThreeOptions
) -> tuple[list[ThreeRow], Benchmark, ThreeChoices]:
    """Runs cut to the three pages, retrievers on the three pages alone, and readers' exact match."""
    if not folders and not plan.retrievers and not plan.study:
        raise UsageError(
            "there is nothing to score", hint="name runs or answers, or retrievers by --retriever"
        )
    answers, places = answers_among(folders)
    benchmark = Benchmark.open(place)
    choices = three_choices(benchmark, seed=plan.seed, most=plan.most, fewer=plan.fewer)
    ranked: dict[str, _Ranked] = {}
    for run in map(Run.open, places):
        if run.benchmark_id != benchmark.id:
            raise BadInput(
                f"the run is over {run.benchmark_id}, not {benchmark.id}",
                file=run.path,
                hint="retrieve on this benchmark first",
            )
        name = run.name if run.name not in ranked else f"{run.name} ({run.path.name})"
        ranked[name] = run.ranked_pages()
    for retriever in plan.retrievers:
        name, options = parse_retriever(retriever)
        ranked[f"{retriever}, three pages alone"] = rank_three(name, benchmark, choices.items, options)
    rows = score_three(benchmark, choices, ranked, answers)
    people = people_rows(plan.study, benchmark) if plan.study else []
    if plan.items_file:
        write_rows(plan.items_file, [*map(msgspec.to_builtins, choices.items)])
    return sorted([*rows, *people], key=lambda row: row.collection), benchmark, choices


def parse_retriever(given: str) -> tuple[str, dict[str, str]]:
    """`namesake encoder=none`: a name and its options."""
    name, *words = shlex.split(given) or [""]
    options = dict(word.partition("=")[::2] for word in words)
    if not name or any("=" not in word for word in words):
        raise UsageError(
            f"{given!r} is not a retriever with options",
            hint='write it as --retriever "namesake encoder=none"',
        )
    return name, options


def three_choice_section(
    ranked: Mapping[str, _Ranked],
    answers: Sequence[Answers],
    benchmark: Benchmark,
    study: str | Path | None = None,
) -> Section | None:
    """Table 8 for a report; None where no name has three bearers with pages."""
    choices = three_choices(benchmark)
    people = people_rows(study, benchmark) if study else []
    if not choices.items and not people:
        return None
    gold = [a for a in answers if a.description["setting"]["passages"] == "gold"]
    rows = score_three(benchmark, choices, ranked, gold) if choices.items else []
    rows = sorted([*rows, *people], key=lambda row: row.collection)
    return Section("Which of three?", [three_choice_table(rows, benchmark, choices)])


def three_choice_table(rows: Sequence[ThreeRow], benchmark: Benchmark, choices: ThreeChoices) -> Table:
    left_out = choices.skipped["fewer than three bearers with pages"]
    read = any(row.em is not None for row in rows)
    cells: list[list[Cell]] = [
        [row.collection, row.system, row.accuracy, row.none_found, *([row.em] if read else []), row.items]
        for row in rows
    ]
    exact = "EM: exact match of a reader that is shown gold, or of people. " if read else ""
    return Table(
        key="three-choice",
        title="Choosing among three bearers' pages (AmbER, Table 8)",
        columns=[
            "collection",
            "system",
            "right page",
            "none of the three",
            *(["EM"] if read else []),
            "items",
        ],
        rows=cells,
        note=(
            "Question answering; each question comes with its gold page and the pages of two other bearers "
            "of the name, drawn by a seed. Right page: percent of questions for which gold is the best "
            "ranked of the three. None of the three: percent for which the run's list contains none of them, "
            f"which counts as wrong. {exact}By chance one is right on 33.3 %. {left_out:,} questions about "
            "names with fewer than three bearers' pages are left out. "
            f"{cluster_note(benchmark.queries)}."
        ),
    )
