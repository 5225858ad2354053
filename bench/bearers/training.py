"""Trains readers of bearers from the MS MARCO cross-encoder, three seeds, and exports the small one."""

from __future__ import annotations

import copy
import json
import random
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bearers.data import lines, read
from bearers.weights import bert, positional

TEACHER = "ms-marco-MiniLM-L-12-v2-int8"
LONGEST, READS = 128, 64
"""Tokens of a pair in training, and those that an exported model reads: half of them take half of the time."""
BATCH, NEGATIVES, OTHERS = 16, 8, 2
EPOCHS = 4
PSEUDO = 12_000
"""Fragments of passages as questions without an answer: what a shortened model learns its teacher's scores on."""
LAYERS = {6: (1, 3, 5, 7, 9, 11), 4: (2, 5, 8, 11)}
PART = 15 << 20
"""Bytes of a file that travels."""
List = tuple[str, list[str]]


def train(
    work: Path, out: Path, models: Path, *, seeds: int, steps: int | None, layers: Sequence[int]
) -> None:
    """Every seed: the whole model tuned, then shortened ones taught by it; all rank the test questions."""
    import torch

    out.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    base, tokenizer = bert(models / TEACHER, pairs=True)
    base = base.to(device)
    lists: list[List] = [(row["q"], row["p"]) for row in read(work / "train.jsonl.gz")]
    passages = read(work / "passages-48k.jsonl.gz")
    scorer = Scorer(tokenizer, device)
    tests = {name: questions(work, name) for name in ("48k", "amber")}
    began = time.time()

    def keep(label: str, model: Any) -> None:
        file = out / f"order-{label.replace(' ', '_').replace(',', '')}.jsonl.gz"
        count = lines(file, ordered(scorer, model, tests, steps))
        print(f"{time.time() - began:.0f} s: {label}, {count} rankings", flush=True)

    keep("cross-encoder", base)
    for seed in range(seeds):
        tuned = copy.deepcopy(base)
        fit(tuned, base, scorer, lists, [], seed, 2e-5, 0.3, steps)
        keep(f"trained, 12 layers, {seed}", tuned)
        for count in layers:
            student = shortened(tuned, LAYERS[count])
            pseudo = fragments(passages, PSEUDO, seed)
            fit(student, tuned, scorer, lists, pseudo, seed, 1e-4, 1.0, steps)
            keep(f"trained, {count} layers, {seed}", student)
            if seed == 0:
                export(student, models / TEACHER, out, count, scorer, tests)


