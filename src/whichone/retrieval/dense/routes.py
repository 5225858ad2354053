"""Which relation a question asks for, recognised by its wording: what is around the name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from whichone.files.lines import read_json, write_atomic
from whichone.names import name_key

LEAST = 2
"""How many questions a wording must have been seen in."""


class Wording(msgspec.Struct, frozen=True, array_like=True, order=True):
    """The two sides of a name: "where was", "born?"."""

    before: str
    after: str

    def fits(self, question: str) -> bool:
        return (
            len(question) > len(self.before) + len(self.after)
            and question.startswith(self.before)
            and question.endswith(self.after)
        )

    def __len__(self) -> int:
        return len(self.before) + len(self.after)


class Routes(msgspec.Struct, frozen=True):
    """The wordings of each relation."""

    wordings: dict[str, tuple[Wording, ...]] = {}

    def relation(self, question: str) -> str | None:
        """The relation of the longest wording that fits; None when none does, or two relations tie."""
        asked = name_key(question)
        fitting = [
            (len(wording), relation)
            for relation, known in self.wordings.items()
            for wording in known
            if wording.fits(asked)
        ]
        longest = max((length for length, _ in fitting), default=0)
        relations = {relation for length, relation in fitting if length == longest}
        return relations.pop() if len(relations) == 1 else None

    def save(self, file: Path) -> None:
        write_atomic(file, msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")

    @classmethod
    def open(cls, file: Path) -> Routes:
        return read_json(file, cls) if file.exists() else cls()


def learned_routes(questions: Iterable[tuple[str, str, str]]) -> Routes:
    """Wordings from (question, name, relation); a name that is not in its question teaches none."""
    seen: dict[str, Counter[Wording]] = {}
    for question, name, relation in questions:
        alone = rf"(?<!\w){re.escape(name_key(name))}(?!\w)"
        parts = re.split(alone, name_key(question)) if name.strip() else []
        if len(parts) == 2 and any(parts) and relation:
            seen.setdefault(relation, Counter())[Wording(*parts)] += 1
    return Routes(
        {
            relation: tuple(sorted(w for w, count in known.items() if count >= LEAST))
            for relation, known in sorted(seen.items())
        }
    )
