"""Benchmarks and measures inside other people's tools."""
