"""KILT's sentence-aware chunks: whole sentences up to a number of tokens, within one section.

The rules are those of the published chunker, its oddities kept: a chunk's text reaches one character
beyond its last token before it is stripped, a blank token counts when a sentence is measured and not
when a chunk is, and a merged chunk counts one token more than it has.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import Missing, needs
from whichone.files.folder import Folder
from whichone.files.lines import write_lines
from whichone.knowledge.formats.kilt_source import kilt_records
from whichone.records import grouped, passage_id
from whichone.text.language import base_code

SIZE = 100
_TOKEN = re.compile(r"\w+|[^\w\s]|\s{2,}|\n")


class Token(msgspec.Struct, frozen=True):
    start: int
    end: int
    blank: bool = False


Splitter = Callable[[str], Iterable[Sequence[Token]]]  # A paragraph to its sentences, each a list of tokens


class Chunk(msgspec.Struct, kw_only=True):
    """Sentences of one section, with the anchors in them and where they come from."""

    text: str
    section: str
    anchors: list[dict[str, Any]]
    sources: list[dict[str, int]]
    tokens: int


def plain_sentences(text: str) -> Iterator[list[Token]]:
    """Words, signs and runs of blanks; a sentence ends at a full stop, `!` or `?`. Needs nothing."""
    sentence: list[Token] = []
    for match in _TOKEN.finditer(text):
        sentence.append(Token(match.start(), match.end(), match.group().isspace()))
        if match.group() in (".", "!", "?"):
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def spacy_sentences(model: str = "en_core_web_sm", language: str = "") -> Splitter:
    """spaCy's sentences, as KILT cut its own; `model` may be "blank" for the rules of a language alone."""
    with needs("spacy", "adapters"):
        import spacy
    if model == "blank":
        try:
            pipeline = spacy.blank(base_code(language))
        except ImportError:  # a language that spaCy does not know
            pipeline = spacy.blank("xx")
        pipeline.add_pipe("sentencizer")
    else:
        try:
            pipeline = spacy.load(model)
        except OSError as error:
            raise Missing(
                f"there is no spaCy model {model!r}: {error}",
                hint=f"python -m spacy download {model}, or --sentences blank or plain",
            ) from error

    def split(text: str) -> Iterator[list[Token]]:
        for sentence in pipeline(text).sents:
            yield [Token(t.idx, t.idx + len(t.text), t.is_space) for t in sentence]

    return split


def kilt_chunks(
    paragraphs: Sequence[str],
    anchors: Iterable[Mapping[str, Any]] = (),
    *,
    size: int = SIZE,
    sentences: Splitter = plain_sentences,
) -> list[Chunk]:
    """The chunks of one page; its title is not text, a heading names the section that follows."""
    by_paragraph = grouped((anchor["paragraph_id"], anchor) for anchor in anchors)
    chunks: list[Chunk] = []
    section = "Section::::Abstract"
    for number, paragraph in enumerate(paragraphs[1:], 1):
        if "Section::::" in paragraph:
            section = paragraph.strip()
            continue
        own = by_paragraph.get(number, [])
        held: list[Token] = []
        for sentence in sentences(paragraph):
            if held and len(held) + len(sentence) >= size:
                chunks.append(_chunk(paragraph, number, held, own, section))
                held = []
            held += [token for token in sentence if not token.blank]
        if held:
            _add_or_merge(chunks, _chunk(paragraph, number, held, own, section), size)
    return chunks


def _chunk(
    paragraph: str, number: int, tokens: Sequence[Token], anchors: Iterable[Mapping[str, Any]], section: str
) -> Chunk:
    start, end = tokens[0].start, tokens[-1].end
    inside = [
        {
            "text": a["text"],
            "href": a["href"],
            **({"wikipedia_id": a["wikipedia_id"]} if a.get("wikipedia_id") else {}),
            "source": {"paragraph_id": number, "start": a["start"], "end": a["end"]},
            "start": a["start"] - start,
            "end": a["end"] - start,
        }
        for a in anchors
        if a["start"] >= start and a["end"] <= end
    ]
    return Chunk(
        text=paragraph[start : end + 1].strip(),
        section=section,
        anchors=inside,
        sources=[{"paragraph_id": number, "start": start, "end": end}],
        tokens=len(tokens),
    )


def _add_or_merge(chunks: list[Chunk], chunk: Chunk, size: int) -> None:
    last = chunks[-1] if chunks else None
    if last is None or last.section != chunk.section or last.tokens + chunk.tokens >= size:
        chunks.append(chunk)
        return
    shift = len(last.text) + 1
    for anchor in chunk.anchors:
        anchor["start"] += shift
        anchor["end"] += shift
    last.text = f"{last.text} {chunk.text}"
    last.anchors += chunk.anchors
    last.sources += chunk.sources
    last.tokens += chunk.tokens + 1


def chunk_records(
    base: str | Path | Folder, *, size: int = SIZE, sentences: Splitter = plain_sentences
) -> Iterator[dict[str, Any]]:
    """The chunks of a knowledge base, in order of page, with `id`, `page`, `title` and `text` as passages have them."""
    for page, record in kilt_records(base):
        chunks = kilt_chunks(record["text"], record["anchors"], size=size, sentences=sentences)
        for number, chunk in enumerate(chunks):
            yield {
                "id": passage_id(page, number),
                "page": page,
                "title": record["wikipedia_title"],
                "text": chunk.text,
                "section": chunk.section,
                "anchors": chunk.anchors,
                "sources": chunk.sources,
                "categories": record.get("categories", ""),
                "history": record.get("history", {}),
            }


def export_chunks(base: str | Path, out: str | Path) -> dict[str, int]:
    """KILT's own layout: a number from 1, a tab, and the chunk as JSON, a line each."""
    path = Path(out)
    if not path.suffix:
        path.mkdir(parents=True, exist_ok=True)
        path /= "kilt_chunks.tsv"
    # a tab within the JSON is written as \t: KILT's reader drops lines with more than one tab
    rows = (msgspec.json.encode(_published(**record)) for record in chunk_records(base))
    return {path.name: write_lines(path, (b"%d\t%s" % row for row in enumerate(rows, 1)))}


def _published(*, id: str, page: str, title: str, **others: Any) -> dict[str, Any]:
    identity = page.partition(":")[2]
    return {"_id": identity, "wikipedia_id": identity, "wikipedia_title": title, **others}
