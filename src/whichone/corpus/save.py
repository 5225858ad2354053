"""Makes a corpus of whatever people have, and writes it: passages, then pages, names, and where each is found."""

import contextlib
import functools
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.corpus.corpus import (
    KIND,
    NAMES,
    PAGES,
    PASSAGES,
    Corpus,
    find_corpus,
    page_rows,
    remember,
    with_all_columns,
)
from whichone.corpus.cut import ARTICLE, Cut, cut_corpus
from whichone.corpus.page_names import (
    Named,
    TitlesOfEntities,
    key_hashes,
    names_in_catalogues,
    names_of_page,
    names_of_pages,
)
from whichone.corpus.passage_files import FilePassages, PassageFields, remove_runs
from whichone.errors import BadInput, Missing, WhichoneError
from whichone.files.arrow_records import blocks
from whichone.files.folder import Folder
from whichone.files.lines import write_atomic
from whichone.files.manifest import MANIFEST, encode_manifest
from whichone.files.mapped import (
    BATCH,
    Hashes,
    HashIndex,
    MappedTable,
    Rows,
    column_hashes,
    mapped_rows,
    write_mapped,
)
from whichone.files.output import cache_folder, one_at_a_time
from whichone.files.pools import Worker, available_cores, cores_for, may_be_copied, run_jobs
from whichone.files.tables import in_key_order
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.knowledge.knowledge_tables import page_language
from whichone.names import token_key
from whichone.options import DEFAULT_MEMORY
from whichone.progress import progress
from whichone.records import Passage, page_of
from whichone.text.language import base_code

# The names of a corpus' pages: found by all cores in blocks of pages, sorted on disk.


# Names beyond titles and first sentences, each with the page that it points at.
PageNames = Iterable[tuple[str, Named]]

BLOCK = 2 * BATCH  # Pages whose names one worker looks for at a time


@dataclass(frozen=True)
class PagesByRow:
    """Pages by their rows, from the first to before the end."""

    number: int
    first: int
    end: int

    def __str__(self) -> str:
        return f"pages {self.first:,} to {self.end - 1:,}"


def _write_names_of(folder: Path, language: str, job: PagesByRow) -> None:
    pages, passages = (MappedTable.open(folder / name) for name in ("pages.arrow", "passages.arrow"))
    block = pages.slice(job.first, job.end - job.first, ["page", "title", "first"])
    rows: list[tuple[int, Named]] = []
    ids, titles, firsts = (column.to_pylist() for column in block.columns)
    texts = passages.strings(firsts, "text")
    decided = TitlesOfEntities(folder).of_pages(ids[0], ids[-1]) if ids else {}
    for row, (page, title, text) in enumerate(zip(ids, titles, texts, strict=True), job.first):
        own = names_of_page(title or "", text, language)
        names = decided[page].names(title, own) if page in decided else own
        rows.extend((row, named) for named in names)
    write_mapped(own_names(folder, job.number), name_rows(rows).to_batches(), NAMES.schema)


def name_rows(named: Iterable[tuple[int, Named]]) -> pa.Table:
    rows = [(token_key(n.name), n.name, page, n.kind, n.count) for page, n in named]
    columns = list(zip(*rows, strict=True)) or [()] * len(NAMES.schema)
    return NAMES.from_columns(dict(zip(NAMES.schema.names, columns, strict=True)))


def write_names(folder: Path, corpus: Corpus, more: PageNames) -> int:
    """Write `names.arrow` beside the tables of pages and passages; how many names.

    Runs that a killed writer completed are used again.
    """
    target = folder / "names.arrow"
    if target.exists():
        return len(MappedTable.open(target))
    starts = range(0, corpus.page_count, BLOCK)
    jobs = [PagesByRow(n, s, min(s + BLOCK, corpus.page_count)) for n, s in enumerate(starts)]
    missing = [job for job in jobs if not own_names(folder, job.number).exists()]
    with progress("names", corpus.page_count, "pages") as advance:
        advance(sum(job.end - job.first for job in jobs) - sum(j.end - j.first for j in missing))
        maker = functools.partial(_write_names_of, folder, corpus.language)
        for job, _ in run_jobs(maker, missing, min(cores_for(corpus.page_count), len(missing))):
            advance(job.end - job.first)
    runs = [folder / ".further-names.arrow", *(own_names(folder, job.number) for job in jobs)]
    write_mapped(runs[0], _further_names(corpus, more), NAMES.schema)
    count = write_mapped(target, in_key_order(mapped_rows(runs), NAMES, folder), NAMES.schema)
    for run in runs:
        run.unlink()
    return count


