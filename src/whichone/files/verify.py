"""Finding all damage in folders and the folders below them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from whichone.errors import BadInput, BrokenFolder, WhichoneError
from whichone.files.folder import Folder
from whichone.files.manifest import MANIFEST, decode_manifest


class FolderReport(msgspec.Struct, frozen=True):
    """One folder: how much was compared, and a text for each file that differs."""

    folder: str
    kind: str
    files: int
    bytes: int
    damage: list[str] = []


def verify_folders(places: Sequence[Path]) -> Iterator[FolderReport]:
    """A report on each finished or half-written folder at or below the places."""
    for place in places:
        roots = sorted({file.parent for file in place.rglob(MANIFEST) if _committed(file)})
        if not roots:
            if (place / ".partial").exists():
                raise BrokenFolder(
                    "the folder is half-written",
                    file=place,
                    hint="run the command that makes it again: it goes on where it stopped",
                )
            raise BadInput(f"no {MANIFEST} is in it or below it", file=place)
        yield from map(verify_folder, roots)


def verify_folder(root: Path) -> FolderReport:
    """Every file of one folder, compared in full."""
    try:
        manifest = decode_manifest(root / MANIFEST)
    except WhichoneError as error:
        return FolderReport(str(root), "", 0, 0, [error.message])
    damage = []
    for name, entry in manifest.files.items():
        try:
            part = msgspec.structs.replace(manifest, files={name: entry})
            Folder.with_sizes_checked(root, part).verify()
        except WhichoneError as error:
            damage.append(error.message)
        except OSError as error:
            damage.append(f"{name} cannot be read: {error.strerror}")
    size = sum(entry.bytes for entry in manifest.files.values())
    return FolderReport(str(root), manifest.kind, len(manifest.files), size, damage)


def _committed(manifest: Path) -> bool:
    return ".partial" not in manifest.parts
