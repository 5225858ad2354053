"""Submissions as they are kept: received part by part, waiting, scored or refused."""

import contextlib
import functools
import lzma
import re
import tarfile
import time
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import IO, Annotated, Any, get_type_hints

import msgspec
from starlette.exceptions import HTTPException

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput
from whichone.files.compressed import is_tar
from whichone.files.lines import NOT_JSON, open_binary, read_json_lines
from whichone.runs.predictions import Predicted, UploadFormat, kilt_answers, own_answers
from whichone.runs.run import Answers, Run
from whichone.runs.run_files import import_run, write_answers
from whichone.web.storage import Database, Readable, Row, Transaction, one_at_a_time, set_value

# What a system may say that it is.
SYSTEMS = ("retriever", "reranker", "linker", "reader", "language model", "agent", "people", "other")
ON_DISK = "run"  # The format of a run that is stored in the served folder
FOLDER = "the served folder"
_PART = 1 << 20
_MOST_WAITING = 3  # Submissions of one person that may wait at a time
_REFUSED_WEIGH = 5  # How many refused submissions weigh as much as an accepted one in the limits


class SystemField(msgspec.Struct, frozen=True):
    """One thing that is said about a system: what its column is called, and how a form asks for it."""

    column: str
    asked: str
    choices: tuple[str, ...] = ()
    address: bool = False


class About(msgspec.Struct, frozen=True, omit_defaults=True):
    """What whoever submitted a system says about it; `SAID` has the words for each."""

    team: Annotated[str, SystemField("team", "Team")] = ""
    system_kind: Annotated[str, SystemField("kind of system", "Kind of system", choices=SYSTEMS)] = ""
    sees: Annotated[str, SystemField("sees", "What the system saw beside the corpus")] = ""
    cost: Annotated[str, SystemField("cost", "Cost (hardware, time, money)")] = ""
    link: Annotated[str, SystemField("description", "Link to a description (https://…)", address=True)] = ""
    code: Annotated[str, SystemField("code", "Link to the code (https://…)", address=True)] = ""


# The columns of a leaderboard that are no figures: forms, tables, filters, panels and exports follow it.
SAID: dict[str, SystemField] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(About, include_extras=True).items()
}


def submit_run(database: Database, *, submission: str, board: str, name: str, sees: str) -> None:
    """A run of the served folder, to be scored; the same one twice is kept once."""
    about = msgspec.json.encode(About(sees=sees)).decode()
    database.write(
        lambda t: _insert(t, (submission, board, name, FOLDER, ON_DISK, "waiting", about, time.time()))
    )


def _insert(t: Transaction, values: tuple[Any, ...]) -> None:
    t.execute(
        "insert into submissions (submission, board, name, person, format, state, progress, message, "
        "about, made) values (?, ?, ?, ?, ?, ?, 0, '', ?, ?) on conflict do nothing",
        values,
    )


class Limits(msgspec.Struct, frozen=True):
    a_day: int
    in_all: int
    # The gold that a board hides: of `in_all` submissions, what can be learnt about it must end somewhere.
    golds: tuple[str, ...] = ()


def submit_file(
    database: Database, *, submission: str, board: str, name: str, person: str, role: str,
    format: str, about: About, file: IO[bytes], limits: Limits,
) -> None:  # fmt: skip
    """Keeps a file to be scored, a part in memory at a time.

    Limits and names are checked where the row is made: of many requests at once no more get in.
    """
    if not (block := file.read(_PART)):
        raise HTTPException(422, "the file is empty")
    described = msgspec.json.encode(about).decode()
    row = (submission, board, name, person, format, "receiving", described, time.time())

    def work(t: Transaction) -> None:
        one_at_a_time(t, "submissions")
        if reason := _may_not_submit(t, person, limits):
            raise HTTPException(429, reason, {"retry-after": "3600"})
        owner = owner_of(t, board, name)
        if owner is not None and owner != person and role != "admin":
            raise HTTPException(
                409, "somebody else submitted a system of this name, or of one that looks like it"
            )
        _insert(t, row)
        for gold in limits.golds:
            set_value(t, f"season {gold} {person}", str(_used(t, gold, person) + _REFUSED_WEIGH))

    database.write(work)
    part = 0
    while block:
        _keep_part(database, (submission, part, block))
        part, block = part + 1, file.read(_PART)
    database.write(
        lambda t: t.execute("update submissions set state = 'waiting' where submission = ?", (submission,))
    )


