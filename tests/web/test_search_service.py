"""`whichone serve --search`: an index as a service, with tokens, over real HTTP."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import whichone
from whichone.errors import UsageError
from whichone.web.search_service import make_search_app
from whichone.web.site_settings import SiteSettings

STAFF = [
    {"id": "1", "title": "Ada Park", "text": "Ada Park works in Payroll.", "tenant": "a"},
    {"id": "2", "title": "Ada Park", "text": "Ada Park works in Legal.", "tenant": "b"},
]


class Service:
    """A running server, its address and its two tokens."""

    def __init__(self, index: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "whichone", "serve", "--search", str(index)]
        self._process = subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        said = ""
        while "Bearer" not in said:
            line = self._process.stderr.readline()
            assert line, said
            said += line
        self.tokens = dict(re.findall(r"token to (search|change): +(\S+)", said))
        self.index = index
        self._place = f"http://127.0.0.1:{port}"
        for _ in range(200):
            try:
                self.ask("/health")
                return
            except urllib.error.URLError:
                time.sleep(0.05)

    def ask(self, path: str, body: Any = None, token: str = "") -> Any:
        headers = {"content-type": "application/json"}
        if token:
            headers["authorization"] = f"Bearer {token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._place + path, data, headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            text = response.read().decode()
        return json.loads(text) if text.startswith(("{", "[")) else text

    def status(self, path: str, body: Any = None, token: str = "") -> int:
        with pytest.raises(urllib.error.HTTPError) as refused:
            self.ask(path, body, token)
        refused.value.close()
        return refused.value.code

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(20)
        assert self._process.stderr is not None
        self._process.stderr.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    whichone.Namesake.over(STAFF, encoder="none").save(tmp_path / "index")
    running = Service(tmp_path / "index")
    try:
        yield running
    finally:
        running.stop()


def test_the_secret_is_beside_the_index_and_changes_need_a_token(service: Service) -> None:
    assert not list(service.index.glob("*secret*")) + list(service.index.glob(".*secret*"))
    assert service.index.with_name("index.secret").stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="not served without tokens"):
        make_search_app(service.index, SiteSettings(no_login=True))


def test_the_service(service: Service) -> None:
    reader, writer = service.tokens["search"], service.tokens["change"]
    asked = {"text": "Ada Park in Legal", "k": 1}
    assert service.status("/search", asked) == 401
    assert service.status("/search", asked, "forged") == 401
    assert service.ask("/search", asked, reader)["results"][0]["id"] == "2"
    assert service.ask("/search?q=Payroll&k=1", None, reader)["results"][0]["id"] == "1"
    several = {"texts": ["Legal", "Payroll"], "filter": {"tenant": "a"}}
    first, second = service.ask("/search", several, writer)["results"]
    assert (first, second[0]["id"]) == ([], "1")
    new = {"passages": [{"id": "3", "title": "Ada Park", "text": "Ada Park sings."}]}
    assert service.status("/passages", new, reader) == 403
    assert service.ask("/passages", new, writer) == {"added": 1}
    assert service.ask("/search", {"text": "Who sings?"}, reader)["results"][0]["id"] == "3"
    assert service.ask("/passages/remove", {"ids": ["3"]}, writer) == {"removed": 1}
    assert service.status("/search", {"text": "x", "filter": {"nofield": 1}}, reader) == 422
    assert service.status("/search", {}, reader) == 422
    assert service.ask("/about", None, reader)["passages"] == 2
    assert service.ask("/health") == {"index": "ok"}
    metrics = service.ask("/metrics")
    assert 'whichone_requests_total{path="/search",status="401"} 2' in metrics
    assert "whichone_passages 2" in metrics
    assert "/passages" in service.ask("/openapi.json")["paths"]
