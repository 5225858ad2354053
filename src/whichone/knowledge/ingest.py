"""Dumps and catalogues in, the tables of a knowledge base out.

Each source is cut into parts, each part is read by some worker and written under `.partial/`, and
the journal names the finished ones: a run that was killed goes on from there. The tables are then
merged from the parts; nothing in them depends on how many workers there were.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from whichone import __version__
from whichone.errors import BadInput, UsageError, did_you_mean
from whichone.files.folder import Folder, finish_interrupted
from whichone.files.lines import read_lines
from whichone.files.manifest import MANIFEST, BlockHashes, Manifest, block_hash
from whichone.files.output import already_there, may_overwrite
from whichone.files.parts import join_frames, repacked_name
from whichone.files.pools import run_jobs
from whichone.files.tables import ROW_GROUP, connect
from whichone.knowledge.engines import DuckdbQueries, MergeQueries
from whichone.knowledge.formats.catalogue import CatalogueSource
from whichone.knowledge.formats.sources import PartJob, RefusedRecord, Source, key_of, pages_source
from whichone.knowledge.formats.wiki_dumps import ViewsFile, redirects_source
from whichone.knowledge.formats.wikidata import SUBCLASS_OF, WikidataDump, WikidataSelection
from whichone.knowledge.ingest_options import IngestOptions, SourceOptions
from whichone.knowledge.knowledge_tables import KIND
from whichone.knowledge.merge import Finished, PartWork, Work, merge_tables
from whichone.options import takes
from whichone.progress import progress, talk

BAD_RECORDS = "bad.jsonl"
_MEMORY = re.compile(r"\d+(\.\d+)? *[KMGT]i?B", re.IGNORECASE)


def ingest(path: str | Path, sources: Sequence[Source], options: IngestOptions | None = None) -> Manifest:
    """Take sources into a knowledge base, a new one or one that is there."""
    options = options or IngestOptions()
    if not sources:
        raise UsageError("nothing to take in", hint="name a dump, for example --wikidata FILE")
    if not _MEMORY.fullmatch(options.memory):
        raise UsageError(f"{options.memory!r} is no amount of memory", hint="for example 4GB")
    for source in sources:
        source.check()
    path = Path(path)
    with _cluster(options) as session:
        targets = [repacked_name(source.path) for source in sources] if options.repack else []
        described = [_described(source, session) for source in sources]
        if (known := _known(path, described)) is not None:
            talk(f"{path}: everything is in it already; nothing to do")
            return known
        if not (anew := may_overwrite(path)):
            _refuse_changed(path, described)
        with Folder.create(path, KIND, resume=not options.restart, extend=not anew) as folder:
            _check_new(folder, described)
            work = [
                Work(source, entry["key"], folder.partial, entry["parameters"])
                for source, entry in zip(sources, described, strict=True)
            ]
            # Refuse to throw away unfinished work of another command.
            mine = {w.key for w in work}
            if others := [e for e in folder.journal.read() if e["key"] not in mine]:
                names = sorted({e["file"] for e in others})
                raise UsageError(
                    f"it contains unfinished work on {', '.join(names)}, with other options or another file",
                    where=str(folder.root),
                    hint="finish that first with the command that began it, or drop it with --restart",
                )
            _read_parts(folder, work, options, session)
            _check_share(folder, work, options)
            # Positions go on from file to file of a kind, in the order in which they are taken in.
            taken: Counter[str] = Counter()
            for entry in folder.manifest.sources:
                taken[entry["kind"]] += entry["positions"]
            for owner in work:
                owner.start = taken[owner.source.kind]
                taken[owner.source.kind] += owner.counted("positions")
            with _queries(folder, options, session) as queries:
                rows = merge_tables(folder, work, queries)
            if refused := [record for w in work for record in w.refused()]:
                held = folder.manifest.files.get(BAD_RECORDS)
                before = folder.path(BAD_RECORDS).read_bytes() if held else b""
                folder.write_bytes(BAD_RECORDS, before + _lines(refused))
            for owner, target in zip(work if targets else (), targets, strict=True):
                join_frames(target, [owner.file(f.range.number, "zst") for f in owner.finished])
                talk(f"repacked as {target}")
            added = [
                {**entry, "positions": owner.counted("positions"), "counts": owner.counts()}
                | ({"licence": options.licence} if options.licence else {})
                for owner, entry in zip(work, described, strict=True)
            ]
            return folder.commit(
                sources=[*folder.manifest.sources, *added],
                counts=dict(sorted({**folder.manifest.counts, **rows}.items())),
                made={"whichone": __version__},
            )


@contextmanager
def _cluster(options: IngestOptions) -> Iterator[Any]:
    if options.engine == "duckdb":
        yield None
        return
    from whichone.knowledge.spark import start_spark

    session = start_spark(options.master, options.memory)
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _queries(folder: Folder, options: IngestOptions, session: Any) -> Iterator[MergeQueries]:
    if session is None:
        with connect(options.memory, folder.partial) as connection:
            yield DuckdbQueries(connection)
        return
    from whichone.knowledge.spark import SparkQueries

    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(ROW_GROUP))
    yield SparkQueries(session)


def _described(source: Source, session: Any) -> dict[str, Any]:
    hashes: BlockHashes | None = None
    if session is not None:
        from whichone.knowledge.spark import on_workers

        hashes = partial(on_workers, session, block_hash)
    fingerprint = source.fingerprint(hashes)
    return {
        "kind": source.kind,
        "file": source.path.name,
        **fingerprint,
        "parameters": source.parameters(),
        "key": key_of(source, fingerprint),
    }


def _known(path: Path, described: Sequence[dict[str, Any]]) -> Manifest | None:
    """The finished knowledge base that has all these sources, read in the same way.

    A commit that was killed is completed first: what it was about to contain is not to be read again.
    """
    finish_interrupted(path)
    if not (path / MANIFEST).exists():
        return None
    manifest = Folder.open(path, KIND).manifest
    keys = {old["key"] for old in manifest.sources}
    return manifest if all(entry["key"] in keys for entry in described) else None


def _refuse_changed(path: Path, described: Sequence[dict[str, Any]]) -> None:
    """A source that is in the knowledge base already, with other content or other parameters."""
    if not (path / MANIFEST).exists():
        return
    held = {old["key"]: _identity(old) for old in Folder.open(path, KIND).manifest.sources}
    changed = [
        f"{entry['file']} ({_what_changed(entry, path)})"
        for entry in described
        if entry["key"] not in held and _identity(entry) in held.values()
    ]
    if changed:
        raise already_there(path, KIND, f"changed since it was taken in: {', '.join(changed)}")


def _identity(entry: Mapping[str, Any]) -> tuple[str, str]:
    """A catalogue is known by its name, any other source by its file's."""
    named = entry["parameters"].get("name") if entry["kind"] == "catalogue" else None
    return entry["kind"], str(named or entry["file"])


