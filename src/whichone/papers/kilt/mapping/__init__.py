"""Mapping a dataset's evidence onto a snapshot: pages, spans, and what is dropped."""
