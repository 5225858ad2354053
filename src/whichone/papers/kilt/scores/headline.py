"""The one downstream metric that the KILT paper names for each of its eleven datasets (Table 3)."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from whichone.errors import UsageError, did_you_mean

METRIC = {
    "fever": "accuracy",
    "aidayago2": "accuracy",
    "wned": "accuracy",
    "cweb": "accuracy",
    "trex": "accuracy",
    "structured_zeroshot": "accuracy",
    "nq": "em",
    "hotpotqa": "em",
    "triviaqa": "em",
    "eli5": "rougel",
    "wow": "f1",
}
"""By the name that the published files begin with."""

OTHER_NAMES = {
    "aida": "aidayago2",
    "wned-wiki": "wned",
    "wned-cweb": "cweb",
    "zsre": "structured_zeroshot",
}


class Headline(Struct, frozen=True):
    """The names of the metrics that the paper's tables show for a dataset."""

    dataset: str
    downstream: str
    kilt: str
    retrieval: str = "Rprec"


def headline(dataset: str) -> Headline:
    name = dataset.lower()
    name = OTHER_NAMES.get(name, name)
    if name not in METRIC:
        raise UsageError(
            f"KILT has no dataset called {dataset!r}",
            hint=did_you_mean(name, [*METRIC, *OTHER_NAMES]),
        )
    return Headline(name, METRIC[name], f"KILT-{METRIC[name]}")


def headline_of_file(path: str | Path) -> Headline | None:
    """Told by a published file's name, such as nq-dev-kilt.jsonl; None for other names."""
    stem = Path(path).name.lower().split(".")[0]
    first = stem.split("-")[0]
    return headline(first) if first in METRIC and "kilt" in stem.split("-") else None