def _keep_part(database: Database, values: tuple[str, int, bytes]) -> None:
    database.write(lambda t: t.execute("insert into upload_parts values (?, ?, ?)", values))


def _used(t: Readable, gold: str, person: str) -> int:
    """What a person has submitted against hidden gold, a refused file counted as 1: it outlives submissions and boards."""
    rows = t.read("select value from settings where name = ?", (f"season {gold} {person}",))
    return int(rows[0]["value"]) if rows else 0


def count_refused(t: Transaction, golds: Iterable[str], person: str) -> None:
    """A submission that was counted when it came turns out to be a refused one."""
    for gold in golds:
        set_value(t, f"season {gold} {person}", str(_used(t, gold, person) - _REFUSED_WEIGH + 1))


def write_upload(database: Database, submission: str, out: Path) -> None:
    one = "select content from upload_parts where submission = ? and part = ?"
    with out.open("wb") as target:
        for part in count():
            if not (rows := database.read(one, (submission, part))):
                return
            target.write(rows[0]["content"])


def drop_upload(t: Transaction, submission: str) -> None:
    t.execute("delete from upload_parts where submission = ?", (submission,))


_DELETED = "update submissions set state = 'deleted', message = '', about = '{}', result = null"


def delete(t: Transaction, submission: str) -> None:
    """Drops a system's file and figures; a line stays, which counts in the limits."""
    drop_upload(t, submission)
    t.execute(f"{_DELETED} where submission = ?", (submission,))


def forget_submitter(t: Transaction, person: str) -> None:
    """What a person submitted, as lines that name neither the person nor their systems."""
    t.execute(
        "delete from upload_parts where submission in (select submission from submissions where person = ?)",
        (person,),
    )
    t.execute(f"{_DELETED}, name = '', person = '' where person = ?", (person,))
    for name in (f"ladder % {person} %", f"season % {person}"):
        t.execute("delete from settings where name like ?", (name,))


def _may_not_submit(t: Readable, person: str, limits: Limits) -> str:
    """Why this person may not submit now; empty when they may. Refused files weigh little."""
    since = time.time() - 86_400
    rows = t.read("select state from submissions where person = ? and made > ?", (person, since))
    today = [row["state"] for row in rows]
    refused = today.count("refused")
    if len(today) - refused + refused // _REFUSED_WEIGH >= limits.a_day:
        return "no more submissions today"
    if any(_used(t, gold, person) >= _REFUSED_WEIGH * limits.in_all for gold in limits.golds):
        return f"all {limits.in_all} submissions to this board are used up, deleted ones too"
    waiting = sum(state in ("receiving", "waiting", "scoring") for state in today)
    if waiting >= _MOST_WAITING:
        return f"{waiting} of your submissions are waiting: wait until they are scored"
    return ""


def owner_of(t: Readable, board: str, name: str) -> str | None:
    """Who first submitted a system whose name looks like this one to a board."""
    rows = t.read(
        "select name, person from submissions where board = ? and state <> 'refused' "
        "order by made, submission",
        (board,),
    )
    looks = skeletons(name)
    return next((str(row["person"]) for row in rows if looks & skeletons(row["name"])), None)


@functools.cache
def _plainest() -> dict[str, str]:
    """Of each letter and digit the plainest that Unicode lists as easily taken for it."""
    from confusable_homoglyphs.confusables import confusables_data

    near = {
        letter: {letter, *(other["c"] for other in others)} for letter, others in confusables_data.items()
    }
    plainest = {}
    for letter, own in near.items():
        if len(letter) == 1 and letter.isalnum():
            taken = ("".join(filter(str.isalnum, text)) for n in own for text in near[n])
            plainest[letter] = min(
                filter(None, taken), key=lambda text: (not text.isascii(), len(text), text)
            )
    return plainest


