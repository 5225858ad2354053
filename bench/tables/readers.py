"""Readers of AmbER's Table 7: what they learn from, what they are shown, and their trainings on a GPU."""

from __future__ import annotations

import json
import lzma
import shutil
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tables.claims import claims, slots
from tables.facts import benchmarks, lines, read

HELD_OUT = 0.5
WATCHED = 0.1
DEPTH = 20
WORLD = 1_200  # Queries of a task that are drawn of the invented world
KINDS = {"extractive": ("qa", "sf"), "claims": ("fc",)}
SETTINGS = ("gold", "bm25", "minilm", "namesake")


def prepare(shared: Path, work: Path, model: Path) -> None:
    """Examples, and the passages that each query is shown, by numbers of passages."""
    from whichone.benchmarks.benchmark import Benchmark, save_benchmark
    from whichone.training.held_out import HeldOutKeys, Leaks, name_of, share_of, without

    whole, released = benchmarks(shared, work)
    amber = Benchmark.open("builtin/amber")
    text: dict[str, str] = {}
    for p in whole.passage_records():
        text[p.page] = f"{text.get(p.page, '')} {p.text}"

    def said(query: Any) -> str:
        return " ".join(text.get(page, "") for page in query.gold_pages())

    simple = [
        q
        for q in whole.queries
        if q.gold_pages() and q.relation and q.attributes.get("dataset") != "kilt-hotpotqa"
    ]
    tested = [q for q in simple if share_of(name_of(q)) < HELD_OUT]
    wikipedia = [*tested, *slots(tested), *claims(tested, said)]
    keys = [HeldOutKeys(tested), HeldOutKeys(amber.queries)]
    facts = [q for q in simple if share_of(name_of(q)) >= HELD_OUT]
    asked = {q.input for q in simple}
    more = {
        q.input: q for b in released for q in b.queries if q.gold_pages() and q.name and q.input not in asked
    }
    facts = without([*facts, *more.values()], Leaks([*facts, *more.values()], keys))
    hotpot = [q for q in whole.queries if q.gold_pages() and q.attributes.get("dataset") == "kilt-hotpotqa"]
    hotpot = without(hotpot, Leaks(hotpot, keys))
    print(f"{len(facts)} facts, {len(hotpot)} of HotpotQA, {len(tested)} tested")
    invented = _invented(work)
    halves = {
        name: [q for q in amber.queries if (share_of(name_of(q)) < HELD_OUT) == (name == "a")]
        for name in "ab"
    }
    texts = Texts(work / "data" / "passages.jsonl.xz")
    parts = {
        "wikipedia": (whole, [*_task(facts, "qa"), *hotpot, *slots(facts), *claims(facts, said)]),
        "world": (invented, invented.queries),
        "a": (amber, halves["a"]),
        "b": (amber, halves["b"]),
    }
    for kind, tasks in KINDS.items():
        for part, (benchmark, queries) in parts.items():
            _write_examples(work, kind, tasks, part, benchmark, queries, texts)
    texts.write(work / "data" / "passages-more.jsonl.xz")
    for name, benchmark, queries in (("amber", amber, list(amber.queries)), ("wikipedia", whole, wikipedia)):
        place = work / "tested" / name
        if not (place / "manifest.json").exists():
            save_benchmark(place, name=name, queries=queries, sets=benchmark.sets, corpus=benchmark.corpus)
        _write_tasks(work, name, Benchmark.open(place), texts, model)
    texts.write(work / "data" / "passages-more.jsonl.xz")


def _task(queries: Any, task: str) -> list[Any]:
    from msgspec.structs import replace

    return [replace(q, task=task) for q in queries]


class Texts:
    """Passages by number: those of the corpus first, then others as they are met."""

    def __init__(self, corpus: Path) -> None:
        with lzma.open(corpus, "rt") as file:
            held = [json.loads(line) for line in file]
        self.count = len(held)
        self.rows = {(p["title"], p["text"]): n for n, p in enumerate(held)}
        self.more: list[tuple[str, str]] = []

    def row(self, title: str, text: str) -> int:
        key = (title, text)
        if key not in self.rows:
            self.rows[key] = self.count + len(self.more)
            self.more.append(key)
        return self.rows[key]

    def write(self, file: Path) -> None:
        with lzma.open(file, "wt", preset=9) as out:
            for title, text in self.more:
                out.write(json.dumps({"title": title, "text": text}) + "\n")


