"""Readers: a question with the passages shown in, an answer with the passages it rests on out."""
