"""A scripted server, small worlds and a cache of their own."""

from answering import own_cache, serve, toy, toy_ambigdocs

__all__ = ["own_cache", "serve", "toy", "toy_ambigdocs"]
