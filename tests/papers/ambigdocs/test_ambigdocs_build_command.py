"""`whichone build ambigdocs` as a person types it, without a model and with one."""

import importlib.util
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone
from whichone.errors import Missing, UsageError

needs_httpx = pytest.mark.skipif(importlib.util.find_spec("httpx") is None, reason="needs the extra llm")


def build(*arguments: object) -> Result:
    return CliRunner().invoke(whichone, ["build", "ambigdocs", *map(str, arguments)])


class Quiz(BaseHTTPRequestHandler):
    """An endpoint that writes one question, knows no further answer and agrees with everything."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][-1]["content"]
        if prompt.endswith("Question:"):
            said = " Where was Ada Field born?\nAnswer 1: Paris\nAnswer 2: Rome"
        else:
            said = "none" if prompt.endswith("Answer:") else "yes"
        message = {"role": "assistant", "content": said}
        reply = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Quiz)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_without_a_model(listed: Path, tmp_path: Path) -> None:
    shown = build(listed, tmp_path / "bench")
    assert shown.exit_code == 0, shown.output
    for step in ("names of disambiguation pages", "pairs of bearers", "questions"):
        assert step in shown.stdout
    found = json.loads(build(listed, tmp_path / "b", "--properties", "P106", "--json").stdout)
    assert found["funnel"]["questions"] == 1
    assert found["id"] == Benchmark.open(tmp_path / "b").id


@needs_httpx
def test_with_a_model(alike: Path, tmp_path: Path, endpoint: str) -> None:
    cache = tmp_path / "calls.sqlite"
    where = ("--endpoint", endpoint, "--model", "quiz", "--cache", cache)
    made = build(alike, tmp_path / "bench", *where, "--json")
    assert made.exit_code == 0, made.output
    assert f"go to {endpoint}" in made.stderr
    (query,) = Benchmark.open(tmp_path / "bench").queries
    assert [(o.entity, o.answer) for o in query.outputs] == [("Q10", "Paris"), ("Q11", "Rome")]
    assert cache.exists()


@needs_httpx
def test_an_endpoint_that_is_down_is_found_before_the_work(alike: Path, tmp_path: Path) -> None:
    where = ("--endpoint", "http://127.0.0.1:9/v1", "--model", "quiz", "--cache", "none")
    down = build(alike, tmp_path / "bench", *where)
    assert isinstance(down.exception, Missing)
    assert list(tmp_path.glob("bench*")) == []


def test_an_endpoint_needs_a_model(listed: Path, tmp_path: Path) -> None:
    assert isinstance(build(listed, tmp_path / "b", "--model", "x").exception, UsageError)
