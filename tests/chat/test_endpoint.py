"""The client against a scripted server: rate limits, time-outs, broken and half replies, refusals."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from typing import Any

import pytest
from fake_server import Reply, completion, error

from whichone.chat.endpoint import ContextTooLong, Endpoint, EndpointOptions, Prices
from whichone.chat.replies import CallCache
from whichone.errors import BadInput, Missing, UsageError
from whichone.protocols import ChatModel

ASK = [{"role": "user", "content": "Which one?"}]
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


def client(url: str, waits: list[float] | None = None, **options: Any) -> Endpoint:
    cache = options.pop("cache", None)
    kept = [] if waits is None else waits
    return Endpoint(EndpointOptions(url=url, model="fake", **options), cache=cache, sleep=kept.append)


def test_reply_and_account(serve):
    server = serve(lambda body, n: completion("Paris"))
    with client(server.url, prices=Prices(prompt=1.0, completion=2.0)) as endpoint:
        assert isinstance(endpoint, ChatModel)
        reply = endpoint.complete(ASK, max_tokens=7)
        assert (reply.text, reply.finish, reply.cached) == ("Paris", "stop", False)
        told = endpoint.account.summary()
    assert server.requests[0]["max_tokens"] == 7
    assert (told["calls"], told["prompt_tokens"], told["tokens"]) == (1, 10, 4)
    assert told["cost"] == pytest.approx((10 * 1 + 4 * 2) / 1e6)


def test_cached_by_the_full_request(serve, tmp_path):
    server = serve(lambda body, n: completion(f"reply {n}"))
    with client(server.url, cache=CallCache(tmp_path / "calls.sqlite")) as endpoint:
        first = endpoint.complete(ASK, max_tokens=7)
        again = endpoint.complete(ASK, max_tokens=7)
        other = endpoint.complete(ASK, max_tokens=8)
    assert (first.text, again.text, other.text) == ("reply 0", "reply 0", "reply 1")
    assert again.cached and not first.cached
    with client(server.url, cache=CallCache(tmp_path / "calls.sqlite")) as endpoint:
        assert endpoint.complete(ASK, max_tokens=8).text == "reply 1"
        assert endpoint.account.summary()["calls"] == 0
    assert len(server.requests) == 2


def test_rate_limit_waits_as_long_as_it_is_told(serve):
    later = formatdate(time.time() + 30, usegmt=True)
    script = [
        error(429, "slow down", Retry_After="3"),
        error(503, "busy", Retry_After=later),
        error(500, "oops"),
        completion("at last"),
    ]
    server = serve(lambda body, n: script[n])
    waits: list[float] = []
    with client(server.url, waits) as endpoint:
        assert endpoint.complete(ASK, max_tokens=5).text == "at last"
        assert endpoint.account.summary()["retries"] == 3
    assert waits[0] == 3.0
    assert 25 <= waits[1] <= 31
    assert 0.5 * 4 * 0.75 <= waits[2] <= 0.5 * 4 * 1.25  # the third wait of 0.5, 1, 2


def test_gives_up_after_the_retries(serve):
    server = serve(lambda body, n: error(503, "never"))
    with client(server.url, retries=2) as endpoint, pytest.raises(Missing, match="503: never"):
        endpoint.complete(ASK, max_tokens=5)
    assert len(server.requests) == 3


def test_time_out_is_tried_again(serve):
    slow = threading.Event()

    def script(body: dict[str, Any], n: int) -> Reply:
        if n == 0:
            slow.wait(5)
        return completion("second")

    server = serve(script)
    with client(server.url, timeout=0.3) as endpoint:
        assert endpoint.complete(ASK, max_tokens=5).text == "second"
    slow.set()


@pytest.mark.parametrize(
    "broken",
    [
        Reply(completion("cut in half").body, cut=True),
        Reply(b'{"choices": [{"mess'),
        Reply(b'data: {"choices": [{"delta": {"content": "Pa', content_type="text/event-stream"),
        Reply(b'data: {"choices": [{"delta": {"content": "Pa"}}]}\n\n', content_type="text/event-stream"),
    ],
    ids=["body cut", "broken JSON", "event cut", "stream without end"],
)
def test_half_replies_are_asked_for_again(serve, broken):
    server = serve(lambda body, n: broken if n == 0 else completion("whole"))
    with client(server.url) as endpoint:
        assert endpoint.complete(ASK, max_tokens=5).text == "whole"
    with client(server.url, retries=0) as endpoint:
        server.requests.clear()
        with pytest.raises((BadInput, Missing)):
            endpoint.complete(ASK, max_tokens=5)


def test_a_stream_nobody_asked_for_is_joined(serve):
    parts = [
        {"choices": [{"delta": {"role": "assistant"}}]},
        {"choices": [{"delta": {"content": "Pa"}, "logprobs": {"content": [{"logprob": -1}]}}]},
        {"choices": [{"delta": {"content": "ris"}, "logprobs": {"content": [{"logprob": -3}]}}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}},
    ]
    body = b"".join(b"data: " + json.dumps(p).encode() + b"\n\n" for p in parts) + b"data: [DONE]\n"
    server = serve(lambda b, n: Reply(body, content_type="text/event-stream"))
    with client(server.url) as endpoint:
        reply = endpoint.complete(ASK, max_tokens=5)
    assert (reply.text, reply.mean_logprob, reply.tokens) == ("Paris", -2.0, 2)


def test_refusals_and_empty_answers_are_replies(serve):
    script = [
        completion(None, refusal="I can't say."),
        completion(None, finish_reason="content_filter"),
        completion(""),
    ]
    server = serve(lambda body, n: script[min(n, 2)])
    with client(server.url) as endpoint:
        replies = [endpoint.complete(ASK, max_tokens=n) for n in (1, 2, 3)]
    assert [(r.text, r.finish) for r in replies] == [
        ("I can't say.", "refusal"),
        ("", "refusal"),
        ("", "stop"),
    ]


@pytest.mark.parametrize(
    "garbage",
    [
        completion(""),
        completion("  \n"),
        Reply(b"<html>bad gateway</html>", content_type="text/html"),
        Reply(b'{"object": "list"}'),
        Reply(b"\x1f\x8b not gzip", headers={"Content-Encoding": "gzip"}),
    ],
    ids=["empty", "blank", "html", "no choices", "broken gzip"],
)
def test_empty_and_garbage_replies_are_asked_for_again(serve, tmp_path, garbage):
    server = serve(lambda body, n: garbage if n < 2 else completion("whole"))
    with client(server.url, cache=CallCache(tmp_path / "calls.sqlite")) as endpoint:
        assert endpoint.complete(ASK, max_tokens=5).text == "whole"
        assert endpoint.account.summary()["retries"] == 2
        assert len(endpoint.cache) == 1


def test_an_empty_reply_is_not_cached(serve, tmp_path):
    server = serve(lambda body, n: completion(""))
    with client(server.url, cache=CallCache(tmp_path / "calls.sqlite")) as endpoint:
        assert endpoint.complete(ASK, max_tokens=5).text == ""
        assert len(endpoint.cache) == 0
    assert len(server.requests) == 3


def test_a_call_of_a_tool_is_a_whole_reply(serve, tmp_path):
    call = {"id": "c", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    server = serve(lambda body, n: completion(None, tool_calls=[call]))
    with client(server.url, cache=CallCache(tmp_path / "calls.sqlite")) as endpoint:
        replies = [endpoint.complete(ASK, max_tokens=5) for _ in range(2)]
        assert endpoint.account.summary()["retries"] == 0
    assert [(r.text, r.tool_calls[0].name, r.cached) for r in replies] == [
        ("", "search", False),
        ("", "search", True),
    ]
    assert len(server.requests) == 1


def test_a_reply_that_trickles_in_is_timed_out(serve):
    slow = Reply(completion("never whole").body, trickle=0.05)
    server = serve(lambda body, n: slow)
    started = time.monotonic()
    with (
        client(server.url, timeout=0.5, retries=0) as endpoint,
        pytest.raises(Missing, match=r"no reply within 0\.5 seconds"),
    ):
        endpoint.complete(ASK, max_tokens=5)
    assert time.monotonic() - started < 0.05 * len(slow.body)


def test_bounded_concurrency(serve):
    def script(body: dict[str, Any], n: int) -> Reply:
        time.sleep(0.05)
        return completion("ok")

    server = serve(script)
    with client(server.url, concurrency=3) as endpoint, ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda n: endpoint.complete(ASK, max_tokens=n), range(1, 13)))
    assert 2 <= server.most_at_once <= 3


def test_leaves_out_what_the_endpoint_does_not_take(serve, capsys):
    def script(body: dict[str, Any], n: int) -> Reply:
        if "response_format" in body:
            return error(400, "response_format is not supported")
        if "max_tokens" in body:
            return error(400, "use max_completion_tokens instead of max_tokens")
        return completion("plain")

    server = serve(script)
    with client(server.url) as endpoint:
        endpoint.probe(SCHEMA)
        endpoint.complete(ASK, max_tokens=5, schema=SCHEMA)
    assert len(server.requests) == 4  # two refusals, the probe, the call
    assert server.requests[3]["max_completion_tokens"] == 5
    assert "does not take response_format" in capsys.readouterr().err


def test_too_long_is_its_own_error(serve):
    server = serve(lambda body, n: error(400, "the request exceeds the available context size"))
    with client(server.url) as endpoint, pytest.raises(ContextTooLong):
        endpoint.complete(ASK, max_tokens=5)
    assert len(server.requests) == 1


def test_probe_finds_what_is_wrong(serve):
    down = serve(lambda body, n: completion("yes"))
    url = down.url
    down.close()
    with client(url) as endpoint, pytest.raises(Missing, match="cannot be reached"):
        endpoint.probe()
    for reply, kind, told in [
        (error(401, "no key"), Missing, "WHICHONE_API_KEY"),
        (error(404, "no such model"), Missing, "'fake'"),
        (Reply(b"<html>hello</html>", content_type="text/html"), BadInput, "OpenAI-compatible"),
        (Reply(b'{"object": "list"}'), BadInput, "no choices"),
        (Reply(b"[]"), BadInput, "no object"),
        (Reply(b"", 302, {"Location": "http://127.0.0.1/"}), BadInput, "HTTP 302"),
    ]:
        server = serve(lambda body, n, reply=reply: reply)
        with client(server.url) as endpoint, pytest.raises(kind, match=told):
            endpoint.probe()
        assert len(server.requests) == 1


def test_key_from_the_environment_is_sent_and_never_written(serve, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "other-key")
    monkeypatch.setenv("WHICHONE_API_KEY", "very-secret")
    server = serve(lambda body, n: completion("ok"))
    path = tmp_path / "calls.sqlite"
    with client(server.url, cache=CallCache(path)) as endpoint:
        endpoint.complete(ASK, max_tokens=5)
        assert "very-secret" not in str(endpoint.describe())
    assert server.headers[0]["Authorization"] == "Bearer very-secret"
    written = b"".join(p.read_bytes() for p in tmp_path.glob("calls.sqlite*"))
    assert b"Which one?" in written and b"very-secret" not in written


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://host/v1", "http://me:pw@host/v1", ""])
def test_addresses_that_are_none(url):
    with pytest.raises(UsageError):
        EndpointOptions(url=url, model="m")


def test_certificates_are_those_that_the_environment_names(tmp_path, monkeypatch):
    """They are read once for all endpoints, but not kept when another file is named."""
    remote = EndpointOptions(url="https://models.example/v1", model="m")
    for _ in range(2):
        Endpoint(remote).close()
    (tmp_path / "none.pem").write_text("no certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(ssl.SSLError):
        Endpoint(remote)
    Endpoint(EndpointOptions(url="http://127.0.0.1:1/v1", model="m")).close()


ODD_USAGE = ("18446744073709551616", "-5", "NaN", "1e400", "1.5", '"many"', "null", "[]", "9" * 5000)


@pytest.mark.parametrize("count", ODD_USAGE)
@pytest.mark.parametrize("stream", [False, True])
def test_counts_that_are_none_are_not_known(serve, tmp_path, count: str, stream: bool) -> None:
    body = (
        '{"choices": [{"finish_reason": "stop", "logprobs": {"content": [{"logprob": NaN},'
        ' {"logprob": -Infinity}, {"logprob": -2}]}, "MESSAGE": {"content": "Paris \\ud800"}}],'
        f' "usage": {{"prompt_tokens": {count}, "completion_tokens": {count}}}}}'
    ).replace("MESSAGE", "delta" if stream else "message")
    sent = f"data: {body}\n\ndata: [DONE]\n\n" if stream else body
    server = serve(lambda body, n: Reply(sent.encode()))
    cache = tmp_path / "calls.sqlite"
    for cached in (False, True):
        with client(server.url, cache=CallCache(cache)) as endpoint:
            reply = endpoint.complete(ASK, max_tokens=7)
        assert (reply.text, reply.tokens, reply.prompt_tokens) == ("Paris ?", None, None)
        assert reply.mean_logprob == -2 and reply.cached == cached
    assert len(server.requests) == 1


def test_what_the_cache_cannot_use_is_asked_again(serve, tmp_path):
    server = serve(lambda body, n: completion(f"reply {n}"))
    cache = CallCache(tmp_path / "calls.sqlite")
    with client(server.url, cache=cache) as endpoint:
        endpoint.complete(ASK, max_tokens=7)
    odd = ('{"text": 5}', '{"text": "x", "tokens": -1}', "{", '{"text": "x", "tokens": 1e30}')
    for n, stored in enumerate(odd, 1):
        with contextlib.closing(sqlite3.connect(tmp_path / "calls.sqlite")) as database:
            database.execute("UPDATE calls SET reply = ?", (stored,))
            database.commit()
        with client(server.url, cache=CallCache(tmp_path / "calls.sqlite")) as endpoint:
            assert endpoint.complete(ASK, max_tokens=7).text == f"reply {n}"


@pytest.mark.parametrize("header", ["inf", "nan", "-1", "1e400", "soon", "Mon, 99 Foo 99999 99:99:99 GMT"])
def test_an_odd_retry_after_waits_within_the_bound(serve, header: str) -> None:
    server = serve(
        lambda body, n: error(429, "slow down", **{"Retry-After": header}) if not n else completion("x")
    )
    waits: list[float] = []
    with client(server.url, waits) as endpoint:
        assert endpoint.complete(ASK, max_tokens=7).text == "x"
    assert len(waits) == 1 and 0 <= waits[0] <= 60
