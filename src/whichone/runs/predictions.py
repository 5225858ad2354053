"""Files of any system's rankings and answers, read as what each record says of one question."""

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.corpus import from_trec, trec_order
from whichone.corpus.passage_files import pages_by_title
from whichone.errors import BadInput, sample
from whichone.files.arrow_records import Seen, blocks
from whichone.files.json_records import array_records
from whichone.files.lines import read_json_lines, read_lines
from whichone.names import name_key
from whichone.progress import talk
from whichone.records import Answer, Query, Ranking, grouped, page_id

T = TypeVar("T")

NOT_ENOUGH = frozenset({"NOT ENOUGH INFO", "NEI", "NEUTRAL"})
REFUTES = "REFUTES"


class RankedResult(NamedTuple):
    """One ranked page or passage as a file names it, with the line where it is."""

    identity: str
    score: float
    line: int


class Predicted(msgspec.Struct, frozen=True):
    """What a record says of a question: results best first, or an answer and the passages that it rests on."""

    line: int
    question: str  # A query's id, or what the file calls it
    text: str | None = None
    passages: tuple[str, ...] = ()
    shown: tuple[str, ...] | None = None  # None where the file does not say what was shown
    results: tuple[RankedResult, ...] = ()
    notes: dict[str, Any] = {}


class UploadFormat(msgspec.Struct, frozen=True):
    """A format of answers that a paper brings: its name on the page, one record of it, its reader."""

    title: str
    example: str
    read: Callable[[Path, Benchmark], Iterable[Predicted]]


class BenchmarkNames:
    """The queries, passages and pages of a benchmark by every name that a file may use for them.

    A page of the benchmark's source that the corpus does not hold is still a page: a benchmark may come
    without a corpus, or with a part of one. A knowledge base knows more titles and entities.
    """

    def __init__(self, benchmark: Benchmark, knowledge: str | Path | None = None) -> None:
        self.benchmark, self._knowledge = benchmark, knowledge

    @functools.cached_property
    def _places(self) -> Seen:
        """Of queries by their ids, and by those that they have in the files that they are from."""
        seen = Seen()
        for block in blocks(enumerate(self.benchmark.queries), 1_024):
            seen.add([query.id for _, query in block], [n for n, _ in block])
        for n, query in enumerate(self.benchmark.queries):
            kept = query.attributes.get("kilt")
            own = kept.get("id") if isinstance(kept, dict) else query.attributes.get("qid")
            if own is not None:
                seen.add_one(str(own).strip(), n)
        return seen

    def query(self, name: str) -> Query | None:
        (place,) = self._places.numbers_of([name])
        return None if place is None else self.benchmark.queries[place]

    @functools.cached_property
    def by_text(self) -> dict[str, list[Query]]:
        """The queries of each text, in their order."""
        return grouped((query.input, query) for query in self.benchmark.queries)

    @functools.cached_property
    def _gold(self) -> frozenset[str]:
        return frozenset().union(*(query.gold_pages() for query in self.benchmark.queries))

    @functools.cached_property
    def source(self) -> str:
        """What ids of pages begin with."""
        sources = Counter(page.partition(":")[0] for page in sorted({*self.benchmark.pages, *self._gold}))
        return sources.most_common(1)[0][0] if sources else "enwiki"

    @functools.cached_property
    def _results(self) -> tuple[dict[str, str], dict[str, str]]:
        """Pages and passages by their ids, pages without their source too; and passages by their own corpus' ids."""
        ours: dict[str, str] = {}
        theirs: dict[str, str] = {}
        columns = (self.benchmark.passages[name].to_pylist() for name in ("id", "page", "source_id"))
        for passage, page, own in zip(*columns, strict=True):
            ours.setdefault(page.partition(":")[2], page)
            ours.setdefault(page, page)
            ours[passage] = passage
            if own:
                theirs[own] = passage
        return ours, theirs

    def result(self, identity: str) -> str | None:
        """A passage or page; DPR writes ids of its corpus with and without `wiki:`."""
        ours, theirs = self._results
        if not ours:  # a benchmark for scoring only: page ids are taken at their word
            return identity if ":" in identity else page_id(self.source, identity)
        plain = from_trec(identity)
        places = ((theirs, identity), (ours, identity), (ours, plain), (theirs, plain))
        named = (known.get(text) for known, text in (*places, (theirs, identity.removeprefix("wiki:"))))
        return next(filter(None, named), None)

    def examples(self) -> str:
        return sample(list(self._results[0])[:3])

    def page(self, identity: object = None, title: object = None) -> str | None:
        """A page by the id that its source gives it, or by its title; None where nobody has that title."""
        if identity is None:
            return self.named(title)
        text = str(identity)
        return text if self._has(text) else page_id(self.source, text.removeprefix(f"{self.source}:"))

    def named(self, name: object) -> str | None:
        """A passage, page or title of the benchmark, as it is written there; blanks may be underscores."""
        text = str(name)
        return text if self._has(text) else self._written_titles.get(text.replace("_", " "))

    def _has(self, identity: str) -> bool:
        benchmark = self.benchmark
        return identity in benchmark.pages or identity in benchmark.corpus or identity in self._gold

    @functools.cached_property
    def _written_titles(self) -> dict[str, str]:
        return self._by_title(lambda title: title.replace("_", " "))

    @functools.cached_property
    def _folded_titles(self) -> dict[str, str]:
        return self._by_title(folded_title)

    def _by_title(self, form: Callable[[str], str]) -> dict[str, str]:
        """The pages that titles mean: those of the corpus, else those that gold gives its pages."""
        known = [(page, form(title)) for page, title in self.benchmark.page_titles.items()]
        taken = {title for _, title in known}
        gold = (
            (source.page, form(source.title))
            for query in self.benchmark.queries
            for output in query.outputs
            for group in output.provenance
            for source in group
            if source.title
        )
        return pages_by_title([*known, *(pair for pair in gold if pair[1] not in taken)])

    @functools.cached_property
    def _entities(self) -> dict[str, str]:
        bearers = (b for name_set in self.benchmark.sets for b in name_set.bearers if b.pages)
        return {bearer.entity: bearer.pages[0] for bearer in reversed([*bearers])}

    @functools.cached_property
    def _lookup(self) -> Any:
        from whichone.knowledge.lookup import Lookup

        return Lookup.open(self._knowledge) if self._knowledge else None

    def of_entity(self, entity: str) -> str | None:
        """The page of a Wikidata id."""
        if (page := self._entities.get(entity)) is None and self._lookup is not None:
            here = self.benchmark.pages
            known = (p.page for p in self._lookup.pages_of(entity))
            page = next((p for p in known if p in here or not here), None)
        return page

    def titled(self, title: str) -> str | None:
        """The page of a title, whatever its case and quotation marks."""
        page = self._folded_titles.get(folded_title(title))
        if page is None and self._lookup is not None:
            known = self._lookup.page_of_title(title)
            page = known.page if known else None
        return page


