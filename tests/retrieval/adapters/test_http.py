"""A real service on loopback, its failures included."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, Missing, UsageError
from whichone.retrieval.adapters.http_search import Http
from whichone.runs.runner import run_retriever

Answer = Callable[[dict[str, Any]], tuple[int, bytes]]


@contextmanager
def service(answer: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    seen: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append({**body, "token": self.headers.get("Authorization")})
            status, reply = answer(body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/search", seen
        finally:
            server.shutdown()
            thread.join()


def right_pages(body: dict[str, Any]) -> tuple[int, bytes]:
    rankings = [
        {"question": q["id"], "hits": [{"id": f"w:{q['id'][1:]}#0", "score": 2.0}]}
        for q in reversed(body["questions"])
    ]
    return 200, json.dumps({"rankings": rankings}).encode()


def test_a_run_over_a_service(small: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret-1")
    with service(right_pages) as (url, seen):
        system = Http.over(small.corpus, tmp_path, url=url, batch="4", token_variable="MY_TOKEN")
        run = run_retriever(system, small, tmp_path / "run", k=7, name="theirs")
    assert run.ranked_pages() == {f"q{n}": [f"w:{n}"] for n in range(10)}
    assert [len(body["questions"]) for body in seen] == [1, 4, 4, 1]
    assert seen[0]["k"] == 7
    assert seen[0]["questions"] == [{"id": "q0", "text": "Where is word0?"}]
    assert seen[0]["token"] == "Bearer secret-1"
    assert "secret-1" not in (tmp_path / "run" / "manifest.json").read_text()


def test_a_passing_failure_is_asked_again(small: Benchmark) -> None:
    tries: list[int] = []

    def sometimes(body: dict[str, Any]) -> tuple[int, bytes]:
        tries.append(1)
        return (503, b"busy") if len(tries) == 1 else right_pages(body)

    with service(sometimes) as (url, _):
        (ranking,) = Http(small.corpus, url).search(small.questions()[:1], 5)
    assert ranking.passages == ("w:0#0",)


@pytest.mark.parametrize(
    ("status", "reply", "message"),
    [
        (404, b"no such path", "answered 404 Not Found: no such path"),
        (200, b"<html>", "not what is documented"),
        (200, b'{"rankings": [{"question": "q0", "hits": [3]}]}', "not what is documented"),
        (200, b'{"rankings": []}', r"unanswered \(q0\)"),
        (200, b'{"rankings": [{"question": "q0", "hits": [{"id": "9"}]}]}', "no such passage"),
    ],
)
def test_a_wrong_answer_is_told(small: Benchmark, status: int, reply: bytes, message: str) -> None:
    with service(lambda _: (status, reply)) as (url, _), pytest.raises(BadInput, match=message):
        list(Http(small.corpus, url).search(small.questions()[:1], 5))


def test_nobody_there(small: Benchmark, tmp_path: Path) -> None:
    with service(right_pages) as (url, _):
        pass
    with pytest.raises(Missing, match="does not answer"):
        list(Http(small.corpus, url, tries=1).search(small.questions()[:1], 5))
    with pytest.raises(UsageError, match="needs an address"):
        Http.over(small.corpus, tmp_path)
    with pytest.raises(UsageError, match="no http address"):
        Http(small.corpus, "file:///etc/hosts")
    with pytest.raises(Missing, match="NOT_SET"):
        Http(small.corpus, url, token_variable="NOT_SET")
