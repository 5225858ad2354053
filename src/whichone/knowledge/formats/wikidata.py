"""Lines of a Wikidata JSON dump to rows of entities, names, facts and properties.

Pure: bytes in, columns out. Every item's names are kept here, with or without a page, because only
at the end it is known which items are values of facts. Not kept: qualifiers, references, statements
without a value, languages that were not asked for.
"""

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from msgspec.structs import astuple

from whichone.errors import BadInput
from whichone.files.lines import NOT_JSON
from whichone.files.parts import beginning
from whichone.files.tables import tables_sql
from whichone.knowledge.engines import MergeQueries
from whichone.knowledge.formats.sources import Columns, DumpFile, PartFiles, PartJob, Read, RefusedRecord
from whichone.knowledge.knowledge_tables import FACTS, NAMES, PROPERTIES
from whichone.progress import talk

# The parts of a Wikidata entity's JSON that are read, and which entities of a dump are kept.
# Kept are those with a page, the values of their facts, and the classes above.


SUBCLASS_OF = "P279"


class WikidataChoice:
    """Relations of one dump, kept as files: entities that are kept, and the classes above types."""

    def __init__(self, parts: PartFiles, queries: MergeQueries, *, without_page: bool) -> None:
        self._parts, self._queries = parts, queries
        paged = "true" if without_page else "title is not null"
        self._seen = self._keep(
            "seen",
            f"""select entity, min(position) as position, bool_or({paged}) as paged, count(*) as times
            from ({all_entities(parts)}) group by entity""",
        )
        self.twice = int(queries.fetch(f"select sum(times - 1) from {self._seen}")[0][0] or 0)
        first = f"semi join {self._seen} using (entity, position)" if self.twice else ""
        facts = f"""select entity, property, value from ({parts.rows("facts")}) {first}
            where kind = 'entity'"""
        self._paged = f"select entity from {self._seen} where paged"
        self._valued = self._keep(
            "valued",
            f"""select distinct value as entity from ({facts})
            semi join ({self._paged}) using (entity)""",
        )
        self._subclasses = self._keep(
            "subclasses", f"select entity, value from ({facts}) where property = '{SUBCLASS_OF}'"
        )
        self.absent = int(
            queries.fetch(
                f"""select count(*) from {self._valued} v anti join {self._seen} s
                using (entity) where starts_with(v.entity, 'Q')"""
            )[0][0]
        )
        # What has a page, what is a value of such, and all classes above.
        either = f"{self._paged} union all select entity from {self._valued}"
        above = self._parts.folder / "superclasses.parquet"
        self._queries.keep_closure(
            "superclasses",
            f"select value as entity from {self._subclasses} semi join ({either}) using (entity)",
            f"select b.value from superclasses a join {self._subclasses} b on b.entity = a.entity",
            above,
        )
        self.kept = self._keep(
            "kept",
            f"""select entity, position from {self._seen}
            semi join ({either} union all select entity from {tables_sql([above])}) using (entity)""",
        )

    def _keep(self, name: str, query: str) -> str:
        file = self._parts.folder / f"{name}.parquet"
        self._queries.keep(query, file)
        return tables_sql([file])

    def above(self) -> str:
        """For each list of types that some item has, all classes above them, by their ids."""
        held = self._keep(
            "held",
            f"""select types, unnest(types) as class from (select distinct types
            from ({self._parts.rows("entities")}) where array_length(types) > 0)""",
        )
        classes = self._parts.folder / "classes.parquet"
        self._queries.keep_closure(
            "above",
            f"select h.types, b.value as class from {held} h join {self._subclasses} b on b.entity = h.class",
            f"select a.types, b.value from above a join {self._subclasses} b on b.entity = a.class",
            classes,
        )
        return self._keep(
            "above",
            f"""select types, list_sort(list(distinct class)) as above
            from {tables_sql([classes])} group by types""",
        )


def all_entities(parts: PartFiles) -> str:
    return f"{parts.rows('entities')} union all by name {parts.rows('others')}"


class WikidataText(msgspec.Struct, gc=False):
    value: str


