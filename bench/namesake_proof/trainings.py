"""Trainings of the proof: every variant with every seed, several at once on one device."""

from __future__ import annotations

import json
import shutil
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from namesake_proof.data import read

SEEDS = (0, 1, 2)
DEPTH = 50
BOTH = ("bm25", "namesake")
ONE_INDEX: dict[str, Any] = {
    "kinds": BOTH,
    "mode": "only-questions",
    "epochs": 10,
    "batch": 24,
    "patience": 0,
    "watch": False,
}
VARIANTS: dict[str, dict[str, Any]] = {
    "FT, in-batch": {"kinds": ()},
    "FT, BM25": {"kinds": ("bm25",)},
    "FT, namesake": {"kinds": ("namesake",)},
    "FT, BM25 and namesake": {"kinds": BOTH},
    "OnlyP, BM25 and namesake": {"kinds": BOTH, "mode": "only-passages"},
    "OnlyQ, BM25 and namesake": {"kinds": BOTH, "mode": "only-questions"},
    "FT similar, BM25": {"kinds": ("bm25",), "examples": "similar"},
    "OnlyQ joint, one index": ONE_INDEX,
    "OnlyQ per relation, one index": {**ONE_INDEX, "per": "relation"},
    "re-ranker, in-batch": {"kinds": (), "preset": "re-ranker"},
    "re-ranker, BM25": {"kinds": ("bm25",), "preset": "re-ranker"},
    "re-ranker, BM25 and namesake": {"kinds": BOTH, "preset": "re-ranker"},
}
DEFAULTS: dict[str, Any] = {"epochs": 6, "batch": 64, "every": 10_000}
RERANKER: dict[str, Any] = {"epochs": 6, "batch": 32, "every": 10_000}
_held: dict[str, Any] = {}


def run(work: Path, out: Path, checkpoint: str, only: tuple[str, ...], workers: int) -> None:
    """Train and search; the first passages of each question into `rankings.npz`, the rest into `log`."""
    out.mkdir(parents=True, exist_ok=True)
    jobs = [("MiniLM", 0)] if "MiniLM".startswith(only) else []
    jobs += [(name, seed) for name in VARIANTS for seed in SEEDS if name.startswith(only)]
    jobs.sort(key=lambda job: "per" not in VARIANTS.get(job[0], {}))  # the longest first
    rankings: dict[str, Any] = {}
    log: dict[str, Any] = {}
    began = time.time()
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_open, initargs=(work, checkpoint)
    ) as pool:
        futures = {pool.submit(_job, name, seed): f"{name}|{seed}" for name, seed in jobs}
        for future in as_completed(futures):
            key = futures[future]
            try:
                rankings[key], log[key] = future.result()
            except Exception as error:
                log[key] = {"error": repr(error)[:500]}
            print(f"{time.time() - began:.0f} s", key, json.dumps(log[key]), flush=True)
            np.savez_compressed(out / "rankings.npz", **rankings)
            (out / "log.json").write_text(json.dumps(log, indent=1))


def _open(work: Path, checkpoint: str) -> None:
    """What every job of a worker needs, read once."""
    import torch

    from whichone.retrieval.dense.sentence import Tokeniser, fast_rules
    from whichone.training.encoder_trainings import Towers
    from whichone.training.examples import each_example
    from whichone.training.trainer import Start, quiet_libraries

    quiet_libraries()
    torch.set_float32_matmul_precision("high")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    passages, questions = read(work / "passages.jsonl.gz"), read(work / "questions.jsonl.gz")
    tokenizer = Towers.load(Start(checkpoint), "both", 256, "cpu").questions.module.tokenizer
    tokeniser = Tokeniser(fast_rules(tokenizer) or "", 256)
    texts = [f"{p['title']} {p['text']}".strip() for p in passages]
    _held.update(
        work=work,
        start=Start(checkpoint),
        device=device,
        texts=texts,
        passages=tokeniser.tokenised([""] * len(texts), texts),
        questions=questions,
        asked=tokeniser.tokenised([""] * len(questions), [q["text"] for q in questions]),
        sets=read(work / "sets.jsonl.gz"),
        examples={k: list(each_example(work / f"{k}.jsonl.gz")) for k in ("train", "similar")},
    )


def _job(name: str, seed: int) -> tuple[Any, dict[str, Any]]:
    began = time.time()
    if name == "MiniLM":
        found, told = search(_held["start"]), {}
    elif name.startswith("re-ranker"):
        found, told = rerank(name, seed)
    else:
        folder, told = train(name, seed)
        found = search_folder(folder)
    rankings, space = found
    shutil.rmtree(_held["work"] / "models" / f"{name}-{seed}", ignore_errors=True)
    return rankings.astype(np.uint16), {**told, **space, "seconds": round(time.time() - began, 1)}


