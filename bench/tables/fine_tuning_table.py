"""The tables of `bench/fine_tuning.py`: means over seeds, intervals by name, paired tests."""

from __future__ import annotations

import csv
import json
import lzma
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from tables.facts import RELATIONS, read
from tables.fine_tuning import NAMES, OTHER, STARTS, VARIANTS

MEASURES = ("acc@1", "acc@20", "answer_in_top@20")
# Tables 2 and 3: the relation, all of EntityQuestions, Natural Questions; of Table 2 the relation where both have it.
PAPER = {
    ("P19", ""): ("25.4", "49.7", "80.1"), ("P159", ""): ("70.0", "49.7", "80.1"), ("P170", ""): ("54.1", "49.7", "80.1"),
    ("P19", "FT"): ("73.9", "56.2", "62.8"), ("P159", "FT"): ("84.0", "53.3", "71.6"), ("P170", "FT"): ("80.0", "52.3", "70.8"),
    ("P19", "FT w/ similar"): ("74.7", "", ""), ("P159", "FT w/ similar"): ("79.9", "", ""), ("P170", "FT w/ similar"): ("76.2", "", ""),
    ("P19", "FT OnlyP"): ("72.8", "", ""), ("P159", "FT OnlyP"): ("84.2", "", ""), ("P170", "FT OnlyP"): ("78.0", "", ""),
    ("P19", "FT OnlyQ"): ("45.4", "", ""), ("P159", "FT OnlyQ"): ("72.8", "", ""), ("P170", "FT OnlyQ"): ("73.4", "", ""),
    ("P19", "FT with HotpotQA"): ("52.0", "47.4", "70.8"), ("P159", "FT with HotpotQA"): ("81.3", "49.5", "75.1"),
    ("P170", "FT with HotpotQA"): ("72.3", "44.1", "72.6"),
    ("P19", "BM25"): ("75.3", "72.0", "64.4"), ("P159", "BM25"): ("85.0", "72.0", "64.4"), ("P170", "BM25"): ("72.6", "72.0", "64.4"),
}  # fmt: skip
PAIRS = (
    ("", "FT"),
    ("FT OnlyQ", "FT OnlyP"),
    ("FT", "FT w/ similar"),
    ("FT", "FT with HotpotQA"),
    ("FT, as many of them", "FT"),
    ("BM25", "FT"),
)


def table(work: Path, out: Path) -> None:
    from whichone.measures.measure import parse_measures

    questions = read(work / "data" / "questions.jsonl.gz")
    scored = _scored(work, out, questions)
    measures = parse_measures(MEASURES)
    queries = [_query(q) for q in questions]
    kinds = np.array([q["kind"] for q in questions])
    pooled: dict[tuple[str, str, str], Any] = {}
    seeds: dict[tuple[str, str, str], list[Any]] = defaultdict(list)
    for (start, relation, name, _), values in scored.items():
        seeds[start, relation, name].append(values)
    for key, many in seeds.items():
        pooled[key] = {m: np.mean([values[m] for values in many], 0) for m in MEASURES}
    parts = {r: kinds == r for r in RELATIONS}
    parts |= {"EntityQuestions": kinds != OTHER, "HotpotQA": kinds == OTHER}
    rows, tests = [], []
    for start, relation in ((start, relation) for start in STARTS for relation in RELATIONS):
        systems = {"": (start, "", ""), **{name: (start, relation, name) for name in VARIANTS}}
        systems = {"BM25": ("BM25", "", ""), **{n: k for n, k in systems.items() if k in pooled}}
        for name, key in systems.items():
            if name == "BM25" and start != STARTS[0]:
                continue
            row = {
                "start": "" if name == "BM25" else NAMES[start],
                "relation": relation,
                "system": name or "as it is",
            }
            for part, label in ((relation, "relation"), ("EntityQuestions",) * 2, ("HotpotQA",) * 2):
                found = _cells(_scores(queries, pooled[key], parts[part], measures, name))
                row[f"{label}: acc@1"] = found["acc@1"]
                last = "acc@20" if part == "HotpotQA" else "answer_in_top@20"
                row[f"{label}: {last}"] = found[last]
            paper = PAPER.get((relation, name), ("", "", ""))
            row |= {
                f"paper: {label}, top-20": value
                for label, value in zip(("relation", "EntityQuestions", "NQ"), paper, strict=True)
            }
            row["acc@1 of the seeds"] = " ".join(
                _short(f"{v['acc@1'][parts[relation]].mean():.3f}") for v in seeds[key]
            )
            rows.append(row)
        for one, other in PAIRS:
            for part in (relation, "EntityQuestions", "HotpotQA"):
                if one in systems and other in systems:
                    both = [
                        _scores(queries, pooled[systems[x]], parts[part], measures, x or "as it is")
                        for x in (one, other)
                    ]
                    tests += _tests(both, measures, NAMES[start], relation, part)
    for name, listed in (("fine-tuning", rows), ("fine-tuning-differences", tests)):
        with (out / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(listed[0]))
            writer.writeheader()
            writer.writerows(listed)
        print(out / f"{name}.csv", len(listed))