def _what_changed(entry: Mapping[str, Any], path: Path) -> str:
    old = next(s for s in Folder.open(path, KIND).manifest.sources if _identity(s) == _identity(entry))
    words = {"sha256": entry["parameters"].get("file") or "its content", "bytes": "", "key": ""}
    changed = [str(words.get(name, name)) for name in entry if entry[name] != old.get(name)]
    return ", ".join(filter(None, changed))


def _check_new(folder: Folder, described: Sequence[dict[str, Any]]) -> None:
    held = folder.manifest.sources
    for entry in described:
        if any(old["key"] == entry["key"] for old in held):
            raise UsageError(
                f"{entry['file']} is already in it",
                where=str(folder.root),
                hint="name only the files that are new",
            )
    several = [e["file"] for e in (*held, *described) if e["kind"] == "wikidata"]
    if len(several) > 1:
        raise UsageError(
            f"a knowledge base contains one wikidata dump, not {' and '.join(several)}",
            where=str(folder.root),
            hint="make another knowledge base for the other one",
        )
    keys = [entry["key"] for entry in described]
    if len(set(keys)) < len(keys):
        raise UsageError("the same file is named twice")


def _read_parts(folder: Folder, work: Sequence[Work], options: IngestOptions, session: Any) -> None:
    folder.journal.mend()
    for entry in folder.journal.read():
        owner = next(w for w in work if w.key == entry["key"])
        finished = msgspec.convert(entry["finished"], Finished)
        if not options.repack or owner.file(finished.range.number, "zst").exists():
            owner.finished.append(finished)
    task = PartWork(tuple(work), options.on_error == "skip", options.repack is not None)
    total = sum(w.source.path.stat().st_size for w in work)
    if any(w.finished for w in work):
        talk(f"going on: {sum(len(w.finished) for w in work)} parts are finished already")
    with progress("reading", total, "bytes") as advance:
        shown = 0
        for job, finished in _results(task, work, options, session):
            owner = work[job.source]
            owner.finished.append(finished)
            entry = {"key": owner.key, "file": owner.source.path.name, "finished": finished}
            folder.journal.append(msgspec.to_builtins(entry))
            behind = sum(w.source.behind([f.range for f in w.finished]) for w in work)
            advance(behind - shown)
            shown = behind
    for owner in work:
        owner.finished.sort(key=lambda f: f.range.number)


