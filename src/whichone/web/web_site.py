"""Links that let people in: labelled, scoped to one study, campaign or board, listed, revoked."""

import asyncio
import contextlib
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

import msgspec
from fastapi import Depends
from itsdangerous import BadSignature, URLSafeSerializer
from starlette.requests import Request

from whichone.errors import BadInput, UsageError
from whichone.web.annotation.task_queue import QueuePlan
from whichone.web.limits import TokenBuckets
from whichone.web.served_folder import PassageCache, ServedFolder, TableReader
from whichone.web.site_settings import SiteSettings
from whichone.web.storage import Database, Row, Transaction, one_at_a_time, open_database

# Signed tokens: what a link and a form must send back, and the secret that signs them.

Role = Literal["reader", "annotator", "submitter", "invite", "admin"]
DAY = 86_400.0


class Visitor(msgspec.Struct, frozen=True):
    """Who asks: a pseudonym, a role, the one study, campaign or board it is for, and the token."""

    id: str
    role: Role
    token: str
    # `study:KEY`, `campaign:KEY` or `board:KEY`; empty for readers and admins of the whole site.
    scope: str = ""

    def may(self, role: Role, scope: str = "") -> bool:
        """Admins everything; readers read; annotators and submitters only inside their scope."""
        if self.role == "admin":
            return True
        if role == "reader":
            return self.role == "reader" or (bool(scope) and self.scope == scope)
        return self.role == role and bool(scope) and self.scope == scope


class SignedTokens:
    """Makes and reads signed tokens with one secret."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._links = URLSafeSerializer(secret, salt="whichone link 2")

    def sign(self, link: str) -> str:
        """The token of a link, by the link's id."""
        signed = self._links.dumps(link)
        return signed if isinstance(signed, str) else signed.decode()

    def link(self, token: str) -> str | None:
        """The id of the link that a token was signed for; None when it is forged."""
        try:
            return str(self._links.loads(token))
        except (BadSignature, ValueError):
            return None

    def form_token(self, person: Visitor) -> str:
        return hmac.new(self._secret, b"form " + person.token.encode(), hashlib.sha256).hexdigest()

    def form_is_ours(self, person: Visitor, sent: str) -> bool:
        return same_secret(self.form_token(person), sent)

    def keyed(self, *parts: str) -> bytes:
        """Bytes that only this server can compute from the parts."""
        return hmac.new(self._secret, "\0".join(parts).encode(), hashlib.sha256).digest()


def same_secret(one: str, other: str) -> bool:
    """Compared in a time that does not depend on where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def secret_in(path: Path) -> str:
    """The secret in a file that its owner alone can read; created when it is not there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            contextlib.suppress(FileExistsError),
            os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file,
        ):
            file.write(secrets.token_hex(32))
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise BadInput(
                "others can read the secret that signs links",
                file=path,
                hint=f"chmod 600 {path}; if it was read, delete it: all links are then made anew",
            )
        secret = path.read_text().strip()
    except OSError as error:
        raise BadInput(f"cannot be used for the secret: {error.strerror}", file=path) from error
    if len(secret) < 32:
        raise BadInput("too short for a secret", file=path, hint="delete the file: a new one is made")
    return secret


# Seconds for which a link is not looked up again: a revoked one ends on other servers after these.
_FRESH = 2.0
_MOST_KNOWN = 10_000
AT_START = "printed at the start"
_COLUMNS = "link, label, role, scope, person, external, made, expires, revoked"
PLACES = {"study": "/study", "campaign": "/annotate", "board": "/boards"}


class Link(msgspec.Struct, frozen=True):
    link: str
    label: str
    role: Role
    scope: str
    person: str
    external: str  # Who it is elsewhere (a participant's id of Prolific or MTurk)
    made: float
    expires: float
    revoked: float | None

    def state(self) -> str:
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires < time.time() else "valid"


def place_of_scope(scope: str) -> str:
    what, _, key = scope.partition(":")
    return f"{PLACES[what]}/{key}" if what in PLACES and key else "/"