def skeletons(name: str) -> set[str]:
    """How a name looks, its case as it is and folded: names that share one can be taken for each other."""
    return {_skeleton(name), _skeleton(name.casefold())}


def _skeleton(text: str) -> str:
    plainest, before = _plainest(), ""
    while text != before:
        before = text
        mapped = "".join(plainest.get(c, c) for c in unicodedata.normalize("NFKD", text)).casefold()
        text = "".join(
            c for c in mapped if not c.isspace() and unicodedata.category(c) not in ("Mn", "Cf", "Cc")
        )
    return text.translate(str.maketrans("0i", "o1")).replace("rn", "m").replace("vv", "w")


# Scripts that are written together in one word; letters of others in it are there to look like these.
_TOGETHER = (
    {"LATIN", "HAN", "HIRAGANA", "KATAKANA"},
    {"LATIN", "HAN", "BOPOMOFO"},
    {"LATIN", "HAN", "HANGUL"},
)


def mixed_scripts(name: str) -> str:
    """The first word of a name whose letters are of scripts that no language mixes; empty when there is none."""
    from confusable_homoglyphs.categories import unique_aliases

    for word in re.findall(r"\w+", name):
        scripts = unique_aliases(word) - {"COMMON", "INHERITED"}
        if len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER):
            return word
    return ""


def one_submission(database: Database, board: str, submission: str) -> Row | None:
    rows = database.read(
        "select submission, board, name, person, format, state, progress, message, made, shown, about "
        "from submissions where board = ? and submission = ?",
        (board, submission),
    )
    return rows[0] if rows else None


def submissions_of(database: Database, board: str) -> list[Row]:
    return database.read(
        "select submission, name, person, format, state, message, made, shown from submissions "
        "where board = ? order by made, submission",
        (board,),
    )


# Files that people upload, as a run or as answers: unpacked within limits, messages with their line.

OF_PAPERS: dict[str, UploadFormat] = registry.every("uploads")
# What each format is called, and one record of it, shown where files are submitted.
FORMATS = {
    "auto": ("detect it", "any of the following"),
    "amber": ("AmbER predictions", '{"id": "QUERY", "output": {"provenance": [{"wikipedia_id": "307"}]}}'),
    "kilt": ("KILT predictions",
             '{"id": "QUERY", "output": [{"answer": "TEXT", "provenance": [{"wikipedia_id": "307"}]}]}'),
    "dpr": ("DPR results",
            '[{"question": "TEXT", "answers": [], "ctxs": [{"id": "PASSAGE", "text": "", "score": "1.5"}]}]'),
    "trec": ("TREC run", "QUERY Q0 PAGE-OR-PASSAGE 1 1.5 TAG"),
    "whichone": ("whichone rankings or answers (JSON lines)",
                 '{"question": "QUERY", "passages": ["PASSAGE"]} or {"question": "QUERY", "text": "TEXT"}'),
    **{name: (offered.title, offered.example) for name, offered in OF_PAPERS.items()},
}  # fmt: skip
_BLOCK = 1 << 20
_LONGEST_LINE = 16 << 20
_FIRST = 1 << 16


def _start(file: Path) -> bytes:
    with file.open("rb") as source:
        return source.read(_FIRST).lstrip(b"\xef\xbb\xbf \r\n\t")


def detected_format(file: Path) -> str:
    start = _start(file)
    first = start.splitlines()[0] if start else b""
    if start.startswith(b"["):
        if b'"ctxs"' in start:
            return "dpr"
        if b'"gen_answer"' in start or b'"qid"' in start:
            return "ambigdocs"
    elif start.startswith(b"{"):
        try:
            record = msgspec.json.decode(first)
        except NOT_JSON:
            record = {}
        formats = {"gen_answer": "ambigdocs", "ctxs": "dpr", "passages": "whichone", "text": "whichone"}
        if format := next((format for field, format in formats.items() if field in record), ""):
            return format
        if "output" in record:
            return "amber" if isinstance(record["output"], dict) else "kilt"
    elif len(first.split()) == 6:
        return "trec"
    raise BadInput(
        "line 1: the format cannot be detected", hint="choose it, or compare the file with the examples"
    )


