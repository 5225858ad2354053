"""What a campaign comes to: a majority of two merges, agreement, controls, a new version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Output, Provenance, Query, page_of
from whichone.text.rouge import best_rouge_l, sentence_words
from whichone.web.agreement import fleiss_kappa, mean_cohen_kappa
from whichone.web.campaign import FIRST, PEOPLE, SECOND, Annotation
from whichone.web.campaign_tasks import Task
from whichone.web.storage.database import Row

MAJORITY = 2
LEAST_CONTROLS = 3
LEAST_PASSED = 0.7
"""Whoever accepts a smaller share of at least so many gold passages is flagged."""


class Done(msgspec.Struct, frozen=True):
    """One task with what each person said, first queue and second."""

    number: int
    task: Task
    queue: int
    first: dict[str, Annotation]
    second: dict[str, Annotation]
    seconds: dict[str, float]

    def accepted(self, without: frozenset[str] = frozenset()) -> list[str]:
        """Passages that a majority found enough; in the second queue also whoever looked again."""
        votes = [a for person, a in self.first.items() if person not in without]
        kept = []
        for passage in self.task.passages:
            yes = sum(a.passages[passage.id].enough for a in votes)
            again = all(a.passages[passage.id].enough for a in self.second.values())
            if yes >= MAJORITY and again:
                kept.append(passage.id)
        return kept


def done_tasks(rows: Iterable[Row]) -> list[Done]:
    found: dict[int, Done] = {}
    for row in rows:
        done = found.get(row["task"])
        if done is None:
            task = msgspec.json.decode(row["task_content"], type=Task)
            done = found[row["task"]] = Done(row["task"], task, row["task_queue"], {}, {}, {})
        if row["content"] is not None:
            said = msgspec.json.decode(row["content"], type=Annotation)
            (done.first if row["queue"] == FIRST else done.second)[row["person"]] = said
            done.seconds[row["person"]] = row["seconds"]
    return list(found.values())


def low_overlap(done: Done, texts: Mapping[str, str], limit: float) -> bool:
    """Whether no accepted passage reaches the limit of ROUGE-L with any gold answer."""
    accepted = done.accepted()
    if not accepted or not limit:
        return False
    golds = [sentence_words(answer) for answer in done.task.answers]
    best = max(best_rouge_l(sentence_words(texts.get(p, "")), golds) for p in accepted)
    return best < limit


def controls(tasks: Sequence[Done]) -> dict[str, dict[str, Any]]:
    """For each person how many gold passages they saw and accepted, and whether they are flagged."""
    found: dict[str, dict[str, Any]] = {}
    for done in tasks:
        for person, said in done.first.items():
            told = found.setdefault(
                person, {"tasks": 0, "controls": 0, "passed": 0, "seconds": []}
            )  # fmt: skip
            told["tasks"] += 1
            told["seconds"].append(done.seconds[person])
            for passage in done.task.passages:
                if passage.control:
                    told["controls"] += 1
                    told["passed"] += said.passages[passage.id].enough
    for told in found.values():
        told["seconds"] = median(told["seconds"])
        enough = told["controls"] >= LEAST_CONTROLS
        told["flagged"] = enough and told["passed"] / told["controls"] < LEAST_PASSED
    return dict(sorted(found.items()))


def campaign_results(
    tasks: Sequence[Done],
    gold_pages: Callable[[str], frozenset[str]],
    *,
    without_flagged: bool = False,
) -> dict[str, Any]:
    """Counts, agreement, people, and pages per question before and after."""
    people = controls(tasks)
    without = frozenset(p for p, told in people.items() if told["flagged"]) if without_flagged else frozenset()  # fmt: skip
    ratings: dict[str, dict[Any, Any]] = {}
    for done in tasks:
        for person, said in done.first.items():
            for identity, judged in said.passages.items():
                ratings.setdefault(person, {})[done.number, identity] = judged.enough
    full = [d for d in tasks if len(d.first) >= PEOPLE]
    waiting = [d for d in full if d.queue == SECOND and not d.second]
    settled = [d for d in full if d not in waiting]
    rejected = [d for d in settled if gold_rejected(d, without)]
    kept = [d for d in settled if d not in rejected]
    before = [len(gold_pages(d.task.query)) for d in kept]
    after = [
        len(gold_pages(d.task.query) | {page_of(p) for p in d.accepted(without)}) for d in kept
    ]
    said_all = [a for d in tasks for a in (*d.first.values(), *d.second.values())]
    return {
        "tasks": len(tasks),
        "annotations": len(said_all),
        "finished": len(full),
        "in_second_queue": len(waiting),
        "dropped": len(rejected),
        "passages_added": sum(len(new_passages(d, without)) for d in kept),
        "other_evidence": sum(bool(a.other.strip()) for a in said_all),
        "reasons": sum(bool(a.reason.strip()) for a in said_all),
        "pages_before": fmean(before) if before else None,
        "pages_after": fmean(after) if after else None,
        "cohen": mean_cohen_kappa(ratings),
        "fleiss": fleiss_kappa(ratings),
        "people": people,
        "flagged": sorted(p for p, told in people.items() if told["flagged"]),
    }


def gold_rejected(done: Done, without: frozenset[str] = frozenset()) -> bool:
    gold = {p.id for p in done.task.passages if p.control}
    return bool(gold) and gold.isdisjoint(done.accepted(without))


def new_passages(done: Done, without: frozenset[str] = frozenset()) -> list[str]:
    gold = {p.id for p in done.task.passages if p.control}
    return [p for p in done.accepted(without) if p not in gold]


def new_version(
    benchmark: Benchmark, tasks: Sequence[Done], path: Path, *, campaign: str, plan: Any,
    results: Mapping[str, Any], without: frozenset[str] = frozenset(),
) -> Benchmark:  # fmt: skip
    """The benchmark with the passages people accepted, without questions whose gold they rejected."""
    full = {d.task.query: d for d in tasks if len(d.first) >= PEOPLE}
    settled = {q: d for q, d in full.items() if d.queue != SECOND or d.second}
    titles = benchmark.page_titles
    queries = []
    for query in benchmark.queries:
        done = settled.get(query.id)
        if done is None:
            queries.append(query)
        elif not gold_rejected(done, without):
            queries.append(_with_evidence(query, done, without, titles))
    lines = [
        msgspec.json.encode({"query": d.task.query, "passages": d.task.passages, "first": d.first,
                             "second": d.second, "seconds": d.seconds}, order="sorted")
        for d in tasks
    ]  # fmt: skip
    return save_benchmark(
        path,
        name=benchmark.name,
        queries=queries,
        passages=benchmark.passages,
        sets=benchmark.sets,
        card=f"{benchmark.card}\n\n{_history(benchmark, campaign, results)}",
        parameters={**benchmark.folder.manifest.parameters, "campaign": campaign,
                    "campaign_plan": msgspec.to_builtins(plan), "left_out_people": sorted(without)},
        sources=benchmark.folder.manifest.sources,
        parents={**benchmark.folder.manifest.parents, "benchmark": benchmark.id},
        counts={k: results[k] for k in ("finished", "dropped", "passages_added", "in_second_queue")},
        files={"annotations.jsonl": b"".join(line + b"\n" for line in lines)},
    )  # fmt: skip


def _with_evidence(
    query: Query, done: Done, without: frozenset[str], titles: Mapping[str, str]
) -> Query:
    """New passages as further sets of provenance of the first output, with what people marked."""
    added = tuple(
        (
            Provenance(
                page=page_of(identity),
                title=titles.get(page_of(identity)),
                passage=identity,
                attributes={
                    "annotators": sorted(p for p, a in done.first.items() if a.passages[identity].enough),
                    "spans": sorted({a.passages[identity].span for a in done.first.values() if a.passages[identity].enough}),
                },
            ),
        )
        for identity in new_passages(done, without)
    )  # fmt: skip
    if not added or not query.outputs:
        return query
    first: Output = query.outputs[0]
    output = msgspec.structs.replace(first, provenance=(*first.provenance, *added))
    return msgspec.structs.replace(query, outputs=(output, *query.outputs[1:]))


def _history(benchmark: Benchmark, campaign: str, results: Mapping[str, Any]) -> str:
    return (
        f"## Annotated version of {benchmark.id}\n\n"
        f"Campaign {campaign}: {results['finished']} questions judged by {PEOPLE} people each, "
        f"{results['dropped']} dropped because their gold passage was rejected, "
        f"{results['passages_added']} passages added by a majority of {MAJORITY}. "
        "Every annotation is in annotations.jsonl, under pseudonyms.\n"
    )
