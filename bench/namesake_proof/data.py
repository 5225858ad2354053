"""Data of the proof: examples to learn from, the corpus, questions about names never seen."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

HELD_OUT = 0.5
CANDIDATES = 50


def benchmark_48k(shared: Path, folder: Path) -> Any:
    from whichone.benchmarks.questions import QuestionFields, import_questions

    data = shared / "data" / "wikipedia-48k"
    fields = QuestionFields(gold="gold_titles", answers="answers", name="name", relation="relation")
    return import_questions(
        data / "questions-dev.jsonl.gz", data / "passages.jsonl.gz", folder, fields=fields
    )


def test_queries(benchmark: Any) -> list[Any]:
    """HotpotQA whole (what is forgotten), and half of the names of the others."""
    from whichone.training.held_out import name_of, share_of

    held = [q for q in benchmark.queries if q.attributes["gold_in_corpus"]]
    return [q for q in held if q.attributes["dataset"] == "kilt-hotpotqa" or share_of(name_of(q)) < HELD_OUT]


def prepare(shared: Path, work: Path) -> None:
    """Everything that trainings need, as a few small files that can be carried to another machine."""
    from whichone.files.lines import write_json_lines
    from whichone.training.examples import ExampleMaker
    from whichone.training.held_out import HeldOutKeys, Leaks, without

    work.mkdir(parents=True, exist_ok=True)
    benchmark = benchmark_48k(shared, work / "benchmark")
    test = test_queries(benchmark)
    seen = {q.id for q in test}
    train = [
        q
        for q in benchmark.queries
        if q.id not in seen and q.attributes["gold_in_corpus"] and q.attributes["dataset"] != "kilt-hotpotqa"
    ]
    finder = PageFinder(benchmark)
    asked = {q.input for q in benchmark.queries}
    maker = ExampleMaker(benchmark, work / "indexes")
    for kind, pattern in (("train", "dev/*.json.gz"), ("similar", "one-off/similar/*/*.json.gz")):
        files = sorted((shared / "data" / "entityquestions").glob(pattern))
        found = [q for file in files for q in finder.queries(file) if q.input not in asked]
        made = maker.examples(train + found if kind == "train" else found)[0]
        if kind == "train":
            made += builtin_examples(work)
        examples = without(made, Leaks(made, [HeldOutKeys(test)]))
        write_json_lines(work / f"{kind}.jsonl.gz", examples)
        shared_names = sum(any(n.kind == "namesake" for n in e.negatives) for e in examples)
        print(kind, len(examples), "examples,", shared_names, "with namesakes")
    _write_corpus(benchmark, test, work)
    print(len(test), "test questions")


def _write_corpus(benchmark: Any, test: list[Any], work: Path) -> None:
    """Questions with what BM25 finds for them, passages, and the first passages of each name's bearers."""
    from whichone.retrieval.bm25 import Bm25

    place = {p: n for n, p in enumerate(benchmark.passages["id"].to_pylist())}
    found = Bm25.over(benchmark.corpus, work / "indexes").search([q.question() for q in test], CANDIDATES)
    _lines(
        work / "questions.jsonl.gz",
        (
            {"id": q.id, "text": q.input, "bm25": [place[p] for p in ranking.passages]}
            for q, ranking in zip(test, found, strict=True)
        ),
    )
    _lines(
        work / "passages.jsonl.gz", ({"title": p.title, "text": p.text} for p in benchmark.passage_records())
    )
    first: dict[str, int] = {}
    for n, page in enumerate(benchmark.passages["page"].to_pylist()):
        first.setdefault(page, n)
    bearers = ([first[p] for b in s.bearers for p in b.pages] for s in benchmark.sets)
    _lines(work / "sets.jsonl.gz", bearers)


def _lines(file: Path, records: Any) -> None:
    with gzip.open(file, "wt") as out:
        for record in records:
            out.write(json.dumps(record) + "\n")


def read(path: Path) -> list[Any]:
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def builtin_examples(work: Path) -> list[Any]:
    """Questions and slots of the built-in AmbER sets: every one of them has namesakes."""
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.training.examples import ExampleMaker

    benchmark = Benchmark.open("builtin/amber")
    queries = [q for q in benchmark.queries if q.task in ("qa", "sf")]
    found: list[Any] = ExampleMaker(benchmark, work / "indexes-builtin").examples(queries)[0]
    return found


class PageFinder:
    """The page that a simple question is about: the longest title in it whose page contains an answer."""

    def __init__(self, benchmark: Any) -> None:
        from whichone.names import title_key

        self.by_name: dict[str, list[str]] = {}
        self.text: dict[str, str] = {}
        for passage in benchmark.passage_records():
            if passage.page not in self.text:
                self.by_name.setdefault(title_key(passage.title), []).append(passage.page)
            self.text[passage.page] = self.text.get(passage.page, "") + " " + passage.text.lower()
        self._sets = {p: s.id for s in benchmark.sets for b in s.bearers for p in b.pages}

    def queries(self, file: Path) -> list[Any]:
        """The questions of a file of the release whose page is found."""
        from whichone.records import Output, Provenance, Query

        made = []
        for n, record in enumerate(json.loads(gzip.decompress(file.read_bytes()))):
            found = self.find(record["question"], record["answers"])
            if found is None:
                continue
            name, page = found
            answer, *aliases = record["answers"]
            gold = ((Provenance(page=page),),)
            made.append(
                Query(
                    id=f"{file.name}-{n}",
                    task="qa",
                    input=record["question"],
                    outputs=(Output(answer=answer, aliases=tuple(aliases), provenance=gold),),
                    name=name,
                    relation=file.name.split(".")[0].split("_")[0],
                    name_set=self._sets.get(page),
                )
            )
        return made

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
