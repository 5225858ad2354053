"""What all rooms share: settings, the served folder, the database, the links."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from starlette.requests import Request

from whichone.errors import UsageError
from whichone.web.annotation.queue import Plan
from whichone.web.limits import Buckets
from whichone.web.links import Links
from whichone.web.passage_cache import PassageCache
from whichone.web.served_folder import ServedFolder
from whichone.web.settings import Settings
from whichone.web.storage.database import Database, Row, Transaction, open_database
from whichone.web.table_reader import TableReader
from whichone.web.tokens import Person, Tokens, secret_in

T = TypeVar("T")


@dataclass
class Site:
    settings: Settings
    folder: ServedFolder
    tables: TableReader
    database: Database
    tokens: Tokens
    links: Links
    writes: Buckets
    passages: PassageCache
    tries: Buckets = field(default_factory=lambda: Buckets(0.5, 20))
    campaigns: dict[str, tuple[Row, Plan]] = field(default_factory=dict)
    hidden: tuple[object, frozenset[str]] | None = None
    """The benchmarks that are not shown, with what they were computed from."""
    local: Person | None = None
    """Whoever uses this machine's own browser, on a server without login."""


def open_site(settings: Settings) -> Site:
    if not settings.login and not settings.loopback:
        raise UsageError(
            f"without login the server must listen on this machine alone, not on {settings.host}",
            hint="leave out --no-login, or leave out --host",
        )
    database = open_database(settings.database_url())
    tokens = Tokens(secret_in(settings.secret_file()))
    folder, tables = (
        ServedFolder(settings.folder, *settings.more, cache=settings.cache),
        TableReader(),
    )
    return Site(
        settings=settings,
        folder=folder,
        tables=tables,
        passages=PassageCache(folder, tables),
        database=database,
        tokens=tokens,
        links=Links(database, tokens),
        writes=Buckets(settings.writes_a_second, settings.write_burst),
        local=None if settings.login else Person("local", "admin", secrets.token_hex(16)),
    )


def site_of(request: Request) -> Site:
    return cast("Site", request.app.state.site)


async def committed(site: Site, work: Callable[[Transaction], T]) -> T:
    """Work on the database, awaited until it is on disk; no thread is held meanwhile."""
    return await asyncio.wrap_future(site.database.submit(work))


def clean(text: str, longest: int = 20_000) -> str:
    """Text as both databases can keep it: no NUL, no lone surrogates, not longer than it may be."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:longest]


def new_id() -> str:
    return secrets.token_hex(8)
