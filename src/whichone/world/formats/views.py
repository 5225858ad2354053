"""The monthly page-view totals: `project title count`, one page a line, blanks as underscores."""

from __future__ import annotations

from whichone.world.model import Wiki

HEADER = (
    b"# Wikimedia page requests (aka page views) for month 2019-10, pages with 5 views or more\n"
    b"# an invented file in the true format: the counts are not measurements\n"
)
FEWEST = 5
"""The published file leaves out pages with fewer views in the month."""


def views_line(title: str, views: int, wiki: Wiki) -> bytes:
    """One page's line; empty for a page with too few views to be listed."""
    if views < FEWEST:
        return b""
    return f"{wiki.language}.z {title.replace(' ', '_')} {views}\n".encode()
