"""The archive of inventor mentions in, a benchmark of inventors of one name out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.by_name import find_files
from whichone.corpus.page_names import Named
from whichone.errors import BadInput
from whichone.files.lines import read_lines
from whichone.names import name_key
from whichone.papers.inventors.card import card
from whichone.papers.inventors.files import Mention, archive_place, read_mentions
from whichone.papers.inventors.people import label_error, patent_page, people_by_name
from whichone.papers.inventors.questions import fields, name_set, questions, wordings
from whichone.progress import talk
from whichone.records import Passage, passage_id


def patents_of(mentions: Iterable[Mention]) -> dict[str, list[Mention]]:
    """The mentions of each patent, by page id in order."""
    grouped: dict[str, list[Mention]] = {}
    for mention in mentions:
        grouped.setdefault(patent_page(mention.patent), []).append(mention)
    return dict(sorted(grouped.items()))


def patent_passages(
    grouped: Mapping[str, list[Mention]], fields: Mapping[str, str]
) -> Iterator[Passage]:
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


def patent_names(grouped: Mapping[str, list[Mention]]) -> Iterator[tuple[str, Named]]:
    """The inventors' names, as they are printed on each patent."""
    for page, mentions in grouped.items():
        first = mentions[0]
        for name in first.inventors or (first.name,):
            yield page, Named(name, "alias")


class InventorOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`most` questions an inventor; `without` is a file of people to leave out."""

    most: int = 2
    without: str | None = None
    seed: int = 0


def build_inventors(
    out: str | Path, options: InventorOptions | None = None, *, file: str | Path | None = None
) -> Benchmark:
    """Build from the fetched archive, or from `file`."""
    options = options or InventorOptions()
    archive = archive_place(file)
    published = find_files("inventors/archive")[0]
    named, removed = fields(), removed_people(options.without)
    mentions = read_mentions(archive)
    talk(f"{len(mentions):,} mentions of inventors")
    shared = people_by_name(mentions, named, removed)
    if not shared:
        raise BadInput("no name is shared by two inventors", file=archive)
    worded = wordings()
    sets = [name_set(name, people) for name, people in shared.items()]
    queries = [
        query
        for name, people in shared.items()
        for query in questions(name, people, most=options.most, seed=options.seed, worded=worded)
    ]
    grouped = patents_of(m for m in mentions if m.patent not in removed)
    error = label_error(mentions)
    return save_benchmark(
        out,
        name="inventors",
        queries=queries,
        passages=patent_passages(grouped, named),
        names=patent_names(grouped),
        sets=sets,
        card=card(queries, sets, len(grouped), error),
        parameters={"builder": "inventors", "options": msgspec.to_builtins(options)},
        sources=[
            {
                "kind": "inventors",
                "file": published.file,
                "sha256": published.sha256,
                "licence": published.licence,
                "citation": published.citation,
            }
        ],
        counts={
            "names": len(sets),
            "inventors": sum(len(s.bearers) for s in sets),
            "patents": len(grouped),
            "label_error": {k: v if v is None else round(v, 4) for k, v in error.items()},
        },
    )


def removed_people(more: str | None) -> frozenset[str]:
    """Whom to leave out: those who asked this project, and those of a file."""
    own = resources.files(__package__ or "").joinpath("removed.txt").read_text("utf-8").splitlines()
    given = [line.decode("utf-8") for _, line in read_lines(more)] if more else []
    entries = (line.strip() for line in (*own, *given))
    return frozenset(entry for entry in entries if entry and not entry.startswith("#"))
