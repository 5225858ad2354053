"""Other systems' output files as answers, and answers as a KILT predictions file.

Read are KILT's predictions, FEVER's (`predicted_label`, `predicted_evidence`: NSMN and its kin), and plain
lines with `id`, `answer` and, where known, `passages`.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.corpus.passage_files import pages_by_title
from whichone.errors import BadInput, sample
from whichone.files.folder import Folder, file_hash
from whichone.files.json_records import array_records
from whichone.files.lines import read_json_lines, read_lines, write_atomic
from whichone.names import name_key
from whichone.progress import talk
from whichone.records import Answer, Passage, Query, Ranking, ReadingTask, page_id, page_of
from whichone.runs.read import run_reader
from whichone.runs.run import ANSWERS, ANSWERS_KIND, ANSWERS_TIMING, FAILURES, LEFT_OUT, Answers, Run, beside
from whichone.runs.shown import AMBIGDOCS, Setting

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
        self._known = _by_title(benchmark, lambda title: title.replace("_", " "))
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


def _by_title(benchmark: Benchmark, form: Callable[[str], str]) -> dict[str, str]:
    """The pages that titles mean: those of the corpus, else those that gold gives its pages."""
    known = [(page, form(title)) for page, title in benchmark.page_titles.items()]
    taken = {title for _, title in known}
    gold = ((page, form(title)) for title, page in _gold_titles(benchmark))
    return pages_by_title([*known, *(pair for pair in gold if pair[1] not in taken)])


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
        given = record["output"] or []
        given = [given] if isinstance(given, dict) else given
        if not isinstance(given, list):
            raise BadInput("its output is no list", file=path, line=line)
        outputs = [o for o in given if isinstance(o, dict)]
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


def kilt_predictions(answers: Answers, benchmark: Benchmark) -> Iterator[tuple[Query, dict[str, Any]]]:
    """Each question with KILT's output of it: one answer, and the pages it rests on, else those shown."""
    titles = benchmark.page_titles
    finder = PageFinder(benchmark)
    for query, answer, shown in beside(benchmark.queries, answers.answers, answers.shown):
        if answer and query.task == "el":
            answer = _linked(answer, query.task, finder)
        rests = (answer.passages if answer else ()) or shown or ()
        provenance = [
            {"wikipedia_id": page.partition(":")[2], "title": titles.get(page, "")}
            for page in dict.fromkeys(map(page_of, rests))
        ]
        said = answer.text if answer and answer.text is not None else ""
        yield query, {"answer": said, "provenance": provenance}


# DPR's results files: questions with their answers and ranked passages, read and written.


class DprPassage(msgspec.Struct, omit_defaults=True):
    """`score` may be text (DPR) or a number (the BM25 runner of EntityQuestions)."""

    id: str | int
    text: str
    title: str | None = None
    score: float | str | None = None
    has_answer: bool | None = None


class DprResult(msgspec.Struct):
    question: str
    answers: list[str]
    ctxs: list[DprPassage]
    relation: str | None = None
    """Whichone's own field; DPR passes over it."""


def read_dpr_results(path: str | Path) -> Iterator[DprResult]:
    """Results one after another, best passage first; never more than a few megabytes are held."""
    return array_records(path, DprResult)


def score_of(passage: DprPassage, rank: int, path: str | Path, record: int | None = None) -> float:
    """The score as a number; one that is missing follows from the rank."""
    if passage.score is None:
        return -float(rank)
    try:
        return float(passage.score)
    except ValueError:
        raise BadInput(
            f"the score of passage {passage.id} is no number: {passage.score!r}", file=path, line=record
        ) from None


def write_dpr_results(path: str | Path, results: Iterable[DprResult], *, scores_as_text: bool = True) -> int:
    """A JSON list, scores as text as DPR writes them; how many results."""
    rows = []
    for result in results:
        ctxs = []
        for ctx in result.ctxs:
            row: dict[str, Any] = {"id": str(ctx.id), "title": ctx.title or "", "text": ctx.text}
            if ctx.score is not None:
                row["score"] = str(ctx.score) if scores_as_text else float(ctx.score)
            if ctx.has_answer is not None:
                row["has_answer"] = ctx.has_answer
            ctxs.append(row)
        record = {"question": result.question, "answers": result.answers, "ctxs": ctxs}
        rows.append({**record, "relation": result.relation} if result.relation else record)
    write_atomic(path, json.dumps(rows, indent=4).encode())
    return len(rows)


