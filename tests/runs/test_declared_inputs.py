"""A file that a user's own search reads and declares: when it changes, the run is not the same any more."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from whichone.cli import whichone
from whichone.errors import Missing, UsageError

SEARCH = """
import json
from pathlib import Path

def search(text, k):
    return json.loads(Path("order.json").read_text())[:k]

search.inputs = ["order.json"]

def agent(text, tools):
    return tools.search(text, 1)[0].title

class Ordered:
    def __init__(self, file="order.json"):
        self.file = file
        self.inputs = ["order.json"]

    def __call__(self, text, k):
        return json.loads(Path(self.file).read_text())[:k]

def with_option(text, k, file=""):
    return json.loads(Path(file).read_text())[:k]

def wrong(text, k):
    return []

wrong.inputs = 3
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    passages = [{"id": f"p{n}", "title": f"Title {n}", "text": f"text {n}"} for n in range(3)]
    questions = [{"question": f"Which {n}?", "gold": f"Title {n}", "answer": "x"} for n in range(3)]
    for name, records in (("passages", passages), ("questions", questions)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "order.json").write_text('["p0", "p1", "p2"]')
    (tmp_path / "ordered_search.py").write_text(SEARCH)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("ordered_search", None)
    made = run(
        "import", "questions", "questions.jsonl", "B", "--passages", "passages.jsonl", "--gold", "gold"
    )
    assert made.exit_code == 0, made.output
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(whichone, words)


def retrieve(name: str, *more: str) -> Result:
    return run("retrieve", "B", "R", "--retriever", f"ordered_search:{name}", "-k", "2", *more)


@pytest.mark.parametrize(
    ("name", "more"), [("search", ()), ("Ordered", ()), ("with_option", ("-o", "file=order.json"))]
)
def test_a_changed_input_of_a_search_is_named(here: Path, name: str, more: tuple[str, ...]) -> None:
    assert retrieve(name, *more).exit_code == 0
    again = retrieve(name, *more)
    assert again.exit_code == 0 and "nothing is asked again" in again.output
    before = (here / "R/rankings.parquet").read_bytes()
    (here / "order.json").write_text('["p2", "p1", "p0"]')
    refused = retrieve(name, *more)
    assert isinstance(refused.exception, UsageError)
    assert "order.json, which it reads, has changed" in str(refused.exception)
    assert (here / "R/rankings.parquet").read_bytes() == before
    assert retrieve(name, *more, "--overwrite").exit_code == 0
    assert (here / "R/rankings.parquet").read_bytes() != before
    assert "nothing is asked again" in retrieve(name, *more).output


def test_changed_code_is_named(here: Path) -> None:
    assert retrieve("search").exit_code == 0
    with (here / "ordered_search.py").open("a") as file:
        file.write("# one line more\n")
    refused = retrieve("search")
    assert isinstance(refused.exception, UsageError)
    assert "its code has changed" in str(refused.exception)


def test_an_agents_search_counts_too(here: Path) -> None:
    work = ("work", "B", "W", "--agent", "ordered_search:agent", "--search", "ordered_search:search")
    first = run(*work)
    assert first.exit_code == 0, first.output
    assert "nothing is asked again" in run(*work).output
    (here / "order.json").write_text('["p1", "p0"]')
    refused = run(*work)
    assert isinstance(refused.exception, UsageError)
    assert "order.json, which it reads, has changed" in str(refused.exception)
    assert run(*work, "--overwrite").exit_code == 0


def test_what_is_declared_has_to_be_there_and_to_be_a_list(here: Path) -> None:
    (here / "order.json").rename(here / "elsewhere.json")
    gone = retrieve("search")
    assert isinstance(gone.exception, Missing)
    assert "order.json" in str(gone.exception.where)
    wrong = retrieve("wrong")
    assert isinstance(wrong.exception, UsageError)
    assert "wrong.inputs is a list of files" in str(wrong.exception)
