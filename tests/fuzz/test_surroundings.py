"""A full disk and plugins that fail when they are imported: messages, never tracebacks."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from seeds import prepare

COMMANDS = {
    "retrieve": ["retrieve", "bench", "OUT", "--retriever", "bm25"],
    "export": ["export", "kb", "OUT.jsonl", "--format", "kilt"],
    "corpus": ["corpus", "kb", "OUT.jsonl"],
    "import": ["import", "questions", "questions.jsonl", "OUT", "--passages", "passages.jsonl",
               "--gold", "gold"],
    "read": ["read", "bench", "OUT", "--reader", "reading:answer"],
    "build": ["build", "small", "bench", "run", "OUT", "-k", "2"],
    "ingest": ["ingest", "--pages", "world/kilt_knowledgesource.json.gz", "--workers", "1", "OUT"],
    "world": ["world", "OUT", "--entities", "50", "--workers", "1"],
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("surroundings")
    before = Path.cwd()
    os.chdir(folder)
    try:
        prepare(folder)
    finally:
        os.chdir(before)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("most", [10, 3000])
def test_a_full_disk_is_said(command: str, most: int, place: Path, tmp_path: Path) -> None:
    """A bound on the size of files represents the disk: the system refuses in the same call."""
    for item in place.iterdir():
        (tmp_path / item.name).symlink_to(item)
    (tmp_path / "reading.py").write_text("def answer(question, passages):\n    return 'x'\n")
    done = subprocess.run(
        [sys.executable, "-m", "whichone", *COMMANDS[command]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "WHICHONE_CACHE": str(tmp_path / "new-cache"),
            "PYTHONDONTWRITEBYTECODE": "1",  # Python would keep a compiled module that was cut off
        },
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    assert "Traceback" not in done.stderr, done.stderr
    if done.returncode != 0:
        assert done.returncode == 3, done.stderr
        assert "File too large" in done.stderr
        assert not (tmp_path / "OUT" / "manifest.json").exists()
    elif most == 10:
        pytest.fail("nothing larger than ten bytes was written")


@pytest.fixture
def plugin(tmp_path: Path) -> dict[str, str]:
    """An installed package whose retriever, measure and paper cannot be imported."""
    info = tmp_path / "site" / "broken_plugin-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[whichone.retrievers]\nbroken = broken_plugin:Retriever\n"
        "[whichone.measures]\nbroken = broken_plugin:measure\n"
        "[whichone.papers]\nbroken = broken_plugin\n"
    )
    (tmp_path / "site" / "broken_plugin.py").write_text("raise RuntimeError('no such device')\n")
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["list", "retrievers"], 0),
        (["score", "run", "--json"], 0),
        (["retrieve", "bench", "OUT", "--retriever", "broken"], 3),
    ],
)
def test_a_plugin_that_cannot_be_imported_is_named(
    words: list[str], code: int, place: Path, tmp_path: Path, plugin: dict[str, str]
) -> None:
    for item in place.iterdir():
        (tmp_path / item.name).symlink_to(item)
    (tmp_path / "reading.py").write_text("def answer(question, passages):\n    return 'x'\n")
    done = subprocess.run(
        [sys.executable, "-m", "whichone", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=plugin,
    )
    assert done.returncode == code, done.stderr
    assert "the plugin broken of the package broken-plugin fails" in done.stderr
    assert "RuntimeError: no such device" in done.stderr
    assert "Traceback" not in done.stderr


def test_own_code_that_cannot_be_imported_is_named(place: Path, tmp_path: Path) -> None:
    for item in place.iterdir():
        (tmp_path / item.name).symlink_to(item)
    for name, text, said in (
        ("raises", "\n\nraise RuntimeError('no index')\n", "raises.py:3: raises fails"),
        ("wrong", "def search(:\n", "wrong.py:1: wrong fails"),
    ):
        (tmp_path / f"{name}.py").write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "whichone", "retrieve", "bench", "OUT", "--retriever", f"{name}:search"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )  # fmt: skip
        assert done.returncode == 3, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr
