"""Figures by matplotlib, as SVG, PDF and PNG with the same bytes for the same data."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from whichone.errors import missing_extra

HEAD, TAIL, GREY, PALE = "#b2182b", "#2166ac", "#8c8c8c", "#c9c9c9"
PALETTE = ("#1b6ca8", "#c1666b", "#4f9d69", "#8e6c8a", "#d9a441", "#5b5b5b")


@dataclass(frozen=True)
class Figure:
    """One figure in three formats, with a title and a note that says what it shows."""

    key: str
    title: str
    svg: str
    pdf: bytes
    png: bytes
    note: str = ""


def shortened(text: str, most: int = 42) -> str:
    """A text that fits into a figure; its end, where bearers of one name differ, is kept."""
    if len(text) <= most:
        return text
    end = most // 2
    return f"{text[: most - end - 3].rstrip()} … {text[-end:].lstrip()}"


@contextmanager
def drawing(
    rows: int = 1, columns: int = 1, size: tuple[float, float] = (6.4, 3.6)
) -> Iterator[Any]:
    """Matplotlib axes without a display and without a date in the files."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise missing_extra("matplotlib", "figures") from None
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    with mpl.rc_context(
        {
            "svg.hashsalt": "whichone",
            "svg.fonttype": "none",
            "pdf.fonttype": 42,  # TrueType: submission systems refuse Type 3
            "ps.fonttype": 42,
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "figure.constrained_layout.use": True,
            "font.family": "DejaVu Sans",
        }
    ):
        figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False)
        try:
            yield figure, axes
        finally:
            plt.close(figure)


def finish(figure: Any, key: str, title: str, note: str = "") -> Figure:
    """Save a drawn figure in all formats."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    svg, pdf, png = io.StringIO(), io.BytesIO(), io.BytesIO()
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laid out once; each format would do it again
    # not by savefig, which draws every figure twice, the first time for the layout alone
    FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None, "Creator": None})
    dates = {"CreationDate": None, "Producer": None, "Creator": None}
    FigureCanvasPdf(figure).print_pdf(pdf, metadata=dates)
    figure.set_dpi(160)
    FigureCanvasAgg(figure).print_png(png, metadata={"Software": None})
    text = svg.getvalue()
    return Figure(key, title, text[text.index("<svg") :], pdf.getvalue(), png.getvalue(), note)
