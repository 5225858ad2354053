"""Every encoder of `./dev models` over whole corpora: the first passages of each question, and the bearers' order."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bearers.data import lines
from bearers.training import questions, text_of
from bearers.weights import bert, pooling, tokenizer_of

FIRST, LONGEST = 20, 256
VECTORS = {
    "MiniLM": "all-MiniLM-L6-v2",
    "e5-small": "e5-small-v2-int8",
    "bge-small": "bge-small-en-v1_5-int8",
    "gte-small": "gte-small",
    "mpnet": "all-mpnet-base-v2",
}
TOKENS = {"late interaction": "answerai-colbert-small-backbone-int8"}


def rank(work: Path, out: Path, models: Path, only: Sequence[str] | None) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for name, folder in {**VECTORS, **TOKENS}.items():
        if (only and name not in only) or not (models / folder).is_dir():
            continue
        began = time.time()
        encoder = Encoder(models / folder)
        rows = [
            row
            for bench in ("48k", "amber")
            for row in ranked(encoder, bench, *questions(work, bench), late=name in TOKENS)
        ]
        lines(out / f"order-{name.replace(' ', '_')}.jsonl.gz", rows)
        print(f"{name}: {len(rows)} rankings, {time.time() - began:.0f} s", flush=True)


class Encoder:
    """Unit vectors, of texts or of tokens."""

    def __init__(self, folder: Path) -> None:
        import torch

        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        if any(folder.glob("*.onnx")):
            model, self.tokenizer = bert(folder)
        else:
            import transformers

            model = transformers.AutoModel.from_pretrained(folder)
            self.tokenizer = tokenizer_of(folder)
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
            found[torch.tensor(places, device=self.device)] = torch.nn.functional.normalize(
                pooled, dim=1
            )
        return found

    def tokens(self, texts: Sequence[str]) -> list[Any]:
        import torch

        found: list[Any] = [None] * len(texts)
        for places, last, mask in self.states(texts):
            last = torch.nn.functional.normalize(last, dim=2)
            for row, n in enumerate(places):
                found[n] = last[row][mask[row].bool()].half()
        return found


def ranked(
    encoder: Encoder, bench: str, asked: list[Any], passages: list[Any], *, late: bool
) -> Any:
    texts = [encoder.tells + text_of(p) for p in passages]
    wanted = [encoder.asks + q["q"] for q in asked]
    score = late_scores(encoder, wanted, texts) if late else vector_scores(encoder, wanted, texts)
    for q, scores in zip(asked, score, strict=True):
        best = scores.topk(min(FIRST, len(texts))).indices.tolist()
        yield {"b": bench, "id": q["id"], "kind": "corpus", "rows": best}
        for kind in ("bm25", "bearers"):
            values = scores[q[kind]].tolist() if q[kind] else []
            order = sorted(range(len(values)), key=lambda n: -values[n])
            yield {"b": bench, "id": q["id"], "kind": kind, "rows": [q[kind][n] for n in order]}


def vector_scores(encoder: Encoder, asked: Sequence[str], texts: Sequence[str]) -> Iterator[Any]:
    passages, own = encoder.vectors(texts), encoder.vectors(asked)
    for vector in own:
        yield passages @ vector


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