def results_of_run(
    run: Run, benchmark: Benchmark, has_answer: Callable[[Query, Passage], bool] | None = None
) -> Iterator[DprResult]:
    """A run as DPR results, in the order of the benchmark's queries."""
    passages = {passage.id: passage for passage in benchmark.passage_records()}
    own_ids = _source_ids(benchmark)
    ranked: dict[str, list[tuple[str, float]]] = {}
    for row in run.rankings.to_pylist():
        ranked.setdefault(row["question"], []).append((row["passage"], row["score"]))
    for query in benchmark.queries:
        ctxs = []
        for identity, score in ranked.get(query.id, ()):
            if identity not in passages:
                raise BadInput(
                    f"{identity} is a page: DPR results hold passages with their text", file=run.path
                )
            passage = passages[identity]
            flag = has_answer(query, passage) if has_answer else None
            own = own_ids.get(identity) or identity
            ctxs.append(DprPassage(own, passage.text, passage.title, score, flag))
        yield DprResult(query.input, list(query.answers()), ctxs, query.relation)


def rankings_of_results(path: str | Path, benchmark: Benchmark) -> Iterator[Ranking]:
    """DPR results as rankings of a benchmark: questions by their text, passages by their id.

    Questions asked twice with one text are matched in the order in which they come.
    """
    waiting: dict[str, list[str]] = {}
    for query in benchmark.queries:
        waiting.setdefault(query.input, []).append(query.id)
    known = _passage_ids(benchmark)
    for result in read_dpr_results(path):
        queue = waiting.get(result.question)
        if not queue:
            raise BadInput(f"the benchmark does not ask {result.question!r}", file=path)
        lost = [str(ctx.id) for ctx in result.ctxs if str(ctx.id) not in known]
        if lost:
            raise BadInput(
                f"the corpus does not hold these passages of {result.question!r}: {sample(lost)}", file=path
            )
        yield Ranking(
            question=queue.pop(0),
            passages=tuple(known[str(ctx.id)] for ctx in result.ctxs),
            scores=tuple(score_of(ctx, rank, path) for rank, ctx in enumerate(result.ctxs)),
        )


def _source_ids(benchmark: Benchmark) -> dict[str, str | None]:
    """What their own corpus calls our passages."""
    table = benchmark.passages
    return dict(zip(table["id"].to_pylist(), table["source_id"].to_pylist(), strict=True))


def _passage_ids(benchmark: Benchmark) -> dict[str, str]:
    """Our passage ids by themselves and by what their own corpus calls them."""
    own_ids = _source_ids(benchmark)
    known = {own: identity for identity, own in own_ids.items() if own}
    return {**known, **{identity: identity for identity in own_ids}}


# Prediction files of Bootleg, BLINK, ELQ, GENRE, REALM and RAG: entities and titles as pages.
#     bootleg   JSON lines as its annotator writes them: sent_idx_unq, cands with cand_probs (or qids
#               with probs), one list a mention
#     blink     JSON lines, one a mention: predictions (titles) and scores
#     elq       JSON lines: pred_tuples_string ([title, mention] pairs) and scores
#     genre     JSON lines: predictions, a list of {text, score}
#     realm     JSON lines: blocks, a list of {title, score}
#     rag       the text file of its evaluation program: one line a question, titles between tabs
#
# A line belongs to the question whose id it names (`id`), else to the one at the place it names (`id`
# or `sent_idx_unq`, from 0), else to the one at its own place. Several lines of one question are merged
# by score. Runs of BLINK, GENRE and RAG in KILT's own layout are read with --format kilt.


FORMATS = ("bootleg", "blink", "elq", "genre", "realm", "rag")


class Predicted(msgspec.Struct, frozen=True):
    """One page for one question; `page` is empty where nothing was predicted."""

    question: str
    page: str
    score: float
    line: int


class EntityPages:
    """Pages of a benchmark by Wikidata id and by title; a knowledge base knows more of both."""

    def __init__(self, benchmark: Benchmark, knowledge: str | Path | None = None) -> None:
        self._pages: dict[str, str] = {}
        self._titles = _by_title(benchmark, title_form)
        for name_set in benchmark.sets:
            for bearer in name_set.bearers:
                if bearer.pages:
                    self._pages.setdefault(bearer.entity, bearer.pages[0])
        self._corpus = benchmark.pages
        self._lookup = _lookup(knowledge) if knowledge else None

    def of_entity(self, entity: str) -> str | None:
        page = self._pages.get(entity)
        if page is None and self._lookup is not None:
            pages = [p.page for p in self._lookup.pages_of(entity)]
            page = next((p for p in pages if p in self._corpus or not self._corpus), None)
        return page

    def of_title(self, title: str) -> str | None:
        pages = self._titles.get(title_form(title))
        if pages is None and self._lookup is not None:
            page = self._lookup.page_of_title(title)
            pages = page.page if page else None
        return pages