class WikidataValue(
    msgspec.Struct, gc=False, rename={"entity_type": "entity-type", "numeric_id": "numeric-id"}
):
    id: str | None = None
    entity_type: str | None = None
    numeric_id: int | None = None
    amount: str | None = None
    unit: str | None = None
    time: str | None = None
    precision: float | None = None
    text: str | None = None
    language: str | None = None
    latitude: float | None = None
    longitude: float | None = None


class DataValue(msgspec.Struct, gc=False):
    value: str | WikidataValue
    type: str


class Snak(msgspec.Struct, gc=False):
    snaktype: str = "value"
    datavalue: DataValue | None = None


class WikidataStatement(msgspec.Struct, gc=False):
    mainsnak: Snak
    rank: str = "normal"


class Sitelink(msgspec.Struct, gc=False):
    title: str


# Wikibase writes an empty map as an empty list in some dumps.
NoEntries = Annotated[list[None], msgspec.Meta(max_length=0)]


def by_language(name: str, languages: tuple[str, ...], value: Any) -> Any:
    """A record with one optional field a language; all other languages are passed over unread."""
    fields = [(f"in_{n}", value | None, None) for n in range(len(languages))]
    rename = {f"in_{n}": language for n, language in enumerate(languages)}
    return msgspec.defstruct(name, fields, rename=rename, gc=False) | NoEntries | None


def fact_of(given: DataValue) -> tuple[str, str, str | None, int | None, str | None] | None:
    """Kind, value, unit, precision and language; None for a kind of value that is not known."""
    value, kind = given.value, given.type
    if isinstance(value, str):
        return ("string", value, None, None, None) if kind == "string" else None
    if kind == "wikibase-entityid":
        # before 2017 dumps gave the number of an entity only
        letter = {"item": "Q", "property": "P", "lexeme": "L"}.get(value.entity_type or "")
        numbered = f"{letter}{value.numeric_id}" if letter and value.numeric_id is not None else None
        entity = value.id or numbered
        return ("entity", entity, None, None, None) if entity else None
    if kind == "quantity" and value.amount is not None:
        unit = None if value.unit in (None, "1") else value.unit.rpartition("/entity/")[2]
        return "quantity", value.amount, unit, None, None
    if kind == "time" and value.time is not None:
        given_precision = value.precision or 0  # Wikidata's are 0 to 14
        return "time", value.time, None, int(given_precision) if 0 <= given_precision <= 127 else 0, None
    if kind == "monolingualtext" and value.text is not None:
        return "monolingual", value.text, None, None, value.language
    if kind == "globecoordinate" and value.latitude is not None and value.longitude is not None:
        return "coordinate", f"{value.latitude!r} {value.longitude!r}", None, None, None
    return None


# A line to its rows, and the files of a dump as a source.


INSTANCE_OF = "P31"
_SUBCLASS_KEY, _BRACE, _BRACE_CLOSED = b'"P279":', ord("{"), ord("}")
_BETWEEN = (b"", b"[", b"]", b",", b"[]")

OTHER_COLUMNS = pa.schema(
    [
        ("entity", pa.string()),
        ("label", pa.string()),  # also its first name, which `names` does not repeat
        ("label_language", pa.string()),
        ("description", pa.string()),
        ("position", pa.int64()),
    ]
)
ENTITY_COLUMNS = pa.schema(
    [*OTHER_COLUMNS, ("types", pa.list_(pa.string())), ("sitelinks", pa.int32()), ("title", pa.string())]
)
_POSITION = pa.field("position", pa.int64())  # of the entity: a dump may contain it twice
_NAMED = ("entity", "name", "language", "kind", "place")
NAME_COLUMNS = pa.schema([*(NAMES.schema.field(name) for name in _NAMED), _POSITION])
FACT_COLUMNS = FACTS.schema.append(_POSITION)
COLUMNS = {
    "entities": ENTITY_COLUMNS,
    "others": OTHER_COLUMNS,  # items of which only the names were read
    "names": NAME_COLUMNS,
    "facts": FACT_COLUMNS,
    "properties": PROPERTIES.schema,
}


