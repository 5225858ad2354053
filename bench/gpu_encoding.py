"""Encoding real passages beside the model alone on random token numbers, in one run.

python bench/gpu_encoding.py MODEL_FOLDER PASSAGES.jsonl.gz [--longest 128]
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from whichone.retrieval.dense import packed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("passages")
    parser.add_argument("--longest", type=int, default=128)
    parser.add_argument(
        "--repeat", type=int, default=4, help="How many times the passages are taken."
    )
    options = parser.parse_args()
    from transformers import AutoModel, AutoTokenizer

    torch.set_float32_matmul_precision("high")
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    model = AutoModel.from_pretrained(options.model, dtype=torch.bfloat16).cuda().eval()
    fast = torch.compile(model, dynamic=True)
    with gzip.open(options.passages, "rt") as file:
        records = [json.loads(line) for line in file] * options.repeat
    texts = [f"{r['title']} {r['text']}" for r in records]
    began = time.perf_counter()
    held = packed.Tokenised.of(texts, tokenizer, options.longest)
    told = time.perf_counter() - began
    print(
        f"{torch.cuda.get_device_name()}, {options.model}, {len(held)} passages, {held.starts[-1]} tokens"
    )
    print(f"tokenised ahead in {told:.1f} s ({len(held) / told:,.0f} passages/s)")
    count = packed.TOKENS // options.longest
    alone = model_alone(fast, count, options.longest)
    print(f"{'the model alone':22s} {alone:10,.0f} passages/s {alone * options.longest / 1e6:8.2f}")
    random = np.random.default_rng(0).integers(
        1000, 20_000, 64 * count * options.longest, dtype=np.int32
    )
    starts = np.arange(64 * count + 1, dtype=np.int64) * options.longest
    for name, data in (("random token numbers", packed.Tokenised(random, starts)), ("real", held)):
        took = seconds(lambda data=data: packed.encode(fast, data), 3)
        rate = data.starts[-1] / took
        print(
            f"{name:22s} {len(data) / took:10,.0f} passages/s {rate / 1e6:8.2f} million tokens/s,"
            f" {rate / (alone * options.longest):.2f} of the model alone"
        )


def model_alone(model: Any, count: int, longest: int) -> float:
    """Passages a second of one full batch of random numbers that already is on the device."""
    ids = torch.randint(1000, 20_000, (count, longest), dtype=torch.int32, device="cuda")
    lengths = torch.full((count,), longest, dtype=torch.int32, device="cuda")
    with torch.inference_mode():
        return count / seconds(lambda: packed._pooled(model, ids, lengths), 50)


def seconds(work: Callable[[], Any], repeat: int) -> float:
    """Wall time of one call, after one that is not counted."""
    work()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(repeat):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / repeat


if __name__ == "__main__":
    main()
