"""The reader over a scripted endpoint: answers, citations, and every bad day."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from fake_server import Reply, completion, error

from whichone.errors import BadInput, Missing, UsageError
from whichone.files.folder import Journal
from whichone.files.lines import sealed
from whichone.files.pools import THREAD
from whichone.reading.llm import Llm
from whichone.runs.read import read


def reply(answer: str | None, *cited: int) -> Reply:
    return completion(json.dumps({"answer": answer, "passages": list(cited)}))


def asked(body: dict[str, Any]) -> str:
    return body["messages"][-1]["content"].rpartition("\n")[2]


def is_probe(body: dict[str, Any]) -> bool:
    return "one word: yes" in body["messages"][-1]["content"]


def read_toy(toy, tmp_path, server, **options):
    given = {"endpoint": server.url, "model": "fake", "retries": 0, **options.pop("reader", {})}
    place = tmp_path / options.pop("place", "answers")
    return read(toy.folder.root, place, reader="llm", options=given, **options)


def test_answers_rest_on_the_passages_cited(toy, tmp_path, serve, capsys):
    def script(body: dict[str, Any], n: int) -> Reply:
        return reply("Eskby", 2, 7)

    server = serve(script)
    made = read_toy(toy, tmp_path, server, reader={"price_prompt": 1, "price_completion": 2})
    assert {answer.text for answer in made.answers.values()} == {"Eskby"}
    answer = made.answers["qa:vennick-rower:birthplace"]
    assert (answer.text, answer.passages) == ("Eskby", ("p:vennick-rower#1",))
    assert answer.notes == {"cited_but_not_shown": [7]}
    assert made.shown["qa:vennick-rower:birthplace"] == ("p:vennick-rower#0", "p:vennick-rower#1")
    timing = {r["question"]: r for r in made.folder.table("timing").to_pylist()}
    row = timing["qa:vennick-rower:birthplace"]
    assert (row["prompt_tokens"], row["tokens"], row["cached"]) == (10, 4, False)
    assert row["cost"] == pytest.approx(18e-6)
    assert made.folder.manifest.made["endpoint"]["cost"] == pytest.approx(22 * 18e-6)  # and probe
    assert "nothing leaves this machine" in capsys.readouterr().err
    assert made.description["reader"]["prompt"] == "zero-shot"
    form = server.requests[1]["response_format"]["json_schema"]["schema"]
    assert set(form["required"]) == {"answer", "passages"}


def test_a_second_reading_costs_nothing(toy, tmp_path, serve):
    server = serve(lambda body, n: reply("Eskby", 1))
    read_toy(toy, tmp_path, server)
    calls = len(server.requests)
    again = read_toy(toy, tmp_path, server, place="again")
    assert len(server.requests) == calls + 1  # the probe
    assert again.folder.manifest.made["endpoint"]["cached_calls"] == len(toy.queries)


def test_bad_days(toy, tmp_path, serve):
    def script(body: dict[str, Any], n: int) -> Reply:
        question = asked(body)
        if question == "Where was Orla Vennick born?":
            return completion(None, refusal="I can't say.")
        if question == "Who directed Brightwater?":
            return completion("")
        if question == "Who plays the zither?":
            return error(500, "the machine is on fire")
        if question == "Which club did Orla Vennick row for?":
            return completion('{"broken')
        if question == "How many people live in Brightwater?":
            return Reply(completion("cut").body, cut=True)
        return reply("fine")

    made = read_toy(toy, tmp_path, serve(script))
    assert made.answers["qa:vennick-botanist:birthplace"].text is None
    assert made.answers["qa:brightwater-film:director"].text == ""
    assert made.failures.keys() == {"lonely", "qa:vennick-rower:team", "qa:brightwater-town:population"}
    assert "on fire" in made.failures["lonely"]
    assert "broken" in made.failures["qa:vennick-rower:team"]
    counts = made.folder.manifest.counts
    assert (counts["refused"], counts["empty"], counts["failures"]) == (1, 1, 3)


def test_passages_that_do_not_fit_are_left_out_and_noted(toy, tmp_path, serve):
    def script(body: dict[str, Any], n: int) -> Reply:
        if "[2]" in body["messages"][-1]["content"]:
            return error(400, "this model's maximum context length is 9 tokens")
        return reply("short", 1, 2)

    made = read_toy(toy, tmp_path, serve(script))
    answer = made.answers["qa:vennick-rower:team"]
    assert answer.passages == ("p:vennick-rower#0",)
    assert answer.notes == {"passages_that_did_not_fit": 1, "cited_but_not_shown": [2]}


def test_a_dead_endpoint_is_found_before_the_run(toy, tmp_path, serve):
    refusing = serve(lambda body, n: error(401, "no"))
    with pytest.raises(Missing, match="does not let us in"):
        read_toy(toy, tmp_path, refusing)
    assert len(refusing.requests) == 1


def test_an_endpoint_that_dies_stops_the_run_and_is_gone_on_with(toy, tmp_path, serve):
    alive = {"until": 7}  # the probe and six questions

    def script(body: dict[str, Any], n: int) -> Reply:
        if n >= alive["until"] and not is_probe(body):
            return error(503, "gone")
        return reply("fine")

    server = serve(script)
    one = {"reader": {"concurrency": 1}}
    with pytest.raises(BadInput, match="the last 5 questions failed"):
        read_toy(toy, tmp_path, server, stop_after=5, **one)
    for thread in threading.enumerate():
        if thread.name == THREAD:  # a question may still be under way
            thread.join(10)
    alive["until"] = 1000
    server.requests.clear()
    made = read_toy(toy, tmp_path, server, **one)
    assert made.failures == {}
    assert len(server.requests) == 1 + len(toy.queries) - 6


def test_says_what_leaves_the_machine(toy, capsys):
    reader = Llm.over(toy.corpus, endpoint="https://models.example/v1", model="m", retries=0, cache="none")
    reader.endpoint.probe = lambda form=None: None
    from whichone.runs.shown import Setting

    reader.prepare(21, Setting(depth=3))
    told = capsys.readouterr().err
    assert "what leaves this machine: 21 questions with up to 3 passages each" in told
    assert "models.example" in told
    reader.close()


def test_options(toy):
    with pytest.raises(UsageError, match="needs --model"):
        Llm.over(toy.corpus, endpoint="http://127.0.0.1:1/v1")
    with pytest.raises(UsageError, match="does not take these options"):
        read(
            toy.folder.root,
            "x",
            reader="llm",
            options={"endpoint": "http://h/v1", "model": "m", "max_tokens": "many"},
        )


def test_one_bad_reply_does_not_wedge_a_run(toy, tmp_path, serve):
    """Counts, citations and texts that no table can take; then an entry of the journal that none can."""

    def script(body: dict[str, Any], n: int) -> Reply:
        text = '{"answer": "Eskby", "passages": [1000000000000000000000000, 1]}'
        odd = {"prompt_tokens": 10**30, "completion_tokens": -1}
        choice = {
            "finish_reason": "stop",
            "message": {"content": text if n % 2 else "x [" + "9" * 5000 + "]"},
        }
        return Reply(json.dumps({"choices": [choice], "usage": odd}).encode())

    server = serve(script)
    made = read_toy(toy, tmp_path, server)
    assert len(made.answers) == len(toy.queries) and not made.failures
    assert set(made.folder.table("timing")["tokens"].to_pylist()) == {None}

    down = threading.Event()
    down.set()
    stopping = serve(lambda body, n: error(500, "no") if n >= 8 and down.is_set() else reply("Eskby"))
    with pytest.raises((BadInput, Missing)):
        read_toy(toy, tmp_path, stopping, place="b", stop_after=3, reader={"concurrency": 1, "cache": "none"})
    journal = Journal(tmp_path / "b/.partial/journal.jsonl")
    header, first, *others = journal.read()
    assert len(others) > 4
    first["usage"]["tokens"] = 2**70
    others[0]["answer"]["text"] = 5
    journal.path.write_bytes(b"")
    for entry in (header, first, *others):
        line = json.dumps(entry).encode()  # msgspec writes no such number
        with journal.path.open("ab") as file:
            file.write(sealed(line) + b"\n")
    down.clear()
    done = read_toy(toy, tmp_path, stopping, place="b", reader={"concurrency": 1, "cache": "none"})
    assert len(done.answers) == len(toy.queries) and not done.failures


def test_a_plain_prompt_has_plain_answers(toy, tmp_path, serve):
    """No form is asked for, and the reply is the answer, whatever it looks like."""
    (tmp_path / "plain.txt").write_text("{question}\n{title} | {text}\nAnswer:")
    server = serve(lambda body, n: completion('There are two: [1] one. {"answer": "x"}'))
    made = read_toy(toy, tmp_path, server, reader={"prompt": str(tmp_path / "plain.txt")})
    assert {a.text for a in made.answers.values()} == {'There are two: [1] one. {"answer": "x"}'}
    assert all("response_format" not in body for body in server.requests)
    assert [m["role"] for m in server.requests[-1]["messages"]] == ["user"]