def _invented(work: Path) -> Any:
    """AmbER sets of an invented world: names, values and prose of nobody."""
    from whichone.benchmarks.benchmark import Benchmark, save_benchmark
    from whichone.training.held_out import share_of

    place = work / "invented"
    if not (place / "manifest.json").exists():
        world, kb = work / "world", work / "world-kb"
        for words in (
            ["world", "--entities", "1500", "--seed", "7", "--ambiguity", "0.6", "--words", "80", world],
            ["ingest", "--wikidata", world / "wikidata.json.bz2", "--pages", world / "kilt_knowledgesource.json.gz",
             "--views", world / "pagecounts-totals.bz2", kb],
            ["build", "amber", kb, work / "world-human", "--collection", "human"],
            ["build", "amber", kb, work / "world-nonhuman", "--collection", "nonhuman"],
        ):  # fmt: skip
            subprocess.run([sys.executable, "-m", "whichone", *map(str, words)], check=True)
        both = [Benchmark.open(work / f"world-{name}") for name in ("human", "nonhuman")]
        drawn = [
            q
            for task in ("qa", "sf", "fc")
            for q in sorted(
                (q for b in both for q in b.queries if q.task == task), key=lambda q: share_of(q.id)
            )[:WORLD]
        ]
        pages = {page for q in drawn for page in q.gold_pages()}
        kept = {p.id: p for b in both for p in b.passage_records() if p.page in pages}
        save_benchmark(place, name="invented", queries=drawn, passages=list(kept.values()))
    return Benchmark.open(place)


def _write_examples(
    work: Path, kind: Any, tasks: Any, part: str, benchmark: Any, queries: Any, texts: Texts
) -> None:
    from whichone.training.held_out import name_of, share_of
    from whichone.training.reading_examples import reading_examples

    chosen = [q for q in queries if q.task in tasks]
    made, without = reading_examples(
        benchmark, chosen, kind, work / "indexes-readers" / part, negatives="bm25", tasks=tasks
    )
    watched = {q.id for q in chosen if share_of(name_of(q), 1) < WATCHED}
    count = lines(
        work / "data" / f"read-{kind}-{part}.jsonl.gz",
        (
            {
                "id": e.id, "q": e.question, "row": texts.row(e.title, e.text), "target": e.target, "start": e.start,
                "others": e.others, "watched": e.id in watched,
            }
            for e in made
        ),
    )  # fmt: skip
    print(kind, part, count, "examples,", len(without), "queries teach nothing", flush=True)


def _write_tasks(work: Path, name: str, benchmark: Any, texts: Texts, model: Path) -> None:
    """What each query is shown: the gold passages, and the first of each search."""
    from whichone.runs.run import Run
    from whichone.runs.shown import Setting, Shows

    runs = work / "runs"
    made: dict[str, list[Any]] = {}
    for setting in SETTINGS:
        if name == "wikipedia" and setting in ("minilm", "namesake"):
            continue  # over 48,048 passages a search by words alone
        run = None
        if setting != "gold":
            place = runs / f"{name}-{setting}"
            words: dict[str, list[Any]] = {
                "bm25": ["--retriever", "bm25"],
                "minilm": ["--retriever", "dense", "--encoder", model],
                "namesake": ["--retriever", "namesake", "--encoder", "none"],
            }
            given = ["retrieve", work / "tested" / name, place, *words[setting], "-k", DEPTH]
            subprocess.run([sys.executable, "-m", "whichone", *map(str, given)], check=True)
            run = Run.open(place)
        shows = Shows(benchmark, Setting(passages="gold" if run is None else "retrieved", depth=DEPTH), run)
        made[setting] = [(q, shows.choose(q)) for q in benchmark.queries]
    known = benchmark.corpus.get({p for each in made.values() for _, shown in each for p in shown.passages})
    records = (
        {
            "setting": setting, "id": q.id, "task": q.task, "q": q.input, "relation": q.relation, "name": q.name,
            "rows": [texts.row(known[p].title, known[p].text) for p in shown.passages],
        }
        for setting, each in made.items()
        for q, shown in each
        if not shown.left_out
    )  # fmt: skip
    print(name, lines(work / "data" / f"tasks-{name}.jsonl.gz", records), "tasks")


# Trainings: without anything of the built-in names, and with the half of them that is not asked.
LEARNED = {
    "neither half": ("wikipedia", "world"),
    "half a": ("wikipedia", "world", "a"),
    "half b": ("wikipedia", "world", "b"),
}
SEEDS = (0, 1)
TRAINING: dict[str, Any] = {
    "epochs": 12,
    "batch": 64,
    "learning_rate": 1e-4,
    "warmup": 0.06,
    "patience": 4,
    "every": 100_000,
}


