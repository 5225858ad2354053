"""Worlds: the built-in one and invented ones, written in the formats of the real dumps."""
