"""The catalogue of inventors that an operator has: PatentsView's own inventors and what their patents say.

No label by hand and no question is in it: where PatentsView splits or mixes people, so does the catalogue.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from whichone.files.manifest import Manifest
from whichone.files.output import Output, making
from whichone.knowledge.formats.catalogue import CatalogueSource
from whichone.knowledge.ingest import Options, ingest
from whichone.names import name_key
from whichone.papers.inventors.build import patent_passages, patents_of, removed_people
from whichone.papers.inventors.files import Mention, archive_place, read_mentions
from whichone.papers.inventors.people import PATENT, kept_mentions
from whichone.papers.inventors.questions import fields
from whichone.progress import talk
from whichone.records import page_of

CATALOGUE = f"""\
name = "{PATENT}"
file = "inventors.jsonl"
type = "inventor"
[columns]
id = "id"
name = "name"
aliases = "aliases"
popularity = "patents"
[attributes.assignee]
column = "assignee"
[attributes.field]
column = "field"
label = "technical field"
[attributes.town]
column = "town"
[attributes.co-inventor]
column = "co-inventor"
[documents]
file = "patents.jsonl"
"""
"""Its name begins the ids of the patents' pages, which are those of the benchmark's corpus."""


def inventors(mentions: Iterable[Mention], fields: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """PatentsView's inventors as rows of a catalogue; of names and values the most usual first."""
    grouped: dict[str, list[Mention]] = {}
    for mention in mentions:
        grouped.setdefault(mention.predicted, []).append(mention)
    for inventor, own in sorted(grouped.items()):
        name, *others = _usual(m.name for m in own)
        written = {name_key(m.name) for m in own}
        yield {
            "id": inventor,
            "name": name,
            "aliases": others,
            "patents": len({m.patent for m in own}),
            "assignee": _usual(a for m in own for a in m.assignees),
            "field": _usual(fields[m.field] for m in own if m.field in fields),
            "town": _usual(m.city for m in own if m.city),
            "co-inventor": _usual(
                n for m in own for n in m.inventors if name_key(n) not in written
            ),
        }


def patents(mentions: Iterable[Mention], fields: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The patents as documents; each belongs to one inventor, the first of those that PatentsView knows."""
    grouped = patents_of(mentions)
    for passage in patent_passages(grouped, fields):
        own = grouped[page_of(passage.id)]
        place = {name_key(name): n for n, name in reversed([*enumerate(own[0].inventors)])}
        first = min(own, key=lambda m: (place.get(name_key(m.name), len(place)), m.id))
        yield {
            "id": first.patent,
            "owner": first.predicted,
            "title": passage.title,
            "text": passage.text,
        }


def keep_knowledge(
    out: str | Path,
    *,
    file: str | Path | None = None,
    without: str | None = None,
    overwrite: bool = False,
) -> Manifest:
    """A knowledge base of the inventors, taken in as any catalogue is."""
    removed, named = removed_people(without), fields()
    mentions = kept_mentions(read_mentions(archive_place(file)), removed)
    talk(f"{out}: the inventors as PatentsView knows them")
    with tempfile.TemporaryDirectory() as folder, making(Output(Path(out), overwrite=overwrite)):
        catalogue = Path(folder) / "inventors.toml"
        catalogue.write_text(CATALOGUE, "utf-8")
        _write(catalogue.with_name("inventors.jsonl"), inventors(mentions, named))
        _write(catalogue.with_name("patents.jsonl"), patents(mentions, named))
        return ingest(out, [CatalogueSource(catalogue)], Options(workers=1))


def _usual(values: Iterable[str]) -> list[str]:
    counted = Counter(values)
    return sorted(counted, key=lambda v: (-counted[v], v))


def _write(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with file.open("wb") as lines:
        for row in rows:
            lines.write(msgspec.json.encode(row) + b"\n")
