"""What readers and agents answered to one query, and an agent's calls step by step."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from whichone.measures.answer_measures import step_of
from whichone.measures.outcomes import ACT, CLAIMS, SEVERAL, Outcome, text_outcome
from whichone.measures.ranking_measures import kind_of_page
from whichone.records import Call, page_of
from whichone.runs.agent_runner import TRACE
from whichone.web.explorer.bearers import SetLabels
from whichone.web.served_folder import ServedBenchmark
from whichone.web.site import Site

OUTCOMES: dict[Outcome, tuple[str, str, str]] = {
    "right": ("gold", "✓", "right"),
    "several": ("other", "≈", "right, but for several"),
    "asked": ("other", "?", "asked back"),
    "refused": ("other", "∅", "refused"),
    "namesake": ("namesake", "✗", "answered for a namesake"),
    "wrong": ("other", "–", "wrong"),
}
"""Colour, sign and words of each outcome of an answer."""
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
        row = site.tables.answer(folder.path("answers.parquet"), query["id"])
        if row is None:
            continue
        notes = json.loads(row.pop("notes") or "{}")
        trace = notes.get(TRACE) if isinstance(notes, dict) else None
        listed = trace.get("calls", []) if isinstance(trace, dict) else []
        steps = _steps(site, served, query, msgspec.convert(listed, list[Call]), labels)
        result = _outcome(row, query, others)
        readers.append(
            {
                "name": folder.manifest.name or folder.root.name,
                "outcome": OUTCOMES[result] if result else None,
                "steps": steps,
                "mended": _mended(steps),
                **row,
            }
        )
    return readers


def _outcome(
    row: Mapping[str, Any], query: Mapping[str, Any], others: Sequence[str]
) -> Outcome | None:
    """By the rules, where the query has an accepted answer."""
    if not query["answers"] or query["task"] in (SEVERAL, ACT):
        return None
    if row["asks"] is not None:
        return "asked"
    if row["text"] is None:
        return "refused"
    known = () if query["task"] == CLAIMS else tuple(others)
    return text_outcome(row["text"], tuple(query["answers"]), known)


def _steps(
    site: Site, served: ServedBenchmark, query: Mapping[str, Any], calls: Sequence[Call],
    labels: SetLabels,
) -> list[dict[str, Any]]:  # fmt: skip
    gold, others = frozenset(query["gold"]), frozenset(query["others"])
    texts = site.tables.passages(served.corpus, [p for call in calls for p in call.passages])
    steps = []
    for call in calls:
        results = [
            {
                "id": passage,
                "title": labels.page(page_of(passage), texts.get(passage, (passage, ""))[0]),
                "kind": kind_of_page(page_of(passage), gold, others),
            }
            for passage in call.passages
        ]
        brought = step_of(call, gold, others) if call.tool == "search" else ""
        steps.append(
            {
                "tool": call.tool.replace("_", " "),
                "input": call.input,
                "text": call.text,
                "arguments": dict(call.arguments),
                "found": results,
                "brought": STEPS.get(brought),
            }
        )
    return steps


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
