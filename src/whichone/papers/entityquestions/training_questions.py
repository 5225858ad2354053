""" "train ent": which entities occur in given training questions, or are listed in a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from whichone.corpus.passage_files import read_records
from whichone.errors import BadInput
from whichone.files.lines import read_text_lines
from whichone.names import name_key
from whichone.papers.entityquestions.fact import EntityFact

_IDENTIFIER = re.compile(r"[QP]\d+")
LONGEST_NAME = 8
"""Words of the longest name looked for in a question."""


def read_listed(path: str | Path) -> Callable[[EntityFact], bool]:
    """Entities from a file of ids or names, one a line."""
    ids: set[str] = set()
    keys: set[str] = set()
    for _, line in read_text_lines(path):
        text = line.strip()
        if _IDENTIFIER.fullmatch(text):
            ids.add(text)
        elif text:
            keys.add(name_key(text))
    if not ids and not keys:
        raise BadInput("there is neither an id nor a name in the file", file=path)
    return lambda fact: fact.subject in ids or name_key(fact.name) in keys


def read_seen(
    path: str | Path, names: Mapping[str, Sequence[str]] | None = None
) -> Callable[[EntityFact], bool]:
    """Entities with a name that appears in one of the questions of a file (`question` or `input`).

    `names` are the entities' names; an alias of one word is not looked for, since it may be any word.
    The paper finds entities with the linker ELQ; here every bearer of a name that occurs counts.
    """
    questions = []
    for line, record in read_records(path):
        text = record.get("question", record.get("input")) if isinstance(record, dict) else None
        if not isinstance(text, str):
            raise BadInput("a record with a question is expected", file=path, line=line)
        questions.append(text)
    keys = names_in(questions)

    def seen(fact: EntityFact) -> bool:
        aliases = [name for name in (names or {}).get(fact.subject, ()) if " " in name.strip()]
        return any(name_key(name) in keys for name in (fact.name, *aliases))

    return seen


def names_in(questions: Iterable[str], longest: int = LONGEST_NAME) -> set[str]:
    """The name keys of all stretches of words, without the punctuation around them."""
    names: set[str] = set()
    for question in questions:
        words = name_key(question).split()
        for start in range(len(words)):
            for end in range(start + 1, min(start + longest, len(words)) + 1):
                stretch = " ".join(words[start:end])
                names.update(_bare(stretch))
    return names


def _bare(stretch: str) -> tuple[str, ...]:
    bare = stretch.strip("?.,!;:\"'()")
    return (bare, bare.removesuffix("'s"), bare.removesuffix("’s"))
