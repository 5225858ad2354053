"""Agents over a benchmark: the user and the records they work with, and traces kept with each answer."""

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

from whichone.agents.toolbox import (
    NO_RECORD,
    Act,
    Action,
    FunctionAgent,
    Guarded,
    PlainAgent,
    Policy,
    Toolbox,
    User,
)
from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.protocols import Agent, Retriever
from whichone.records import Answer, Call, Passage, Question, Ranking, ReadingTask, Trace, page_of
from whichone.retrieval.adapters.adapted import load_function
from whichone.runs.provenance import RankingCheck
from whichone.runs.read import run_reader
from whichone.runs.retrieve import as_retriever, default_index_folder, make_retriever
from whichone.runs.run import TRACE, Answers
from whichone.runs.shown import Setting

_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_WORDS = 30


class SimulatedUser:
    """Answers one question back with what tells the meant bearer from its namesakes.

    That is the qualifying attribute where the benchmark has one, else the first words of its page: what the
    knowledge base says, never the answer's own sentence alone.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._queries = {q.id: q for q in benchmark.queries}
        self._benchmark = benchmark

    def __call__(self, question: Question, asked: str) -> str:
        query = self._queries[question.id]
        if qualifier := query.attributes.get("qualifier"):
            label = query.attributes.get("qualifier_label", "attribute") or "attribute"
            return f"I mean the one with the {label} {qualifier}."
        corpus = self._benchmark.corpus
        page = min(query.gold_pages(), default="")
        if (first := next(iter(corpus.get(corpus.passages_of(page)[:1]).values()), None)) is None:
            return f"I mean {query.name}."
        words = _SENTENCE_END.split(first.text, maxsplit=1)[0].split()[:_WORDS]
        return f"I mean {first.title}: {' '.join(words)}"


class RecordTable:
    """The pages of a benchmark's corpus as records; every action on one of them is counted.

    A record is named by its entity's id, its page's id, or the id of a passage of that page.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._owner = {
            key: (bearer.entity, bearer.label or name_set.name)
            for name_set in benchmark.sets
            for bearer in name_set.bearers
            for key in (bearer.entity, *bearer.pages)
        }
        self._corpus = benchmark.corpus
        self.actions = _actions(benchmark)
        self.done: list[tuple[str, str, str]] = []

    def __call__(self, question: Question, action: str, arguments: Mapping[str, Any]) -> str:
        """Act on a record; what is no record is left alone, and the agent is informed."""
        given = str(arguments.get("id", ""))
        owner = self._owner.get(given) or self._owner.get(page_of(given))
        if owner is None and not self._corpus.has(given):
            return f"{NO_RECORD} {given!r}."
        entity, label = owner or (given, self._corpus.title(page_of(given)))
        self.done.append((question.id, action, entity))
        return f"Done: {action} for {label} ({entity})."


def _actions(benchmark: Benchmark) -> dict[str, Action]:
    """The actions that the tasks of a benchmark ask for, as an agent may know them."""
    known: dict[str, tuple[set[str], dict[str, set[str]]]] = {}
    for attributes in (q.attributes for q in benchmark.queries if "action" in q.attributes):
        texts, arguments = known.setdefault(str(attributes["action"]), (set(), {}))
        texts.add(str(attributes.get("template", "")))
        for slot, value in (attributes.get("arguments") or {}).items():
            arguments.setdefault(slot, set()).add(str(value))
    return {
        name: Action(tuple(sorted(texts)), {slot: tuple(sorted(v)) for slot, v in arguments.items()})
        for name, (texts, arguments) in known.items()
    }


BUDGET = 10


