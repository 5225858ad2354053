"""The same questions with names as people write them: a benchmark with a noise axis."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.names import without_parentheses
from whichone.records import NameSet, Query
from whichone.retrieval.namesake.spelling import folded, nicknames

STRONGEST = 3
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
Change = Callable[[list[str], int, random.Random], list[str] | None]


def _typo(words: list[str], strength: int, draw: random.Random) -> list[str] | None:
    """So many edits, each in a word of four letters or more."""
    changed = list(words)
    for _ in range(strength):
        long = [n for n, word in enumerate(changed) if len(word) >= 4]
        if not long:
            return None
        n = draw.choice(long)
        changed[n] = _edited(changed[n], draw)
    return changed if changed != words else None


def _edited(word: str, draw: random.Random) -> str:
    at = draw.randrange(1, len(word) - 1)
    letter = draw.choice(_LETTERS)
    return draw.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        ]
    )


def _initials(words: list[str], strength: int, draw: random.Random) -> list[str] | None:
    """The first so many words by their first letters."""
    if len(words) <= strength or not all(word[0].isalpha() for word in words):
        return None
    return [f"{word[0]}." for word in words[:strength]] + words[strength:]


def _order(words: list[str], strength: int, draw: random.Random) -> list[str] | None:
    """The last word first: with a comma, or, stronger, without."""
    if len(words) < 2 or strength > 2:
        return None
    return [f"{words[-1]}," if strength == 1 else words[-1], *words[:-1]]


def _nickname(words: list[str], strength: int, draw: random.Random) -> list[str] | None:
    short = [nick for nick, full in nicknames().items() if folded(words[0].casefold()) in full]
    if not short or len(words) < 2 or strength > 1:
        return None
    return [sorted(short)[draw.randrange(len(short))].capitalize(), *words[1:]]


def _accents(words: list[str], strength: int, draw: random.Random) -> list[str] | None:
    """Without accents, in plain Latin letters."""
    plain = [folded(word) if not word.isascii() else word for word in words]
    plain = [p.capitalize() if w[0].isupper() else p for p, w in zip(plain, words, strict=True)]
    return plain if strength == 1 and plain != words else None


def _partial(words: list[str], strength: int, draw: random.Random) -> list[str] | None:
    """The first so many words left out."""
    return words[strength:] if len(words) > strength else None


def _possessive(words: list[str], strength: int, draw: random.Random) -> list[str] | None:
    """A genitive: with an apostrophe, or, stronger, without."""
    if strength > 2 or words[-1].endswith("s"):
        return None
    return [*words[:-1], words[-1] + ("'s" if strength == 1 else "s")]


def _case(words: list[str], strength: int, draw: random.Random) -> list[str] | None:
    small = [word.lower() for word in words]
    return small if strength == 1 and small != words else None


KINDS: Mapping[str, Change] = {
    "typo": _typo,
    "initials": _initials,
    "order": _order,
    "nickname": _nickname,
    "accents": _accents,
    "partial": _partial,
    "possessive": _possessive,
    "case": _case,
}


def noisy_benchmark(
    benchmark: Benchmark,
    out: str | Path,
    *,
    kinds: Sequence[str] = tuple(KINDS),
    strongest: int = STRONGEST,
    seed: int = 0,
) -> Benchmark:
    """Every question as it is, and with its name written in each way that it can be, by kind and strength.

    `noise` and `strength` are attributes of the questions; those of one question share its name set.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"there is no noise {kind!r}", hint=did_you_mean(kind, KINDS))
    queries = list(_noisy(benchmark, kinds, strongest, seed))
    changed = sum(query.attributes["noise"] != "none" for query in queries)
    if not changed:
        raise BadInput(
            "no question contains the name that it is about",
            file=benchmark.folder.root,
            hint="say which name a question is about: --name when importing",
        )
    kept: list[NameSet] = [*benchmark.sets]
    return save_benchmark(
        out,
        name=f"{benchmark.name}-noise",
        queries=queries,
        corpus=benchmark.corpus,
        sets=kept,
        card=f"{benchmark.card}\n\nNames as people write them: {', '.join(kinds)} (`noise`, `strength`).\n",
        parents={"benchmark": benchmark.folder.content_hash},
        counts={"noisy": changed},
        parameters={"kinds": list(kinds), "strongest": strongest, "seed": seed},
        allow_no_gold=True,
    )


def _noisy(
    benchmark: Benchmark, kinds: Sequence[str], strongest: int, seed: int
) -> Iterator[Query]:
    for query in benchmark.queries:
        name = without_parentheses(query.name or query.mention or "")
        place = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", query.input) if name else None
        clear = {**query.attributes, "noise": "none", "strength": 0}
        yield msgspec.structs.replace(query, attributes=clear)
        if place is None:
            continue
        for kind in kinds:
            for strength in range(1, strongest + 1):
                draw = random.Random(f"{seed} {query.id} {kind} {strength}")
                words = KINDS[kind](name.split(), strength, draw)
                if words is None:
                    continue
                text = query.input[: place.start()] + " ".join(words) + query.input[place.end() :]
                yield msgspec.structs.replace(
                    query,
                    id=f"{query.id}~{kind}{strength}",
                    input=text,
                    mention=None,
                    attributes={**query.attributes, "noise": kind, "strength": strength},
                )
