"""A small benchmark, and runs that put the wanted page at a fixed place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query
from whichone.retrieval.adapters.adapted import FunctionRetriever
from whichone.runs.agent_runner import SimulatedUser, run_agent
from whichone.runs.runner import run_retriever

NAMES = ("Abe Lincoln", "Zoë Önö", "<script>alert(1)</script>", "Kim Park")
JOBS = ("president", "trombonist", "sprinter")


def small_benchmark(path: Path) -> Benchmark:
    """Four names with three bearers each; a question for each bearer about their job."""
    sets, queries, passages = [], [], []
    for s, name in enumerate(NAMES):
        bearers = []
        for b, job in enumerate(JOBS):
            entity, page = f"Q{s}{b}", f"wiki:{s}{b}"
            text = f"{name} was a {job} from the town of Place{s}{b}. <b>Not bold</b> & more."
            passages.append(Passage(id=f"{page}#0", page=page, title=f"{name} ({job})", text=text))
            passages.append(
                Passage(id=f"{page}#1", page=page, title=f"{name} ({job})", text=f"Later life of the {job}.")
            )  # fmt: skip
            role = "head" if b == 0 else "tail"
            bearers.append(
                Bearer(entity=entity, label=f"{name} {b}", role=role, popularity=10.0 ** (5 - 2 * b),
                       types=("Q5",), pages=(page,))
            )  # fmt: skip
            gold = Provenance(page=page, title=f"{name} ({job})")
            output = Output(answer=f"Place{s}{b}", entity=entity, provenance=((gold,),))
            queries.append(
                Query(id=f"q{s}{b}", task="qa", input=f"Where was {name} the {job} from?",
                      outputs=(output,), name=name, name_set=f"set{s}", role=role, relation="P19",
                      entity=entity, attributes={"collection": "human", "property_label": "birthplace"})
            )  # fmt: skip
        sets.append(NameSet(id=f"set{s}", name=name, collection="human", bearers=tuple(bearers)))
    return save_benchmark(
        path, name="small", queries=queries, sets=sets, passages=passages, card="A small one."
    )


def answer_by(benchmark: Benchmark, path: Path, name: str, place: int) -> None:
    """A run that returns the pages of a name's bearers, the wanted one at a fixed place."""
    pages = {q.input: (q, q.name_set) for q in benchmark.queries}
    by_set = {s.id: [b.pages[0] for b in s.bearers] for s in benchmark.sets}

    def search(text: str, k: int) -> list[tuple[str, float]]:
        query, name_set = pages[text]
        gold = next(iter(query.gold_pages()))
        others = [p for p in by_set[name_set or ""] if p != gold]
        ranked = [*others[:place], gold, *others[place:]]
        return [(f"{page}#0", 1.0 / rank) for rank, page in enumerate(ranked[:k], 1)]

    run_retriever(
        FunctionRetriever(search, name=name), benchmark, path, k=20, name=name,
    )  # fmt: skip


STAFF = (("Ada Park", "Payroll", "Leeds"), ("Ada Park", "Legal", "Turin"),
         ("Bo Lind", "Sales", "Oslo"), ("Bo Lind", "Design", "Porto"))  # fmt: skip


def staff_benchmark(path: Path) -> Benchmark:
    """People whose pages have the same title: only their department tells them apart."""
    sets: dict[str, list[Bearer]] = {}
    queries, passages = [], []
    for n, (name, department, city) in enumerate(STAFF, 1):
        page, entity = f"staff:{n}", f"staff:{n}"
        text = f"{name} works in {department}. The office is in {city}."
        passages.append(Passage(id=f"{page}#0", page=page, title=name, text=text))
        role = "head" if n % 2 else "tail"
        known = Bearer(entity=entity, label=name, role=role, popularity=900.0 if n % 2 else 12.0, pages=(page,))  # fmt: skip
        sets.setdefault(name, []).append(known)
        output = Output(answer=city, entity=entity, provenance=((Provenance(page=page),),))
        queries.append(
            Query(id=f"s{n}", task="qa", input=f"In which city does {name} from {department} work?",
                  outputs=(output,), name=name, name_set=name, role=role, relation="city", entity=entity,
                  attributes={"collection": "Staff of the lab", "property_label": "city",
                              "qualifier": department, "qualifier_label": "department"})
        )  # fmt: skip
    named = [
        NameSet(id=name, name=name, collection="Staff of the lab", bearers=tuple(bearers))
        for name, bearers in sets.items()
    ]
    return save_benchmark(
        path, name="Staff of the lab", queries=queries, sets=named, passages=passages, card="Staff."
    )


def work_on(benchmark: Benchmark, path: Path) -> None:
    """An agent whose first search brings a namesake in, and whose second mends it after a question."""

    def search(text: str, k: int) -> list[str]:
        wanted = [n for n, (name, department, _) in enumerate(STAFF, 1) if name in text]
        first = [n for n in wanted if STAFF[n - 1][1] in text] if "I mean" in text else wanted[1:]
        ranked = dict.fromkeys([*first, *wanted])
        return [f"staff:{n}#0" for n in ranked][:k]

    def agent(text: str, tools: Any) -> str:
        tools.search(text, 2)
        reply = tools.ask_user("Which department?")
        found = tools.search(f"{text} {reply}", 2)
        return str(found[0].text)

    run_agent(agent, benchmark, path, search=search, user=SimulatedUser(benchmark), name="asks back")
    run_agent(
        lambda text, tools: tools.search(text, 2)[0].text, benchmark, path.with_name("guess"),
        search=search, name="takes the first",
    )  # fmt: skip
