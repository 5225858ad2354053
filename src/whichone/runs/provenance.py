"""What the runner asks of a ranking before it believes it."""

import contextlib
import hashlib
import math
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

import msgspec
import numpy as np
import numpy.typing as npt

from whichone.benchmarks.benchmark import Benchmark
from whichone.chat.endpoint import remote_host
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing, UsageError, sample
from whichone.files.folder import Folder, file_hash
from whichone.files.manifest import MANIFEST
from whichone.files.output import refuse_to_replace
from whichone.records import Query, Question, Ranking, grouped, page_of
from whichone.versions import code_of, own_code

Returns = Literal["page", "passage"]
_REMEMBERED = 100_000  # Ids that are not looked up again: rankings of one run have many passages in common


class RankingCheck:
    """Checks ids against a corpus; the first block decides whether they are pages or passages."""

    def __init__(self, corpus: Corpus, returns: Returns | None = None) -> None:
        self._corpus, self.returns = corpus, returns
        self._seen: dict[Returns, set[str]] = {"page": set(), "passage": set()}

    def _known(self, kind: Returns, ids: Sequence[str]) -> set[str]:
        """Which of these are passages, or pages."""
        seen = self._seen[kind]
        rows = self._corpus.rows if kind == "passage" else self._corpus.page_rows
        if len(seen) > _REMEMBERED:
            seen.clear()
        new = [identity for identity in ids if identity not in seen]
        seen.update(i for i, row in zip(new, rows(new), strict=True) if row is not None)
        return seen.intersection(ids)

    def translate(self, ranking: Ranking) -> Ranking:
        """Ids by which the corpus itself calls its passages, in our words; others as they are."""
        if not self._corpus.has_source_ids:
            return ranking
        rows = self._corpus.by_source_id(ranking.passages)
        if all(row is None for row in rows):
            return ranking
        pairs = zip(ranking.passages, rows, strict=True)
        ids = (own if row is None else self._corpus.ids([row])[0] for own, row in pairs)
        return msgspec.structs.replace(ranking, passages=tuple(ids))

    def infer(self, rankings: Sequence[Ranking], *, strict: bool = True) -> None:
        """Decide what the ids are; an error when they fit both or neither.

        Where single failures are kept (not `strict`), a stranger among known ids is no reason to stop.
        """
        ids = {identity for ranking in rankings for identity in ranking.passages}
        if self.returns is not None or not ids:
            return
        listed = sorted(ids)
        passages, pages = self._known("passage", listed), self._known("page", listed)
        if passages == ids and pages == ids:
            raise UsageError(
                f"the ids are both passages and pages ({sample(sorted(ids))})",
                hint='say which: returns="page" or returns="passage" (--returns)',
            )
        enough = ids if strict else passages | pages
        if not enough or (passages != enough and pages != enough):
            if not (strangers := sorted(ids - passages - pages)):
                raise BadInput(
                    f"some ids are pages ({sample(sorted(pages))}), some are passages"
                    f" ({sample(sorted(passages - pages))})",
                    hint="return the one or the other",
                )
            raise BadInput(
                f"{len(strangers)} of {len(ids)} returned ids are not in the corpus: {sample(strangers)}",
                hint=self.called(strangers[0]),
            )
        self.returns = "passage" if passages == enough else "page"

    def called(self, stranger: str) -> str:
        """What ids of this corpus look like, and what a stranger may have meant."""
        passages = sample(self._corpus.ids(range(min(3, len(self._corpus)))))
        pages = self._corpus.page_ids(range(min(3, self._corpus.page_count)))
        description = f"passages of this corpus are called {passages}, pages {sample(pages)}"
        sources = sorted({page.partition(":")[0] for page in pages if ":" in page})
        meant = [m for s in sources if self._corpus.page_row(m := f"{s}:{stranger}") is not None]
        if meant:
            return f"{description}; did you mean {meant[0]}?"
        return f"{description}; map your ids to these"

    def check(self, question: Question, ranking: Ranking, k: int) -> Ranking:
        """The ranking itself, or an error that says what is wrong with it."""
        ids, scores = ranking.passages, ranking.scores
        if ranking.question != question.id:
            raise BadInput(f"asked {question.id}, answered {ranking.question}", ids=[question.id])
        if scores and len(scores) != len(ids):
            raise BadInput(f"{len(ids)} ids but {len(scores)} scores", ids=[question.id])
        for identity, score in zip(ids, scores, strict=False):  # scores may be left out
            if not math.isfinite(score):
                raise BadInput(f"the score of {identity} is {score}, not a finite number", ids=[question.id])
        if scores and scores[-1] > scores[0]:
            raise BadInput(
                f"the scores rise from {scores[0]:g} to {scores[-1]:g}",
                ids=[question.id],
                hint="a ranking is best first; turn the list, or give distances as negative scores",
            )
        if len(ids) > k:
            raise BadInput(f"{len(ids)} results where at most {k} were asked for", ids=[question.id])
        if len(set(ids)) != len(ids):
            twice = sorted({i for i in ids if ids.count(i) > 1})
            raise BadInput(f"an id is returned twice: {sample(twice)}", ids=[question.id])
        right: Returns = "page" if self.returns == "page" else "passage"
        wrong: Returns = "passage" if right == "page" else "page"
        known = self._known(right, ids)
        if strangers := [i for i in ids if i not in known]:
            if len(self._known(wrong, strangers)) == len(strangers):
                raise BadInput(
                    f"{wrong}s came back where a {right} was expected: {sample(strangers)}",
                    ids=[question.id],
                    hint="return the one or the other for every question; --returns says which",
                )
            raise BadInput(
                f"ids that are not in the corpus: {sample(strangers)}",
                ids=[question.id],
                hint=self.called(strangers[0]),
            )
        return ranking

    def page(self, identity: str) -> str:
        return identity if self.returns == "page" else page_of(identity)


