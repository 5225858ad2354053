"""The explorer's figures as SVG: drawn with attributes only, as its security policy wants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

_LABEL, _BAR, _ROW = 190, 330, 30


def popularity_bars(bearers: Sequence[Mapping[str, object]]) -> Markup:
    """The bearers' popularity side by side on a log scale, head in its own colour."""
    numbers = [float(str(b["popularity"])) if b["popularity"] else 0.0 for b in bearers]
    decades = max(1, math.ceil(math.log10(max([*numbers, 1.0]) + 1)))
    height = _ROW * len(bearers) + 34
    parts = [
        (
            f'<svg class="figure" role="img" viewBox="0 0 {_LABEL + _BAR + 90} {height}" '
            'aria-label="Popularity of the bearers on a log scale">'
        )
    ]
    for decade in range(decades + 1):
        x = _LABEL + _BAR * decade / decades
        parts.append(f'<line class="grid" x1="{x:.0f}" y1="4" x2="{x:.0f}" y2="{height - 26}"/>')
        parts.append(f'<text class="tick" x="{x:.0f}" y="{height - 8}" text-anchor="middle">{_power(decade)}</text>')  # fmt: skip
    for row, (bearer, number) in enumerate(zip(bearers, numbers, strict=True)):
        y = 8 + _ROW * row
        width = _BAR * math.log10(number + 1) / decades
        role = "head" if bearer.get("role") == "head" else "tail"
        shown = f"{number:,.0f}" if bearer["popularity"] is not None else "unknown"
        label = str(bearer["label"])
        label = label if len(label) < 28 else label[:26] + "…"
        parts.append(f'<text class="label" x="{_LABEL - 8}" y="{y + 15}" text-anchor="end">{escape(label)}</text>')  # fmt: skip
        parts.append(f'<rect class="{role}" x="{_LABEL}" y="{y}" width="{width:.1f}" height="20"/>')
        parts.append(f'<text class="label" x="{_LABEL + width + 6:.1f}" y="{y + 15}">{shown}</text>')  # fmt: skip
    return Markup("".join([*parts, "</svg>"]))


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
            '<svg class="figure" role="img" viewBox="0 0 620 92" '
            'aria-label="How many queries both, one or none of the two systems get right">'
        )
    ]
    x = 0.0
    for number, (key, name) in enumerate(names.items()):
        width = 620 * counts[key] / total
        parts.append(
            f'<rect class="part-{key}" x="{x:.1f}" y="4" width="{width:.1f}" height="28"/>'
        )
        column, row = number % 2, number // 2
        at = 310 * column
        parts.append(f'<rect class="part-{key}" x="{at}" y="{44 + 22 * row}" width="14" height="14"/>')  # fmt: skip
        parts.append(f'<text class="label" x="{at + 20}" y="{56 + 22 * row}">{escape(name[:30])}: {counts[key]:,}</text>')  # fmt: skip
        x += width
    return Markup("".join([*parts, "</svg>"]))
