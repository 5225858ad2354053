"""Small benchmarks whose every page is known."""

from few_pages import colours, small

__all__ = ["colours", "small"]
