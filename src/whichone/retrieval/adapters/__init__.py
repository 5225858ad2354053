"""Anybody's own search behind the one protocol: libraries, services and stores, each loaded on use."""
