"""A small knowledge base: two names, one with a disambiguation page and one without."""

from pathlib import Path
from typing import Any

import pytest

from whichone.files.folder import Folder
from whichone.knowledge import knowledge_tables
from whichone.names import name_key

VALUES = {"Q1": "Paris", "Q2": "Rome", "Q3": "painter", "Q4": "poet", "Q5": "Rome Town"}
PEOPLE = {
    "Q10": ("Ada Field", "Ada Field (painter)", 900, [("P19", "Q1"), ("P106", "Q3")]),
    "Q11": ("Ada Field", "Ada Field (poet)", 30, [("P19", "Q2"), ("P106", "Q4")]),
    "Q12": ("Ada Field", "Ada Field", 200, [("P19", "Q5"), ("P999", "+12345")]),
    "Q20": ("Ben Hill", "Ben Hill (painter)", 5, [("P106", "Q3"), ("P571", "+1907-02-12")]),
    "Q21": ("Ben Hill", "Ben Hill (poet)", 6, [("P106", "Q4"), ("P571", "+1908-00-00")]),
}
TEXTS = {
    "Q10": ["A painter. Born in Paris, she"] + ["word"] * 120,
    "Q11": ["A poet. Born in Rome."],
    "Q12": ["Born in Rome Town, among 12,345 people."],
    "Q20": ["A painter since 12 February 1907."],
    "Q21": ["A poet since 1908."],
}


def page(number: int, title: str, kind: str, lines: list[str], entity: str | None) -> dict[str, Any]:
    return {
        "page": f"w:{number}",
        "title": title,
        "entity": entity,
        "kind": kind,
        "paragraphs": [title, *lines],
        "categories": [],
        "position": number,
    }


def entity_rows() -> list[dict[str, Any]]:
    rows = [{"entity": q, "label": label, "types": [], "sitelinks": 1} for q, label in VALUES.items()]
    rows += [
        {"entity": q, "label": label, "types": ["Q5"], "sitelinks": 1, "title": title}
        for q, (label, title, _, _) in PEOPLE.items()
    ]
    return [row | {"position": n, "source": "wikidata"} for n, row in enumerate(rows)]


def name_rows() -> list[dict[str, Any]]:
    labels = VALUES | {q: label for q, (label, *_) in PEOPLE.items()}
    return [
        {
            "entity": q,
            "name": label,
            "key": name_key(label),
            "language": "en",
            "kind": "label",
            "count": 1,
            "place": 0,
        }
        for q, label in labels.items()
    ]


def fact_rows() -> list[dict[str, Any]]:
    kinds = {"P999": "quantity", "P571": "time"}
    return [
        {
            "entity": q,
            "property": prop,
            "kind": kinds.get(prop, "entity"),
            "value": value,
            "precision": (9 if value.endswith("-00-00") else 11) if prop == "P571" else None,
            "rank": "normal",
            "place": place,
        }
        for q, (_, _, _, facts) in PEOPLE.items()
        for place, (prop, value) in enumerate(facts)
    ]


def page_rows(disambiguation: bool, texts: dict[str, list[str]]) -> list[dict[str, Any]]:
    rows = [
        page(int(q[1:]), title, "article", [" ".join(texts[q])], q) for q, (_, title, _, _) in PEOPLE.items()
    ]
    if disambiguation:
        lines = [
            "Ada Field may refer to:",
            "BULLET::::- Ada Field (painter), from Ada Field (poet)",
            "BULLET::::- Ada Field (poet)",
            "Section::::See also.",
            "BULLET::::- Ben Hill (poet)",
        ]
        rows.append(page(1, "Ada Field (disambiguation)", "disambiguation", lines, None))
    return rows


def link_rows(disambiguation: bool) -> list[dict[str, Any]]:
    if not disambiguation:
        return []
    links = [(2, 12, 10), (2, 38, 11), (3, 12, 11), (5, 12, 21)]
    return [
        {
            "page": "w:1",
            "paragraph": paragraph,
            "start": start,
            "end": start + 3,
            "text": "x",
            "target": "x",
            "target_page": f"w:{target}",
        }
        for paragraph, start, target in links
    ]


def write_knowledge_base(path: Path, *, disambiguation: bool, texts: dict[str, list[str]] = TEXTS) -> Path:
    properties = {"P19": "place of birth", "P106": "occupation", "P571": "inception", "P999": ""}
    views = [{"title": t, "views": v, "source": "t"} for _, t, v, _ in PEOPLE.values()]
    content = {
        knowledge_tables.ENTITIES: entity_rows(),
        knowledge_tables.NAMES: name_rows(),
        knowledge_tables.FACTS: fact_rows(),
        knowledge_tables.PROPERTIES: [{"property": p, "label": label} for p, label in properties.items()],
        knowledge_tables.PAGES: page_rows(disambiguation, texts),
        knowledge_tables.LINKS: link_rows(disambiguation),
        knowledge_tables.REDIRECTS: [],
        knowledge_tables.VIEWS: views,
    }
    with Folder.create(path, knowledge_tables.KIND) as folder:
        for schema, rows in content.items():
            complete = [{f: row.get(f) for f in schema.schema.names} for row in rows]
            folder.write(schema, schema.from_rows(complete))
        folder.commit(name="small")
    return path


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """The knowledge base with a disambiguation page for one of its two names."""
    return write_knowledge_base(tmp_path / "listed", disambiguation=True)


@pytest.fixture
def unlisted(tmp_path: Path) -> Path:
    """The same without disambiguation pages."""
    return write_knowledge_base(tmp_path / "unlisted", disambiguation=False)


@pytest.fixture
def alike(tmp_path: Path) -> Path:
    """The same, but the bearers of one name are told of in similar words."""
    texts = TEXTS | {
        "Q10": ["She was born in the town of Paris and painted boats, rivers and fog for a living."],
        "Q11": ["Some say she was born in the town of Rome; her verses praise bread, wine, mules."],
        "Q12": ["Nobody knows much, but Rome Town is where this one came from, records tell."],
    }
    return write_knowledge_base(tmp_path / "alike", disambiguation=True, texts=texts)
