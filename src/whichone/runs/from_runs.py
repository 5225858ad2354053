"""Retrievers that need a benchmark: finished runs fused or re-ranked, given documents, bearers, a reader's order."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import msgspec

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.records import Answer, Query, Question, Ranking, ReadingTask, grouped
from whichone.retrieval.rerank import Fusion, FusionParameters, Rerank, RerankParameters, Source
from whichone.runs.run import ANSWERS, Answers, Run
from whichone.runs.shown import AMBIGDOCS
from whichone.text import normalisers


class _Known:
    """Rankings that are known before anything is asked, best first."""

    name: ClassVar[str]

    def __init__(self, ranked: Mapping[str, Sequence[str]], **described: Any) -> None:
        self._ranked, self._described = ranked, described

    def describe(self) -> dict[str, Any]:
        return {"retriever": self.name, **self._described}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for question in questions:
            passages = tuple(self._ranked.get(question.id, ()))[:k]
            scores = tuple(1.0 / rank for rank in range(1, len(passages) + 1))
            yield Ranking(question=question.id, passages=passages, scores=scores)


class ReaderOrder(_Known):
    """Returns what a reader made of the passages it was shown; nothing is searched."""

    name = "reader-order"

    @classmethod
    def for_run(cls, benchmark: Benchmark, work: Path, *, answers: str) -> Self:
        """Read a folder of answers over the same benchmark."""
        read = Answers.open(answers)
        folder = read.folder
        if read.benchmark_id != benchmark.id:
            raise BadInput(
                f"the answers are over {read.benchmark_id}, not over {benchmark.id}", file=folder.root
            )
        order = {
            row["question"]: list(dict.fromkeys([*(row["passages"] or ()), *(row["shown"] or ())]))
            for row in folder.table(ANSWERS.name, ["question", "passages", "shown"]).to_pylist()
        }
        if not any(order.values()):
            raise BadInput("the reader was shown no passages", file=folder.root)
        made_from = {"answers": read.name, "hash": folder.content_hash[:12]}
        return cls(order, answers=answers, **{"from": made_from})


class Given(_Known):
    """Returns what the attribute `documents` of a query lists."""

    name = "given"
    sees = ("corpus", "documents given with the question")

    @classmethod
    def for_run(cls, benchmark: Benchmark, work: Path) -> Self:
        documents = {q.id: tuple(q.attributes.get("documents", ())) for q in benchmark.queries}
        if not any(documents.values()):
            raise UsageError(
                f"the questions of {benchmark.name} come without documents of their own",
                hint="use a retriever that searches the corpus",
            )
        return cls(documents)


class Bearers(_Known):
    """Returns the first passages of all bearers of a question's name, in the order of the name set.

    The name is given, and who has it: what orders these passages is analysed, not a system.
    """

    name = "bearers"
    sees = ("corpus", "the bearers of the name asked about")

    @classmethod
    def for_run(cls, benchmark: Benchmark, work: Path) -> Self:
        corpus, by_set = benchmark.corpus, {s.id: s for s in benchmark.sets}
        asked = {q.id: by_set[q.name_set] for q in benchmark.queries if q.name_set in by_set}
        if not asked:
            raise UsageError(
                f"no question of {benchmark.name} is about a shared name",
                hint="use a retriever that searches the corpus",
            )
        first: dict[str, dict[str, None]] = {}
        for names in {s.id: s for s in asked.values()}.values():
            inside = (corpus.passages_of(page)[:1] for bearer in names.bearers for page in bearer.pages)
            first[names.id] = dict.fromkeys(passage for passages in inside for passage in passages)
        return cls({question: [*first[names.id]] for question, names in asked.items()})


class RunFusion(Fusion):
    """`fusion`: of finished runs (`runs=RUN_A,RUN_B`), or live (`first=INDEX_A,INDEX_B`)."""

    @classmethod
    def for_run(cls, benchmark: Benchmark, work: Path, *, runs: str = "", **options: Any) -> Fusion:
        if not runs:
            return Fusion.over(benchmark.corpus, work, **options)
        parameters = msgspec.convert(options, FusionParameters, strict=False)
        opened = [_over(place, benchmark) for place in runs.split(",") if place]
        if len(opened) < 2:
            raise UsageError("fusion takes at least two runs", hint="-o runs=RUN_A,RUN_B")
        if len({str(run.description.get("returns")) for run in opened} - {"None"}) > 1:
            raise BadInput(
                "some of the runs rank pages, others passages",
                ids=[run.path for run in opened],
                hint="fuse runs of one kind",
            )
        given = {k: v for k, v in msgspec.to_builtins(parameters).items() if k not in ("first", "depth")}
        described = {"runs": runs, **given, "fused": [_described(run) for run in opened]}
        return Fusion([recalled(run) for run in opened], parameters, described, seen_by(opened))


class RunRerank(Rerank):
    """`rerank`: of a finished run (`run=RUN`), or live (`first=INDEX`)."""

    @classmethod
    def for_run(cls, benchmark: Benchmark, work: Path, *, run: str = "", **options: Any) -> Rerank:
        if not run:
            return Rerank.over(benchmark.corpus, work, **options)
        parameters = msgspec.convert(options, RerankParameters, strict=False)
        opened = _over(run, benchmark)
        described = {
            "run": str(opened.path),
            "from": {"run": opened.name, "hash": opened.folder.content_hash[:12]},
        }
        return Rerank.of(recalled(opened), benchmark.corpus, work, parameters, described, seen_by([opened]))


def _over(place: str, benchmark: Benchmark) -> Run:
    run = Run.open(place)
    if run.benchmark_id != benchmark.id:
        raise BadInput(f"the run is over {run.benchmark_id}, not over {benchmark.id}", file=run.path)
    return run


def seen_by(runs: Sequence[Run]) -> tuple[str, ...]:
    """What the systems of several runs were given, together."""
    return tuple(sorted({s for run in runs for s in run.description.get("sees", ("corpus",))}))


def recalled(run: Run) -> Source:
    """What a finished run ranked for each question."""
    columns = (run.rankings[name].to_pylist() for name in ("question", "passage", "score"))
    ranked = grouped(
        (question, (passage, float(score or 0.0))) for question, passage, score in zip(*columns, strict=True)
    )

    return lambda questions, k: [ranked.get(question.id, []) for question in questions]


def _described(run: Run) -> dict[str, Any]:
    return {
        "run": run.name,
        "hash": run.folder.content_hash[:12],
        "made_by": str(run.description.get("retriever", "")),
    }


# The fact itself instead of reading: a ceiling, marked as a shortcut.
# KILT's paper warns that structured resources "could be used to get all answers right". This reader looks
# the asked relation up for the page it was shown, so what it gets wrong is the passages' fault alone.


SUPPORTS, REFUTES = "SUPPORTS", "REFUTES"


class KbLookup:
    """Takes the first shown page that has the fact; closed-book it looks at the gold page."""

    name = "kb-lookup (shortcut)"
    shortcut = True

    def __init__(self, queries: Sequence[Query]) -> None:
        self._queries = {q.id: q for q in queries}
        self._facts: dict[tuple[str, str], tuple[str, ...]] = {}
        self._bearers: dict[tuple[str, str], str] = {}
        for query in queries:
            for page, (answers, bearer) in _stated(query).items():
                self._facts.setdefault((page, _relation(query)), answers)
                self._bearers.setdefault((page, _relation(query)), bearer)

    @classmethod
    def for_run(cls, benchmark: Benchmark) -> Self:
        return cls(benchmark.queries)

    def describe(self) -> dict[str, Any]:
        return {"reader": "kb-lookup", "shortcut": True}

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            query = self._queries[task.question.id]
            if not (shown := [(p.page, p.id) for p in task.passages]):
                shown = [(page, "") for page in sorted(query.gold_pages())]
            facts = {
                (page, identity): answers
                for page, identity in dict(reversed(shown)).items()
                if (answers := self._facts.get((page, _relation(query))))
            }
            yield self._answer(query, [(key, facts[key]) for key in sorted(facts, key=shown.index)])

    def _answer(self, query: Query, values: Sequence[tuple[tuple[str, str], tuple[str, ...]]]) -> Answer:
        if not values:
            return Answer(question=query.id)
        used = values if query.task == AMBIGDOCS else values[:1]
        if query.task == AMBIGDOCS:
            said = [(self._bearers[page, _relation(query)], a[0]) for (page, _), a in used]
            text = " ".join(f"{bearer}: {answer}." for bearer, answer in said)
        elif query.task == "fc" and "claimed" in query.attributes:
            claimed = normalisers.normalize(str(query.attributes["claimed"]))
            true = claimed in {normalisers.normalize(a) for a in used[0][1]}
            text = SUPPORTS if true else REFUTES
        else:
            text = used[0][1][0]
        cited = tuple(identity for (_, identity), _ in used if identity)
        return Answer(question=query.id, text=text, passages=cited)


def _relation(query: Query) -> str:
    """What is asked; a question without a relation, or a claim without values, is asked by itself."""
    by_itself = query.task == "fc" and not query.attributes.get("values")
    return f"question {query.id}" if by_itself or not query.relation else query.relation


def _stated(query: Query) -> Mapping[str, tuple[tuple[str, ...], str]]:
    """For each gold page the values of the fact and whose they are; of a claim, what is true."""
    values = tuple(map(str, query.attributes.get("values", ())))
    facts: dict[str, tuple[tuple[str, ...], str]] = {}
    for output in query.outputs:
        own = tuple(a for a in (output.answer, *output.aliases) if a)
        answers = values if query.task == "fc" and values else own
        for group in output.provenance:
            for source in group:
                if answers:
                    facts.setdefault(source.page, (answers, source.title or output.entity or ""))
    return facts
