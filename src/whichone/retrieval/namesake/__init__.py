"""The retriever that knows about namesakes."""

from whichone.retrieval.namesake.parameters import NamesakeParameters
from whichone.retrieval.namesake.retriever import NamesakeRetriever

__all__ = ["NamesakeParameters", "NamesakeRetriever"]
