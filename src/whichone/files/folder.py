"""A folder of tables whose `manifest.json` is the commit point.

The manifest is replaced atomically and last; a file that it does not name does not exist. Work in
progress is under `.partial/`, one process at a time has the lock.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import pyarrow as pa

from whichone.errors import BadInput, BrokenFolder, LockedFolder, UsageError, WhichoneError, masked_record
from whichone.files import manifest as files_manifest
from whichone.files import tables
from whichone.files.lines import read_json, sealed, sealed_records, unsealed, write_atomic
from whichone.files.output import is_at, out_of_room, refuse_to_replace, request_for
from whichone.files.tables import TableSchema, part_name, part_names


class Journal:
    """Lines of JSON, each flushed to disk before the next step; a torn last line is ignored."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if self.path.exists():
            yield from (msgspec.json.decode(record) for record, _ in sealed_records(self.path))

    def read(self) -> list[dict[str, Any]]:
        return list(self)

    def mend(self) -> None:
        """Cut off a torn last line, so that the next entry starts a line of its own."""
        if self.path.exists():
            os.truncate(self.path, max((end for _, end in sealed_records(self.path)), default=0))

    def append(self, entry: Mapping[str, Any], *, sync: bool = True) -> None:
        """Without `sync` the line survives the end of the process, but not of the machine."""
        with self.path.open("ab") as file:
            record = msgspec.json.encode(masked_record(msgspec.to_builtins(entry)))
            file.write(sealed(record) + b"\n")
            file.flush()
            if sync:
                os.fsync(file.fileno())


_kept = False


def promise_to_go_on() -> None:
    """Work was kept: what is said at an interrupt may promise to go on."""
    global _kept
    _kept = True


def may_go_on() -> bool:
    return _kept


_NEXT = "next.json"
_PREVIOUS = "previous.json"
_LOCK = ".lock"
_ROWS = 4_096


