"""What is learned of one relation, what is asked, and trainings of every kind on a GPU."""

from __future__ import annotations

import json
import shutil
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from tables.facts import RELATIONS, TESTED, asked, benchmarks, facts, lines, read, wordings

DEPTH = 20
OTHER = "hotpotqa"  # In the place of Natural Questions
HARD = 4


def prepare(shared: Path, work: Path) -> None:
    """Examples of each relation, and all questions with what BM25 finds, as small files."""
    from msgspec.structs import replace

    from whichone.names import name_key
    from whichone.training.examples import ExampleMaker, Text
    from whichone.training.held_out import HeldOutKeys, Leaks, share_of, without

    whole, released = benchmarks(shared, work)
    listed = list(facts(whole, released))
    tested = [
        q
        for relation, q, split in listed
        if split in ("dev", "test") or (not split and share_of(name_key(q.name)) < TESTED)
    ]
    chosen = {q.id for q in tested}
    learned = [(relation, q) for relation, q, _ in listed if q.id not in chosen]
    names = {name_key(q.name) for _, q in learned}
    rest = [
        q
        for benchmark in (whole, released[0])
        for q in benchmark.queries
        if q.gold_pages()
        and q.relation
        and q.relation.startswith("P")
        and q.relation not in RELATIONS
        and name_key(q.name or "") not in names
    ]
    rest = list({q.input: q for q in rest}.values())
    hotpot = [q for q in whole.queries if q.attributes.get("dataset") == "kilt-hotpotqa" and q.gold_pages()]
    others = [q for q in hotpot if share_of(q.id) >= 0.5]
    hotpot = [q for q in hotpot if share_of(q.id) < 0.5]
    questions = [*tested, *rest, *hotpot]
    kinds = {q.id: q.relation or OTHER for q in questions}
    maker = ExampleMaker(whole, work / "indexes", kinds=("bm25",), most=HARD)
    keys = HeldOutKeys(questions)
    rows = {(p.title, p.text): n for n, p in enumerate(whole.passage_records())}
    counts: dict[str, int] = {}
    for relation in (OTHER, *RELATIONS):
        own = others if relation == OTHER else [q for r, q in learned if r == relation]
        made = maker.examples(own)[0]
        made = without(made, Leaks(made, [keys]))
        words = HeldOutKeys([q for q in tested if q.relation == relation], tokens=True)
        shares = Leaks(made, [words]).sharing
        texts = (
            {q.id: asked(q, q.name, relation, wordings(relation)[1]).input for q in own}
            if shares.any()
            else {}
        )
        written = [
            {
                "example": replace(e, positive=Text("", "", ""), negatives=()),
                "right": rows[e.positive.title, e.positive.text],
                "wrong": [rows[n.passage.title, n.passage.text] for n in e.negatives],
                "overlaps": bool(overlaps),
                "similar": texts.get(e.id, ""),
            }
            for e, overlaps in zip(made, shares, strict=True)
        ]
        counts[relation] = lines(work / "data" / f"learn-{relation}.jsonl.gz", written)
        counts[f"{relation} no-overlap"] = len(written) - int(shares.sum())
    write_questions(whole, questions, kinds, work)
    tallied = {kind: sum(k == kind for k in kinds.values()) for kind in sorted({*kinds.values()})}
    (work / "data" / "counts.json").write_text(json.dumps({"learned": counts, "asked": tallied}, indent=1))
    print(json.dumps({"learned": counts, "asked": tallied}))


def write_questions(whole: Any, questions: list[Any], kinds: dict[str, str], work: Path) -> None:
    import lzma

    from whichone.retrieval.bm25 import Bm25

    ids = {p: n for n, p in enumerate(whole.passages["id"].to_pylist())}
    found = Bm25.over(whole.corpus, work / "indexes").search([q.question() for q in questions], DEPTH)
    lines(
        work / "data" / "questions.jsonl.gz",
        (
            {
                "id": q.id,
                "text": q.input,
                "kind": kinds[q.id],
                "answers": q.answers(),
                "gold": sorted(q.gold_pages()),
                "bm25": [ids[p] for p in ranking.passages],
            }
            for q, ranking in zip(questions, found, strict=True)
        ),
    )
    with lzma.open(work / "data" / "passages.jsonl.xz", "wt", preset=9) as out:
        for p in whole.passage_records():
            out.write(json.dumps({"page": p.page, "title": p.title, "text": p.text}) + "\n")


