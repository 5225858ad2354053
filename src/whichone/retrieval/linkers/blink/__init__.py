"""BLINK (Wu et al., EMNLP 2020): a bi-encoder over mentions and entities, then a cross-encoder over the best."""

from whichone.retrieval.linkers.blink.retriever import Blink

__all__ = ["Blink"]
