"""Agents over a small world: scripted, behind an endpoint, of other frameworks, and a small real model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_server import completion

import whichone
from whichone.agents.toolbox import Action, Guarded, Toolbox, ToolCallingAgent, written_calls
from whichone.chat.endpoint import Endpoint, EndpointOptions
from whichone.cli import whichone as command
from whichone.errors import BadInput, UsageError
from whichone.protocols import Tools
from whichone.records import Answer, Call, Question
from whichone.report.show import show
from whichone.retrieval.namesake.asking import PossibleBearer, Resolution
from whichone.runs.agent_runner import SimulatedUser, run_agent
from whichone.runs.retrieve import as_retriever
from whichone.runs.run import Answers, trace_of

BIRTHPLACE = "qa:vennick-rower:birthplace"


def careful(text: str, tools) -> object:
    """Searches for the question, then for the rower; answers with the last word of what came first."""
    tools.search(text, k=2)
    found = tools.search("Orla Vennick rower Eskby", k=1)
    return found[0].text.split()[-1].rstrip("."), [found[0].id]


def namesake_first(text: str, k: int) -> list[str]:
    """A search that is confused unless the text says Eskby."""
    rower, botanist = "p:vennick-rower#0", "p:vennick-botanist#0"
    return [rower, botanist][:k] if "Eskby" in text else [botanist, rower][:k]


def test_a_scripted_agent_and_its_trace(toy, tmp_path):
    result = whichone.evaluate(namesake_first, toy, agent=careful, answers=tmp_path / "a", name="careful")
    answer = Answers.open(tmp_path / "a").answers[BIRTHPLACE]
    assert answer.text == "Eskby"
    first, second = trace_of(answer).calls
    assert first.passages == ("p:vennick-botanist#0", "p:vennick-rower#0")
    assert second.input == "Orla Vennick rower Eskby"
    rows = {r["query"]: r for r in result.answers.scores.rows()}
    assert rows[BIRTHPLACE]["calls"] == 2
    assert rows[BIRTHPLACE]["search_confused"] == 1  # the first search
    assert rows[BIRTHPLACE]["search_mended"] == 1  # by the second one
    assert rows[BIRTHPLACE]["answer_right"] == 1
    botanist = rows["qa:vennick-botanist:birthplace"]
    assert botanist["search_confused"] == 1  # the second search
    assert botanist["search_mended"] == 0
    assert botanist["answered_for_namesake"] == 1
    assert "search_mended" in str(result)


class Told:
    """A guard that believes what it is given, and the second bearer once the user has answered."""

    def __init__(self, *outcomes: str) -> None:
        self.outcomes = dict(zip(("", "reply"), outcomes, strict=False))

    def resolve(self, text: str, *, answer: str = "") -> Resolution:
        outcome = self.outcomes["reply" if answer else ""]
        bearers = (PossibleBearer("staff:2", "Ada Park", 0.9), PossibleBearer("staff:1", "Ada Park", 0.1))
        asked = "Which Ada Park?" if outcome == "ask" else None
        return Resolution(text, "Ada Park", bearers, outcome == "this one", 1.0, asked, outcome=outcome)


class Acts:
    """Closes the account of whoever the search finds first, or of one that it names itself."""

    def __init__(self, record: str = "") -> None:
        self.record = record

    def work(self, question: Question, tools: Tools) -> Answer:
        found = tools.search(question.text, 1)
        said = tools.act("close", id=self.record or found[0].page)
        return Answer(question=question.id, text=said)


def guarded(two_adas, *outcomes: str, record: str = "") -> tuple[Answer, list[Call]]:
    lookup = {p.id: p for p in two_adas.passage_records()}
    question = Question(id="q1", text="Close the account of Ada Park.", task="act")
    tools = Toolbox(
        question,
        as_retriever(lambda text, k: ["staff:1#0", "staff:2#0"][:k]),
        lambda ids: [lookup[i] for i in ids],
        user=lambda question, text: "the one in Turin",
        act=lambda question, action, arguments: f"done to {arguments['id']}",
    )
    return Guarded(Acts(record), Told(*outcomes)).work(question, tools), list(tools.trace.calls)


def test_a_guarded_agent_acts_on_the_one_who_is_meant_alone(two_adas) -> None:
    answer, calls = guarded(two_adas, "this one")
    assert answer.text == "done to staff:2" and [c.tool for c in calls] == ["search", "act"]
    answer, calls = guarded(two_adas, "this one", record="staff:1")
    assert answer.text == "Not done: Ada Park (staff:2) is meant, not staff:1."
    assert [c.tool for c in calls] == ["search"]


def test_a_guarded_agent_asks_first_and_does_nothing_where_nobody_is_meant(two_adas) -> None:
    answer, calls = guarded(two_adas, "ask", "this one")
    assert answer.text == "done to staff:2"
    assert [(c.tool, c.text) for c in calls[:1]] == [("ask_user", "the one in Turin")]
    assert calls[1].input.startswith("Close the account of Ada Park. the one in Turin")
    for outcomes in (("nobody",), ("ask", "nobody"), ("ask", "ask")):
        answer, calls = guarded(two_adas, *outcomes)
        assert answer.text is None and not [c for c in calls if c.tool == "act"]


def test_a_trace_is_shown(toy, tmp_path):
    run_agent(careful, toy, tmp_path / "a", search=namesake_first)
    document, text = show(str(tmp_path / "a"), BIRTHPLACE)
    assert [step["is"] for step in document["trace"]] == ["namesake", "gold"]
    assert (
        "namesake first: Orla Vennick (botanist) (p:vennick-botanist#0); Orla Vennick (rower) (p:vennick-rower#0)"
        in text
    )
    assert "outcome:   right" in text
    assert "trace" not in document["notes"]


def test_the_budget(toy, tmp_path):
    def endless(text: str, tools) -> str:
        while True:
            tools.search(text)

    made = run_agent(endless, toy, tmp_path / "a", budget=3)
    assert {a.text for a in made.answers.values()} == {None}
    assert {len(trace_of(a).calls) for a in made.answers.values()} == {3}
    with pytest.raises(UsageError, match="budget"):
        run_agent(endless, toy, tmp_path / "b", budget=0)


def test_asking_the_user_in_the_turn_and_at_its_end(toy, tmp_path):
    def asks(text: str, tools) -> object:
        return tools.ask_user("Which one?")

    def ends_its_turn(text: str, tools) -> object:
        return text.partition("I mean ")[2] or whichone.Ask("Which one?")

    user = SimulatedUser(toy)
    rower = "Orla Vennick (rower): Orla Vennick is a rower who was born in Eskby."
    told = run_agent(asks, toy, tmp_path / "a", user=user).answers[BIRTHPLACE]
    assert told.text == f"I mean {rower}"
    silent = run_agent(asks, toy, tmp_path / "b").answers[BIRTHPLACE]
    assert silent.text == "I cannot help you with that."
    ended = run_agent(ends_its_turn, toy, tmp_path / "c", user=user).answers[BIRTHPLACE]
    assert (ended.text, ended.asks) == (None, "Which one?")
    again = run_agent(ends_its_turn, toy, tmp_path / "d", user=user, turns=1).answers[BIRTHPLACE]
    assert again.text == rower
    assert [c.tool for c in trace_of(again).calls] == ["ask_user"]


def test_nothing_to_act_on(toy, tmp_path):
    def acts(text: str, tools) -> str:
        return tools.act("delete", id="1")

    with pytest.raises(BadInput, match="nothing to act on"):
        run_agent(acts, toy, tmp_path / "a", on_error="fail")


def tool(name: str, **arguments: str) -> dict:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": "c1", "type": "function", "function": function}


def test_tool_calls_through_an_endpoint(toy, tmp_path, serve):
    def script(request, n):
        last = request["messages"][-1]
        if last["role"] == "user":
            assert {t["function"]["name"] for t in request["tools"]} == {"search", "ask_user"}
            return completion(None, tool_calls=[tool("search", text="Vennick rower")])
        if last["content"].startswith("[1]"):
            return completion(None, tool_calls=[tool("fly")])
        assert last["content"] == "There is no tool fly."
        return completion("She was born in Eskby.")

    options = EndpointOptions(url=serve(script).url, model="m")
    with Endpoint(options) as model:
        made = run_agent(ToolCallingAgent(model), toy, tmp_path / "a", limit=3)
    answer = next(iter(made.answers.values()))
    assert answer.text == "She was born in Eskby."
    assert [c.input for c in trace_of(answer).calls] == ["Vennick rower"]


def test_tools_by_lines(toy, tmp_path, serve):
    replies = ["SEARCH: Orla Vennick", "ASK: Which one?", "ANSWER: Eskby"]

    def script(request, n):
        assert "tools" not in request
        return completion(replies[n % 3])

    with Endpoint(EndpointOptions(url=serve(script).url, model="m", concurrency=1)) as model:
        agent = ToolCallingAgent(model, style="lines")
        made = run_agent(agent, toy, tmp_path / "a", user=SimulatedUser(toy), limit=2)
    for answer in made.answers.values():
        assert answer.text == "Eskby"
        assert [c.tool for c in trace_of(answer).calls] == ["search", "search", "ask_user"]


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("SEARCH: Ada Park\nANSWER: ACT: close {}", "search", {"text": "Ada Park"}),
        ("**ASK**: Which one?", "ask_user", {"text": "Which one?"}),
        ('ANSWER: ACT: close {"id": "2"} now', "act", {"id": "2", "action": "close"}),
        ("ACT: close 2", "act", {"id": "2", "action": "close"}),
        ('```json\n{"name": "search", "arguments": {"text": "Ada"}}\n```', "search", {"text": "Ada"}),
        ('<tool_call>{"name": "close", "parameters": {"id": "2"}}</tool_call>', "close", {"id": "2"}),
        ('{"function": {"name": "act", "arguments": "{\\"id\\": \\"2\\"}"}}', "act", {"id": "2"}),
        ('{"tool": "ask_user", "text": "Which?"}', "ask_user", {"text": "Which?"}),
        ('{"name": "Ada Park", "id": "2"}', None, None),
        ("ANSWER: search", None, None),
    ],
)
def test_a_tool_that_is_asked_for_in_the_text(text, name, arguments) -> None:
    _, calls = written_calls(text, ("search", "ask_user", "act", "close"))
    assert [(c.name, json.loads(c.arguments)) for c in calls] == ([(name, arguments)] if name else [])


def test_a_model_that_says_the_same_again_is_not_asked_again(toy, tmp_path, serve) -> None:
    server = serve(lambda request, n: completion("SEARCH: Orla Vennick"))
    with Endpoint(EndpointOptions(url=server.url, model="m")) as model:
        made = run_agent(ToolCallingAgent(model, style="lines"), toy, tmp_path / "a", limit=1)
    assert [a.text for a in made.answers.values()] == [None]
    assert len(server.requests) == 2


@pytest.mark.parametrize("style", ["tools", "lines"])
def test_a_model_sees_the_ids_that_it_may_act_on(two_adas, serve, style) -> None:
    """A model that writes lines sees numbers, which it copies without mistakes; the action is done to the record."""
    shown = 'ACT: close {"id":"NUMBER","day":"Monday"}'

    def said(name: str, line: str, **arguments: str) -> dict:
        return (
            completion(None, tool_calls=[tool(name, **arguments)]) if style == "tools" else completion(line)
        )

    def script(request, n):
        last = request["messages"][-1]["content"]
        if n == 0:
            assert (shown in request["messages"][0]["content"]) == (style == "lines")
            assert ("[1] Ada Park" in last) == (style == "lines")
            return said("search", "SEARCH: Ada", text="Ada Park")
        if last == "Done.":
            return completion("ANSWER: It is closed.")
        record = last.partition("[")[2].partition("]")[0]
        return said("act", f'ACT: close {{"id": "{record}"}}', action="close", id=record)

    def act(question, action, arguments) -> str:
        done.append((action, dict(arguments)))
        return "Done."

    done: list = []
    act.actions = {"close": Action(("Close the account of $who on $day.",), {"day": ("Monday",)})}
    lookup = {p.id: p for p in two_adas.passage_records()}
    search = as_retriever(lambda text, k: ["staff:2#0", "staff:1#0"][:k])
    question = Question(id="q1", text="Close the account of Ada Park.", task="act")
    tools = Toolbox(question, search, lambda ids: [lookup[i] for i in ids], act=act)
    with Endpoint(EndpointOptions(url=serve(script).url, model="m", concurrency=1)) as model:
        answer = ToolCallingAgent(model, style=style, k=1).work(question, tools)
    text = (
        "It is closed." if style == "tools" else "Done."
    )  # of a task done by lines the result is the answer
    assert (answer.text, done) == (text, [("close", {"id": "staff:2#0"})])


def test_a_model_that_only_makes_mistakes_ends(toy, tmp_path, serve):
    broken = {"id": "c", "type": "function", "function": {"name": "search", "arguments": "{"}}
    server = serve(lambda request, n: completion(None, tool_calls=[broken]))
    with Endpoint(EndpointOptions(url=server.url, model="m")) as model:
        made = run_agent(ToolCallingAgent(model), toy, tmp_path / "a", limit=1, budget=2)
    assert [a.text for a in made.answers.values()] == [None]


@pytest.mark.slow
def test_a_small_real_model(smollm2, toy, tmp_path):
    with Endpoint(EndpointOptions(url=smollm2, model="SmolLM2", concurrency=1)) as model:
        agent = ToolCallingAgent(model, style="lines", k=1, max_tokens=40)
        made = run_agent(agent, toy, tmp_path / "a", user=SimulatedUser(toy), limit=3, budget=3)
    assert made.failures == {} and len(made.answers) == 3
    assert all(len(trace_of(a).calls) <= 3 for a in made.answers.values())
    assert any(a.text for a in made.answers.values())


def test_the_command_puts_an_agent_behind_a_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [("1", "Ada Park", "Payroll", "Leeds"), ("2", "Ada Park", "Legal", "Turin"), ("3", "Bo Lind", "Sales", "Oslo"), ("4", "Bo Lind", "Design", "Porto")]  # fmt: skip
    lines = [f'{i},{name},{work},{city},"{name} works in {work}, {city}."' for i, name, work, city in rows]
    Path("staff.csv").write_text("\n".join(["id,name,department,city,text", *lines]))
    attributes = "".join(f'[attributes.{a}]\ncolumn = "{a}"\n' for a in ("department", "city"))
    Path("staff.toml").write_text(
        'name = "staff"\nfile = "staff.csv"\ntype = "employee"\n'
        f'[columns]\nid = "id"\nname = "name"\ntext = "text"\n{attributes}'
    )
    for words in (
        "ingest --catalogue staff.toml KB",
        "build catalogue KB TASKS --tasks act",
        "index TASKS/corpus INDEX --retriever namesake -o encoder=none",
        "work TASKS PLAIN --agent guess",
        "work TASKS GUARDED --agent guess --guard INDEX",
    ):
        done = CliRunner().invoke(command, words.split(), catch_exceptions=False)
        assert done.exit_code == 0, f"{words}\n{done.output}"
    wrong = []
    for name in ("PLAIN", "GUARDED"):
        shown = CliRunner().invoke(command, ["score", name, "--json", "--measures", "wrong_action"])
        wrong.append(json.loads(shown.output)[0]["wrong_action"]["value"])
    assert wrong == [0.25, 0]


def test_who_answers_the_agent_is_typed_as_in_python(toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("asking.py").write_text(
        "def work(text, tools):\n    tools.search(text)\n    return tools.ask_user('Which one?')\n"
    )
    benchmark = str(toy.folder.root)
    for user, knows in (("simulated", True), ("none", False)):
        words = ["work", benchmark, user, "--agent", "asking:work", "--user", user, "--limit", "3"]
        done = CliRunner().invoke(command, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert "3 answered" in done.output
        assert "nothing" not in done.output  # an agent that searches is shown nothing by anybody
        assert all(a.text.startswith("I mean") is knows for a in Answers.open(user).answers.values())
    for wrong in ("simulatd", True):
        with pytest.raises(UsageError, match="user is 'simulated', a function"):
            whichone.evaluate(namesake_first, toy, agent=careful, user=wrong)
