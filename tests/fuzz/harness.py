"""Runs a command on a damaged input, in this process, and tells an error of ours from a defect."""

from __future__ import annotations

import shutil
import signal
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner
from mutations import mutated
from seeds import Seed

from whichone.cli import whichone
from whichone.errors import WhichoneError

LONGEST = 120
"""Seconds after which a command counts as hanging."""


class Hangs(Exception):
    pass


def _too_long(number: int, frame: object) -> None:
    raise Hangs(f"no end after {LONGEST} seconds")


def damaged(seed: Seed, place: Path, number: int) -> str | None:
    """What went wrong beyond an error with a message; None where nothing did."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for item in place.iterdir():
            if item.name == seed.folder:
                shutil.copytree(item, work / item.name)
            else:
                (work / item.name).symlink_to(item)
        targets = _targets(seed, work)
        target = targets[number % len(targets)]
        target.write_bytes(mutated(number, target.read_bytes()))
        return ended(seed, work)


def _targets(seed: Seed, work: Path) -> list[Path]:
    for name, data in seed.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_bytes(data)
    if seed.folder is not None:
        files = (p for p in sorted((work / seed.folder).rglob("*")) if p.is_file())
        return [file for file in files if not file.name.startswith(".")]
    return [work / name for name in seed.files]


def ended(seed: Seed, work: Path) -> str | None:
    """What went wrong beyond an error with a message, of a command in the folder `work`."""
    import os

    before = Path.cwd()
    os.chdir(work)
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(LONGEST)
    try:
        result = CliRunner(env={"WHICHONE_CACHE": str(work / "cache")}).invoke(
            whichone, seed.words, standalone_mode=False
        )
    finally:
        signal.alarm(0)
        os.chdir(before)
    error = result.exception
    if error is None or isinstance(error, WhichoneError | click.ClickException | SystemExit):
        return None
    if isinstance(error, OSError) and error.filename is not None:
        return None
    trace = "".join(traceback.format_exception(error)[-4:])
    return f"{seed.name}: {type(error).__name__}: {str(error)[:200]}\n{trace}"


def problems(all_seeds: list[Seed], place: Path, numbers: range) -> Iterator[tuple[int, str]]:
    for seed in all_seeds:
        for number in numbers:
            problem = damaged(seed, place, number)
            if problem is not None:
                yield number, problem
