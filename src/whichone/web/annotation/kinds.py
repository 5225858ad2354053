"""The kinds of campaigns there are, by name."""

from __future__ import annotations

from starlette.exceptions import HTTPException

from whichone import registry
from whichone.web.annotation.evidence_kind import EvidenceKind
from whichone.web.annotation.kind import Kind

KINDS: dict[str, Kind] = {EvidenceKind.name: EvidenceKind()}
KINDS |= {name: kind() for name, kind in registry.every("campaigns").items()}


def kind_named(name: str) -> Kind:
    if name not in KINDS:
        raise HTTPException(422, f"kind must be one of {', '.join(KINDS)}")
    return KINDS[name]
