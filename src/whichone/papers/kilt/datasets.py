"""The eleven datasets: task, metric, splits, file names, licence and citation, from `datasets.toml`."""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from pathlib import Path

import msgspec

from whichone.benchmarks.by_name import PublishedFile, listed_files
from whichone.errors import UsageError, did_you_mean

PAPER = "Petroni and others. KILT: a benchmark for knowledge intensive language tasks. NAACL 2021."
OTHER_NAMES = {
    "aida": "aidayago2",
    "ay2": "aidayago2",
    "wned-wiki": "wned",
    "wned-cweb": "cweb",
    "t-rex": "trex",
    "zsre": "structured_zeroshot",
}
SPLITS = ("train", "dev", "test")
_WITHOUT_ANSWERS = "test_without_answers"


class Dataset(msgspec.Struct, frozen=True, kw_only=True):
    """One of the eleven; `splits` contains the sizes that the paper gives."""

    name: str
    label: str
    title: str
    task: str
    metric: str
    splits: dict[str, int]
    licence: str
    citation: str
    multi_hop: bool = False
    file_splits: dict[str, str] = {}
    inputs_from_original: bool = False

    def file(self, split: str) -> str:
        """The name of the published file of a split."""
        usual = _WITHOUT_ANSWERS if split == "test" else split
        return f"{self.name}-{self.file_splits.get(split, usual)}-kilt.jsonl"


@functools.cache
def datasets() -> dict[str, Dataset]:
    text = resources.files(__package__).joinpath("datasets.toml").read_text("utf-8")
    return {
        name: msgspec.convert({"name": name, **entry}, Dataset)
        for name, entry in tomllib.loads(text).items()
    }


def dataset(name: str) -> Dataset:
    """A dataset by the name of its files, or by a name that people use for it."""
    word = name.lower()
    word = OTHER_NAMES.get(word, word)
    if word not in datasets():
        raise UsageError(
            f"KILT has no dataset called {name!r}",
            hint=did_you_mean(word, [*datasets(), *OTHER_NAMES]),
        )
    return datasets()[word]


def dataset_and_split(path: str | Path) -> tuple[Dataset, str] | None:
    """Told by a published file's name, such as nq-dev-kilt.jsonl.gz; None for other names."""
    parts = Path(path).name.split(".")[0].lower().split("-")
    if len(parts) < 3 or parts[-1] != "kilt" or parts[0] not in datasets():
        return None
    split = next((s for s in SPLITS if parts[1].startswith(s)), None)
    return (datasets()[parts[0]], split) if split else None


def published_files() -> list[PublishedFile]:
    """KILT's files for `whichone fetch`; each dataset has a licence and authors of its own."""
    return [_licensed(file) for file in listed_files(__package__ or "", "published_files.toml")]


def _licensed(file: PublishedFile) -> PublishedFile:
    known = dataset_and_split(file.file)
    if known is None:
        return file
    citation = f"{known[0].citation} {PAPER}"
    return msgspec.structs.replace(file, licence=known[0].licence, citation=citation)
