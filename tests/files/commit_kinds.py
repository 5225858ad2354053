"""Every kind of folder that whichone writes, each with a small one to make: by its command where it has one."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from whichone.cli import whichone
from whichone.corpus.corpus import Corpus
from whichone.files.folder import Folder
from whichone.files.tables import TableSchema
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.knowledge.lookup_build import LOOKUP, NAME_HASHES, NAME_NUMBERS, build_lookup
from whichone.report.page import ReportPage, Section, Table
from whichone.retrieval.dense.vectors import KIND as VECTORS
from whichone.retrieval.dense.vectors import encode_corpus
from whichone.retrieval.token_vectors import KIND as TOKENS
from whichone.retrieval.token_vectors import store_tokens
from whichone.web.storage import SqliteDatabase

NUMBERS = TableSchema("numbers", pa.schema([("n", pa.int64())]), ("n",))


@dataclass(frozen=True)
class Kind:
    """`make` is called with the place; `prepare` with the folder around it, before anything is counted."""

    make: Callable[[Path], Any]
    prepare: Callable[[Path], Any] = lambda around: None
    folder: str = ""
    """The kind in the manifest; empty for what is written file by file."""
    place: str = "made"
    read: Callable[[Path], str] | None = None
    """What counts as the state, where that is not the files themselves."""
    whole: bool = True
    """Whether a reader must never see a mixture; files that are whole one by one may be some of them."""
    beside: tuple[str, ...] = ()
    killed: bool = False
    """Whether processes are really ended at every step, to see that they leave what was copied there."""
    only: str = ""
    """Steps of files with this in their path alone; the others are those of another kind."""


def typed(*words: str) -> None:
    """A command as a user types it, its output aside."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        whichone.main([*words], standalone_mode=False)


def command(*words: str) -> Callable[[Path], None]:
    return lambda place: typed(*(str(place) if word == "OUT" else word for word in words))


def plain(place: Path, rows: int = 5) -> None:
    with Folder.create(place, "thing") as folder:
        folder.write(NUMBERS, pa.table({"n": list(range(rows))}))
        folder.write_bytes("bytes", b"x" * rows)
        folder.commit(parameters={"rows": rows})


def other(around: Path) -> None:
    with Folder.create(around / "made", "thing") as folder:
        folder.write_bytes("old", b"old")
        folder.write_bytes("bytes", b"old")
        folder.commit(parameters={"rows": 0})


def files(around: Path) -> None:
    """Questions over passages, a run of them, an experiment, and two catalogues."""
    passages = [
        {"id": f"p{n}", "title": "John Bell", "text": f"John Bell {n} was born in town {n}."}
        for n in range(3)
    ]
    questions = [
        {"id": f"q{n}", "question": f"Where was John Bell {n} born?", "gold": [f"p{n}"], "answers": [f"town {n}"]}
        for n in range(3)
    ]  # fmt: skip
    for name, rows in (("passages", passages), ("questions", questions)):
        (around / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (around / "run.txt").write_text("".join(f"q{n} Q0 p{n} 1 2.5 mine\n" for n in range(3)))
    for name in ("tools", "birds"):
        with (around / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("id", "name", "about"), ("1", "Falcon", f"One of the {name}.")])
        (around / f"{name}.toml").write_text(
            f'name = "{name}"\nfile = "{name}.csv"\n[columns]\nid = "id"\nname = "name"\ntext = "about"\n'
        )
    (around / "study.toml").write_text(
        'benchmarks = ["bench"]\n[[retriever]]\nretriever = "bm25"\nk = 2\n'
        '[[reader]]\nreader = "kb-lookup"\n[[setting]]\npassages = "gold"\n'
    )  # fmt: skip


IMPORT = ("import", "questions", "questions.jsonl", "OUT", "--passages", "passages.jsonl",
          "--gold", "gold", "--answers", "answers", "--id", "id")  # fmt: skip
INGEST = ("ingest", "--catalogue", "tools.toml", "--workers", "1", "OUT")


def after(*commands: Sequence[str]) -> Callable[[Path], None]:
    def prepare(around: Path) -> None:
        with contextlib.chdir(around):
            files(around)
            for words in commands:
                typed(*words)

    return prepare


def named(words: Sequence[str], place: str) -> list[str]:
    return [place if word == "OUT" else word for word in words]


BENCH = named(IMPORT, "bench")
CORPUS = ["corpus", "passages.jsonl", "corpus"]


class Encoder:
    """Vectors of the texts' bytes."""

    size = 4

    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Any:
        return np.array([list(hashlib.sha256(t.encode()).digest()[:4]) for t in texts], np.float32)

    def describe(self) -> dict[str, Any]:
        return {"model": "bytes", "size": 4}


class TokenEncoder(Encoder):
    def passages(self, titles: Sequence[str], texts: Sequence[str]) -> Any:
        return [np.ones((2, 4), np.float32) * len(text) for text in texts]


def vectors(place: Path) -> None:
    encode_corpus(Corpus.open(place.parent / "corpus"), Encoder(), place, precision="int8")  # type: ignore[arg-type]


def tokens(place: Path) -> None:
    corpus = Corpus.open(place.parent / "corpus")
    store_tokens(corpus.passages, TokenEncoder(), place, precision="int8", corpus=corpus.hash)  # type: ignore[arg-type]


