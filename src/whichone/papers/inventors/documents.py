"""Patents as passages: title, inventors with their places, owner, field, date and abstract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from whichone.corpus.names import Named
from whichone.names import name_key
from whichone.papers.inventors.files import Mention
from whichone.papers.inventors.people import patent_page
from whichone.records import Passage, passage_id


def patents(mentions: Iterable[Mention]) -> dict[str, list[Mention]]:
    """The mentions of each patent, by page id in order."""
    grouped: dict[str, list[Mention]] = {}
    for mention in mentions:
        grouped.setdefault(patent_page(mention.patent), []).append(mention)
    return dict(sorted(grouped.items()))


def passages(grouped: Mapping[str, list[Mention]], fields: Mapping[str, str]) -> Iterator[Passage]:
    """One passage a patent; who of its inventors is whom is not said."""
    for page, mentions in grouped.items():
        first = mentions[0]
        yield Passage(
            id=passage_id(page, 0), page=page, title=first.title, text=_text(mentions, fields)
        )


def _text(mentions: list[Mention], fields: Mapping[str, str]) -> str:
    first = mentions[0]
    places = {name_key(m.name): m for m in mentions if m.city}
    listed = first.inventors or (first.name,)
    inventors = "; ".join(_with_place(name, places.get(name_key(name))) for name in listed)
    parts = [f"Inventors: {inventors}."]
    if first.assignees:
        parts.append(f"Assignee: {'; '.join(first.assignees).removesuffix('.')}.")
    if first.field in fields:
        parts.append(f"Field: {fields[first.field]}.")
    if first.date:
        parts.append(f"Granted {first.date}.")
    return " ".join([*parts, first.abstract]).strip()


def _with_place(name: str, mention: Mention | None) -> str:
    if mention is None:
        return name
    country = f", {mention.country}" if mention.country else ""
    return f"{name} ({mention.city}{country})"


def names(grouped: Mapping[str, list[Mention]]) -> Iterator[tuple[str, Named]]:
    """The inventors' names, as they are printed on each patent."""
    for page, mentions in grouped.items():
        first = mentions[0]
        for name in first.inventors or (first.name,):
            yield page, Named(name, "alias")
