"""Encoding real passages beside the same model on random token numbers, in one run.

python bench/gpu_encoding.py MODEL_FOLDER PASSAGES.jsonl.gz [--longest 128]
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from pathlib import Path

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
    count = packed.TOKENS // options.longest * 64
    random = np.random.default_rng(0).integers(
        1000, 20_000, count * options.longest, dtype=np.int32
    )
    full = packed.Tokenised(random, np.arange(count + 1, dtype=np.int64) * options.longest)
    rates = {}
    for name, data in (("random token numbers", full), ("real passages", held)):
        packed.encode(fast, data)
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(3):
            packed.encode(fast, data)
        torch.cuda.synchronize()
        took = (time.perf_counter() - began) / 3
        rates[name] = data.starts[-1] / took
        print(
            f"{name:22s} {len(data) / took:10,.0f} passages/s {rates[name] / 1e6:8.2f} million tokens/s"
        )
    print(f"ratio in tokens/s: {rates['real passages'] / rates['random token numbers']:.2f}")


if __name__ == "__main__":
    main()
