"""The retriever that knows about namesakes.

To be read in this order: `retriever`, `questions_asked` (one question), `asking` (what to ask back), `question_names` and `spelling` (its
names), `denials`, `pool` (candidates), `evidence`, `weights` and `knowledge_evidence` (what speaks for each), `sentences` (models); then the index:
`snapshot`, `lexical`, `updates`; what users give is read by `corpus.given`.
"""

from whichone.retrieval.namesake.retriever import NamesakeRetriever
from whichone.retrieval.namesake.weights import NamesakeParameters

__all__ = ["NamesakeParameters", "NamesakeRetriever"]
