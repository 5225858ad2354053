"""Splits of a benchmark by name, in which no name and no entity appears in two parts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import BadInput, UsageError
from whichone.names import name_key
from whichone.records import NameSet, Query


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