# A start is the encoder as it comes, or two towers that were made of it as DPR is made of a BERT, on the other questions.
SEEDS = (0, 1, 2)
STARTS = ("MiniLM", "DPR")
NAMES = {"MiniLM": "MiniLM", "DPR": "DPR-HotpotQA"}
FIRST: dict[str, Any] = {"preset": "dpr", "batch": 64, "warmup": 0.1}
VARIANTS: dict[str, dict[str, Any]] = {
    "FT": {},
    "FT OnlyP": {"mode": "only-passages"},
    "FT OnlyQ": {"mode": "only-questions"},
    "FT w/ similar": {"learn": "similar"},
    "FT with HotpotQA": {"with": OTHER},
    "FT, names that share words": {"learn": "all"},
    "FT, as many of them": {"learn": "all", "as many": True},
}
_held: dict[str, Any] = {}


def run(data: Path, model: Path, out: Path, *, workers: int, until: float, limits: dict[str, Any]) -> None:
    """Every start, relation and kind of training with every seed; rankings are written as they come."""
    out.mkdir(parents=True, exist_ok=True)
    rankings: dict[str, Any] = {}
    log: dict[str, Any] = {}
    began = time.time()
    spawn = get_context("spawn")
    with ProcessPoolExecutor(
        workers, mp_context=spawn, initializer=_open, initargs=(data, model, out, limits)
    ) as pool:
        seeds = limits.get("seeds", SEEDS)
        jobs = [("MiniLM", "", "", 0)] + [("DPR", "", "", seed) for seed in seeds]
        first = {pool.submit(_job, *job): job for job in jobs}
        collect(first, rankings, log, out, began)
        jobs = [
            (start, relation, name, seed)
            for seed in seeds
            for relation in limits.get("relations", RELATIONS)
            for start in STARTS
            for name in VARIANTS
        ]
        later = {pool.submit(_job, *job, until): job for job in jobs}
        collect(later, rankings, log, out, began)


def collect(futures: Any, rankings: dict[str, Any], log: dict[str, Any], out: Path, began: float) -> None:
    written = time.time()
    for n, future in enumerate(as_completed(futures), 1):
        key = "|".join(map(str, futures[future]))
        try:
            found, log[key] = future.result()
            if found is not None:
                rankings[key] = found
        except Exception as error:
            log[key] = {"error": repr(error)[:500]}
        print(f"{time.time() - began:.0f} s", key, json.dumps(log[key])[:300], flush=True)
        if n == len(futures) or time.time() - written > 15:
            written = time.time()
            np.savez_compressed(out / "rankings.part.npz", **rankings)
            (out / "rankings.part.npz").replace(out / "rankings.npz")
            (out / "log.json").write_text(json.dumps(log, indent=1))


def _open(data: Path, model: Path, out: Path, limits: dict[str, Any]) -> None:
    import lzma

    import torch

    from whichone.retrieval.dense.sentence import Tokeniser, fast_rules
    from whichone.training.encoder_trainings import Towers
    from whichone.training.trainer import Start, quiet_libraries

    quiet_libraries()
    torch.set_float32_matmul_precision("high")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        torch.set_num_threads(1)
    with lzma.open(data / "passages.jsonl.xz", "rt") as file:
        passages = [json.loads(line) for line in file]
    questions = read(data / "questions.jsonl.gz")[: limits.get("questions")]
    tokenizer = Towers.load(Start(str(model)), "both", 256, "cpu").questions.module.tokenizer
    tokeniser = Tokeniser(fast_rules(tokenizer) or "", 256)
    searched = passages[: limits.get("passages")]
    texts = [f"{p['title']} {p['text']}".strip() for p in searched]
    _held.update(
        out=out,
        model=model,
        limits=limits,
        device=device,
        dpr=[(p["title"], p["text"]) for p in searched],
        passages=tokeniser.tokenised([""] * len(texts), texts),
        asked=tokeniser.tokenised([""] * len(questions), [q["text"] for q in questions]),
        texts=[q["text"] for q in questions],
        learn={r: learned_of(data / f"learn-{r}.jsonl.gz", passages) for r in (OTHER, *RELATIONS)},
    )


def learned_of(file: Path, passages: list[Any]) -> dict[str, list[Any]]:
    """The examples of a relation: those whose names share no word with the test's, all, and the former reworded."""
    import msgspec
    from msgspec.structs import replace

    from whichone.training.examples import Example, Negative, Text

    text = [Text(p["title"], p["text"], p["page"]) for p in passages]
    sets: dict[str, list[Any]] = {"no-overlap": [], "all": [], "similar": []}
    for record in read(file):
        example = replace(
            msgspec.convert(record["example"], Example),
            positive=text[record["right"]],
            negatives=tuple(Negative("bm25", text[n]) for n in record["wrong"]),
        )
        sets["all"].append(example)
        if not record["overlaps"]:
            sets["no-overlap"].append(example)
            sets["similar"].append(replace(example, question=record["similar"] or example.question))
    return sets


