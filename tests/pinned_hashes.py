"""The files that pip may install for `constraints.txt`, by their hashes: `write` records them, `check` compares.

pip itself compares what it downloads with the hash that its index gives. What it cannot see is an index that gives another
file, with a fitting hash, for a version that was published long ago: that is what `constraints.sha256` is for. `check`
reads the pages of the index that pip is configured for, and downloads no package.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from packaging.tags import sys_tags
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version

from whichone.benchmarks.package_index import indexes, listed_files

ROOT = Path(__file__).resolve().parent.parent
PINS, HASHES = ROOT / "constraints.txt", ROOT / "constraints.sha256"
_TOGETHER, _TRIES = 8, 4
_WANTED = re.compile(r"-(?:py\d.*|cp31[1-4]|cp3\d+-abi3.*)-(?:any|manylinux\S*|macosx\S*|linux\S*)\.whl$|\.(?:tar\.gz|zip)$|abi3-(?:manylinux|macosx)\S*\.whl$")  # fmt: skip


def pins(file: Path = PINS) -> dict[str, Version]:
    lines = (line.partition("#")[0].strip() for line in file.read_text().splitlines())
    pairs = (line.partition("==") for line in lines if "==" in line)
    return {canonicalize_name(name): Version(version) for name, _, version in pairs}


def recorded(file: Path = HASHES) -> dict[str, set[str]]:
    """File names with their hashes: a wheel may have been built more than once."""
    hashes: dict[str, set[str]] = {}
    for line in file.read_text().splitlines():
        sha256, _, name = line.partition("  ")
        hashes.setdefault(name, set()).add(sha256)
    return hashes


def is_of(name: str, package: str, version: Version) -> bool:
    """Whether a file is one of a package in a version; `+cpu` and such do not count."""
    try:
        if name.endswith(".whl"):
            parsed: tuple[str, Version] = parse_wheel_filename(name)[:2]
        else:
            parsed = parse_sdist_filename(name)
    except (InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
        return False
    return parsed[0] == package and parsed[1].public == version.public


def fits_here(names: Iterable[str]) -> set[str]:
    """The files that pip could choose on this machine: wheels that fit it, else the source."""
    names, supported = list(names), set(sys_tags())
    wheels = {
        n for n in names if n.endswith(".whl") and not supported.isdisjoint(parse_wheel_filename(n)[3])
    }  # fmt: skip
    return wheels or {n for n in names if not n.endswith(".whl")}


def on_index(package: str, version: Version) -> dict[str, str]:
    """The files of a version with their hashes, from the first index that has any."""
    reasons = []
    for index in indexes():
        try:
            page = f"{index.rstrip('/')}/{package}/"
            files = listed_files(page, with_text=str(version)) or listed_files(page)
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            absent = getattr(error, "code", 0) == 404 or isinstance(reason, FileNotFoundError)
            reasons += [] if absent else [str(reason)]
            continue
        mine = {f.name: f.sha256 for f in files if is_of(f.name, package, version)}
        if mine:
            return mine
    if reasons:
        raise OSError(f"{package} {version}: {'; '.join(reasons)}")
    raise LookupError(f"{package} {version} is on no index")


def patiently(package: str, version: Version) -> dict[str, str]:
    """`on_index`, asked again after a failure: an index is a machine of somebody else's."""
    for pause in range(1, _TRIES):
        try:
            return on_index(package, version)
        except OSError:
            time.sleep(2 * pause)
    return on_index(package, version)


def built_here(wanted: dict[str, Version]) -> Iterator[tuple[str, str]]:
    """Wheels in folders that pip is configured to look into."""
    for place in os.environ.get("PIP_FIND_LINKS", "").split():
        for file in sorted(Path(place).glob("*.whl")):
            if any(is_of(file.name, package, version) for package, version in wanted.items()):
                with file.open("rb") as content:
                    yield file.name, hashlib.file_digest(content, "sha256").hexdigest()


def write() -> None:
    wanted = pins()
    lines = {f"{sha256}  {name}" for name, sha256 in built_here(wanted)}
    with ThreadPoolExecutor(_TOGETHER) as pool:
        for files in pool.map(lambda pin: patiently(*pin), wanted.items()):
            kept = {n: h for n, h in files.items() if _WANTED.search(n)} or files
            lines |= {f"{sha256}  {name}" for name, sha256 in kept.items()}
    HASHES.write_text("\n".join(sorted(lines, key=lambda line: line[66:])) + "\n")
    print(f"{HASHES.name}: {len(lines)} files of {len(wanted)} packages")


def differences(
    wanted: dict[str, Version], known: dict[str, set[str]], silent: list[str]
) -> list[str]:
    """What pip could install here and is not recorded, as sentences; `silent` gets what no index lists."""

    def compared(pin: tuple[str, Version]) -> list[str]:
        try:
            files = patiently(*pin)
        except OSError as error:
            silent.append(str(error))
            return []
        except LookupError as error:
            return [str(error)]
        return [
            f"{name} has the hash {files[name] or '(none)'}, which is not recorded"
            for name in sorted(fits_here(files))
            if files[name] not in known.get(name, set())
        ]

    with ThreadPoolExecutor(_TOGETHER) as pool:
        wrong = [text for texts in pool.map(compared, wanted.items()) for text in texts]
    return wrong + [
        f"{name}, built here, has the hash {sha256}, which is not recorded"
        for name, sha256 in built_here(wanted)
        if sha256 not in known.get(name, set())
    ]


def check() -> int:
    """1 where a hash differs, and in CI where most of them could not be compared."""
    wanted, silent = pins(), list[str]()
    wrong = differences(wanted, recorded(), silent)
    for reason in silent:
        print(f"not compared with constraints.sha256: {reason}", file=sys.stderr)
    if 2 * len(silent) > len(wanted) and os.environ.get("CI") == "true":
        return 1
    for text in wrong:
        print(text, file=sys.stderr)
    if wrong:
        print(
            "after a change of constraints.txt: python tests/pinned_hashes.py write",
            file=sys.stderr,
        )
    else:
        print(f"the files of {len(wanted) - len(silent)} packages are those of constraints.sha256")
    return int(bool(wrong))


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        write()
    else:
        sys.exit(check())
