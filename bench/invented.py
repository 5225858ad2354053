"""Invented corpora and benchmarks of any size, without a Python object a passage: for measurements of size.

A page has three passages of 100 words (Zipf-distributed over a million); two pages on average share a name. Given names
are words from rank 300 on, family names from rank 1,500 on, and what somebody is from rank 200 on, about where such words are
in English: in a passage of fifty, in one of two hundred, in one of thirty at most.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WORDS = 100
PER_PAGE = 3
VOCABULARY = 1_000_000
BATCH = 8_190  # of PER_PAGE
SHARD = 245_700  # of BATCH
_SYLLABLES = [
    "ba",
    "de",
    "fi",
    "go",
    "lu",
    "mar",
    "nor",
    "pel",
    "qui",
    "ros",
    "sta",
    "tin",
    "vol",
    "wen",
    "zor",
    "kal",
    "bri",
    "den",
    "fos",
    "hul",
]


@cache
def vocabulary() -> pa.Array:
    """Words of three syllables and more, none a stop word; or those of a BERT vocabulary, for tokenisers.

    Of the file in `INVENTED_VOCABULARY` the whole words are taken: a tokeniser makes one token of each.
    """
    file = os.environ.get("INVENTED_VOCABULARY")
    if file:
        words = Path(file).read_text().split()
        return pa.array([w for w in words if w.isascii() and w.isalpha() and len(w) > 2])
    return pa.array([word(n) for n in range(VOCABULARY)])


def word(number: int) -> str:
    number += 400
    parts = []
    while number:
        number, rest = divmod(number, len(_SYLLABLES))
        parts.append(_SYLLABLES[rest])
    return "".join(parts)


def name(number: int) -> str:
    """A given name and a family name."""
    given, family = word(300 + number % 8000), word(1500 + number // 8000)
    return f"{given.capitalize()} {family.capitalize()}"


def page_name(page: int, pages: int) -> str:
    """Half as many names as pages: many a name has several bearers."""
    return name((page * 2_654_435_761) % max(pages // 2, 1))


def page_id(page: int) -> str:
    return f"invented:{page:09}"


def calling(page: int) -> str:
    """What somebody is."""
    return word(200 + page % 997)


def title(page: int, pages: int) -> str:
    return f"{page_name(page, pages)} ({calling(page)})"


def batches(
    passages: int, schema: pa.Schema, first: int = 0, end: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Passages in the order of their page and number, or those from `first` (of `BATCH`) to `end`."""
    pages = -(-passages // PER_PAGE)
    for start in range(first, min(passages, end or passages), BATCH):
        yield _batch(start, min(BATCH, passages - start), pages, schema)


def _batch(start: int, count: int, pages: int, schema: pa.Schema) -> pa.RecordBatch:
    generator = np.random.default_rng(start)
    numbers = np.exp(generator.uniform(0, np.log(len(vocabulary())), count * WORDS)).astype(np.int64)
    words = vocabulary().take(pa.array(numbers))
    offsets = pa.array(np.arange(0, count * WORDS + 1, WORDS, dtype=np.int32))
    texts = pc.binary_join(pa.ListArray.from_arrays(offsets, words), " ")
    first = range(start // PER_PAGE, (start + count - 1) // PER_PAGE + 1)
    owner = pa.array(np.arange(start, start + count) // PER_PAGE - first.start)
    titles = pa.array([title(page, pages) for page in first]).take(owner)
    opening = pa.array([f"{page_name(p, pages)} is a {calling(p)} from" for p in first])
    ids = pa.array([page_id(page) for page in first]).take(owner)
    n = pa.array((np.arange(start, start + count) % PER_PAGE).astype(np.int32))
    columns = {
        "id": pc.binary_join_element_wise(ids, n.cast(pa.string()), "#"),
        "page": ids,
        "n": n,
        "title": titles,
        "text": pc.binary_join_element_wise(opening.take(owner), texts, " "),
    }
    missing = (f.name for f in schema if f.name not in columns)
    nulls = {column: pa.nulls(count, schema.field(column).type) for column in missing}
    return pa.RecordBatch.from_pydict({**columns, **nulls}, schema=schema)


def reader(passages: int) -> pa.RecordBatchReader:
    from whichone.corpus.corpus import PASSAGES

    return pa.RecordBatchReader.from_batches(PASSAGES.schema, batches(passages, PASSAGES.schema))


def asked_pages(count: int, pages: int) -> list[int]:
    """Pages that questions are about, all over the corpus."""
    step = max(pages // max(count, 1), 1)
    return [(n * step) % pages for n in range(count)]


def question(page: int, pages: int) -> str:
    return f"Where is {page_name(page, pages)} the {calling(page)} from?"


class ShardWriter:
    """Writes one shard of the invented passages."""

    def __init__(self, place: Path, passages: int) -> None:
        self._place, self._passages = place, passages

    def __call__(self, number: int) -> None:
        from whichone.corpus.corpus import PASSAGES

        beside = self._place / f".{number:05}.arrow"
        with pa.OSFile(str(beside), "wb") as sink, pa.ipc.new_file(sink, PASSAGES.schema) as out:
            first = number * SHARD
            for batch in batches(self._passages, PASSAGES.schema, first, first + SHARD):
                out.write_batch(batch)
        beside.rename(self._place / f"{number:05}.arrow")
