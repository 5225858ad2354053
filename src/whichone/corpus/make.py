"""A corpus from whatever people have: a knowledge base, a file of passages, BEIR, KILT, documents."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.corpus.cut import ARTICLE, Cut, cut_corpus
from whichone.corpus.page_names import names_in_catalogues, names_of_pages
from whichone.corpus.passage_files import FilePassages, PassageFields
from whichone.corpus.save import save_corpus
from whichone.errors import Missing
from whichone.files.folder import Folder
from whichone.files.manifest import MANIFEST
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.knowledge.knowledge_tables import page_language
from whichone.options import DEFAULT_MEMORY
from whichone.text.language import base_code


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