def folded_title(title: str) -> str:
    """Titles are compared without quotation marks around them and with case folded."""
    return name_key(title.strip().strip('"'))


# Rankings.


def each_line(
    file: str | Path, form: Callable[[bytes, int], T], skipped: list[str] | None = None
) -> Iterator[T]:
    """What a layout makes of each line; bad ones are raised, or said in `skipped`."""
    for line, text in read_lines(file):
        try:
            if text.strip():
                yield form(text, line)
        except BadInput as error:
            if skipped is None:
                raise
            skipped.append(str(error))


def trec_results(file: Path, names: BenchmarkNames) -> Iterator[Predicted]:
    """In trec_eval's order: by score, ties by id from the end of the alphabet; ranks do not count."""
    contradicting = 0
    for question, listed in trec_rows(file).items():
        ordered = sorted(listed, key=lambda r: trec_order(r[1].score, r[1].identity))
        contradicting += [place for place, _ in ordered] != sorted(place for place, _ in listed)
        results = tuple(result for _, result in ordered)
        yield Predicted(results[0].line, question, results=results)
    if contradicting:
        talk(
            f"{file.name}: {contradicting} queries have ranks that contradict their scores; taken in trec_eval's"
            " order: by score, equal scores by id from the end of the alphabet"
        )


def trec_rows(
    file: str | Path, skipped: list[str] | None = None
) -> dict[str, list[tuple[int, RankedResult]]]:
    """The lines of a TREC run by query, each with its rank."""
    rankings: dict[str, list[tuple[int, RankedResult]]] = {}
    tag: list[str] | None = None

    def read(text: bytes, line: int) -> tuple[str, tuple[int, RankedResult]]:
        nonlocal tag
        parts = text.decode("utf-8", "replace").split()
        if len(parts) < 5:
            raise BadInput(
                "six columns of a TREC run are expected: query Q0 id rank score tag", file=file, line=line
            )
        question, _, identity, rank, score, *tags = parts
        tag = tags if tag is None else tag
        if tags != tag:
            raise BadInput(
                f"a line of {' '.join(tags)!r} in the run of {' '.join(tag)!r}",
                file=file,
                line=line,
                hint="one file is one system: the last column of all lines is the same",
            )
        result = RankedResult(identity, _number(score, "score", file, line), line)
        return question, (int(_number(rank, "rank", file, line)), result)

    for question, row in each_line(file, read, skipped):
        rankings.setdefault(question, []).append(row)
    return rankings


