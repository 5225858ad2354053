"""What the explorer shows of a set, a query and two systems, put together from its indexes."""

import functools
import json
import math
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup, escape

from whichone.benchmarks.bearer_labels import distinct_labels, with_title, words_of_ids
from whichone.measures.answer_measures import step_of
from whichone.measures.outcomes import ACT, CLAIMS, SEVERAL, Outcome, text_outcome
from whichone.measures.ranking_measures import kind_of_page
from whichone.names import fold
from whichone.records import Bearer, Call, grouped, page_of
from whichone.runs.run import TRACE
from whichone.text.normalisers import stop_words
from whichone.web.explorer import listing
from whichone.web.explorer.explorer_index import NotReady
from whichone.web.served_folder import ServedBenchmark, ServedRun, corpus_of
from whichone.web.web_site import Site

# Bearers as the pages of the explorer call them: by what tells them apart.


class SetLabels(msgspec.Struct, frozen=True):
    by_entity: Mapping[str, str] = {}
    by_page: Mapping[str, str] = {}

    def page(self, page: str, title: str) -> str:
        """A page's bearer, after the page's own title where that says something else."""
        label = self.by_page.get(page)
        return with_title(label, title) if label is not None else title


NOBODY = SetLabels()


def set_labels(served: ServedBenchmark, index: Path, n: int | None) -> SetLabels:
    return NOBODY if n is None else _labels(served.folder.root, served.key, index, n)


@functools.lru_cache(4096)
def _labels(root: Path, key: str, index: Path, n: int) -> SetLabels:
    """Looked up once: an index and a corpus are named by their content."""
    with listing.opened(index) as database:
        bearers = _bearers(database, n)
        said = database.execute(
            "select distinct entity, qualifier from queries where n = ? and qualifier <> '' order by q", (n,)
        ).fetchall()
    labels = distinct_labels(bearers, corpus_of(root, key), grouped(said), words_of_ids({}))
    named = list(zip(bearers, labels, strict=True))
    return SetLabels(
        {bearer.entity: label for bearer, label in named},
        {page: label for bearer, label in named for page in bearer.pages},
    )


def _bearers(database: sqlite3.Connection, n: int) -> list[Bearer]:
    rows = database.execute("select entity, label, types, pages from bearers where n = ? order by rank", (n,))
    return [
        Bearer(entity=entity, label=label, types=tuple(json.loads(types)), pages=tuple(json.loads(pages)))
        for entity, label, types, pages in rows
    ]


def with_about(served: ServedBenchmark, index: Path, rows: Iterable[dict[str, Any]]) -> None:
    for row in rows:
        row["about"] = set_labels(served, index, row["n"]).by_entity.get(row["entity"] or "")


# Colour, sign and words of each outcome of an answer.
OUTCOMES: dict[Outcome, tuple[str, str, str]] = {
    "right": ("gold", "✓", "right"),
    "several": ("other", "≈", "right, but for several"),
    "asked": ("other", "?", "asked back"),
    "refused": ("other", "∅", "refused"),
    "namesake": ("namesake", "✗", "answered for a namesake"),
    "wrong": ("other", "–", "wrong"),
}
STEPS = {
    "gold": ("gold", "✓", "brought the right one in first"),
    "namesake": ("namesake", "✗", "brought a namesake in first"),
    "neither": ("other", "–", "brought neither in"),
}


def readers_of(
    site: Site, served: ServedBenchmark, query: Mapping[str, Any], others: Sequence[str],
    labels: SetLabels,
) -> list[dict[str, Any]]:  # fmt: skip
    """What each folder of answers has for a query, with an agent's calls where one answered."""
    readers = []
    for folder in served.answers:
        if (row := site.tables.answer(folder.path("answers.parquet"), query["id"])) is None:
            continue
        notes = json.loads(row.pop("notes") or "{}")
        trace = notes.get(TRACE) if isinstance(notes, dict) else None
        listed = trace.get("calls", []) if isinstance(trace, dict) else []
        steps = _steps(site, served, query, msgspec.convert(listed, list[Call]), labels)
        result = _outcome(row, query, others)
        readers.append(
            {"name": folder.manifest.name or folder.root.name, "steps": steps, "mended": _mended(steps),
             "outcome": OUTCOMES[result] if result else None, **row}
        )  # fmt: skip
    return readers


