"""A page-view file as a source."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from whichone.errors import BadInput
from whichone.files.parts import beginning
from whichone.files.tables import sql_text
from whichone.knowledge.readers.views import UNFIT, Rules, ViewsFormat, detect_format, read_part
from whichone.knowledge.sources.pages import read_chunks
from whichone.knowledge.sources.source import DumpFile, Job, PartFiles, Read
from whichone.progress import talk

_UNFIT_SHARE = 0.01


class ViewsFile(DumpFile):
    """Several files may be taken in: their views add up, and `source` names each."""

    kind = "views"

    def __init__(self, path: str | Path, language: str = "en", rules: Rules = "summed") -> None:
        super().__init__(path)
        self.language = language
        self.rules: Rules = rules

    def __reduce__(self) -> tuple[Any, ...]:
        return ViewsFile, (self.path, self.language, self.rules)

    @cached_property
    def format(self) -> ViewsFormat:
        return detect_format(beginning(self.path), file=str(self.path))

    def parameters(self) -> dict[str, Any]:
        return {"format": self.format.name, "language": self.language, "rules": self.rules}

    def check(self) -> None:
        assert self.format.name

    def read(self, job: Job) -> Read:
        def part(data: bytes, at: int) -> Any:
            return read_part(
                data, self.format, language=self.language, rules=self.rules, position=at
            )

        return read_chunks(self, job, part)

    def finish(self, parts: PartFiles, memory: str) -> dict[str, str]:
        lines, unfit = parts.counted("lines"), parts.counted(UNFIT)
        # The released program passes over every line that has not three fields, however many.
        most = lines - 1 if self.rules == "published" else max(10, _UNFIT_SHARE * lines)
        if lines and unfit > most:
            raise BadInput(
                f"{unfit:,} of the {lines:,} lines of this wiki are not of the format {self.format.name}",
                file=self.path,
                hint="the file mixes formats or is damaged; fetch it again",
            )
        others = parts.counted("lines of other projects")
        if others and not lines:
            wanted = "en.z" if self.rules == "published" else f"the {self.language} Wikipedia"
            talk(
                f"{self.path.name}: none of its {others:,} lines is of {wanted}; "
                "--language says which are taken"
            )
        add = "sum(views)" if self.rules == "summed" else "arg_max(views, position)"
        name = sql_text(self.path.name)
        rows = parts.rows("views")
        return {
            "views": f"select title, {add} as views, {name} as source from ({rows}) group by title"
        }