def check_size(file: Path, format: str, queries: int, deepest: int) -> None:
    """Refuses a file with more records than there can be, before anything of it is kept in memory."""
    most = queries * deepest if format == "trec" else 10 * queries + 1000
    if _start(file).startswith(b"["):
        return  # one document; the limit on memory is what bounds it
    with file.open("rb") as source:
        for records, line in enumerate(iter(lambda: source.readline(_LONGEST_LINE), b""), 1):
            if len(line) >= _LONGEST_LINE:
                raise BadInput(f"longer than {_LONGEST_LINE:,} bytes", line=records)
            if records > most and line.strip():
                raise BadInput(
                    f"more records than the {most:,} that {queries:,} queries can have", line=records
                )


def unpack(packed: Path, out: Path, most: int) -> int:
    size = 0
    with open_binary(packed) as source, out.open("wb") as target:
        while block := source.read(_BLOCK):
            size += len(block)
            if size > most:
                raise BadInput(f"unpacked it is more than the {most:,} bytes that are taken")
            target.write(block)
    return size


MOST_FILES = 200  # Files that an archive may have


def unpack_archive(packed: Path, out: Path, most: int) -> list[tuple[Path, str]]:
    """The files of a zip or tar archive, decompressed under names of our own, with what each is called.

    What systems add by themselves (`__MACOSX`, `.DS_Store`) is passed over.
    """
    out.mkdir()
    files: list[tuple[Path, str]] = []
    broken = (
        zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError,
        RuntimeError, NotImplementedError,
    )  # fmt: skip
    try:
        with contextlib.ExitStack() as stack:
            for called, source in _members(packed, stack):
                if called.startswith("__MACOSX/") or called.rpartition("/")[2].startswith("."):
                    continue
                if len(files) == MOST_FILES:
                    raise BadInput(f"the archive has more than {MOST_FILES} files")
                raw, file = out / "packed", out / str(len(files))
                with raw.open("wb") as target:
                    while block := source.read(_BLOCK):
                        target.write(block)
                        if target.tell() > most:
                            raise BadInput(f"{called} is more than the {most:,} bytes that are left")
                most -= unpack(raw, file, most)
                files.append((file, called))
    except broken as error:
        raise BadInput(f"the archive cannot be unpacked: {error}") from error
    if not files:
        raise BadInput("the archive has no file")
    return files


def _members(packed: Path, stack: contextlib.ExitStack) -> Iterator[tuple[str, IO[bytes]]]:
    """Name and content of each plain file of an archive; nothing is written where a name says."""
    if zipfile.is_zipfile(packed):
        archive = stack.enter_context(zipfile.ZipFile(packed))
        for member in archive.infolist():
            if not member.is_dir():
                yield member.filename, archive.open(member)
    elif is_tar(packed):
        tar = stack.enter_context(tarfile.open(packed))  # noqa: SIM115
        for entry in tar:
            if entry.isfile() and (content := tar.extractfile(entry)) is not None:
                yield entry.name, content
    else:
        raise BadInput("this board has several benchmarks: submit a zip or tar archive with a file for each")


