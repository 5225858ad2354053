"""Names looked up as people write them, on disk: by initial and last word, and by words within one edit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from whichone.corpus.names import CorpusNames
from whichone.files.hash_index import hashes
from whichone.files.mapped import MappedTable, write_mapped
from whichone.retrieval.namesake.spelling import (
    ARTICLES,
    ENDINGS,
    PARTICLES,
    deletions,
    folded,
    foldings,
    within_one_edit,
)

FILES = (
    "short-hashes.npy",
    "short-rows.npy",
    "word-hashes.npy",
    "word-numbers.npy",
    "words.arrow",
)
_WORDS = pa.schema([("word", pa.string())])
_KINDS = frozenset(["title", "redirect", "alias", "first sentence", "anchor"])
LONGEST_WORDS = 5
"""Only names of so few words are written by their initials or in part."""
MOST_WORDS = 7
"""Only names of so few words are written with other hyphens, apostrophes and blanks."""


class NameVariants:
    """The words of all names with their one-letter deletions, and names by initial and last word."""

    def __init__(self, names: CorpusNames, arrays: Sequence[Any], words: MappedTable) -> None:
        self._names = names
        self._short, self._rows, self._word_hashes, self._numbers = arrays
        self._words = words

    @classmethod
    def of(cls, names: CorpusNames) -> NameVariants:
        """Read off the names of a corpus."""
        numbers: dict[str, int] = {}
        short: list[npt.NDArray[np.uint64]] = []
        rows: list[npt.NDArray[np.int64]] = []
        last, row = None, 0
        for batch in names.table.batches(["key", "kind"]):
            texts, owners = [], []
            for key, kind in zip(batch["key"].to_pylist(), batch["kind"].to_pylist(), strict=True):
                if key != last and kind in _KINDS:
                    words = [word for word in key.split() if word.isalnum()]
                    for word in words:
                        numbers.setdefault(word, len(numbers))
                    for text in short_keys(words):
                        texts.append(text)
                        owners.append(row)
                    last = key
                row += 1
            short.append(hashes(texts))
            rows.append(np.array(owners, np.int64))
        entries, owner = [], []
        for word, number in numbers.items():
            forms = {form for plain in foldings(word) for form in (plain, *deletions(plain))}
            entries += sorted(forms)
            owner += [number] * len(forms)
        words_table = pa.table({"word": pa.array(list(numbers), pa.string())}, _WORDS)
        arrays = [
            *_sorted(np.concatenate(short) if short else np.zeros(0, np.uint64), _joined(rows)),
            *_sorted(hashes(entries), np.array(owner, np.int64)),
        ]
        return cls(names, arrays, MappedTable.of(words_table))

    def save(self, folder: Path) -> None:
        arrays = (self._short, self._rows, self._word_hashes, self._numbers)
        for file, array in zip(FILES, arrays, strict=False):
            np.save(folder / file, array)
        write_mapped(folder / FILES[4], self._words.batches(), _WORDS)

    @classmethod
    def open(cls, folder: Path, names: CorpusNames) -> NameVariants:
        arrays = [np.load(folder / file, mmap_mode="r").view(np.ndarray) for file in FILES[:4]]
        return cls(names, arrays, MappedTable.open(folder / FILES[4]))

    def by_short_key(self, key: str, most: int) -> list[str]:
        """The keys of names that a short form such as "d walker" or "walker" may stand for."""
        places = _places(self._short, key)
        rows = self._rows[places.start : places.stop][: 4 * most].tolist()
        results = dict.fromkeys(str(self._names.table.value(row, "key")) for row in rows)
        return [name for name in results if key in set(short_keys(name.split()))][:most]

    def words_like(self, word: str, most: int = 8) -> list[str]:
        """Words of names that may have been meant: the same in plain letters first, then one edit away."""
        plain = folded(word)
        near: dict[str, None] = {}
        for form in (plain, *deletions(plain)):
            places = _places(self._word_hashes, form)
            for number in self._numbers[places.start : places.stop][:200].tolist():
                near[self._words.strings([number], "word")[0]] = None
        same = [w for w in near if plain in set(foldings(w))]
        typos = [
            w for w in near if w not in same and any(within_one_edit(plain, f) for f in foldings(w))
        ]
        return [*same, *(typos if len(plain) >= 4 else [])][:most]


def short_keys(words: Iterable[str]) -> Iterator[str]:
    """How a name of several words may be written.

    As one word ("=seanobrien"); its last word, its first, initial and last, first and last; of three words and more also the
    first and the last but one, and the last two, as people with two surnames are called.
    """
    tokens = [word for word in words if word.isalnum()]
    if not 2 <= len(tokens) <= MOST_WORDS:
        return
    keys: dict[str, None] = {}
    for plain in ([folded(w) for w in tokens], [list(foldings(w))[-1] for w in tokens]):
        core = core_words(plain)
        keys.update(dict.fromkeys((squeezed(plain), squeezed(core))))
        if 2 <= len(core) <= LONGEST_WORDS and not any(map(str.isdigit, core)):
            first, last = core[0], core[-1]
            keys.update(dict.fromkeys((last, first, f"{first[0]} {last}", f"{first} {last}")))
            if len(core) > 2 and core[-2] not in PARTICLES:
                keys.update(dict.fromkeys((f"{first} {core[-2]}", f"{core[-2]} {last}")))
    yield from keys


def core_words(words: Sequence[str]) -> list[str]:
    """A name without the article before it and without "Inc." or "Jr." after it."""
    core = list(words)
    if len(core) > 1 and core[0] in ARTICLES:
        core = core[1:]
    while len(core) > 1 and core[-1] in ENDINGS:
        core.pop()
    return core


def squeezed(words: Iterable[str]) -> str:
    """A name written as one word, marked so that no other short form is the same."""
    return f"={''.join(words)}"


def _sorted(values: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64]) -> list[Any]:
    order = np.argsort(values, kind="stable")
    kept = rows[order]
    return [values[order], kept.astype(np.int32) if len(kept) and kept.max() < 2**31 else kept]


def _joined(parts: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _places(values: Any, text: str) -> range:
    wanted = hashes([text])[0]
    return range(
        int(np.searchsorted(values, wanted, "left")), int(np.searchsorted(values, wanted, "right"))
    )
