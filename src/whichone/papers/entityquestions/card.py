"""The card of a built EntityQuestions benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whichone.papers.entityquestions.criteria import RelationCount
from whichone.records import Query

if TYPE_CHECKING:
    from whichone.papers.entityquestions.build import BuildOptions

CARD = """# EntityQuestions, built

Simple questions about one fact of one entity, made by template from a knowledge base. Every valid
answer is accepted, with its aliases; the ids of subject and objects are kept. {evidence}

Queries: {splits}. `rand_ent` and `train_ent` mark the bucket sets of {bucketed}. Buckets are eight of
equal summed {frequency} of the subjects, 0 the most frequent. Training facts ({train:,}, `train.jsonl`)
share no token of their {scope} with the test set of their relation (tokeniser {tokeniser}, stop words:
{stop_words}).

`resolvable` says whether anyone could have known whom the question means: {verdicts}.

| relation | facts | answers | commonest | kept |
| --- | ---: | ---: | --- | --- |
{relations}

| step | kept | removed |
| --- | ---: | ---: |
{steps}
"""


def card(
    options: BuildOptions,
    counts: Sequence[RelationCount],
    steps: Sequence[Mapping[str, Any]],
    queries: Sequence[Query],
    train: int,
) -> str:
    splits = Counter(str(q.attributes["split"]) for q in queries)
    verdicts = Counter(str(q.attributes["resolvable"]) for q in queries)
    return CARD.format(
        evidence="Evidence: T-REx aligns the fact with a sentence."
        if options.trex
        else "Evidence: an answer stands on the subject's page.",
        splits=", ".join(f"{n:,} {split}" for split, n in sorted(splits.items())),
        bucketed=", ".join(options.buckets) or "no relation",
        frequency={"links": "links", "views": "page views", "sitelinks": "sitelinks"}[
            options.frequency
        ],
        train=train,
        scope=options.train_scope,
        tokeniser=options.tokeniser,
        stop_words=options.stop_words or "none",
        verdicts=", ".join(f"{verdict} {n:,}" for verdict, n in sorted(verdicts.items())),
        relations="\n".join(_row(count) for count in counts),
        steps="\n".join(f"| {s['step']} | {s['kept']:,} | {s['removed']:,} |" for s in steps),
    )


def _row(count: RelationCount) -> str:
    common = f"{count.commonest_answer} ({count.commonest_share:.0%})" if count.answers else ""
    kept = "yes" if count.kept else f"no: {count.reason}"
    return f"| {count.relation} {count.label} | {count.facts:,} | {count.answers:,} | {common} | {kept} |"
