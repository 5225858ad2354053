"""The tables of a knowledge base.

`position` is an entity's or page's place in its dump, and `place` a statement's place within its
entity: the released AmbER program breaks ties by them, so they are kept.
"""

import pyarrow as pa
import pyarrow.compute as pc

from whichone.errors import UsageError
from whichone.files.folder import Folder
from whichone.files.tables import TableSchema
from whichone.names import name_key
from whichone.text.language import base_code, likely_language

KIND = "knowledge base"
# How paragraphs begin that are headings and list items, as in KILT's knowledge source.
SECTION, BULLET = "Section::::", "BULLET::::"

_text, _texts = pa.string(), pa.list_(pa.string())

ENTITIES = TableSchema.of(
    "entities",
    ("entity",),
    ("entity", _text),
    ("label", _text),  # in the chosen language or its fallbacks; null if there is none
    ("description", _text),
    ("types", _texts),  # P31 values in dump order, no subclass closure
    ("sitelinks", pa.int32()),
    ("title", _text),  # its page in the chosen wiki, blanks not underscores; null if none
    ("position", pa.int64()),
    ("source", _text),  # "wikidata", or a catalogue's name
)
NAMES = TableSchema.of(
    "names",
    ("key", "name", "entity", "kind", "language", "place"),
    ("entity", _text),
    ("name", _text),
    ("key", _text),  # names.name_key(name)
    ("language", _text),
    ("kind", _text),  # label, alias, title, redirect, anchor
    ("count", pa.int64()),  # anchors: how often; 1 for the others
    ("place", pa.int32()),  # label 0, aliases from 1 in dump order; duplicates kept
)
FACTS = TableSchema.of(
    "facts",
    ("entity", "place", "property"),
    ("entity", _text),
    ("property", _text),
    ("kind", _text),  # entity, quantity, time, string, monolingual, coordinate
    ("value", _text),  # entity id; amount as written with its sign; ISO time; text
    ("unit", _text),  # quantity: entity id of the unit, null for plain numbers
    ("precision", pa.int8()),  # time: Wikidata's precision (9 year, 11 day)
    ("language", _text),  # monolingual text
    ("rank", _text),  # preferred, normal, deprecated
    ("place", pa.int32()),  # order of the statement within the entity
)
PROPERTIES = TableSchema.of(
    "properties",
    ("property",),
    ("property", _text),
    ("label", _text),
    ("datatype", _text),
    ("position", pa.int64()),
)
PAGES = TableSchema.of(
    "pages",
    ("page",),
    ("page", _text),  # source:id
    ("title", _text),
    ("entity", _text),  # the entity the page is about; null if not known
    ("kind", _text),  # article, disambiguation
    ("paragraphs", _texts),  # KILT's layout: title, headings, list items, text
    ("categories", _texts),
    ("revision", pa.int64()),
    ("timestamp", _text),
    ("position", pa.int64()),
    ("history", _text),  # the rest of KILT's history and wikidata_info, as JSON
)
LINKS = TableSchema.of(
    "links",
    ("page", "paragraph", "start", "end", "target"),
    ("page", _text),
    ("paragraph", pa.int32()),
    ("start", pa.int32()),
    ("end", pa.int32()),
    ("text", _text),
    ("target", _text),  # title as written, blanks not underscores
    ("target_page", _text),  # resolved through redirects; null if there is no such page
)
REDIRECTS = TableSchema.of(
    "redirects", ("title",), ("title", _text), ("target", _text), ("target_page", _text)
)
VIEWS = TableSchema.of(
    "views", ("title", "source"), ("title", _text), ("views", pa.int64()), ("source", _text)
)

ALL = (ENTITIES, NAMES, FACTS, PROPERTIES, PAGES, LINKS, REDIRECTS, VIEWS)


def catalogues(knowledge: Folder) -> list[str]:
    """The names of a knowledge base's catalogues, with which the ids of their entities begin."""
    kinds = ((s.get("kind"), s.get("parameters", {}).get("name")) for s in knowledge.manifest.sources)
    return list(dict.fromkeys(str(name) for kind, name in kinds if kind == "catalogue" and name))


def page_language(knowledge: Folder) -> str:
    """The language of a knowledge base's pages, as its dumps and catalogues say; empty where they do not."""
    for kinds in (("wikipedia", "kilt"), ("catalogue",)):
        for source in knowledge.manifest.sources:
            language = source.get("parameters", {}).get("language")
            if source.get("kind") in kinds and isinstance(language, str) and language:
                return language
    return ""


def language_seen(knowledge: Folder) -> str:
    """`page_language`, or what the first pages are evidently written in where that is said to be English."""
    said = page_language(knowledge)
    if base_code(said or "en") != "en":
        return said
    from pyarrow import parquet

    pages = parquet.ParquetFile(knowledge.parts("pages")[0]).iter_batches(200, columns=["paragraphs"])
    first = next(pages, None)
    texts = (str(p) for row in (first.column(0).to_pylist() if first else ()) for p in row or ())
    return likely_language(" ".join(texts)) or said


def language_asked(knowledge: Folder, given: str = "") -> str:
    """The language to build questions in: what was given, else English where the pages are in no other."""
    own = given or language_seen(knowledge)
    if not given and base_code(own or "en") != "en":
        raise UsageError(
            f"the pages of this knowledge base are in {own!r}, and the language of the questions was not given",
            where=str(knowledge.root),
            hint=f"--language {base_code(own)} asks with its names and wordings, --language en in English all the same",
        )
    return given or "en"


_PLAIN = r"^[!-^`-~]+( [!-^`-~]+)*$"  # printable ASCII, single blanks, no underscore


def name_keys(names: pa.Array) -> pa.Array:
    """`name_key` of each name: of plain names by Arrow at once, of the others one by one."""
    others = pc.invert(pc.match_substring_regex(names, _PLAIN))
    keys = [name_key(name) for name in names.filter(others).to_pylist()]
    return pc.replace_with_mask(pc.ascii_lower(names), others, pa.array(keys, pa.string()))
