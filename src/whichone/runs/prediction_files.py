"""Other systems' output files as answers, and answers as a KILT predictions file.

Read are KILT's predictions, FEVER's (`predicted_label`, `predicted_evidence`: NSMN and its kin), and plain
lines with `id`, `answer` and, where known, `passages`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.errors import BadInput, sample
from whichone.files.folder import file_hash
from whichone.files.lines import read_json_lines, write_json_lines
from whichone.progress import talk
from whichone.records import Answer, ReadingTask, page_id, page_of
from whichone.runs.answers import Answers
from whichone.runs.read import run_reader
from whichone.runs.settings import Setting

NOT_ENOUGH = frozenset({"NOT ENOUGH INFO", "NEI", "NEUTRAL"})
REFUTES = "REFUTES"


class PageFinder:
    """A page by its id, by the id its own source gives it, or by its title.

    An id of the source that the corpus does not hold is still a page: a benchmark may come without
    a corpus, or with a part of one.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        pages = frozenset(benchmark.pages).union(*(q.gold_pages() for q in benchmark.queries))
        sources = Counter(page.partition(":")[0] for page in sorted(pages))
        self._source = sources.most_common(1)[0][0] if sources else "enwiki"
        self._known = {
            title.replace("_", " "): page for page, title in sorted(benchmark.page_titles.items())
        }
        for title, page in _gold_titles(benchmark):
            self._known.setdefault(title.replace("_", " "), page)
        self._known |= {page: page for page in pages}
        self._known |= {passage: passage for passage in benchmark.passages["id"].to_pylist()}

    def find(self, identity: object = None, title: object = None) -> str | None:
        """The page; None where only a title is given and nobody has it."""
        if identity is not None:
            known = self._known.get(str(identity))
            return known or page_id(self._source, str(identity))
        return self.named(title)

    def named(self, name: object) -> str | None:
        """A passage, page or title of the benchmark, as it is written there."""
        written = str(name)
        return self._known.get(written) or self._known.get(written.replace("_", " "))


def _gold_titles(benchmark: Benchmark) -> Iterator[tuple[str, str]]:
    """Titles that the gold gives its pages: all there is where a benchmark has no corpus."""
    for query in benchmark.queries:
        for output in query.outputs:
            for group in output.provenance:
                yield from ((source.title, source.page) for source in group if source.title)


class FileReader:
    """Gives what a file says; a question that the file does not answer is a failure."""

    def __init__(self, path: Path, benchmark: Benchmark, name: str, on_error: str = "fail") -> None:
        self.name = name
        self._path = path
        tasks = {q.id: q.task for q in benchmark.queries}
        finder = PageFinder(benchmark)
        self._answers: dict[str, Answer] = {}
        strangers: list[str] = []
        for line, record in read_json_lines(path):
            answer = read_record(record, finder, path, line)
            if answer.question in self._answers:
                raise BadInput(f"{answer.question} is answered twice", file=path, line=line)
            if answer.question not in tasks:
                strangers.append(answer.question)
                continue
            known = _linked(answer, tasks[answer.question], finder)
            self._answers[answer.question] = _label(known, tasks[answer.question])
        if not self._answers and not strangers:
            raise BadInput("the file contains no answers", file=path)
        if strangers:
            problem = (
                f"{len(strangers)} answers are to questions that the benchmark does not have: "
                f"{sample(strangers)}"
            )
            if on_error == "fail" or not self._answers:
                hint = "is this the right benchmark? --on-error skip passes over them"
                raise BadInput(problem, file=path, hint=hint)
            talk(f"passed over: {problem}")

    def describe(self) -> dict[str, Any]:
        return {"reader": "file", "file": self._path.name, "sha256": file_hash(self._path)}

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            identity = task.question.id
            missing = Answer(question=identity, error="the file has no answer to it")
            yield self._answers.get(identity, missing)


