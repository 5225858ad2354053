"""Writes `evidence.json`: the weights fitted on the development halves of all sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

import whichone.retrieval.namesake as package
from namesake_fit.model import Case, features_at_hand, was_read, whole_fit
from whichone.retrieval.namesake.weights import EvidenceModel
from whichone.versions import versions

FILE = "evidence.json"
PACKAGE = Path(package.__file__).parent
MODELS = {
    "sentences": ("sentence", 3.5),
    "late": ("pair", 1.0),
    "cross": ("pair", 5.0),
    "reader": ("pair", 5.0),
}
"""What a model's own feature weighs beside the others until a fit with that model was made."""


def write(cases: Sequence[Case], judge: str | None, into: Path | None) -> EvidenceModel:
    """The fit of what is at hand; fits with models that are not take over its weights beside their own."""
    old = EvidenceModel.load()
    kind = {"reader": "reader", None: "words"}.get(judge, "cross")
    if judge:
        cases = [c for c in cases if was_read(c)]
    made = {"sets": sorted({c.set for c in cases}), "questions": len(cases)}
    shipped = old.fits["words"]  # who is absent is learned by `absent --fit`
    own = msgspec.structs.replace(
        whole_fit(cases, features_at_hand(judge)), nobody=shipped.nobody, nobody_from=shipped.nobody_from
    )
    fits, accounts = {**old.fits}, {k: v for k, v in old.made.items() if k in ("words", "cross", "reader")}
    fits[kind], accounts[kind] = own, made
    if not judge:
        for name, (feature, weight) in MODELS.items():
            if name in accounts:
                continue
            known = old.fits.get(name)
            weight = known.weights.get(feature, weight) if known is not None else weight
            fits[name] = msgspec.structs.replace(own, weights={**own.weights, feature: weight})
    if not judge:
        fits = {name: msgspec.structs.replace(fit, supported=own.supported) for name, fit in fits.items()}
    model = EvidenceModel(
        fits,
        {
            "by": "bench/namesake.py",
            **accounts,
            "versions": {k: v for k, v in versions().items() if k in ("whichone", "numpy")},
        },
    )
    file = (into or PACKAGE) / FILE
    file.write_bytes(msgspec.json.format(msgspec.json.encode(model), indent=1) + b"\n")
    print(f"{FILE}: {len(own.weights)} weights of {len(cases)} questions")
    return model
