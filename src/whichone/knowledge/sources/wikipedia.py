"""A Wikipedia XML dump as a source."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from whichone.errors import BadInput
from whichone.files.lines import open_binary
from whichone.files.parts import ByteRange, Chunk, beginning, whole_records
from whichone.knowledge.readers.wiki_site import Site, is_utf16, read_site
from whichone.knowledge.readers.wikipedia import read_part
from whichone.knowledge.sources.pages import finish_pages, read_chunks
from whichone.knowledge.sources.source import DumpFile, Job, PartFiles, Read

ENDS = "closing brackets"
_HEAD = 1 << 18
_BLOCK = 1 << 20


class WikipediaDump(DumpFile):
    """`language`, where given, wins over what the dump says of itself."""

    kind = "wikipedia"
    delimiter = b"</page>"

    def __init__(self, path: str | Path, language: str | None = None) -> None:
        super().__init__(path)
        self.language = language

    def __reduce__(self) -> tuple[Any, ...]:
        return WikipediaDump, (self.path, self.language)

    @cached_property
    def site(self) -> Site:
        return read_site(beginning(self.path, _HEAD), file=str(self.path), language=self.language)

    def jobs(self, number: int) -> Iterator[Job]:
        if not is_utf16(beginning(self.path, 2)):
            yield from super().jobs(number)
            return
        whole = ByteRange(0, 0, self.path.stat().st_size)
        everything = ByteRange(0, 0, 1 << 62)
        yield Job(number, whole, whole_records(self._recoded(), everything, self.delimiter))

    def _recoded(self) -> Iterator[Chunk]:
        """A dump in UTF-16 as UTF-8, by a single reader."""
        position = 0
        decoder = codecs.getincrementaldecoder("utf-16")()
        with open_binary(self.path) as stream:
            try:
                while block := stream.read(_BLOCK):
                    data = decoder.decode(block).encode()
                    yield Chunk(position, data)
                    position += len(data)
            except (EOFError, OSError, ValueError) as error:
                raise BadInput(
                    f"damaged or cut off after {position:,} characters: {error}",
                    file=self.path,
                    hint="fetch the file again and compare its checksum",
                ) from error

    def parameters(self) -> dict[str, Any]:
        return {"wiki": self.site.name, "language": self.site.language}

    def check(self) -> None:
        assert self.site.name

    def read(self, job: Job) -> Read:
        return read_chunks(self, job, lambda data, at: read_part(data, self.site, position=at))

    def finish(self, parts: PartFiles, memory: str) -> dict[str, str]:
        if not parts.counted(ENDS):
            raise BadInput(
                "it ends without </mediawiki>: the dump is cut off",
                file=self.path,
                hint="fetch the file again and compare its checksum",
            )
        kinds = ("article pages", "disambiguation pages", "redirects")
        if not any(parts.counted(kind) for kind in kinds):
            raise BadInput(
                f"none of its {parts.counted('records'):,} pages is an article",
                file=self.path,
                hint="wanted is a dump of a Wikipedia; Wikidata comes in as JSON, by --wikidata",
            )
        return finish_pages(parts, memory) | {"redirects": parts.rows("redirects")}