def _number(text: str, what: str, file: str | Path, line: int) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(
            f"the {what} is no finite number: {text!r}",
            file=file,
            line=line,
            hint="the columns are: query Q0 id rank score tag",
        )
    return number


def msmarco_results(file: Path, names: BenchmarkNames) -> Iterator[Predicted]:
    """Query, id and rank between tabs, as Pyserini writes with --output-format msmarco."""
    rankings: dict[str, list[RankedResult]] = {}
    for line, text in read_lines(file):
        try:
            question, identity, rank = text.decode("utf-8", "replace").split("\t")
        except ValueError:
            raise BadInput(
                "three columns between tabs are expected: query id rank", file=file, line=line
            ) from None
        result = RankedResult(identity, -_number(rank, "rank", file, line), line)
        rankings.setdefault(question, []).append(result)
    for question, listed in rankings.items():
        yield Predicted(listed[0].line, question, results=tuple(sorted(listed, key=lambda r: -r.score)))


def kilt_results(file: Path, names: BenchmarkNames) -> Iterator[Predicted]:
    """The ranked pages of KILT's one output that has any, or of AmbER's output, which is an object."""
    for line, record in read_json_lines(file):
        try:
            question, output = str(record["id"]).strip(), record["output"]
            outputs = output if isinstance(output, list) else [output]
            ranked = [o["provenance"] for o in outputs if "provenance" in o]
        except (KeyError, TypeError):
            raise BadInput("not a prediction: id or output is missing", file=file, line=line) from None
        if len(ranked) > 1:
            raise BadInput(
                "several outputs have provenance, one is expected", file=file, line=line, ids=[question]
            )
        results = []
        for rank, entry in enumerate(ranked[0] if ranked and isinstance(ranked[0], list) else ()):
            identity = entry.get("wikipedia_id") if isinstance(entry, dict) else None
            if identity is not None and str(identity) != "None":
                score = as_score(entry.get("score"), rank, f"page {identity}", file, line)
                results.append(RankedResult(str(identity).strip(), score, line))
        yield Predicted(line, question, results=tuple(results))


def as_score(score: float | str | None, rank: int, what: str, file: str | Path, line: int) -> float:
    """A score may be text; one that is missing follows from the rank."""
    try:
        return -float(rank) if score is None else float(score)
    except (TypeError, ValueError):
        raise BadInput(f"the score of {what} is no number: {score!r}", file=file, line=line) from None


class DprPassage(msgspec.Struct, omit_defaults=True):
    """`score` may be text (DPR) or a number (the BM25 runner of EntityQuestions)."""

    id: str | int
    text: str
    title: str | None = None
    score: float | str | None = None
    has_answer: bool | None = None


class DprResult(msgspec.Struct, omit_defaults=True):
    question: str
    answers: list[str]
    ctxs: list[DprPassage]
    relation: str | None = None  # Whichone's own field; DPR passes over it


def read_dpr_results(file: str | Path) -> Iterator[DprResult]:
    """Results one after another, best passage first; never more than a few megabytes are held."""
    return array_records(file, DprResult)


def dpr_results(file: Path, names: BenchmarkNames) -> Iterator[Predicted]:
    """Questions by their text, each in its turn where several have one; files are called by their relation."""
    relation = file.name.partition(".")[0]
    for number, record in enumerate(read_dpr_results(file), 1):
        waiting = names.by_text.get(record.question, [])
        same = (query for query in waiting if query.relation == (record.relation or relation))
        meant = next(same, waiting[0]) if waiting else None
        if meant is not None:
            waiting.remove(meant)
        results = tuple(
            RankedResult(
                str(passage.id), as_score(passage.score, rank, f"passage {passage.id}", file, number), number
            )
            for rank, passage in enumerate(record.ctxs)
        )
        yield Predicted(number, meant.id if meant else record.question, results=results)