class WikidataSelection(msgspec.Struct, frozen=True, kw_only=True):
    languages: tuple[str, ...] = ("en",)  # all kept in full
    fallbacks: tuple[str, ...] = ("en-gb", "en-ca", "mul")  # kept where they add a name
    wiki: str = "enwiki"
    properties: tuple[str, ...] | None = None  # None: all
    without_page: bool = False  # also the facts of items that have no page in the wiki
    superclasses: bool = False  # types are followed by all classes above them


def _decoder(name: str, kinds: dict[str, Any]) -> Callable[[bytes], Any]:
    fields = [(field, kind, None) for field, kind in kinds.items()]
    return msgspec.json.Decoder(msgspec.defstruct(name, fields)).decode


class WikidataReader:
    def __init__(self, selection: WikidataSelection) -> None:
        self.selection = selection
        self.languages = tuple(dict.fromkeys(selection.languages + selection.fallbacks))
        texts = by_language("Texts", self.languages, WikidataText)
        lists = by_language("Lists", self.languages, list[WikidataText])
        raw = dict[str, msgspec.Raw] | NoEntries | None
        kinds: dict[str, Any] = dict.fromkeys(("id", "type", "datatype"), str | None)
        kinds |= {"labels": texts, "descriptions": texts, "aliases": lists, "redirect": Any, "missing": Any}
        self._head = _decoder("Head", kinds)
        self._whole = _decoder("Whole", {**kinds, "claims": raw, "sitelinks": raw})
        self._sitelink = msgspec.json.Decoder(Sitelink).decode
        self._statements = msgspec.json.Decoder(list[WikidataStatement]).decode
        self._site = f'"{selection.wiki}"'.encode()
        wanted = selection.properties
        self._wanted = None if wanted is None else frozenset((*wanted, INSTANCE_OF))
        self._full_languages = len(selection.languages)
        self._none = (None,) * len(self.languages)
        self._subclasses = wanted is None or SUBCLASS_OF in wanted
        self.start()

    def start(self) -> None:
        self._columns = {name: Columns(schema) for name, schema in COLUMNS.items()}
        self.counts: Counter[str] = Counter()
        self.refused: list[tuple[int, str]] = []  # byte in its block, what is wrong
        self.position = 0
        self._records = self._with_page = 0

    def read(self, data: bytes) -> None:
        start, size = 0, len(data)
        while start < size:
            end = data.find(b"\n", start)
            end = end if end >= 0 else size
            if end - start < 4 and data[start:end].strip() in _BETWEEN:
                self.counts["opening brackets"] += data.count(b"[", start, end)
                self.counts["closing brackets"] += data.count(b"]", start, end)
            else:
                self._records += 1
                try:
                    self._read_line(data, start, end)
                except NOT_JSON as error:
                    self.refused.append((start, f"not a Wikidata entity: {error}"))
            start = end + 1

    def counted(self) -> dict[str, int]:
        without = self.position - self._with_page - self.counts["properties"]
        results = {"records": self._records, "positions": self.position, **self.counts}
        return results | {"items with a page": self._with_page, "items without a page": without}

    def tables(self) -> dict[str, pa.Table]:
        return {name: columns.table() for name, columns in self._columns.items()}

    def _read_line(self, data: bytes, start: int, end: int) -> None:
        """One entity; most have no page, and of those only the head of the line is decoded.

        Sitelinks come last, so that their opening is searched from the end.
        """
        opening = data.rfind(b'"sitelinks":', start, end)
        linked = data.find(self._site, max(opening, start), end) >= 0
        if not linked and not self.selection.without_page and data[start] == _BRACE:
            claims = data.find(b'"claims":', start, end)
            if claims > 0 and not (self._subclasses and data.find(_SUBCLASS_KEY, claims, end) >= 0):
                if _BRACE_CLOSED not in data[end - 3 : end]:
                    raise msgspec.DecodeError("the record is cut off")
                record = self._head(data[start:claims].rstrip(b", ") + b"}")
                if record.type == "item" and record.id is not None and record.labels is not None:
                    self._columns["others"].add(self._add_names(record))
                    return
        line = whole = data[start:end].strip().rstrip(b",")
        if line.startswith(b"["):  # brackets on the lines of the first and last entity
            self.counts["opening brackets"] += 1
            line = line[1:]
        if line.endswith(b"]"):
            self.counts["closing brackets"] += 1
            line = line[:-1].rstrip()
        try:
            record = self._whole(line)
        except NOT_JSON:
            if len(whole) - len(line) < 2 or not whole.startswith(b"[") or not self._take_all(whole):
                raise
        else:
            self._take(record, linked)

    def _take_all(self, line: bytes) -> bool:
        """A whole array on one line, as most programs write it; false where it is none."""
        try:
            results = [self._whole(raw) for raw in msgspec.json.decode(line, type=list[msgspec.Raw])]
        except NOT_JSON:
            return False
        for record in results:
            self._take(record, True)
        self._records += len(results) - 1
        return True

    def _take(self, record: Any, linked: bool) -> None:
        if record.redirect is not None or record.missing is not None:
            self.counts["redirected or deleted"] += 1
        elif record.id is None or record.type is None:
            raise msgspec.DecodeError("no id or no type: this is not a Wikidata entity")
        elif record.type == "item":
            self._take_item(record, linked)
        elif record.type == "property":
            label = _first(astuple(record.labels)) if record.labels else None
            self._columns["properties"].add((record.id, label, record.datatype, self.position))
            self.position += 1
            self.counts["properties"] += 1
        else:
            self.counts[f"other: {record.type}"] += 1

    def _take_item(self, record: Any, linked: bool) -> None:
        sitelinks = record.sitelinks or {}
        raw = sitelinks.get(self.selection.wiki) if linked and sitelinks else None
        page = self._sitelink(raw) if raw is not None else None
        every = page is not None or self.selection.without_page
        claims = record.claims or {}
        if not every and not (self._subclasses and SUBCLASS_OF in claims):
            self._columns["others"].add(self._add_names(record))
            return
        types, facts = self._facts(record.id, claims, every)
        self._columns["facts"].extend(facts)
        title = page.title.strip().replace("_", " ") if page else None
        self._with_page += page is not None
        self._columns["entities"].add((*self._add_names(record), types, len(sitelinks), title))

    def _add_names(self, record: Any) -> tuple[object, ...]:
        """Keep all names but the first label; the entity's head, which contains that one."""
        labels: tuple[Any, ...] = astuple(record.labels) if record.labels else self._none
        aliases = astuple(record.aliases) if record.aliases else self._none
        if aliases != self._none or labels.count(None) < len(labels) - 1:
            self._add_other_names(record.id, labels, aliases)
        label = labels[0]
        language: str | None = self.languages[0]
        if label is None:
            result = ((text, at) for text, at in zip(labels, self.languages, strict=True) if text)
            label, language = next(result, (None, None))
        described = _first(astuple(record.descriptions)) if record.descriptions else None
        value = label.value if label is not None else None
        self.position += 1
        return record.id, value, language, described, self.position - 1

    def _add_other_names(self, entity: str, labels: tuple[Any, ...], aliases: tuple[Any, ...]) -> None:
        """Further labels, and aliases; those of fallback languages where they are new names."""
        full, position, names = self._full_languages, self.position, self._columns["names"]
        seen: set[str] = set()
        for n, language in enumerate(self.languages):
            label, others = labels[n], aliases[n]
            if label is not None and (n < full or label.value not in seen):
                if any(text is not None for text in labels[:n]):
                    names.add((entity, label.value, language, "label", 0, position))
                seen.add(label.value)
            if others is not None:
                for place, alias in enumerate(others, 1):
                    name = alias.value
                    if n < full or name not in seen:
                        seen.add(name)
                        names.add((entity, name, language, "alias", place, position))

    def _facts(
        self, entity: str, claims: dict[str, Any], every: bool
    ) -> tuple[list[str], list[tuple[object, ...]]]:
        """The entity's types and the rows of its facts; of items without a page only P279."""
        types: list[str] = []
        rows: list[tuple[object, ...]] = []
        place = 0
        for name, raw in claims.items():
            if self._wanted is not None and name not in self._wanted:
                continue
            keep = every or name == SUBCLASS_OF
            if not keep and name != INSTANCE_OF:
                continue
            for statement in self._statements(raw):
                value = statement.mainsnak.datavalue
                fact = None
                if statement.mainsnak.snaktype != "value" or value is None:
                    self.counts["statements without a value"] += 1
                elif (fact := fact_of(value)) is None:
                    self.counts[f"values of an unknown kind: {value.type}"] += 1
                elif name == INSTANCE_OF and fact[0] == "entity":
                    types.append(fact[1])
                if keep and fact is not None:
                    rows.append((entity, name, *fact, statement.rank, place, self.position))
                place += 1
        return types, rows


