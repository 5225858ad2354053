"""A knowledge base of three namesakes, written table by table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichone.files.folder import Folder
from whichone.knowledge.knowledge_tables import ALL, KIND
from whichone.names import name_key


def name(entity: str, text: str, kind: str, count: int = 1, place: int = 0) -> dict[str, Any]:
    return {
        "entity": entity, "name": text, "key": name_key(text), "language": "en",
        "kind": kind, "count": count, "place": place,
    }  # fmt: skip


ROWS: dict[str, list[dict[str, Any]]] = {
    "entities": [
        {"entity": "Q1", "label": "Abraham Lincoln", "description": "president", "types": ["Q5"],
         "sitelinks": 300, "title": "Abraham Lincoln", "position": 0, "source": "wikidata"},
        {"entity": "Q2", "label": "Abe Lincoln", "description": "trombonist", "types": ["Q5"],
         "sitelinks": 2, "title": "Abe Lincoln (musician)", "position": 1, "source": "wikidata"},
        {"entity": "Q5", "label": "human", "types": [], "sitelinks": 0, "position": 2,
         "source": "wikidata"},
        {"entity": "Q6", "label": "trombone", "types": [], "sitelinks": 90, "position": 3,
         "source": "wikidata"},
    ],
    "names": [
        name("Q1", "Abraham Lincoln", "label"), name("Q1", "Abe Lincoln", "alias", place=1),
        name("Q1", "Abe Lincoln", "redirect"), name("Q1", "Lincoln", "anchor", 40),
        name("Q2", "Abe Lincoln", "label"), name("Q2", "Abe Lincoln", "title", place=1),
        name("Q2", "Abe Lincoln (musician)", "title"), name("Q6", "trombone", "label"),
        name("enwiki:9", "Lincoln", "title"), name("enwiki:9", "Lincoln", "anchor", 3),
        name("enwiki:9", "Café Zürich", "redirect"), name("Q1", "リンカーン", "alias", place=2),
        name("enwiki:9", "Lincoln, Nebraska [city*]", "redirect"),
    ],
    "facts": [
        {"entity": "Q2", "property": "P1303", "kind": "entity", "value": "Q6", "rank": "normal",
         "place": 0},
        {"entity": "Q2", "property": "P2048", "kind": "quantity", "value": "+2", "unit": "Q6",
         "rank": "normal", "place": 1},
    ],
    "properties": [{"property": "P1303", "label": "instrument"}],
    "pages": [
        {"page": "enwiki:307", "title": "Abraham Lincoln", "entity": "Q1", "kind": "article"},
        {"page": "enwiki:8", "title": "Abe Lincoln (musician)", "entity": "Q2", "kind": "article"},
        {"page": "enwiki:9", "title": "Lincoln", "kind": "article"},
        {"page": "enwiki:10", "title": "Café Zürich & Co", "kind": "article"},
    ],
    "links": [],
    "redirects": [
        {"title": "Abe Lincoln", "target": "Abraham Lincoln", "target_page": "enwiki:307"},
        {"title": "Nowhere", "target": "Gone", "target_page": None},
    ],
    "views": [{"title": "Abraham Lincoln", "views": 9000, "source": "v"},
              {"title": "Abe Lincoln (musician)", "views": 12, "source": "v"}],
}  # fmt: skip


def small_base(path: Path) -> Path:
    with Folder.create(path, KIND) as folder:
        rows = {t.name: folder.write(t, t.from_rows(ROWS[t.name])) for t in ALL}
        folder.commit(counts=rows)
    return path
