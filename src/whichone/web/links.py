"""Links that let people in: labelled, scoped to one study, campaign or board, listed, revoked."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from typing import Any

import msgspec

from whichone.web.storage.database import Database, Row, Transaction
from whichone.web.tokens import DAY, Person, Role, Tokens

_FRESH = 2.0
"""Seconds for which a link is not looked up again: a revoked one ends on other servers after these."""
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
    external: str
    """Who it is elsewhere (a participant's id of Prolific or MTurk)."""
    made: float
    expires: float
    revoked: float | None

    def state(self) -> str:
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires < time.time() else "valid"

    def place(self) -> str:
        return place_of_scope(self.scope)


def place_of_scope(scope: str) -> str:
    """The page that a scope is about."""
    what, _, key = scope.partition(":")
    return f"{PLACES[what]}/{key}" if what in PLACES and key else "/"


class Links:
    def __init__(self, database: Database, tokens: Tokens) -> None:
        self._database, self._tokens = database, tokens
        self._known: OrderedDict[str, tuple[float, Link | None]] = OrderedDict()
        self._lock = threading.Lock()

    def token(self, link: Link) -> str:
        return self._tokens.sign(link.link)

    def person(self, token: str) -> Person | None:
        """Who a token speaks for; nobody when its link is unknown, revoked or expired."""
        identity = self._tokens.link(token) if token else None
        link = self._current(identity) if identity else None
        if link is None or link.state() != "valid":
            return None
        return Person(link.person, link.role, token, link.scope)

    def _current(self, identity: str) -> Link | None:
        now = time.monotonic()
        with self._lock:
            known = self._known.get(identity)
        if known is not None and now - known[0] < _FRESH:
            return known[1]
        rows = self._database.read(f"select {_COLUMNS} from links where link = ?", (identity,))
        link = _link(rows[0]) if rows else None
        with self._lock:
            self._known[identity] = (now, link)
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return link

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
        now = time.time()
        links = [
            Link(secrets.token_hex(8), label, role, scope, person or new_pseudonym(), external,
                 now, now + seconds, None)
            for label in labels
        ]  # fmt: skip
        marks = ", ".join("?" * len(_COLUMNS.split(",")))

        def work(t: Transaction) -> None:
            for link in links:
                t.execute(
                    f"insert into links ({_COLUMNS}) values ({marks})",
                    tuple(msgspec.structs.asdict(link).values()),
                )

        self._database.write(work)
        return links

    def listed(self, scope: str | None = None) -> list[Link]:
        """Every link, or those of one scope, in the order in which they were made."""
        where, values = ("where scope = ? ", (scope,)) if scope is not None else ("", ())
        rows = self._database.read(
            f"select {_COLUMNS} from links {where}order by made, label, link", values
        )
        return [_link(row) for row in rows]

    def of_external(self, scope: str, external: str) -> Link | None:
        rows = self._database.read(
            f"select {_COLUMNS} from links where scope = ? and external = ? and role = 'annotator'",
            (scope, external),
        )
        return _link(rows[0]) if rows else None

    def revoke(self, link: str) -> bool:
        return self._change("revoked = ?", (time.time(),), link)

    def renew(self, link: str, seconds: float) -> bool:
        """Valid again from now on, for the same person."""
        return self._change("revoked = null, expires = ?", (time.time() + seconds,), link)

    def _change(self, what: str, values: tuple[Any, ...], link: str) -> bool:
        sql = f"update links set {what} where link = ?"
        changed = self._database.write(lambda t: t.execute(sql, (*values, link)))
        with self._lock:
            self._known.pop(link, None)
        return bool(changed)

    def forget(self) -> None:
        """Looks every link up again from now on."""
        with self._lock:
            self._known.clear()

    def at_start(self) -> str:
        """The admin's token that the server prints: of one link, renewed at every start."""
        rows = self._database.read(
            f"select {_COLUMNS} from links where label = ? and revoked is null", (AT_START,)
        )
        if not rows:
            return self.token(self.create("admin", label=AT_START))
        self.renew(rows[0]["link"], 30 * DAY)
        return self._tokens.sign(rows[0]["link"])


def _link(row: Row) -> Link:
    return Link(**row)


def new_pseudonym() -> str:
    return f"p-{secrets.token_hex(5)}"