def own_names(folder: Path, number: int) -> Path:
    return folder / f".names-{number:06}.arrow"


def _further_names(corpus: Corpus, more: PageNames) -> Iterator[pa.RecordBatch]:
    for part in blocks(more, BATCH):
        known = corpus.page_rows([page for page, _ in part])
        named = zip(known, (named for _, named in part), strict=True)
        yield from name_rows(
            (row, name) for row, name in named if row is not None and name.name.strip()
        ).to_batches()


Passages: TypeAlias = "pa.Table | pa.RecordBatchReader | FilePassages | Iterable[Passage]"


def save_corpus(
    path: str | Path,
    passages: Passages,
    *,
    name: str = "corpus",
    names: PageNames = (),
    known_as: pa.Table | None = None,
    language: str = "",
    parameters: Mapping[str, Any] | None = None,
    sources: Sequence[Mapping[str, Any]] = (),
    parents: Mapping[str, str] | None = None,
    counts: Mapping[str, Any] | None = None,
    origin: Mapping[str, Any] | None = None,
    remembered: bool = True,
) -> Corpus:
    """Write a corpus; passages that come as a reader come in the order of page and number.

    `language` decides how names are read from first sentences and how retrievers read the texts; English
    where it is not given. `known_as` has names of the entities that passages are about, which decide over titles
    (`page_names.titles_of_entities`). `origin` describes exactly what the passages and names come from: a call that was killed is continued by the next
    one of the same origin, which does not read what is complete again. Not `remembered`, it is not found by its hash.
    """
    with Folder.create(path, KIND, resume=origin is not None) as folder, _no_rest_of_errors(folder):
        if origin is not None:
            continue_or_start(folder, origin)
        rows = _stage(folder, "passages.arrow", _in_order(passages, folder.partial), PASSAGES.schema)
        remove_runs(folder.partial)
        table = MappedTable.open(folder.partial / "passages.arrow")
        with ThreadPoolExecutor(1) as beside:  # checksums of the largest file, while others are made
            adopted = beside.submit(folder.adopt, "passages.arrow", rows=rows)
            pages = _write_pages(folder, table, known_as)
            _write_sources(folder, table, passages)
            known = _write_names(folder, table, pages, names, language)
            adopted.result()
        folder.commit(
            name=name,
            parameters={**(parameters or {}), **({"language": language} if language else {})},
            sources=sources,
            parents=parents,
            counts={"passages": rows, "pages": len(pages), "names": known, **(counts or {})},
        )
    corpus = Corpus.open(path)
    if remembered:
        remember(corpus)
    return corpus


def continue_or_start(folder: Folder, origin: Mapping[str, Any]) -> None:
    """Keep what a killed writer of the very same corpus left; remove what another left."""
    if (begun := {"origin": dict(origin)}) not in folder.journal.read():
        shutil.rmtree(folder.partial)
        folder.partial.mkdir()
        folder.journal.append(begun)


@contextlib.contextmanager
def _no_rest_of_errors(folder: Folder) -> Iterator[None]:
    """Of input that is refused nothing is kept: mended, it is another input."""
    try:
        yield
    except BadInput:
        shutil.rmtree(folder.partial, ignore_errors=True)
        raise


