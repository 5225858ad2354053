"""Disambiguation pages: a shared name, and a line for each page of a bearer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whichone.world.model import DISAMBIGUATION_TYPE, Article, Block, Item


def disambiguation_title(name: str, taken: Iterable[str]) -> str:
    """The bare name, or with "(disambiguation)" where a page or redirect has the bare one."""
    return f"{name} (disambiguation)" if name in taken else name


def disambiguation_page(
    name: str, title: str, bearers: Sequence[tuple[str, str]], item_id: str, views: int
) -> Article:
    """The page that lists `bearers`, pairs of page title and description; the first is the best known."""
    item = Item(
        id=item_id,
        label=name,
        description="Wikimedia disambiguation page",
        types=(DISAMBIGUATION_TYPE,),
        title=title,
    )
    lines = [
        Block("bullet", f"[[{page}]], {text}" if text else f"[[{page}]]") for page, text in bearers
    ]
    return Article(
        title=title,
        blocks=(Block("paragraph", f"{name} may refer to:"), *lines),
        categories=("Disambiguation pages",),
        item=item,
        views=views,
        disambiguation=True,
    )