class Links:
    def __init__(self, database: Database, tokens: SignedTokens) -> None:
        self._database, self._tokens = database, tokens
        self._known: dict[str, tuple[float, Link | None]] = {}

    def token(self, link: Link) -> str:
        return self._tokens.sign(link.link)

    def person(self, token: str) -> Visitor | None:
        """Who a token speaks for; nobody when its link is unknown, revoked or expired."""
        identity = self._tokens.link(token) if token else None
        if identity is None:
            return None
        now = time.monotonic()
        looked, link = self._known.get(identity, (-_FRESH, None))
        if now - looked >= _FRESH:
            rows = self._database.read(f"select {_COLUMNS} from links where link = ?", (identity,))
            link = Link(**rows[0]) if rows else None
            if len(self._known) >= _MOST_KNOWN:
                self._known = {}
            self._known[identity] = (now, link)
        if link is None or link.state() != "valid":
            return None
        return Visitor(link.person, link.role, token, link.scope)

    def create(
        self, role: Role, *, scope: str = "", person: str = "", label: str = "",
        seconds: float = 30 * DAY, external: str = "",
    ) -> Link:  # fmt: skip
        """A new link; without a name the person gets a random pseudonym."""
        return self.create_all(role, [label], scope, seconds, person=person, external=external)[0]

    def create_all(
        self, role: Role, labels: list[str], scope: str, seconds: float, *, person: str = "",
        external: str = "",
    ) -> list[Link]:  # fmt: skip
        links = [_new_link(role, label, scope, seconds, person, external) for label in labels]

        def work(t: Transaction) -> None:
            for link in links:
                _insert(t, link)

        self._database.write(work)
        return links

    def participant(self, scope: str, external: str) -> Link:
        """The link of somebody who came by an invite: of one id, one, however many come at once."""

        def work(t: Transaction) -> Link:
            one_at_a_time(t, f"participants of {scope}")
            rows = t.read(
                f"select {_COLUMNS} from links where scope = ? and external = ? and role = 'annotator'",
                (scope, external),
            )
            if rows:
                return Link(**rows[0])
            link = _new_link("annotator", external, scope, 90 * DAY, "", external)
            _insert(t, link)
            return link

        return self._database.write(work)

    def listed(self, scope: str | None = None) -> list[Link]:
        where, values = ("where scope = ? ", (scope,)) if scope is not None else ("", ())
        rows = self._database.read(f"select {_COLUMNS} from links {where}order by made, label, link", values)
        return [Link(**row) for row in rows]

    def revoke(self, link: str) -> bool:
        return self._change("revoked = ?", (time.time(),), link)

    def renew(self, link: str, seconds: float) -> bool:
        """Valid again from now on, for the same person."""
        return self._change("revoked = null, expires = ?", (time.time() + seconds,), link)

    def _change(self, what: str, values: tuple[Any, ...], link: str) -> bool:
        sql = f"update links set {what} where link = ?"
        changed = self._database.write(lambda t: t.execute(sql, (*values, link)))
        self._known.pop(link, None)
        return bool(changed)

    def forget(self) -> None:
        self._known = {}

    def at_start(self) -> str:
        """The admin's token that the server prints: of one link, renewed at every start."""
        rows = self._database.read(
            f"select {_COLUMNS} from links where label = ? and revoked is null", (AT_START,)
        )
        if not rows:
            return self.token(self.create("admin", label=AT_START))
        self.renew(rows[0]["link"], 30 * DAY)
        return self._tokens.sign(rows[0]["link"])


def _new_link(role: Role, label: str, scope: str, seconds: float, person: str, external: str) -> Link:
    now, person = time.time(), person or f"p-{secrets.token_hex(5)}"
    return Link(secrets.token_hex(8), label, role, scope, person, external, now, now + seconds, None)


def _insert(t: Transaction, link: Link) -> None:
    marks = ", ".join("?" * len(_COLUMNS.split(",")))
    values = tuple(msgspec.structs.asdict(link).values())
    t.execute(f"insert into links ({_COLUMNS}) values ({marks})", values)


# What all rooms share: settings, the served folder, the database, the links.

T = TypeVar("T")


@dataclass
class Site:
    settings: SiteSettings
    folder: ServedFolder
    tables: TableReader
    database: Database
    tokens: SignedTokens
    links: Links
    writes: TokenBuckets
    passages: PassageCache
    tries: TokenBuckets = field(default_factory=lambda: TokenBuckets(0.5, 20))
    campaigns: dict[str, tuple[Row, QueuePlan]] = field(default_factory=dict)
    # The benchmarks that are not shown, with what they were computed from.
    hidden: tuple[object, frozenset[str]] | None = None
    # The admin of a server without login: the browser that opened the address printed at the start.
    local: Visitor | None = None
    once: str = ""  # The token in that address; empty once it was used

    def person_of_cookie(self, token: str) -> Visitor | None:
        if self.local is not None and same_secret(token, self.local.token):
            return self.local
        return self.links.person(token)

    def take_once(self, token: str) -> bool:
        """Whether this is the address that was printed at the start; it opens a single time."""
        if taken := bool(self.once) and same_secret(token, self.once):
            self.once = ""
        return taken


def open_site(settings: SiteSettings) -> Site:
    if settings.no_login and not settings.loopback:
        raise UsageError(
            f"without login the server must listen on this machine alone, not on {settings.host}",
            hint="leave out --no-login, or leave out --host",
        )
    database = open_database(settings.database_url())
    tokens = SignedTokens(secret_in(settings.secret_file()))
    folder, tables = ServedFolder(settings.folder, *settings.more, cache=settings.cache), TableReader()
    return Site(
        settings, folder, tables, database, tokens, Links(database, tokens),
        writes=TokenBuckets(settings.writes_a_second, settings.write_burst), passages=PassageCache(folder, tables),
        local=Visitor("local", "admin", secrets.token_hex(32)) if settings.no_login else None,
        once=secrets.token_urlsafe(24) if settings.no_login else "",
    )  # fmt: skip


def site_of(request: Request) -> Site:
    return cast("Site", request.app.state.site)


async def _here(request: Request) -> Site:
    return site_of(request)


Here = Annotated[Site, Depends(_here)]


async def committed(site: Site, work: Callable[[Transaction], T]) -> T:
    """Work on the database, awaited until it is on disk; no thread is held meanwhile."""
    return await asyncio.wrap_future(site.database.submit(work))


def clean(text: str, longest: int = 20_000) -> str:
    """Text as both databases can keep it: no NUL, no lone surrogates, not longer than it may be."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()[:longest]


def new_id() -> str:
    return secrets.token_hex(8)
