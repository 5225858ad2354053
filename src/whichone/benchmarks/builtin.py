"""The benchmarks that come with whichone: built from the built-in world when first asked for."""

from __future__ import annotations

import functools
import hashlib
import tempfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.tables import KIND
from whichone.errors import UsageError, WhichoneError, did_you_mean
from whichone.files.folder import Folder
from whichone.files.output import cache_folder, one_at_a_time
from whichone.knowledge.formats.sources import pages_source
from whichone.knowledge.formats.wiki_dumps import ViewsFile
from whichone.knowledge.formats.wikidata import Selection, WikidataDump
from whichone.knowledge.ingest import ingest
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.world.compile import compile_builtin


def builtin_benchmark(name: str) -> Path:
    """The folder of a built-in benchmark; made in the cache when it is not there yet."""
    known = registry.names("builtins")
    if name not in known:
        raise UsageError(f"there is no benchmark {name!r}", hint=did_you_mean(name, known))
    place = cache_folder() / "builtin" / _fingerprint()
    target = place / name.removeprefix("builtin/")
    if not _is_there(target, KIND):
        kb = builtin_knowledge_base(place)
        with one_at_a_time(place):
            if not _is_there(target, KIND):
                build_builtin(name, kb, target)
    return target


def builtin_knowledge_base(place: Path) -> Path:
    """The built-in world, through the real dump formats and readers, as a knowledge base."""
    kb = place / "kb"
    if not _is_there(kb, KNOWLEDGE_BASE):
        with one_at_a_time(place), tempfile.TemporaryDirectory() as temporary:
            if not _is_there(kb, KNOWLEDGE_BASE):
                ingest_dumps(compile_builtin(Path(temporary)), kb)
    return kb


def _is_there(folder: Path, kind: str) -> bool:
    try:
        Folder.open(folder, kind)
    except WhichoneError:
        return False
    return True


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


def build_builtin(name: str, kb: Path, out: Path) -> Benchmark:
    """A built-in benchmark, by the paper that offers it, of a knowledge base of the built-in world."""
    build: Callable[[Path, Path], Benchmark] = registry.find("builtins", name)
    return build(kb, out)


@functools.cache
def _fingerprint() -> str:
    """Of the world's source and of the code that turns it into a benchmark."""
    digest = hashlib.sha256()
    root = Path(str(files("whichone")))
    for room in ("world", "knowledge", "corpus", "benchmarks", "papers", "files", "text"):
        for path in sorted((root / room).rglob("*")):
            if path.suffix in (".py", ".toml", ".md"):
                digest.update(path.relative_to(root).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
