"""`whichone ingest` as a process: killed, out of disk, with a worker that dies, with hostile input."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from whichone.files.folder import file_hash

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten mebibytes in as many parts; every item has a page, so that each is read in full."""
    path = tmp_path_factory.mktemp("dump") / "wikidata.json"
    with path.open("w") as file:
        file.write("[\n")
        for n in range(6_000):
            value = {"entity-type": "item", "id": f"Q{n * 7 % 9_000}"}
            snak = {"snaktype": "value", "datavalue": {"type": "wikibase-entityid", "value": value}}
            entity = {
                "type": "item",
                "id": f"Q{n}",
                "labels": {"en": {"language": "en", "value": f"Name {n % 700}"}},
                "claims": {f"P{p}": [{"mainsnak": snak, "rank": "normal"}] for p in range(31, 45)},
                "sitelinks": {"enwiki": {"site": "enwiki", "title": f"Page {n}"}},
            }
            file.write(json.dumps(entity, separators=(",", ":")) + ("\n]\n" if n == 5_999 else ",\n"))
    assert path.stat().st_size > 9 << 20
    return path


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "whichone", "ingest", *map(str, arguments)]


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, **options)  # type: ignore[call-overload,no-any-return]


def finished_parts(kb: Path) -> int:
    journal = kb / ".partial/journal.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def content(kb: Path) -> dict[str, str]:
    return {str(p.relative_to(kb)): file_hash(p) for p in sorted(kb.rglob("*")) if p.is_file()}


def wait_for_parts(process: subprocess.Popen[bytes], kb: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and finished_parts(kb) < count and time.monotonic() < deadline:
        time.sleep(0.001)


def children(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def forking(pid: int) -> list[int]:
    """The process that workers are forked from, once it is started."""
    return [c for c in children(pid) if "forkserver" in Path(f"/proc/{c}/cmdline").read_text()]


def forked(pid: int) -> list[int]:
    return [worker for server in forking(pid) for worker in children(server)]


def test_killed_again_and_again_it_ends_with_the_same_bytes(dump: Path, tmp_path: Path) -> None:
    assert run("--wikidata", dump, "--workers", 1, tmp_path / "calm").returncode == 0
    kb = tmp_path / "killed"
    kills = 0
    for workers in (1, 2, 3):
        before = finished_parts(kb)
        process = subprocess.Popen(
            command("--wikidata", dump, "--workers", workers, kb),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_parts(process, kb, before + 2)
        kills += process.poll() is None
        process.kill()
        process.wait()
    assert kills >= 2
    ended = run("--wikidata", dump, "--workers", 2, kb)
    assert ended.returncode == 0, ended.stderr
    assert "parts are finished already" in ended.stderr
    assert content(kb) == content(tmp_path / "calm")


def test_a_worker_that_dies_fails_the_run_with_its_place(dump: Path, tmp_path: Path) -> None:
    kb = tmp_path / "kb"
    process = subprocess.Popen(
        command("--wikidata", dump, "--workers", 2, kb), stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    workers: list[int] = []
    while not workers and time.monotonic() < deadline:
        workers = forked(process.pid)
    os.kill(workers[0], signal.SIGKILL)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "a worker died (signal 9) at byte" in said
    assert "Traceback" not in said
    assert run("--wikidata", dump, kb).returncode == 0


def test_a_full_disk_is_said_and_the_finished_parts_are_kept(dump: Path, tmp_path: Path) -> None:
    """A limit on the size of files represents the full disk."""
    kb = tmp_path / "kb"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))

    failed = run("--wikidata", dump, "--workers", 1, kb, preexec_fn=limit)
    assert failed.returncode == 3, failed.stderr
    assert "the disk is full" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert run("--wikidata", dump, kb).returncode == 0


def test_a_line_of_a_hundred_megabytes(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    good = (
        '{"type":"item","id":"Q1","labels":{"en":{"language":"en","value":"x"}},"claims":{},"sitelinks":{}}\n'
    )
    with path.open("w") as file:
        file.write(good)
        for _ in range(100):
            file.write("[" * (1 << 20))
        file.write("\n" + good)
    failed = run("--wikidata", path, "--workers", 1, tmp_path / "kb")
    assert failed.returncode == 3
    assert "longer than 67,108,864 bytes" in failed.stderr
    skipped = run("--wikidata", path, "--workers", 1, "--on-error", "skip", "--bad-share", 1, tmp_path / "kb")
    assert skipped.returncode == 0, skipped.stderr
    listed = (tmp_path / "kb/bad.jsonl").read_text().splitlines()
    assert len(listed) == 1


@pytest.mark.parametrize(("started", "parts"), [(forking, 0), (forked, 0), (forked, 2)])
def test_ended_by_the_keyboard(
    dump: Path, tmp_path: Path, started: Callable[[int], list[int]], parts: int
) -> None:
    """Also while workers still start."""
    kb = tmp_path / "kb"
    process = subprocess.Popen(
        command("--wikidata", dump, "--workers", 2, kb),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # a shell starts what it puts into the background deaf to interrupts, and children inherit it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not started(process.pid) and time.monotonic() < deadline:
        time.sleep(0.001)
    wait_for_parts(process, kb, parts)  # type: ignore[arg-type]
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in said