# Files that a user's own search, reader or agent reads: part of what makes a run, like its code.
# A function or class declares them in an attribute: `search.inputs = ["synonyms.json"]`. Files that an option
# names count without being declared.


ATTRIBUTE = "inputs"


def inputs_of(system: object, description: Mapping[str, Any]) -> dict[str, str]:
    """The hash of each file or folder that a system declares, or that one of its options names."""
    declared: list[Path] = []
    for own in map(own_code, filter(code_of, getattr(system, "parts", None) or (system,))):
        named = getattr(own, ATTRIBUTE, ())
        try:
            declared += map(Path, [named] if isinstance(named, str | bytes | Path) else named)
        except TypeError:
            name = getattr(own, "__qualname__", type(own).__name__)
            raise UsageError(
                f"{name}.{ATTRIBUTE} is a list of files that it reads, not {named!r:.60}"
            ) from None
    for place in declared:
        if not place.exists():
            raise Missing(
                "there is no such file, though it is declared as an input",
                where=str(place),
                hint="a path is relative to the folder in which whichone is started",
            )
    return {str(place): _content(place) for place in [*declared, *_named_by_options(description)]}


def _named_by_options(description: Mapping[str, Any]) -> Iterator[Path]:
    options, search = description.get("options"), description.get("search")
    for value in options.values() if isinstance(options, Mapping) else ():
        with contextlib.suppress(OSError, ValueError):  # too long for a name, or with a null byte
            if isinstance(value, str) and value and Path(value).is_file():
                yield Path(value)
    if isinstance(search, Mapping):
        yield from _named_by_options(search)


def _content(path: Path) -> str:
    if path.is_file():
        return file_hash(path)[:16]
    files = sorted(p for p in path.rglob("*") if p.is_file())
    lines = (f"{file.relative_to(path)}\0{file_hash(file)}\n" for file in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]


class Maker(msgspec.Struct, frozen=True):
    """What of a user's own makes a folder of results: the code of the system, and the files that it reads."""

    code: str | None
    inputs: dict[str, str]

    @classmethod
    def of(cls, system: object, description: Mapping[str, Any]) -> Self:
        return cls(code_of(system), inputs_of(system, description))

    def recorded(self) -> dict[str, Any]:
        """For the `made` part of a manifest."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value}

    def made(self, folder: Folder) -> bool:
        """Whether a finished folder was made by this code from these inputs.

        Where it was not, a command that may not replace it ends with an error that names what has changed.
        """
        before = folder.manifest.made.get(ATTRIBUTE, {})
        changes = []
        for name in sorted(before | self.inputs):
            if name not in before:
                changes.append(f"{name}, which it reads, was not an input before")
            elif before[name] != self.inputs.get(name):
                how = "has changed" if name in self.inputs else "is no input any more"
                changes.append(f"{name}, which it reads, {how}")
        if folder.manifest.made.get("code") != self.code:
            changes.append("its code has changed")
        if changes:
            refuse_to_replace(folder.root, folder.manifest.kind, sample(changes, 5))
        return not changes


def latency(seconds: Sequence[float] | npt.NDArray[np.float64]) -> dict[str, float]:
    """Half of the questions, and all but one in twenty, took no longer; empty where none was timed."""
    if not len(seconds):
        return {}
    p50, p95 = np.percentile(seconds, [50, 95])
    return {"latency_p50": round(float(p50), 6), "latency_p95": round(float(p95), 6)}


# What changes a system's numbers beside its options: who wrote it, at which commit, and with which weights.


def identified(system: object, description: Mapping[str, Any]) -> dict[str, Any]:
    """A description with the plugin's version and commit, and the hashes of local models that it names."""
    more = {"plugin": plugin_of(system), "model_hashes": dict(_local_models(description))}
    return {**description, **{name: value for name, value in more.items() if value}}


