"""The pages on readers and experiments do what they say: every command and snippet is run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_server import completion

from whichone.chat.prompt import find_prompt
from whichone.cli import whichone

DOCS = Path(__file__).resolve().parents[2] / "docs"
pytestmark = pytest.mark.slow


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run_commands(page: str, url: str) -> None:
    for block in blocks(page, "bash"):
        for line in block.strip().splitlines():
            words = shlex.split(line.replace("http://127.0.0.1:8000/v1", url))
            words = [str(p) for w in words for p in (sorted(Path().glob(w)) if "*" in w else [w])]
            assert words[0] == "whichone"
            result = CliRunner().invoke(whichone, words[1:], catch_exceptions=False)
            assert result.exit_code == 0, f"{line}\n{result.output}"


@pytest.fixture
def url(serve, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    server = serve(lambda body, n: completion('{"answer": "trombone", "passages": [1]}'))
    return server.url


def test_readers(url, tmp_path):
    run_commands("readers.md", url)
    assert (tmp_path / "cost-files").is_dir()
    (prompt,) = blocks("readers.md", "markdown")
    (tmp_path / "librarian.md").write_text(prompt)
    messages = find_prompt("librarian.md").messages("qa", "Which one?", [])
    assert "librarian" in messages[0]["content"] and "one word" in messages[0]["content"]
    (program,) = blocks("readers.md", "python")
    exec(compile(program, "readers.md", "exec"), {})


def test_experiments(url, tmp_path):
    (study,) = blocks("experiments.md", "toml")
    study = study.replace("http://127.0.0.1:8000/v1", url)
    Path("study.toml").write_text(f"limit = 10\n{study}")
    run_commands("experiments.md", url)
    assert len(list(Path("study-cells/answers").iterdir())) == 8
