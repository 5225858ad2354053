"""Token numbers of a corpus' passages: made ahead by all cores, kept for every model with the same tokeniser."""

from __future__ import annotations

import functools
import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.corpus.corpus import Corpus
from whichone.files.folder import Folder
from whichone.files.mapped import MappedTable
from whichone.files.output import cache_folder, written_beside
from whichone.files.pools import available_cores, run_jobs
from whichone.progress import Advance, progress
from whichone.retrieval.dense.encoder import joined
from whichone.retrieval.dense.packed import Tokenised
from whichone.retrieval.indexes import index_folder, open_index

KIND = "passage tokens"
SHARD = 16_384
"""Passages of a file, a multiple of those of a file of vectors; small, so that a device has work soon and to the end."""
_PIECE = 2_048


class Tokeniser(msgspec.Struct, frozen=True):
    """Everything that decides a passage's token numbers; `rules` is a tokeniser of `tokenizers` as JSON."""

    rules: str
    longest: int
    pairs: bool = False
    """Title and text as a pair, as DPR has them; else one text after the other."""

    def describe(self) -> dict[str, Any]:
        rules = hashlib.sha256(self.rules.encode()).hexdigest()[:16]
        return {"rules": rules, "longest": self.longest, "pairs": self.pairs}

    def tokenised(self, titles: Sequence[str], texts: Sequence[str]) -> Tokenised:
        """The tokens of some passages, special ones included."""
        return _joined([*self._pieces(titles, texts)])

    def _pieces(self, titles: Sequence[str], texts: Sequence[str]) -> Iterator[Tokenised]:
        own = _loaded(self.rules, self.longest)
        encode = getattr(own, "encode_batch_fast", own.encode_batch)
        for start in range(0, len(texts), _PIECE):
            these = slice(start, start + _PIECE)
            given: Any = (
                list(zip(titles[these], texts[these], strict=True))
                if self.pairs
                else joined(titles[these], texts[these])
            )
            result = encode(given)
            rows = [encoding.ids for encoding in result]
            starts = np.zeros(len(rows) + 1, np.int64)
            np.cumsum([len(row) for row in rows], out=starts[1:])
            tokens = np.concatenate([np.asarray(row, np.int32) for row in rows])
            firsts = None
            if self.pairs:
                firsts = np.array([e.type_ids.count(0) for e in result], np.int32)
            yield Tokenised(tokens, starts, firsts)


@functools.lru_cache(2)
def _loaded(rules: str, longest: int) -> Any:
    from tokenizers import Tokenizer

    own = Tokenizer.from_str(rules)
    own.no_padding()
    own.enable_truncation(longest)
    return own


def _joined(parts: Sequence[Tokenised]) -> Tokenised:
    if not parts:
        return Tokenised(np.zeros(0, np.int32), np.zeros(1, np.int64))
    lengths = np.concatenate([part.lengths for part in parts])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    firsts = [part.firsts for part in parts if part.firsts is not None]
    return Tokenised(
        np.concatenate([part.tokens for part in parts]),
        starts,
        np.concatenate(firsts) if firsts else None,
    )


class TokenMaker:
    """Writes the tokens of a stretch of the corpus, whose table is mapped."""

    def __init__(self, tokeniser: Tokeniser, passages: Path, folder: Path) -> None:
        self._tokeniser, self._passages, self._folder = tokeniser, passages, folder

    @functools.cached_property
    def _table(self) -> MappedTable:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # each process has a core of its own
        return MappedTable.open(self._passages)

    def __call__(self, number: int) -> int:
        rows = self._table.slice(number * SHARD, SHARD, ["title", "text"])
        held = self._tokeniser.tokenised(
            [title or "" for title in rows["title"].to_pylist()], rows["text"].to_pylist()
        )
        write_tokens(self._folder, number, held)
        return len(held)


def write_tokens(folder: Path, number: int, held: Tokenised) -> None:
    """One file: how many passages and whether they are pairs, lengths, and tokens in as few bytes as they need."""
    kind = np.uint16 if not len(held.tokens) or int(held.tokens.max()) < 2**16 else np.int32
    with written_beside(folder / _name(number)) as beside, beside.open("wb") as file:
        head = (len(held), int(held.firsts is not None), np.dtype(kind).itemsize)
        np.array(head, np.int64).tofile(file)
        held.lengths.astype(np.int32).tofile(file)
        if held.firsts is not None:
            held.firsts.astype(np.int32).tofile(file)
        held.tokens.astype(kind).tofile(file)


