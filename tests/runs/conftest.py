"""Small benchmarks, a scripted server and a cache of their own."""

from answering import own_cache, serve, toy, toy_ambigdocs
from few_pages import small

__all__ = ["own_cache", "serve", "small", "toy", "toy_ambigdocs"]
