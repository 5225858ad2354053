"""Licence and attribution of what a benchmark is made of, from its sources: in every card and export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

WIKIPEDIA = (
    "Text of Wikipedia is under CC BY-SA: whoever passes it on names its authors by a link to each "
    "page and keeps the licence."
)
BY_KIND = {
    "wikidata": "Wikidata is in the public domain (CC0).",
    "kilt": WIKIPEDIA,
    "wikipedia": WIKIPEDIA,
    "views": "",
    "catalogue": "The catalogue and its documents belong to whoever keeps them; ask there before passing them on.",
}


def licence_text(sources: Sequence[Mapping[str, Any]]) -> str:
    """One sentence for each kind of source; a source with a licence of its own says it."""
    lines: dict[str, None] = {}
    for source in sources:
        if source.get("licence"):
            cited = f" {source['citation']}" if source.get("citation") else ""
            lines[f"{source.get('file')}: {source['licence']}.{cited}"] = None
        else:
            unknown = f"Of {source.get('file')} no licence is recorded."
            lines[BY_KIND.get(str(source.get("kind")), unknown)] = None
    lines.pop("", None)
    return " ".join(lines) or "No source is recorded, and so no licence."


def with_licence(card: str, sources: Sequence[Mapping[str, Any]]) -> str:
    """The card, with licence and attribution at its end where it says nothing about them."""
    if "icence" in card or "CC BY" in card:
        return card
    return f"{card.rstrip()}\n\nLicence and attribution: {licence_text(sources)}\n".lstrip()


def card_beside(out: Path) -> Path:
    """Where an export's card goes: into its folder, or beside its file."""
    return out / "CARD.md" if out.is_dir() else out.with_name(f"{out.name}.card.md")
