"""The hashes of what pip installs for `constraints.txt`: `write` records them, `check` compares.

pip compares what it downloads with the hash that its index gives. What it cannot see is an index that gives another file,
with a fitting hash, for a version that was published long ago: that is what `constraints.sha256` is for. pip itself says
what it would install on this machine (`pip install --dry-run --report`); a file of another machine is recorded there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
PINS, HASHES = ROOT / "constraints.txt", ROOT / "constraints.sha256"


def chosen(pins: Path = PINS) -> dict[str, str]:
    """The files that pip would install here for these pins, with their hashes."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps"]
    command += ["--quiet", "--disable-pip-version-check", "--report", "-", "-r", str(pins)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"pip cannot resolve {pins.name}")
    files = (item["download_info"] for item in json.loads(done.stdout)["install"])
    return {
        unquote(urlsplit(file["url"]).path).rpartition("/")[2]: file["archive_info"]["hashes"]["sha256"]
        for file in files
    }  # fmt: skip


def recorded(file: Path = HASHES) -> set[tuple[str, str]]:
    """Pairs of hash and file name: a wheel may have been built more than once."""
    lines = (line.partition("  ") for line in file.read_text().splitlines())
    return {(sha256, name) for sha256, _, name in lines}


def differences(found: dict[str, str], known: set[tuple[str, str]]) -> list[str]:
    """Files that pip would install and that are not recorded with this hash, as sentences."""
    return [
        f"{name} has the hash {sha256}, which is not recorded"
        for name, sha256 in sorted(found.items())
        if (sha256, name) not in known
    ]


def write(pins: Path = PINS, hashes: Path = HASHES) -> None:
    """Adds this machine's files to those of others, and drops what is pinned no more."""
    versions = {
        tuple(line.partition("#")[0].strip().lower().replace("-", "_").split("=="))
        for line in pins.read_text().splitlines()
        if "==" in line
    }
    kept = {
        (sha256, name)
        for sha256, name in recorded(hashes)
        if any(name.lower().replace("-", "_").startswith(f"{p}_{v}") for p, v in versions)
    }
    pairs = kept | {(sha256, name) for name, sha256 in chosen(pins).items()}
    text = "".join(f"{sha256}  {name}\n" for sha256, name in sorted(pairs, key=lambda pair: pair[::-1]))
    hashes.write_text(text)
    print(f"{hashes.name}: {len(pairs)} files of {len(versions)} packages")


def check() -> int:
    found = chosen()
    wrong = differences(found, recorded())
    for text in wrong:
        print(text, file=sys.stderr)
    if wrong:
        print("after a change of constraints.txt: python tests/pinned_hashes.py write", file=sys.stderr)
    else:
        print(f"the files of {len(found)} packages are those of {HASHES.name}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(write() if sys.argv[1:] == ["write"] else check())
