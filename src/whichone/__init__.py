"""Does your retriever know which one you mean?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whichone.api import Result, compare, evaluate
    from whichone.benchmarks.benchmark import Benchmark
    from whichone.corpus.corpus import Corpus
    from whichone.knowledge.knowledge_base import KnowledgeBase
    from whichone.measures.intervals import interval
    from whichone.namesake import Namesake
    from whichone.papers.kilt.evaluate import score_kilt
    from whichone.records import Answer, Ask, Refuse
    from whichone.runs.run import Run

__all__ = [
    "Answer",
    "Ask",
    "Benchmark",
    "Corpus",
    "KnowledgeBase",
    "Namesake",
    "Refuse",
    "Result",
    "Run",
    "__version__",
    "compare",
    "evaluate",
    "interval",
    "score_kilt",
]
__version__ = "0.2.0"

_PLACES = {
    "Answer": "whichone.records",
    "Ask": "whichone.records",
    "Benchmark": "whichone.benchmarks.benchmark",
    "Corpus": "whichone.corpus.corpus",
    "KnowledgeBase": "whichone.knowledge.knowledge_base",
    "Namesake": "whichone.namesake",
    "Refuse": "whichone.records",
    "Result": "whichone.api",
    "Run": "whichone.runs.run",
    "compare": "whichone.api",
    "evaluate": "whichone.api",
    "interval": "whichone.measures.intervals",
    "score_kilt": "whichone.papers.kilt.evaluate",
}


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used, so that `import whichone` stays light."""
    if name in _PLACES:
        import importlib

        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'whichone' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
