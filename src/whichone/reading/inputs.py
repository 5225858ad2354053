"""What a sequence-to-sequence model reads: the passages, then the question, fitted into its window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

DIALOGUE = "dialogue"
_MENTION = "[START_ENT]"
_SPECIAL = 8
"""Room for the tokens that models put around their input."""
LEAST_CONTEXT = 16


def prefixed(prefix: str, task: str, text: str) -> str:
    """The text with its prefix; `{task}` in a prefix is the task's name, by which T5 distinguishes tasks."""
    return prefix.replace("{task}", task) + text


def fitted_question(tokenizer: Any, text: str, task: str, room: int) -> str:
    """The text, cut where it is too long: around the marked mention, before the last turns, at the end."""
    tokens = _tokens(tokenizer, text)
    if len(tokens) <= room:
        return text
    if _MENTION in text:
        before, _, after = text.partition(_MENTION)
        left, right = _tokens(tokenizer, before), _tokens(tokenizer, _MENTION + after)
        ahead = min(len(right), max(room // 2, room - len(left)))
        start = left[len(left) - (room - ahead) :] if room > ahead else []
        return f"{_text(tokenizer, start)} {_text(tokenizer, right[:ahead])}".strip()
    if task == DIALOGUE:
        return _text(tokenizer, tokens[-room:])
    return _text(tokenizer, tokens[:room])


def joined_input(
    tokenizer: Any, question: str, task: str, passages: Sequence[str], window: int
) -> tuple[str, int]:
    """The passages in their order before the question (BART + DPR), and how many tokens did not fit.

    The question is never cut for the passages' sake; the last passages are.
    """
    room = window - _SPECIAL
    own = max(room // 2, room - LEAST_CONTEXT) if passages else room
    asked = fitted_question(tokenizer, question, task, own)
    left = room - len(_tokens(tokenizer, asked))
    kept, cut = [], 0
    for passage in passages:
        tokens = _tokens(tokenizer, passage)
        cut += max(0, len(tokens) - left)
        if len(tokens) <= left:
            kept.append(passage)
        elif left > 0:
            kept.append(_text(tokenizer, tokens[:left]))
        left = max(0, left - len(tokens))
    return " ".join([*kept, asked]), cut


def _tokens(tokenizer: Any, text: str) -> list[int]:
    results: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return results


def _text(tokenizer: Any, tokens: Sequence[int]) -> str:
    return str(tokenizer.decode(list(tokens), clean_up_tokenization_spaces=False))
