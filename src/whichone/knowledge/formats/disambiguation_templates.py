"""Which templates mark a page as a list of namesakes, by the template pages of the dump itself.

MediaWiki knows such a page by `__DISAMBIG__`, which comes from a template whose name differs from wiki to wiki. A dump
of all articles contains the templates: those with the mark, those that redirect to one, and those that call one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import mmh3
import pyarrow as pa

from whichone.files.tables import TableSchema
from whichone.knowledge.engine.queries import Queries
from whichone.knowledge.formats.wiki_site import (
    DISAMBIGUATION,
    Site,
    is_disambiguation_template,
    namespace_of,
)
from whichone.names import name_key

TEMPLATE = 10
"""The number of the namespace of templates, in every wiki."""
TEMPLATES = TableSchema(
    "templates",
    pa.schema(
        [
            ("template", pa.int64()),
            ("marked", pa.bool_()),
            ("redirect", pa.int64()),
            ("calls", pa.list_(pa.int64())),
        ]
    ),
    ("template",),
)
USES = TableSchema(
    "uses", pa.schema([("page", pa.string()), ("templates", pa.list_(pa.int64()))]), ("page",)
)
_NOT_INCLUDED = re.compile(
    r"<!--.*?(?:-->|\Z)|<noinclude\b[^<>]*>.*?(?:</noinclude\s*>|\Z)|<nowiki\b[^<>]*>.*?</nowiki\s*>",
    re.DOTALL | re.IGNORECASE,
)
_CALL = re.compile(r"\{\{\s*([^{}|#<>\[\]\n:]+(?::[^{}|#<>\[\]\n:]+)?)\s*(?=\||\}\}|\n)")
_LEVELS = 4
"""A template that calls one that calls one and so on, as far as this."""


def template_row(title: str, text: str, redirect: str | None, site: Site) -> dict[str, Any]:
    """What a template page says about itself: whether it has the mark, and what it calls or redirects to."""
    included = _NOT_INCLUDED.sub("", text)
    calls = {template_hash(match[1], site) for match in _CALL.finditer(included)}
    listed = is_disambiguation_template(_bare(title, site), site)
    return {
        "template": template_hash(title, site),
        "marked": DISAMBIGUATION in included or listed,
        "redirect": None if redirect is None else template_hash(redirect, site),
        "calls": [] if redirect is not None else sorted(calls),
    }


def used_templates(names: Iterable[str], site: Site) -> list[int]:
    return sorted({template_hash(name, site) for name in names})


def template_hash(name: str, site: Site) -> int:
    """64 bits of a template's name without its namespace."""
    return _hash(_bare(name, site))


def _bare(name: str, site: Site) -> str:
    name = name.strip().lstrip(":")
    return name.partition(":")[2] if namespace_of(name, site) == TEMPLATE else name


@lru_cache(maxsize=1 << 16)
def _hash(name: str) -> int:
    return int(mmh3.hash64(name_key(name).encode("utf-8", "surrogatepass"))[0])


def marking_templates(queries: Queries, rows: str) -> list[int]:
    """All templates that put the mark on the pages that use them; `rows` is a query of `TEMPLATES`."""
    known = {t for (t,) in queries.fetch(f"select template from ({rows}) where marked")}
    for _ in range(_LEVELS if known else 0):
        listed = f"[{', '.join(map(str, sorted(known)))}]::bigint[]"
        results = queries.fetch(
            f"select template from ({rows}) where list_contains({listed}, redirect)"
            f" or list_has_any(calls, {listed})"
        )
        more = {t for (t,) in results} - known
        if not more:
            break
        known |= more
    return sorted(known)
