"""The real client against a small server that keeps documents and speaks the JSON it needs."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, Missing, UsageError
from whichone.runs.runner import run_retriever

pytest.importorskip("opensearchpy")


class Store:
    """Indexes by name; a document's score is how many words of the question it contains."""

    def __init__(self) -> None:
        self.indexes: dict[str, dict[str, dict[str, Any]]] = {}
        self.requests: list[str] = []
        self.lose = 0

    def answer(self, method: str, path: str, body: str) -> tuple[int, Any]:
        self.requests.append(f"{method} {path}")
        index, _, verb = path.strip("/").partition("/")
        if index == "_bulk":
            return 200, self.bulk(body)
        if method == "PUT":
            assert json.loads(body)["mappings"]["properties"]["text"]["type"] == "text"
            self.indexes[index] = {}
            return 200, {"acknowledged": True}
        if index not in self.indexes:
            return 404, {"error": {"type": "index_not_found_exception"}, "status": 404}
        if verb == "_count":
            return 200, {"count": len(self.indexes[index])}
        if verb == "_msearch":
            lines = [json.loads(line) for line in body.splitlines()]
            return 200, {"responses": [self.search(index, asked) for asked in lines[1::2]]}
        return 200, {}

    def bulk(self, body: str) -> dict[str, Any]:
        lines = [json.loads(line) for line in body.splitlines()]
        items = []
        for action, source in zip(lines[::2], lines[1::2], strict=True):
            told = action["index"]
            if self.lose:
                self.lose -= 1
            else:
                self.indexes[told["_index"]][told["_id"]] = source
            items.append({"index": {"_id": told["_id"], "status": 201}})
        return {"errors": False, "items": items}

    def search(self, index: str, asked: dict[str, Any]) -> dict[str, Any]:
        match = asked["query"]["multi_match"]
        if "nowhere" in match["fields"]:
            return {"error": {"type": "query_shard_exception", "reason": "no field nowhere"}}
        words = set(re.findall(r"\w+", match["query"].lower()))
        hits = []
        for identity, source in self.indexes[index].items():
            held = " ".join(str(source.get(f.partition("^")[0], "")) for f in match["fields"])
            score = len(words & set(held.lower().split()))
            if score:
                kept = {k: v for k, v in source.items() if k not in asked["_source"]["excludes"]}
                hits.append({"_id": identity, "_score": float(score), "_source": kept})
        hits.sort(key=lambda h: -h["_score"])
        return {"hits": {"hits": hits[: asked["size"]]}}


@pytest.fixture
def server() -> Iterator[tuple[str, Store]]:
    store = Store()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            status, told = store.answer(self.command, self.path.partition("?")[0], body)
            raw = json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(raw)

        do_GET = do_POST = do_PUT = do_HEAD = reply

        def log_message(self, *_: object) -> None: ...

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.daemon_threads = True
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}", store
    running.shutdown()
    thread.join()
    running.server_close()


def test_an_index_is_made_searched_and_used_again(
    small: Benchmark, tmp_path: Path, server: tuple[str, Store]
) -> None:
    from whichone.retrieval.adapters.opensearch import OpenSearch

    url, store = server
    system = OpenSearch.over(small.corpus, tmp_path, url=url)
    run = run_retriever(system, small, tmp_path / "run", k=3, name="opensearch")
    assert run.ranked_pages() == {f"q{n}": [f"w:{n}"] for n in range(10)}
    assert store.requests.count(f"POST /{system.index}/_msearch") == 2
    bulks = store.requests.count("POST /_bulk")
    OpenSearch.over(small.corpus, tmp_path, url=url)
    assert store.requests.count("POST /_bulk") == bulks == 1
    assert len(store.indexes[system.index]) == 20


def test_an_index_of_yours(small: Benchmark, tmp_path: Path, server: tuple[str, Store]) -> None:
    from whichone.retrieval.adapters.opensearch import OpenSearch

    url, store = server
    store.indexes["mine"] = {"x1": {"body": "word4", "link": "Page 4", "text": "word5"}}
    told = {"url": url, "index": "mine", "fields": "body^2"}
    system = OpenSearch.over(small.corpus, tmp_path, ids="metadata:link:title", **told)
    (ranking,) = system.search(small.questions()[4:5], 5)
    assert (ranking.passages, ranking.scores) == (("w:4",), (1.0,))
    (none,) = system.search(small.questions()[5:6], 5)
    assert none.passages == ()
    assert "POST /_bulk" not in store.requests
    wrong = OpenSearch.over(small.corpus, tmp_path, ids="passage", **told)
    with pytest.raises(BadInput, match="ids=metadata:link:title"):
        list(wrong.search(small.questions()[4:5], 5))
    with pytest.raises(UsageError, match="what are the ids"):
        OpenSearch.over(small.corpus, tmp_path, **told)
    with pytest.raises(Missing, match="no index 'yours'"):
        OpenSearch.over(small.corpus, tmp_path, url=url, index="yours", ids="page")


def test_what_the_server_says_is_told(
    small: Benchmark, tmp_path: Path, server: tuple[str, Store]
) -> None:
    from whichone.retrieval.adapters.opensearch import OpenSearch

    url, store = server
    store.lose = 3
    with pytest.raises(BadInput, match="17 documents where the corpus has 20"):
        OpenSearch.over(small.corpus, tmp_path, url=url)
    system = OpenSearch.over(small.corpus, tmp_path, url=url, fields="nowhere")
    with pytest.raises(BadInput, match="no field nowhere"):
        list(system.search(small.questions()[:1], 5))


def test_nobody_there(small: Benchmark, tmp_path: Path) -> None:
    from whichone.retrieval.adapters.opensearch import OpenSearch

    with pytest.raises(Missing, match="does not answer"):
        OpenSearch.over(small.corpus, tmp_path, url="http://127.0.0.1:9", timeout=1)
