"""How a late-interaction checkpoint wants its texts cut: markers, expansion, what is left out.

ColBERT's own checkpoints say it in `artifact.metadata`, PyLate's in `config_sentence_transformers.json`.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.errors import BadInput
from whichone.files.lines import read_json


class TokenRules(msgspec.Struct, frozen=True, kw_only=True):
    """`question_mark` and `passage_mark` are put after the first token; none where they are empty.

    `expand` fills questions with [MASK] up to `question_length`; those are scored too, and seen by the
    other tokens where `attend` says so. `skip_punctuation` leaves out a passage's punctuation.
    """

    question_mark: str = ""
    passage_mark: str = ""
    question_length: int = 32
    passage_length: int = 256
    expand: bool = False
    attend: bool = False
    skip_punctuation: bool = True


def read_rules(folder: Path) -> TokenRules:
    """The rules of a checkpoint's folder; plain tokens where it says nothing."""
    own, pylate = folder / "artifact.metadata", folder / "config_sentence_transformers.json"
    if own.exists():
        settings = _object(own)
        return _convert(
            own,
            question_mark=settings.get("query_token_id", "[unused0]"),
            passage_mark=settings.get("doc_token_id", "[unused1]"),
            question_length=settings.get("query_maxlen", 32),
            passage_length=settings.get("doc_maxlen", 180),
            expand=True,
            attend=settings.get("attend_to_mask_tokens", False),
            skip_punctuation=settings.get("mask_punctuation", True),
        )
    settings = _object(pylate) if pylate.exists() else {}
    if "query_length" not in settings and "document_length" not in settings:
        return TokenRules()
    return _convert(
        pylate,
        question_mark=(settings.get("query_prefix") or "").strip(),
        passage_mark=(settings.get("document_prefix") or "").strip(),
        question_length=settings.get("query_length", 32),
        passage_length=settings.get("document_length", 180),
        expand=settings.get("do_query_expansion", True),
        attend=settings.get("attend_to_expansion_tokens", False),
        skip_punctuation=settings.get("skiplist_words") != [],
    )


def _object(path: Path) -> dict[str, Any]:
    settings = read_json(path)
    if not isinstance(settings, dict):
        raise BadInput("an object is expected", file=path)
    return settings


def _convert(path: Path, **values: Any) -> TokenRules:
    try:
        return msgspec.convert({k: v for k, v in values.items() if v is not None}, TokenRules)
    except msgspec.ValidationError as error:
        raise BadInput(f"the settings of a late-interaction model: {error}", file=path) from error


class Cutter:
    """Texts to token ids by these rules; `tokenizer` is of the tokenizers library."""

    def __init__(self, tokenizer: Any, rules: TokenRules, *, file: str | Path = "") -> None:
        self.rules = rules
        self._tokenizer = tokenizer
        self._file = file
        self._question_mark = self._number(rules.question_mark)
        self._passage_mark = self._number(rules.passage_mark)
        self._mask = tokenizer.token_to_id("[MASK]")
        if rules.expand and self._mask is None:
            raise BadInput("questions are filled with [MASK], which is no token here", file=file)
        self._skipped = {
            number
            for sign in string.punctuation
            if rules.skip_punctuation and (number := tokenizer.token_to_id(sign)) is not None
        }

    def _number(self, mark: str) -> int | None:
        if not mark:
            return None
        number: int | None = self._tokenizer.token_to_id(mark)
        if number is None:
            raise BadInput(f"the marker {mark!r} is no token of the model", file=self._file)
        return number

    def questions(self, texts: Sequence[str]) -> tuple[list[list[int]], list[int]]:
        """The ids of each question, and how many of them the model attends to."""
        length = self.rules.question_length
        rows = self._cut(texts, length, self._question_mark)
        seen = [len(row) for row in rows]
        if not self.rules.expand:
            return rows, seen
        filled = [row + [self._mask] * (length - len(row)) for row in rows]
        return filled, [length] * len(rows) if self.rules.attend else seen

    def passages(self, texts: Sequence[str]) -> list[list[int]]:
        return self._cut(texts, self.rules.passage_length, self._passage_mark)

    def kept(self, ids: Sequence[int]) -> list[int]:
        """The places of a passage's tokens that are stored and scored."""
        places = [n for n, token in enumerate(ids) if token not in self._skipped]
        return places or list(range(len(ids)))

    def _cut(self, texts: Sequence[str], length: int, mark: int | None) -> list[list[int]]:
        self._tokenizer.enable_truncation(length - (mark is not None))
        self._tokenizer.no_padding()
        rows = [list(e.ids) for e in self._tokenizer.encode_batch(list(texts))]
        return rows if mark is None else [[*row[:1], mark, *row[1:]] for row in rows]
