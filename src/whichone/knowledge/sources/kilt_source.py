"""KILT's knowledge source as a source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whichone.errors import BadInput
from whichone.files.parts import beginning
from whichone.knowledge.readers.kilt_source import read_part
from whichone.knowledge.sources.pages import finish_pages, read_chunks
from whichone.knowledge.sources.source import DumpFile, Job, PartFiles, Read


class KiltSource(DumpFile):
    """`wiki` is what its page ids belong to: KILT's are those of the English Wikipedia."""

    kind = "kilt"

    def __init__(self, path: str | Path, wiki: str = "enwiki", language: str = "en") -> None:
        super().__init__(path)
        self.wiki = wiki
        self.language = language

    def __reduce__(self) -> tuple[Any, ...]:
        return KiltSource, (self.path, self.wiki, self.language)

    def parameters(self) -> dict[str, Any]:
        return {"wiki": self.wiki, "language": self.language}

    def check(self) -> None:
        start = beginning(self.path).lstrip()
        if not start.startswith(b"{") or (b'"wikipedia_title"' not in start and b"\n" in start):
            raise BadInput(
                "this is not KILT's knowledge source: its first line has no wikipedia_title",
                file=self.path,
                hint="wanted is kilt_knowledgesource.json, one page a line",
            )

    def read(self, job: Job) -> Read:
        def part(data: bytes, at: int) -> Any:
            return read_part(data, source=self.wiki, language=self.language, position=at)

        return read_chunks(self, job, part)

    def finish(self, parts: PartFiles, memory: str) -> dict[str, str]:
        return finish_pages(parts, memory)
