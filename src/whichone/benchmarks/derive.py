"""The same questions with names as people write them: a benchmark with a noise axis."""

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Meta, Struct, to_builtins

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.corpus.corpus import Corpus
from whichone.corpus.page_names import Named
from whichone.errors import BadInput, UsageError, must_be_one
from whichone.names import name_key, without_parentheses
from whichone.options import Option, Seed, takes
from whichone.records import NameSet, Query, grouped
from whichone.retrieval.namesake.spelling import folded, nicknames

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
Change = Callable[[list[str], int, random.Random], list[str] | None]


def _typo(words: list[str], strength: int, draw: random.Random) -> list[str] | None:
    """So many edits, each in a word of four letters or more."""
    changed = list(words)
    for _ in range(strength):
        if not (long := [n for n, word in enumerate(changed) if len(word) >= 4]):
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


class NoiseOptions(Struct, frozen=True, kw_only=True):
    """Without kinds all of them are tried."""

    kinds: Annotated[tuple[str, ...], Option("Only this kind of noise; repeatable.", flags=("--kind",))] = ()
    strongest: Annotated[
        int, Option("Up to so many edits, words by initials, or words left out."), Meta(ge=1, le=5)
    ] = 3
    seed: Seed = 0


@takes(NoiseOptions)
def noisy_benchmark(benchmark: Benchmark, out: str | Path, plan: NoiseOptions) -> Benchmark:
    """Every question as it is, and with its name written in each way that it can be, by kind and strength.

    `noise` and `strength` are attributes of the questions; those of one question share its name set.
    """
    kinds = plan.kinds or tuple(KINDS)
    for kind in kinds:
        must_be_one(kind, KINDS, f"there is no noise {kind!r}")
    queries = list(_noisy(benchmark, kinds, plan.strongest, plan.seed))
    if not (changed := sum(query.attributes["noise"] != "none" for query in queries)):
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
        parameters={**to_builtins(plan), "kinds": list(kinds)},
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
                if (words := KINDS[kind](name.split(), strength, draw)) is None:
                    continue
                yield msgspec.structs.replace(
                    query,
                    id=f"{query.id}~{kind}{strength}",
                    input=query.input[: place.start()] + " ".join(words) + query.input[place.end() :],
                    mention=None,
                    attributes={**query.attributes, "noise": kind, "strength": strength},
                )


# A small self-contained corpus beside the full one: gold pages, namesakes' pages, hard distractors.
_Ranked = Mapping[str, Sequence[str]]


class SmallOptions(Struct, frozen=True, kw_only=True):
    k: Annotated[int, Option("How many pages of each ranking.", flags=("-k",))] = 20


@takes(SmallOptions)
def small_corpus(
    benchmark: Benchmark,
    out: str | Path,
    ranked: Mapping[str, _Ranked],
    plan: SmallOptions,
    *,
    sources: Mapping[str, str] | None = None,
) -> Benchmark:
    """The same queries over fewer pages; distractors are the first k pages of each system's ranking.

    `ranked` contains for each system the pages of each query, best first; `sources` what the systems are.
    """
    if (k := plan.k) < 1:
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


# Some bearers left out of the corpus: their questions stay, and nobody there is the one who is meant.


class AbsentOptions(Struct, frozen=True, kw_only=True):
    share: Annotated[float, Option("The share of the bearers that are left out.")] = 0.2
    seed: Seed = 0


@takes(AbsentOptions)
def absent_benchmark(benchmark: Benchmark, out: str | Path, plan: AbsentOptions) -> Benchmark:
    """Every question with `absent` as an attribute, over a corpus without a share of the bearers.

    Of a shared name one bearer stays at least, for whom an absent one may be taken. A page that is gold of somebody
    else too stays, with its bearers; a question that fits several bearers is left out where its own is absent.
    """
    if not 0 < plan.share < 1:
        raise UsageError(f"the share of absent bearers is above 0 and below 1, not {plan.share:g}")
    queries = list(benchmark.queries)
    gone = _drawn_bearers(benchmark, queries, plan)
    left_out = frozenset(page for pages in gone.values() for page in pages)
    kept = [_without(query, left_out) for query in queries]
    asked = [query for query in kept if query is not None]
    if not (absent := sum(query.attributes["absent"] for query in asked)):
        raise BadInput(
            "no bearer can be left out: each shares its pages or has its name alone",
            file=benchmark.folder.root,
            hint="give a larger --share, or a benchmark with more names",
        )
    passages = benchmark.passages
    present = passages.filter(pc.invert(pc.is_in(passages["page"], value_set=pa.array(sorted(left_out)))))
    sets = [
        msgspec.structs.replace(
            s, bearers=tuple(msgspec.structs.replace(b, pages=tuple(p for p in b.pages if p not in left_out)) for b in s.bearers)
        )
        for s in benchmark.sets
    ]  # fmt: skip
    remark = (
        f"\nOf the bearers {len(gone):,} are absent: their {len(left_out):,} pages are left out of the corpus, and "
        f"their {absent:,} questions are marked `absent`. Nobody in the corpus is the one whom they mean.\n"
    )
    return save_benchmark(
        out,
        name=f"{benchmark.name}-absent",
        queries=asked,
        sets=sets,
        passages=present,
        names=_names_of_pages(benchmark.corpus, left_out),
        card=benchmark.card + remark,
        parameters=to_builtins(plan),
        sources=benchmark.folder.manifest.sources,
        parents={"benchmark": benchmark.id},
        counts={"absent": absent, "absent_bearers": len(gone), "pages": len(benchmark.pages) - len(left_out)},
        allow_no_gold=True,
    )