def _outcome(row: Mapping[str, Any], query: Mapping[str, Any], others: Sequence[str]) -> Outcome | None:
    """By the rules, where the query has an accepted answer."""
    if not query["answers"] or query["task"] in (SEVERAL, ACT):
        return None
    if row["asks"] is not None or row["text"] is None:
        return "refused" if row["asks"] is None else "asked"
    known = () if query["task"] == CLAIMS else tuple(others)
    return text_outcome(row["text"], tuple(query["answers"]), known)


def _steps(
    site: Site, served: ServedBenchmark, query: Mapping[str, Any], calls: Sequence[Call],
    labels: SetLabels,
) -> list[dict[str, Any]]:  # fmt: skip
    gold, others = frozenset(query["gold"]), frozenset(query["others"])
    texts = site.tables.passages(served.corpus, [p for call in calls for p in call.passages])
    return [
        {
            "tool": call.tool.replace("_", " "), "input": call.input, "text": call.text,
            "arguments": dict(call.arguments),
            "found": [
                {"id": passage, "title": labels.page(page_of(passage), texts.get(passage, (passage, ""))[0]),
                 "kind": kind_of_page(page_of(passage), gold, others)}
                for passage in call.passages
            ],
            "brought": STEPS[step_of(call, gold, others)] if call.tool == "search" else None,
        }
        for call in calls
    ]  # fmt: skip


def _mended(steps: Sequence[Mapping[str, Any]]) -> str:
    """Whether a namesake came in, and whether a later search corrected it, in words; may be empty."""
    brought = [step["brought"][0] for step in steps if step["brought"]]
    if "namesake" not in brought:
        return ""
    search = brought.index("namesake") + 1
    if "gold" in brought[search:]:
        later = search + brought[search:].index("gold") + 1
        return f"search {search} brought a namesake in, search {later} corrected it"
    return f"search {search} brought a namesake in, and no later search corrected it"


_WORD = re.compile(r"\w+")
_LONGEST = 280


@functools.lru_cache(maxsize=256)
def words_of(question: str) -> frozenset[str]:
    return frozenset(w for w in _WORD.findall(fold(question)) if w not in stop_words())


def highlighted(text: str, question: str, longest: int = _LONGEST) -> Markup:
    """The text, cut to a length, with the question's words in <mark>."""
    wanted = words_of(question)
    cut = text if len(text) <= longest else text[:longest].rsplit(" ", 1)[0] + " …"
    parts, end = [Markup("")], 0
    for word in _WORD.finditer(cut):
        if fold(word[0]) in wanted:
            parts += [escape(cut[end : word.start()]), Markup("<mark>{}</mark>").format(word[0])]
            end = word.end()
    return Markup("").join([*parts, escape(cut[end:])])


MOST_SYSTEMS = 50
_AT_ONCE = 4  # Systems that a page of many queries shows unless others are chosen
MOST_EXPORTED = 10_000


def chosen_runs(served: ServedBenchmark, keys: Sequence[str], most: int = _AT_ONCE) -> list[ServedRun]:
    """The runs that a view names, in its order; the first few when it names none."""
    named = [served.runs[key] for key in dict.fromkeys(keys) if key in served.runs]
    return (named or list(served.runs.values())[:most])[:MOST_SYSTEMS]


def search(
    site: Site, served: ServedBenchmark, wanted: listing.WantedRows, runs: Sequence[ServedRun],
    find: Callable[[sqlite3.Connection, listing.WantedRows, int], listing.Listing] = listing.find_sets,
) -> listing.Listing:  # fmt: skip
    """Name sets, or queries by `listing.find_queries`, with the runs that an outcome is about."""
    index = site.folder.benchmark_index(served)
    indexes = [site.folder.run_index(served, run) for run in runs]
    with listing.opened(index, indexes) as database:
        result = find(database, wanted, len(indexes))
    if find is listing.find_queries:
        with_about(served, index, result.rows)
    return result


def facets(site: Site, served: ServedBenchmark, *, queries: bool = False) -> dict[str, list[tuple[str, int]]]:
    with listing.opened(site.folder.benchmark_index(served)) as database:
        return listing.facet_values(database, queries=queries)


