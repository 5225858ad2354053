"""Indexes: folders that are complete in themselves, built from a corpus and opened to be searched.

The corpus is linked into the index, so that the folder can be copied to another machine and searched
there. Where nobody names a folder, an index is stored in a work folder under the hash of what made it.
"""

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from whichone import registry
from whichone.corpus.corpus import Corpus
from whichone.corpus.save import put_corpus, save_corpus
from whichone.errors import BadInput, BrokenFolder, Missing, UsageError
from whichone.files.folder import Folder
from whichone.files.manifest import MANIFEST, decode_manifest
from whichone.records import Passage
from whichone.versions import versions

KIND = "index"
CORPUS = "corpus"


def index_folder(work: Path, kind: str, parameters: Mapping[str, Any]) -> Path:
    """The place of one index; other parameters or another corpus have another place."""
    identity = msgspec.json.encode(dict(sorted(parameters.items())))
    return work / f"{kind}-{hashlib.sha256(identity).hexdigest()[:12]}"


def open_index(place: Path, kind: str, parameters: Mapping[str, Any]) -> Folder | None:
    """The finished index of these parameters, or None where it has to be made (again)."""
    try:
        folder = Folder.open(place, kind)
    except (Missing, BrokenFolder):
        return None
    return folder if folder.manifest.parameters == dict(parameters) else None


@contextlib.contextmanager
def created(
    path: Path,
    retriever: str,
    passages: Corpus | Iterable[Passage],
    options: Mapping[str, Any],
    *,
    resume: bool = False,
) -> Iterator[tuple[Folder, Corpus]]:
    """A folder to fill with an index of a corpus, which is put into it; committed at the end.

    Anything iterable of passages will do instead of a corpus: it turns into one. With `resume` what a
    killed builder left in the folder's `.partial` is still there.
    """
    with Folder.create(path, KIND, resume=resume) as folder:
        place = folder.partial / CORPUS
        if isinstance(passages, Corpus):
            put_corpus(passages, place)
        else:
            save_corpus(place, passages)
        corpus = Corpus.open(place)
        yield folder, corpus
        adopt_folder(folder, CORPUS)
        folder.commit(
            name=retriever,
            parameters={"retriever": retriever, "options": dict(options)},
            parents={"corpus": corpus.hash},
            made={"versions": versions()},
        )


def adopt_folder(folder: Folder, name: str) -> None:
    """Name a finished folder inside `.partial`, and what is inside it, in the next commit."""
    for file, entry in decode_manifest(folder.partial / name / MANIFEST).files.items():
        folder.adopt(f"{name}/{file}", entry=entry)
    folder.adopt(f"{name}/{MANIFEST}")


def opened(path: str | Path, retriever: str) -> tuple[Folder, Corpus, dict[str, Any]]:
    """A finished index: its folder, its corpus, and the options it was built with."""
    folder = Folder.open(path, KIND)
    if (made_by := folder.manifest.parameters.get("retriever")) != retriever:
        raise BadInput(f"it is an index of {made_by}, not of {retriever}", file=folder.root)
    for name in folder.manifest.files:
        if name.endswith(f"/{MANIFEST}"):  # of the folders inside, which are opened by themselves
            folder.path(name)
    options: dict[str, Any] = folder.manifest.parameters["options"]
    return folder, Corpus.open(folder.root / CORPUS), options


def found_or_built(
    kind: Any, corpus: Corpus, work: Path, options: Mapping[str, Any], model: Mapping[str, Any] | None = None
) -> Path:
    """The index of a corpus in a work folder; built when it is not there yet.

    `model` describes the weights that made it: other weights under the same name are another index.
    Processes that want the same one at once wait for the first to build it.
    """
    identity = {**options, "corpus": corpus.hash, **({"described": model} if model else {})}
    place = index_folder(work, kind.name, identity)
    work.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(place):
        if not _is_index(place, corpus):
            kind.build(corpus, place, **options)
    return place


def _is_index(place: Path, corpus: Corpus) -> bool:
    try:
        folder = Folder.open(place, KIND)
    except (Missing, BrokenFolder):
        return False
    return folder.manifest.parents.get("corpus") == corpus.hash


@contextlib.contextmanager
def _one_at_a_time(place: Path) -> Iterator[None]:
    import fcntl

    with place.with_name(f".{place.name}.building").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def check_corpus(folder: Folder, corpus: str) -> None:
    """An index answers for the corpus it was made of, and for no other."""
    if (made_of := folder.manifest.parameters.get("corpus", "")) != corpus:
        raise BadInput(
            f"it is an index of another corpus ({made_of[:12] or 'unknown'}, not {corpus[:12]})",
            file=folder.root,
            hint="name another folder with --index, or remove this one",
        )


# Opens a finished index as the retriever that built it.


def open_index_folder(folder: str | Path, **options: Any) -> Any:
    """The retriever of an index folder; `options` are those that its kind may be opened with."""
    opened = Folder.open(folder, KIND)
    kind = registry.find("retrievers", str(opened.manifest.parameters["retriever"]))
    return kind.open(opened.root, **options)


def index_over(folder: str | Path, corpus: Corpus, **options: Any) -> Any:
    opened = Folder.open(folder, KIND)
    if (made_of := opened.manifest.parents.get("corpus", "")) != corpus.hash:
        raise BadInput(
            f"it is an index of another corpus ({made_of[:12] or 'unknown'}, not {corpus.hash[:12]})",
            file=opened.root,
            hint="build one of this corpus: whichone index CORPUS INDEX",
        )
    return open_index_folder(folder, **options)


def open_indexes(places: str, corpus: Corpus) -> list[tuple[str, Any]]:
    if not (listed := [place for place in places.split(",") if place]):
        raise UsageError("no index is named", hint="-o first=INDEX")
    return [(place, index_over(place, corpus)) for place in listed]