def _drawn_bearers(
    benchmark: Benchmark, queries: Sequence[Query], plan: AbsentOptions
) -> dict[str, set[str]]:
    """Entities, or gold pages where a question names no entity, with their pages."""
    pages: dict[str, set[str]] = {}
    names: dict[str, set[str]] = {}
    for query in queries:
        if owned := query.gold_pages() & benchmark.pages:
            bearer = query.entity or min(owned)
            pages.setdefault(bearer, set()).update(owned)
            names.setdefault(bearer, set()).update([query.name_set] if query.name_set else [])
    for name_set in benchmark.sets:
        for own in name_set.bearers:
            if own.entity in pages:
                pages[own.entity].update(own.pages)
                names[own.entity].add(name_set.id)
    owners = grouped((page, bearer) for bearer, own_pages in pages.items() for page in own_pages)
    there = {
        s.id: {b.entity for b in s.bearers if any(page in benchmark.pages for page in b.pages)}
        for s in benchmark.sets
    }
    gone: dict[str, set[str]] = {}
    for bearer in sorted(pages, key=lambda b: _hash(b, plan.seed)):
        alone = all(len(owners[page]) == 1 for page in pages[bearer])
        if len(gone) < plan.share * len(pages) and alone and all(there[n] - {bearer} for n in names[bearer]):
            gone[bearer] = pages[bearer]
            for name in names[bearer]:
                there[name].discard(bearer)
    return gone


def _without(query: Query, left_out: frozenset[str]) -> Query | None:
    """A question over the corpus that is left; None where it fits those who stay as well."""
    gold = query.gold_pages()
    absent = bool(gold) and gold <= left_out
    if absent and (query.attributes.get("resolvable") == "no" or query.attributes.get("underspecified")):
        return None
    marked = {**query.attributes, "absent": absent}
    if gold.isdisjoint(left_out):
        return msgspec.structs.replace(query, attributes=marked)
    outputs = [
        msgspec.structs.replace(
            o, provenance=tuple(g for g in o.provenance if not any(p.page in left_out for p in g))
        )
        for o in query.outputs
    ]
    kept = (
        outputs
        if absent
        else [o for o, was in zip(outputs, query.outputs, strict=True) if o.provenance or not was.provenance]
    )
    return msgspec.structs.replace(query, outputs=tuple(kept), attributes=marked)


def _names_of_pages(corpus: Corpus, left_out: frozenset[str]) -> Iterator[tuple[str, Named]]:
    """The redirects, texts of links and aliases of the pages that stay, as the corpus has them."""
    for batch in corpus.names.table.batches(["name", "page", "kind", "count"]):
        rows = [row for row in batch.to_pylist() if row["kind"] in ("redirect", "anchor", "alias")]
        for row, page in zip(rows, corpus.page_ids([row["page"] for row in rows]), strict=True):
            if page not in left_out:
                yield page, Named(row["name"], row["kind"], row["count"])


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
    members = grouped((families.root(_things(query)[0]), query) for query in queries)
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
    benchmark: Benchmark, out: str | Path, shares: Mapping[str, float], *, seed: int
) -> dict[str, Benchmark]:
    """A benchmark for each part under `out`, all over the same corpus."""
    if len(shares) < 2 or any(share <= 0 for share in shares.values()):
        raise UsageError("a split needs two or more parts, each with a share above 0")
    parts = split_queries(benchmark.queries, benchmark.sets, shares, seed)
    if empty := [part for part, queries in parts.items() if not queries]:
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
        if (value := query.attributes.get(attribute)) is None:
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
