"""Top-k retrieval accuracy: the share of questions with an answer among their first k passages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from whichone.errors import BadInput, Missing, UsageError
from whichone.measures.matching.labels import Labels

_COMPRESSED = re.compile(r"\.(gz|bz2|zst)$")
_FORMAT = re.compile(r"\.(json|jsonl)$")
_SPLIT = re.compile(r"\.(train|dev|test)$")


class TopK(msgspec.Struct, frozen=True):
    """Fractions by k. Macro: the mean over files; micro: over all questions of all files."""

    relations: dict[str, dict[str, float]]
    macro: dict[str, float]
    micro: dict[str, float]


def top_k(files: Mapping[str, Sequence[Labels]], depths: Sequence[int]) -> TopK:
    """Every depth at once; a question with fewer than k passages, or none, is no special case."""
    hits = {
        name: {k: sum(question.hit_at(k) for question in labels) for k in depths}
        for name, labels in files.items()
    }
    questions = sum(len(labels) for labels in files.values())
    relations = {
        name: {str(k): hits[name][k] / len(labels) for k in depths}
        for name, labels in files.items()
    }
    macro = {str(k): sum(by_k[str(k)] for by_k in relations.values()) / len(files) for k in depths}
    micro = {str(k): sum(by_k[k] for by_k in hits.values()) / questions for k in depths}
    return TopK(relations, macro, micro)


def relation_name(path: Path) -> str:
    """`P106` for `P106.test.json`, `P19_similar` for `P19_similar.dev.json.gz`: base name, no split."""
    name = path.name
    for suffix in (_COMPRESSED, _FORMAT, _SPLIT):
        name = suffix.sub("", name)
    return name


def relation_names(paths: Sequence[Path]) -> list[str]:
    """A name for each file; where base names repeat, the folder goes in front (`P19/bucket0`)."""
    names = [relation_name(path) for path in paths]
    counts = Counter(names)
    names = [
        f"{path.absolute().parent.name}/{name}" if counts[name] > 1 else name
        for path, name in zip(paths, names, strict=True)
    ]
    for name, count in Counter(names).items():
        if count > 1:
            raise UsageError(
                f"{count} files would be called {name!r}",
                hint="score them apart, or rename them",
            )
    return names


def result_files(arguments: Iterable[str | Path]) -> list[Path]:
    """The files named, and for a folder the result files in it, by base name as published."""
    files: list[Path] = []
    for argument in map(Path, arguments):
        if argument.is_dir():
            inside = [p for p in argument.iterdir() if _FORMAT.search(_COMPRESSED.sub("", p.name))]
            if not inside:
                raise BadInput("there is no .json or .jsonl file in the folder", file=argument)
            files.extend(inside)
        elif argument.exists():
            files.append(argument)
        else:
            raise Missing("no such file", where=str(argument))
    return sorted(files, key=lambda path: (path.name, str(path)))