def settings_of(name: str, seed: int) -> Any:
    from whichone.training.trainer import preset

    variant = dict(VARIANTS[name])
    base = variant.pop("preset", "default")
    for ours in ("examples", "per", "watch"):
        variant.pop(ours, None)
    defaults = RERANKER if base == "re-ranker" else DEFAULTS
    return preset(base, **{**defaults, **variant, "seed": seed})


def examples_of(name: str, seed: int) -> tuple[list[Any], list[Any]]:
    from whichone.training.training_data import watched

    variant = VARIANTS[name]
    examples = _held["examples"][variant.get("examples", "train")]
    return watched(examples, seed) if variant.get("watch", True) else (examples, [])


def train(name: str, seed: int) -> tuple[Path, dict[str, Any]]:
    from whichone.training.encoder_trainings import BiEncoderTraining
    from whichone.training.train_encoders import train_per_relation

    learn, watch = examples_of(name, seed)
    folder = _held["work"] / "models" / f"{name}-{seed}"
    per = VARIANTS[name].get("per")
    training = BiEncoderTraining(
        _held["start"],
        learn,
        watch,
        folder / "joint" if per else folder,
        settings_of(name, seed),
        device=_held["device"],
    )
    trained = training.run()
    told = {"examples": len(learn), "losses": trained.losses, "held_out": trained.held_out}
    if per:
        parts = train_per_relation(training.settings, learn, watch, folder, _held["start"], _held["device"])
        told["relations"] = {relation: part["examples"] for relation, part in parts.items()}
    return folder / "best", told


def search_folder(folder: Path) -> tuple[Any, dict[str, float]]:
    from whichone.training.trainer import Start

    if not (folder / "relations").exists():
        return search(Start(str(folder)))
    import torch

    from whichone.retrieval.dense.dpr import PairEncoder

    texts = [q["text"] for q in _held["questions"]]
    pair = PairEncoder(folder, name="pair", device=_held["device"])
    routed = sum(bool(pair.relation(text)) for text in texts)
    found, space = search(Start(str(folder)), torch.from_numpy(pair.questions(texts)).to(_held["device"]))
    return found, {**space, "routed": routed}


def search(start: Any, questions: Any = None) -> tuple[Any, dict[str, float]]:
    """The first passages of each question by ordinal, and what the space of passages looks like."""
    import torch

    from whichone.retrieval.dense import sentence
    from whichone.retrieval.dense.exact_search import exact_top_k
    from whichone.training.encoder_trainings import Towers

    device = _held["device"]
    towers = Towers.load(start, "both", 256, device)
    for tower in (towers.questions, towers.passages):
        tower.module.eval()
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        size = sentence.TOKENS if device == "cuda" else 1 << 13
        inner = towers.passages.module[0].auto_model
        held = sentence.encode(inner, _held["passages"], device=device, tokens=size)
        if questions is None:
            inner = towers.questions.module[0].auto_model
            questions = sentence.encode(inner, _held["asked"], device=device, tokens=size)
    held, questions = held.float(), questions.float()
    found = exact_top_k(questions, held, DEPTH, method="torch")[1].cpu().numpy()
    return found, space(held)


def space(vectors: Any) -> dict[str, float]:
    """Mean cosine of 2,000 random passages, and of the bearers of one name (first passages)."""
    import torch

    chosen = np.random.default_rng(0).choice(len(vectors), min(2000, len(vectors)), replace=False)
    sample = vectors[torch.from_numpy(chosen).to(vectors.device)]
    product = (sample @ sample.T).mean()
    everything = float((product * len(sample) - 1) / (len(sample) - 1))
    pairs = [(a, b) for s in _held["sets"] for i, a in enumerate(s) for b in s[i + 1 :]]
    first, second = (torch.tensor(side, device=vectors.device) for side in zip(*pairs, strict=True))
    bearers = float((vectors[first] * vectors[second]).sum(1).mean())
    return {"mean_similarity": round(everything, 4), "bearers_similarity": round(bearers, 4)}


def rerank(name: str, seed: int) -> tuple[tuple[Any, dict[str, float]], dict[str, Any]]:
    """Train a re-ranker, then put what BM25 found into its order."""
    import torch
    from sentence_transformers import CrossEncoder

    from whichone.training.encoder_trainings import CrossEncoderTraining

    learn, watch = examples_of(name, seed)
    folder = _held["work"] / "models" / f"{name}-{seed}"
    device = _held["device"]
    trained = CrossEncoderTraining(
        _held["start"], learn, watch, folder, settings_of(name, seed), device=device
    ).run()
    scorer = CrossEncoder(str(folder / "best"), device=device, max_length=256)
    pairs = [(q["text"], _held["texts"][i]) for q in _held["questions"] for i in q["bm25"]]
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        scores = scorer.predict(pairs, batch_size=1024, show_progress_bar=False)
    candidates = np.array([q["bm25"] for q in _held["questions"]])
    best = np.argsort(-scores.reshape(candidates.shape), axis=1, kind="stable")
    told = {"examples": len(learn), "losses": trained.losses, "held_out": trained.held_out}
    return (np.take_along_axis(candidates, best, 1), {}), told
