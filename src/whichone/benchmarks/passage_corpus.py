"""Passages of a file as a corpus on disk beside a benchmark that is being imported, so that nothing is kept in memory."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from whichone.corpus.corpus import Corpus
from whichone.corpus.passage_files import PassageFields
from whichone.corpus.passage_runs import FilePassages
from whichone.corpus.save import save_corpus
from whichone.files.manifest import MANIFEST
from whichone.text.language import base_code


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