def _first(texts: tuple[WikidataText | None, ...]) -> str | None:
    return next((text.value for text in texts if text is not None), None)


class WikidataDump(DumpFile):
    kind = "wikidata"

    def __init__(self, path: str | Path, selection: WikidataSelection) -> None:
        super().__init__(path)
        self.selection = selection

    def parameters(self) -> dict[str, Any]:
        results: dict[str, Any] = msgspec.to_builtins(self.selection)
        return results | {"properties": results["properties"] or "all"}

    def check(self) -> None:
        start = beginning(self.path).lstrip()
        if start.startswith(b"<"):
            what, hint = "XML", "a Wikipedia dump is taken in by --pages"
        elif b'"wikipedia_id"' in start and b'"labels"' not in start:
            what, hint = "KILT's knowledge source", "it is taken in by --pages"
        elif not start.startswith((b"{", b"[")):
            what, hint = "no JSON", "Wikidata's dumps are called latest-all.json.bz2 and the like"
        else:
            return
        raise BadInput(f"this is {what}, not a Wikidata JSON dump", file=self.path, hint=hint)

    @cached_property
    def _reader(self) -> WikidataReader:
        return WikidataReader(self.selection)

    def read(self, job: PartJob) -> Read:
        reader = self._reader
        reader.start()
        refused: list[RefusedRecord] = []
        for chunk in self.chunks(job):
            reader.read(chunk.data)
            if reader.refused or chunk.problem:
                refused.extend(self.refuse(chunk, reader.refused))
                reader.refused.clear()
        return Read(reader.tables(), reader.counted(), refused)

    def finish(self, parts: PartFiles, queries: MergeQueries) -> dict[str, str]:
        opened, closed = parts.counted("opening brackets"), parts.counted("closing brackets")
        if opened != closed:
            raise BadInput(
                "its list is opened and never closed: the dump is cut off",
                file=self.path,
                hint="fetch the file again and compare its checksum",
            )
        without = parts.counted("items without a page")
        if without and not parts.counted("items with a page") and not self.selection.without_page:
            talk(
                f"{self.path.name}: none of its {without:,} items has a page in {self.selection.wiki}, "
                "so that none is kept; --language or --wiki name another wiki, --without-page keeps all"
            )
        choice = WikidataChoice(parts, queries, without_page=self.selection.without_page)
        parts.notes["entities that appear twice"] = choice.twice
        parts.notes["values that are not in the dump"] = choice.absent
        chosen = f"join {choice.kept} using (entity, position)"
        every = all_entities(parts)
        types, classed = "types", ""
        if self.selection.superclasses:
            more = "list_filter(above, lambda c: not list_contains(types, c))"
            types = f"case when above is null then types else list_concat(types, {more}) end"
            classed = f"left join {choice.above()} using (types)"
        return {
            "entities": f"""select entity, label, description, {types} as types, sitelinks, title,
                position, 'wikidata' as source from ({every}) {chosen} {classed}""",
            "names": f"""select entity, name, language, kind, 1 as count, place
                from (
                    select entity, label as name, label_language as language, 'label' as kind,
                        0 as place, position
                    from ({every}) where label is not null
                    union all by name {parts.rows("names")}
                ) {chosen}""",
            "facts": f"""select entity, property, kind, value, unit, precision, language, rank, place
                from ({parts.rows("facts")}) {chosen}""",
            "properties": f"""select property, arg_min(label, position) as label,
                arg_min(datatype, position) as datatype, min(position) as position
                from ({parts.rows("properties")}) group by property""",
        }
