"""Whether `resolve` notices that the one who is meant is not there: its fit, and what it costs beside other systems."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from namesake_fit.model import PARTS, part_of
from namesake_fit.sets import by_hash, command, first_half, makers
from namesake_fit.weights import FILE, PACKAGE
from whichone.retrieval.namesake.weights import EvidenceModel, absence_features, logistic

SHARE = 0.3  # Of the bearers are left out
MOST = {True: 200, False: 350}  # Questions of a set's half about absent and about present bearers
PRIOR = 0.2  # One in five who are asked for is taken to be absent
REFUSED = 0.05
STRENGTH = 0.3
READ = 5  # Passages of BM25 that a cross-encoder reads


@dataclass
class Case:
    """One question about somebody who is there or not; no features where no name of it is known."""

    set: str
    held_out: bool
    name: str
    absent: bool
    features: dict[str, float] | None
    stranger: bool
    """Whether the question has a name that nobody has."""
    bm25: float
    pair: float = 0.0
    """What a cross-encoder makes of the question and the first passage of BM25 that it likes best."""


def cases_of(work: Path, players: Path | None, only: str, judge: str | None) -> Iterator[Case]:
    """Of every set; of catalogues also with their attributes given, and texts that say nothing."""
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.benchmarks.derive import absent_benchmark
    from whichone.retrieval.bm25 import Bm25
    from whichone.retrieval.namesake import NamesakeRetriever

    reader = _reader(judge) if judge else None
    for name, make in makers(work, players, ()).items():
        if only and not name.startswith(tuple(only.split(","))):
            continue
        whole, place = make(), work / "absent" / name
        if whole is None:
            print(f"{name}: left out, its data is not here", file=sys.stderr)
            continue
        there = (place / "manifest.json").exists()
        benchmark = Benchmark.open(place) if there else absent_benchmark(whole, place, share=SHARE)
        folder = work / "indexes" / benchmark.corpus.hash[:16]
        retriever = NamesakeRetriever.over(benchmark.corpus, folder, encoder="none")
        bm25 = Bm25.over(benchmark.corpus, folder)
        halves = _halves(benchmark)
        yield from _cases(name, benchmark, halves, retriever, bm25, reader)
        rows = (work / name).with_suffix(".parts") / "rows.csv"
        if rows.exists():
            known = with_attributes(benchmark, rows)
            yield from _cases(f"{name}, attributes", benchmark, halves, known._retriever, bm25, reader)
            yield from _tasks(name, work, rows, reader)
        print(name, file=sys.stderr, flush=True)


def _tasks(name: str, work: Path, rows: Path, reader: Any) -> Iterator[Case]:
    """What somebody asks to be done, over records without titles: "Close the account of ...", a fifth without saying whose."""
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.benchmarks.derive import absent_benchmark
    from whichone.retrieval.bm25 import Bm25

    place, away = work / f"{name}-tasks", work / "absent" / f"{name}-tasks"
    if not (place / "manifest.json").exists():
        command(
            "build", "catalogue", (work / name).with_suffix(".parts") / "kb", place,
            "--tasks", "act", "--limit", 1_500, "--underspecified", 0.2,
        )  # fmt: skip
    there = (away / "manifest.json").exists()
    benchmark = Benchmark.open(away) if there else absent_benchmark(Benchmark.open(place), away, share=SHARE)
    known = with_attributes(benchmark, rows, titled=False)
    bm25 = Bm25.over(benchmark.corpus, work / "indexes" / benchmark.corpus.hash[:16])
    yield from _cases(f"{name}, tasks", benchmark, _halves(benchmark), known._retriever, bm25, reader)


def _halves(benchmark: Any) -> dict[bool, list[Any]]:
    """Questions of the names that are learned from, and of those that are held out."""
    asked = [
        q for q in by_hash(benchmark.queries) if q.attributes["absent"] or q.gold_pages() & benchmark.pages
    ]
    halves = {}
    for held_out in (False, True):
        half = [q for q in asked if first_half(q) != held_out]
        halves[held_out] = [
            q
            for gone, most in MOST.items()
            for q in [q for q in half if q.attributes["absent"] == gone][:most]
        ]
    return halves


def with_attributes(benchmark: Any, rows: Path, *, titled: bool = True) -> Any:
    """The bearers of a catalogue by their attributes alone, named by a title or by what is given."""
    import csv

    import whichone

    with rows.open() as file:
        listed = {r["id"]: {k: v for k, v in r.items() if k != "id" and v} for r in csv.DictReader(file)}
    people = {
        str(p.entity): (p, listed[str(p.entity).partition(":")[2]]) for p in benchmark.passage_records()
    }
    if titled:
        records = [
            {**{k: v for k, v in own.items() if k != "name"}, "id": p.id, "page": p.page, "title": p.title, "entity": entity, "text": p.title}
            for entity, (p, own) in people.items()
        ]  # fmt: skip
        return whichone.Namesake.over(records, encoder="none")
    records = [{"id": p.id, "page": p.page, "entity": e, "text": p.text} for e, (p, _) in people.items()]
    names = [{**own, "id": entity} for entity, (_, own) in people.items()]
    return whichone.Namesake.over(records, names=names, encoder="none")


def _cases(name: str, benchmark: Any, halves: Any, retriever: Any, bm25: Any, reader: Any) -> Iterator[Case]:
    from whichone.retrieval.namesake.question_names import strangers

    openers = retriever.index.pages.table.language.openers
    for held_out, queries in halves.items():
        for query in queries:
            reading = retriever.weighed(query.question())
            unknown = strangers(query.input, reading.mentions, openers)
            features = None
            if reading.meant is not None:
                evidence = reading.meant[1]
                values, scores = [e.values for e in evidence], [e.score for e in evidence]
                features = absence_features(values, scores, strangers=len(unknown), others=reading.best_other)
            (ranking,) = bm25.search([query.question()], READ)
            texts = [benchmark.corpus.passage(i) for i in ranking.passages] if reader and held_out else []
            pair = max(reader(query.input, texts)) if texts else -np.inf
            best = max(ranking.scores, default=-np.inf)
            absent = query.attributes["absent"]
            yield Case(name, held_out, query.name or query.id, absent, features, bool(unknown), best, pair)


def _reader(folder: str) -> Any:
    """Scores of a question with the first words of passages, by an ONNX cross-encoder; each pair is read once."""
    from whichone.retrieval.onnx_model import OnnxCrossEncoder

    model, known = OnnxCrossEncoder(Path(folder)), {}

    def scores(question: str, read: Sequence[Any]) -> list[float]:
        pairs = [(question, f"{p.title}. {' '.join(p.text.split()[:60])}") for p in read]
        if new := [pair for pair in pairs if pair not in known]:
            known.update(zip(new, map(float, model.scores(new)), strict=True))
        return [known[pair] for pair in pairs]

    return scores


def fit(cases: Sequence[Case]) -> tuple[dict[str, float], float]:
    """Weights, and from which probability on one in twenty of those who are there is refused, on other names; never under .5."""
    known = [c for c in cases if c.features is not None]
    weights = _weights(known)
    sure: list[tuple[float, float]] = []
    for part in range(PARTS):
        inner = _weights([c for c in known if part_of(c.name) != part])
        own = [c for c in known if part_of(c.name) == part and not c.absent]
        counts = {c.set: sum(o.set == c.set for o in known if not o.absent) for c in own}
        sure += [(logistic(inner, c.features or {}), 1 / counts[c.set]) for c in own]
    sure.sort()
    below = np.cumsum([share for _, share in sure]) / sum(share for _, share in sure)
    return weights, max(0.5, round(sure[int(np.searchsorted(below, 1 - REFUSED))][0], 4))


def _weights(cases: Sequence[Case]) -> dict[str, float]:
    """A logistic model in which every set counts the same; "" is the constant."""
    from sklearn.linear_model import LogisticRegression

    names = sorted({name for case in cases for name in case.features or ()})
    x = np.array([[(case.features or {}).get(name, 0.0) for name in names] for case in cases])
    label = np.array([case.absent for case in cases])
    middle, spread = x.mean(0), x.std(0) + 1e-9
    counts = {
        (s, a): sum(c.set == s and c.absent == a for c in cases)
        for s in {c.set for c in cases}
        for a in (True, False)
    }
    share = np.array([(PRIOR if c.absent else 1 - PRIOR) / counts[c.set, c.absent] for c in cases])
    model = LogisticRegression(C=STRENGTH, max_iter=5_000)
    model.fit((x - middle) / spread, label, sample_weight=share * len(cases) / share.sum())
    raw = model.coef_[0] / spread
    learned = {n: round(float(w), 4) for n, w, s in zip(names, raw, spread, strict=True) if s > 1e-6}
    return {**learned, "": round(float(model.intercept_[0] - raw @ middle), 4)}


def write(cases: Sequence[Case], into: Path | None) -> EvidenceModel:
    """Into every fit of `evidence.json`: what is missing is missing with an encoder too."""
    weights, bar = fit([c for c in cases if not c.held_out])
    old = EvidenceModel.load()
    fits = {n: msgspec.structs.replace(f, nobody=weights, nobody_from=bar) for n, f in old.fits.items()}
    model = msgspec.structs.replace(old, fits=fits)
    ((into or PACKAGE) / FILE).write_bytes(msgspec.json.format(msgspec.json.encode(model), indent=1) + b"\n")
    print(f"{FILE}: {len(weights)} weights, nobody from {bar}")
    return model


CURVES = ("BM25", "cross-encoder", "`namesake`")
AT = (0.01, 0.05, 0.1, 0.2, 0.4)  # Shares of refused present bearers where the curves are drawn
FEWEST = 50  # A curve of fewer absent ones says nothing
HEAD = (
    "| set | absent, present | BM25 | cross-encoder | `namesake` | at 10 % | as shipped: noticed, refused |\n"
    "| --- | --- | --- | --- | --- | --- | --- |"
)


def table(cases: Sequence[Case], model: EvidenceModel) -> str:
    """Shares of the absent that are noticed where 5 % of the present are refused, on names held out."""
    shipped = model.fits["words"]
    lines = [HEAD]
    for name, own in _held_out(cases).items():
        away, strange = _strange(own, model)
        declined = strange["`namesake`"] >= shipped.nobody_from
        cells = [
            name,
            f"{away.sum()}, {(~away).sum()}",
            *(_share(noticed(strange[system], away)) if system in strange else "" for system in CURVES),
            _share(noticed(strange["`namesake`"], away, 2 * REFUSED)),
            f"{_share(declined[away].mean())}, {_share(declined[~away].mean())}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def curves(cases: Sequence[Case], model: EvidenceModel) -> str:
    """The same shares where fewer and more of the present are refused, as a table of comma-separated values."""
    lines = [",".join(("set", "refused", *(c.strip("`") for c in CURVES)))]
    for name, own in _held_out(cases).items():
        away, strange = _strange(own, model)
        if away.sum() < FEWEST or "," in name:
            continue
        for refused in AT:
            shares = [
                _share(noticed(strange[system], away, refused)) if system in strange else ""
                for system in CURVES
            ]
            lines.append(",".join((name, f"{refused:g}", *shares)))
    return "\n".join(lines) + "\n"


def _held_out(cases: Sequence[Case]) -> dict[str, list[Case]]:
    sets: dict[str, list[Case]] = {}
    for case in cases:
        if case.held_out:
            sets.setdefault(case.set, []).append(case)
    return sets


def _strange(cases: Sequence[Case], model: EvidenceModel) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Who is absent, and how strange every system finds each question."""
    weights = model.fits["words"].nobody
    strange = {
        "BM25": -np.array([c.bm25 for c in cases]),
        "cross-encoder": -np.array([c.pair for c in cases]),
        "`namesake`": np.array(
            [float(c.stranger) if c.features is None else logistic(weights, c.features) for c in cases]
        ),
    }
    if not np.isfinite(strange["cross-encoder"]).any():
        del strange["cross-encoder"]
    return np.array([c.absent for c in cases]), strange


def noticed(strange: np.ndarray, away: np.ndarray, refused: float = REFUSED) -> float:
    """The share of the absent above the bar that refuses so many of the present."""
    bar = np.sort(strange[~away])[::-1][int(refused * (~away).sum())]
    return float((strange[away] > bar).mean())


def _share(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")