def files_of_benchmarks(
    files: Sequence[tuple[Path, str]], benchmarks: Mapping[str, Benchmark]
) -> dict[str, tuple[Path, str]]:
    """By benchmark the file that answers it: the one whose records have its ids, or else its name."""
    ids = {name: {q.id for q in b.queries} for name, b in benchmarks.items()}
    chosen: dict[str, tuple[Path, str]] = {}
    for file, called in files:
        asked = _ids_in(file)
        stem = called.rpartition("/")[2].lower()
        weights = {
            name: (len(asked & ids[name]), stem.startswith(b.name.lower()), len(b.name))
            for name, b in benchmarks.items()
        }
        best = max(weights, key=weights.__getitem__)
        alike = [name for name, weight in weights.items() if weight == weights[best]]
        if not any(weights[best][:2]):
            raise BadInput(
                f"{called} answers none of this board's benchmarks ({', '.join(b.name for b in benchmarks.values())})"
            )
        if len(alike) > 1:
            raise BadInput(f"{called} may answer {' or '.join(alike)}: begin its name with the benchmark's")
        if best in chosen:
            raise BadInput(f"{chosen[best][1]} and {called} both answer {benchmarks[best].name}")
        chosen[best] = (file, called)
    return {name: chosen[name] for name in benchmarks if name in chosen}


def _ids_in(file: Path) -> set[str]:
    """The ids of a file's first records, in any of the formats that have some."""
    start = _start(file)
    quoted = re.findall(rb'"(?:id|qid|question)"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)', start)
    ids = {str(msgspec.json.decode(value.decode("utf-8", "replace"))) for value in quoted}
    if start[:1] not in (b"{", b"["):
        ids |= {line.split()[0].decode("utf-8", "replace") for line in start.splitlines() if line.split()}
    return ids


def message_for_uploader(error: BadInput, file: Path) -> str:
    """A message for whoever uploaded the file: its line or record, not the server's paths."""
    hint = f" ({error.hint})" if error.hint else ""
    if "--on-error" in hint:
        hint = " (say that missing queries count as wrong, or give every query a ranking)"
    return f"{_where(error, file)}{error.message}{hint}"


def _where(error: BadInput, file: Path) -> str:
    """The line; in a JSON list the record, or the line of the byte that cannot be read."""
    data = file.read_bytes()
    listed = _start(file).startswith(b"[")
    if error.line is not None:
        return f"record {error.line}: " if listed else f"line {error.line}: "
    if byte := re.search(r"\(byte (\d+)\)", error.message):
        lines = data.count(b"\n", 0, int(byte[1]))
        return f"line {lines + 1}: "
    if "truncated" in error.message or "not closed" in error.message:
        return f"line {len(data.splitlines())}: "
    if record := re.search(r"`\$\[(\d+)\]", error.message):
        return f"record {int(record[1]) + 1}: "
    return ""


def read_upload(
    file: Path, work: Path, benchmark: Benchmark, *, format: str, name: str, missing_is_wrong: bool
) -> list[Run | Answers]:
    """A run, or answers, or both, of what was uploaded; `work` is an empty folder of its own."""

    def answers(read: Callable[[Path, Benchmark], Iterable[Predicted]]) -> Answers:
        said = read(file, benchmark)
        return write_answers(work / "answers", benchmark, said, name=name, missing_is_wrong=missing_is_wrong)

    if format in OF_PAPERS:
        return [answers(OF_PAPERS[format].read)]
    first: Any = next(iter(read_json_lines(file)), (0, None))[1] if format == "whichone" else None
    if isinstance(first, dict) and "text" in first:
        return [answers(own_answers)]
    pages, texts = _kilt_parts(file) if format == "kilt" else (True, False)
    folders: list[Run | Answers] = []
    if pages or not texts:
        given: dict[str, Any] = {
            "format": format,
            "name": name,
            "on_error": "skip" if missing_is_wrong else "fail",
        }
        folders.append(import_run(file, work / "run", benchmark, place="", whole=True, **given))
    if texts and any(q.answers() for q in benchmark.queries):
        folders.append(answers(kilt_answers))
    return folders


def _kilt_parts(file: Path) -> tuple[bool, bool]:
    pages = texts = False
    for _, record in read_json_lines(file):
        outputs = record.get("output") if isinstance(record, dict) else None
        said = [o for o in outputs if isinstance(o, dict)] if isinstance(outputs, list) else []
        pages = pages or any(o.get("provenance") for o in said)
        texts = texts or any(o.get("answer") for o in said)
        if pages and texts:
            break
    return pages, texts
