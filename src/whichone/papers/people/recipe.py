"""Documents that belong to people: whose name is on which, what each says of its owner, and how that is asked.

A table of documents is described by a small TOML file:

    name = "tickets"                    # the benchmark; every document's page is ticket:ID
    document = "ticket"
    person = "customer"
    language = "de"
    licence = "..."
    [columns]                           # of the table; as they are called when nothing is said:
    id = "id"
    title = "title"
    text = "text"
    owner = "owner"                     # an id, a list of ids, or a field of a list of objects: customers.id
    name = "name"                       # the owner's name as it is written on this document: customers.name
    date = "date"
    left_out = "left_out"               # where it is true, clues may come from the document, but the corpus has it not
    [attributes.town]                   # what a document says of its owners
    column = "town"                     # or customers.town, one value for each
    clue = ["{name} aus {clue}"]        # how it points at somebody; none: it does not
    ask = ["In welcher Stadt wohnt {who}?"]     # how it is asked for; none: it is not
    [statement]                         # for the card
    people = "..."
    consent = "..."
    removal = "..."
"""

import contextlib
import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from whichone.errors import BadInput, UsageError
from whichone.files.lines import read_toml
from whichone.knowledge.formats.catalogue_files import rows_of, text_of
from whichone.records import page_id


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class PersonAttribute(_Strict, frozen=True):
    """What documents say of their owners; the knowledge base calls it `fact`, with the words `label`.

    Values are `same` when their words are, or as names of organisations or of people, of whom the person is none.
    As answers the most usual come first, or, `in_order`, those of the earliest document.
    """

    column: str = ""
    fact: str = ""
    label: str = ""
    same: Literal["text", "organisation", "name"] = "text"
    in_order: bool = False
    clue: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()


class DocumentTable(_Strict, frozen=True):
    id: str = "id"
    title: str = "title"
    text: str = "text"
    owner: str = "owner"
    name: str = "name"
    date: str = "date"
    left_out: str = "left_out"


class DataStatement(_Strict, frozen=True):
    """Who is in it, whether they agreed, what it may be used for, and how one asks to be removed."""

    people: str = ""
    consent: str = ""
    use: str = ""
    removal: str = ""


class Recipe(_Strict, frozen=True):
    """How documents of people become a benchmark; `plain` names somebody without a clue."""

    name: str
    attributes: Mapping[str, PersonAttribute]
    person: str = "person"
    document: str = "document"
    language: str = "en"
    licence: str = ""
    plain: tuple[str, ...] = ("{name}",)
    columns: DocumentTable = DocumentTable()
    statement: DataStatement = DataStatement()

    @property
    def clues(self) -> list[str]:
        return [kind for kind, attribute in self.attributes.items() if attribute.clue]

    @property
    def asked(self) -> list[str]:
        return [kind for kind, attribute in self.attributes.items() if attribute.ask]


def read_recipe(file: str | Path) -> Recipe:
    """A recipe whose wordings have the places that they need."""
    recipe = read_toml(file, Recipe, "a recipe for documents of people")
    wordings = [("plain", text, {"name"}) for text in recipe.plain]
    for kind, attribute in recipe.attributes.items():
        wordings += [(f"attributes.{kind}.clue", text, {"name", "clue"}) for text in attribute.clue]
        wordings += [(f"attributes.{kind}.ask", text, {"who"}) for text in attribute.ask]
    for where, text, needed in wordings:
        with contextlib.suppress(ValueError):  # a brace that is not closed
            if {place for _, place, _, _ in string.Formatter().parse(text) if place is not None} == needed:
                continue
        places = " and ".join(f"{{{place}}}" for place in sorted(needed))
        raise BadInput(f"{where}: {text!r} must hold {places} and nothing else in braces", file=file)
    if not recipe.clues or len({*recipe.clues, *recipe.asked}) < 2:
        raise BadInput(
            "nothing can be asked: a question needs a clue of one attribute and asks for another",
            file=file,
            hint="give at least two attributes, one with `clue`, the other with `ask`",
        )
    return recipe


