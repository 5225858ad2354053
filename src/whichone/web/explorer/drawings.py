"""The explorer's figures as SVG: drawn with attributes only, as its security policy wants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from whichone.report.page import shortened

_WIDTH, _ROW = 360, 40
_BAR = 290
"""Narrow enough to be read on a phone without being made smaller."""


def popularity_bars(bearers: Sequence[Mapping[str, object]]) -> Markup:
    """The bearers' popularity below each other on a log scale, head in its own colour."""
    numbers = [float(str(b["popularity"])) if b["popularity"] else 0.0 for b in bearers]
    decades = max(1, math.ceil(math.log10(max([*numbers, 1.0]))))
    height = _ROW * len(bearers) + 24
    parts = [
        (
            f'<svg class="figure" role="img" viewBox="0 0 {_WIDTH} {height}" '
            'aria-label="Popularity of the bearers on a log scale">'
        )
    ]
    for decade in range(decades + 1):
        x = _BAR * decade / decades
        anchor = "start" if decade == 0 else "middle"
        parts.append(f'<line class="grid" x1="{x:.0f}" y1="4" x2="{x:.0f}" y2="{height - 20}"/>')
        parts.append(f'<text class="tick" x="{x:.0f}" y="{height - 6}" text-anchor="{anchor}">{_power(decade)}</text>')  # fmt: skip
    for row, (bearer, number) in enumerate(zip(bearers, numbers, strict=True)):
        y = 2 + _ROW * row
        width = max(2.0, _BAR * math.log10(max(number, 1.0)) / decades)
        role = "head" if bearer.get("role") == "head" else "tail"
        shown = f"{number:,.0f}" if bearer["popularity"] is not None else "unknown"
        label = shortened(str(bearer["label"]))
        parts.append(f'<text class="label" x="0" y="{y + 12}">{escape(label)}</text>')
        parts.append(f'<rect class="{role}" x="0" y="{y + 16}" width="{width:.1f}" height="16"/>')
        parts.append(f'<text class="label" x="{width + 5:.1f}" y="{y + 29}">{shown}</text>')
    return Markup("".join([*parts, "</svg>"]))


OUTCOMES = (
    ("right", "right", "✓"),
    ("confused", "a namesake's", "✗"),
    ("later", "something else", "–"),
    ("missing", "not found", "∅"),
)
"""What becomes of a query: its key, its words and its sign."""


def outcome_bar(counts: Mapping[str, int], name: str) -> Markup:
    """One system's queries as a bar of four parts, each with its share inside where it fits."""
    total = max(1, sum(counts[key] for key, _, _ in OUTCOMES))
    said = ", ".join(f"{counts[key]:,} {words}" for key, words, _ in OUTCOMES if counts[key])
    parts = [f'<svg class="outcomes" role="img" viewBox="0 0 400 22" preserveAspectRatio="none" aria-label="{escape(name)}: {said}">']  # fmt: skip
    x = 0.0
    for key, words, _ in OUTCOMES:
        if not counts[key]:
            continue
        width = 400 * counts[key] / total
        parts.append(
            f'<rect class="is-{key}" x="{x:.1f}" y="0" width="{width:.1f}" height="22">'
            f"<title>{words}: {counts[key]:,}</title></rect>"
        )
        x += width
    return Markup("".join([*parts, "</svg>"]))


def interval_bar(value: float, low: float | None, high: float | None) -> Markup:
    """A figure between 0 and 1 as a dot with its interval."""
    parts = ['<svg class="interval" viewBox="0 0 120 16" aria-hidden="true"><line class="grid" x1="4" y1="8" x2="116" y2="8"/>']  # fmt: skip
    place = [4 + 112 * min(1.0, max(0.0, v)) for v in (value, low or value, high or value)]
    parts.append(f'<line class="spread" x1="{place[1]:.1f}" y1="8" x2="{place[2]:.1f}" y2="8"/>')
    parts.append(f'<circle class="dot" cx="{place[0]:.1f}" cy="8" r="3"/></svg>')
    return Markup("".join(parts))


def _power(decade: int) -> str:
    if decade < 3:
        return str(10**decade)
    return f"{10 ** (decade % 3)}{('', 'k', 'M', 'G', 'T')[min(decade // 3, 4)]}"


def agreement_bar(counts: Mapping[str, int], first: str, second: str) -> Markup:
    """Two systems' queries as one bar: both right, only one, neither."""
    total = max(1, sum(counts.values()))
    names = {
        "both": "both right", "only_first": f"only {first}", "only_second": f"only {second}",
        "neither": "neither",
    }  # fmt: skip
    parts = [
        (
            f'<svg class="figure" role="img" viewBox="0 0 {_WIDTH} {34 + 20 * len(names)}" '
            'aria-label="How many queries both, one or none of the two systems get right">'
        )
    ]
    x = 0.0
    for row, (key, name) in enumerate(names.items()):
        width = _WIDTH * counts[key] / total
        y = 34 + 20 * row
        parts.append(
            f'<rect class="part-{key}" x="{x:.1f}" y="2" width="{width:.1f}" height="24"/>'
        )
        parts.append(f'<rect class="part-{key}" x="0" y="{y}" width="13" height="13"/>')
        parts.append(f'<text class="label" x="20" y="{y + 11}">{escape(name[:40])}: {counts[key]:,}</text>')  # fmt: skip
        x += width
    return Markup("".join([*parts, "</svg>"]))