class AgentReader:
    """An agent behind the seam of readers, so that its work resumes, is checked and is kept alike.

    With `turns` a question back that ends the turn (`Ask`) is answered by the user, and the agent works
    again on the question with the reply.
    """

    def __init__(
        self,
        agent: Agent,
        retriever: Retriever,
        benchmark: Benchmark,
        *,
        budget: int = BUDGET,
        user: User | None = None,
        act: Act | None = None,
        turns: int = 0,
    ) -> None:
        if budget < 1 or turns < 0:
            raise UsageError("budget is a number from 1, turns a number from 0")
        self.agent = agent
        self.name = str(getattr(agent, "name", type(agent).__name__))
        self.own_code = getattr(agent, "own_code", agent)
        self.parts = (agent, retriever)
        self._retriever, self._corpus = retriever, benchmark.corpus
        self._check = RankingCheck(benchmark.corpus)
        self._budget, self._user, self._act = budget, user, act
        self._turns = turns

    def describe(self) -> dict[str, Any]:
        describe = getattr(self.agent, "describe", None)
        search = getattr(self._retriever, "describe", None)
        return {
            **(describe() if describe else {"agent": type(self.agent).__name__}),
            "search": search() if search else type(self._retriever).__name__,
            "budget": self._budget,
            "turns": self._turns,
            "user": self._user is not None,
        }

    def read(self, tasks: Sequence[ReadingTask]) -> Iterator[Answer]:
        for task in tasks:
            yield self.answer(task.question)

    def answer(self, question: Question) -> Answer:
        calls: list[Call] = []
        asked = question
        for turn in range(self._turns + 1):
            tools = Toolbox(
                asked, self._retriever, self._passages, budget=self._budget, user=self._user, act=self._act
            )
            answer = self.agent.work(asked, tools)
            calls += tools.trace.calls
            if answer.asks is None or turn == self._turns or self._user is None:
                break
            reply = self._user(question, answer.asks)
            calls.append(Call(tool="ask_user", input=answer.asks, text=reply))
            asked = msgspec.structs.replace(asked, text=f"{asked.text} {reply}")
        trace = Trace(question=question.id, calls=tuple(calls))
        passage_ids = (p for call in trace.of("search") for p in call.passages)
        return msgspec.structs.replace(
            answer,
            passages=answer.passages or tuple(dict.fromkeys(passage_ids)),
            notes={**answer.notes, TRACE: msgspec.to_builtins(trace)},
        )

    def _passages(self, ids: Sequence[str]) -> list[Passage]:
        """Passages by their ids, or by those of their source; a page represents its first passage."""
        ranking = self._check.translate(Ranking(question="", passages=tuple(ids)))
        wanted = [self._first(identity) for identity in ranking.passages]
        passages = self._corpus.get(wanted)
        return [passages[identity] for identity in wanted]

    def _first(self, identity: str) -> str:
        if identity in self._corpus:
            return identity
        if not (first := self._corpus.passages_of(identity)[:1]):
            raise BadInput(
                f"the search tool returned {identity!r}, which is not in the corpus",
                hint=self._check.called(identity),
            )
        return first[0]


def as_agent(agent: Any, *, name: str | None = None) -> Agent:
    """Anything with whichone's `work(question, tools)` as it is; a function wrapped."""
    return agent if isinstance(agent, Agent) else FunctionAgent(agent, name=name)


def named_agent(name: str, guard: str | None = None) -> Any:
    """An agent by its name on the command line: a plain one, or `module:attribute`; behind an index that guards it."""
    if guard is not None:
        from whichone.namesake import Namesake

        return Guarded(as_agent(named_agent(name)), Namesake.open(guard))
    if ":" in name:
        return load_function(name)
    if name not in get_args(Policy):
        raise UsageError(
            f"there is no agent {name!r}", hint="guess, ask, doubt, or module:function of your own"
        )
    return PlainAgent(cast("Policy", name))


def search_tool(search: Any, benchmark: Benchmark, options: Mapping[str, Any] | None = None) -> Retriever:
    """The agent's search: a retriever, a function, the name of one of these with options, or BM25."""
    if isinstance(search, str) and ":" in search:
        search = load_function(search)
    if search is None or isinstance(search, str):
        place = default_index_folder(benchmark.corpus)
        return make_retriever(search or "bm25", benchmark, place, dict(options or {}))
    if options:
        search = functools.partial(search, **options)
    return as_retriever(search)


def run_agent(
    agent: Any,
    benchmark: Benchmark,
    path: str | Path,
    *,
    search: Any = None,
    search_options: Mapping[str, Any] | None = None,
    budget: int = BUDGET,
    user: User | None = None,
    act: Act | None = None,
    turns: int = 0,
    name: str | None = None,
    **options: Any,
) -> Answers:
    """Let an agent work on every question; `options` are those of `ReadingRunner`."""
    working_agent = as_agent(agent, name=name)
    retriever = search_tool(search, benchmark, search_options)
    reader = AgentReader(working_agent, retriever, benchmark, budget=budget, user=user, act=act, turns=turns)
    setting = Setting(passages="none")
    called = name or f"{reader.name} + {getattr(retriever, 'name', type(retriever).__name__)}"
    return run_reader(reader, benchmark, path, setting, name=called, cites="corpus", **options)
