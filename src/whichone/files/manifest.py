"""`manifest.json`: what a folder contains and how it was made, with checksums of every file and of itself."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BrokenFolder, Missing, NewerFormat
from whichone.files.lines import read_json
from whichone.secrets import masked

FORMAT = 2
"""1: a benchmark's passages are a table of its own; 2: they are a corpus."""
MANIFEST = "manifest.json"
TIMES = "timing.parquet"
_CHECKSUM = "checksum"


class FileEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    sha256: str
    bytes: int
    rows: int | None = None
    crc32: str = ""
    """Of each block of 16 MiB, one after another; empty in folders of the first releases."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Only `made` may differ between equal folders."""

    kind: str
    format: int = 1
    name: str = ""
    files: dict[str, FileEntry] = {}
    parameters: dict[str, Any] = {}
    sources: list[dict[str, Any]] = []
    parents: dict[str, str] = {}
    counts: dict[str, Any] = {}
    made: dict[str, Any] = {}

    def content_hash(self) -> str:
        """One hash of all files but measured times: equal content, equal hash."""
        digest = hashlib.sha256()
        for name, entry in sorted(self.files.items()):
            if name == TIMES:
                continue
            digest.update(f"{name}\0{entry.sha256}\n".encode())
        return digest.hexdigest()


def encode_manifest(manifest: Manifest) -> bytes:
    """The manifest as it is written: no key or password is in it, whoever put it there."""
    document = msgspec.to_builtins(manifest)
    for part in ("parameters", "sources", "made"):
        if part in document:
            document[part] = masked(document[part])
    origin = document.setdefault("made", {})
    origin[_CHECKSUM] = _checksum(document)  # in `made`, which may differ between equal folders
    return msgspec.json.format(msgspec.json.encode(document, order="sorted"), indent=2) + b"\n"


def read_manifest(root: Path, kinds: Sequence[str]) -> Manifest:
    """The manifest of a finished folder; `kinds` are what the caller hopes for."""
    wanted = " or ".join(kinds)
    if not root.exists():
        raise Missing(f"no such folder (a {wanted} is wanted)", where=str(root))
    if not (root / MANIFEST).exists():
        if (root / ".partial").exists():
            raise BrokenFolder(
                "the folder is half-written",
                file=root,
                hint="run the command that makes it again: it goes on where it stopped",
            )
        raise BrokenFolder(f"not a {wanted}: it has no {MANIFEST}", file=root)
    return decode_manifest(root / MANIFEST)


def decode_manifest(file: Path) -> Manifest:
    raw = read_json(file)
    if not isinstance(raw, dict) or not isinstance(raw.get("format", FORMAT), int):
        raise BrokenFolder("its manifest is not one of whichone's", file=file)
    if raw.get("format", 1) > FORMAT:
        raise NewerFormat(
            f"written in format {raw['format']}, this whichone knows format {FORMAT}",
            file=file.parent,
            hint="pip install --upgrade whichone",
        )
    origin = raw.setdefault("made", {})
    written = origin.pop(_CHECKSUM, None) if isinstance(origin, dict) else None
    if written is not None and written != _checksum(raw):
        raise _damaged(file)
    try:
        manifest = msgspec.convert(raw, Manifest)
    except msgspec.ValidationError as error:
        raise BrokenFolder(f"its manifest is broken: {error}", file=file) from error
    if written is None and any(entry.crc32 for entry in manifest.files.values()):
        raise _damaged(file)
    return manifest


def _damaged(file: Path) -> BrokenFolder:
    return BrokenFolder(
        "its manifest is damaged: its checksum differs from what was written",
        file=file,
        hint="copy the folder again or make it again; a manifest is not edited by hand",
    )


def _checksum(document: dict[str, Any]) -> str:
    return f"{zlib.crc32(msgspec.json.encode(document, order='sorted')):08x}"
