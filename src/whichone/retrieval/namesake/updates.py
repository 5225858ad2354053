"""Adding to an index and removing from it while others read it; a kill loses nothing confirmed.

The base of an index never changes. `updates.json` names the segments added to it, the rows of each part that
were removed, and a journal; it is replaced by a rename. What was added or removed last is a line of the
journal each, on disk before the call returns; a torn last line was never confirmed. Once the journal has
`FOLD` passages they are made a segment, together with segments that are not much larger.
"""

import contextlib
import fcntl
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.corpus.given import Row, Thing, not_text, passage_rows, same_id, save_passages
from whichone.errors import BrokenFolder, Missing
from whichone.files.folder import UPDATES, Folder, UpdateState, file_entry, read_updates, write_updates
from whichone.files.lines import sealed, sealed_records
from whichone.files.manifest import Manifest
from whichone.retrieval.bm25 import Bm25Parameters
from whichone.retrieval.namesake.lexical import Keys
from whichone.retrieval.namesake.snapshot import NAME, Index, Part, build_part, in_order

FOLD = 500
# Of what is only in the journal, all but the last so many are put into a part in memory that stays.
SEAL = 48
_TRIES = 20
Rows = npt.NDArray[np.int64]


class UpdateEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the journal."""

    add: tuple[Row, ...] = ()
    names: tuple[Thing, ...] = ()
    remove: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


class _Sealed:
    """Passages of the journal as a part in memory that does not change; what is replaced or removed is left out."""

    def __init__(self, part: Part, rows: Sequence[Mapping[str, Any]]) -> None:
        self.part = part
        self._places = {id(row): n for n, row in enumerate(rows)}
        self._rows = rows

    def __contains__(self, row: Row) -> bool:
        return id(row) in self._places

    def gone(self, recent: Mapping[str, Row]) -> set[int]:
        """The rows that the journal has replaced or removed since."""
        still = {self._places[id(row)] for row in recent.values() if id(row) in self._places}
        return set(range(len(self._rows))) - still


class Updates:
    """The state of one index folder as this process last read it, and the way to change it."""

    def __init__(self, folder: Path, parameters: Bm25Parameters, options: dict[str, Any]) -> None:
        self.folder = folder
        self._bm25 = parameters
        self._options = options
        wanted = str(options.get("language") or "auto")
        self._language = None if wanted == "auto" else wanted
        self._parts: dict[str, Part] = {}
        self._terms: dict[str, tuple[str, Keys]] = {}
        self._load()

    # reading

    def refresh(self) -> bool:
        """Take over what was committed since; whether there was anything."""
        if read_updates(self.folder).generation != self._state.generation:
            self._load()
            return True
        try:
            return self._catch_up()
        except FileNotFoundError:  # of the journal: a writer has made it a segment in the meantime
            self._load()
            return True

    def _load(self) -> None:
        for _ in range(_TRIES):
            state = read_updates(self.folder)
            try:
                self._open(state)
                self._catch_up(always=True)
            except (BrokenFolder, Missing, FileNotFoundError) as error:
                if read_updates(self.folder).generation != state.generation:
                    continue  # a writer has merged these parts in the meantime
                if isinstance(error, FileNotFoundError):
                    raise BrokenFolder(
                        f"{state.journal} is missing, which has what was added last",
                        file=self.folder,
                        hint="copy the folder again",
                    ) from error
                raise
            return

    def _open(self, state: UpdateState) -> None:
        base = self._parts.get(".") or Part.open(self.folder)
        mean = base.lexical.words() / max(len(base.lexical), 1)
        parts = {".": base}
        for name in state.segments:
            parts[name] = self._parts.get(name) or Part.open(self.folder / name, mean)
        later = Folder.with_sizes_checked(self.folder, Manifest(kind=NAME, files=state.files))
        removed = {
            name: set(np.load(later.path(state.removed[name])).tolist()) if name in state.removed else set()
            for name in parts
        }
        self._state, self._parts, self._mean = state, parts, mean
        # rows of the parts on disk are looked up here, whether they still count or not
        self._committed = Index(list(parts.values()), self._bm25, None, self._language)
        self._sealed: _Sealed | None = None
        self._terms = {}
        self._removed: dict[str, set[int]] = removed
        self._recent: dict[str, Row] = {}
        self._things: dict[str, Thing] = {}
        self._read_to = 0

    def _catch_up(self, *, always: bool = False) -> bool:
        """Apply the lines of the journal that are new."""
        entries = list(self._new_entries())
        for entry in entries:
            self._apply(entry)
        if entries or always:
            self.index = self._snapshot()
        return bool(entries)

    def _new_entries(self) -> Iterator[UpdateEntry]:
        journal = self.folder / self._state.journal
        if self._state == UpdateState() and not journal.exists():
            return  # nothing was ever added
        records = list(sealed_records(journal, self._read_to))
        self._read_to = records[-1][1] if records else self._read_to
        for record, _ in records:
            yield msgspec.json.decode(record, type=UpdateEntry)

    def _apply(self, entry: UpdateEntry) -> None:
        for entity in entry.entities:
            self._drop(self._committed.rows_of_entity(entity))
            for own in [o for o, row in self._recent.items() if row["entity"] == entity]:
                del self._recent[own]
        for identity in entry.remove:
            self._drop(self._committed.rows_of(identity))
            for own, row in list(self._recent.items()):
                if identity in (own, row["id"], row["page"]):
                    del self._recent[own]
        for row in entry.add:
            if (own := _own(row)) not in self._recent:
                self._drop(self._committed_rows(own))
            self._recent[own] = row
        self._things |= {thing.id: thing for thing in entry.names}

    def _committed_rows(self, own: str) -> Iterator[int]:
        """The rows of a passage by its own id, not those of a page of the same id."""
        for part, start in zip(self._committed.parts, self._committed.pages.row_starts, strict=True):
            row = part.corpus.by_source_id([own])[0]
            row = part.corpus.row(own) if row is None else row
            if row is not None:
                yield row + start

    def _drop(self, rows: Iterable[int]) -> None:
        names = list(self._parts)
        starts = self._committed.pages.row_starts
        for row in rows:
            number = int(np.searchsorted(starts, row, "right")) - 1
            self._removed[names[number]].add(row - starts[number])

    def _snapshot(self) -> Index:
        """All parts on disk and, in memory, what the journal adds: most of it sealed, the latest by itself."""
        parts = list(self._parts.values())
        removed = [_sorted(self._removed[name]) for name in self._parts]
        if len(self._latest()) > SEAL:
            rows = list(self._recent.values())
            self._sealed = _Sealed(self._in_memory(rows), in_order(rows))
        if self._sealed is not None:
            parts.append(self._sealed.part)
            removed.append(_sorted(self._sealed.gone(self._recent)))
        if latest := self._latest():
            parts.append(self._in_memory(latest))
            removed.append(np.zeros(0, np.int64))
        return Index(parts, self._bm25, removed, self._language)

    def _latest(self) -> list[Row]:
        """What the journal adds and is not in the sealed part as it is now."""
        rows = self._recent.values()
        return list(rows) if self._sealed is None else [r for r in rows if r not in self._sealed]

    def _in_memory(self, rows: Sequence[Row]) -> Part:
        return Part.of(rows, self._given(rows), self._keys(rows), self._bm25, self._mean)

    def _keys(self, rows: Sequence[Row]) -> list[Keys]:
        """Each passage's terms, analysed once."""
        listed = []
        for row in rows:
            title = f"{row['title'] or ''} " * self._bm25.title_weight
            text = f"{title}{row['text']}"
            if (known := self._terms.get(row["id"])) is None or known[0] != text:
                known = self._terms[row["id"]] = (text, self._committed.lexical.keys(text))
            listed.append(known[1])
        return listed

    def _given(self, rows: Sequence[Row]) -> list[Thing]:
        """Names given with these passages, and those given earlier for the same entities."""
        things = dict(self._things)
        for entity in dict.fromkeys(row["entity"] for row in rows if row["entity"]):
            if entity not in things and (known := self._known_thing(entity)) is not None:
                things[entity] = known
        return list(things.values())

    def _known_thing(self, entity: str) -> Thing | None:
        for part in self._parts.values():
            rows = part.fields.rows("entity", [entity])
            if len(rows) and part.given is not None:
                return part.given.thing(int(part.corpus.pages_of_rows(rows[:1])[0]))
        return None

    # writing

    def add(self, passages: Any, names: Iterable[Thing] = ()) -> int:
        """Add passages, or replace those of the same id; they are on disk when this returns.

        A record without an id gets one that no other ever has.
        """
        things = tuple(names)
        with self._writing():
            rows: dict[str, Row] = {}
            for row in passage_rows(passages, self._next_number, self._owner, lambda _: uuid.uuid4().hex):
                if rows.setdefault(_own(row), row) is not row:
                    raise same_id(_own(row))
            for thing in things:  # passages of earlier parts get their new names in this one
                for row in self._rows_known_as(thing.id):
                    rows.setdefault(_own(row), row)
            kept = tuple(self._numbered(row) for row in rows.values())
            self._write(UpdateEntry(add=kept, names=things))
            return len(kept)

    def remove(self, ids: Iterable[str] = (), entities: Iterable[str] = ()) -> int:
        """Remove passages or whole pages by id, or all passages of entities; how many passages."""
        with self._writing():
            before = len(self.index)
            self._write(UpdateEntry(remove=tuple(ids), entities=tuple(entities)))
            return before - len(self.index)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with (self.folder / ".updating").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.refresh()
            yield

    def _write(self, entry: UpdateEntry) -> None:
        try:
            line = sealed(msgspec.json.encode(entry)) + b"\n"
        except UnicodeEncodeError:
            raise not_text(entry.add) from None
        if not (self.folder / UPDATES).exists():
            write_updates(self.folder, self._state)
        with (self.folder / self._state.journal).open("ab") as file:
            if file.tell() != self._read_to:  # what a killed writer left unfinished
                file.truncate(self._read_to)
                file.seek(self._read_to)
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._catch_up()
        if len(self._recent) > FOLD:
            self.fold()

    def _next_number(self, page: str) -> int:
        numbers = [-1]
        for part in self.index.parts:
            place = part.corpus.page_row(page)
            rows = () if place is None else part.corpus.rows_of(place)
            numbers += [int(part.corpus.value(row, "n")) for row in rows]
        return 1 + max(numbers)

    def _owner(self, page: str) -> str | None:
        """The entity that a page is about."""
        for part in self.index.parts:
            place = part.corpus.page_row(page)
            rows = () if place is None else part.corpus.rows_of(place)
            about = (part.corpus.value(row, "entity") for row in rows)
            if (entity := next(filter(None, about), None)) is not None:
                return str(entity)
        return None

    def _numbered(self, row: Row) -> Row:
        """A passage that replaces another keeps its id."""
        for old in self.index.rows_of(_own(row)):
            passage, _ = self.index.pages.passage(old)
            if passage.page == row["page"] and (passage.source_id or passage.id) == _own(row):
                return {**row, "id": passage.id, "n": int(passage.id.rpartition("#")[2])}
        return row

    def _rows_known_as(self, identity: str) -> Iterator[Row]:
        rows = list(self.index.rows_of_entity(identity)) or list(self.index.rows_of(identity))
        kept = self.index.whole.keeps(np.array(rows, np.int64))
        for row in np.array(rows, np.int64)[kept].tolist():
            yield self._row(row)

    def _row(self, row: int) -> Row:
        passage, fields = self.index.pages.passage(row)
        (created,) = passage_rows([passage])
        return {**created, "fields": fields}

    def fold(self) -> None:
        """Make the journal's passages a segment, together with segments that are not much larger."""
        merged: list[str] = []
        size = len(self._recent)
        for name in reversed(self._state.segments):
            if len(self._parts[name].corpus) > 2 * size:
                break
            merged.append(name)
            size += len(self._parts[name].corpus)
        rows = dict(self._recent)
        things = {thing.id: thing for thing in self._given(list(rows.values()))}
        for name in merged:
            part = self._parts[name]
            gone = self._removed[name]
            for n, record in enumerate(part.corpus.passages.to_pylist()):
                if n not in gone:
                    rows.setdefault(_own(record), record)
            for thing in part.given.things() if part.given is not None else ():
                things.setdefault(thing.id, thing)
        generation = self._state.generation + 1
        kept = tuple(name for name in self._state.segments if name not in merged)
        if rows:
            kept = (*kept, self._build(generation, list(rows.values()), list(things.values())))
        removed = {
            name: f"removed-{generation:06}-{number}.npy"
            for number, name in enumerate(self._parts)
            if self._removed[name] and name not in merged
        }
        for name, file in removed.items():
            np.save(self.folder / file, _sorted(self._removed[name]))
        files = {name: file_entry(self.folder / name) for name in removed.values()}
        write_updates(
            self.folder, UpdateState(generation=generation, segments=kept, removed=removed, files=files)
        )
        self._load()
        self._delete_unnamed()

    def _build(self, generation: int, rows: list[Row], things: list[Thing]) -> str:
        name = f"segments/{generation:06}"
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        beside = self.folder / f"segments/corpus-{generation:06}"
        shutil.rmtree(beside, ignore_errors=True)
        language = self._parts["."].corpus.language
        corpus = save_passages(beside, rows, language="" if language == "en" else language)
        build_part(corpus, place, self._options, things, strict=False)
        shutil.rmtree(beside)
        return name

    def _delete_unnamed(self) -> None:
        """What no state names any more; readers have opened theirs already."""
        named = {*self._state.removed.values(), self._state.journal}
        for pattern in ("removed-*.npy", "journal-*.jsonl"):
            for file in self.folder.glob(pattern):
                if file.name not in named:
                    file.unlink(missing_ok=True)
        for place in self.folder.glob("segments/*"):
            if f"segments/{place.name}" not in self._state.segments:
                shutil.rmtree(place, ignore_errors=True)


def _own(row: Row) -> str:
    return str(row["source_id"] or row["id"])


def _sorted(rows: set[int]) -> Rows:
    return np.array(sorted(rows), np.int64)