def _scored(work: Path, out: Path, questions: list[Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    """For every system and question whether the gold page is first, and it or an answer among the first passages."""
    from whichone.text.normalisers import contains_any, tokens

    with lzma.open(work / "data" / "passages.jsonl.xz", "rt") as file:
        passages = [json.loads(line) for line in file]
    pages = [p["page"] for p in passages]
    gold = [set(q["gold"]) for q in questions]
    wanted = [[tokens(a) for a in q["answers"]] for q in questions]
    known: dict[tuple[int, int], bool] = {}

    def has_answer(question: int, row: int) -> bool:
        if (question, row) not in known:
            known[question, row] = contains_any(wanted[question], passages[row]["text"])
        return known[question, row]

    ranked: dict[tuple[str, ...], Any] = {("BM25", "", "", "0"): [q["bm25"] for q in questions]}
    for file in sorted(out.glob("rankings*.npz")):
        with np.load(file) as held:
            for key in held.files:
                ranked[tuple(key.split("|"))] = held[key]
    results = {}
    for key, rows in ranked.items():
        found = [[pages[int(n)] in gold[q] for n in row] for q, row in enumerate(rows)]
        answered = [any(has_answer(q, int(n)) for n in row) for q, row in enumerate(rows)]
        values = ([any(f[:1]) for f in found], [any(f) for f in found], answered)
        results[key] = {m: np.array(v, float) for m, v in zip(MEASURES, values, strict=True)}
    return results


def _query(question: Any) -> Any:
    from whichone.records import Output, Provenance, Query

    gold = tuple((Provenance(page=page, title=page.partition(":")[2]),) for page in question["gold"])
    outputs = (Output(answer=question["answers"][0], provenance=gold),)
    return Query(id=question["id"], task="qa", input=question["text"], outputs=outputs)


def _scores(queries: list[Any], values: Any, where: Any, measures: Any, system: str) -> Any:
    from whichone.measures.scores import Scores

    rows = np.flatnonzero(where)
    return Scores(
        system, "48k", [queries[n] for n in rows], measures, {m: v[rows] for m, v in values.items()}
    )


def _cells(scores: Any) -> dict[str, str]:
    from whichone.measures.scores import slice_scores

    ((_, found),) = slice_scores(scores)
    return {m: _short(f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]") for m, e in found.items()}


def _short(text: str) -> str:
    return text.replace("0.", ".").replace("-", "−")


def _tests(both: list[Any], measures: Any, start: str, relation: str, part: str) -> list[dict[str, str]]:
    from whichone.measures.comparison import compare

    return [
        {
            "start": start, "relation": relation, "asked": part, "from": both[0].system, "to": both[1].system,
            "measure": str(c.measure),
            "difference": _short(f"{c.difference.value:+.3f} [{c.difference.low:+.3f}, {c.difference.high:+.3f}]"),
            "p": _short(f"{c.p:.4f}"),
        }
        for c in compare(both, measures)
        if c.difference.low is not None
    ]  # fmt: skip
