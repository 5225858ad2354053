"""DrQA's TF-IDF with hashed bigrams."""

from whichone.retrieval.tfidf.retriever import TfIdf, TfIdfParameters

__all__ = ["TfIdf", "TfIdfParameters"]
