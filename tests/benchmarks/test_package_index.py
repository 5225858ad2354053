"""Files of packages by the list of an index, in JSON and in HTML, from a real server on loopback."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from whichone.benchmarks import package_index
from whichone.benchmarks.package_index import package_address
from whichone.errors import Missing

FILE = "Some_Data-1.0.tar.gz"


class Index(http.server.BaseHTTPRequestHandler):
    """`/json` and `/html` list one file of the package some-data; `/empty` lists none."""

    def do_GET(self) -> None:
        kind, _, package = self.path.strip("/").partition("/")
        if package != "some-data":
            self.send_error(404)
            return
        if kind == "html":
            body = f'<a href="../../files/Some%5FData-1.0.tar.gz#sha256=00">{FILE}</a>'
            kind_of = "text/html"
        else:
            files = [{"filename": FILE, "url": "/files/data"}] if kind == "json" else []
            body = json.dumps({"name": package, "files": files})
            kind_of = "application/vnd.pypi.simple.v1+json"
        self.send_response(200)
        self.send_header("Content-Type", kind_of)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index) as served:
        thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    package_index.indexes.cache_clear()
    yield
    package_index.indexes.cache_clear()


def test_json_and_html(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_INDEX_URL", f"{server}/json")
    assert package_address("pip:Some.Data==1.0", FILE) == f"{server}/files/data"
    package_index.indexes.cache_clear()
    monkeypatch.setenv("PIP_INDEX_URL", f"{server}/html/")
    assert package_address("pip:some_data==1.0", FILE) == f"{server}/files/Some%5FData-1.0.tar.gz"


def test_the_next_index_is_asked(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"{server}/empty")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"{server}/json")
    assert package_address("pip:some-data==1.0", FILE) == f"{server}/files/data"
    with pytest.raises(Missing, match="not listed"):
        package_address("pip:some-data==1.0", "Some_Data-2.0.tar.gz")
    with pytest.raises(Missing, match="Not Found"):
        package_address("pip:other-data==1.0", FILE)


def test_the_default_is_pips_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    (address,) = package_index.indexes()
    assert address.startswith("https://") and address.endswith("/simple")
