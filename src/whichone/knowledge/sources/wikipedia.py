"""A Wikipedia XML dump as a source."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from whichone.errors import BadInput
from whichone.files.parts import beginning
from whichone.knowledge.readers.wiki_site import Site, read_site
from whichone.knowledge.readers.wikipedia import read_part
from whichone.knowledge.sources.pages import finish_pages, read_chunks
from whichone.knowledge.sources.source import DumpFile, Job, PartFiles, Read

ENDS = "closing brackets"
_HEAD = 1 << 18


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
        return finish_pages(parts) | {"redirects": parts.rows("redirects")}
