"""Agents of other frameworks, real ones, over a small world."""

from __future__ import annotations

from inspect_ai.model import ModelOutput
from inspect_ai.solver import solver
from langchain_core import runnables
from langchain_core.messages import AIMessage
from langgraph import graph

from whichone.agents.agent_frameworks import InspectAgent, LangChainAgent
from whichone.runs.agent_runner import run_agent
from whichone.runs.run import trace_of


def test_a_langchain_agent(toy, tmp_path):
    def make(tools):
        by_name = {t.name: t for t in tools}
        assert set(by_name) == {"search", "ask_user"}

        def work(state):
            (_, question) = state["messages"][0]
            found = by_name["search"].invoke({"text": question})
            said = by_name["ask_user"].invoke({"text": "Which one?"})
            return {"messages": [*state["messages"], AIMessage(f"{found[:3]} {said}")]}

        return runnables.RunnableLambda(work)

    made = run_agent(LangChainAgent(make), toy, tmp_path / "a", limit=2)
    for answer in made.answers.values():
        assert answer.text == "[1] I cannot help you with that."
        assert [c.tool for c in trace_of(answer).calls] == ["search", "ask_user"]
        assert answer.passages


def test_a_langgraph_agent(toy, tmp_path):
    def make(tools):
        search = tools[0]

        def node(state):
            found = search.invoke({"text": state["messages"][0].content})
            return {"messages": [AIMessage(found.splitlines()[0])]}

        built = graph.StateGraph(graph.MessagesState)
        built.add_node("work", node)
        built.add_edge(graph.START, "work")
        return built.compile()

    made = run_agent(LangChainAgent(make), toy, tmp_path / "a", limit=1)
    (answer,) = made.answers.values()
    assert answer.text.startswith("[1] ")
    assert len(trace_of(answer).calls) == 1


def test_an_inspect_solver(toy, tmp_path):
    @solver
    def search_and_say(tools):
        async def solve(state, generate):
            found = await tools[0](text=state.input_text)
            state.output = ModelOutput.from_content("mockllm/model", found.splitlines()[0])
            return state

        return solve

    made = run_agent(InspectAgent(search_and_say, "mockllm/model"), toy, tmp_path / "a", limit=1)
    (answer,) = made.answers.values()
    assert answer.text.startswith("[1] ")
    assert [c.input for c in trace_of(answer).calls] == [toy.queries[0].input]