def read_tokens(path: Path) -> Tokenised:
    """A file's tokens; mapped."""
    raw: npt.NDArray[np.uint8] = np.memmap(path, np.uint8, "r").view(np.ndarray)
    count, pairs, width = raw[:24].view(np.int64).tolist()
    end = 24 + 4 * count
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(raw[24:end].view(np.int32), out=starts[1:])
    firsts = raw[end : end + 4 * count].view(np.int32) if pairs else None
    rest = raw[end + 4 * count * pairs :]
    tokens: npt.NDArray[Any] = rest.view(np.uint16 if width == 2 else np.int32)
    return Tokenised(tokens, starts, firsts)


def _name(number: int) -> str:
    return f"tokens-{number:05}.bin"


def corpus_tokens(corpus: Corpus, tokeniser: Tokeniser, work: Path | None = None) -> Folder:
    """The tokens of a corpus: opened if they are there, else made by all cores or continued."""
    described, place = _place(corpus, tokeniser, work)
    if open_index(place, KIND, described) is None:
        for _ in _made(corpus, tokeniser, place, described):
            pass
    return Folder.open(place, KIND)


def corpus_shards(
    corpus: Corpus, tokeniser: Tokeniser, work: Path | None = None
) -> Iterator[Tokenised]:
    """The tokens of a corpus in order; those that are not there yet, each shard as soon as it is made.

    Whoever encodes them works while the others are made.
    """
    described, place = _place(corpus, tokeniser, work)
    folder = open_index(place, KIND, described)
    return token_shards(folder) if folder else _made(corpus, tokeniser, place, described)


def _place(corpus: Corpus, tokeniser: Tokeniser, work: Path | None) -> tuple[dict[str, Any], Path]:
    described = {**tokeniser.describe(), "corpus": corpus.hash, "shard": SHARD}
    own = work or cache_folder() / "indexes" / corpus.hash[:16]
    return described, index_folder(own, "tokens", described)


def _made(
    corpus: Corpus, tokeniser: Tokeniser, place: Path, described: dict[str, Any]
) -> Iterator[Tokenised]:
    assert corpus.folder is not None
    place.parent.mkdir(parents=True, exist_ok=True)
    with Folder.create(place, KIND, resume=True) as created:
        count = -(-len(corpus) // SHARD)
        missing = [n for n in range(count) if not (created.partial / _name(n)).exists()]
        maker = TokenMaker(tokeniser, corpus.folder.root / "passages.arrow", created.partial)
        with (
            progress("tokenising", len(corpus), "passages") as advance,
            _Making(maker, missing, created, advance) as making,
        ):
            advance(len(corpus) - sum(min(SHARD, len(corpus) - n * SHARD) for n in missing))
            for number in range(count):
                if number not in making.missing:
                    created.adopt(_name(number))
                making.wait_for(number)
                yield read_tokens(created.partial / _name(number))
        created.commit(parameters=described, counts={"passages": len(corpus)})


class _Making:
    """Hands shards to all cores beside whatever this process does with those that are there."""

    def __init__(
        self, maker: TokenMaker, missing: Sequence[int], folder: Folder, advance: Advance
    ) -> None:
        self.missing = frozenset(missing)
        self._maker, self._jobs, self._folder, self._advance = maker, missing, folder, advance
        self._ready: SimpleQueue[int | BaseException] = SimpleQueue()
        self._done: set[int] = set()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="tokenising")

    def __enter__(self) -> _Making:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            workers = min(available_cores(), len(self._jobs))
            for number, rows in run_jobs(self._maker, self._jobs, workers):
                self._folder.adopt(_name(number))
                self._advance(rows)
                self._ready.put(number)
                if self._stopped.is_set():
                    return
        except BaseException as error:
            self._ready.put(error)

    def wait_for(self, number: int) -> None:
        while number in self.missing and number not in self._done:
            result = self._ready.get()
            if isinstance(result, BaseException):
                raise result
            self._done.add(result)


def token_shards(folder: Folder) -> Iterator[Tokenised]:
    for name in sorted(n for n in folder.manifest.files if n.startswith("tokens-")):
        yield read_tokens(folder.path(name))