def title_form(title: str) -> str:
    """Titles are compared without quotation marks around them and with case folded."""
    return name_key(title.strip().strip('"'))


def _lookup(knowledge: str | Path) -> Any:
    from whichone.knowledge.lookup import Lookup

    return Lookup.open(knowledge)


def read_predictions(
    file: Path, format: str, benchmark: Benchmark, *, knowledge: str | Path | None = None
) -> Iterator[Predicted]:
    """Best first for each question. What the corpus has no page for is "title X" or "entity X"."""
    pages = EntityPages(benchmark, knowledge)
    ids = [query.id for query in benchmark.queries]
    known = frozenset(ids)
    predictions: dict[str, list[Predicted]] = {}
    for place, (line, record) in enumerate(_records(file, format)):
        question = _question(record, place, ids, known, file, line)
        listed = predictions.setdefault(question, [])
        for name, score in _read(record, format, file, line):
            page = pages.of_entity(name) if format == "bootleg" else pages.of_title(name)
            unknown = f"{'entity' if format == 'bootleg' else 'title'} {name}"
            listed.append(Predicted(question, page or unknown, score, line))
        if not listed:
            listed.append(Predicted(question, "", -math.inf, line))
    for listed in predictions.values():
        ordered = sorted(listed, key=lambda p: -p.score)
        yield from (p for p in ordered if p.page or len(ordered) == 1)


def _records(file: Path, format: str) -> Iterator[tuple[int, Any]]:
    if format != "rag":
        yield from read_json_lines(file)
        return
    for line, raw in read_lines(file):
        titles = [t.strip() for t in raw.decode("utf-8", "replace").split("\t")]
        yield line, {"titles": [t for t in titles if t]}


def _question(
    record: Any, place: int, ids: Sequence[str], known: frozenset[str], file: Path, line: int
) -> str:
    if not isinstance(record, dict):
        raise BadInput("a JSON object is expected", file=file, line=line)
    question = str(record.get("id", record.get("sent_idx_unq", place)))
    if question in known:
        return question
    number = int(question) if question.isdecimal() else -1
    if not 0 <= number < len(ids):
        raise BadInput(
            f"the benchmark has {len(ids)} questions and none that is {question!r}",
            file=file,
            line=line,
            hint="id is a question's id, or its place from 0",
        )
    return ids[number]