def _stage(folder: Folder, file: str, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> int:
    """Write a table unless a killed writer has completed it; how many rows."""
    path = folder.partial / file
    return len(MappedTable.open(path)) if path.exists() else write_mapped(path, batches, schema)


def _in_order(passages: Passages, folder: Path) -> Iterator[pa.RecordBatch]:
    if isinstance(passages, FilePassages):
        yield from passages(folder)
        return
    if isinstance(passages, pa.RecordBatchReader):
        for batch in passages:
            if batch.schema.equals(PASSAGES.schema):
                yield batch
            else:
                yield from with_all_columns(pa.Table.from_batches([batch])).to_batches()
        return
    table = passages if isinstance(passages, pa.Table) else passage_rows(passages)
    yield from in_key_order(with_all_columns(table), PASSAGES, folder)


def passage_rows(passages: Iterable[Passage]) -> pa.Table:
    numbers = ((p, int(p.id.rpartition("#")[2]) if page_of(p.id) != p.id else 0) for p in passages)
    return PASSAGES.from_rows([{**msgspec.structs.asdict(p), "n": n} for p, n in numbers])


def _write_pages(folder: Folder, passages: MappedTable, known_as: pa.Table | None) -> MappedTable:
    _check_entities(passages)
    decided = TitlesOfEntities.decide(folder.partial, passages, known_as)
    blocks = decided.titled(_checked(page_rows(passages)))
    batches = (batch for block in blocks for batch in block.combine_chunks().to_batches())
    folder.adopt("pages.arrow", rows=_stage(folder, "pages.arrow", batches, PAGES.schema))
    pages = MappedTable.open(folder.partial / "pages.arrow")
    _adopt_index(folder, "page", column_hashes(pages.batches(["page"])))
    return pages


def _checked(blocks: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Pages follow one another in order; one that comes twice was interrupted by another."""
    last = None
    for block in blocks:
        pages: list[str] = block["page"].to_pylist()
        for before, page in zip([last, *pages], pages, strict=False):
            if before is not None and page <= before:
                raise BadInput(
                    f"passages are not in the order of their pages: {page} comes after {before}", ids=[page]
                )
        last = pages[-1]
        yield block


def _check_entities(passages: MappedTable) -> None:
    """Of every writer: the passages of one page are about one entity at most."""
    before: list[pa.RecordBatch] = []
    for batch in passages.batches(["page", "entity"]):
        about = batch.filter(batch["entity"].is_valid())
        if about.num_rows:
            rows = pa.Table.from_batches([*before, about]).combine_chunks()
            here, next_ = rows.slice(0, len(rows) - 1), rows.slice(1)
            same_page = pc.equal(here["page"], next_["page"])
            mixed = pc.and_(same_page, pc.not_equal(here["entity"], next_["entity"]))
            if pc.any(mixed).as_py():
                page = here["page"].filter(mixed)[0].as_py()
                both = ", ".join(rows.filter(pc.equal(rows["page"], page))["entity"].unique().to_pylist())
                raise BadInput(
                    f"the page {page} has passages about several entities: {both}",
                    hint="give each entity a page of its own",
                    ids=[page],
                )
            before = [about.slice(about.num_rows - 1)]


def _write_sources(folder: Folder, passages: MappedTable, given: Passages) -> None:
    """Where passages are found by their own ids, in corpora that have such."""
    if all(b["source_id"].null_count == b.num_rows for b in passages.batches(["source_id"])):
        return
    for first, second in _adopt_index(folder, "source", column_hashes(passages.batches(["source_id"]))):
        own = passages.value(int(first), "source_id")
        # AmbigDocs' files give one pid to two texts; only a file of passages must not
        if isinstance(given, FilePassages) and own == passages.value(int(second), "source_id"):
            raise given.named_twice(own)


def _write_names(
    folder: Folder, passages: MappedTable, pages: MappedTable, more: PageNames, language: str
) -> int:
    corpus = Corpus(passages, hash="", language=language)
    corpus.page_table = pages
    corpus.page_index = HashIndex.open(folder.partial.joinpath, "page")
    count = write_names(folder.partial, corpus, more)
    (folder.partial / TitlesOfEntities.FILE).unlink(missing_ok=True)
    folder.adopt("names.arrow", rows=count)
    _adopt_index(folder, "name", key_hashes(MappedTable.open(folder.partial / "names.arrow")))
    return count


def _adopt_index(folder: Folder, name: str, values: Iterable[tuple[Hashes, Rows]]) -> list[Rows]:
    files, shared = HashIndex.write(folder.partial, name, values)
    for file in files:
        folder.adopt(file)
    return shared


def put_corpus(corpus: Corpus, place: Path) -> None:
    """The same corpus in another folder: linked where the file system allows it, else copied."""
    if corpus.folder is None:
        save_corpus(place, corpus.passages, name=corpus.name, language=corpus.language)
        return
    place.mkdir(parents=True, exist_ok=True)
    manifest = corpus.folder.manifest
    for file in manifest.files:
        (place / file).unlink(missing_ok=True)
        try:
            os.link(corpus.folder.root / file, place / file)
        except OSError:
            shutil.copyfile(corpus.folder.root / file, place / file)
    write_atomic(place / MANIFEST, encode_manifest(msgspec.structs.replace(manifest, name=corpus.name)))


@contextlib.contextmanager
def made_once(origin: Mapping[str, Any] | None, place: Path) -> Iterator[Corpus | None]:
    """The corpus that was made of the same origin by the same code, wherever it is; else the one at `place` is it next time.

    Who makes the same one at once waits for the first.
    """
    if origin is None:
        yield None
        return
    note, known = _note(origin), None
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, WhichoneError):
            stack.enter_context(one_at_a_time(note.parent))
            known = find_corpus(note.read_text("ascii"))
        yield known
        with contextlib.suppress(OSError, WhichoneError):
            remember(corpus := Corpus.open(place))
            if known is None:
                write_atomic(note, corpus.hash.encode())


def _note(origin: Mapping[str, Any]) -> Path:
    key = hashlib.sha256(msgspec.json.encode([code_fingerprint(), origin], order="sorted")).hexdigest()
    return cache_folder() / "corpora" / key[:32] / "hash"


_FEW = 30_000  # Pages that take no longer than starting a process does


@contextlib.contextmanager
def made_meanwhile(
    kb: Folder, cut: Cut, origin: Mapping[str, Any] | None, language: str, out: str | Path
) -> Iterator[Callable[[], object]]:
    """A copy of this process makes the corpus that `made_once` is about to ask for; what is given waits for its end.

    Not of few pages, nor of many, which take all processors, nor what somebody makes, nor where DuckDB has threads.
    """
    place, pages = Path(out).resolve().with_name(f".{Path(out).name}.corpus"), kb.rows("pages")
    worker, made_of = None, {**(origin or {}), "language": "" if base_code(language) == "en" else language}
    if origin and pages > _FEW and cores_for(pages) < available_cores() and place.parent.is_dir():
        with contextlib.suppress(OSError):
            _note(made_of).parent.mkdir(parents=True)  # by the first
            if may_be_copied() and "duckdb" not in sys.modules:
                worker = Worker(functools.partial(_make_once, kb, cut, made_of))
    if worker is None:
        yield lambda: None
        return
    worker.give(place)
    try:
        yield functools.partial(worker.connection.poll, None)
    finally:
        worker.end()
        if place.exists():
            with one_at_a_time(_note(made_of).parent):  # nobody links its files
                shutil.rmtree(place)


def _make_once(kb: Folder, cut: Cut, origin: Mapping[str, Any], place: Path) -> None:
    os.environ["RANK"] = "1"  # another process talks
    with made_once(origin, place) as known:
        if known is None:
            made = {"names": names_of_pages(kb), "language": origin["language"], "remembered": False}
            save_corpus(place, cut_corpus(kb, cut, kind=origin["kind"]), origin=origin, **made)


@functools.cache
def code_fingerprint() -> str:
    """Of the built-in world's source and of the code that turns dumps into a benchmark."""
    digest = hashlib.sha256()
    root = Path(str(files("whichone")))
    for room in ("world", "knowledge", "corpus", "benchmarks", "papers", "files", "text"):
        for path in sorted((root / room).rglob("*")):
            if path.suffix in (".py", ".toml", ".md"):
                digest.update(path.relative_to(root).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# A corpus from whatever people have: a knowledge base, a file of passages, BEIR, KILT, documents.


def make_corpus(
    source: str | Path,
    out: str | Path,
    *,
    fields: PassageFields | None = None,
    cut: Cut | None = None,
    name: str | None = None,
    language: str = "",
    memory: str = DEFAULT_MEMORY,
) -> Corpus:
    """Make a corpus of a source, whose kind is seen from what it is.

    The language is that of the dumps that a knowledge base was made from, unless it is given.
    """
    source = Path(source)
    called = name or source.name.split(".")[0] or "corpus"
    if not source.exists():
        raise Missing("no such file or folder", where=str(source))
    if (source / MANIFEST).exists():
        return of_knowledge_base(source, out, cut=cut or Cut(), name=called, language=language, memory=memory)
    if _is_kilt_source(source):
        return _of_kilt_source(source, out, cut=cut or Cut(), name=called, language=language, memory=memory)
    passages = FilePassages(source, fields)
    origin = {**passages.origin(), **({"language": language} if language else {})}
    about: list[dict[str, str]] = [{"file": source.name}]
    return save_corpus(out, passages, name=called, language=language, sources=about, origin=origin)


def of_knowledge_base(
    kb_path: str | Path,
    out: str | Path,
    *,
    cut: Cut,
    name: str,
    language: str = "",
    memory: str = DEFAULT_MEMORY,
    kind: str | None = ARTICLE,
    remembered: bool = True,
) -> Corpus:
    """The articles of a knowledge base, cut, with its redirects, the texts of its links and the names of its catalogues."""
    kb = Folder.open(kb_path, KNOWLEDGE_BASE)
    language = language or page_language(kb)
    if not cut.language:
        cut = msgspec.structs.replace(cut, language=language)
    return save_corpus(
        out,
        cut_corpus(kb, cut, kind=kind),
        name=name,
        names=names_of_pages(kb, memory),
        known_as=names_in_catalogues(kb),
        language=language,
        parameters={"cut": {"way": cut.way, "size": cut.length, "keep_lists": cut.keep_lists}},
        sources=kb.manifest.sources,
        parents={"knowledge base": kb.content_hash},
        origin={"knowledge base": kb.content_hash, "cut": msgspec.to_builtins(cut)},
        remembered=remembered,
    )


def _of_kilt_source(
    source: Path, out: str | Path, *, cut: Cut, name: str, language: str, memory: str
) -> Corpus:
    """Through a knowledge base of its own beside it, which is kept until the corpus is complete."""
    from whichone.knowledge.formats.sources import pages_source
    from whichone.knowledge.ingest import ingest

    place = Path(out).resolve()  # on its disk the corpus must have room anyway
    place.parent.mkdir(parents=True, exist_ok=True)
    kb = place.with_name(f".{Path(out).name}.knowledge")
    ingest(kb, [pages_source(source, language or None)])
    corpus = of_knowledge_base(kb, out, cut=cut, name=name, memory=memory)
    shutil.rmtree(kb)
    return corpus


def _is_kilt_source(source: Path) -> bool:
    """A page of KILT's knowledge source has a list of paragraphs called `text`."""
    from whichone.files.lines import open_binary

    if source.is_dir() or ".json" not in source.suffixes:
        return False
    with open_binary(source) as file:
        return b'"wikipedia_title"' in file.read(1 << 20)


# Passages of a file as a corpus on disk beside a benchmark that is being imported, so that nothing is kept in memory.


@contextlib.contextmanager
def corpus_beside(
    out: str | Path,
    passages: str | Path,
    fields: PassageFields,
    source: str,
    *,
    name: str,
    language: str = "en",
) -> Iterator[Corpus]:
    """A corpus in a hidden folder beside `out`: linked into the benchmark by `save_benchmark`, then removed.

    What a kill leaves there is continued by the next import of the same file.
    """
    place = Path(out).resolve()
    place = place.with_name(f".{place.name}.passages")
    read = FilePassages(passages, fields, source)
    said = "" if base_code(language) == "en" else language
    origin = {**read.origin(), "name": name, "language": said}
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        if (place / MANIFEST).exists():  # complete, of an import that was killed
            shutil.rmtree(place)
        yield save_corpus(place, read, name=name, language=said, origin=origin, remembered=False)
    except Exception:
        shutil.rmtree(place, ignore_errors=True)
        raise
    shutil.rmtree(place, ignore_errors=True)