class DocumentMention(msgspec.Struct, frozen=True, kw_only=True):
    """A person's name on a document, and what the document says of that person.

    `label` is whose word it is that it is this person, where there are several; `also` are further ids by which
    somebody may be left out, `catalogued` who it is in a knowledge base that knows less.
    """

    id: str
    page: str
    person: str
    name: str
    date: str = ""
    inside: bool = True
    label: str = ""
    also: tuple[str, ...] = ()
    catalogued: str = ""
    values: Mapping[str, tuple[str, ...]] = {}


class OwnedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document with the names that are printed on it; only those that are `inside` are in the corpus."""

    page: str
    title: str
    text: str
    names: tuple[str, ...]
    inside: bool = True


class Gathered(msgspec.Struct, frozen=True):
    """What a recipe is made of: documents, mentions, where they are from, and words for the card."""

    documents: Sequence[OwnedDocument]
    mentions: Sequence[DocumentMention]
    sources: Sequence[Mapping[str, Any]] = ()
    said: Mapping[str, Any] = {}


def read_table(files: Iterable[str | Path], recipe: Recipe) -> Gathered:
    """The documents of one or more tables (JSON lines, CSV or Parquet) with the columns of the recipe."""
    documents: dict[str, OwnedDocument] = {}
    mentions: list[DocumentMention] = []
    for file in map(Path, files):
        for number, row in enumerate(rows_of(file, None, 10_000), 1):
            document, own = _document(row, recipe, file, number)
            if document.page in documents:
                wrong = f"row {number}: a second document with this id"
                raise BadInput(wrong, file=file, ids=[document.page], hint="[columns] id names its column")
            documents[document.page] = document
            mentions += own
    if not documents:
        raise UsageError("there is no document in it", where=", ".join(map(str, files)))
    return Gathered([*documents.values()], mentions)


def _document(
    row: Mapping[str, Any], recipe: Recipe, file: Path, number: int
) -> tuple[OwnedDocument, list[DocumentMention]]:
    columns = recipe.columns
    own = text_of(row.get(columns.id))
    title, text = (text_of(row.get(column)) or "" for column in (columns.title, columns.text))
    owners, names = [_listed(row, column) for column in (columns.owner, columns.name)]
    wrong = ""
    if own is None:
        wrong = f"no {columns.id!r}"
    elif not title and not text:
        wrong = f"neither {columns.title!r} nor {columns.text!r}"
    elif len(owners) != len(names) or not all([*owners, *names]):
        wrong = f"{columns.owner} is {owners}, {columns.name} is {names}: every owner needs an id and a name"
    if own is None or wrong:
        hint = "[columns] says what the columns are called; a document of nobody has neither owner nor name"
        raise BadInput(f"row {number}: {wrong}", file=file, ids=[own] if own else (), hint=hint)
    page = page_id(recipe.document, own)
    left_out = str(row.get(columns.left_out) or "").casefold() not in ("", "0", "false", "no")
    objects, dot, _ = columns.owner.partition(".")
    mentions = []
    for n, (owner, name) in enumerate(zip(owners, names, strict=True)):
        values = {}
        for kind, attribute in recipe.attributes.items():
            column = attribute.column or kind
            listed = _listed(row, column)
            if dot and column.startswith(f"{objects}."):  # one value for each owner
                listed = listed[n : n + 1]
            values[kind] = tuple(dict.fromkeys(filter(None, listed)))
        mentions.append(
            DocumentMention(
                id=f"{own}-{n}",
                page=page,
                person=owner,
                name=name,
                date=text_of(row.get(columns.date)) or "",
                inside=not left_out,
                also=(own,),
                values=values,
            )
        )
    return OwnedDocument(page=page, title=title, text=text, names=tuple(names), inside=not left_out), mentions


def _listed(row: Any, column: str) -> list[str]:
    """The values of a column, or of a field of the objects in a column; "" where an object has none."""
    first, dot, rest = column.partition(".")
    value = row.get(first) if isinstance(row, Mapping) else None
    items = value if isinstance(value, list) else [] if value is None else [value]
    if dot:
        return [next(iter(_listed(item, rest)), "") for item in items]
    return [text for item in items if (text := text_of(item)) is not None]