def has_sets(site: Site, served: ServedBenchmark) -> bool:
    with listing.opened(site.folder.benchmark_index(served)) as database:
        return database.execute("select 1 from sets limit 1").fetchone() is not None


def overview(site: Site, served: ServedBenchmark) -> list[tuple[ServedRun, dict[str, Any]]]:
    rows = []
    index = site.folder.benchmark_index(served)
    waiting: list[NotReady] = []
    for run in served.runs.values():
        try:
            with listing.opened(index, [site.folder.run_index(served, run)]) as database:
                rows.append((run, listing.outcome_counts(database)))
        except NotReady as error:  # all of them are asked for before anybody waits
            waiting.append(error)
    if waiting:
        raise waiting[0]
    return sorted(rows, key=lambda row: (-row[1]["right"], row[1]["confused"], row[0].name))


def example(site: Site, served: ServedBenchmark, best: ServedRun, worst: ServedRun) -> dict[str, Any] | None:
    """One query that shows what it is about: the best system is right, the worst was confused."""
    indexes = tuple(site.folder.run_index(served, run) for run in (best, worst))
    q = _clearest_query(site.folder.benchmark_index(served), indexes)
    return query_view(site, served, q, [best, worst]) if q is not None else None


@functools.lru_cache(256)
def example_questions(benchmark: Path) -> list[str]:
    with listing.opened(benchmark) as database:
        return listing.telling_questions(database)


def short_questions(site: Site, served: ServedBenchmark) -> list[str]:
    """Questions that say no more than a name: some of them cannot be answered without asking back."""
    with listing.opened(site.folder.benchmark_index(served)) as database:
        names = listing.shared_names(database)
    return [f"Who is {name}?" for name in names] + names


@functools.lru_cache(256)
def _clearest_query(benchmark: Path, runs: tuple[Path, ...]) -> int | None:
    """Looked for once: indexes are named by their content."""
    with listing.opened(benchmark, runs) as database:
        return listing.clearest_query(database)


def counted(
    site: Site, served: ServedBenchmark, wanted: listing.WantedRows, runs: Sequence[ServedRun],
    *, queries: bool,
) -> dict[str, dict[str, int]]:  # fmt: skip
    """The counts of every facet among what is listed, for lists short enough to be counted."""
    number, find = ("q", listing.find_queries) if queries else ("n", listing.find_sets)
    numbers = [
        row[number] for row in everything(site, served, wanted, runs, find, listing.MOST_COUNTED) or ()
    ]
    with listing.opened(site.folder.benchmark_index(served)) as database:
        return listing.live_counts(database, numbers, queries=queries)


def everything(
    site: Site, served: ServedBenchmark, wanted: listing.WantedRows, runs: Sequence[ServedRun],
    find: Callable[[sqlite3.Connection, listing.WantedRows, int], listing.Listing],
    most: int = MOST_EXPORTED,
) -> list[dict[str, Any]] | None:  # fmt: skip
    """All rows of a list; None when there are more than `most`, which are counted before one is read."""
    indexes = [site.folder.run_index(served, run) for run in runs]
    with listing.opened(site.folder.benchmark_index(served), indexes) as database:
        whole = find(database, msgspec.structs.replace(wanted, after=0, page=most), len(indexes))
    return whole.rows if whole.exact and whole.complete else None