def _read(record: dict[str, Any], format: str, file: Path, line: int) -> list[tuple[str, float]]:
    """(QID or title, score) pairs of one line."""
    try:
        return _PAIRS[format](record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problem = f"no field {error}" if isinstance(error, KeyError) else str(error)
        raise BadInput(f"not what {format} writes: {problem}", file=file, line=line) from error


def _bootleg(record: dict[str, Any]) -> list[tuple[str, float]]:
    """Its candidates with their probabilities; for a mention without candidates it writes nulls."""
    lists = (
        zip(record["cands"], record["cand_probs"], strict=True)
        if "cands" in record
        else [(record["qids"], record["probs"])]
    )
    pairs = [
        pair
        for names, scores in lists
        for pair in _together(names, [-1.0 if score is None else score for score in scores])
    ]
    # "-1" and "NC" are nobody
    return [(entity, score) for entity, score in pairs if entity.startswith("Q") and score >= 0]


def _blink(record: dict[str, Any]) -> list[tuple[str, float]]:
    return _together(record["predictions"], record.get("scores"))


def _elq(record: dict[str, Any]) -> list[tuple[str, float]]:
    titles = [title for title, _ in record["pred_tuples_string"]]
    return _together(titles, record.get("scores"))


def _genre(record: dict[str, Any]) -> list[tuple[str, float]]:
    listed = record["predictions"]
    return _together([p["text"] for p in listed], [p["score"] for p in listed])


def _realm(record: dict[str, Any]) -> list[tuple[str, float]]:
    listed = record["blocks"]
    scores = [b["score"] for b in listed] if all("score" in b for b in listed) else None
    return _together([b["title"] for b in listed], scores)


def _rag(record: dict[str, Any]) -> list[tuple[str, float]]:
    return _together(record["titles"], None)


def _together(names: Sequence[str], scores: Sequence[float] | None) -> list[tuple[str, float]]:
    """Without scores, the order counts."""
    values = [-float(n) for n in range(len(names))] if scores is None else [float(s) for s in scores]
    if any(not math.isfinite(score) for score in values):
        raise ValueError("a score is not a finite number")
    if isinstance(names, str) or len(names) != len(values):
        raise ValueError(f"{len(values)} scores for the predictions {names!r}")
    return [(str(name).strip(), score) for name, score in zip(names, values, strict=True)]


_PAIRS = {"bootleg": _bootleg, "blink": _blink, "elq": _elq, "genre": _genre, "realm": _realm, "rag": _rag}


# Uploaded answers, in any of their formats, as a folder of answers with what they rest on.


class Said(msgspec.Struct, frozen=True):
    """One answer of a file: its line, the question as the file names it, the passages it rests on."""

    line: int
    question: str
    text: str | None
    passages: tuple[str, ...] = ()
    shown: tuple[str, ...] | None = None
    """None where the file does not say what was shown."""


Reader = Callable[[Path, Benchmark], Iterator[Said]]


class UploadFormat(msgspec.Struct, frozen=True):
    """A format of answers that a paper brings: its name on the page, one record of it, its reader."""

    title: str
    example: str
    read: Reader


def kilt_answers(file: Path, benchmark: Benchmark) -> Iterator[Said]:
    """KILT's predictions with the pages they rest on; FEVER's and plain lines are read as well."""
    finder = PageFinder(benchmark)
    for line, record in read_json_lines(file):
        answer = read_record(record, finder, file, line)
        yield Said(line, answer.question, answer.text, answer.passages)


def own_answers(file: Path, benchmark: Benchmark) -> Iterator[Said]:
    for line, record in read_json_lines(file):
        answer: Answer = converted(record, Answer, line)
        yield Said(line, answer.question, answer.text, answer.passages)


def converted(record: Any, kind: type[Any], line: int) -> Any:
    try:
        return msgspec.convert(record, kind)
    except msgspec.ValidationError as error:
        raise BadInput(str(error), line=line) from None


def read_answers(
    file: Path, work: Path, benchmark: Benchmark, name: str, read: Reader, missing_is_wrong: bool
) -> Answers:
    """A folder of answers; every query once, and none that the benchmark does not ask."""
    queries = {q.id: q for q in benchmark.queries}
    by_source = source_ids(benchmark)
    rows: dict[str, dict[str, Any]] = {}
    for said in read(file, benchmark):
        question = by_source.get(said.question, said.question)
        check(question, queries, rows, said.line)
        rows[question] = {
            "question": question, "text": said.text, "passages": list(said.passages),
            "shown": _shown(queries[question], said), "score": None, "notes": None,
        }  # fmt: skip
    missing = missing_rows(queries, rows, missing_is_wrong)
    with Folder.create(work, ANSWERS_KIND) as folder:
        folder.write(ANSWERS, ANSWERS.from_rows(list(rows.values())))
        folder.write(FAILURES, FAILURES.from_rows(missing))
        folder.write(LEFT_OUT, LEFT_OUT.from_rows([]))
        folder.write(ANSWERS_TIMING, ANSWERS_TIMING.from_rows([]))
        folder.commit(name=name, parents={"benchmark": benchmark.id})
    return Answers.open(work)


def source_ids(benchmark: Benchmark) -> dict[str, str]:
    """Queries by what their source file calls them."""
    return {str(q.attributes["qid"]): q.id for q in benchmark.queries if "qid" in q.attributes}


def gold_passages(query: Query) -> list[str]:
    """The passages that a query's own gold names, each once."""
    named = (p.passage for o in query.outputs for group in o.provenance for p in group)
    return list(dict.fromkeys(passage for passage in named if passage))


def _shown(query: Query, said: Said) -> list[str]:
    """The passages that were shown; where a file does not say, all of a question's own.

    Only questions about several bearers are scored by what was shown.
    """
    if query.task != AMBIGDOCS:
        return []
    return gold_passages(query) if said.shown is None else list(said.shown)


def check(question: str, known: Mapping[str, Any], seen: Mapping[str, Any], line: int) -> None:
    if question not in known:
        raise BadInput(f"the benchmark has no such query: {question[:100]}", line=line)
    if question in seen:
        raise BadInput(f"this query came before: {question[:100]}", line=line)


def missing_rows(
    known: Mapping[str, Any], seen: Mapping[str, Any], missing_is_wrong: bool
) -> list[dict[str, Any]]:
    """Failures for the queries that a file says nothing of, or the reason to refuse it."""
    missing = sorted(known.keys() - seen.keys())
    if missing and not missing_is_wrong:
        raise BadInput(
            f"{len(missing)} of {len(known)} queries are missing",
            ids=missing,
            hint="say that missing queries count as wrong, or answer every query",
        )
    return [{"question": q, "error": "the file has nothing for it"} for q in missing]