def lookup(place: Path) -> None:
    build_lookup(Folder.open(place, KNOWLEDGE_BASE))


def rows_of_lookup(place: Path) -> str:
    """What `whichone show` would find; empty until the checksums, written last, say that it is whole."""
    if not all((place / f"{name}.sums").exists() for name in (LOOKUP, NAME_HASHES, NAME_NUMBERS)):
        return ""
    return rows_in(place / LOOKUP, "names")


def rows_in(file: Path, table: str) -> str:
    if not file.exists():
        return ""
    with contextlib.closing(sqlite3.connect(file)) as database:
        try:
            rows = database.execute(f"select * from {table} order by 1").fetchall()
        except sqlite3.OperationalError:
            return ""
    return repr(rows) if rows else ""


def answered(place: Path) -> None:
    """Two answers of one participant, which count together or not at all."""
    database = SqliteDatabase(place)
    insert = "insert or replace into settings values (?, ?)"
    database.write(lambda t: [t.execute(insert, (f"answer {n}", "x")) for n in range(2)])
    database.close()


def report(place: Path) -> None:
    table = Table(key="t", title="T", columns=["system"], rows=[["bm25"]])
    ReportPage(title="R", subtitle="", sections=[Section(title="S", tables=[table])]).write(
        place / "report.html"
    )


def learned(place: Path) -> None:
    """A training: what it is, the model over an older one, and the account of it."""
    from whichone.training.trainer import begun_in, save_model, write_account

    def save(folder: Path) -> None:
        folder.mkdir(parents=True)
        for number in range(2):
            (folder / f"weights-{number}").write_bytes(bytes([number] * 4))

    begun_in(place, {"model": "weight"})
    save_model(save, place / "best")
    save_model(save, place / "best")
    write_account(place, {"model": "weight"})


def model_of(place: Path) -> str:
    """The model as its users read it: all of its files, or none."""
    weights = [(place / "best" / f"weights-{n}") for n in range(2)]
    if not (place / "best").exists():
        return ""
    return "".join(w.read_bytes().hex() if w.exists() else "missing" for w in weights)


KINDS = {
    "plain": Kind(plain, folder="thing", killed=True),
    "replaced": Kind(lambda place: plain(place, 7), other, "thing", killed=True),
    "knowledge base": Kind(command(*INGEST), files, KNOWLEDGE_BASE),
    "extended knowledge base": Kind(
        command("ingest", "--catalogue", "birds.toml", "--workers", "1", "OUT"),
        after(named(INGEST, "made")),
        KNOWLEDGE_BASE,
    ),
    "lookup of a knowledge base": Kind(lookup, after(named(INGEST, "made")), read=rows_of_lookup),
    "corpus": Kind(command("corpus", "passages.jsonl", "OUT"), files, "corpus"),
    "benchmark": Kind(command(*IMPORT), files, "benchmark"),
    "benchmark with a corpus": Kind(
        command("import", "questions", "questions.jsonl", "OUT", "--corpus", "corpus", "--gold", "gold"),
        after(CORPUS),
        "benchmark",
    ),
    "index": Kind(command("index", "corpus", "OUT"), after(CORPUS), "index"),
    "index of ngrams": Kind(
        command("index", "corpus", "OUT", "--retriever", "tfidf"), after(CORPUS), "index"
    ),
    "index of names": Kind(
        command("index", "corpus", "OUT", "--retriever", "namesake", "-o", "encoder=none"),
        after(CORPUS),
        "index",
    ),
    "passage vectors": Kind(
        vectors, after(CORPUS), read=lambda place: folders(place, VECTORS)
    ),
    "token vectors": Kind(tokens, after(CORPUS), TOKENS),
    "run": Kind(command("retrieve", "bench", "OUT", "-k", "2"), after(BENCH), "run"),
    "imported run": Kind(
        command("import", "run", "run.txt", "OUT", "--benchmark", "bench", "--format", "trec"),
        after(BENCH),
        "run",
    ),
    "answers": Kind(
        command("read", "bench", "OUT", "--reader", "kb-lookup", "--passages", "gold"),
        after(BENCH),
        "answers",
    ),
    "experiment": Kind(
        command("experiment", "study.toml", "--out", "OUT"),
        after(BENCH),
        read=lambda place: folders(place, "run", "answers"),
        whole=False,
        only="experiment.json",
    ),
    "hf export": Kind(
        command("export", "bench", "OUT", "--format", "hf"), after(BENCH), whole=False
    ),
    "beir export": Kind(
        command("export", "bench", "OUT", "--format", "beir"), after(BENCH), whole=False
    ),
    "trec export": Kind(
        command("export", "bench", "OUT", "--format", "trec"), after(BENCH), whole=False
    ),
    "report": Kind(report, whole=False),
    "training": Kind(learned, read=model_of),
    "web database": Kind(answered, place="web.sqlite", read=lambda place: rows_in(place, "settings where name like 'answer%'")),
}  # fmt: skip


def folders(place: Path, *kinds: str) -> str:
    """The finished folders inside a place."""
    from whichone.files.folder import folder_kinds

    done = []
    for path, kind in folder_kinds(place):
        if kind in kinds:
            folder = Folder.open(path, kind)
            folder.verify()
            done.append(f"{path.relative_to(place)}:{folder.content_hash}")
    return ",".join(done)
