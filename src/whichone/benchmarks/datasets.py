"""Published datasets by name: where their files are, how large, under which licence."""

from __future__ import annotations

import functools
import os
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from whichone import registry
from whichone.errors import UsageError, did_you_mean
from whichone.files.output import cache_folder

NOT_VERIFIED = "not verified"


class PublishedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file: its name here, its place in its collection's folder, its addresses in order."""

    name: str
    collection: str
    file: str
    addresses: tuple[str, ...]
    about: str = ""
    licence: str = ""
    citation: str = ""
    size: int | None = None
    sha256: str | None = None

    def path(self, folder: str | Path | None = None) -> Path:
        """Where it is stored, or has to be put."""
        return (Path(folder) if folder else data_folder()) / self.collection / self.file


def data_folder() -> Path:
    """`WHICHONE_DATA`, else `datasets` in the cache folder."""
    folder = os.environ.get("WHICHONE_DATA")
    return Path(folder) if folder else cache_folder() / "datasets"


@functools.cache
def published_files() -> dict[str, PublishedFile]:
    """All that can be fetched: dumps and other general files, and what each paper offers.

    A paper's `DATASETS` name a TOML file of its folder, or a function that gives the files.
    """
    files = listed_files(__package__ or "", "datasets.toml")
    for name in registry.names("datasets"):
        package, _, offered = registry.target("datasets", name).partition(":")
        toml = offered.endswith(".toml")
        files += listed_files(package, offered) if toml else registry.find("datasets", name)()
    return {file.name: file for file in files}


def listed_files(package: str, name: str) -> list[PublishedFile]:
    """The files that a TOML file of a package describes."""
    text = resources.files(package).joinpath(name).read_text("utf-8")
    return [
        file
        for collection, entry in tomllib.loads(text).items()
        for file in _files(collection, entry)
    ]


def _files(collection: str, entry: Mapping[str, Any]) -> list[PublishedFile]:
    shared = {key: entry[key] for key in ("about", "licence", "citation")}
    return [
        PublishedFile(
            name=f"{collection}/{name}",
            collection=collection,
            file=file_entry["file"],
            addresses=tuple(
                address.replace("{file}", file_entry["file"])
                for address in file_entry.get("addresses", entry.get("addresses", ()))
            ),
            size=file_entry.get("size"),
            sha256=file_entry.get("sha256"),
            **shared,
        )
        for name, file_entry in entry["files"].items()
    ]


def find_files(name: str) -> list[PublishedFile]:
    """The file of that name, or all below it: `kilt/nq-dev`, `kilt/nq`, `kilt`."""
    known = published_files()
    if name in known:
        return [known[name]]
    below = [file for key, file in known.items() if key.startswith((f"{name}/", f"{name}-"))]
    if not below or ("/" not in name and not any(f.collection == name for f in below)):
        choices = {*known, *(file.collection for file in known.values())}
        raise UsageError(f"no dataset is called {name!r}", hint=did_you_mean(name, choices))
    return [f for f in below if "/" in name or f.collection == name]


def dataset_rows() -> list[dict[str, Any]]:
    """What `whichone list datasets` prints."""
    return [
        {
            "name": file.name,
            "file": file.file,
            "bytes": file.size,
            "checked": "sha256" if file.sha256 else NOT_VERIFIED,
            "here": file.path().exists(),
            "licence": file.licence,
            "about": file.about,
            "citation": file.citation,
            "addresses": list(file.addresses),
        }
        for file in published_files().values()
    ]
