"""Calls that were already made, by their full request: asked again, they cost nothing."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput
from whichone.files.output import cache_folder
from whichone.protocols import ChatReply


def request_key(url: str, body: Mapping[str, Any]) -> str:
    """One hash of everything that decides a reply: where it is asked, and the whole request."""
    text = msgspec.json.encode({"url": url, "body": body}, order="deterministic")
    return hashlib.sha256(text).hexdigest()


def default_cache_file(url: str, model: str) -> Path:
    """One file for each endpoint and model in the user's cache folder."""
    key = hashlib.sha256(f"{url}\0{model}".encode()).hexdigest()[:16]
    return cache_folder() / "calls" / f"{key}.sqlite"


class CallCache:
    """Requests and replies in one SQLite file; several threads and processes may share it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(self.path, timeout=60, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS calls (key TEXT PRIMARY KEY, request TEXT, reply TEXT)"
            )
            self._connection.commit()
        except (sqlite3.Error, OSError) as error:
            raise BadInput(
                f"cannot be used as a cache of calls: {error}",
                file=self.path,
                hint="name another file with --cache, or --cache none",
            ) from error

    def get(self, key: str) -> ChatReply | None:
        with self._lock:
            row = self._connection.execute(
                "SELECT reply FROM calls WHERE key = ?", (key,)
            ).fetchone()
        if row is None:
            return None
        reply = msgspec.json.decode(row[0], type=ChatReply)
        return msgspec.structs.replace(reply, cached=True)

    def put(self, key: str, request: Mapping[str, Any], reply: ChatReply) -> None:
        row = (key, msgspec.json.encode(request).decode(), msgspec.json.encode(reply).decode())
        with self._lock:
            self._connection.execute("INSERT OR REPLACE INTO calls VALUES (?, ?, ?)", row)
            self._connection.commit()

    def __len__(self) -> int:
        with self._lock:
            return int(self._connection.execute("SELECT count(*) FROM calls").fetchone()[0])

    def close(self) -> None:
        with self._lock:
            self._connection.close()
