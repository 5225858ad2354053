"""The same questions with names as people write them: a benchmark with a noise axis."""

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.names import name_key, without_parentheses
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
    plain = [w if w.isascii() else folded(w).capitalize() if w[0].isupper() else folded(w) for w in words]
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
    return save_benchmark(
        out,
        name=f"{benchmark.name}-noise",
        queries=queries,
        corpus=benchmark.corpus,
        sets=benchmark.sets,
        card=f"{benchmark.card}\n\nNames as people write them: {', '.join(kinds)} (`noise`, `strength`).\n",
        parents={"benchmark": benchmark.folder.content_hash},
        counts={"noisy": changed},
        parameters={"kinds": list(kinds), "strongest": strongest, "seed": seed},
        allow_no_gold=True,
    )


def _noisy(benchmark: Benchmark, kinds: Sequence[str], strongest: int, seed: int) -> Iterator[Query]:
    for query in benchmark.queries:
        name = without_parentheses(query.name or query.mention or "")
        place = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", query.input) if name else None
        yield msgspec.structs.replace(query, attributes={**query.attributes, "noise": "none", "strength": 0})
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


# A small self-contained corpus beside the full one: gold pages, namesakes' pages, hard distractors.


Ranked = Mapping[str, Sequence[str]]


def small_corpus(
    benchmark: Benchmark,
    out: str | Path,
    ranked: Mapping[str, Ranked],
    *,
    k: int = 20,
    sources: Mapping[str, str] | None = None,
) -> Benchmark:
    """The same queries over fewer pages; distractors are the first k pages of each system's ranking.

    `ranked` contains for each system the pages of each query, best first; `sources` what the systems are.
    """
    if k < 1:
        raise UsageError("-k must be at least 1")
    queries, passages = benchmark.queries, benchmark.passages
    gold = {page for query in queries for page in query.gold_pages()} & benchmark.pages
    bearers = {p for s in benchmark.sets for b in s.bearers for p in b.pages} & benchmark.pages
    page_ids = {p for pages in ranked.values() for q in queries for p in pages.get(q.id, ())[:k]}
    page_ids &= benchmark.pages
    kept = gold | bearers | page_ids
    few = passages.filter(pc.is_in(passages["page"], value_set=pa.array(sorted(kept))))
    counts: dict[str, Any] = {
        "gold_pages": len(gold),
        "namesakes_pages": len(bearers - gold),
        "distractor_pages": len(page_ids - bearers - gold),
        "pages": len(kept),
        "pages_before": len(benchmark.pages),
        "passages": few.num_rows,
    }
    systems = ", ".join(ranked) or "no retriever"
    remark = (
        f"\nA small corpus of {len(kept):,} of the {len(benchmark.pages):,} pages of {benchmark.id}: "
        f"{len(gold):,} gold pages, {counts['namesakes_pages']:,} of their namesakes, and "
        f"{counts['distractor_pages']:,} more among the first {k} of {systems}. A retriever that is not "
        "one of these meets fewer distractors here than in the full corpus.\n"
    )
    return save_benchmark(
        out,
        name=f"{benchmark.name}-small",
        queries=benchmark.queries,
        sets=benchmark.sets,
        passages=few,
        card=benchmark.card + remark,
        parameters={"k": k, "distractors": list(ranked)},
        sources=benchmark.folder.manifest.sources,
        parents={"benchmark": benchmark.id, **(sources or {})},
        counts=counts,
        allow_no_gold=True,
    )


# Splits of a benchmark by name, in which no name and no entity appears in two parts.


