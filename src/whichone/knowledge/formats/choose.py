"""The sources that a command line names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from whichone.knowledge.formats.catalogue import CatalogueSource
from whichone.knowledge.formats.pages import pages_source
from whichone.knowledge.formats.source import Source
from whichone.knowledge.formats.sql_dump import redirects_source
from whichone.knowledge.formats.views import Rules, ViewsFile
from whichone.knowledge.formats.wikidata import WikidataDump
from whichone.knowledge.wikidata_selection import select


def chosen_sources(
    *,
    wikidata: str | Path | None = None,
    pages: Sequence[str | Path] = (),
    views: Sequence[str | Path] = (),
    catalogues: Sequence[str | Path] = (),
    redirects: Sequence[str | Path] = (),
    languages: Sequence[str] = (),
    wiki: str | None = None,
    properties: str = "all",
    without_page: bool = False,
    superclasses: bool = False,
    views_rules: str = "summed",
) -> list[Source]:
    """One source a file, in a fixed order; a MediaWiki dump says its own language if none is."""
    results: list[Source] = []
    named = languages[0] if languages else None
    if wikidata is not None:
        selection = select(
            languages or ("en",),
            wiki=wiki,
            properties=properties,
            without_page=without_page,
            superclasses=superclasses,
        )
        results.append(WikidataDump(wikidata, selection))
    results.extend(pages_source(path, named) for path in pages)
    results.extend(ViewsFile(path, named or "en", cast("Rules", views_rules)) for path in views)
    results.extend(CatalogueSource(path) for path in catalogues)
    if redirects:
        results.append(redirects_source(redirects))
    return results
