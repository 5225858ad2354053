"""The two sets of rules by which AmbER sets are made: the paper's and the released program's."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from whichone.errors import UsageError

TOKENS = 350
"""How much of a page counts: its first 350 tokens (paper, section 3.2)."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Every decision on which the paper and its program differ, or which one of them leaves open."""

    name: Literal["paper", "published"]
    same_name: Literal["exact", "key"]
    head_among: Literal["typed", "all"]
    gap: float = 0.10
    gap_scale: Literal["views", "log10"]
    gap_denominator: Literal["tail", "mean"]
    different_types: bool
    deprecated_facts: bool
    other_value_kinds: bool
    value_needs_views: bool
    disambiguation_pages: bool
    empty_names_match: bool
    false_value: Literal["knowledge base", "tuples"]
    extra_answers: bool
    wording: Literal["clean", "published"]
    """How it is asked: in clean English, or with the mistakes of the released templates."""
    tokens: int = TOKENS
    min_name_share: float = 0.0
    """The share of links to a bearer that must use the name; the paper takes every alias."""


PAPER = Rules(
    name="paper",
    same_name="key",
    head_among="typed",
    gap_scale="views",
    gap_denominator="tail",
    different_types=True,
    deprecated_facts=False,
    other_value_kinds=True,
    value_needs_views=False,
    disambiguation_pages=False,
    empty_names_match=False,
    false_value="knowledge base",
    extra_answers=False,
    wording="clean",
)
PUBLISHED = Rules(
    name="published",
    same_name="exact",
    head_among="all",
    gap_scale="log10",
    gap_denominator="mean",
    different_types=False,
    deprecated_facts=True,
    other_value_kinds=False,
    value_needs_views=True,
    disambiguation_pages=True,
    empty_names_match=True,
    false_value="tuples",
    extra_answers=True,
    wording="published",
)


def rules_called(
    name: str,
    *,
    gap: float | None = None,
    gap_scale: str | None = None,
    gap_denominator: str | None = None,
    min_name_share: float | None = None,
    wording: str | None = None,
) -> Rules:
    """One of the two sets of rules, with another gap or least share of links if one is given."""
    if name not in ("paper", "published"):
        raise UsageError(f"there are no rules called {name!r}", hint="paper or published")
    if gap is not None and not (gap >= 0 and math.isfinite(gap)):
        raise UsageError(f"--gap is a share of 0 or more, such as 0.1, not {gap}")
    if min_name_share is not None and not 0 <= min_name_share <= 1:
        raise UsageError(f"--min-name-share is between 0 and 1, not {min_name_share}")
    given = {
        "gap": gap,
        "gap_scale": gap_scale,
        "gap_denominator": gap_denominator,
        "min_name_share": min_name_share,
        "wording": wording,
    }
    rules = PAPER if name == "paper" else PUBLISHED
    return msgspec.structs.replace(rules, **{k: v for k, v in given.items() if v is not None})


def popularity_gap(rules: Rules, head: float, tail: float) -> float:
    """By how much the head is more popular than the most popular tail, as a share."""
    if rules.gap_scale == "log10":
        head, tail = _log10(head), _log10(tail)
    below = tail if rules.gap_denominator == "tail" else (head + tail) / 2
    if below == 0:
        # The released program divides by zero here; nobody has a lead over nobody.
        return 0.0 if head == tail else math.inf
    return (head - tail) / below


def _log10(views: float) -> float:
    return math.log10(views) if views > 0 else 0.0
