"""The archive of inventor mentions in, a benchmark of inventors of one name out."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.datasets import find_files
from whichone.errors import BadInput
from whichone.files.lines import read_lines
from whichone.papers.inventors import documents
from whichone.papers.inventors.card import card
from whichone.papers.inventors.files import archive_place, read_mentions
from whichone.papers.inventors.people import label_error, people_by_name
from whichone.papers.inventors.questions import fields, name_set, questions, wordings
from whichone.progress import talk


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
    grouped = documents.patents(m for m in mentions if m.patent not in removed)
    error = label_error(mentions)
    return save_benchmark(
        out,
        name="inventors",
        queries=queries,
        passages=documents.passages(grouped, named),
        names=documents.names(grouped),
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