def plugin_of(system: object) -> dict[str, str]:
    """Package, version and commit of a system that is not whichone's own; empty for whichone's and for loose code."""
    own = getattr(system, "own_code", system)
    module = str(getattr(own, "__module__", "") or type(own).__module__)
    if (top := module.partition(".")[0]) in ("whichone", "builtins", "__main__"):
        return {}
    if (distribution := _distribution_with(top, tuple(map(str, sys.path)))) is None:
        return {}
    return {"package": distribution.name, "version": distribution.version, **_commit(distribution)}


@cache
def _distribution_with(package: str, path: tuple[str, ...]) -> metadata.Distribution | None:
    """Which installed distribution a package came with; looked up once, as all distributions have to be read.

    As `packages_distributions` says, which takes a second for the files of all distributions.
    """
    recorded = re.compile(rf"^{re.escape(package)}(/|\.py,|\.([^/,]+\.)?(so|pyd),)", re.M)
    for distribution in metadata.distributions(path=list(path)):
        listed = (distribution.read_text("top_level.txt") or "").split()
        if listed and package not in listed:
            continue
        if listed or recorded.search(distribution.read_text("RECORD") or ""):
            return distribution
    return None


def _commit(distribution: metadata.Distribution) -> dict[str, str]:
    """From what pip wrote at installation; of an editable installation from its git checkout."""
    if not (text := distribution.read_text("direct_url.json")):
        return {}
    origin = msgspec.json.decode(text)
    if commit := origin.get("vcs_info", {}).get("commit_id"):
        return {"commit": str(commit)}
    scheme, _, folder = str(origin.get("url", "")).partition("://")
    if scheme != "file" or not (head := _git(folder, "rev-parse", "HEAD")):
        return {}
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": f"{head}+changes" if changed else head}


def _git(folder: str, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", folder, *words], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


_MODEL_FILES = ("*.safetensors", "*.bin", "*.onnx", "*.pt", "*.gguf")


def _local_models(description: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Options that name a folder or file with weights, unless the description has their hash already."""
    hashed = "weights" in description
    for key, value in description.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{name}", identity) for name, identity in _local_models(value))
        elif isinstance(value, str) and value and not hashed and _has_weights(Path(value)):
            yield key, model_hash(Path(value))


def _has_weights(path: Path) -> bool:
    with contextlib.suppress(OSError):
        if path.is_file():
            return any(path.match(pattern) for pattern in _MODEL_FILES)
        return path.is_dir() and any(True for p in _MODEL_FILES for _ in path.rglob(p))
    return False


def model_hash(path: Path) -> str:
    """Of a file, of a folder's manifest, or of the names and hashes of all files with weights."""
    if path.is_file():
        return file_hash(path)[:16]
    if (path / MANIFEST).exists():
        return file_hash(path / MANIFEST)[:16]
    files = sorted({f for pattern in _MODEL_FILES for f in path.rglob(pattern)})
    text = "\n".join(f"{f.relative_to(path)} {file_hash(f)}" for f in files)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def drawn(queries: Iterable[Query], limit: int, seed: int = 0) -> frozenset[str]:
    """So many questions of a seeded draw of names: all tasks of a name, one name after the other.

    The first questions of a file are those of one task, or of the most popular names.
    """
    groups = grouped(
        (query.name_set or query.name or query.entity or query.id, query.id) for query in queries
    )
    names = sorted(groups)
    order = np.random.default_rng(seed).permutation(len(names))
    return frozenset(islice(chain.from_iterable(groups[names[place]] for place in order), limit))


# What a retriever would send to another machine, said before anything is sent.


_ADDRESSES = {"http": "url", "rerank": "endpoint"}  # Which option of a retriever names a service


def what_leaves(name: str, options: Mapping[str, Any], benchmark: Benchmark) -> str | None:
    """One sentence on what goes to which address; None where a retriever asks nobody.

    What a function of the user's own sends cannot be known.
    """
    address = options.get(_ADDRESSES.get(name, ""))
    if not urlsplit(str(address or "")).netloc:
        return None
    if (host := remote_host(str(address))) is None:
        return f"asking {name} on this machine: nothing leaves it"
    texts = f"{len(benchmark.queries):,} questions"
    if name == "rerank":
        texts += f" with up to {options.get('depth', 100)} passages each"
    return f"what leaves this machine: {texts}, to {host}; no gold answers"
