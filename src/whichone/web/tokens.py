"""Who may do what: signed links with a role and an expiry, and tokens against forged requests."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from typing import Any, Literal, get_args

import msgspec
from itsdangerous import BadSignature, URLSafeSerializer

from whichone.web.storage.database import Database

Role = Literal["reader", "annotator", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
DAY = 86_400.0


class Person(msgspec.Struct, frozen=True):
    """Who asks: a pseudonym, a role, and the token that says so."""

    id: str
    role: Role
    token: str

    def may(self, role: Role) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)


class Tokens:
    """Makes and reads signed tokens with one secret."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._links = URLSafeSerializer(secret, salt="whichone link")

    def link(self, role: Role, person: str | None = None, *, seconds: float = 30 * DAY) -> str:
        """A token for one person; without a name they get a random pseudonym."""
        who = person or f"p-{secrets.token_hex(5)}"
        signed = self._links.dumps({"p": who, "r": role, "e": int(time.time() + seconds)})
        return signed if isinstance(signed, str) else signed.decode()

    def person(self, token: str) -> Person | None:
        """Who a token speaks for; nobody when it is forged or has expired."""
        try:
            payload: Any = self._links.loads(token)
            role, who, until = payload["r"], payload["p"], payload["e"]
        except (BadSignature, KeyError, TypeError, ValueError):
            return None
        if role not in ROLES or until < time.time():
            return None
        return Person(str(who), role, token)

    def form_token(self, person: Person) -> str:
        """What a form must send back, bound to the token of the person it was shown to."""
        return hmac.new(self._secret, b"form " + person.token.encode(), hashlib.sha256).hexdigest()

    def form_is_ours(self, person: Person, sent: str) -> bool:
        return hmac.compare_digest(
            self.form_token(person).encode(), sent.encode("utf-8", "replace")
        )


def secret_of(database: Database) -> str:
    """The secret kept with the answers; made when the database is new."""
    database.write(
        lambda t: t.execute(
            "insert into settings values ('secret', ?) on conflict do nothing",
            (secrets.token_hex(32),),
        )
    )
    return str(database.read("select value from settings where name = 'secret'")[0]["value"])
