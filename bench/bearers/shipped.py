"""The reader that is shipped: lists of invented pages, its training on another machine, and its export.

`prepare` writes what the training needs, and questions that nothing is learned from; `train` tunes the MS MARCO
cross-encoder on the lists, shortens it to 6 layers, and exports it as int8 ONNX. It needs numpy, torch, transformers,
tokenizers, onnx and onnxruntime. `read` reads the questions with a model, and says what that costs.
"""

from __future__ import annotations

import copy
import gzip
import hashlib
import json
import multiprocessing
import random
import re
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bearers.pages import List, Vocabulary, World, key

TEACHER = "ms-marco-MiniLM-L-12-v2-int8"
LONGEST, READS = 112, 96
"""Tokens of a pair in training, and those that the exported model reads."""
KEPT = (1, 3, 5, 7, 9, 11)
NAMES, PLAIN = 20_000, 24_000
"""Invented names whose questions are learned from, and questions on real paragraphs that only the teacher answers."""
BATCH = 40
LABEL, TAUGHT, CLOSE = 1.0, 0.3, 0.02
PART, EXPORT = 500, 95
MOST_ASKED, CANDIDATES, TEN, WORDS = 300, 12, 10, 120


# What is learned from, and what is asked without having been learned


def prepare(shared: Path, work: Path) -> None:
    """`vocabulary.json`, `paragraphs.txt` and `questions.txt`: all that the lists are made of."""
    from bearers.pages import paragraphs

    data = shared / "data"
    work.mkdir(parents=True, exist_ok=True)
    names, wordings = asked_elsewhere(data)
    vocabulary = Vocabulary.made(data / "entityquestions", names, wordings)
    (work / "vocabulary.json").write_text(json.dumps(vocabulary.kept, ensure_ascii=False, indent=0))
    refused = {key(n) for n in names}
    plain = [p for p in paragraphs(data / "dumps") if key(p.partition(". ")[0]) not in refused]
    questions: list[str] = []
    for row in _lines(data / "ramdocs" / "ramdocs-dev.jsonl.gz"):
        if not any(f" {n} " in f" {key(row['question'])} " for n in refused if " " in n):
            questions.append(row["question"])
            plain += [" ".join(d["text"].split()[:110]) for d in row["documents"] if len(d["text"]) > 150]
    with gzip.open(data / "ambigqa" / "dev_light.json.gz", "rt") as opened:
        for row in json.load(opened):
            pairs = [p["question"] for a in row["annotations"] for p in a.get("qaPairs", ())]
            questions += [row["question"], *pairs]
    (work / "paragraphs.txt").write_text("\n".join(dict.fromkeys(plain)))
    (work / "questions.txt").write_text("\n".join(dict.fromkeys(questions)))
    print(len(vocabulary.people), "people,", len(set(plain)), "paragraphs,", len(set(questions)), "questions")


def candidates(work: Path, players: Path | None) -> None:
    """`asked.jsonl.gz`: development questions of every set, each with what `namesake` likes most by words alone."""
    from namesake_fit.sets import development
    from whichone.retrieval.namesake import NamesakeRetriever

    with gzip.open(work / "asked.jsonl.gz", "wt") as out:
        for asked in development(work, only="", most=MOST_ASKED, players=players, further=()):
            corpus = asked.benchmark.corpus
            retriever = NamesakeRetriever.over(corpus, work / "indexes" / corpus.hash[:16], encoder="none")
            for query in asked.queries:
                question, gold = query.question(), query.gold_pages()
                read = [e for e in retriever.weighed(question).candidates if "unread" not in e.values]
                likely = sorted(read, key=lambda e: (-e.score, e.page))[:CANDIDATES]
                right = [any(retriever.page_id(p) in gold for p in e.pages) for e in likely]
                found = [retriever._searcher._passage_to_read(e.page, question.text) for e in likely]
                texts = [f"{title}. {' '.join(text.split()[:WORDS])}" for title, text in found]
                row = {"b": asked.name, "id": query.id, "task": query.task, "q": question.text.replace(" [SEP] ", " "), "p": texts, "r": right}  # fmt: skip
                if texts:
                    out.write(json.dumps(row) + "\n")
            print(asked.name, flush=True)