def set_view(
    site: Site, served: ServedBenchmark, n: int, runs: Sequence[ServedRun], offset: int = 0, *,
    rankings: bool = True,
) -> dict[str, Any] | None:  # fmt: skip
    """A set with its bearers, their pages, what became of their queries, and some of these."""
    index = site.folder.benchmark_index(served)
    indexes = [site.folder.run_index(served, run) for run in runs]
    matrix, became = [], []
    with listing.opened(index) as database:
        if (name_set := listing.one_set(database, n)) is None:
            return None
        queries, count = listing.set_queries(database, n, offset)
    for run, own in zip(runs, indexes, strict=True):
        with listing.opened(index, [own]) as database:
            cells = listing.outcomes_of_set(database, n)
        became.append({q: what for per in cells.values() for q, what in per.items()})
        counts = {
            entity: {what: list(per.values()).count(what) for what in listing.BECAME}
            for entity, per in cells.items()
        }
        matrix.append((run, counts))
    for query in queries:
        query["became"] = [of_run.get(query["q"], "missing") for of_run in became]
    matrix.sort(key=lambda row: -sum(c["right"] for c in row[1].values()))
    with_about(served, index, queries)
    labels = set_labels(served, index, n)
    bearers = name_set["bearers"]
    texts = site.tables.passages(served.corpus, {p for bearer in bearers for p in bearer["pages"]})
    most = math.log10(1 + max((b["popularity"] or 0 for b in bearers), default=0)) or 1.0
    for bearer in bearers:
        bearer["label"] = labels.by_entity[bearer["entity"]]
        bearer["texts"] = [(p, *texts.get(p, (p, ""))) for p in bearer["pages"]]
        bearer["reach"] = math.log10(1 + (bearer["popularity"] or 0)) / most
    if rankings:
        with_rankings(site, served, queries, runs)
    paged = {"count": count, "offset": offset, "page": listing.PAGE}
    return {**name_set, "queries": queries, **paged, "matrix": matrix}


def query_view(
    site: Site, served: ServedBenchmark, q: int, runs: Sequence[ServedRun]
) -> dict[str, Any] | None:
    index = site.folder.benchmark_index(served)
    with listing.opened(index) as database:
        query = listing.one_query(database, q)
        others = listing.others_answers(database, query) if query else []
    if query is not None:
        with_about(served, index, [query])
        with_rankings(site, served, [query], runs)
        texts = site.tables.passages(served.corpus, query["gold"])
        labels = set_labels(served, index, query["n"])
        query["gold_texts"] = [
            (page, labels.page(page, title), text)
            for page, (title, text) in ((p, texts.get(p, (p, ""))) for p in query["gold"])
        ]
        query["systems"].sort(key=_best_first)
        query["readers"] = readers_of(site, served, query, others, labels)
    return query


def _best_first(system: Mapping[str, Any]) -> tuple[int, int, str]:
    """Gold high up first; among those without gold, those that hand over no namesake."""
    kinds = [result["kind"] for result in system["top"]]
    gold = kinds.index("gold") if "gold" in kinds else 99
    return gold, int("namesake" in kinds[:1]), system["run"].name


def with_rankings(
    site: Site, served: ServedBenchmark, queries: Sequence[dict[str, Any]], runs: Sequence[ServedRun]
) -> None:
    ids = [query["id"] for query in queries]
    tops = {run.key: site.tables.top(run.folder.path("rankings.parquet"), ids) for run in runs}
    index = site.folder.benchmark_index(served)
    wanted = {p for top in tops.values() for rows in top.values() for _, p, _ in rows}
    texts = site.tables.passages(served.corpus, wanted)
    for query in queries:
        labels = set_labels(served, index, query["n"])
        query["systems"] = [
            {"run": run, "top": [_result(query, row, texts, labels) for row in tops[run.key].get(query["id"], ())]}
            for run in runs
        ]  # fmt: skip


def _result(
    query: Mapping[str, Any], row: tuple[int, str, float], texts: Mapping[str, tuple[str, str]],
    labels: SetLabels,
) -> dict[str, Any]:  # fmt: skip
    rank, passage, score = row
    page = page_of(passage)
    title, text = texts.get(passage, (passage, ""))
    kind = kind_of_page(page, query["gold"], query["others"])
    leads_on = title.endswith("(disambiguation)") or "may refer to:" in text[:200]
    return {
        "rank": rank, "disambiguation": leads_on, "id": passage, "score": score, "kind": kind,
        "title": labels.page(page, title),
        "text": highlighted(text, query["input"]),
    }  # fmt: skip


def compare_view(
    site: Site, served: ServedBenchmark, first: ServedRun, second: ServedRun, offset: int = 0
) -> dict[str, Any]:
    index = site.folder.benchmark_index(served)
    indexes = [site.folder.run_index(served, run) for run in (first, second)]
    with listing.opened(index, indexes) as database:
        rows, count = listing.differences(database, offset)
        with_about(served, index, rows)
        return {
            "rows": rows, "count": count, "offset": offset, "following": offset + listing.DIFFERENCES,
            "agreement": listing.agreement_table(database),
            "counts": [listing.outcome_counts(database, number) for number in (0, 1)],
        }  # fmt: skip