class Scorer:
    """Pairs to tokens once, to scores often."""

    def __init__(self, tokenizer: Any, device: str) -> None:
        tokenizer.enable_truncation(LONGEST, strategy="only_second")
        self.tokenizer, self.device = tokenizer, device
        self._last: tuple[Any, dict[str, Any]] = (None, {})

    def tensors(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Of the same list twice, for a model and its teacher, the tokens are made once."""
        if self._last[0] is not pairs:
            self._last = (pairs, self._tensors(pairs))
        return self._last[1]

    def _tensors(self, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
        import torch

        encoded = self.tokenizer.encode_batch([(q[:500], p) for q, p in pairs])
        width = max(len(e.ids) for e in encoded)
        ids = np.zeros((3, len(encoded), width), np.int64)
        for row, e in enumerate(encoded):
            ids[0, row, : len(e.ids)], ids[1, row, : len(e.ids)] = e.ids, e.type_ids
            ids[2, row, : len(e.ids)] = 1
        names = ("input_ids", "token_type_ids", "attention_mask")
        return {n: torch.from_numpy(a).to(self.device) for n, a in zip(names, ids, strict=True)}

    def __call__(self, model: Any, pairs: Sequence[tuple[str, str]]) -> Any:
        import torch

        half = torch.autocast("cuda", torch.bfloat16, enabled=self.device == "cuda")
        with half:
            return model(**self.tensors(pairs)).logits[:, 0].float()

    def many(self, model: Any, pairs: Sequence[tuple[str, str]], size: int = 512) -> list[float]:
        import torch

        model.eval()
        with torch.no_grad():
            parts = [self(model, pairs[n : n + size]).cpu() for n in range(0, len(pairs), size)]
        return torch.cat(parts).tolist() if parts else []


def fit(
    model: Any,
    teacher: Any,
    scorer: Scorer,
    lists: Sequence[List],
    pseudo: Sequence[List],
    seed: int,
    rate: float,
    teaching: float,
    steps: int | None,
) -> None:
    """Softmax over each list, and the teacher's own distribution over it; pseudo lists teach the latter."""
    import torch

    torch.manual_seed(seed)
    drawn = random.Random(seed)
    work: list[tuple[List, bool]] = []
    for epoch in range(EPOCHS):
        mixed = [(held, True) for held in lists] + [(held, False) for held in pseudo if epoch < 2]
        drawn.shuffle(mixed)
        work += mixed
    batches = [work[n : n + BATCH] for n in range(0, len(work) - BATCH + 1, BATCH)][:steps]
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    warm = max(1, len(batches) // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda n: (n + 1) / warm if n < warm else (len(batches) - n) / max(1, len(batches) - warm)
    )
    model.train()
    teacher.eval()
    for batch in batches:
        pairs, sizes = [], []
        for place, ((question, held), _) in enumerate(batch):
            wrong = held[1:]
            drawn.shuffle(wrong)
            others = [batch[(place + k) % len(batch)][0][1][0] for k in range(1, OTHERS + 1)]
            shown = [held[0], *wrong[:NEGATIVES], *(p for p in others if p != held[0])]
            pairs += [(question, passage) for passage in shown]
            sizes.append(len(shown))
        scores = scorer(model, pairs).split(sizes)
        with torch.no_grad():
            taught = scorer(teacher, pairs).split(sizes)
        loss = torch.zeros((), device=scores[0].device)
        for (_, labelled), own, theirs in zip(batch, scores, taught, strict=True):
            loss = loss + teaching * torch.nn.functional.kl_div(
                own.log_softmax(0), theirs.softmax(0), reduction="sum"
            )
            if labelled:
                loss = loss - own.log_softmax(0)[0]
        optimizer.zero_grad(set_to_none=True)
        (loss / len(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()


def shortened(model: Any, layers: Sequence[int]) -> Any:
    import torch

    student = copy.deepcopy(model)
    student.bert.encoder.layer = torch.nn.ModuleList(student.bert.encoder.layer[n] for n in layers)
    student.config.num_hidden_layers = len(layers)
    return student


def fragments(passages: Sequence[Any], count: int, seed: int) -> list[List]:
    """A stretch of a passage as the question; that passage, its neighbours and others as candidates."""
    drawn = random.Random(seed)
    made: list[List] = []
    while len(made) < count:
        at = drawn.randrange(len(passages))
        words = passages[at]["x"].split()
        if len(words) < 16:
            continue
        start, size = drawn.randrange(len(words) - 12), drawn.randint(5, 12)
        question = f"{passages[at]['t'].partition(' (')[0]} {' '.join(words[start : start + size])}"
        near = [n for n in (at - 1, at + 1) if 0 <= n < len(passages)]
        chosen = [at, *near, *(drawn.randrange(len(passages)) for _ in range(3))]
        made.append((question, [text_of(passages[n]) for n in chosen]))
    return made


def text_of(passage: Any) -> str:
    return f"{passage['t']} {passage['x']}".strip()


def questions(work: Path, name: str) -> tuple[list[Any], list[Any]]:
    return read(work / f"questions-{name}.jsonl.gz"), read(work / f"passages-{name}.jsonl.gz")


def ordered(scorer: Scorer, model: Any, tests: Any, steps: int | None) -> Any:
    """For each question BM25's first and the bearers, best first."""
    for name, (asked, passages) in tests.items():
        rows = asked if steps is None else asked[:3]
        for kind in ("bm25", "bearers"):
            pairs = [(q["q"], text_of(passages[n])) for q in rows for n in q[kind]]
            scores = iter(scorer.many(model, pairs))
            for q in rows:
                ranked = sorted(((next(scores), n) for n in q[kind]), key=lambda s: -s[0])
                yield {"b": name, "id": q["id"], "kind": kind, "rows": [n for _, n in ranked]}


def export(model: Any, folder: Path, out: Path, layers: int, scorer: Scorer, tests: Any) -> None:
    """int8 ONNX beside its tokenizer, in parts that travel, and how far its scores are from torch's."""
    import onnxruntime
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    place = out / f"namesake-reader-{layers}-layers"
    place.mkdir(parents=True, exist_ok=True)
    plain = copy.deepcopy(model).cpu().float().eval()
    plain.config._attn_implementation = "eager"
    sample = {n: t.cpu() for n, t in scorer.tensors([("a b c", "d e f g"), ("a", "b c")]).items()}
    order = ("input_ids", "attention_mask", "token_type_ids")
    torch.onnx.export(
        positional(plain),
        tuple(sample[n] for n in order),
        str(place / "fp32.onnx"),
        input_names=list(order),
        output_names=["logits"],
        dynamic_axes={n: {0: "batch", 1: "tokens"} for n in order} | {"logits": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )
    quantize_dynamic(place / "fp32.onnx", place / "model.onnx", per_channel=True, weight_type=QuantType.QInt8)
    (place / "fp32.onnx").unlink()
    shutil.copy(folder / "tokenizer.json", place)
    (place / "tokenizer_config.json").write_text(json.dumps({"model_max_length": READS}))
    session = onnxruntime.InferenceSession(str(place / "model.onnx"))
    asked, passages = tests["48k"]
    pairs = [(q["q"], text_of(passages[n])) for q in asked[:20] for n in q["bm25"][:5]]
    given = {n: t.cpu().numpy() for n, t in scorer.tensors(pairs).items()}
    small = session.run(None, {n: given[n] for n in order})[0][:, 0]
    agree = float(np.corrcoef(small, np.array(scorer.many(model, pairs)))[0, 1])
    data = (place / "model.onnx").read_bytes()
    for n in range(0, len(data), PART):
        (out / f"{layers}-layers.part{n // PART}").write_bytes(data[n : n + PART])
    exported = {"export": place.name, "bytes": len(data), "correlation": round(agree, 5)}
    print(json.dumps(exported), flush=True)
