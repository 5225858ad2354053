"""`haystack`: a Haystack retriever component, or a pipeline that ends in one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, UsageError
from whichone.retrieval.adapters.adapted import Adapted, missing, user_object
from whichone.retrieval.adapters.ids import Hit

_QUESTION_INPUTS = ("query", "text")


class Haystack(Adapted):
    """Runs a Haystack component or pipeline and takes the documents that come out.

    A component gets the question as `query`; a pipeline at every open input called query or text
    that must be filled, and k at every open `top_k`.
    """

    def __init__(self, corpus: Corpus, asked: Any, *, ids: str = "passage") -> None:
        super().__init__(corpus, ids=ids)
        try:
            from haystack import Pipeline
        except ImportError as error:
            raise missing("haystack-ai", error) from error
        if not callable(getattr(asked, "run", None)):
            raise UsageError(
                f"a Haystack component or pipeline is wanted, not {type(asked).__name__}"
            )
        self._asked = asked
        self._pipeline = isinstance(asked, Pipeline)

    @classmethod
    def over(
        cls, corpus: Corpus, work: Path, *, make: Any = None, ids: str = "passage"
    ) -> Haystack:
        os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")  # an evaluation reports nobody
        return cls(corpus, user_object(make, corpus, "haystack"), ids=ids)

    def describe(self) -> dict[str, Any]:
        kind = type(self._asked).__name__
        return {**super().describe(), "retriever": "haystack", "class": kind}

    def hits(self, texts: list[str], k: int) -> list[list[Hit]]:
        return [[_hit(d) for d in self._documents(text, k)] for text in texts]

    def _documents(self, text: str, k: int) -> list[Any]:
        if self._pipeline:
            output = self._asked.run(self._inputs(text, k))
            ends = [o["documents"] for o in output.values() if "documents" in o]
        else:
            output = self._asked.run(query=text, top_k=k)
            ends = [output["documents"]] if "documents" in output else []
        if len(ends) != 1:
            raise BadInput(
                f"{len(ends)} outputs called documents came back, one is expected",
                hint="let one component at the end give the documents",
            )
        return list(ends[0])

    def _inputs(self, text: str, k: int) -> Mapping[str, dict[str, Any]]:
        filled: dict[str, dict[str, Any]] = {}
        for component, sockets in self._asked.inputs().items():
            for name, socket in sockets.items():
                if name in _QUESTION_INPUTS and socket["is_mandatory"]:
                    filled.setdefault(component, {})[name] = text
                elif name == "top_k":
                    filled.setdefault(component, {})[name] = k
        return filled


def _hit(document: Any) -> Hit:
    return Hit(str(document.id), document.score, document.meta)
