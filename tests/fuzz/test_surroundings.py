"""A full disk and plugins that fail when they are imported: messages, never tracebacks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
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


BOUNDED = """
import resource, sys
from whichone.cli import run

most = int(sys.argv.pop(1))
sys.dont_write_bytecode = True  # Python would keep a compiled module that was cut off
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
run()
"""
SMALL_DISK = """
import ctypes, os, sys
from whichone.cli import run

place, size = sys.argv.pop(1), sys.argv.pop(1)
system, own_user, own_mounts = ctypes.CDLL(None), 0x10000000, 0x20000
maps = {"setgroups": "deny", "uid_map": f"0 {os.getuid()} 1", "gid_map": f"0 {os.getgid()} 1"}
assert system.unshare(own_user | own_mounts) == 0
for name, text in maps.items():
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)
assert system.mount(b"none", place.encode(), b"tmpfs", 0, f"size={size}".encode()) == 0
run()
"""


def typed(
    commands: Path, around: Path, words: Sequence[str | bytes], before: Sequence[str] = ("whichone",)
) -> subprocess.CompletedProcess[str]:
    """What a command says, in a process of its own and with a cache of its own."""
    return subprocess.run(
        [commands / before[0], *before[1:], *words],
        cwd=around,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, "WHICHONE_CACHE": str(around / "new-cache")},
    )


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
def test_a_full_disk_is_said(command: str, most: int, place: Path, tmp_path: Path, commands: Path) -> None:
    """A bound on the size of files represents the disk: the system refuses in the same call."""
    for item in place.iterdir():
        (tmp_path / item.name).symlink_to(item)
    (tmp_path / "reading.py").write_text("def answer(question, passages):\n    return 'x'\n")
    done = typed(commands, tmp_path, COMMANDS[command], ("forked-python", "-c", BOUNDED, str(most)))
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
        [sys.executable, "-m", "whichone", *words], cwd=tmp_path, capture_output=True, text=True, env=plugin
    )
    assert done.returncode == code, done.stderr
    assert "the plugin broken of the package broken-plugin fails" in done.stderr
    assert "RuntimeError: no such device" in done.stderr
    assert "Traceback" not in done.stderr


def test_own_code_that_cannot_be_imported_is_named(place: Path, tmp_path: Path, commands: Path) -> None:
    for item in place.iterdir():
        (tmp_path / item.name).symlink_to(item)
    for name, text, said in (
        ("raises", "\n\nraise RuntimeError('no index')\n", "raises.py:3: raises fails"),
        ("wrong", "def search(:\n", "wrong.py:1: wrong fails"),
    ):
        (tmp_path / f"{name}.py").write_text(text)
        done = typed(commands, tmp_path, ["retrieve", "bench", "OUT", "--retriever", f"{name}:search"])
        assert done.returncode == 3, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["retrieve", "import", "ingest", "index", "name index"])
@pytest.mark.parametrize("size", ["8k", "32k", "256k"])
def test_the_disk_that_is_full_is_named(
    command: str, size: str, place: Path, tmp_path: Path, commands: Path
) -> None:
    """A small disk of its own, which the output is on, and nothing else."""
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets no user mount a disk of their own")
    small = tmp_path / "small"
    small.mkdir()
    (small / ".keep").touch()
    for item in place.iterdir():
        (tmp_path / item.name).symlink_to(item)
    known = {
        **COMMANDS,
        "ingest": [*COMMANDS["ingest"][:-1], "--wikidata", "world/wikidata.json.bz2", "OUT"],
        "index": ["index", "bench", "OUT", "--retriever", "bm25"],
        "name index": ["index", "bench", "OUT", "--retriever", "namesake", "-o", "encoder=none"],
    }
    words = ["small/out" if word == "OUT" else word for word in known[command]]
    done = typed(commands, tmp_path, words, ("forked-python", "-c", SMALL_DISK, str(small), size))
    assert "Traceback" not in done.stderr, done.stderr
    if done.returncode:
        assert done.returncode == 3, done.stderr
        assert "the disk is full" in done.stderr
        assert f"bytes are free in {small}" in done.stderr or "bytes are free in small" in done.stderr
    else:
        assert size != "8k", "everything fitted"


@pytest.mark.parametrize("command", [*COMMANDS, "index"])
def test_a_colon_or_bytes_in_an_output_path(
    command: str, place: Path, tmp_path: Path, commands: Path
) -> None:
    """A colon works everywhere; what is not UTF-8 is refused before any work."""
    for item in place.iterdir():
        (tmp_path / item.name).symlink_to(item)
    (tmp_path / "reading.py").write_text("def answer(question, passages):\n    return 'x'\n")
    words = COMMANDS.get(command, ["index", "bench", "OUT", "--retriever", "bm25"])
    done = typed(commands, tmp_path, [word.replace("OUT", "a:b") for word in words])
    assert done.returncode == 0, done.stderr
    named = [word.encode().replace(b"OUT", b"b\xffd") for word in words]
    refused = typed(commands, tmp_path, list(named))
    assert refused.returncode == 2, refused.stderr
    assert "is not UTF-8" in refused.stderr
    assert not any(path.name.startswith("b") and path.name[1:2] == "\udcff" for path in tmp_path.iterdir())


DEEP = "a = " + "[" * 5000 + "]" * 5000
HOTPOT = '[{"_id": "1", "question": "Q", "answer": "A", "context": [["T", "one text"]], "supporting_facts": [["T", 0]]}]'


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("log.txt", "Wo ist Jürgen?".encode("latin-1"), ["audit", "passages.jsonl", "--log", "F"]),
        ("deep.toml", DEEP.encode(), ["experiment", "F"]),
        ("huge.toml", b"seed = 1" + b"0" * 30, ["experiment", "F"]),
        ("longer.toml", b"seed = 1" + b"0" * 9000, ["experiment", "F"]),
        ("latin.toml", "name = 'Jürgen'".encode("latin-1"), ["experiment", "F"]),
        ("deep.toml", DEEP.encode(), ["ingest", "--catalogue", "F", "OUT"]),
        ("deep.toml", DEEP.encode(), ["build", "amber", "kb", "OUT", "--collection", "F"]),
        ("deep.toml", DEEP.encode(), ["build", "catalogue", "kb", "OUT", "--wordings", "F"]),
        ("hotpot.json", HOTPOT.encode(), ["map", "F", "kb", "OUT.jsonl", "--original", "hotpotqa"]),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    file: str, content: bytes, words: list[str], place: Path, tmp_path: Path, commands: Path
) -> None:
    for item in place.iterdir():
        (tmp_path / item.name).symlink_to(item)
    (tmp_path / file).write_bytes(content)
    done = typed(commands, tmp_path, [file if word == "F" else word for word in words])
    assert done.returncode == 3, done.stderr
    assert file in done.stderr


def test_vectors_of_objects_are_named(place: Path, tmp_path: Path) -> None:
    from whichone.errors import BadInput
    from whichone.retrieval.dense.vectors import _published_blocks

    objects, ragged = tmp_path / "objects.npz", tmp_path / "ragged.npz"
    np.savez(objects, ids=np.array(["a", None], object), vectors=np.ones((2, 4)))
    np.savez(ragged, ids=np.array(["a"]), vectors=np.ones((2, 4)))
    for file, message in ((objects, "Object arrays"), (ragged, "1 ids, but vectors of the shape")):
        with pytest.raises(BadInput, match=message) as caught:
            list(_published_blocks(file))
        assert caught.value.file == str(file)


def test_a_system_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    from whichone.errors import BadInput
    from whichone.papers.kilt.kilt_file_tables import open_system

    (tmp_path / "system.toml").write_bytes("name = 'Jürgen'".encode("latin-1"))
    with pytest.raises(BadInput, match="not UTF-8") as caught:
        open_system(tmp_path)
    assert caught.value.file == str(tmp_path / "system.toml")
