"""Commands in untagged blocks: each is run on prepared inputs, or named here with the reason why not."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from test_docs import PAGES, command_lines, name

from whichone.cli import whichone

pytestmark = pytest.mark.slow

RUN_ELSEWHERE = {"readers.md", "experiments.md", "training.md"}
"""Pages whose commands tests/reading and tests/training run, with a server and an encoder of their own."""

NOT_RUN = {
    r"spark://": "a cluster; tests/integrations/spark starts a local one",
    r"\b(fetch (popqa|kilt|inventors)|build (people )?inventors)": "the network; tests/benchmarks/test_fetch.py has a server",
    r"\bserve\b": "goes on until it is stopped; tests/web starts it",
    r"FOLDER|dpr\.cp|BERT_|encoder=auto|--encoder gt-|rerank": "a model; tests/retrieval/dense has one",
    r"--retriever (langchain|http|my_search)": "a server or a user's store",
    r"--prompt qa\.py": "an endpoint; tests/chat/test_prompt.py and tests/reading/test_llm_reader.py have such prompts",
    r"AUTHORS|--endpoint URL": "the authors' files, a model",
    r"--original": "the original files of a dataset; tests/papers/kilt has them",
    r"import run (FILE|run\.tsv)": "files of linkers and MS MARCO; tests/runs has them",
    r"mentions=spacy": "a spaCy model; tests/retrieval/linkers has one",
    r"\.benchmarks/inventors|published/inventors": "real people's data; tests/test_published_runs.py",
    r"--cut tokens": "a tokeniser",
    r"experiments/ladder": "models; tests/training/test_dpr_preset.py reads the file",
    r"experiments/entityquestions": "models; tests/training/test_published_experiments.py runs them",
    r"WORK/|kore50|KORE50": "real pages and linking sets; bench/linking.py makes them",
    r"--redirects": "SQL dumps; tests/knowledge/test_ingest_redirects.py has them",
    r"--shares|build amber|PLACES|--catalogue staff": "run in its own page's blocks",
    r"GUARDED|TASKS PLAIN|names=people": "tasks over contacts; tutorials/guard.md runs such ones, tests/agents the option",
}
RUNS = {
    r"score RUN .*entity_coverage": "AMBIGDOCS_RUN",
    r"score RUN .*rprec": "KILT_RUN",
    r"score RUN .*lucky_hit": "SIMPLE_RUN",
}
"""Runs over the benchmark that a page is about."""
FEW = {
    r"retrieve BENCH .*--retriever namesake": ("BENCH", "FEW"),
    r"index CORPUS .*--retriever namesake": ("CORPUS", "FEW/corpus"),
}
"""Commands that are run on fewer questions and passages: they weigh every bearer of a name for each, and encode every sentence."""
WRITES = {
    "retrieve", "import", "build", "ingest", "map", "export", "demo", "corpus", "index",
}  # fmt: skip


def reason(line: str) -> str | None:
    return next((why for pattern, why in NOT_RUN.items() if re.search(pattern, line)), None)


STAGED = [
    pytest.param(line, id=f"{name(page)}: {line}")
    for page in PAGES
    if page.name not in RUN_ELSEWHERE and "reference" not in page.parts
    for line in command_lines(page)
    if reason(line) is None
]


@pytest.mark.parametrize("line", STAGED)
def test_it_runs(
    line: str, stage: Path, made_demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "stage"
    shutil.copytree(stage, place)
    monkeypatch.chdir(place)
    monkeypatch.syspath_prepend(str(place))
    words = shlex.split(line.partition("  #")[0], comments=True)[1:]
    own = next((run for pattern, run in RUNS.items() if re.search(pattern, line)), "RUN")
    words = [own if word == "RUN" else word for word in words]
    for pattern, (usual, few) in FEW.items():
        if re.search(pattern, line):
            words = [few if word == usual else word for word in words]
    for target in written(words):
        if Path(target).is_file():
            Path(target).unlink()
        shutil.rmtree(target, ignore_errors=True)
    if words == ["demo", "OUT"]:  # the whole of it is run by tests/test_demo.py
        shutil.copytree(made_demo, "OUT")
    result = CliRunner().invoke(whichone, words, catch_exceptions=False)
    assert result.exit_code == 0, f"{line}\n{result.output}"


def test_the_ci_snippet_runs(stage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the CI file in order, as a CI would run them."""
    (page,) = (p for p in PAGES if p.name == "rag-engineer.md")
    steps = re.findall(r"^- run: (whichone .*)$", page.read_text("utf-8"), re.M)
    assert [step.split()[1] for step in steps] == ["retrieve", "check"]
    place = tmp_path / "stage"
    shutil.copytree(stage, place)
    shutil.rmtree(place / "RUN")
    environment = {**os.environ, "GITHUB_STEP_SUMMARY": "summary.md"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    for step in steps:
        done = subprocess.run(
            ["bash", "-euc", step], cwd=place, env=environment, capture_output=True, text=True
        )
        assert done.returncode == (1 if "check" in step else 0), done.stdout + done.stderr
    assert (
        "regression" in (place / "summary.md").read_text() or "baseline" in (place / "summary.md").read_text()
    )
    assert "<testsuite" in (place / "whichone.xml").read_text()


def written(words: list[str]) -> list[Path]:
    """The output of a command that writes: its last argument, which must not be there yet."""
    if words[0] not in WRITES:
        return []
    command: click.Command = whichone
    while isinstance(command, click.Group) and words:
        child = command.get_command(click.Context(command), words[0])
        if child is None:
            break
        command, words = child, words[1:]
    context = command.make_context("", list(words), resilient_parsing=True)
    last = [p for p in command.params if isinstance(p, click.Argument)][-1]
    value = context.params[last.name or ""]
    value = value[-1] if isinstance(value, tuple) else value
    return [Path(value)] if value and Path(value).exists() else []
