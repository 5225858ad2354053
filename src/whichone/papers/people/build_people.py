"""Documents of people in, a benchmark of people of one name out, and a knowledge base of them."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from whichone.benchmarks.benchmark import Benchmark, card_text, save_benchmark
from whichone.corpus.cut import Cut, cut_page
from whichone.corpus.page_names import Named
from whichone.errors import BadInput
from whichone.files.lines import read_text_lines, write_json_lines
from whichone.files.manifest import Manifest
from whichone.files.output import OutputPlace, making
from whichone.knowledge.formats.catalogue import CatalogueSource
from whichone.knowledge.ingest import ingest
from whichone.knowledge.ingest_options import IngestOptions
from whichone.names import name_key
from whichone.options import Option, Seed, takes
from whichone.papers.people import inventors
from whichone.papers.people.people import (
    Gathered,
    OwnedDocument,
    Recipe,
    counted,
    kept_mentions,
    name_set,
    people_by_name,
    questions,
    read_recipe,
    read_table,
)
from whichone.progress import talk
from whichone.records import Passage, Query, grouped, passage_id


class PeopleOptions(msgspec.Struct, frozen=True, kw_only=True):
    most: Annotated[int, Option("Questions a person at most, each by another clue."), Meta(ge=1)] = 2
    without: Annotated[
        str | None,
        Option(
            "A file of people to leave out, one a line: the id of a person or document, or a name.",
            kind="file",
        ),
    ] = None
    seed: Seed = 0


class PeopleBuild(PeopleOptions, frozen=True, kw_only=True):
    words: Annotated[int, Option("Words a passage; 0 keeps documents whole.")] = 0


def opened(documents: Sequence[str], recipe: str, without: str | None) -> tuple[Recipe, Gathered]:
    """A recipe with its documents: `inventors` (of the fetched archive, or of a copy of it), or a TOML file."""
    if recipe == "inventors":
        found = inventors.gathered(*(place for place in documents if place != recipe))
        return read_recipe(inventors.FOLDER / "recipe.toml"), left(found, without)
    read = read_recipe(recipe)
    if silent := [f for f in ("people", "consent", "removal") if not getattr(read.statement, f)]:
        talk(f"the card says that it is not stated: {', '.join(silent)} ([statement] of {recipe})")
    gathered = read_table(documents, read)
    if empty := [kind for kind in read.attributes if not any(m.values[kind] for m in gathered.mentions)]:
        talk(
            f"{recipe}: no document has a value of {', '.join(empty)}; `column` names the column of an attribute"
        )
    return read, left(gathered, without)


def left(gathered: Gathered, without: str | None) -> Gathered:
    """Without those who asked this project, those of a file, and the documents that nobody else is on."""
    files = [inventors.FOLDER / "removed.txt", *([Path(without)] if without else [])]
    entries = {line.strip() for file in files for _, line in read_text_lines(file)}
    mentions = kept_mentions(gathered.mentions, {e for e in entries if e and not e.startswith("#")})
    gone = {m.page for m in gathered.mentions} - {m.page for m in mentions}
    documents = [document for document in gathered.documents if document.page not in gone]
    return msgspec.structs.replace(gathered, mentions=mentions, documents=documents)


@takes(PeopleBuild, "options")
def build_people(documents: Sequence[str], out: str | Path, recipe: str, options: PeopleBuild) -> Benchmark:
    """Build a benchmark by a recipe; documents are cut into passages of so many words, or kept whole."""
    read, gathered = opened(documents, recipe, options.without)
    shared = people_by_name(gathered.mentions, read)
    queries = [
        query
        for name, people in shared.items()
        for query in questions(name, people, read, most=options.most, seed=options.seed)
    ]
    if not queries:
        raise BadInput(
            "no name is shared by two people of whom a question can be asked",
            file=documents[0] if documents else recipe,
            hint="owners differ by their ids, names by their words",
        )
    sets = [name_set(name, people, read) for name, people in shared.items()]
    inside = _inside(gathered)
    error = {k: v if v is None else round(v, 4) for k, v in gathered.said.get("error", {}).items()}
    counts = {"names": len(sets), "people": sum(len(s.bearers) for s in sets), "documents": len(inside)}
    return save_benchmark(
        out,
        name=read.name,
        queries=queries,
        passages=_passages(inside, options.words),
        names=((d.page, Named(name, "alias")) for d in inside for name in d.names),
        sets=sets,
        card=card_text(
            (inventors.FOLDER if recipe == "inventors" else Path(__file__).parent) / "card.md",
            recipe=read,
            kinds=[read.attributes[kind].label or kind for kind in read.clues],
            left_out=len(gathered.documents) - len(inside),
            most=max(sets, key=lambda s: len(s.bearers)),
            questions=len(queries),
            **counts,
            **gathered.said,
            **{name: _counted(queries, name) for name in ("clue", "clue_in", "resolvable", "label", "split")},
        ),
        parameters={"builder": "people", "recipe": read.name, "options": msgspec.to_builtins(options)},
        sources=gathered.sources or [{"file": Path(d).name, "licence": read.licence} for d in documents],
        counts={**counts, **({"label_error": error} if error else {})},
    )


def _passages(documents: Iterable[OwnedDocument], words: int) -> Iterator[Passage]:
    for document in documents:
        paragraphs = [line.strip() for line in document.text.split("\n") if line.strip()]
        cut = list(cut_page([document.title, *paragraphs], Cut(size=words))) if words else []
        for n, text in enumerate(cut or [document.text]):
            place = passage_id(document.page, n)
            yield Passage(id=place, page=document.page, title=document.title, text=text)


def _counted(queries: Sequence[Query], attribute: str) -> str:
    counts = Counter(str(q.attributes[attribute]) for q in queries if attribute in q.attributes)
    return ", ".join(f"{value} {count:,}" for value, count in sorted(counts.items()))


def catalogue_rows(gathered: Gathered, recipe: Recipe) -> Iterator[dict[str, Any]]:
    """The people as an operator knows them, as rows of a catalogue; of names and values the most usual first."""
    of_person = grouped((mention.catalogued or mention.person, mention) for mention in gathered.mentions)
    for identity, own in sorted(of_person.items()):
        name, *others = _usual(Counter(m.name for m in own))
        values = counted(own, own, recipe)
        yield {
            "id": identity,
            "name": name,
            "aliases": others,
            "documents": len({m.page for m in own}),
            **{recipe.attributes[kind].fact or kind: _usual(values[kind]) for kind in recipe.clues},
        }


def catalogue_documents(gathered: Gathered) -> Iterator[dict[str, Any]]:
    """The documents of the corpus; each belongs to one person, the first on it."""
    on_page = grouped((mention.page, mention) for mention in gathered.mentions)
    for document in _inside(gathered):
        keys = [*map(name_key, document.names)]
        own = sorted(on_page.get(document.page, ()), key=lambda m: m.id)
        first = min(
            own, key=lambda m: keys.index(k) if (k := name_key(m.name)) in keys else len(keys), default=None
        )
        owner = (first.catalogued or first.person) if first else None
        number = document.page.partition(":")[2]
        yield {"id": number, "owner": owner, "title": document.title, "text": document.text}


def _inside(gathered: Gathered) -> list[OwnedDocument]:
    return sorted((d for d in gathered.documents if d.inside), key=lambda document: document.page)


def keep_knowledge(
    documents: Sequence[str],
    out: str | Path,
    recipe: str,
    *,
    without: str | None = None,
    overwrite: bool = False,
) -> Manifest:
    """A knowledge base of the people, taken in as any catalogue is."""
    read, gathered = opened(documents, recipe, without)
    facts = {read.attributes[kind].fact or kind: read.attributes[kind] for kind in read.clues}
    described = {
        "name": read.document,
        "file": "people.jsonl",
        "type": read.person,
        "language": read.language,
        "columns": {"id": "id", "name": "name", "aliases": "aliases", "popularity": "documents"},
        "attributes": {name: {"column": name, "label": a.label or name} for name, a in facts.items()},
        "documents": {"file": "documents.jsonl"},
    }
    talk(f"{out}: a knowledge base of the people")
    with tempfile.TemporaryDirectory() as folder, making(OutputPlace(Path(out), overwrite=overwrite)):
        catalogue = Path(folder) / f"{read.name}.toml"
        lines = (f"{key} = {_toml(value)}" for key, value in described.items())
        catalogue.write_text("\n".join(lines), "utf-8")
        write_json_lines(catalogue.with_name("people.jsonl"), catalogue_rows(gathered, read))
        write_json_lines(catalogue.with_name("documents.jsonl"), catalogue_documents(gathered))
        return ingest(out, [CatalogueSource(catalogue)], IngestOptions(workers=1))


def _usual(values: Counter[str]) -> list[str]:
    return sorted(values, key=lambda v: (-values[v], v))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_toml(key)} = {_toml(held)}' for key, held in value.items())}}}"
    return json.dumps(value, ensure_ascii=False)