def _results(
    task: PartWork, work: Sequence[Work], options: IngestOptions, session: Any
) -> Iterator[tuple[PartJob, Finished]]:
    if session is None:
        workers = options.workers or 1
        jobs = _open_jobs(work, listed=workers > 1)
        yield from run_jobs(task, jobs, workers, task.describe)
        return
    from whichone.knowledge.spark import run_on_spark

    yield from run_on_spark(session, task, _open_jobs(work, listed=False))


def _open_jobs(work: Sequence[Work], *, listed: bool) -> Iterator[PartJob]:
    """The parts that are not finished; `listed` for workers, which get their records by mail."""
    for number, owner in enumerate(work):
        done = {f.range.number for f in owner.finished}
        for job in owner.source.jobs(number):
            if job.range.number in done:
                continue
            if listed and job.chunks is not None:
                job = msgspec.structs.replace(job, chunks=list(job.chunks))
            yield job


def _check_share(folder: Folder, work: Sequence[Work], options: IngestOptions) -> None:
    if not (refused := [record for w in work for record in w.refused()]):
        return
    count, records = (sum(w.counted(what) for w in work) for what in ("refused", "records"))
    if count > options.bad_share * records:
        place = folder.partial / BAD_RECORDS
        place.write_bytes(_lines(refused))
        raise BadInput(
            f"{count:,} of {records:,} records could not be read, more than {options.bad_share:.2%}",
            file=work[0].source.path if len(work) == 1 else folder.root,
            hint=f"they are listed in {place}; --bad-share allows more",
        )
    talk(f"{count:,} of {records:,} records could not be read; they are listed in {BAD_RECORDS}")


def _lines(refused: Sequence[RefusedRecord]) -> bytes:
    return b"".join(msgspec.json.encode(record) + b"\n" for record in refused)


_PROPERTY = re.compile(r"P[1-9][0-9]*")


@cache
def _wikidata_selection_known() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("wikidata_selection.toml").read_text("utf-8"))


def select(
    languages: Sequence[str] = ("en",),
    *,
    wiki: str | None = None,
    properties: str = "all",
    without_page: bool = False,
    superclasses: bool = False,
) -> WikidataSelection:
    """A selection as it is typed; the wiki is that of the first language unless it is named."""
    if not languages:
        raise UsageError("no language is chosen", hint="for example --language en")
    known = _wikidata_selection_known()["fallbacks"]
    fallbacks = [f for language in languages for f in known.get(language, ["mul"])]
    chosen = chosen_properties(properties)
    if superclasses and chosen is not None:
        chosen = tuple(dict.fromkeys((*chosen, SUBCLASS_OF)))
    return WikidataSelection(
        languages=tuple(dict.fromkeys(languages)),
        fallbacks=tuple(dict.fromkeys(f for f in fallbacks if f not in languages)),
        wiki=wiki or f"{languages[0].replace('-', '_')}wiki",
        properties=chosen,
        without_page=without_page,
        superclasses=superclasses,
    )


def chosen_properties(text: str) -> tuple[str, ...] | None:
    """`all` (None), the name of a collection, or a file with one property id a line."""
    collections = _wikidata_selection_known()["collections"]
    if text == "all":
        return None
    if text in collections:
        return tuple(collections[text])
    if not Path(text).is_file():
        raise UsageError(
            f"{text!r} is neither a file nor a collection of properties",
            hint=did_you_mean(text, ["all", *collections]),
        )
    words = (
        (line, raw.partition(b"#")[0].strip().decode("utf-8", "replace")) for line, raw in read_lines(text)
    )
    properties = {word: line for line, word in words if word}
    for word, line in properties.items():
        if not _PROPERTY.fullmatch(word):
            raise BadInput(f"{word!r} is no property id such as P31", file=text, line=line)
    if not properties:
        raise BadInput("no property is listed", file=text)
    return tuple(properties)


@takes(SourceOptions, "given")
def chosen_sources(given: SourceOptions) -> list[Source]:
    """One source a file, in a fixed order; a MediaWiki dump says its own language if none is."""
    results: list[Source] = []
    named = given.languages[0] if given.languages else None
    if given.wikidata is not None:
        selection = select(
            given.languages or ("en",),
            wiki=given.wiki,
            properties=given.properties,
            without_page=given.without_page,
            superclasses=given.superclasses,
        )
        results.append(WikidataDump(given.wikidata, selection))
    results.extend(pages_source(path, named) for path in given.pages)
    results.extend(ViewsFile(path, named or "en", given.views_rules) for path in given.views)
    results.extend(CatalogueSource(path) for path in given.catalogues)
    if given.redirects:
        results.append(redirects_source(given.redirects))
    return results
