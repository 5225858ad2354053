"""The retriever that knows about namesakes."""

from whichone.retrieval.namesake.retriever import NamesakeRetriever
from whichone.retrieval.namesake.weights import NamesakeParameters

__all__ = ["NamesakeParameters", "NamesakeRetriever"]