def read_record(record: Any, finder: PageFinder, path: Path, line: int) -> Answer:
    """One line of any of the three kinds."""
    if not isinstance(record, dict) or record.get("id") is None:
        raise BadInput("a prediction is an object with an id", file=path, line=line)
    text, pages = _said(record, finder, path, line)
    lost = pages.count(None)
    return Answer(
        question=str(record["id"]),
        text=None if text is None else str(text),
        passages=tuple(dict.fromkeys(p for p in pages if p is not None)),
        notes={"pages_not_in_the_corpus": lost} if lost else {},
    )


def _said(
    record: Mapping[str, Any], finder: PageFinder, path: Path, line: int
) -> tuple[Any, list[str | None]]:
    """The answer, and what it rests on; None for what nobody knows."""
    if "predicted_label" in record:
        evidence = record.get("predicted_evidence") or []
        return record["predicted_label"], [finder.named(e[0]) for e in evidence if e]
    if "output" in record:
        outputs = [o for o in record["output"] or [] if isinstance(o, dict)]
        answers = [o["answer"] for o in outputs if o.get("answer") is not None]
        if len(answers) > 1:
            raise BadInput(f"{len(answers)} answers where one is expected", file=path, line=line)
        sources = [p for o in outputs for p in o.get("provenance") or []]
        if not all(isinstance(p, dict) for p in sources):
            raise BadInput("provenance is a list of objects", file=path, line=line)
        pages = [finder.find(p.get("wikipedia_id"), p.get("title")) for p in sources]
        return (answers[0] if answers else None), pages
    if "answer" in record:
        return record["answer"], [finder.named(p) for p in record.get("passages") or []]
    raise BadInput("the line has no output, answer or predicted_label", file=path, line=line)


def _linked(answer: Answer, task: str, finder: PageFinder) -> Answer:
    """In entity linking the answer is the title of a page: where no page is named, it is that one."""
    page = finder.named(answer.text) if task == "el" and answer.text else None
    if page is None or answer.passages:
        return answer
    return msgspec.structs.replace(answer, passages=(page,))


def _label(answer: Answer, task: str) -> Answer:
    """KILT has two labels: what other systems call not enough information counts as REFUTES."""
    if task != "fc" or (answer.text or "").strip().upper() not in NOT_ENOUGH:
        return answer
    notes = {**answer.notes, "label": answer.text}
    return Answer(question=answer.question, text=REFUTES, passages=answer.passages, notes=notes)


def import_answers(
    benchmark: Where,
    file: str | Path,
    answers: str | Path,
    *,
    name: str | None = None,
    on_error: str = "fail",
) -> Answers:
    """A folder of answers from a file; what the file does not answer is a failure."""
    opened, path = Benchmark.open(benchmark), Path(file)
    called = name or path.name.partition(".")[0]
    return run_reader(
        FileReader(path, opened, called, on_error),
        opened,
        answers,
        Setting(passages="none"),
        name=called,
        cites="anything",
        stop_after=len(opened.queries) + 1,
    )


def export_kilt(
    folder: str | Path, out: str | Path, benchmark: str | None = None
) -> dict[str, int]:
    """Answers as KILT's predictions: one answer, and the pages it rests on, else those shown."""
    answers = Answers.open(folder)
    base = answers.benchmark(benchmark)
    titles = base.page_titles
    finder = PageFinder(base)

    def records() -> Iterator[dict[str, Any]]:
        for query in base.queries:
            answer = answers.answers.get(query.id)
            if answer and query.task == "el":
                answer = _linked(answer, query.task, finder)
            rests = (answer.passages if answer else ()) or answers.shown.get(query.id, ())
            pages = dict.fromkeys(map(page_of, rests))
            provenance = [
                {"wikipedia_id": page.partition(":")[2], "title": titles.get(page, "")}
                for page in pages
            ]
            said = answer.text if answer and answer.text is not None else ""
            yield {
                "id": query.id,
                "input": query.input,
                "output": [{"answer": said, "provenance": provenance}],
            }

    return {str(out): write_json_lines(out, records())}