def asked_elsewhere(data: Path) -> tuple[set[str], set[str]]:
    """Names of the sets that the reader is tested on, and how AmbER, EntityQuestions and PopQA word their questions."""
    import tomllib

    import whichone
    from whichone.benchmarks.benchmark import Benchmark

    names: set[str] = set()
    wordings: set[str] = set()
    for row in _lines(data / "wikipedia-48k" / "questions-dev.jsonl.gz"):
        names |= {row["name"] or "", *row["gold_titles"], *row["same_name_titles"]}
        if row["dataset"] in ("popqa", "entityquestions") and row["name"]:
            wordings.add(row["question"].replace(row["name"], "$name"))
    for name in ("amber", "entityquestions", "ambigdocs"):
        benchmark = Benchmark.open(f"builtin/{name}")
        names |= {s.name for s in benchmark.sets} | {q.name for q in benchmark.queries if q.name}
        names |= {p.title for p in benchmark.passage_records()}
    package = Path(whichone.__file__).parent
    for file in (package / "papers" / "amber" / "collections").glob("*.toml"):
        for own in tomllib.loads(file.read_text("utf-8"))["properties"].values():
            wordings |= {own["label"], *own["questions"]["en"], *own["claims"]["en"]}
    for own in tomllib.loads((package / "benchmarks" / "relations.toml").read_text("utf-8")).values():
        wordings |= {own["question"], own.get("reworded", "")}
    bare = {n.partition(" (")[0] for n in names}
    return {n for n in names | bare if n}, {w for w in wordings if w}


def _lines(file: Path) -> Iterator[Any]:
    with gzip.open(file, "rt") as opened:
        yield from map(json.loads, opened)


def made_lists(work: Path, names: int, plain: int, workers: int) -> list[List]:
    """The same lists on every machine."""
    tasks = [(work, n, min(PART, names - n)) for n in range(0, names, PART)]
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        lists = [one for part in pool.starmap(_invented, tasks) for one in part]
    return [*lists, *_plain(work, plain)]


def _invented(work: Path, first: int, count: int) -> list[List]:
    world = World(
        Vocabulary(json.loads((work / "vocabulary.json").read_text())), f"reader {first}", _paragraphs(work)
    )
    return [one for _ in range(count) for one in world.lists()]


def _paragraphs(work: Path) -> list[str]:
    return (work / "paragraphs.txt").read_text().split("\n")


def _plain(work: Path, count: int) -> Iterator[List]:
    """Real questions, and stretches of paragraphs as questions, with real paragraphs that share words with them."""
    draw, texts = random.Random("plain"), _paragraphs(work)
    asked = (work / "questions.txt").read_text().split("\n")
    places: dict[str, list[int]] = defaultdict(list)
    for n, text in enumerate(texts):
        for word in set(_words(text)):
            places[word].append(n)
    for n in range(count):
        chosen: list[int] = []
        if n % 3 == 0:
            question = draw.choice(asked)
        else:
            at = draw.randrange(len(texts))
            words = texts[at].split()
            start = draw.randrange(max(len(words) - 12, 1))
            title = texts[at].partition(". ")[0] if draw.random() < 0.6 else ""
            question = f"{title} {' '.join(words[start : start + draw.randint(4, 12)])}".strip()
            chosen = [at, *(m for m in (at - 1, at + 1) if 0 <= m < len(texts))]
        rare = sorted((w for w in _words(question) if w in places), key=lambda w: len(places[w]))
        for word in rare[:3]:
            chosen += draw.sample(places[word], min(2, len(places[word])))
        chosen += [draw.randrange(len(texts)) for _ in range(2)]
        yield List(question, [texts[m] for m in dict.fromkeys(chosen)][:8], None, "plain")


def _words(text: str) -> list[str]:
    return [w for w in re.findall(r"\w+", text.casefold()) if len(w) > 3]


# Training


