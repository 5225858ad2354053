"""Every encoder of `./dev models` over whole corpora: vectors of all passages, and rankings by late interaction."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bearers.data import lines
from bearers.training import questions, text_of
from bearers.weights import bert, pooling

FIRST, LONGEST = 20, 256
PART = 14 << 20
"""Bytes of a file of vectors."""
BENCHMARKS = ("48k", "amber")
VECTORS = {
    "MiniLM": "all-MiniLM-L6-v2",
    "e5-small": "e5-small-v2-int8",
    "bge-small": "bge-small-en-v1_5",
    "gte-small": "gte-small",
    "mpnet": "all-mpnet-base-v2",
}
TOKENS = {"late interaction": "answerai-colbert-small-backbone-int8"}


def vectors(work: Path, out: Path, models: Path, only: Sequence[str] | None) -> None:
    """The vectors of all passages as `out/NAME-*.npz`, which `-o vectors=` takes; 8 bits a number, a scale a passage."""
    out.mkdir(parents=True, exist_ok=True)
    passages = {p["id"]: p for bench in BENCHMARKS for p in questions(work, bench)[1]}
    for name, folder in VECTORS.items():
        if (only and name not in only) or any(out.glob(f"{name}-*.npz")):
            continue
        began = time.time()
        encoder = Encoder(models / folder)
        encoded = encoder.vectors([encoder.tells + text_of(p) for p in passages.values()])
        whole = encoded.cpu().numpy()
        scales = np.maximum(np.abs(whole).max(1), 1e-12) / 127
        rounded = np.rint(whole / scales[:, None]).astype(np.int8)
        ids, size = list(passages), -(-PART // whole.shape[1])
        for number, at in enumerate(range(0, len(ids), size)):
            part = slice(at, at + size)
            np.savez_compressed(
                out / f"{name}-{number}.npz", ids=ids[part], vectors=rounded[part],
                scales=scales[part].astype(np.float32),
            )  # fmt: skip
        print(f"{name}: {len(ids):,} passages, {time.time() - began:.0f} s", flush=True)


def rank(work: Path, out: Path, models: Path) -> None:
    """Late interaction over every token of the corpora, which no index of ours compares exhaustively."""
    out.mkdir(parents=True, exist_ok=True)
    for name, folder in TOKENS.items():
        began = time.time()
        encoder = Encoder(models / folder)
        rows = [row for bench in BENCHMARKS for row in ranked(encoder, bench, *questions(work, bench))]
        lines(out / f"order-{name.replace(' ', '_')}.jsonl.gz", rows)
        print(f"{name}: {len(rows)} rankings, {time.time() - began:.0f} s", flush=True)


class Encoder:
    """Unit vectors, of texts or of tokens."""

    def __init__(self, folder: Path) -> None:
        import torch

        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        model, self.tokenizer = bert(folder)
        self.model = model.to(self.device).eval()
        self.tokenizer.enable_truncation(LONGEST)
        self.pool = pooling(folder) if (folder / "1_Pooling").is_dir() else "tokens"
        place = folder / "config_sentence_transformers.json"
        prompts = json.loads(place.read_text()).get("prompts", {}) if place.exists() else {}
        self.asks = prompts.get("query") or ""
        self.tells = prompts.get("passage") or prompts.get("document") or ""

    def states(self, texts: Sequence[str], size: int = 256) -> Iterator[tuple[list[int], Any, Any]]:
        """Places, last states and mask of batches, the longest texts first."""
        import torch

        encoded = [e.ids for e in self.tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(encoded)), key=lambda n: -len(encoded[n]))
        for at in range(0, len(order), size):
            places = order[at : at + size]
            ids = np.zeros((len(places), len(encoded[places[0]])), np.int64)
            mask = np.zeros_like(ids)
            for row, n in enumerate(places):
                ids[row, : len(encoded[n])], mask[row, : len(encoded[n])] = encoded[n], 1
            inputs = torch.from_numpy(ids).to(self.device), torch.from_numpy(mask).to(self.device)
            half = torch.autocast("cuda", torch.bfloat16, enabled=self.device == "cuda")
            with torch.no_grad(), half:
                last = self.model(input_ids=inputs[0], attention_mask=inputs[1]).last_hidden_state
            yield places, last.float(), inputs[1]

    def vectors(self, texts: Sequence[str]) -> Any:
        import torch

        found: Any = None
        for places, last, mask in self.states(texts):
            weights = mask[:, :, None].float()
            mean = (last * weights).sum(1) / weights.sum(1)
            pooled = last[:, 0] if self.pool == "first" else mean
            if found is None:
                found = torch.zeros((len(texts), last.shape[2]), device=self.device)
            found[torch.tensor(places, device=self.device)] = torch.nn.functional.normalize(pooled, dim=1)
        return found

    def tokens(self, texts: Sequence[str]) -> list[Any]:
        import torch

        found: list[Any] = [None] * len(texts)
        for places, last, mask in self.states(texts):
            last = torch.nn.functional.normalize(last, dim=2)
            for row, n in enumerate(places):
                found[n] = last[row][mask[row].bool()].half()
        return found


def ranked(encoder: Encoder, bench: str, asked: list[Any], passages: list[Any]) -> Any:
    texts = [encoder.tells + text_of(p) for p in passages]
    score = late_scores(encoder, [encoder.asks + q["q"] for q in asked], texts)
    for q, scores in zip(asked, score, strict=True):
        best = scores.topk(min(FIRST, len(texts))).indices.tolist()
        yield {"b": bench, "id": q["id"], "kind": "corpus", "rows": best}
        for kind in ("bm25", "bearers"):
            values = scores[q[kind]].tolist() if q[kind] else []
            order = sorted(range(len(values)), key=lambda n: -values[n])
            yield {"b": bench, "id": q["id"], "kind": kind, "rows": [q[kind][n] for n in order]}


def late_scores(encoder: Encoder, asked: Sequence[str], texts: Sequence[str]) -> Iterator[Any]:
    """MaxSim over all tokens of all passages."""
    import torch

    held = encoder.tokens(texts)
    owner = torch.cat([torch.full((len(t),), n, device=encoder.device) for n, t in enumerate(held)])
    every = torch.cat(held)
    for tokens in encoder.tokens(asked):
        best = torch.full((len(texts), len(tokens)), -2.0, device=encoder.device, dtype=every.dtype)
        for at in range(0, len(every), 1 << 20):
            near = every[at : at + (1 << 20)] @ tokens.T
            rows = owner[at : at + (1 << 20), None].expand_as(near)
            best.scatter_reduce_(0, rows, near, "amax")
        yield best.float().sum(1)
