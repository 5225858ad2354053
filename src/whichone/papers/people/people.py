"""Documents that belong to people: recipes that describe them, people of one name, and questions that a clue decides or leaves open."""

import contextlib
import hashlib
import re
import string
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from whichone.errors import BadInput, UsageError
from whichone.files.lines import read_toml
from whichone.knowledge.formats.catalogue import rows_of, text_of
from whichone.names import name_key
from whichone.records import Bearer, NameSet, Output, Provenance, Query, page_id

# Documents that belong to people: whose name is on which, what each says of its owner, and how that is asked.
# A table of documents is described by a small TOML file:
#
#     name = "tickets"                    # the benchmark; every document's page is ticket:ID
#     document = "ticket"
#     person = "customer"
#     language = "de"
#     licence = "..."
#     [columns]                           # of the table; as they are called when nothing is said:
#     id = "id"
#     title = "title"
#     text = "text"
#     owner = "owner"                     # an id, a list of ids, or a field of a list of objects: customers.id
#     name = "name"                       # the owner's name as it is written on this document: customers.name
#     date = "date"
#     left_out = "left_out"               # where it is true, clues may come from the document, but the corpus has it not
#     [attributes.town]                   # what a document says of its owners
#     column = "town"                     # or customers.town, one value for each
#     clue = ["{name} aus {clue}"]        # how it points at somebody; none: it does not
#     ask = ["In welcher Stadt wohnt {who}?"]     # how it is asked for; none: it is not
#     [statement]                         # for the card
#     people = "..."
#     consent = "..."
#     removal = "..."


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


# People of one name by their mentions, and the questions.


_LEGAL = re.compile(
    r"\b(incorporated|inc|corporation|corp|company|co|limited|ltd|llc|llp|lp|gmbh|ag|kg|sa|nv|bv|plc|"
    r"kabushiki kaisha|kk|the)\b"
)
SPLITS = {"train": 60, "dev": 80, "test": 100}  # Until which of a hundred names
MOST_ANSWERS = 50  # Of people with hundreds of documents; the most usual are kept


class Person(msgspec.Struct, frozen=True):
    """One person under one name, with all documents, under other forms of the name too."""

    id: str
    name: str
    mentions: tuple[DocumentMention, ...]
    values: Mapping[str, Counter[str]]  # For each attribute, how many documents say each value
    # The same of the documents that print the name as it is asked for: what a question can point at.
    values_under_name: Mapping[str, Counter[str]]
    answers: Mapping[str, Counter[str]]  # The same of the documents in the corpus: what can be found
    pages: tuple[str, ...]

    @property
    def label(self) -> str:
        """Whose word most mentions rest on."""
        counted = Counter(m.label for m in self.mentions)
        return min(counted, key=lambda label: (-counted[label], label))


def same(how: str, value: str) -> str:
    """What two writings of a value have in common: "LSI Corporation" is "LSI CORP."."""
    if how == "name":
        return name_key(value)
    text = re.sub(r"[^\w ]+", " ", value.casefold().replace(".", ""))
    if how == "organisation":
        text = _LEGAL.sub(" ", text)
    return " ".join(text.split()) or value.casefold()


def kept_mentions(mentions: Sequence[DocumentMention], removed: Collection[str]) -> list[DocumentMention]:
    """Without those of removed people: by the id of a person, a mention or a document, or by name."""
    left_out = {name_key(entry) for entry in removed} | set(removed)
    return [
        m
        for m in mentions
        for key in [name_key(m.name)]
        if left_out.isdisjoint({m.id, *m.also, m.person, f"{m.person}/{key}", key})
    ]


def people_by_name(mentions: Iterable[DocumentMention], recipe: Recipe) -> dict[str, list[Person]]:
    """Every name that two or more people have, most documents first."""
    bearers_of: dict[str, dict[str, None]] = defaultdict(dict)
    whole: dict[str, list[DocumentMention]] = defaultdict(list)
    for mention in mentions:
        bearers_of[name_key(mention.name)][mention.person] = None
        whole[mention.person].append(mention)
    shared = {}
    for key, bearers in sorted(bearers_of.items()):
        if len(bearers) > 1:
            people = [_person(identity, key, whole[identity], recipe) for identity in bearers]
            if sum(bool(person.pages) for person in people) > 1:
                shared[key] = sorted(people, key=lambda p: (-len(p.pages), p.id))
    return shared


def _person(identity: str, key: str, mentions: Sequence[DocumentMention], recipe: Recipe) -> Person:
    ordered = tuple(sorted(mentions, key=lambda m: (m.date, m.id)))
    under_name = [m for m in ordered if name_key(m.name) == key]
    names = Counter(m.name for m in under_name)
    name = max(names, key=lambda n: (names[n], n))
    inside = [m for m in ordered if m.inside]
    values, of_name, answers = (counted(own, ordered, recipe) for own in (ordered, under_name, inside))
    return Person(
        f"{identity}/{key}", name, ordered, values, of_name, answers, tuple(sorted({m.page for m in inside}))
    )


