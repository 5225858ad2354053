"""Four people who share two names, asked about with and without their department, and two agents that answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query
from whichone.runs.agent_runner import SimulatedUser, run_agent
from whichone.runs.run import Answers

PEOPLE = {
    "1": ("Ada Park", "Payroll", "Leeds"),
    "2": ("Ada Park", "Legal", "Turin"),
    "3": ("Bo Lind", "Sales", "Oslo"),
    "4": ("Bo Lind", "Design", "Porto"),
}


def benchmark_of_people(path: Path, *, marked: bool = True) -> Benchmark:
    """The questions about 2 and 4 do not say which bearer is meant; where `marked`, they say that they do not."""
    queries, sets = [], {}
    for key, (name, department, city) in PEOPLE.items():
        vague = key in ("2", "4")
        role = "tail" if vague else "head"
        bearer = Bearer(entity=f"staff:{key}", label=name, role=role, pages=(f"staff:{key}",))
        sets.setdefault(name, []).append(bearer)
        attributes: dict[str, Any] = {"qualifier": department, "qualifier_label": "department"}
        queries.append(
            Query(
                id=f"q{key}", task="qa", name=name, name_set=name, entity=f"staff:{key}", relation="city", role=role,
                input=f"Where is {name}?" if vague else f"Where is {name} of {department}?",
                outputs=(Output(answer=city, provenance=((Provenance(page=f"staff:{key}"),),)),),
                attributes={**attributes, "underspecified": vague} if marked else attributes,
            )
        )  # fmt: skip
    passages = [
        Passage(id=f"staff:{key}#0", page=f"staff:{key}", title=name, text=f"Is in {city}.")
        for key, (name, _, city) in PEOPLE.items()
    ]
    named = [NameSet(id=name, name=name, bearers=tuple(listed)) for name, listed in sets.items()]
    return save_benchmark(path, name="staff", queries=queries, sets=named, passages=passages)


def search(text: str, k: int) -> list[str]:
    """Everybody of the name: the named department first, else in the order of the list."""
    keys = [key for key, (name, _, _) in PEOPLE.items() if name in text]
    keys.sort(key=lambda key: PEOPLE[key][1] not in text)
    return [f"staff:{key}#0" for key in keys][:k]


def careful(text: str, tools: Any) -> Any:
    """Asks where no department is named; knows nothing of Sales, and does not listen when Bo Lind is meant."""
    if "Sales" in text:
        return None
    passages = tools.search(text, 2)
    if " of " not in text:
        reply = tools.ask_user("Which department?")
        if "Ada" in text:
            passages = tools.search(f"{text} {reply}", 2)
    return passages[0].text


def hasty(text: str, tools: Any) -> Any:
    return tools.search(text, 2)[0].text


def answers_of_both(benchmark: Benchmark, place: Path) -> list[Answers]:
    user = SimulatedUser(benchmark)
    return [
        run_agent(agent, benchmark, place / agent.__name__, search=search, user=user, name=agent.__name__)
        for agent in (careful, hasty)
    ]
