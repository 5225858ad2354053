"""What a retriever would send to another machine, said before anything is sent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from whichone.benchmarks.benchmark import Benchmark


class _Service(NamedTuple):
    """Which option names the address, and which one a store of the user's own, only read."""

    address: str
    default: str | None = None
    own_store: str | None = None


_SERVICES = {
    "http": _Service("url"),
    "opensearch": _Service("url", "http://localhost:9200", "index"),
    "qdrant": _Service("url", None, "collection"),
    "milvus": _Service("uri", None, "collection"),
    "pgvector": _Service("dsn", "", "table"),
    "postgres": _Service("dsn", "", "table"),
    "rerank": _Service("endpoint"),
}


def what_leaves(name: str, options: Mapping[str, Any], benchmark: Benchmark) -> str | None:
    """One sentence on what goes to which address; None where a retriever asks nobody.

    What a function of the user's own sends cannot be known.
    """
    service = _SERVICES.get(name)
    address = options.get(service.address, service.default) if service else None
    host = _host(name, str(address)) if address is not None else None
    if service is None or host is None:
        return None
    if host == "" or host in ("localhost", "::1") or host.startswith(("127.", "/")):
        return f"asking {name} on this machine: nothing leaves it"
    texts = f"{len(benchmark.queries):,} questions"
    if name in ("qdrant", "milvus", "pgvector"):
        texts = f"the vectors of {texts}"
    if name == "rerank":
        texts += f" with up to {options.get('depth', 100)} passages each"
    if service.own_store and not options.get(service.own_store):
        texts += f" and the {benchmark.passages.num_rows:,} passages of {benchmark.id}"
    return f"what leaves this machine: {texts}, to {host}; no gold answers"


def _host(name: str, address: str) -> str | None:
    """The host alone, without user and password; empty for this machine, None for a file."""
    if name in ("postgres", "pgvector"):
        return _postgres_host(address)
    parts = urlsplit(address)
    return parts.hostname if parts.netloc else None


def _postgres_host(dsn: str) -> str:
    host = ""
    if dsn:
        try:
            from psycopg.conninfo import conninfo_to_dict

            host = str(conninfo_to_dict(dsn).get("host") or "")
        except Exception:
            return "the server of its dsn"  # it is refused when it is opened, with the reason
    return host or os.environ.get("PGHOST", "")