def counted(
    mentions: Iterable[DocumentMention], every: Iterable[DocumentMention], recipe: Recipe
) -> dict[str, Counter[str]]:
    """How many of the mentions have each value; `every` has the names under which the person is known."""
    own, listed = {name_key(m.name) for m in every}, list(mentions)
    return {
        kind: Counter(
            value
            for mention in listed
            for value in mention.values.get(kind, ())
            if attribute.same != "name" or name_key(value) not in own
        )
        for kind, attribute in recipe.attributes.items()
    }


def clues(person: Person, others: Sequence[Person], recipe: Recipe) -> dict[str, str]:
    """For each attribute a value that this person alone has among the bearers of the name: the most usual.

    It is on a document under the name that is asked for, and on none of another bearer under any form of it.
    """
    clues = {}
    for kind in recipe.clues:
        how, held = recipe.attributes[kind].same, person.values_under_name[kind]
        taken = {same(how, v) for other in others for v in other.values[kind]}
        if unique := [v for v in held if same(how, v) not in taken]:
            clues[kind] = max(unique, key=lambda v: (held[v], v))
    return clues


def split_of(name: str, seed: int) -> str:
    """The part that a name is in: by its hash, whatever other names there are."""
    at = _number("split", name, seed) % 100
    return next(part for part, until in SPLITS.items() if at < until)


def name_set(name: str, people: Sequence[Person], recipe: Recipe) -> NameSet:
    bearers = tuple(
        Bearer(
            entity=person.id,
            label=person.name,
            role="tail" if rank else "head",
            popularity=float(len(person.pages)),
            types=(recipe.person,),
            pages=person.pages,
        )
        for rank, person in enumerate(p for p in people if p.pages)
    )
    return NameSet(id=name, name=people[0].name, collection=recipe.name, bearers=bearers)


def questions(
    name: str, people: Sequence[Person], recipe: Recipe, *, most: int, seed: int
) -> Iterator[Query]:
    """At most `most` questions a person, and one that fits several of them."""
    findable = [person for person in people if person.pages]
    for person in findable:
        unique = clues(person, [other for other in people if other is not person], recipe)
        for kind in sorted(unique, key=lambda kind: _number("clue", person.id, kind, seed))[:most]:
            known = [k for k in recipe.asked if k != kind and person.answers[k]]
            asked = min(known, key=lambda k: _number("asked", person.id, kind, k, seed), default=None)
            if asked is not None:
                yield _query(name, findable, person, kind, unique[kind], asked, seed, recipe)
    # Without a clue: what two or more bearers have an answer to, and the one whose answer is kept as gold.
    for asked in sorted(recipe.asked, key=lambda kind: _number("open", name, kind, seed)):
        having = [person for person in findable if person.answers[asked]]
        if len(having) > 1:
            drawn = having[_number("bearer", name, asked, seed) % len(having)]
            yield _query(name, findable, drawn, "none", "", asked, seed, recipe)
            return


def _query(
    name: str, people: Sequence[Person], person: Person, kind: str, clue: str, asked: str, seed: int,
    recipe: Recipe,
) -> Query:  # fmt: skip
    identity = f"{person.id}|{kind}|{asked}"
    wordings = recipe.attributes[kind].clue if kind != "none" else recipe.plain
    who = wordings[_number("who", identity, seed) % len(wordings)].format(name=person.name, clue=clue)
    asks = recipe.attributes[asked].ask
    text = asks[_number("ask", identity, seed) % len(asks)].format(who=who)
    held, in_order = person.answers[asked], recipe.attributes[asked].in_order
    first, *rest = list(held if in_order else sorted(held, key=lambda v: (-held[v], v)))[:MOST_ANSWERS]
    attributes: dict[str, Any] = {
        "clue": kind,
        "resolvable": "no" if kind == "none" else "yes",
        "candidates": sum(bool(p.answers[asked]) for p in people) if kind == "none" else 1,
        "split": split_of(name, seed),
    }
    if person.label:
        attributes["label"] = person.label
    attributes["bearers"] = len(people)
    if clue:
        attributes["clue_value"] = clue
        stating = [m for m in person.mentions if clue in m.values.get(kind, ())]
        if not all(m.inside for m in stating):
            attributes["clue_in"] = "both" if any(m.inside for m in stating) else "left out"
    return Query(
        id=hashlib.sha256(identity.encode()).hexdigest()[:16],
        task="qa",
        # A phrase between commas loses its second one before a full stop or question mark.
        input=text.replace(",?", "?").replace(",.", ".").replace("..", "."),
        outputs=(
            Output(
                answer=first,
                aliases=tuple(rest),
                entity=person.id,
                provenance=tuple((Provenance(page=page),) for page in person.pages),
            ),
        ),
        language=recipe.language,
        mention=person.name,
        name=person.name,
        name_set=name,
        role="head" if person is people[0] else "tail",
        relation=asked,
        entity=person.id,
        attributes=attributes,
    )


def _number(*what: object) -> int:
    """A number that depends on nothing but these."""
    return int.from_bytes(hashlib.sha256("\x1f".join(map(str, what)).encode()).digest()[:8], "big")
