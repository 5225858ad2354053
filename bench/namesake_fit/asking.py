"""Questions back on held-out names: whether one is asked, what it gives away, and whether one answer decides."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    "| set | open questions | asked | right after one answer that tells | an answer that fits several: asked again | "
    "right after any answer | gave the value away | clear questions | asked |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
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


def row(
    name: str, benchmark: Any, known: Mapping[str, Mapping[str, str]], work: Path, *, held_out: bool = True
) -> str:
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
    half = [q for q in by_hash(benchmark.queries) if first_half(q) != held_out]
    unclear = [
        q for q in half if q.attributes.get("underspecified") or q.attributes.get("resolvable") == "no"
    ]
    clear = [
        q
        for q in half
        if q.attributes.get("underspecified") is False or q.attributes.get("resolvable") == "yes"
    ]
    if not unclear:  # each asks for what one of the bearers alone has: these can be resolved
        unclear, clear = only_named(benchmark, half), clear or [q for q in half if q.task == "qa"]
    of_whom = {b.entity: set(b.pages) for s in benchmark.sets for b in s.bearers}
    asked, said, every, given, again = [], [], [], [], []
    for query in unclear[:MOST]:
        believed = namesake.resolve(query.input)
        asked.append(believed.outcome == "ask")
        if believed.question is None or believed.outcome != "ask":
            continue
        given.append(_gives_away(believed.question, query))
        meant = {str(query.entity)} if known else query.gold_pages()
        if known:
            own = known[str(query.entity).partition(":")[2]]
            answer = answered(query, own, believed)
            several = fits(answer, own, believed) > 1
        else:
            own = {*meant, *of_whom.get(query.entity, ())}
            answer, pieces = told(query, believed, benchmark.corpus)
            several = text_fits(pieces, own, believed, benchmark.corpus)
        decided = namesake.resolve(query.input, answer=answer)
        right = decided.best is not None and decided.best.id in meant and decided.outcome == "this one"
        every.append(right)
        if several:
            again.append(decided.outcome == "ask")
        elif answer != "another":
            said.append(right)
    back = [namesake.resolve(q.input).outcome == "ask" for q in clear[:MOST]]
    cells = [
        name, f"{len(asked)}", rate(asked), rate(said), f"{sum(again)} of {len(again)}", rate(every),
        f"{sum(given)} of {len(given)}", f"{len(back)}", rate(back),
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


NAMED = ("Tell me about {}.", "What do you know about {}?", "Who or what is {}?", "What is known of {}?")


def only_named(benchmark: Any, half: Sequence[Any]) -> list[Any]:
    """Questions that say nothing but a name that several pages of the corpus have; one of these is meant."""
    names = {query.name for query in half}
    sets = [s for s in benchmark.sets if s.name in names and sum(bool(b.pages) for b in s.bearers) > 1]
    made = {}
    for name_set in sorted(sets, key=lambda s: s.id):
        chance = _chances(name_set.id)
        meant = [b for b in name_set.bearers if b.pages][
            int(next(chance) * sum(bool(b.pages) for b in name_set.bearers))
        ]
        text = NAMED[int(next(chance) * len(NAMED))].format(name_set.name)
        made.setdefault(name_set.name, Named(name_set.id, text, meant.entity, frozenset(meant.pages)))
    return list(made.values())


@dataclass(frozen=True)
class Named:
    """A question that only names somebody."""

    id: str
    input: str
    entity: str
    pages: frozenset[str]

    def gold_pages(self) -> frozenset[str]:
        return self.pages

    def answers(self) -> Sequence[str]:
        return ()


_PROPER = re.compile(r"(?<!^)(?<![.!?] )\b[A-Z][\w'’&-]*\w(?: [A-Z][\w'’&-]*\w)*")
_INSIDE = re.compile(r"\(([^()]+)\)$")
_IS = re.compile(r"\b(?:is|was|are|were) (?:an?|the) ([^.,;()]{4,60})")
_DATE = re.compile(r"\d{4}-\d\d-\d\d$")
READ = 5  # Texts that a user remembers of the one who is meant


_NOT_SAID = re.compile(r"\([\d to]+\)$|\b(?:the one (?:of|whose documents mention)|the|and)\b")


def told(query: Any, believed: Any, corpus: Any) -> tuple[str, list[str]]:
    """What a user says who knows half of what a few texts of the one who is meant say, and nothing else of them.

    A choice is taken only if all that it says is true of the one who is meant. The second is what of the texts is said.
    """
    chance = _chances(query.id)
    pages = sorted(query.gold_pages(), key=lambda page: hashlib.sha256(page.encode()).digest())[:READ]
    passages = list(corpus.get([i for page in pages for i in corpus.passages_of(page)[:1]]).values())
    pieces = [
        p
        for passage in passages
        for p in (
            passage.title,
            *_INSIDE.findall(passage.title),
            *_PROPER.findall(passage.text[:600]),
            *_IS.findall(passage.text[:300]),
        )
    ]
    hidden = {w for text in (query.input, *query.answers()) for w in _WORD.findall(fold(text))}
    new = [p for p in dict.fromkeys(pieces) if len(p) > 3 and not hidden & set(_WORD.findall(fold(p)))]
    knows = [p for p in new if next(chance) < KNOWN] or new[:1]
    if not knows:
        return "I do not know", []
    true = {w for p in passages for w in _WORD.findall(fold(f"{p.title} {p.text}"))}
    labels = _labels(believed.question)
    for place, label in enumerate(labels):
        own = (p for p in knows if p in label and sum(p in other for other in labels) == 1)
        says = set(_WORD.findall(fold(_NOT_SAID.sub("", label))))
        if (shown := next(own, None)) is None or not says <= true:
            continue
        ways = [
            shown,
            f"the one with {shown}",
            str(place + 1),
            ["the first", "the second", "the third", "the fourth"][place],
        ]
        way = int(next(chance) * len(ways))
        return ways[way], [shown] * (way < 2)
    return "I only know " + " and ".join(knows[:2]), knows[:2]


def text_fits(pieces: Sequence[str], own: Collection[str], believed: Any, corpus: Any) -> bool:
    """Whether another bearer has all that an answer says, in what the user could know of it."""
    others = [b.id for b in believed.bearers if b.id not in own]
    texts = corpus.get([i for page in others for i in corpus.passages_of(page)[:1]]).values()
    spaced = [f" {' '.join(_WORD.findall(fold(f'{p.title} {p.text}')))} " for p in texts]
    said = [f" {' '.join(_WORD.findall(fold(piece)))} " for piece in pieces]
    return bool(said) and any(all(piece in text for piece in said) for text in spaced)


def fits(answer: str, own: Mapping[str, str], believed: Any) -> int:
    """How many bearers have all that an answer says of the one who is meant: of two nobody could tell."""
    values = {value for value in own.values() if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", answer)}
    return sum(values <= set(bearer.attributes.values()) for bearer in believed.bearers) if values else 1


def _gives_away(question: str, query: Any) -> bool:
    """Whether the value that was asked for is in the question back as a word of its own."""

    def words(text: str, short: bool) -> str:
        return f" {' '.join(_WORD.findall(text if short else fold(text)))} "

    answers = [(answer, len(answer) <= 3) for answer in query.answers()]  # "IN" is not "in"
    return any(words(a, short) in words(question, short) for a, short in answers if words(a, short).strip())


def answered(query: Any, own: Mapping[str, str], believed: Any) -> str:
    """What a user says who knows half of what there is to know of the one who is meant, but what is asked for."""
    chance, meant = _chances(query.id), str(query.entity)
    known = [name for name in own if own[name] not in query.answers()]
    knows = {name for name in known if next(chance) < KNOWN} or {min(known)}
    if meant not in believed.choices:
        return "another"
    place = believed.choices.index(meant)
    labels = _labels(believed.question)
    label = labels[place] if len(labels) == len(believed.choices) else believed.question
    shown = [n for n in sorted(knows) if own[n] in label or (_DATE.match(own[n]) and own[n][:4] in label)]
    if not shown:
        return "I only know " + " and ".join(f"the {name}, {own[name]}" for name in sorted(knows)[:2])
    name = shown[0]
    others = [b.attributes.get(name) for b in believed.bearers if b.id in believed.choices and b.id != meant]
    ways = [
        own[name],
        f"the one with {own[name]}",
        str(place + 1),
        ["the first", "the second", "the third", "the fourth"][place],
    ]
    if len(others) == 1 and others[0] and others[0] != own[name]:  # else it would deny what is true
        ways.append(f"not {others[0]}")
    return ways[int(next(chance) * len(ways))]


def _labels(question: str) -> list[str]:
    return re.split(r", (?=the |or another)|: ", question)[1:-1]


def _chances(key: str) -> Iterator[float]:
    generator = np.random.default_rng(int(hashlib.sha256(key.encode()).hexdigest()[:8], 16))
    while True:
        yield from generator.random(50).tolist()