def run(data: Path, model: Path, out: Path, *, workers: int, limits: dict[str, Any]) -> None:
    """Train every reader, and let it read everything that it may; answers are written as they come."""
    out.mkdir(parents=True, exist_ok=True)
    log: dict[str, Any] = {}
    began = time.time()
    seeds = limits.get("seeds", SEEDS)
    jobs = [(kind, learned, seed) for seed in seeds for kind in KINDS for learned in LEARNED]
    spawn = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        futures = {pool.submit(_job, data, model, out, limits, *job): job for job in jobs}
        for future in as_completed(futures):
            key = "|".join(map(str, futures[future]))
            try:
                log[key] = future.result()
            except Exception as error:
                log[key] = {"error": repr(error)[:1000]}
            print(f"{time.time() - began:.0f} s", key, json.dumps(log[key])[:400], flush=True)
            (out / "log.json").write_text(json.dumps(log, indent=1))


def _job(
    data: Path, model: Path, out: Path, limits: dict[str, Any], kind: Any, learned: str, seed: int
) -> Any:
    import torch

    from whichone.reading.claims import ClaimChecker
    from whichone.reading.extractive import Extractive
    from whichone.training.reading_examples import ReadingExample
    from whichone.training.train_readers import ReaderTraining
    from whichone.training.trainer import preset, quiet_libraries

    began = time.time()
    quiet_libraries()
    torch.set_float32_matmul_precision("high")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        torch.set_num_threads(1)
    texts: list[tuple[str, str]] = []
    for file in ("passages.jsonl.xz", "passages-more.jsonl.xz"):
        with lzma.open(data / file, "rt") as held:
            texts += [(p["title"], p["text"]) for p in map(json.loads, held)]
    learn: list[Any] = []
    watch: list[Any] = []
    for part in LEARNED[learned]:
        for e in read(data / f"read-{kind}-{part}.jsonl.gz")[: limits.get("examples")]:
            title, text = texts[e["row"]]
            others = tuple((answer, start) for answer, start in e["others"])
            made = ReadingExample(e["id"], e["q"], title, text, e["target"], e["start"], others=others)
            (watch if e["watched"] else learn).append(made)
    folder = out / "models" / f"{kind}-{learned.replace(' ', '-')}-{seed}"
    settings = preset("amber-reader", **{**TRAINING, "seed": seed, **limits.get("settings", {})})
    training = ReaderTraining(
        kind, model, learn, folder, settings, held_out=watch, device=device, tasks=KINDS[kind]
    )
    trained = training.run()
    told = {
        "examples": len(learn),
        "watched": trained.held_out,
        "losses": trained.losses,
        "trained": round(time.time() - began),
    }
    batch = 256 if device == "cuda" else 16
    classes = {"extractive": Extractive, "claims": ClaimChecker}
    reader = classes[kind](folder / "model", device=device, batch=batch)
    for name in ("amber", "wikipedia"):
        answers = out / f"answers-{kind}-{learned.replace(' ', '-')}-{seed}-{name}.jsonl.gz"
        told[name] = lines(answers, _answers(reader, data, name, kind, texts, limits))
    shutil.rmtree(folder, ignore_errors=True)
    return {**told, "seconds": round(time.time() - began)}


def _answers(reader: Any, data: Path, name: str, kind: str, texts: Any, limits: dict[str, Any]) -> Any:
    from whichone.records import Passage, Question, ReadingTask

    asked = [t for t in read(data / f"tasks-{name}.jsonl.gz") if t["task"] in KINDS[kind]][
        : limits.get("tasks")
    ]
    tasks = []
    for t in asked:
        question = Question(id=t["id"], text=t["q"], task=t["task"])
        shown = tuple(Passage(id=str(n), page=str(n), title=texts[n][0], text=texts[n][1]) for n in t["rows"])
        tasks.append(ReadingTask(question=question, passages=shown))
    for t, answer in zip(asked, reader.read(tasks), strict=True):
        place = next(
            (n for n, row in enumerate(t["rows"]) if answer.passages and str(row) == answer.passages[0]), None
        )
        yield {
            "setting": t["setting"],
            "id": t["id"],
            "text": answer.text,
            "place": place,
            "score": answer.score,
        }