def own_results(file: Path, names: BenchmarkNames) -> Iterator[Predicted]:
    for line, record in read_json_lines(file):
        ranking: Ranking = converted(record, Ranking, line)
        scores = ranking.scores or tuple(-float(n) for n in range(len(ranking.passages)))
        if len(scores) != len(ranking.passages):
            raise BadInput("as many scores as passages are expected", line=line)
        pairs = zip(ranking.passages, scores, strict=True)
        yield Predicted(line, ranking.question, results=tuple(RankedResult(*pair, line) for pair in pairs))


def converted(record: Any, kind: type[Any], line: int) -> Any:
    try:
        return msgspec.convert(record, kind)
    except msgspec.ValidationError as error:
        raise BadInput(str(error), line=line) from None


# Rankings of Bootleg, BLINK, ELQ, GENRE, REALM and RAG: entities and titles as pages. A line belongs to the
# question whose id it names (`id`), else to the one at the place it names (`id` or `sent_idx_unq`, from 0),
# else to the one at its own place. Several lines of one question, one a mention, are merged by score.


def _bootleg(record: dict[str, Any]) -> list[tuple[str, float]]:
    """Its candidates with their probabilities; for a mention without candidates it writes nulls."""
    several = "cands" in record
    lists = (
        zip(record["cands"], record["cand_probs"], strict=True)
        if several
        else [(record["qids"], record["probs"])]
    )
    return [
        (entity, score)
        for names, scores in lists
        for entity, score in _together(names, [-1.0 if score is None else score for score in scores])
        if entity.startswith("Q") and score >= 0  # "-1" and "NC" are nobody
    ]


def _realm(record: dict[str, Any]) -> list[tuple[str, float]]:
    listed = record["blocks"]
    scores = [b["score"] for b in listed] if all("score" in b for b in listed) else None
    return _together([b["title"] for b in listed], scores)


def _together(names: Sequence[str], scores: Sequence[float] | None) -> list[tuple[str, float]]:
    """Without scores, the order counts."""
    values = [-float(n) for n in range(len(names))] if scores is None else [float(s) for s in scores]
    if any(not math.isfinite(score) for score in values):
        raise ValueError("a score is not a finite number")
    if isinstance(names, str) or len(names) != len(values):
        raise ValueError(f"{len(values)} scores for the predictions {names!r}")
    return [(str(name).strip(), score) for name, score in zip(names, values, strict=True)]


_PAIRS: dict[str, Callable[[dict[str, Any]], list[tuple[str, float]]]] = {
    "bootleg": _bootleg,
    "blink": lambda record: _together(record["predictions"], record.get("scores")),
    "elq": lambda record: _together([t for t, _ in record["pred_tuples_string"]], record.get("scores")),
    "genre": lambda record: _together(
        *([p[key] for p in record["predictions"]] for key in ("text", "score"))
    ),
    "realm": _realm,
    "rag": lambda record: _together(record["titles"], None),
}
LINKERS = tuple(_PAIRS)


def linked_results(format: str, file: Path, names: BenchmarkNames) -> Iterator[Predicted]:
    """What nobody has a page for stays "title X" or "entity X"."""
    ids = [query.id for query in names.benchmark.queries]
    merged: dict[str, list[RankedResult]] = {}
    for place, (line, record) in enumerate(_linked_records(file, format)):
        listed = merged.setdefault(_linked_question(record, place, ids, names, file, line), [])
        try:
            pairs = _PAIRS[format](record)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            problem = f"no field {error}" if isinstance(error, KeyError) else str(error)
            raise BadInput(f"not what {format} writes: {problem}", file=file, line=line) from error
        find, kind = (names.of_entity, "entity") if format == "bootleg" else (names.titled, "title")
        listed += [RankedResult(find(name) or f"{kind} {name}", score, line) for name, score in pairs]
    for question, listed in merged.items():
        yield Predicted(0, question, results=tuple(sorted(listed, key=lambda result: -result.score)))


