"""Signed tokens: what a link and a form must send back, and the secret that signs them."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import Literal, get_args

import msgspec
from itsdangerous import BadSignature, URLSafeSerializer

from whichone.errors import BadInput

Role = Literal["reader", "annotator", "submitter", "invite", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
DAY = 86_400.0


class Person(msgspec.Struct, frozen=True):
    """Who asks: a pseudonym, a role, the one study, campaign or board it is for, and the token."""

    id: str
    role: Role
    token: str
    scope: str = ""
    """`study:KEY`, `campaign:KEY` or `board:KEY`; empty for readers and admins of the whole site."""

    def may(self, role: Role, scope: str = "") -> bool:
        """Admins everything; readers read; annotators and submitters only inside their scope."""
        if self.role == "admin":
            return True
        if role == "reader":
            return self.role == "reader" or (bool(scope) and self.scope == scope)
        return self.role == role and bool(scope) and self.scope == scope


class Tokens:
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

    def form_token(self, person: Person) -> str:
        """What a form must send back, bound to the token of the person it was shown to."""
        return hmac.new(self._secret, b"form " + person.token.encode(), hashlib.sha256).hexdigest()

    def form_is_ours(self, person: Person, sent: str) -> bool:
        return hmac.compare_digest(
            self.form_token(person).encode(), sent.encode("utf-8", "replace")
        )

    def keyed(self, *parts: str) -> bytes:
        """Bytes that only this server can compute from the parts."""
        return hmac.new(self._secret, "\0".join(parts).encode(), hashlib.sha256).digest()


def secret_in(path: Path) -> str:
    """The secret in a file that its owner alone can read; created when it is not there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            pass
        else:
            with os.fdopen(descriptor, "w") as file:
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
        raise BadInput(
            "too short for a secret", file=path, hint="delete the file: a new one is made"
        )
    return secret
