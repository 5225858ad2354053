"""Real servers for the tests: PostgreSQL, and whichone's own in a process of its own."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
from msgspec.structs import replace
from starlette.testclient import TestClient

from whichone.web.app import make_app
from whichone.web.site_settings import SiteSettings


def find_program(name: str) -> str | None:
    """A program on the path, or where Debian keeps PostgreSQL's server programs."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return shutil.which(name) or (str(places[0]) if places else None)


@contextlib.contextmanager
def postgres_server() -> Iterator[str]:
    """A PostgreSQL server of its own in a folder of its own; it refuses to run as root."""
    initdb, postgres = find_program("initdb"), find_program("postgres")
    assert initdb and postgres
    place = Path(tempfile.mkdtemp(prefix="whichone-pg-"))
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(place, nobody.pw_uid, nobody.pw_gid)
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    data = place / "data"
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **user}
    command = [initdb, "-D", data, "-U", "whichone", "--auth=trust", "--no-sync", "-E", "UTF8"]
    subprocess.run([*command, "--locale=C"], check=True, cwd=place, **quiet)
    options = ["-c", "listen_addresses=", "-k", place, "-c", "max_connections=50"]
    server = subprocess.Popen([postgres, "-D", data, *options], cwd=place, **quiet)
    try:
        url = f"postgresql://whichone@/postgres?host={place}"
        wait_for(lambda: psycopg.connect(url).close(), psycopg.Error)
        yield url
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
        shutil.rmtree(place, ignore_errors=True)


def wait_for(try_it: Callable[[], object], error: type[Exception], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            try_it()
            return
        except error:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def visitor(
    place: str, cookies: dict[str, str] | None = None, headers: dict[str, str] | None = None
) -> httpx.Client:
    """Of a server without TLS: reading the authorities' certificates would take longer than the visit."""
    return httpx.Client(base_url=place, cookies=cookies, headers=headers, trust_env=False, verify=False)


def opened(settings: SiteSettings, **changes: Any) -> TestClient:
    """The application; a server without login was opened by its address of the start."""
    app = make_app(replace(settings, **changes))
    client = TestClient(app)
    if app.state.site.local is not None:
        client.cookies.set("whichone", app.state.site.local.token)
    return client


def text_of(client: Any, place: str, **options: Any) -> str:
    """A page without the marks that keep the direction of a name to itself."""
    page: str = client.get(place, **options).text
    return page.replace("<bdi>", "").replace("</bdi>", "")


@contextlib.contextmanager
def served(
    folder: Path, database: str, cache: Path, secret: Path | None = None, *options: str
) -> Iterator[tuple[subprocess.Popen[bytes], str, dict[str, str]]]:
    """The real program in a process of its own, on a port of its own, and the cookie of its admin."""
    port = free_port()
    command = [sys.executable, "-m", "whichone", "serve", folder, "--port", str(port)]
    environment = {**os.environ, "WHICHONE_CACHE": str(cache)}
    options += ("--secret", str(secret)) if secret else ("--no-login",)
    place = f"http://127.0.0.1:{port}"
    with tempfile.NamedTemporaryFile("w+") as said:
        process = subprocess.Popen([*command, "--database", database, *options], env=environment, stderr=said)
        try:
            with visitor(place) as client:
                wait_for(lambda: client.get("/health"), httpx.TransportError)
                said.seek(0)
                address = re.search(r"/enter[?]token=\S+", said.read())
                if address and not secret:
                    assert client.get(address[0]).status_code == 303
                cookies = dict(client.cookies)
            yield process, place, cookies
        finally:
            process.kill()
            process.wait()
