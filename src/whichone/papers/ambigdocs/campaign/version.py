"""New versions of folders of answers with the categories that people gave, and their history."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.files.folder import Folder
from whichone.papers.ambigdocs.campaign.labels import Labels, majority
from whichone.runs.run import ANSWERS, ANSWERS_KIND, ANSWERS_TIMING, FAILURES, LEFT_OUT
from whichone.web.annotation.campaign_kind import annotation_lines
from whichone.web.annotation.task_queue import Plan

LABELS = "labels.csv"
ANNOTATIONS = "annotations.jsonl"
_COUNTS = ("tasks", "decided", "undecided", "in_second_queue")


def new_answers(
    folder: Folder, tasks: Sequence[Labels], path: Path, *, name: str, campaign: str, plan: Plan,
    results: Mapping[str, Any], without: frozenset[str] = frozenset(),
) -> Folder:  # fmt: skip
    """One system's answers with the majority's category in the notes of each that was decided.

    `labels.csv` is what `whichone score ambigdocs --people` reads; `annotations.jsonl` has every
    annotation, controls included, under pseudonyms.
    """
    own = [d for d in tasks if d.task.system == name]
    labels = {d.task.query: (d, c) for d in own if d.settled and (c := majority(d, without))}
    manifest = folder.manifest
    with Folder.create(path, ANSWERS_KIND) as folders:
        folders.write(ANSWERS, ANSWERS.from_rows(_rows(folder, labels, without)))
        for schema in (FAILURES, LEFT_OUT, ANSWERS_TIMING):
            folders.write(schema, folder.table(schema.name))
        folders.write_bytes(LABELS, label_table([d for d, _ in labels.values()], without).encode())
        folders.write_bytes(
            ANNOTATIONS, annotation_lines([d for d in tasks if d in own or d.task.control])
        )
        folders.commit(
            name=f"{name} (annotated)",
            parameters={**manifest.parameters, "campaign": campaign,
                        "campaign_plan": msgspec.to_builtins(plan), "left_out_people": sorted(without)},
            sources=manifest.sources,
            parents={**manifest.parents, "answers": f"{manifest.name}-{folder.content_hash[:12]}"},
            counts={**manifest.counts, **{f"campaign_{k}": results[k] for k in _COUNTS}},
            made=manifest.made,
        )  # fmt: skip
    return Folder.open(path, ANSWERS_KIND)


def _rows(
    folder: Folder, labels: Mapping[str, tuple[Labels, Any]], without: frozenset[str]
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = folder.table("answers").to_pylist()
    for row in rows:
        if row["question"] not in labels:
            continue
        done, category = labels[row["question"]]
        notes = msgspec.json.decode(row["notes"]) if row["notes"] else {}
        said = {**done.first, **done.second}
        notes["category"] = {
            "people": category.value, "measure": done.task.automatic,
            "votes": {p: a.category for p, a in sorted(said.items()) if p not in without},
        }  # fmt: skip
        row["notes"] = msgspec.json.encode(notes, order="sorted").decode()
    return rows


def label_table(tasks: Sequence[Labels], without: frozenset[str] = frozenset()) -> str:
    """A line an answer: qid, the majority's category, the measure's, the system, every vote."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["qid", "category", "measure", "system", "votes"])
    for done in tasks:
        label = majority(done, without)
        said = {**done.first, **done.second}
        votes = "; ".join(f"{p}: {a.category}" for p, a in sorted(said.items()) if p not in without)
        task = done.task
        writer.writerow([task.qid, label or "", task.automatic, task.system, votes])
    return out.getvalue()
