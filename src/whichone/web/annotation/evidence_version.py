"""The new version of a benchmark that a campaign for evidence makes, with its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Output, Provenance, Query, page_of
from whichone.web.annotation.done import MAJORITY, annotation_lines
from whichone.web.annotation.evidence_merge import (
    NOBODY,
    Judgements,
    dropped,
    gold_rejected,
    new_passages,
)
from whichone.web.annotation.pasted import Resolved, agreed
from whichone.web.annotation.queue import PEOPLE, Plan

ANNOTATIONS = "annotations.jsonl"
_COUNTS = ("finished", "dropped", "passages_added", "pasted_merged", "in_second_queue")


def new_benchmark(
    benchmark: Benchmark, tasks: Sequence[Judgements], path: Path, *, campaign: str, plan: Plan,
    results: Mapping[str, Any], resolved: Mapping[str, Resolved], without: frozenset[str] = NOBODY,
) -> Benchmark:  # fmt: skip
    """The benchmark with the passages people accepted, without questions whose gold they rejected."""
    settled = {d.task.query: d for d in tasks if d.settled}
    titles = benchmark.page_titles
    queries = []
    for query in benchmark.queries:
        done = settled.get(query.id)
        if done is None:
            queries.append(query)
        elif not dropped(done, resolved, without):
            added = _evidence(done, resolved, without, titles)
            queries.append(_with_evidence(query, added, gold_rejected(done, without)))
    return save_benchmark(
        path,
        name=benchmark.name,
        queries=queries,
        corpus=benchmark.corpus,
        sets=benchmark.sets,
        card=f"{benchmark.card}\n\n{_history(benchmark, campaign, results)}",
        parameters={**benchmark.folder.manifest.parameters, "campaign": campaign,
                    "campaign_plan": msgspec.to_builtins(plan), "left_out_people": sorted(without)},
        sources=benchmark.folder.manifest.sources,
        parents={**benchmark.folder.manifest.parents, "benchmark": benchmark.id},
        counts={k: results[k] for k in _COUNTS},
        files={ANNOTATIONS: annotation_lines(tasks)},
    )  # fmt: skip


def _evidence(
    done: Judgements, resolved: Mapping[str, Resolved], without: frozenset[str],
    titles: Mapping[str, str],
) -> list[Provenance]:  # fmt: skip
    """The passages that two accepted, with what they marked, then those that two pasted."""
    evidence: list[tuple[str, dict[str, Any]]] = []
    for identity in new_passages(done, without):
        said = {p: a.passages[identity] for p, a in done.first.items() if p not in without}
        yes = {person: judged for person, judged in said.items() if judged.enough}
        spans = sorted({judged.span for judged in yes.values()})
        evidence.append((identity, {"annotators": sorted(yes), "spans": spans}))
    for identity, people in agreed(done, resolved, without).items():
        evidence.append((identity, {"annotators": people, "pasted": True}))
    return [
        Provenance(page=page_of(p), title=titles.get(page_of(p)), passage=p, attributes=attributes)
        for p, attributes in evidence
    ]


def _with_evidence(query: Query, added: Sequence[Provenance], replaced: bool) -> Query:
    """New passages as further sets of provenance of the first output, or in place of rejected ones."""
    if not added or not query.outputs:
        return query
    first: Output = query.outputs[0]
    before = () if replaced else first.provenance
    output = msgspec.structs.replace(first, provenance=(*before, *((p,) for p in added)))
    rest = query.outputs[1:]
    if replaced:
        rest = tuple(msgspec.structs.replace(o, provenance=()) for o in rest)
    return msgspec.structs.replace(query, outputs=(output, *rest))


def _history(benchmark: Benchmark, campaign: str, results: Mapping[str, Any]) -> str:
    return (
        f"## Annotated version of {benchmark.id}\n\n"
        f"Campaign {campaign}: {results['finished']} questions judged by {PEOPLE} people each, "
        f"{results['dropped']} dropped because their gold passage was rejected, "
        f"{results['passages_added']} passages added by a majority of {MAJORITY}, "
        f"{results['pasted_merged']} more that {MAJORITY} people pasted. "
        f"Every annotation is in {ANNOTATIONS}, under pseudonyms.\n"
    )
