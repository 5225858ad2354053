"""Lines of a Wikidata JSON dump to rows of entities, names, facts and properties.

Pure: bytes in, columns out. Every item's names are kept here, with or without a page, because only
at the end it is known which items are values of facts. Not kept: qualifiers, references, statements
without a value, languages that were not asked for.
"""

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import astuple

from whichone.errors import BadInput
from whichone.files.lines import NOT_JSON
from whichone.files.parts import beginning
from whichone.knowledge.engines import MergeQueries
from whichone.knowledge.formats import wikidata_choice
from whichone.knowledge.formats.sources import Columns, DumpFile, PartFiles, PartJob, Read, RefusedRecord
from whichone.knowledge.knowledge_tables import FACTS, NAMES, PROPERTIES
from whichone.progress import talk

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
        texts = wikidata_choice.by_language("Texts", self.languages, wikidata_choice.WikidataText)
        lists = wikidata_choice.by_language("Lists", self.languages, list[wikidata_choice.WikidataText])
        raw = dict[str, msgspec.Raw] | wikidata_choice.NoEntries | None
        kinds: dict[str, Any] = dict.fromkeys(("id", "type", "datatype"), str | None)
        kinds |= {"labels": texts, "descriptions": texts, "aliases": lists, "redirect": Any, "missing": Any}
        self._head = _decoder("Head", kinds)
        self._whole = _decoder("Whole", {**kinds, "claims": raw, "sitelinks": raw})
        self._sitelink = msgspec.json.Decoder(wikidata_choice.Sitelink).decode
        self._statements = msgspec.json.Decoder(list[wikidata_choice.WikidataStatement]).decode
        self._site = f'"{selection.wiki}"'.encode()
        wanted = selection.properties
        self._wanted = None if wanted is None else frozenset((*wanted, INSTANCE_OF))
        self._full_languages = len(selection.languages)
        self._none = (None,) * len(self.languages)
        self._subclasses = wanted is None or wikidata_choice.SUBCLASS_OF in wanted
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
        if not every and not (self._subclasses and wikidata_choice.SUBCLASS_OF in claims):
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
            keep = every or name == wikidata_choice.SUBCLASS_OF
            if not keep and name != INSTANCE_OF:
                continue
            for statement in self._statements(raw):
                value = statement.mainsnak.datavalue
                fact = None
                if statement.mainsnak.snaktype != "value" or value is None:
                    self.counts["statements without a value"] += 1
                elif (fact := wikidata_choice.fact_of(value)) is None:
                    self.counts[f"values of an unknown kind: {value.type}"] += 1
                elif name == INSTANCE_OF and fact[0] == "entity":
                    types.append(fact[1])
                if keep and fact is not None:
                    rows.append((entity, name, *fact, statement.rank, place, self.position))
                place += 1
        return types, rows


def _first(texts: tuple[wikidata_choice.WikidataText | None, ...]) -> str | None:
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
        choice = wikidata_choice.WikidataChoice(parts, queries, without_page=self.selection.without_page)
        parts.notes["entities that appear twice"] = choice.twice
        parts.notes["values that are not in the dump"] = choice.absent
        chosen = f"join {choice.kept} using (entity, position)"
        every = wikidata_choice.all_entities(parts)
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
