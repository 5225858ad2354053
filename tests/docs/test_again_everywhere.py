"""One rule for doing something again, for every command that writes, on the inputs of the docs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from whichone.cli import whichone
from whichone.errors import UsageError

pytestmark = pytest.mark.slow

OTHERWISE = {
    "check": "prints; its JUnit and Markdown files are written anew each time",
    "compare": "prints",
    "demo": "has neither inputs nor options: what is whole stays",
    "doctor": "prints",
    "experiment": "the place of each cell is named by the hash of its inputs and options",
    "fetch": "files are checked by their published hash",
    "list": "prints",
    "power": "prints",
    "reproduce": "prints; refuses a folder that is there",
    "score": "prints; --per-query is written anew each time",
    "search": "prints",
    "serve": "goes on until it is stopped",
    "show": "prints",
    "verify": "prints",
}
ELSEWHERE = {
    "build inventors": "needs the published archive",
    "build people": "a table of documents; tests/papers/people",
    "build paq": "needs the published files; tests/benchmarks/test_paq.py",
    "train": "models; tests/training",
}
"""Commands of the same decorator whose inputs the stage does not have."""

SEED = ("--seed 1", "--seed 2", "seed is 2, was 1")
CALLED = ("--called one", "--called two", 'called is "two", was "one"')
RECIPES: dict[str, tuple[str, str, str, str]] = {
    "audit": ("audit FEW/corpus --out OUT.md", "", "--log questions.jsonl", "with other content"),
    "build absent": ("build absent BENCH OUT", *SEED),
    "build amber": ("build amber KB OUT --collection human", "", "--tasks qa", "tasks is"),
    "build ambigdocs": ("build ambigdocs KB OUT", *SEED),
    "build catalogue": ("build catalogue CATALOGUE OUT", *SEED),
    "build entityquestions": ("build entityquestions KB OUT", *SEED),
    "build noise": ("build noise BENCH OUT", *SEED),
    "build small": ("build small BENCH RUN_A OUT", "-k 3", "-k 4", "k is 4, was 3"),
    "build splits": ("build splits BENCH OUT", *SEED),
    "corpus": ("corpus passages.jsonl OUT", "", "--title id", 'title is "id", was'),
    "export": ("export", "BENCH OUT --format beir", "SIMPLE OUT --format beir", "with other content"),
    "import amber": ("import amber qa/amber_sets.jsonl OUT", "", "--words 50", "words is 50, was"),
    "import ambigdocs": (
        "import ambigdocs train.json dev.json OUT",
        "",
        "--passages psgs_w100.tsv",
        "passages",
    ),
    "import answers": (
        "import answers BENCH PREDICTIONS OUT",
        "--name one",
        "--name two",
        'name is "two", was "one"',
    ),
    "import entityquestions": (
        "import entityquestions dev/P19.dev.json OUT --passages psgs_w100.tsv",
        *CALLED,
    ),
    "import kilt": ("import kilt nq-dev-kilt.jsonl OUT --knowledge KB", "", "--words 50", "words is 50, was"),
    "import open-questions": (
        "import open-questions NQ-open.dev.jsonl OUT --format nq-open --passages passages.jsonl",
        *CALLED,
    ),
    "import popqa": ("import popqa test.tsv OUT --passages passages.jsonl", *CALLED),
    "import questions": (
        "import questions questions-dev.jsonl.gz OUT --gold gold_titles --passages passages.jsonl",
        *CALLED,
    ),
    "import ramdocs": (
        "import ramdocs RAMDocs_test.jsonl OUT",
        "",
        "EDIT RAMDocs_test.jsonl",
        "file has changed",
    ),
    "import run": (
        "import run run.txt OUT --benchmark BENCH --format trec",
        "--name one",
        "--name two",
        'name is "two", was "one"',
    ),
    "index": ("index CORPUS OUT", "-o k1=1.2", "-o k1=0.9", "k1=0.9"),
    "ingest": ("ingest OUT --catalogue places.toml", "", "EDIT places.jsonl", "places.toml (places.jsonl)"),
    "map": (
        "map my-task.jsonl KB OUT.jsonl --task qa",
        "--threshold 0",
        "--threshold 1",
        "with other content",
    ),
    "read": ("read BENCH OUT --reader kb-lookup", "", "--limit 3", "limit is 3"),
    "report": ("report NOISY_RUN OUT.html", "", "--names 1", "with other content"),
    "retrieve": ("retrieve BENCH OUT", "-k 3", "-k 2", "k is 2, was 3"),
    "score kilt-tables": (
        "score kilt-tables gold",
        "predictions/bart OUT.html",
        "predictions/rag OUT.html",
        "with other content",
    ),
    "work": ("work BENCH OUT --limit 9 --agent", "guess", "ask", 'agent is "ask", was "guess"'),
    "world": ("world OUT --workers 1 --entities", "20", "21", "entities is 21, was 20"),
}
"""How each is called, two ways to go on, and what the second is told where the first has been."""


def commands() -> Iterator[tuple[str, click.Command]]:
    def below(command: click.Command, words: str) -> Iterator[tuple[str, click.Command]]:
        if not isinstance(command, click.Group):
            yield words, command
            return
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from below(found, f"{words} {name}".strip())

    return below(whichone, "")


@pytest.mark.parametrize(("words", "command"), [pytest.param(w, c, id=w) for w, c in commands()])
def test_every_command_follows_the_rule_or_has_a_reason(words: str, command: click.Command) -> None:
    follows = any(parameter.name == "overwrite" for parameter in command.params)
    reasons = [name for name in OTHERWISE if words == name or words.startswith(f"{name} ")]
    assert follows or reasons, f"whichone {words} writes something and has no --overwrite"
    if follows:
        elsewhere = words in ELSEWHERE or words.partition(" ")[0] in ELSEWHERE
        assert words in RECIPES or elsewhere, f"whichone {words} is not tried here"


def run(*words: object) -> Result:
    return CliRunner().invoke(whichone, [str(word) for word in words])


def contents(folder: Path) -> dict[str, bytes]:
    """What is in OUT, or in the files that begin so."""
    places = [p for p in folder.rglob("OUT*") if not p.is_dir()]
    places += [p for p in (folder / "OUT").rglob("*") if p.is_file() and p.name != ".lock"]
    return {str(p): p.read_bytes() for p in places}


@pytest.mark.parametrize("words", RECIPES)
def test_again(words: str, stage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "stage"
    shutil.copytree(stage, place)
    monkeypatch.chdir(place)
    monkeypatch.setenv("WHICHONE_CACHE", str(tmp_path / "cache"))
    start, one, two, named = RECIPES[words]
    first = run(*start.split(), *one.split())
    assert first.exit_code == 0, first.exception or first.output
    before = contents(place)
    assert before
    again = run(*start.split(), *one.split())
    assert again.exit_code == 0, again.exception or again.output
    assert contents(place) == before
    if two.startswith("EDIT "):
        file = Path(two.removeprefix("EDIT "))
        file.write_text(file.read_text().replace("film", "movie").replace("France", "Texas"))
        two = one
    refused = run(*start.split(), *two.split())
    assert isinstance(refused.exception, UsageError), refused.exception or refused.output
    assert named in str(refused.exception)
    assert contents(place) == before
    replaced = run(*start.split(), *two.split(), "--overwrite")
    assert replaced.exit_code == 0, replaced.exception or replaced.output
    assert contents(place) != before
