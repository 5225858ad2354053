"""What a world consists of, and its source, TOML and Markdown as `source/FORMAT.md` describes it.

Markup in a block's text is `[[Title]]`, `[[Title|text]]`, `[[!Title]]` for a page that is not there,
and MediaWiki's quotes for italics and bold.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from whichone.errors import BadInput, Missing
from whichone.files.lines import read_text, read_toml

StatementKind = Literal["item", "quantity", "time", "string", "somevalue"]
BlockKind = Literal["paragraph", "heading", "bullet"]

# Wikidata's class of disambiguation pages, which are items too and bear the name they explain.
DISAMBIGUATION_TYPE = "Q4167410"


class ItemStatement(msgspec.Struct, frozen=True, kw_only=True):
    """One claim of an item; `value` is an item id, an amount, an ISO date or a text, by `kind`."""

    property: str
    kind: StatementKind
    value: str
    rank: Literal["preferred", "normal", "deprecated"] = "normal"
    source: str = ""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A Wikidata item; `title` is that of its page in the world's Wikipedia, if it has one."""

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    description: str = ""
    types: tuple[str, ...] = ()
    statements: tuple[ItemStatement, ...] = ()
    title: str | None = None
    sitelinks: int = 1


class Property(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    label: str
    datatype: str = "wikibase-item"
    description: str = ""


class ArticleBlock(msgspec.Struct, frozen=True):
    """A paragraph, heading or list item; `text` may contain links as `[[Title]]` or `[[Title|text]]`."""

    kind: BlockKind
    text: str
    level: int = 0


class Article(msgspec.Struct, frozen=True, kw_only=True):
    """A page: of an item, of nothing in particular, or the disambiguation page of a name."""

    title: str
    blocks: tuple[ArticleBlock, ...]
    categories: tuple[str, ...] = ()
    item: Item | None = None
    views: int | None = None
    redirects: tuple[str, ...] = ()
    disambiguation: bool = False


class Wiki(msgspec.Struct, frozen=True, kw_only=True):
    """The wiki of a world: its language decides site names, projects and namespace words."""

    language: str = "en"
    timestamp: str = "2019-08-01T00:00:00Z"

    @property
    def site(self) -> str:
        return f"{self.language.replace('-', '_')}wiki"


QUOTES = re.compile(r"'{2,}")
LINK = re.compile(r"\[\[(!?)([^\[\]|]+)(?:\|([^\[\]]+))?\]\]")


class ArticleLink(msgspec.Struct, frozen=True):
    """One link: its target, its visible text, where that appears in the plain text, and if it is red."""

    target: str
    text: str
    start: int
    end: int
    red: bool


def plain_text(text: str) -> tuple[str, list[ArticleLink]]:
    """The text a reader sees, and its links with their spans in it."""
    if "''" in text:
        text = QUOTES.sub("", text)
    if "[[" not in text:
        return text, []
    pieces: list[str] = []
    links: list[ArticleLink] = []
    position = length = 0
    for match in LINK.finditer(text):
        before = text[position : match.start()]
        shown = match[3] or match[2]
        start = length + len(before)
        length = start + len(shown)
        pieces += (before, shown)
        links.append(ArticleLink(match[2], shown, start, length, bool(match[1])))
        position = match.end()
    pieces.append(text[position:])
    return "".join(pieces), links


def wikitext(text: str) -> str:
    """The text with its links as MediaWiki writes them: a red link looks like any other."""
    return text.replace("[[!", "[[")


_HEADING = re.compile(r"(#{2,5}) +(\S.*)")
_CATEGORY = re.compile(r"Category: *(\S.*)")


class WrittenPage(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    blocks: tuple[ArticleBlock, ...]
    categories: tuple[str, ...]
    file: str
    line: int

    def words(self) -> list[str]:
        """The words of the page as AmbER counts them: title and headings included."""
        return " ".join([self.title, *(plain_text(block.text)[0] for block in self.blocks)]).split()

    def running_words(self) -> int:
        """How many words a reader reads: title and headings left out."""
        texts = (plain_text(block.text)[0] for block in self.blocks if block.kind != "heading")
        return len(" ".join(texts).split())


def read_pages(path: Path) -> list[WrittenPage]:
    pages = []
    lines = read_text(path).splitlines()
    starts = [n for n, line in enumerate(lines) if line.startswith("# ")]
    stray = next((n for n, line in enumerate(lines[: starts[0] if starts else None]) if line), None)
    if stray is not None:
        raise BadInput("text before the first `# Title`", file=path, line=stray + 1)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        blocks, categories = _blocks(lines[start + 1 : end], path, start + 2)
        pages.append(
            WrittenPage(
                title=lines[start][2:].strip(),
                blocks=tuple(blocks),
                categories=tuple(categories),
                file=str(path),
                line=start + 1,
            )
        )
    return pages


def _blocks(lines: list[str], path: Path, first: int) -> tuple[list[ArticleBlock], list[str]]:
    blocks: list[ArticleBlock] = []
    categories: list[str] = []
    paragraph: list[str] = []

    def close() -> None:
        if paragraph:
            blocks.append(ArticleBlock("paragraph", " ".join(paragraph)))
            paragraph.clear()

    for number, raw in enumerate(lines, first):
        line = raw.strip()
        if heading := _HEADING.fullmatch(line):
            close()
            blocks.append(ArticleBlock("heading", heading[2], len(heading[1])))
        elif category := _CATEGORY.fullmatch(line):
            close()
            categories.append(category[1])
        elif line.startswith("- "):
            close()
            blocks.append(ArticleBlock("bullet", line[2:].strip()))
        elif raw.startswith("  ") and line and not paragraph and blocks and blocks[-1].kind == "bullet":
            blocks[-1] = ArticleBlock("bullet", f"{blocks[-1].text} {line}")
        elif line.startswith("#"):
            raise BadInput("a heading needs `## ` to `##### `", file=path, line=number)
        elif line:
            paragraph.append(line)
        else:
            close()
    close()
    return blocks, categories


BUILTIN = Path(__file__).parent / "source"  # Where the source of the built-in world is stored

T = TypeVar("T")


class SourceFact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fact and the line that says how we know it; exactly one of `value` and `quantity`."""

    property: str
    source: str
    value: str | None = None
    quantity: int | None = None


class SourceEntity(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A bearer of a name, or a value that facts point to; `file` and `line` say where it appears."""

    id: str
    label: str
    types: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    description: str = ""
    page: str | None = None
    redirects: tuple[str, ...] = ()
    views: int | None = None
    fact: tuple[SourceFact, ...] = ()
    file: str = ""
    line: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        return (self.label, *self.aliases)


class NameFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A shared name and its bearers: one TOML file."""

    name: str
    entity: tuple[SourceEntity, ...]
    collection: str = ""
    file: str = ""


class TypeName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    label: str


class WorldSource(msgspec.Struct, frozen=True):
    names: tuple[NameFile, ...]
    values: tuple[SourceEntity, ...]
    pages: tuple[WrittenPage, ...]
    properties: tuple[Property, ...]
    types: dict[str, TypeName]

    def entities(self) -> Iterator[SourceEntity]:
        for name in self.names:
            yield from name.entity
        yield from self.values


def read_source(folder: Path = BUILTIN) -> WorldSource:
    """All files of a world's source; a file that cannot be understood is an error with its place."""
    if not folder.is_dir():
        raise Missing("no folder with a world's source", where=str(folder))
    names: list[NameFile] = []
    values: list[SourceEntity] = []
    pages: list[WrittenPage] = []
    properties: dict[str, Property] = {}
    types: dict[str, TypeName] = {}
    for path in sorted(folder.rglob("*.toml")):
        text, document = read_text(path), read_toml(path, dict)
        match path.name:
            case "values.toml":
                values += _placed(_convert(document.get("value", []), path, list), path, text)
            case "properties.toml":
                properties |= _properties(document, path)
            case "types.toml":
                types |= _types(document, path)
            case _:
                shell = _convert({**document, "entity": []}, path, NameFile)
                bearers = _placed(document.get("entity", []), path, text)
                names.append(
                    msgspec.structs.replace(
                        shell, entity=tuple(bearers), collection=path.parent.name, file=str(path)
                    )
                )
    for path in sorted(folder.rglob("*.md")):
        if path.name != "FORMAT.md":
            pages += read_pages(path)
    return WorldSource(tuple(names), tuple(values), tuple(pages), tuple(properties.values()), types)


def _convert(document: object, path: Path, type: type[T]) -> T:
    try:
        return msgspec.convert(document, type)
    except msgspec.ValidationError as error:
        raise BadInput(
            f"not as FORMAT.md asks: {error}", file=path, hint="see world/source/FORMAT.md"
        ) from error


def _placed(rows: list[Any], path: Path, text: str) -> list[SourceEntity]:
    lines = text.splitlines()
    return [
        msgspec.structs.replace(
            entity,
            file=str(path),
            line=next((n for n, row in enumerate(lines, 1) if f'"{entity.id}"' in row), 0),
        )
        for entity in _convert(rows, path, list[SourceEntity])
    ]


def _properties(document: dict[str, Any], path: Path) -> dict[str, Property]:
    """`[P1303]` tables with label, datatype and description, or plain `P1303 = "instrument"`."""
    return {
        key: _convert({**(row if isinstance(row, dict) else {"label": row}), "id": key}, path, Property)
        for key, row in document.items()
    }


def _types(document: dict[str, Any], path: Path) -> dict[str, TypeName]:
    """`[human]` tables with id and label, or plain `human = "Q5"`."""
    return {
        key: _convert(row if isinstance(row, dict) else {"id": row, "label": key}, path, TypeName)
        for key, row in document.items()
    }


def disambiguation_title(name: str, taken: Iterable[str]) -> str:
    """The bare name, or with "(disambiguation)" where a page or redirect has the bare one."""
    return f"{name} (disambiguation)" if name in taken else name


def disambiguation_page(
    name: str, title: str, bearers: Sequence[tuple[str, str]], item_id: str, views: int
) -> Article:
    """The page that lists `bearers`, pairs of page title and description; the first is the best known."""
    item = Item(
        id=item_id,
        label=name,
        description="Wikimedia disambiguation page",
        types=(DISAMBIGUATION_TYPE,),
        title=title,
    )
    lines = [
        ArticleBlock("bullet", f"[[{page}]], {text}" if text else f"[[{page}]]") for page, text in bearers
    ]
    return Article(
        title=title,
        blocks=(ArticleBlock("paragraph", f"{name} may refer to:"), *lines),
        categories=("Disambiguation pages",),
        item=item,
        views=views,
        disambiguation=True,
    )
