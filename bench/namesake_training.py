"""Does training with the other bearer's page as a negative help? On names never seen, three seeds.

python bench/namesake_training.py prepare SHARED WORK         # data: examples, corpus, questions
python bench/namesake_training.py run WORK OUT --checkpoint all-MiniLM-L6-v2      # best on a GPU
python bench/namesake_training.py score SHARED OUT            # the table, with paired tests
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

SEEDS = (0, 1, 2)
VARIANTS: dict[str, dict[str, Any]] = {
    "FT, in-batch": {"kinds": (), "mode": "both"},
    "FT, BM25": {"kinds": ("bm25",), "mode": "both"},
    "FT, BM25 and namesake": {"kinds": ("bm25", "namesake"), "mode": "both"},
    "OnlyP, BM25 and namesake": {"kinds": ("bm25", "namesake"), "mode": "only-passages"},
    "OnlyQ, BM25 and namesake": {"kinds": ("bm25", "namesake"), "mode": "only-questions"},
    "FT similar, BM25": {"kinds": ("bm25",), "mode": "both", "examples": "similar"},
}
HELD_OUT = 0.5


def benchmark_48k(shared: Path, folder: Path) -> Any:
    from whichone.benchmarks.questions import QuestionFields, import_questions

    data = shared / "data" / "wikipedia-48k"
    fields = QuestionFields(gold="gold_titles", answers="answers", name="name", relation=None)
    return import_questions(
        data / "questions-dev.jsonl.gz", data / "passages.jsonl.gz", folder, fields=fields
    )


def test_queries(benchmark: Any) -> list[Any]:
    """HotpotQA whole (what is forgotten), and half of the names of the others."""
    from whichone.training.splits import name_of, share_of

    held = [q for q in benchmark.queries if q.attributes["gold_in_corpus"]]
    return [
        q
        for q in held
        if q.attributes["dataset"] == "kilt-hotpotqa" or share_of(name_of(q)) < HELD_OUT
    ]


def prepare(shared: Path, work: Path) -> None:
    from whichone.records import Output, Provenance, Query
    from whichone.training.examples import write_examples
    from whichone.training.negatives import ExampleMaker
    from whichone.training.splits import check_leaks, without_leaks

    work.mkdir(parents=True, exist_ok=True)
    benchmark = benchmark_48k(shared, work / "benchmark")
    test = test_queries(benchmark)
    seen = {q.id for q in test}
    train = [
        q
        for q in benchmark.queries
        if q.id not in seen
        and q.attributes["gold_in_corpus"]
        and q.attributes["dataset"] != "kilt-hotpotqa"
    ]
    finder = PageFinder(benchmark)
    asked = {q.input for q in benchmark.queries}
    for kind, pattern in (("train", "dev/*.json.gz"), ("similar", "one-off/similar/*/*.json.gz")):
        extra: list[Any] = []
        for file in sorted((shared / "data" / "entityquestions").glob(pattern)):
            relation = file.name.split(".")[0].split("_")[0]
            for n, record in enumerate(json.loads(gzip.decompress(file.read_bytes()))):
                found = finder.find(record["question"], record["answers"])
                if found is None or record["question"] in asked:
                    continue
                name, page = found
                outputs = (
                    Output(
                        answer=record["answers"][0],
                        aliases=tuple(record["answers"][1:]),
                        provenance=((Provenance(page=page),),),
                    ),
                )
                extra.append(
                    Query(
                        id=f"{file.name}-{n}",
                        task="qa",
                        input=record["question"],
                        outputs=outputs,
                        name=name,
                        relation=relation,
                        name_set=finder.set_of(page),
                    )
                )
        queries = train + extra if kind == "train" else extra
        maker = ExampleMaker(benchmark, work / "indexes")
        made = maker.examples(queries)[0]
        if kind == "train":
            made += builtin_examples(work)
        examples = without_leaks(made, test)
        check_leaks(examples, test)
        write_examples(work / f"{kind}.jsonl.gz", examples)
        print(
            kind,
            len(examples),
            "examples,",
            sum(any(n.kind == "namesake" for n in e.negatives) for e in examples),
            "with namesakes",
        )
    with gzip.open(work / "questions.jsonl.gz", "wt") as file:
        for query in test:
            file.write(json.dumps({"id": query.id, "text": query.input}) + "\n")
    with gzip.open(work / "passages.jsonl.gz", "wt") as file:
        for passage in benchmark.passage_records():
            file.write(
                json.dumps({"id": passage.id, "title": passage.title, "text": passage.text}) + "\n"
            )
    print(len(test), "test questions")


def builtin_examples(work: Path) -> list[Any]:
    """Questions and slots of the built-in AmbER sets: every one of them has namesakes."""
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.training.negatives import ExampleMaker

    benchmark = Benchmark.open("builtin/amber")
    queries = [q for q in benchmark.queries if q.task in ("qa", "sf")]
    found: list[Any] = ExampleMaker(benchmark, work / "indexes-builtin").examples(queries)[0]
    return found


class PageFinder:
    """The page that a simple question is about: the longest title in it whose page holds an answer."""

    def __init__(self, benchmark: Any) -> None:
        from whichone.names import title_key

        self.by_name: dict[str, list[str]] = {}
        self.text: dict[str, str] = {}
        for passage in benchmark.passage_records():
            if passage.page not in self.text:
                self.by_name.setdefault(title_key(passage.title), []).append(passage.page)
            self.text[passage.page] = self.text.get(passage.page, "") + " " + passage.text.lower()
        self._sets = {p: s.id for s in benchmark.sets for b in s.bearers for p in b.pages}

    def set_of(self, page: str) -> str | None:
        return self._sets.get(page)

    def find(self, question: str, answers: list[str]) -> tuple[str, str] | None:
        from whichone.names import name_key

        words = name_key(question.rstrip("?").replace("'s ", " ")).split(" ")
        for length in range(len(words), 0, -1):
            for start in range(len(words) - length + 1):
                name = " ".join(words[start : start + length])
                pages = [
                    p
                    for p in self.by_name.get(name, ())
                    if any(a and a.lower() in self.text[p] for a in answers)
                ]
                if len(pages) == 1:
                    return name, pages[0]
        return None


def read(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def run(work: Path, out: Path, checkpoint: str, only: tuple[str, ...] = ("",)) -> None:
    """Train every variant with every seed, encode the corpus, search, write the first 20 pages."""
    import torch

    from whichone.training.examples import read_examples

    out.mkdir(parents=True, exist_ok=True)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    passages = read(work / "passages.jsonl.gz")
    questions = read(work / "questions.jsonl.gz")
    data = {kind: read_examples(work / f"{kind}.jsonl.gz") for kind in ("train", "similar")}
    rankings = {"MiniLM": search(checkpoint, passages, questions, device)}
    log: dict[str, Any] = {}
    for name, variant in VARIANTS.items():
        for seed in SEEDS if name.startswith(only) else ():
            began = time.time()
            told = train(work, name, seed, variant, checkpoint, data, device)
            folder = work / "models" / f"{name}-{seed}"
            rankings[f"{name}|{seed}"] = search(folder / "best", passages, questions, device)
            log[f"{name}|{seed}"] = {**told, "seconds": time.time() - began}
            print(name, seed, json.dumps(log[f"{name}|{seed}"]), flush=True)
            with gzip.open(out / "rankings.json.gz", "wt") as file:
                json.dump(
                    {"questions": [q["id"] for q in questions], "rankings": rankings, "log": log},
                    file,
                )


def train(
    work: Path,
    name: str,
    seed: int,
    variant: dict[str, Any],
    checkpoint: str,
    data: dict[str, list[Any]],
    device: str,
) -> dict[str, Any]:
    from whichone.training.bi_encoder import BiEncoderTraining
    from whichone.training.settings import preset
    from whichone.training.splits import share_of

    examples = data[variant.get("examples", "train")]
    settings = preset(
        "default",
        kinds=variant["kinds"],
        mode=variant["mode"],
        seed=seed,
        epochs=6,
        batch=64,
        every=10_000,
    )
    learn = [e for e in examples if share_of(e.name, seed + 1) >= 0.1]
    watch = [e for e in examples if share_of(e.name, seed + 1) < 0.1]
    folder = work / "models" / f"{name}-{seed}"
    trained = BiEncoderTraining(checkpoint, learn, watch, folder, settings, device=device).run()
    return {"examples": len(learn), "losses": trained.losses, "held_out": trained.held_out}


def search(
    checkpoint: str | Path,
    passages: list[dict[str, str]],
    questions: list[dict[str, str]],
    device: str,
) -> list[list[int]]:
    """The first 100 passages of each question, by ordinal."""
    import torch

    from whichone.retrieval.dense.group_maxima import exact_top_k
    from whichone.training.towers import Towers

    towers = Towers.load(checkpoint, "both", 256, device)
    towers.eval()
    with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        held = encode(towers, "passages", [f"{p['title']} {p['text']}" for p in passages])
        asked = encode(towers, "questions", [q["text"] for q in questions])
    found: list[list[int]] = exact_top_k(asked, held, 100, method="torch")[1].tolist()
    return found


def encode(towers: Any, which: str, texts: list[str], size: int = 512) -> Any:
    import torch

    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    parts = [
        towers.encode(which, [texts[i] for i in order[at : at + size]])
        for at in range(0, len(order), size)
    ]
    vectors = torch.cat(parts)
    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order)] = torch.arange(len(order))
    return vectors[back.to(vectors.device)]


def score(shared: Path, out: Path) -> None:
    """The table: means over seeds with intervals by cluster, and paired tests between variants."""
    import tempfile

    import numpy as np

    from whichone.benchmarks.benchmark import save_benchmark
    from whichone.measures.comparison import compare
    from whichone.measures.measure import parse_measures
    from whichone.measures.scores import Scores, score_run
    from whichone.records import Ranking
    from whichone.retrieval.bm25 import Bm25
    from whichone.retrieval.runner import run_retriever

    found: dict[str, Any] = {"rankings": {}}
    for file in sorted(out.glob("rankings*.json.gz")):
        part = json.loads(gzip.decompress(file.read_bytes()))
        part["rankings"] = {**found["rankings"], **part["rankings"]}
        found = part
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        whole = benchmark_48k(shared, place / "whole")
        bench = save_benchmark(
            place / "test",
            name="48k-test",
            queries=test_queries(whole),
            sets=whole.sets,
            passages=whole.passages,
        )
        assert [q.id for q in bench.queries] == found["questions"]
        ids = bench.passages["id"].to_pylist()
        measures = parse_measures(["acc@1", "acc@5", "acc@20", "confused@20"])
        runs: dict[str, list[Scores]] = {}

        class Given:
            def __init__(self, ranked: dict[str, list[int]]) -> None:
                self.ranked = ranked

            def search(self, questions: Any, k: int) -> Any:
                for q in questions:
                    yield Ranking(
                        question=q.id, passages=tuple(ids[i] for i in self.ranked[q.id][:k])
                    )

        for name, ordinals in found["rankings"].items():
            ranked = dict(zip(found["questions"], ordinals, strict=True))
            made = run_retriever(
                Given(ranked), bench, place / name.replace("|", "-"), k=100, name=name
            )
            runs.setdefault(name.partition("|")[0], []).append(score_run(made, bench, measures))
        bm25 = run_retriever(
            Bm25.for_benchmark(bench, place / "index"), bench, place / "bm25", k=100, name="BM25"
        )
        runs["BM25"] = [score_run(bm25, bench, measures)]
        pooled = {
            name: Scores(
                name,
                bench.id,
                bench.queries,
                measures,
                {str(m): np.mean([s.values[str(m)] for s in many], 0) for m in measures},
            )
            for name, many in runs.items()
        }
        print_table(pooled, runs)
        for a, b in (
            ("FT, in-batch", "FT, BM25"),
            ("MiniLM", "FT, BM25"),
            ("FT, BM25", "FT, BM25 and namesake"),
            ("MiniLM", "FT, BM25 and namesake"),
            ("BM25", "FT, BM25 and namesake"),
        ):
            for slice_name, keep in slices(bench.queries).items():
                if a in pooled and b in pooled:
                    pair = [_part(pooled[x], keep) for x in (a, b)]
                    chosen = [m for m in measures if str(m) in ("acc@1", "confused@20")]
                    for c in compare(pair, chosen):
                        if c.difference.low is not None and c.difference.high is not None:
                            low, high = c.difference.low, c.difference.high
                            print(
                                f"{a} -> {b} | {slice_name} | {c.measure} | "
                                f"{c.difference.value:+.3f} [{low:+.3f}, {high:+.3f}] p={c.p:.4f}"
                            )


def slices(queries: Any) -> dict[str, list[int]]:
    simple = [i for i, q in enumerate(queries) if q.attributes["dataset"] != "kilt-hotpotqa"]
    return {
        "unique": [i for i in simple if not queries[i].attributes["shared_name"]],
        "shared": [i for i in simple if queries[i].attributes["shared_name"]],
        "hotpotqa": [
            i for i, q in enumerate(queries) if q.attributes["dataset"] == "kilt-hotpotqa"
        ],
    }


def _part(scores: Any, keep: list[int]) -> Any:
    from whichone.measures.scores import Scores

    return Scores(
        scores.system,
        scores.benchmark,
        [scores.queries[i] for i in keep],
        scores.measures,
        {name: values[keep] for name, values in scores.values.items()},
    )


def print_table(pooled: dict[str, Any], runs: dict[str, list[Any]]) -> None:
    import numpy as np

    from whichone.measures.scores import slice_scores

    print("| system | names | n | acc@1 | acc@5 | acc@20 | confused@20 | acc@1 of the seeds |")
    print("| --- | --- | ---: | --- | --- | --- | --- | --- |")
    for name, scores in pooled.items():
        for slice_name, keep in slices(scores.queries).items():
            ((_, found),) = slice_scores(_part(scores, keep))
            seeds = " ".join(f"{np.nanmean(s.values['acc@1'][keep]):.3f}" for s in runs[name])
            cells = [
                "–" if e.value is None else f"{e.value:.3f} [{e.low:.3f}, {e.high:.3f}]"
                for e in found.values()
            ]
            print(f"| {name} | {slice_name} | {len(keep)} | {' | '.join(cells)} | {seeds} |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=["prepare", "run", "score"])
    parser.add_argument("a", type=Path)
    parser.add_argument("b", type=Path)
    parser.add_argument("--checkpoint", default="all-MiniLM-L6-v2")
    parser.add_argument("--only", default="", help="Variants that begin so, between semicolons.")
    options = parser.parse_args()
    if options.stage == "prepare":
        prepare(options.a, options.b)
    elif options.stage == "run":
        run(options.a, options.b, options.checkpoint, tuple(options.only.split(";")))
    else:
        score(options.a, options.b)


if __name__ == "__main__":
    main()