def _job(start: str, relation: str, name: str, seed: int, until: float = 0) -> tuple[Any, dict[str, Any]]:
    began = time.time()
    if until and began > until:
        return None, {"error": "no time was left"}
    told: dict[str, Any] = {}
    folder = _held["model"]
    if start == "DPR":
        folder = _held["out"] / "models" / f"DPR-{seed}" / "best"
    if (start, name) != ("MiniLM", ""):
        folder, told = train(start, relation, name, seed, folder)
    found = search(folder)
    if name:
        shutil.rmtree(folder.parent, ignore_errors=True)
    return found.astype(np.uint16), {**told, "seconds": round(time.time() - began, 1)}


def train(start: str, relation: str, name: str, seed: int, before: Path) -> tuple[Path, dict[str, Any]]:
    from whichone.training.encoder_trainings import BiEncoderTraining
    from whichone.training.trainer import Start, preset

    limits, every = _held["limits"], _held["learn"]
    if not name:
        learn, given = every[OTHER]["all"][: limits.get("examples")], dict(FIRST)
        before = _held["model"]
        folder = _held["out"] / "models" / f"DPR-{seed}"
    else:
        variant = VARIANTS[name]
        learn = every[relation][variant.get("learn", "no-overlap")][: limits.get("examples")]
        if "as many" in variant:
            count = min(len(learn), len(every[relation]["no-overlap"]))
            order = np.random.default_rng([seed, count]).permutation(len(learn))[:count]
            learn = [learn[n] for n in order]
        if extra := variant.get("with"):
            learn = [*learn, *every[extra]["all"][: limits.get("examples")]]
        given = {"preset": "eq-finetune", "mode": variant.get("mode", "both")}
        folder = _held["out"] / "models" / f"{start}-{relation}-{seed}-{[*VARIANTS].index(name)}"
    base = given.pop("preset")
    given |= {"kinds": ("bm25",), "seed": seed, "patience": 0, "every": 100_000, **limits.get("settings", {})}
    given["batch"] = min(given.get("batch") or preset(base).batch, len(learn))
    training = BiEncoderTraining(
        Start(str(before)), learn, [], folder, preset(base, **given), device=_held["device"]
    )
    trained = training.run()
    return folder / "best", {"examples": len(learn), "steps": trained.steps, "losses": trained.losses[-1:]}


def search(folder: Path) -> Any:
    """The first passages of each question by ordinal, over the whole corpus."""
    import torch

    from whichone.retrieval.dense import sentence
    from whichone.retrieval.dense.exact_search import exact_top_k
    from whichone.training.encoder_trainings import Towers
    from whichone.training.trainer import Start

    device = _held["device"]
    towers = Towers.load(Start(str(folder)), "both", 256, device)
    for tower in (towers.questions, towers.passages):
        tower.module.eval()
    with torch.inference_mode(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        if isinstance_dpr(towers.questions):
            held = _dpr_vectors(towers.passages, _held["dpr"], device)
            questions = _dpr_vectors(towers.questions, _held["texts"], device)
        else:
            size = sentence.TOKENS if device == "cuda" else 1 << 13
            parts = []
            for tower, tokens in ((towers.passages, _held["passages"]), (towers.questions, _held["asked"])):
                inner = tower.module[0].auto_model
                parts.append(sentence.encode(inner, tokens, device=device, tokens=size).float())
            held, questions = parts
    return exact_top_k(questions, held, DEPTH, method="torch")[1].cpu().numpy()


def isinstance_dpr(tower: Any) -> bool:
    from whichone.training.encoder_trainings import DprTower

    return isinstance(tower, DprTower)


def _dpr_vectors(tower: Any, items: list[Any], device: str) -> Any:
    """In the order of length, so that little is padded; the tokens are the same for every model, and kept."""
    import torch

    side, kept = tower._side, _held.setdefault("features", {})
    if id(items) not in kept:
        order = np.argsort([-len("".join(item)) for item in items])
        parts = []
        for at in range(0, len(order), 512):
            part = [items[n] for n in order[at : at + 512]]
            asked = [part] if isinstance(part[0], str) else list(map(list, zip(*part, strict=True)))
            parts.append(dict(side.tokens(*asked)))
        kept[id(items)] = np.argsort(order), parts
    back, parts = kept[id(items)]
    vectors = [tower.vectors({k: v.to(device) for k, v in features.items()}) for features in parts]
    return torch.cat(vectors).float()[torch.from_numpy(back).to(device)]
