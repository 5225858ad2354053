"""Whole experiments from one file: benchmarks x retrievers x readers x settings, cell by cell."""
