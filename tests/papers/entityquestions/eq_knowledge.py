"""A small knowledge base for the builder: 40 people, 12 towns, and a few namesakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichone.files.folder import Folder
from whichone.knowledge import knowledge_tables
from whichone.names import name_key

TOWNS = {f"Q{100 + n}": f"Town{chr(65 + n)}" for n in range(12)}
PEOPLE = {f"Q{200 + n}": f"First{n % 8} Last{n}" for n in range(40)}
HUMAN, FILM, TOWN = "Q5", "Q11424", "Q486972"


def town_of(n: int) -> str:
    return f"Q{100 + n % 12}"


def write_knowledge(path: Path) -> Path:
    """Person n is born in town n mod 12; Q240 and Q241 share Q200's name, Q242 shares Q201's."""
    rows: dict[str, list[dict[str, Any]]] = {schema.name: [] for schema in knowledge_tables.ALL}

    def add(entity: str, label: str, types: list[str], title: str | None, text: str = "") -> None:
        place = len(rows["entities"])
        rows["entities"].append(
            {"entity": entity, "label": label, "types": types, "sitelinks": place, "title": title}
            | {"position": place, "source": "test"}
        )
        rows["names"].append(_name(entity, label, "label", 0))
        if title is not None:
            rows["pages"].append(
                {"page": f"w:{entity[1:]}", "title": title, "entity": entity, "kind": "article"}
                | {"paragraphs": [title, text], "categories": [], "position": place}
            )

    def fact(entity: str, prop: str, value: str, rank: str = "normal") -> None:
        place = sum(row["entity"] == entity for row in rows["facts"])
        rows["facts"].append(
            {"entity": entity, "property": prop, "kind": "entity", "value": value}
            | {"rank": rank, "place": place}
        )

    for town, label in TOWNS.items():
        add(town, label, [TOWN], label, f"{label} is a town.")
        rows["names"].append(_name(town, f"Old {label}", "alias", 1))
    for n, (person, label) in enumerate(PEOPLE.items()):
        add(person, label, [HUMAN], label, f"{label} was born in {TOWNS[town_of(n)]}.")
        fact(person, "P19", town_of(n))
        rows["links"] += [_link(f"w:{100 + i % 12}", f"w:{200 + n}", i) for i in range(40 - n)]
    fact("Q202", "P19", "Q103")  # a second place of birth, not on the page
    fact("Q203", "P19", "Q100", rank="deprecated")
    add("Q240", PEOPLE["Q200"], [HUMAN], "First0 Last0 (other)", "Born in TownB.")
    fact("Q240", "P19", "Q101")
    add("Q241", PEOPLE["Q200"], [FILM], "First0 Last0 (film)", "A film.")
    add("Q242", PEOPLE["Q201"], [HUMAN], "First1 Last1 (other)", "Of unknown birth.")
    add("Q243", PEOPLE["Q202"], [FILM], "First2 Last2 (film)", "A film.")
    add("Q244", "Nowhere Man", [HUMAN], "Nowhere Man", "His page does not say where.")
    fact("Q244", "P19", "Q100")
    add("Q245", "Pageless", [HUMAN], None)
    fact("Q245", "P19", "Q100")
    for n in range(20):
        fact(f"Q{200 + n}", "P26", "Q239")  # one answer for all
    rows["properties"] = [
        {"property": p, "label": label, "datatype": "", "position": 0}
        for p, label in (("P19", "place of birth"), ("P26", "spouse"))
    ]
    with Folder.create(path, knowledge_tables.KIND) as folder:
        for schema in knowledge_tables.ALL:
            complete = [{f: r.get(f) for f in schema.schema.names} for r in rows[schema.name]]
            folder.write(schema, schema.from_rows(complete))
        folder.commit(name="small")
    return path


def _name(entity: str, name: str, kind: str, place: int) -> dict[str, Any]:
    key = name_key(name)
    return {"entity": entity, "name": name, "key": key, "language": "en", "kind": kind} | {
        "count": 1,
        "place": place,
    }


def _link(page: str, target: str, n: int) -> dict[str, Any]:
    return {"page": page, "paragraph": 1, "start": n, "end": n + 1, "text": "x", "target": "x"} | {
        "target_page": target
    }
