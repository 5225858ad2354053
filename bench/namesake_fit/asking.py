"""Questions back on held-out names: whether one is asked, what it gives away, and whether one answer decides."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from namesake_fit.sets import by_hash, first_half, makers
from namesake_fit.table import rate
from whichone.names import fold

_WORD = re.compile(r"[^\W_]+")
MOST = 300
KNOWN = 0.5  # The share of the attributes of the one who is meant that the user knows
HEAD = (
    "| set | open questions | asked | in words, right after one answer | all, right after one answer | gave the value away | "
    "clear questions | asked |\n| --- | --- | --- | --- | --- | --- | --- | --- |"
)


def table(work: Path, players: Path | None, only: str) -> str:
    lines = [HEAD]
    for name, make in makers(work, players, ()).items():
        if only and not name.startswith(tuple(only.split(","))):
            continue
        benchmark = make()
        if benchmark is None or name == "48k":
            continue
        rows = (work / name).with_suffix(".parts") / "rows.csv"
        lines.append(row(name, benchmark, _catalogue(rows) if rows.exists() else {}, work))
    return "\n".join(lines)


def _catalogue(rows: Path) -> dict[str, dict[str, str]]:
    with rows.open() as file:
        return {
            r["id"]: {k: v for k, v in r.items() if k not in ("id", "name") and v}
            for r in csv.DictReader(file)
        }


def row(name: str, benchmark: Any, known: Mapping[str, Mapping[str, str]], work: Path) -> str:
    """A set whose bearers are known by attributes, or by their pages."""
    import whichone

    if known:
        records = [
            {**known[str(p.entity).partition(":")[2]], "id": p.id, "page": p.page, "title": p.title, "entity": p.entity, "text": p.title}
            for p in benchmark.passage_records()
        ]  # fmt: skip
        namesake = whichone.Namesake.over(records, encoder="none")
    else:
        namesake = whichone.Namesake.over(benchmark.corpus, encoder="none")
    held_out = [q for q in by_hash(benchmark.queries) if not first_half(q)]
    unclear = [
        q for q in held_out if q.attributes.get("underspecified") or q.attributes.get("resolvable") == "no"
    ][:MOST]
    clear = [
        q
        for q in held_out
        if q.attributes.get("underspecified") is False or q.attributes.get("resolvable") == "yes"
    ][:MOST]
    asked, said, every, given = [], [], [], []
    for query in unclear or held_out[:MOST]:
        believed = namesake.resolve(query.input)
        asked.append(believed.outcome == "ask")
        if believed.question is None or believed.outcome != "ask":
            continue
        given.append(_gives_away(believed.question, query))
        if not known:
            continue
        own = known[str(query.entity).partition(":")[2]]
        answer = answered(query.id, str(query.entity), own, believed)
        decided = namesake.resolve(query.input, answer=answer)
        right = decided.best is not None and decided.best.id == query.entity and decided.outcome == "this one"
        every.append(right)
        if answer != "another":
            said.append(right)
    back = [namesake.resolve(q.input).outcome == "ask" for q in clear]
    cells = [
        name, f"{len(unclear)}" if unclear else f"({len(asked)})", rate(asked), rate(said), rate(every),
        f"{sum(given)} of {len(given)}", f"{len(clear)}", rate(back),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _gives_away(question: str, query: Any) -> bool:
    """Whether the value that was asked for is in the question back as a word of its own."""

    def words(text: str, short: bool) -> str:
        return f" {' '.join(_WORD.findall(text if short else fold(text)))} "

    answers = [(answer, len(answer) <= 3) for answer in query.answers()]  # "IN" is not "in"
    return any(words(a, short) in words(question, short) for a, short in answers if words(a, short).strip())


def answered(key: str, meant: str, own: Mapping[str, str], believed: Any) -> str:
    """What a user says who knows half of what there is to know of the one who is meant."""
    chance = _chances(key)
    knows = {name for name in own if next(chance) < KNOWN} or {min(own)}
    if meant not in believed.choices:
        return "another"
    shown = [n for n in sorted(knows) if own[n] in believed.question or own[n][:4] in believed.question]
    if not shown:
        return "I only know " + " and ".join(f"the {name}, {own[name]}" for name in sorted(knows)[:2])
    name, place = shown[0], believed.choices.index(meant)
    others = [b.attributes.get(name) for b in believed.bearers if b.id in believed.choices and b.id != meant]
    ways = [
        own[name],
        f"the one with {own[name]}",
        str(place + 1),
        ["the first", "the second", "the third", "the fourth"][place],
    ]
    if len(others) == 1 and others[0]:
        ways.append(f"not {others[0]}")
    return ways[int(next(chance) * len(ways))]


def _chances(key: str) -> Iterator[float]:
    yield from (
        np.random.default_rng(int(hashlib.sha256(key.encode()).hexdigest()[:8], 16)).random(50).tolist()
    )
