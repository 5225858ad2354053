"""Tasks of inspect_ai over any benchmark: `inspect eval whichone/reading -T benchmark=BENCH --model MODEL`.

`reading` shows a model passages (gold ones, those of another bearer, none, or those of a run) and asks; `searching` gives an
agent a search tool. Every answer is scored by what became of it: right, a namesake's, and so on.
"""

from collections.abc import Sequence
from typing import Any

from inspect_ai import Task, task
from inspect_ai.agent import react
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState, generate, system_message
from inspect_ai.tool import Tool, tool

from whichone.benchmarks.benchmark import Benchmark
from whichone.chat.prompt import passages_text
from whichone.files.output import cache_folder
from whichone.measures.outcomes import accepted_values, text_outcome, words_of
from whichone.measures.scores import other_values
from whichone.records import Query, Question
from whichone.runs.retrieve import make_retriever
from whichone.runs.run import Run
from whichone.runs.run_options import Passages
from whichone.runs.shown import Shows, setting_for

_ASK = "Answer the question in a few words. If it cannot be told who is meant, ask which one."
_OUTCOMES = ("right", "namesake", "several", "asked", "refused", "wrong")


@task  # type: ignore[untyped-decorator]
def reading(benchmark: str, passages: Passages = "gold", run: str = "", depth: int = 5) -> Task:
    """Questions with the passages that `read --passages` would show: gold, other-bearer, retrieved, none."""
    opened = Benchmark.open(benchmark)
    setting = setting_for(opened, passages=passages, depth=depth)
    shows = Shows(opened, setting, Run.open(run) if run else None)
    asked = [q for q in opened.queries if accepted_values(q)]
    shown = {q.id: shows.choose(q) for q in asked}
    asked = [q for q in asked if shown[q.id].left_out is None]
    texts = {t.question.id: passages_text(t.passages) for t in shows.tasks(asked, shown)}
    samples = [_sample(q, f"{texts[q.id]}\n\n{q.input}".strip()) for q in asked]
    return Task(
        dataset=MemoryDataset(samples, name=opened.id),
        solver=[system_message(_ASK), generate()],
        scorer=outcomes(benchmark),
    )


@task  # type: ignore[untyped-decorator]
def searching(benchmark: str, retriever: str = "bm25", k: int = 5) -> Task:
    """The same questions for an agent that searches the benchmark's corpus by itself."""
    opened = Benchmark.open(benchmark)
    samples = [_sample(q, q.input) for q in opened.queries if accepted_values(q)]
    return Task(
        dataset=MemoryDataset(samples, name=opened.id),
        solver=react(prompt=_ASK, tools=[search(benchmark, retriever, k)]),
        scorer=outcomes(benchmark),
    )


@tool  # type: ignore[untyped-decorator]
def search(benchmark: str, retriever: str = "bm25", k: int = 5) -> Tool:
    """A search tool over a benchmark's corpus."""
    opened = Benchmark.open(benchmark)
    work = cache_folder() / "indexes" / opened.corpus.hash[:16]
    system = make_retriever(retriever, opened, work, {})

    async def execute(text: str) -> str:
        """Find passages.

        Args:
            text: What to search for.
        """
        (ranking,) = system.search([Question(id="asked", text=text)], k)
        ids = [p if "#" in p else opened.corpus.passages_of(p)[0] for p in ranking.passages]
        held = opened.corpus.get(ids)
        return passages_text([held[i] for i in ids]) or "Nothing is found."

    return execute


@scorer(metrics={name: [mean(), stderr(cluster="name_set")] for name in _OUTCOMES})  # type: ignore[untyped-decorator]
def outcomes(benchmark: str) -> Any:
    """The share of each outcome, with errors by name: answers to questions about one name are not independent."""
    opened = Benchmark.open(benchmark)
    queries = {query.id: query for query in opened.queries}
    others = other_values(opened.queries)

    async def score(state: TaskState, target: Target) -> Score:
        query = queries[str(state.sample_id)]
        said = state.output.completion
        result = text_outcome(
            said, accepted_values(query), tuple(others.get(query.id, ())), words_of(query.language)
        )
        return Score(value={name: float(result == name) for name in _OUTCOMES}, answer=said)

    return score


def _sample(query: Query, text: str) -> Sample:
    target: Sequence[str] = list(accepted_values(query))
    about = {"name_set": query.name_set or query.id, "role": query.role, "relation": query.relation}
    return Sample(id=query.id, input=text, target=list(target), metadata=about)
