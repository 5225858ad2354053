"""A small knowledge base for KILT tests: two Abe Lincolns, a redirect, page views."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whichone.files.folder import Folder
from whichone.knowledge import knowledge_tables
from whichone.names import name_key

PAGES = [
    ("307", "Abraham Lincoln", "Q91", [
        "Abraham Lincoln",
        "Abraham Lincoln was an American lawyer and statesman who served as the 16th president.",
        "Section::::Early life.",
        "Lincoln was born in a one-room log cabin on Sinking Spring Farm near Hodgenville, Kentucky.",
    ]),
    ("308", "Abe Lincoln (musician)", "Q4666410", [
        "Abe Lincoln (musician)",
        "Abram Lincoln was an American Dixieland jazz trombonist born in Lancaster, Pennsylvania.",
    ]),
    ("309", "Soul Food (film)", "Q1", [
        "Soul Food (film)",
        "Soul Food is a 1997 American comedy-drama film released by Fox 2000 Pictures.",
    ]),
    ("310", "Therefore sign", "Q2", [
        "Therefore sign",
        "In logical argument the therefore sign is placed before a logical consequence.",
    ]),
]  # fmt: skip
NAMES = [
    ("Q91", "Abraham Lincoln", "label"),
    ("Q91", "Abe Lincoln", "alias"),
    ("Q4666410", "Abe Lincoln", "label"),
    ("Q1", "Soul Food", "label"),
    ("Q2", "therefore sign", "label"),
]
VIEWS = {"Abraham Lincoln": 500_000, "Abe Lincoln (musician)": 40, "Soul Food (film)": 9_000}
REDIRECTS = {"Honest Abe": "307", "Soul food (movie)": "309"}


def write_snapshot(path: Path) -> Path:
    rows: dict[str, list[Mapping[str, Any]]] = {schema.name: [] for schema in knowledge_tables.ALL}
    for position, (number, title, entity, paragraphs) in enumerate(PAGES):
        rows["pages"].append(
            {
                "page": f"enwiki:{number}",
                "title": title,
                "entity": entity,
                "kind": "article",
                "paragraphs": paragraphs,
                "categories": [],
                "position": position,
            }
        )
    for entity, name, kind in NAMES:
        row = {"entity": entity, "name": name, "key": name_key(name), "kind": kind}
        rows["names"].append({**row, "language": "en", "count": 1, "place": 0})
    rows["views"] = [{"title": t, "views": v, "source": "test"} for t, v in VIEWS.items()]
    rows["redirects"] = [
        {"title": title, "target": "", "target_page": f"enwiki:{number}"}
        for title, number in REDIRECTS.items()
    ]
    with Folder.create(path, knowledge_tables.KIND) as folder:
        for schema in knowledge_tables.ALL:
            folder.write(schema, schema.from_rows(rows[schema.name]))
        folder.commit(name="test")
    return path
