"""The benchmarks that come with whichone: built from the built-in world when first asked for."""

from __future__ import annotations

import fcntl
import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.tables import KIND
from whichone.errors import UsageError, WhichoneError, did_you_mean
from whichone.files.cache import cache_folder
from whichone.files.folder import Folder
from whichone.knowledge.ingest import ingest
from whichone.knowledge.readers.wikidata import Selection
from whichone.knowledge.sources.pages import pages_source
from whichone.knowledge.sources.views import ViewsFile
from whichone.knowledge.sources.wikidata import WikidataDump
from whichone.knowledge.tables import KIND as KNOWLEDGE_BASE
from whichone.papers.amber.build import build_amber
from whichone.papers.amber.collection import load_collection
from whichone.papers.ambigdocs.build_benchmark import build_ambigdocs
from whichone.papers.entityquestions.build import BuildOptions, build_entityquestions
from whichone.world.compile import compile_builtin

COLLECTIONS = ("human", "nonhuman")
BUILTIN = {
    "builtin/amber": "AmbER sets of the built-in world: 85 shared names, three tasks.",
    "builtin/ambigdocs": "AmbigDocs' questions of the built-in world: one answer for each bearer.",
    "builtin/entityquestions": "EntityQuestions of the built-in world: simple facts of 19 relations.",
}
"""Names that stand wherever a benchmark is asked for."""


def builtin_benchmark(name: str) -> Path:
    """The folder of a built-in benchmark; made in the cache when it is not there yet."""
    builders: dict[str, Callable[[Path, Path], Benchmark]] = {
        "builtin/amber": build_builtin_amber,
        "builtin/ambigdocs": lambda kb, out: build_ambigdocs(kb, out)[0],
        "builtin/entityquestions": build_builtin_entityquestions,
    }
    if name not in builders:
        raise UsageError(f"there is no benchmark {name!r}", hint=did_you_mean(name, builders))
    place = cache_folder() / "builtin" / _fingerprint()
    target = place / name.removeprefix("builtin/")
    if not _is_there(target, KIND):
        kb = builtin_knowledge_base(place)
        with _one_at_a_time(place):
            if not _is_there(target, KIND):
                builders[name](kb, target)
    return target


def builtin_knowledge_base(place: Path) -> Path:
    """The built-in world, through the real dump formats and readers, as a knowledge base."""
    kb = place / "kb"
    if not _is_there(kb, KNOWLEDGE_BASE):
        with _one_at_a_time(place), tempfile.TemporaryDirectory() as temporary:
            if not _is_there(kb, KNOWLEDGE_BASE):
                ingest_dumps(compile_builtin(Path(temporary)), kb)
    return kb


def _is_there(folder: Path, kind: str) -> bool:
    try:
        Folder.open(folder, kind)
    except WhichoneError:
        return False
    return True


@contextmanager
def _one_at_a_time(place: Path) -> Iterator[None]:
    """Processes that ask for the same built-in thing at once wait for the first one to make it."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / "building").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def ingest_dumps(dumps: dict[str, Path], kb: Path) -> None:
    """The four dumps of a compiled world into a knowledge base."""
    ingest(
        kb,
        [
            WikidataDump(dumps["wikidata.json.bz2"], Selection()),
            pages_source(dumps["kilt_knowledgesource.json.gz"]),
            ViewsFile(dumps["pagecounts-totals.bz2"]),
        ],
    )


def build_builtin_amber(kb: Path, out: Path) -> Benchmark:
    """Both collections of AmbER sets over one corpus."""
    with tempfile.TemporaryDirectory() as temporary:
        parts = [
            build_amber(kb, Path(temporary) / name, load_collection(name))[0]
            for name in COLLECTIONS
        ]
        return save_benchmark(
            out,
            name="builtin-amber",
            queries=[query for part in parts for query in part.queries],
            sets=[name_set for part in parts for name_set in part.sets],
            passages=parts[0].passages,
            card="\n".join(part.card for part in parts),
            parameters={part.name: part.folder.manifest.parameters for part in parts},
            sources=parts[0].folder.manifest.sources,
            parents=parts[0].folder.manifest.parents,
            counts={"sets": sum(len(part.sets) for part in parts)},
        )


def build_builtin_entityquestions(kb: Path, out: Path) -> Benchmark:
    """Every relation with two facts and two answers: a small world has few of each."""
    options = BuildOptions(least_facts=1, least_answers=2, frequency="views")
    return build_entityquestions(kb, out, options).benchmark


def _fingerprint() -> str:
    """Of the world's source and of the code that turns it into a benchmark."""
    digest = hashlib.sha256()
    root = Path(str(files("whichone")))
    for room in ("world", "knowledge", "benchmarks", "files", "text"):
        for path in sorted((root / room).rglob("*")):
            if path.suffix in (".py", ".toml", ".md"):
                digest.update(path.relative_to(root).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
