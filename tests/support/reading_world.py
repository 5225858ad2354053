"""A small invented benchmark of namesakes: two names, two bearers each, pages of two passages."""

from __future__ import annotations

from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query, Role

PAGES = {
    "p:vennick-botanist": (
        "Orla Vennick (botanist)",
        "Orla Vennick was a botanist who was born in Tarnholm.",
        "She catalogued the mosses of the northern coast in four volumes.",
    ),
    "p:vennick-rower": (
        "Orla Vennick (rower)",
        "Orla Vennick is a rower who was born in Eskby.",
        "She won the Harbour Cup with her club, the Eskby Oars.",
    ),
    "p:brightwater-film": (
        "Brightwater (film)",
        "Brightwater is a film directed by Sunniva Hale.",
        "It was shot in Holmestad and came out in 1987.",
    ),
    "p:brightwater-town": (
        "Brightwater (town)",
        "Brightwater is a town on the river Ause.",
        "It has 4,120 inhabitants and a mill.",
    ),
}
FACTS: tuple[tuple[str, str, Role, str, str, str, str], ...] = (
    ("Orla Vennick", "p:vennick-botanist", "head", "birthplace", "Where was Orla Vennick born?", "Tarnholm", "was born in"),
    ("Orla Vennick", "p:vennick-rower", "tail", "birthplace", "Where was Orla Vennick the rower born?", "Eskby", "was born in"),
    ("Orla Vennick", "p:vennick-rower", "tail", "team", "Which club did Orla Vennick row for?", "Eskby Oars", "rowed for"),
    ("Brightwater", "p:brightwater-film", "head", "director", "Who directed Brightwater?", "Sunniva Hale", "was directed by"),
    ("Brightwater", "p:brightwater-town", "tail", "population", "How many people live in Brightwater?", "4,120", "has a population of"),
)  # fmt: skip
LONELY = Query(
    id="lonely",
    task="qa",
    input="Who plays the zither?",
    outputs=(Output(answer="Ilmar Teoste", provenance=((Provenance(page="p:vennick-botanist"),),)),),
)


def _query(
    fact: tuple[str, str, Role, str, str, str, str], task: str, text: str, label: str, claimed: str = ""
) -> Query:
    name, page, role, relation, _, answer, _ = fact
    entity = page.removeprefix("p:")
    return Query(
        id=f"{task}:{entity}:{relation}" + (f":{label}" if claimed else ""),
        task=task,
        input=text,
        outputs=(Output(answer=label, entity=entity, provenance=((Provenance(page=page),),)),),
        name=name,
        name_set=f"t:{name}",
        role=role,
        relation=relation,
        entity=entity,
        attributes={"collection": "toy", "values": [answer], "claimed": claimed},
    )


def queries() -> list[Query]:
    made = []
    for fact in FACTS:
        name, _, _, relation, question, answer, verb = fact
        made += [
            _query(fact, "qa", question, answer),
            _query(fact, "sf", f"{name} [SEP] {relation}", answer),
            _query(fact, "fc", f"{name} {verb} {answer}.", "SUPPORTS", answer),
            _query(fact, "fc", f"{name} {verb} Nowhere.", "REFUTES", "Nowhere"),
        ]
    return [*made, LONELY]


def passages() -> list[Passage]:
    return [
        Passage(id=f"{page}#{n}", page=page, title=title, text=text)
        for page, (title, *texts) in PAGES.items()
        for n, text in enumerate(texts)
    ]


def sets() -> list[NameSet]:
    bearers: dict[str, dict[str, Role]] = {}
    for name, page, role, *_ in FACTS:
        bearers.setdefault(name, {})[page] = role
    return [
        NameSet(
            id=f"t:{name}",
            name=name,
            collection="toy",
            bearers=tuple(
                Bearer(entity=p.removeprefix("p:"), label=name, role=r, pages=(p,)) for p, r in listed.items()
            ),
        )
        for name, listed in bearers.items()
    ]


def namesakes(path: Path) -> Benchmark:
    return save_benchmark(
        path, name="toy", queries=queries(), passages=passages(), sets=sets(), card="invented"
    )


def ambigdocs(path: Path) -> Benchmark:
    """Questions about every bearer of a name, whose gold names passages."""
    asked = []
    for name, question, found in (
        ("Orla Vennick", "Where was Orla Vennick born?", {"p:vennick-botanist#0": "Tarnholm", "p:vennick-rower#0": "Eskby"}),
        ("Brightwater", "What is said of Brightwater?", {"p:brightwater-film#1": "1987", "p:brightwater-town#1": "4,120"}),
    ):  # fmt: skip
        outputs = tuple(
            Output(
                answer=answer,
                entity=PAGES[p.partition("#")[0]][0],
                provenance=((Provenance(page=p.partition("#")[0], passage=p),),),
            )
            for p, answer in found.items()
        )
        asked.append(
            Query(id=name, task="ambigdocs", input=question, name=name, name_set=f"t:{name}", outputs=outputs)
        )
    return save_benchmark(
        path, name="toy-ambigdocs", queries=asked, passages=passages(), sets=sets(), card="invented"
    )
