"""Exact dense search on a GPU beside the device's matrix rate, in one run.

python bench/gpu_search.py [--passages 1000000] [--questions 10000] [--k 100]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from measured import parsed, skip
from whichone.retrieval.dense import exact_search


def seconds(work: Callable[[], object], repeats: int = 7) -> float:
    """The median over runs of one call, by device events, after two warm-ups."""
    for _ in range(2):
        work()
    times = []
    for _ in range(repeats):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) / 1000)
    return statistics.median(times)


def plain(questions: torch.Tensor, passages: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Product, then topk, block by block of questions: what most programs do."""
    found = [(part @ passages.T).topk(k) for part in questions.split(1024)]
    return torch.cat([f.values for f in found]), torch.cat([f.indices for f in found])


def product_alone(questions: torch.Tensor, passages: torch.Tensor) -> None:
    out = torch.empty((1024, len(passages)), dtype=questions.dtype, device=questions.device)
    for part in questions.split(1024):
        torch.mm(part, passages.T, out=out[: len(part)])


def check(questions: torch.Tensor, passages: torch.Tensor, k: int, found: torch.Tensor) -> int:
    """How many of the first questions' k ordinals differ in score from a float64 search."""
    wrong = 0
    for row, ordinals in zip(questions[:64].double(), found[:64], strict=True):
        scores = passages.double() @ row if len(passages) <= 200_000 else _scores(row, passages)
        best = scores.topk(k).values
        mine = scores[ordinals].sort(descending=True).values
        wrong += int((best - mine).abs().gt(1e-5 * best.abs().max()).sum())
    return wrong


def _scores(row: torch.Tensor, passages: torch.Tensor) -> torch.Tensor:
    return torch.cat([part.double() @ row for part in passages.split(200_000)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--groups", default="32,64,128")
    options = parsed(parser, small="")
    if not torch.cuda.is_available():
        if options.small:
            skip("no GPU")
        raise SystemExit("this benchmark needs a GPU")
    torch.manual_seed(0)
    square = torch.randn((8192, 8192), dtype=torch.bfloat16, device="cuda")
    other = torch.randn((8192, 8192), dtype=torch.bfloat16, device="cuda")
    rate = 2 * 8192**3 / seconds(lambda: square @ other)
    print(f"{torch.cuda.get_device_name()}: bf16 matrix product {rate / 1e12:.0f} TFLOP/s")
    for size in (768, 384):
        measure(size, rate, options.questions, options.passages, options.k, options.groups)


def measure(size: int, rate: float, asked: int, held: int, k: int, groups: str) -> None:
    """All ways of searching at one vector size, each as a share of the matrix rate."""
    from whichone.retrieval.dense import group_kernels

    questions = torch.randn((asked, size), device="cuda").bfloat16()
    passages = torch.randn((held, size), device="cuda").bfloat16()
    ideal = 2 * asked * held * size / rate

    def row(name: str, work: Callable[[], object], note: str = "") -> None:
        took = seconds(work)
        share = f"{ideal / took:5.2f} of the matrix rate"
        print(f"{size:4d}  {name:34s} {took * 1e3:8.1f} ms   {share}  {note}", flush=True)

    row("product alone", lambda: product_alone(questions, passages))
    row("product, then topk", lambda: plain(questions, passages, k))
    for method, group in [("torch", 64), *(("triton", int(g)) for g in groups.split(","))]:

        def search(method: str = method, group: int = group) -> tuple[torch.Tensor, torch.Tensor]:
            return exact_search.exact_top_k(questions, passages, k, group=group, method=method)

        wrong = check(questions, passages, k, search()[1])
        row(f"group maxima, {method}, groups of {group}", search, f"{wrong} wrong of {64 * k}")
    row("  of it: maxima", lambda: group_kernels.maxima(questions, passages, 64))
    maxima = group_kernels.maxima(questions, passages, 64)
    row("  of it: best groups", lambda: exact_search._best_groups(maxima, k))
    best = exact_search._best_groups(maxima, k)
    row("  of it: inside", lambda: group_kernels.inside(questions, passages, best, 64))
    inner = group_kernels.inside(questions, passages, best, 64)
    row("  of it: best inside", lambda: exact_search._best_inside(inner, best, k, 64, held))


if __name__ == "__main__":
    main()
