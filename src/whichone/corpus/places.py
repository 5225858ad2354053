"""Where corpora are on this machine, by their hash: a benchmark names its corpus, not a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from whichone.corpus.corpus import Corpus
from whichone.errors import Missing, WhichoneError
from whichone.files.lines import write_atomic
from whichone.files.output import cache_folder


def remember(corpus: Corpus) -> None:
    """Keep in the cache where a corpus is, unless it is inside another folder's unfinished work."""
    if corpus.folder is None or ".partial" in corpus.folder.root.parts:
        return
    note = _note(corpus.hash)
    place = str(corpus.folder.root.resolve())
    try:
        known = note.read_text("utf-8").splitlines() if note.exists() else []
        if place not in known:
            note.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(note, "\n".join([place, *known[:9]]).encode() + b"\n")
    except OSError:  # a cache that cannot be written costs the convenience, nothing else
        return


def find_corpus(hash: str, *hints: Path) -> Corpus:
    """The corpus with this hash: where the hints say, or where one was made or opened before."""
    for place in (*hints, *_remembered(hash)):
        try:
            corpus = Corpus.open(place)
        except (WhichoneError, OSError):
            continue
        if corpus.hash == hash:
            return corpus
    raise Missing(
        f"the corpus {hash[:12]} is not where it was",
        where=", ".join(str(hint) for hint in hints) or None,
        hint="whichone show CORPUS once, at its new place: it is found there from then on",
    )


def _remembered(hash: str) -> Iterator[Path]:
    note = _note(hash)
    if note.exists():
        yield from (Path(line) for line in note.read_text("utf-8").splitlines() if line)


def _note(hash: str) -> Path:
    return cache_folder() / "corpora" / f"{hash[:32]}.txt"
