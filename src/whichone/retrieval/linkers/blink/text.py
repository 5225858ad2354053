"""Mentions in context and entities as BLINK's models read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whichone.records import Record

START, END, TITLE = "[unused0]", "[unused1]", "[unused2]"
CONTEXT, ENTITY = 32, 128
"""Tokens of a context and of an entity, as in the released models."""


class MentionText(Record, frozen=True):
    """A mention with the text before and behind it."""

    left: str
    mention: str
    right: str


class BlinkText:
    """Texts to token ids of a fixed length."""

    def __init__(self, tokenizer: Any, context: int = CONTEXT, entity: int = ENTITY) -> None:
        self.tokenizer, self.context, self.entity = tokenizer, context, entity
        self.marks = [tokenizer.convert_tokens_to_ids(mark) for mark in (START, END, TITLE)]
        self.pad = int(tokenizer.pad_token_id or 0)
        self._first, self._last = tokenizer.cls_token_id, tokenizer.sep_token_id

    @staticmethod
    def with_marks(tokenizer: Any) -> int:
        """Add the marks to a tokenizer that has none (BERT's own has them); how many were added."""
        words = tokenizer.get_vocab()
        missing = [mark for mark in (START, END, TITLE) if mark not in words]
        return (
            int(tokenizer.add_special_tokens({"additional_special_tokens": missing}))
            if missing
            else 0
        )

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    def mention_ids(self, mention: MentionText) -> list[int]:
        """Context around the mention, each side with half of what is left; what one side spares, the other has."""
        marked = [self.marks[0], *self._ids(mention.mention)[: self.context - 4], self.marks[1]]
        left, right = self._ids(mention.left), self._ids(mention.right)
        room = self.context - 2 - len(marked)
        before = min(len(left), max(room // 2, room - len(right)))
        after = min(len(right), room - before)
        inner = [*left[len(left) - before :], *marked, *right[:after]]
        return self._padded([self._first, *inner, self._last], self.context)

    def entity_ids(self, title: str, text: str) -> list[int]:
        return self.entities_ids([title], [text])[0]

    def entities_ids(self, titles: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
        """Of many at once, which the tokenizer does several times as fast."""
        read = [
            self.tokenizer(list(part), add_special_tokens=False, verbose=False)["input_ids"]
            for part in (titles, texts)
        ]
        return [self._entity(title, text) for title, text in zip(*read, strict=True)]

    def _entity(self, title: list[int], text: list[int]) -> list[int]:
        inner = [*title, self.marks[2], *text][: self.entity - 2]
        return self._padded([self._first, *inner, self._last], self.entity)

    def _padded(self, ids: list[int], length: int) -> list[int]:
        return [*ids, *[self.pad] * (length - len(ids))]