def _linked_records(file: Path, format: str) -> Iterator[tuple[int, Any]]:
    if format != "rag":
        return read_json_lines(file)
    lines = ((line, raw.decode("utf-8", "replace").split("\t")) for line, raw in read_lines(file))
    return ((line, {"titles": [*filter(None, map(str.strip, titles))]}) for line, titles in lines)


def _linked_question(
    record: Any, place: int, ids: Sequence[str], names: BenchmarkNames, file: Path, line: int
) -> str:
    if not isinstance(record, dict):
        raise BadInput("a JSON object is expected", file=file, line=line)
    if names.query(question := str(record.get("id", record.get("sent_idx_unq", place)))):
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


READERS: dict[str, Callable[[Path, BenchmarkNames], Iterator[Predicted]]] = {
    "trec": trec_results,
    "msmarco": msmarco_results,
    "kilt": kilt_results,
    "amber": kilt_results,
    "dpr": dpr_results,
    "whichone": own_results,
    **{name: functools.partial(linked_results, name) for name in LINKERS},
}


# Answers.


def kilt_answers(file: Path, benchmark: Benchmark) -> Iterator[Predicted]:
    """KILT's predictions, FEVER's (`predicted_label`, `predicted_evidence`: NSMN and its kin), and plain lines."""
    names = BenchmarkNames(benchmark)
    for line, record in read_json_lines(file):
        if not isinstance(record, dict) or record.get("id") is None:
            raise BadInput("a prediction is an object with an id", file=file, line=line)
        given, pages = _answer(record, names, file, line)
        lost = pages.count(None)
        known = tuple(dict.fromkeys(page for page in pages if page is not None))
        question, text = str(record["id"]).strip(), None if given is None else str(given)
        said = Predicted(line, question, text, known, notes={"pages_not_in_the_corpus": lost} if lost else {})
        query = names.query(question)
        yield as_task(said, query.task, names) if query is not None else said


def _answer(
    record: Mapping[str, Any], names: BenchmarkNames, file: Path, line: int
) -> tuple[Any, list[str | None]]:
    """The answer, and what it rests on; None for what nobody knows."""
    if "predicted_label" in record:
        evidence = record.get("predicted_evidence") or []
        return record["predicted_label"], [names.named(e[0]) for e in evidence if e]
    if "output" in record:
        given = record["output"] or []
        if not isinstance(given, list | dict):
            raise BadInput("its output is no list", file=file, line=line)
        outputs = [o for o in ([given] if isinstance(given, dict) else given) if isinstance(o, dict)]
        answers = [o["answer"] for o in outputs if o.get("answer") is not None]
        if len(answers) > 1:
            raise BadInput(f"{len(answers)} answers where one is expected", file=file, line=line)
        sources = [p for o in outputs for p in o.get("provenance") or []]
        if not all(isinstance(p, dict) for p in sources):
            raise BadInput("provenance is a list of objects", file=file, line=line)
        pages = [names.page(p.get("wikipedia_id"), p.get("title")) for p in sources]
        return (answers[0] if answers else None), pages
    if "answer" in record:
        return record["answer"], [names.named(p) for p in record.get("passages") or []]
    raise BadInput("the line has no output, answer or predicted_label", file=file, line=line)


def as_task(said: Predicted, task: str, names: BenchmarkNames) -> Predicted:
    """In entity linking an answer is the title of a page, which it rests on where it names none.

    KILT has two labels of claims: what others call not enough information counts as REFUTES.
    """
    if task == "el" and said.text and not said.passages and (page := names.named(said.text)):
        return msgspec.structs.replace(said, passages=(page,))
    if task == "fc" and (said.text or "").strip().upper() in NOT_ENOUGH:
        return msgspec.structs.replace(said, text=REFUTES, notes={**said.notes, "label": said.text})
    return said


def own_answers(file: Path, benchmark: Benchmark) -> Iterator[Predicted]:
    for line, record in read_json_lines(file):
        answer: Answer = converted(record, Answer, line)
        yield Predicted(line, answer.question, answer.text, answer.passages)


def named_passages(query: Query) -> list[str]:
    """The passages that a query's own gold names, each once."""
    named = (p.passage for o in query.outputs for group in o.provenance for p in group)
    return list(dict.fromkeys(passage for passage in named if passage))