class _Families:
    """Things that must stay together: a forest in which each thing knows one it belongs to."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def root(self, thing: str) -> str:
        self._above.setdefault(thing, thing)
        while self._above[thing] != thing:
            self._above[thing] = self._above[self._above[thing]]
            thing = self._above[thing]
        return thing

    def join(self, things: Sequence[str]) -> None:
        for other in things[1:]:
            first, second = sorted((self.root(things[0]), self.root(other)))
            self._above[second] = first


def split_queries(
    queries: Sequence[Query], sets: Sequence[NameSet], shares: Mapping[str, float], seed: int = 0
) -> dict[str, list[Query]]:
    """Each part's queries: names that share an entity or a gold page go together, large ones first.

    Every family of names goes to the part that lacks most; the seed orders families of one size.
    """
    families = _Families()
    for name_set in sets:
        entities = [f"entity {b.entity}" for b in name_set.bearers]
        families.join([f"name {name_key(name_set.name)}", f"set {name_set.id}", *entities])
    for query in queries:
        families.join(_things(query))
    members: dict[str, list[Query]] = {}
    for query in queries:
        members.setdefault(families.root(_things(query)[0]), []).append(query)
    order = sorted(members, key=lambda root: (-len(members[root]), _hash(root, seed)))
    wanted = {part: share / sum(shares.values()) * len(queries) for part, share in shares.items()}
    chosen: dict[str, str] = {}
    filled = dict.fromkeys(shares, 0)
    for root in order:
        part = max(shares, key=lambda p: (wanted[p] - filled[p]) / wanted[p])
        chosen[root] = part
        filled[part] += len(members[root])
    parts: dict[str, list[Query]] = {part: [] for part in shares}
    for query in queries:
        parts[chosen[families.root(_things(query)[0])]].append(query)
    return parts


def _things(query: Query) -> list[str]:
    """What ties a query to others: its set, name, entity and gold pages, else itself."""
    things = [f"set {query.name_set}"] if query.name_set else []
    things += [f"name {name_key(query.name)}"] if query.name else []
    things += [f"entity {query.entity}"] if query.entity else []
    things += [f"page {page}" for page in sorted(query.gold_pages())]
    return things or [f"query {query.id}"]


def _hash(text: str, seed: int) -> str:
    return hashlib.sha256(f"{seed}\0{text}".encode()).hexdigest()


def split_benchmark(
    benchmark: Benchmark, out: str | Path, shares: Mapping[str, float], *, seed: int = 0
) -> dict[str, Benchmark]:
    """A benchmark for each part under `out`, all over the same corpus."""
    if len(shares) < 2 or any(share <= 0 for share in shares.values()):
        raise UsageError("a split needs two or more parts, each with a share above 0")
    parts = split_queries(benchmark.queries, benchmark.sets, shares, seed)
    empty = [part for part, queries in parts.items() if not queries]
    if empty:
        raise BadInput(
            f"nothing is left for {', '.join(empty)}: the names hang together by shared entities",
            file=benchmark.folder.root,
            hint="ask for fewer parts",
        )
    note = "no name and no entity of it appears in another part"
    return _save_parts(benchmark, out, parts, note, {"shares": dict(shares), "seed": seed})


def own_parts(benchmark: Benchmark, out: str | Path, attribute: str) -> dict[str, Benchmark]:
    """A benchmark for each value that an attribute of the queries has, such as the `split` they were published in."""
    parts: dict[str, list[Query]] = {}
    for query in benchmark.queries:
        value = query.attributes.get(attribute)
        if value is None:
            raise BadInput(
                f"query {query.id!r} has no attribute {attribute!r}",
                file=benchmark.folder.root,
                hint=f"it has {', '.join(sorted(query.attributes)) or 'none'}",
            )
        parts.setdefault(checked_part(str(value)), []).append(query)
    note = f"the queries whose {attribute} has that value"
    return _save_parts(benchmark, out, dict(sorted(parts.items())), note, {"by": attribute})


def checked_part(part: str) -> str:
    """The name of a part, which is also that of its folder."""
    if not part or "/" in part or part in (".", ".."):
        raise UsageError(f"{part!r} cannot be the name of a folder")
    return part


def _save_parts(
    benchmark: Benchmark, out: str | Path, query_parts: Mapping[str, Sequence[Query]], note: str,
    parameters: Mapping[str, object],
) -> dict[str, Benchmark]:  # fmt: skip
    parts = {}
    for part, queries in query_parts.items():
        own = {query.name_set for query in queries}
        parts[part] = save_benchmark(
            Path(out) / part,
            name=f"{benchmark.name}-{part}",
            queries=queries,
            sets=[s for s in benchmark.sets if s.id in own],
            corpus=benchmark.corpus,
            card=f"{benchmark.card}\nThe part {part!r} of {benchmark.id}: {note}.\n",
            parameters={"part": part, **parameters},
            sources=benchmark.folder.manifest.sources,
            parents={"benchmark": benchmark.id},
            counts={"sets": len(own - {None})},
            allow_no_gold=True,
        )
    return parts