class Pairs:
    """Questions and passages as token ids, made once."""

    def __init__(self, tokenizer: Any, lists: Sequence[List]) -> None:
        passages = list({p: None for one in lists for p in one.passages})
        self._at = {p: n for n, p in enumerate(passages)}
        self._passages = self._ids(tokenizer, passages)
        asked = list({one.question: None for one in lists})
        self._questions = dict(zip(asked, self._ids(tokenizer, asked), strict=True))
        self._first, self._between = (tokenizer.token_to_id(t) for t in ("[CLS]", "[SEP]"))

    @staticmethod
    def _ids(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
        return [e.ids for e in tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def tensors(self, shown: Sequence[tuple[str, str]], longest: int, device: str) -> dict[str, Any]:
        import torch

        rows = []
        for question, passage in shown:
            asked = self._questions[question][: longest // 2]
            own = self._passages[self._at[passage]][: longest - len(asked) - 3]
            rows.append((asked, own))
        width = -(-max(len(a) + len(b) + 3 for a, b in rows) // 8) * 8
        arrays = np.zeros((3, len(rows), width), np.int64)
        for n, (a, b) in enumerate(rows):
            ids = [self._first, *a, self._between, *b, self._between]
            arrays[0, n, : len(ids)], arrays[1, n, len(a) + 2 : len(ids)], arrays[2, n, : len(ids)] = (
                ids,
                1,
                1,
            )
        names = ("input_ids", "token_type_ids", "attention_mask")
        return {n: torch.from_numpy(a).to(device) for n, a in zip(names, arrays, strict=True)}


def logits(model: Any, tensors: dict[str, Any]) -> Any:
    import torch

    with torch.autocast("cuda", torch.bfloat16, enabled=tensors["input_ids"].is_cuda):
        return model(**tensors).logits[:, 0].float()


def fit(
    model: Any, teacher: Any, base: Any, pairs: Pairs, lists: Sequence[List], *,
    rate: float, taught: float, steps: int, seconds: float, seed: int, device: str, size: int = BATCH,
) -> None:  # fmt: skip
    """Softmax over each list against who is meant, and against a teacher; plain lists learn the base's scores alone."""
    import torch

    torch.manual_seed(seed)
    draw, order = random.Random(seed), list(range(len(lists)))
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=rate, weight_decay=0.01, fused=device.startswith("cuda")
    )
    model.train()
    at, total, seen = 0, steps, []
    draw.shuffle(order)
    began = warmed = time.time()
    for step in range(steps):
        if step == 10:
            warmed = time.time()
        if step == 40:  # what is planned fits into the time that there is
            left = seconds - (time.time() - began)
            total = min(steps, 40 + int(30 * left / (time.time() - warmed)))
        if step >= total:
            break
        warm = max(1, total // 12)
        scale = (step + 1) / warm if step < warm else max(0.02, (total - step) / max(1, total - warm))
        for group in optimizer.param_groups:
            group["lr"] = rate * scale
        if at + size > len(order):
            draw.shuffle(order)
            at = 0
        batch = [lists[n] for n in order[at : at + size]]
        at += size
        tensors = pairs.tensors([(one.question, p) for one in batch for p in one.passages], LONGEST, device)
        places, there, wanted = (torch.from_numpy(a).to(device) for a in laid_out(batch))
        unlabelled = torch.tensor([[one.shares is None] for one in batch], device=device)
        with torch.no_grad():
            old = logits(base, tensors)[places]
            told = logits(teacher, tensors)[places] if teacher is not base else old
        own = logits(model, tensors)[places]
        theirs = torch.where(unlabelled, old, told)
        weight = torch.where(unlabelled, 1.0, taught)
        log, known = (v.masked_fill(~there, -1e4).log_softmax(1) for v in (own, theirs))
        apart = torch.where(there, own - theirs, 0.0)
        apart = torch.where(there, apart - apart.sum(1, keepdim=True) / there.sum(1, keepdim=True), 0.0)
        close = CLOSE * apart.square().sum(1, keepdim=True) / there.sum(1, keepdim=True)
        kept = (known.exp() * (known - log)).sum(1, keepdim=True) + close
        loss = (weight * kept).sum() - LABEL * (wanted * log).sum()
        optimizer.zero_grad(set_to_none=True)
        (loss / len(batch)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            seen.append(round(float(loss.detach()) / len(batch), 3))
    model.eval()
    print(f"{total} steps, {time.time() - began:.0f} s, losses {seen}", flush=True)


def laid_out(batch: Sequence[List]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A row for each list: the places of its passages, where there are any, and how much of the answer each is."""
    sizes = [len(one.passages) for one in batch]
    places = np.zeros((len(batch), max(sizes)), np.int64)
    there = np.zeros(places.shape, bool)
    wanted = np.zeros(places.shape, np.float32)
    first = 0
    for row, (one, count) in enumerate(zip(batch, sizes, strict=True)):
        places[row, :count], there[row, :count] = np.arange(first, first + count), True
        if one.shares is not None:
            wanted[row, :count] = one.shares
        first += count
    return places, there, wanted


def shortened(model: Any) -> Any:
    import torch

    student = copy.deepcopy(model)
    student.bert.encoder.layer = torch.nn.ModuleList(student.bert.encoder.layer[n] for n in KEPT)
    student.config.num_hidden_layers = len(KEPT)
    return student


def train(
    work: Path, models: Path, out: Path, *, steps: int | None, minutes: float, names: int, seed: int
) -> None:
    """The whole model tuned, a shortened one taught by it, exported; and what each makes of questions never seen."""
    import os

    import torch

    from bearers.weights import bert

    out.mkdir(parents=True, exist_ok=True)
    began = time.time()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    lists = made_lists(work, names, PLAIN * names // NAMES, min(16, os.cpu_count() or 1))
    digest = hashlib.sha256(
        json.dumps([[o.question, *o.passages, o.shares] for o in lists]).encode()
    ).hexdigest()
    forms: dict[str, int] = defaultdict(int)
    for one in lists:
        forms[one.form] += 1
    print(f"{len(lists)} lists {dict(forms)}, sha256 {digest}, {time.time() - began:.0f} s", flush=True)
    base, tokenizer = bert(models / TEACHER, pairs=True)
    base = base.to(device)
    pairs = Pairs(tokenizer, lists)
    asked = list(_lines(work / "asked.jsonl.gz")) if (work / "asked.jsonl.gz").exists() else []
    asked = asked if steps is None else asked[:: max(1, len(asked) // 20)]
    told = Told(tokenizer, asked, device)
    print(f"{time.time() - began:.0f} s: tokens", flush=True)
    told.table("cross-encoder, 12 layers, untuned", base)
    left = 60 * minutes - (time.time() - began) - EXPORT
    tuned = copy.deepcopy(base)
    fit(
        tuned, base, base, pairs, lists, rate=3e-5, taught=TAUGHT, steps=steps or 1_800,
        seconds=0.3 * left, seed=seed, device=device, size=BATCH if steps is None else 3,
    )  # fmt: skip
    told.table("12 layers, tuned", tuned)
    student = shortened(tuned)
    fit(
        student, tuned, base, pairs, lists, rate=1.5e-4, taught=1.0, steps=steps or 6_000,
        seconds=0.7 * left, seed=seed + 1, device=device, size=BATCH if steps is None else 3,
    )  # fmt: skip
    told.table("6 layers", student)
    exported(student, models / TEACHER, out, tokenizer)
    told.export(out)
    print(f"{time.time() - began:.0f} s in all", flush=True)


def read(work: Path, folder: Path) -> None:
    """How often a model's first of the candidates is right, and milliseconds for ten of them, by the clock and the CPU."""
    from whichone.retrieval.onnx_model import OnnxCrossEncoder

    model, asked = OnnxCrossEncoder(folder), list(_lines(work / "asked.jsonl.gz"))
    told = Told(model._model.tokenizer, asked, "cpu")
    told.print(folder.name, [model.scores([(q["q"], p) for p in q["p"]]).tolist() for q in asked])
    took: list[tuple[float, float]] = []
    for q in [q for q in asked if len(q["p"]) >= TEN][::4]:
        pairs, tries = [(q["q"], p) for p in q["p"][:TEN]], []
        for _ in range(3):
            clock, cpu = time.perf_counter(), time.process_time()
            model.scores(pairs)
            tries.append((time.perf_counter() - clock, time.process_time() - cpu))
        took.append(min(tries))
    for name, values in zip(("clock", "CPU"), zip(*took, strict=True), strict=True):
        middle, most = (1_000 * np.percentile(values, q) for q in (50, 95))
        print(f"{name}: {middle:.0f} ms, 95 % within {most:.0f} ms, of {len(values)} questions")


class Told:
    """What a model makes of questions about names that it never saw, over the candidates of `namesake`."""

    def __init__(self, tokenizer: Any, asked: Sequence[Any], device: str) -> None:
        self._asked, self._device = asked, device
        self._lists = [List(q["q"], q["p"], None) for q in asked]
        self._pairs = Pairs(tokenizer, self._lists) if asked else None

    def scores(self, model: Any) -> list[list[float]]:
        import torch

        shown = [(one.question, p) for one in self._lists for p in one.passages]
        order = sorted(range(len(shown)), key=lambda n: len(shown[n][1]))
        found = np.zeros(len(shown))
        assert self._pairs is not None
        with torch.no_grad():
            for n in range(0, len(order), 512):
                places = order[n : n + 512]
                some = self._pairs.tensors([shown[m] for m in places], READS, self._device)
                found[places] = logits(model, some).cpu().numpy()
        return self._lists_of(found.tolist())

    def _lists_of(self, flat: Sequence[float]) -> list[list[float]]:
        given = iter(flat)
        return [[round(next(given), 3) for _ in one.passages] for one in self._lists]

    def table(self, label: str, model: Any) -> None:
        if self._pairs is not None:
            self.print(label, self.scores(model))

    def print(self, label: str, scores: Sequence[Sequence[float]]) -> None:
        rows: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
        for q, own in zip(self._asked, scores, strict=True):
            if own:
                hit = q["r"][int(np.argmax(own))]
                rows[q["b"]].append((q["r"][0], hit))
                if q["b"] == "amber":
                    rows[f"amber, {q['task']}"].append((q["r"][0], hit))
        print(label)
        for name, hits in rows.items():
            first, read = np.mean(hits, 0)
            print(f"  {name}: {len(hits)}, as given {first:.3f}, by the reader {read:.3f}", flush=True)

    def export(self, out: Path) -> None:
        """The scores of the exported model, as it will be used, and their agreement with torch's."""
        import onnxruntime

        if self._pairs is None:
            return
        session = onnxruntime.InferenceSession(str(out / "model.onnx"))
        shown = [(one.question, p) for one in self._lists for p in one.passages]
        order = sorted(range(len(shown)), key=lambda n: len(shown[n][1]))
        found = np.zeros(len(shown))
        for n in range(0, len(order), 64):
            places = order[n : n + 64]
            some = self._pairs.tensors([shown[m] for m in places], READS, "cpu")
            found[places] = session.run(None, {k: v.numpy() for k, v in some.items()})[0][:, 0]
        scores = self._lists_of(found.tolist())
        self.print("6 layers, int8 ONNX", scores)
        (out / "scores.json").write_text(
            json.dumps({q["id"]: s for q, s in zip(self._asked, scores, strict=True)})
        )


def exported(model: Any, folder: Path, out: Path, tokenizer: Any) -> None:
    """int8 ONNX beside its tokenizer."""
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    from bearers.weights import positional

    plain = copy.deepcopy(model).cpu().float().eval()
    plain.config._attn_implementation = "eager"
    order = ("input_ids", "attention_mask", "token_type_ids")
    sample = {n: torch.ones((2, 9), dtype=torch.int64) for n in order}
    torch.onnx.export(
        positional(plain), tuple(sample[n] for n in order), str(out / "fp32.onnx"), input_names=list(order),
        output_names=["logits"], opset_version=17, dynamo=False,
        dynamic_axes={n: {0: "batch", 1: "tokens"} for n in order} | {"logits": {0: "batch"}},
    )  # fmt: skip
    quantize_dynamic(out / "fp32.onnx", out / "model.onnx", per_channel=True, weight_type=QuantType.QInt8)
    (out / "fp32.onnx").unlink()
    shutil.copy(folder / "tokenizer.json", out)
    (out / "tokenizer_config.json").write_text(json.dumps({"model_max_length": READS}))
    data = (out / "model.onnx").read_bytes()
    print(f"model.onnx: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}", flush=True)
