"""Runs made again from their manifests: to the digit, or with the questions that differ."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone
from whichone.errors import BadInput, Missing, UsageError, WhichoneError
from whichone.files.manifest import encode_manifest
from whichone.records import Ranking
from whichone.runs.retrieve import recorded_call, reproduce, retrieve
from whichone.runs.run import Run
from whichone.runs.runner import run_retriever


class Changed:
    """BM25's name and options, and another order."""

    def __init__(self, rankings: dict[str, list[str]], parameters: dict[str, object]) -> None:
        self.rankings, self.parameters = rankings, parameters

    def describe(self) -> dict[str, object]:
        return self.parameters

    def search(self, questions, k):
        for q in questions:
            passages = tuple(self.rankings.get(q.id, ())[::-1])
            yield Ranking(
                question=q.id, passages=passages, scores=tuple(float(-n) for n in range(len(passages)))
            )


def test_a_run_is_made_again(tmp_path: Path) -> None:
    run, command = str(tmp_path / "run"), CliRunner()
    typed = ["retrieve", "builtin/amber", run, "--retriever", "bm25", "-k", "5", "-o", "k1=1.4"]
    assert command.invoke(whichone, typed).exit_code == 0
    said = command.invoke(whichone, ["reproduce", run, "--json"])
    assert said.exit_code == 0, said.output
    document = json.loads(said.stdout)
    assert (document["same"], document["same_order"], document["other_order"]) == (True, True, [])
    again = str(tmp_path / "again")
    assert command.invoke(whichone, ["reproduce", run, again]).exit_code == 0
    with pytest.raises(UsageError, match="something already"):
        reproduce(run, again)


def test_options_with_a_flag_of_their_own_are_recorded(small: Benchmark, tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    typed = ["retrieve", str(small.folder.root), run, "--retriever", "namesake", "--encoder", "none"]
    assert CliRunner().invoke(whichone, [*typed, "-k", "3"]).exit_code == 0
    assert recorded_call(Run.open(run)) == {"retriever": "namesake", "options": {}, "k": 3, "encoder": "none"}


def test_code_that_a_folder_names_is_not_run(
    small: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs_searching.py").write_text(
        "open('ran', 'w').close()\n\ndef search(text):\n    return ['enwiki:1']\n"
    )
    run = retrieve(small, tmp_path / "run", retriever="bm25", k=3)
    command = CliRunner()
    for typed in (
        {"retriever": "theirs_searching:search"},
        {"retriever": "haystack", "options": ["make=theirs_searching:search"]},
    ):
        request = {"command": "retrieve", "options": typed}
        rewritten = msgspec.structs.replace(
            run.folder.manifest, made={**run.folder.manifest.made, "request": request}
        )
        (run.path / "manifest.json").write_bytes(encode_manifest(rewritten))
        refused = command.invoke(whichone, ["reproduce", str(run.path)])
        assert isinstance(refused.exception, UsageError)
        assert refused.exception.hint is not None
        assert "--allow theirs_searching:search" in refused.exception.hint
        assert not (tmp_path / "ran").exists()
        other = command.invoke(whichone, ["reproduce", str(run.path), "--allow", "theirs_searching:other"])
        assert isinstance(other.exception, UsageError) and not (tmp_path / "ran").exists()
        command.invoke(whichone, ["reproduce", str(run.path), "--allow", "theirs_searching:search"])
        assert (tmp_path / "ran").exists()
        (tmp_path / "ran").unlink()
        sys.modules.pop("theirs_searching")


def _rewritten(run: Run, typed: dict[str, Any]) -> str:
    """The run as if other words had been typed."""
    request = {"command": "retrieve", "options": typed}
    manifest = run.folder.manifest
    changed = msgspec.structs.replace(manifest, made={**manifest.made, "request": request})
    (run.path / "manifest.json").write_bytes(encode_manifest(changed))
    return str(run.path)


@pytest.mark.parametrize(
    ("retriever", "option", "host"),
    [
        ("http", "url=https://search.invalid/s", "search.invalid"),
        ("http", "url=http://127.0.0.1@search.invalid:9/s", "search.invalid"),
        ("http", "url=http://127.search.invalid/s", "127.search.invalid"),
        ("http", "url=http://[2001:db8::1]:9/s", "2001:db8::1"),
        ("rerank", "endpoint=HTTP://llm.invalid/v1", "llm.invalid"),
        ("namesake", "url=//search.invalid/s", "search.invalid"),
    ],
)
def test_another_machine_that_a_run_names_is_not_asked(
    retriever: str, option: str, host: str, small: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr("socket.getaddrinfo", lambda *place, **_: asked.append(place) or [])
    run = retrieve(small, tmp_path / "run", retriever="bm25", k=3)
    named = {"retriever": retriever, "options": [option, "tries=1"]}
    place = _rewritten(run, named)
    with pytest.raises(UsageError, match="only the run names") as refused:
        reproduce(place, allow=["other.invalid"])
    assert refused.value.hint is not None and f"--allow {host}" in refused.value.hint
    assert asked == []
    if retriever == "http":
        with pytest.raises(WhichoneError) as sent:
            reproduce(place, allow=[host])
        assert "only the run names" not in str(sent.value)
        assert asked


def test_a_jar_that_a_run_names_is_not_loaded(small: Benchmark, tmp_path: Path) -> None:
    run = retrieve(small, tmp_path / "run", retriever="bm25", k=3)
    jar = tmp_path / "theirs-fatjar.jar"
    jar.write_bytes(b"classes")
    (tmp_path / "segments_1").touch()
    place = _rewritten(run, {"retriever": "lucene", "options": [f"jar={jar}", f"index={tmp_path}"]})
    with pytest.raises(UsageError, match="would run with your rights") as refused:
        reproduce(place)
    assert refused.value.hint is not None and f"--allow {jar}" in refused.value.hint


def test_a_service_on_this_machine_needs_no_permission(small: Benchmark, tmp_path: Path) -> None:
    run = retrieve(small, tmp_path / "run", retriever="bm25", k=3)
    for address in ("http://127.0.0.1:9/s", "http://localhost:9/s", "http://[::1]:9/s"):
        options = [f"url={address}", "tries=1"]
        with pytest.raises(Missing, match="does not answer"):
            reproduce(_rewritten(run, {"retriever": "http", "options": options}))


def test_a_run_that_python_made(small: Benchmark, tmp_path: Path) -> None:
    made = retrieve(small, tmp_path / "run", retriever="tfidf", k=3)
    assert reproduce(made.path).same


def test_another_order_is_seen(tmp_path: Path) -> None:
    benchmark = Benchmark.open("builtin/amber")
    honest = retrieve("builtin/amber", tmp_path / "run", retriever="bm25", passages=3)
    description = {k: v for k, v in honest.description.items() if k not in ("k", "returns")}
    changed = Changed(honest.ranked_passages(), description)
    made = run_retriever(changed, benchmark, tmp_path / "changed", k=3, name="bm25")
    found = reproduce(made.path, benchmark="builtin/amber")
    several = [q for q, p in honest.ranked_passages().items() if len(p) > 1]
    assert not found.same_order
    assert found.other_order == sorted(several)


def test_a_run_that_does_not_say_how(tmp_path: Path) -> None:
    benchmark = Benchmark.open("builtin/amber")
    made = run_retriever(Changed({}, {"retriever": "mine"}), benchmark, tmp_path / "r", k=1, name="m")
    with pytest.raises(BadInput, match="no retriever of whichone"):
        reproduce(made.path)
