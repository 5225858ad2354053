"""Documents as people have them: Markdown with front matter, HTML, plain text, PDF, Word."""

import html.parser
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec

from whichone.errors import BadInput, needs
from whichone.files.compressed import DAMAGE
from whichone.files.lines import read_text

_FRONT = re.compile(r"\A---\s*\n(.*?)\n(?:---|\.\.\.)\s*(?:\n|\Z)", re.S)
_FIELD = re.compile(r"^([\w .-]+?)\s*:\s*(.*?)\s*$")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$|^(.+)\n[=-]{3,}\s*$", re.M)
_LARGEST_PART = 64 << 20  # Bytes of a part of a Word document, unpacked
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


class Document(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    title: str = ""
    fields: dict[str, str] = {}


def document_files(folder: Path) -> list[Path]:
    """The documents under a folder, hidden ones apart; none at all is an error."""
    shown = (
        p for p in folder.rglob("*") if not any(part.startswith(".") for part in p.relative_to(folder).parts)
    )
    if not (result := sorted(p for p in shown if p.is_file() and p.suffix.lower() in READERS)):
        raise BadInput(
            f"there are no documents in it ({', '.join(sorted(READERS))})",
            file=folder,
            hint="is this the right folder? a corpus.jsonl or a file of passages will do as well",
        )
    return result


def read_document(path: Path) -> Document:
    return READERS[path.suffix.lower()](path)


def read_markdown(path: Path) -> Document:
    text = read_text(path).replace("\r\n", "\n")
    fields: dict[str, str] = {}
    if front := _FRONT.match(text):
        text = text[front.end() :]
        for line in front[1].splitlines():
            if match := _FIELD.match(line):
                fields[match[1].strip()] = match[2].strip("\"'")
    heading = _HEADING.search(text)
    title = (heading[1] or heading[2] or "").strip() if heading else ""
    return Document(text=text, title=title, fields=fields)


def read_plain(path: Path) -> Document:
    return Document(text=read_text(path))


class _Text(html.parser.HTMLParser):
    """The visible text of a page, its title and its named meta fields."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.title = ""
        self.fields: dict[str, str] = {}
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "meta" and given.get("name") and given.get("content"):
            self.fields[str(given["name"])] = str(given["content"])
        if tag in ("script", "style", "title", "noscript"):
            self._inside.append(tag)
        elif tag in ("p", "br", "div", "li", "tr", "h1", "h2", "h3", "h4", "td", "th"):
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._inside and self._inside[-1] == "title":
            self.title += data
        elif not self._inside:
            self.pieces.append(data)


def read_html(path: Path) -> Document:
    parser = _Text()
    parser.feed(read_text(path))
    return Document(text="".join(parser.pieces), title=" ".join(parser.title.split()), fields=parser.fields)


def read_docx(path: Path) -> Document:
    """The paragraphs of a Word document; its title is that of its properties."""
    try:
        with zipfile.ZipFile(path) as packed:
            for part in packed.infolist():  # which is never unpacked to more than it says here
                if part.file_size > _LARGEST_PART:
                    raise ValueError(f"{part.filename} in it unpacks to {part.file_size:,} bytes")
            body = ElementTree.fromstring(packed.read("word/document.xml"))
            known = "docProps/core.xml" in packed.namelist()
            core = ElementTree.fromstring(packed.read("docProps/core.xml")) if known else None
    except (*DAMAGE, zipfile.BadZipFile, LookupError, ElementTree.ParseError, RuntimeError) as error:
        raise BadInput(f"it is not a Word document: {error}", file=path) from error
    paragraphs = [
        "".join(t.text or "" for t in paragraph.iter(f"{_WORD}t")) for paragraph in body.iter(f"{_WORD}p")
    ]
    named = None if core is None else core.find("{http://purl.org/dc/elements/1.1/}title")
    title = (named.text or "") if named is not None else ""
    return Document(text="\n".join(paragraphs), title=title.strip())


def read_pdf(path: Path) -> Document:
    with needs(f"pypdf, which reads {path},", "documents"):
        import pypdf
    try:
        reader = pypdf.PdfReader(path)
        text = "\n".join(page.extract_text() for page in reader.pages)
        title: Any = reader.metadata.title if reader.metadata else None
    except Exception as error:  # a damaged file can raise nearly anything in there
        raise BadInput(f"it cannot be read as PDF: {error}", file=path) from error
    return Document(text=text, title=str(title or "").strip())


READERS: dict[str, Callable[[Path], Document]] = {
    ".md": read_markdown,
    ".markdown": read_markdown,
    ".txt": read_plain,
    ".html": read_html,
    ".htm": read_html,
    ".docx": read_docx,
    ".pdf": read_pdf,
}
