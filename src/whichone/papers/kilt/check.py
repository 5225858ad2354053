"""What a record of each task must look like: a file of another dataset is recognised by its first line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whichone.papers.kilt.record import SEPARATOR, NotKilt, mention_of
from whichone.records import Provenance, Query

CLAIM_ANSWERS = frozenset(("SUPPORTS", "REFUTES"))


def check_task(query: Query) -> None:
    """Raise `NotKilt` for a record that cannot be one of its task."""
    if query.task == "el" and query.input and mention_of(query.input) is None:
        raise NotKilt("an entity-linking input marks its mention with [START_ENT] and [END_ENT]")
    if query.task == "sf" and query.input and SEPARATOR not in query.input:
        raise NotKilt("a slot-filling input reads: subject [SEP] relation")
    if query.task == "fc":
        odd = [o.answer for o in query.outputs if o.answer and o.answer not in CLAIM_ANSWERS]
        if odd:
            raise NotKilt(f"a claim is SUPPORTS or REFUTES, not {odd[0]!r}")


def span_problem(entry: Provenance, lengths: Sequence[int]) -> str | None:
    """What is wrong with a span on a page with paragraphs of these lengths; None when it is within it."""
    start, end = entry.start_paragraph, entry.end_paragraph
    if start is None or end is None or min(start, end) < 0:
        return None
    if max(start, end) >= len(lengths):
        return f"paragraph {max(start, end)} of a page with {len(lengths)}"
    first, last = entry.start_character, entry.end_character
    if first is None or last is None or min(first, last) < 0:
        return None
    if first > lengths[start] or last > lengths[end]:
        return f"character {max(first, last)} is beyond its paragraph"
    return "the span ends before it begins" if (start, first) > (end, last) else None


def page_problems(query: Query, pages: Mapping[str, Sequence[int]]) -> list[str]:
    """Gold that a knowledge base does not contain as the record says; `pages` gives the lengths of paragraphs."""
    problems = []
    for output in query.outputs:
        for entry in (entry for group in output.provenance for entry in group):
            if entry.page not in pages:
                problems.append(f"no page {entry.page} ({entry.title or 'no title'})")
            elif problem := span_problem(entry, pages[entry.page]):
                problems.append(f"{entry.page}: {problem}")
    return problems