class Folder:
    """One folder on disk: open it to read, create it (as a context) to write and commit."""

    def __init__(self, path: Path, manifest: files_manifest.Manifest) -> None:
        self.root, self.manifest = path, manifest
        self._lock: int | None = None
        self._files: dict[str, files_manifest.FileEntry] = {}
        self._resume, self._new = False, False

    # reading

    @classmethod
    def open(cls, path: str | Path, kind: str | Sequence[str]) -> Self:
        root = Path(path)
        kinds = [kind] if isinstance(kind, str) else list(kind)
        manifest = files_manifest.read_manifest(root, kinds)
        if manifest.kind not in kinds:
            raise BadInput(f"of the kind {manifest.kind} (wanted: {' or '.join(kinds)})", file=root)
        return cls.with_sizes_checked(root, manifest)

    @classmethod
    def with_sizes_checked(cls, root: Path, manifest: files_manifest.Manifest) -> Self:
        """A finished folder whose files are all there and as long as its manifest says."""
        for name, entry in manifest.files.items():
            file = root / name
            if not file.exists():
                raise BrokenFolder(f"{name} is missing", file=root, hint="make the folder again")
            if file.stat().st_size != entry.bytes:
                raise BrokenFolder(
                    f"{name} has {file.stat().st_size} bytes, its manifest says {entry.bytes}",
                    file=root,
                    hint="the folder was changed by hand or copied in part; make it again",
                )
        return cls(root, manifest)

    @property
    def content_hash(self) -> str:
        return self.manifest.content_hash()

    def path(self, name: str, *, whole: bool = True) -> Path:
        """Where a committed file is, its checksums compared: all of them, or those of its ends."""
        size = self._entry(name).bytes
        compare = files_manifest.Blocks(self.root / name, self._entry(name).crc32)
        compare([(0, size)] if whole else [(0, 1), (max(size - 1, 0), size)])
        return self.root / name

    def path_by_block(self, name: str) -> tuple[Path, files_manifest.Compare | None]:
        """The same for a reader that compares each block before it uses it; None where all were compared here."""
        large = self._entry(name).bytes > files_manifest.AT_ONCE
        compare = files_manifest.Blocks(self.root / name, self._entry(name).crc32) if large else None
        return self.path(name, whole=not large), compare

    def _entry(self, name: str) -> files_manifest.FileEntry:
        if name not in self.manifest.files:
            raise BrokenFolder(f"it has no {name}", file=self.root)
        return self.manifest.files[name]

    def has(self, name: str) -> bool:
        return name in self.manifest.files

    def parts(self, table: str, *, whole: bool = True) -> list[Path]:
        """The files of a table in the order of its rows: one, or several where it has many rows."""
        self._entry(part_name(table, 0))
        return [self.path(name, whole=whole) for name in part_names(table, self.manifest.files)]

    def rows(self, table: str) -> int:
        """How many rows a table has; none where it is missing."""
        return sum(self.manifest.files[name].rows or 0 for name in part_names(table, self.manifest.files))

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """A table, or some of its columns; only the blocks that are read are compared."""
        self._entry(part_name(name, 0))
        files = part_names(name, self.manifest.files)
        parts = [tables.read_table(self._compared(file, columns), columns) for file in files]
        return pa.concat_tables(parts) if len(parts) > 1 else parts[0]

    def batches(
        self, name: str, columns: Sequence[str] | None = None, size: int = _ROWS
    ) -> Iterator[pa.RecordBatch]:
        """The same, some rows at a time."""
        self._entry(part_name(name, 0))
        files = [self._compared(f, columns) for f in part_names(name, self.manifest.files)]
        return tables.read_batches(files, size, columns)

    def rows_of(self, name: str, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
        return (row for batch in self.batches(name, columns) for row in batch.to_pylist())

    def _compared(self, file: str, columns: Sequence[str] | None) -> Path:
        """Where a table's file is; the checksums of these columns are compared."""
        path = self.path(file, whole=columns is None)
        if columns is not None:
            ranges = tables.column_ranges(path, columns)
            files_manifest.Blocks(path, self.manifest.files[file].crc32)(ranges)
        return path

    def damage(self) -> Iterator[BrokenFolder]:
        """Every file that differs from what was written, all bytes read anew."""
        for name, entry in self.manifest.files.items():
            path = self.root / name
            if blocks := files_manifest.Blocks(path, entry.crc32).damage():
                yield files_manifest.damaged(path, entry.crc32, blocks)
            elif file_hash(path) != entry.sha256:
                yield BrokenFolder(f"{name} is not the file its manifest names", file=self.root)

    def verify(self) -> None:
        for error in self.damage():
            raise error

    # writing

    @classmethod
    def create(cls, path: str | Path, kind: str, *, resume: bool = False, extend: bool = False) -> Self:
        """A folder to write. `resume` keeps work in progress, `extend` keeps committed files."""
        root = Path(path)
        if root.exists() and not root.is_dir():
            raise UsageError("this is a file, not a folder", where=str(root))
        manifest = files_manifest.Manifest(kind=kind)
        finish_interrupted(root)
        if (root / files_manifest.MANIFEST).exists():
            old = files_manifest.read_manifest(root, [kind])
            if old.kind != kind:
                raise UsageError(
                    f"there is a {old.kind} already, which a {kind} may not replace",
                    where=str(root),
                    hint="name another folder, or remove this one yourself",
                )
            if not extend:
                refuse_to_replace(root, kind)
            manifest = old if extend else manifest
        elif root.exists() and any(p.name not in (".partial", _LOCK) for p in root.iterdir()):
            raise UsageError(
                "the folder contains other files", where=str(root), hint="name a new or empty folder"
            )
        folder = cls(root, manifest)
        folder._start(resume)
        folder._files = dict(manifest.files) if extend else {}
        return folder

    def _start(self, resume: bool) -> None:
        self._resume, self._new = resume, not self.root.exists()
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(self.root)
            if resume:
                promise_to_go_on()
            else:
                shutil.rmtree(self.partial, ignore_errors=True)
            self.partial.mkdir(exist_ok=True)
        except OSError as error:
            raise out_of_room(error, self.root) or BadInput(
                f"cannot be written: {error.strerror}", file=self.root
            ) from error

    @property
    def partial(self) -> Path:
        return self.root.absolute() / ".partial"  # Arrow takes a relative a:b for an address

    @property
    def journal(self) -> Journal:
        promise_to_go_on()
        return Journal(self.partial / "journal.jsonl")

    def resumes(self, identity: Mapping[str, Any]) -> bool:
        """Whether a killed writer of this very thing began here; files that another left are removed."""
        if self.journal.read()[:1] == [msgspec.to_builtins(identity)]:
            return True
        for file in self.partial.iterdir():
            if file.is_file():
                file.unlink()
        self.journal.append(identity)
        return False

    def write(self, schema: TableSchema, table: pa.Table | pa.RecordBatchReader) -> int:
        """Write one table, to be named by the next commit; what is read by batches is in key order."""
        write = tables.write_table if isinstance(table, pa.Table) else tables.write_batches
        rows = write(self.partial / schema.file, table, schema)
        self.adopt(schema.file, rows=rows)
        return rows

    def write_in_any_order(self, schema: TableSchema, some: Iterable[pa.Table]) -> None:
        """Write one table whose rows come in any order, some at a time."""
        batches = (batch for rows in some for batch in rows.to_batches())
        ordered = tables.in_key_order(batches, schema, self.partial)
        self.adopt(schema.file, rows=tables.write_batches(self.partial / schema.file, ordered, schema))

    def write_bytes(self, name: str, data: bytes) -> None:
        (self.partial / name).write_bytes(data)
        self.adopt(name)

    def adopt(
        self, name: str, *, rows: int | None = None, entry: files_manifest.FileEntry | None = None
    ) -> None:
        """Name a file that is in `.partial` in the next commit; `entry` where its hash is known."""
        self._files[name] = entry or file_entry(self.partial / name, rows)

    def adopt_parts(self, table: str, parts: Mapping[str, files_manifest.FileEntry]) -> None:
        """The same for the files of a table, in place of those that it had."""
        for old in part_names(table, self._files):
            del self._files[old]
        self._files |= parts

    def commit(
        self,
        *,
        name: str = "",
        parameters: Mapping[str, Any] | None = None,
        sources: Sequence[Mapping[str, Any]] = (),
        parents: Mapping[str, str] | None = None,
        counts: Mapping[str, Any] | None = None,
        made: Mapping[str, Any] | None = None,
    ) -> files_manifest.Manifest:
        """Move the files into place and replace the manifest: from here on the folder is done.

        The old manifest goes first, so that a kill in between leaves an unfinished folder, never
        a manifest that names other files.
        """
        manifest = files_manifest.Manifest(
            kind=self.manifest.kind,
            format=files_manifest.FORMAT,
            name=name or self.manifest.name,
            files=dict(sorted(self._files.items())),
            parameters=dict(parameters or {}),
            sources=[dict(s) for s in sources],
            parents=dict(parents or {}),
            counts=dict(counts or {}),
            made={**(made or {}), **request_for(self.root)},
        )
        write_atomic(self.partial / _NEXT, files_manifest.encode_manifest(manifest))
        self._finish(manifest)
        return manifest

    def _finish(self, manifest: files_manifest.Manifest) -> None:
        """The steps of a commit; done again after a kill between any two of them, they end the same."""
        previous = self.partial / _PREVIOUS
        if (self.root / files_manifest.MANIFEST).exists() and not previous.exists():
            (self.root / files_manifest.MANIFEST).replace(previous)  # it names the files that have to go
        (self.root / files_manifest.MANIFEST).unlink(missing_ok=True)
        for name in manifest.files:
            if (self.partial / name).exists():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                (self.partial / name).replace(self.root / name)
        for name in _files_named_in(previous) - manifest.files.keys():
            (self.root / name).unlink(missing_ok=True)
        write_atomic(self.root / files_manifest.MANIFEST, files_manifest.encode_manifest(manifest))
        self._remove_partial()
        self.manifest = manifest

    def _remove_partial(self) -> None:
        """`next.json` last: as long as it is there, the next writer completes the commit."""
        for path in self.partial.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != _NEXT:
                path.unlink(missing_ok=True)
        shutil.rmtree(self.partial, ignore_errors=True)

    def close(self) -> None:
        if self._lock is not None:
            (self.root / _LOCK).unlink(missing_ok=True)  # before another process can have it
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """After an error nothing is left of what could not go on from there."""
        begun = (self.partial / _NEXT).exists()  # a commit, which the next writer completes
        undone = kind is not None and not self._resume and not begun
        if undone:
            shutil.rmtree(self.partial, ignore_errors=True)
        self.close()
        if undone and self._new:
            with contextlib.suppress(OSError):
                self.root.rmdir()
        if error is not None and (full := out_of_room(error, self.root)) is not None:
            raise full from error


def _files_named_in(manifest: Path) -> set[str]:
    try:
        return set(files_manifest.decode_manifest(manifest).files) if manifest.exists() else set()
    except BadInput:  # damaged: what it named stays
        return set()


def finish_interrupted(root: Path) -> None:
    """Complete a commit that was killed between its first and last step."""
    if not (root / ".partial" / _NEXT).exists():
        return
    manifest = files_manifest.decode_manifest(root / ".partial" / _NEXT)
    folder = Folder(root, manifest)
    folder._lock = _lock(root)
    try:
        folder._finish(manifest)
    finally:
        folder.close()


def _lock(root: Path) -> int:
    while True:
        handle = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(handle, 32).decode(errors="replace").strip()
            os.close(handle)
            raise LockedFolder(
                f"another process is writing this folder (process {holder or 'unknown'})",
                file=root,
                hint="wait for it, or end it",
            ) from None
        if is_at(root / _LOCK, handle):
            break
        os.close(handle)  # its last owner removed the file after it was opened here
    os.ftruncate(handle, 0)
    os.write(handle, str(os.getpid()).encode())
    return handle


def wait_until_unlocked(root: Path) -> None:
    try:
        handle = os.open(root / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def file_entry(file: Path, rows: int | None = None) -> files_manifest.FileEntry:
    sha256, crc32 = files_manifest.sums_of(file)
    return files_manifest.FileEntry(sha256, file.stat().st_size, rows, crc32)


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_kinds(root: Path) -> Iterator[tuple[Path, str]]:
    """Every finished folder at or below a place, with its kind; unreadable ones are passed over."""
    for manifest in sorted(root.rglob(files_manifest.MANIFEST)):
        if ".partial" in manifest.parts:
            continue
        try:
            yield manifest.parent, str(read_json(manifest).get("kind", ""))
        except (BadInput, AttributeError):
            continue


# What was committed to a finished folder after its manifest, which stays as it is.


UPDATES = "updates.json"


class UpdateState(msgspec.Struct, frozen=True, kw_only=True):
    """Folders that were added, files with the rows of each part that were removed, and a journal of what came last."""

    generation: int = 0
    segments: tuple[str, ...] = ()
    removed: dict[str, str] = {}
    files: dict[str, files_manifest.FileEntry] = {}

    @property
    def journal(self) -> str:
        return f"journal-{self.generation:06}.jsonl"


def read_updates(root: Path) -> UpdateState:
    """The state of a folder's updates; the default one where there were none."""
    try:
        content = (root / UPDATES).read_bytes()
    except FileNotFoundError:
        begun = [*root.glob("segments/*"), *root.glob("removed-*")]
        if begun or any(journal.stat().st_size for journal in root.glob("journal-*.jsonl")):
            raise BrokenFolder(
                f"{UPDATES} is missing, which names what was added and removed",
                file=root,
                hint="copy the folder again",
            ) from None
        return UpdateState()
    if (record := unsealed(content)) is None:
        raise BrokenFolder(
            f"{UPDATES} is damaged: its checksum differs from what was written",
            file=root,
            hint="copy the folder again; what it no longer names is still there",
        )
    return msgspec.json.decode(record, type=UpdateState)


def write_updates(root: Path, state: UpdateState) -> None:
    """Replace the state; its journal is there before it, so that a missing one is noticed."""
    (root / state.journal).touch()
    write_atomic(root / UPDATES, sealed(msgspec.json.encode(state)))


class FolderReport(msgspec.Struct, frozen=True):
    folder: str
    kind: str
    files: int
    bytes: int
    damage: list[str] = []


def verify_folders(places: Sequence[Path]) -> Iterator[FolderReport]:
    """A report on each finished or half-written folder at or below the places."""
    for place in places:
        roots = sorted(
            {file.parent for file in place.rglob(files_manifest.MANIFEST) if ".partial" not in file.parts}
        )
        if not roots:
            if (place / ".partial").exists():
                raise BrokenFolder(
                    "the folder is half-written",
                    file=place,
                    hint="run the command that makes it again: it goes on where it stopped",
                )
            raise BadInput(f"no {files_manifest.MANIFEST} is in it or below it", file=place)
        yield from map(verify_folder, roots)


def verify_folder(root: Path) -> FolderReport:
    try:
        manifest = files_manifest.decode_manifest(root / files_manifest.MANIFEST)
    except WhichoneError as error:
        return FolderReport(str(root), "", 0, 0, [error.message])
    files, damage = dict(manifest.files), []
    try:
        state = read_updates(root)
        files |= state.files
        missing = [name for name in state.segments if not (root / name / files_manifest.MANIFEST).exists()]
        damage += [f"{name} is missing" for name in missing]
        if (root / UPDATES).exists():
            list(sealed_records(root / state.journal))
    except (WhichoneError, FileNotFoundError) as error:
        damage.append(str(error))
    for name, entry in files.items():
        try:
            Folder.with_sizes_checked(root, msgspec.structs.replace(manifest, files={name: entry})).verify()
        except WhichoneError as error:
            damage.append(error.message)
        except OSError as error:
            damage.append(f"{name} cannot be read: {error.strerror}")
    damage += [
        f"{sums.stem} is damaged: it is made again when it is needed"
        for sums in root.glob("*.sums")
        if (root / sums.stem).exists() and not files_manifest.is_whole(root / sums.stem)
    ]
    size = sum(entry.bytes for entry in files.values())
    return FolderReport(str(root), manifest.kind, len(files), size, damage)
