"""Several benchmarks over one corpus, opened as one in which every query names its benchmark."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from whichone.errors import BadInput, WhichoneError
from whichone.files.folder import Folder
from whichone.files.manifest import MANIFEST, decode_manifest
from whichone.files.output import cache_folder, one_at_a_time

if TYPE_CHECKING:
    from whichone.benchmarks.benchmark import Benchmark, Where
    from whichone.records import Query

BENCHMARK = "benchmark"  # The attribute of a query that names its benchmark among several
# Among the parameters of several opened as one: the id of each by its name.
PARTS = "benchmarks over one corpus"
_KNOWLEDGE_BASE = "knowledge base"
_FORMAT = 1
_LONGEST = 60


def each_of(where: Where) -> list[str | Path | Benchmark]:
    """Every benchmark that is meant, by itself: those of a list, and those inside a folder of them."""
    if isinstance(where, str | Path):
        return [*_benchmarks_in(Path(where))] or [where]
    if not isinstance(where, Sequence):
        return [*where.place] if isinstance(where.place, list) else [where]
    return [part for given in where for part in each_of(given)]


def _benchmarks_in(root: Path) -> list[Path]:
    """The benchmarks directly inside a folder that is not one of whichone's own."""
    if not root.is_dir() or (root / MANIFEST).exists():
        return []
    return [place for place in sorted(root.iterdir()) if _kind(place) == "benchmark"]


def _kind(place: Path) -> str:
    try:
        return decode_manifest(place / MANIFEST).kind if (place / MANIFEST).is_file() else ""
    except WhichoneError:
        return ""


def together(benchmarks: Sequence[Benchmark]) -> Benchmark:
    """Benchmarks over one corpus as one, kept in the cache; each once, and one alone as it is.

    A query's id and its name set's are preceded by the benchmark's name, so that equal ids of two
    benchmarks stay apart.
    """
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.corpus.corpus import remember

    if not (parts := sorted({b.id: b for b in benchmarks}.values(), key=lambda b: (b.name, b.id))):
        raise BadInput("no benchmark is named")
    if len(parts) == 1:
        return parts[0]
    _check_corpora(parts)
    remember(parts[0].corpus)
    named = dict(zip(names_of(parts), parts, strict=True))
    contents = [(name, part.id, part.folder.content_hash) for name, part in named.items()]
    key = hashlib.sha256(msgspec.json.encode((_FORMAT, contents, parts[0].corpus.hash)))
    place = cache_folder() / "several" / key.hexdigest()[:16]
    with one_at_a_time(place.parent):
        if _kind(place) != "benchmark":
            _save(place, named)
    return Benchmark(Folder.open(place, "benchmark"), [str(part.place) for part in parts])


def parts_of(benchmark: Benchmark) -> dict[str, str]:
    """For the manifest of results over several benchmarks: the id of each; empty for one alone."""
    parts = benchmark.folder.manifest.parameters.get(PARTS, {})
    return {f"{BENCHMARK} {name}": identity for name, identity in parts.items()}


def part_ids(parents: Mapping[str, str]) -> list[str]:
    """The ids of several benchmarks that the manifest of results names; none of one alone."""
    return [value for key, value in parents.items() if key.startswith(f"{BENCHMARK} ")]


def benchmark_of(query: Query) -> str:
    """The benchmark that a query names among several; empty in one alone."""
    return str(query.attributes.get(BENCHMARK) or "")


def own_id(query: Query) -> str:
    """The id that a query has in its own benchmark."""
    return query.id.removeprefix(f"{query.attributes.get(BENCHMARK)}/")


def names_of(parts: Sequence[Benchmark]) -> list[str]:
    """What each is called among the others: its name, or its id where names do not tell them apart."""
    names = [part.name for part in parts]
    alike = any(f"{a}/".startswith(f"{b}/") for i, a in enumerate(names) for b in names[:i] + names[i + 1 :])
    return [part.id for part in parts] if alike else names


def _check_corpora(parts: Sequence[Benchmark]) -> None:
    if len({part.corpus.hash for part in parts}) > 1:
        asked = ", ".join(
            f"{part.name} ({part.folder.root}) of {part.corpus.id}, {len(part.corpus):,} passages"
            for part in parts
        )
        raise BadInput(
            f"the benchmarks are asked of different corpora: {asked}",
            hint="make one corpus (whichone corpus) and build or import each with --corpus CORPUS",
        )


def _save(place: Path, named: dict[str, Benchmark]) -> None:
    from whichone.benchmarks.benchmark import save_benchmark

    parts = list(named.values())
    bases = {part.folder.manifest.parents.get(_KNOWLEDGE_BASE) for part in parts}
    (base,) = bases if len(bases) == 1 else (None,)
    joined = "+".join(named)
    save_benchmark(
        place,
        name=joined if len(joined) <= _LONGEST else f"{next(iter(named))}+{len(named) - 1}-more",
        queries=[query for name, part in named.items() for query in _queries(name, part.queries)],
        sets=[
            msgspec.structs.replace(s, id=f"{name}/{s.id}") for name, part in named.items() for s in part.sets
        ],
        corpus=parts[0].corpus,
        by_hash=True,
        card=_card(named),
        parameters={PARTS: {name: part.id for name, part in named.items()}},
        sources=list(
            {
                msgspec.json.encode(s, order="deterministic"): s
                for part in parts
                for s in part.folder.manifest.sources
            }.values()
        ),
        parents={_KNOWLEDGE_BASE: base} if base else {},
        counts={"sets": sum(len(part.sets) for part in parts), "benchmarks": len(parts)},
        allow_no_gold=True,
    )


def _queries(name: str, queries: Iterable[Query]) -> Iterator[Query]:
    for query in queries:
        yield msgspec.structs.replace(
            query,
            id=f"{name}/{query.id}",
            name_set=f"{name}/{query.name_set}" if query.name_set else query.name_set,
            attributes={**query.attributes, BENCHMARK: name},
        )


def _card(named: dict[str, Benchmark]) -> str:
    listed = "\n".join(f"- {name}: {part.id}, {len(part.queries):,} queries" for name, part in named.items())
    cards = "\n\n".join(part.card for part in named.values())
    return f"# {len(named)} benchmarks over one corpus\n\n{listed}\n\n{cards}"
