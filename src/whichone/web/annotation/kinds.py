"""The kinds of campaigns there are, by name."""

from __future__ import annotations

from starlette.exceptions import HTTPException

from whichone.web.annotation.category_kind import CategoryKind
from whichone.web.annotation.evidence_kind import EvidenceKind
from whichone.web.annotation.kind import Kind

KINDS: dict[str, Kind] = {kind.name: kind for kind in (EvidenceKind(), CategoryKind())}


def kind_named(name: str) -> Kind:
    if name not in KINDS:
        raise HTTPException(422, f"kind must be one of {', '.join(KINDS)}")
    return KINDS[name]
