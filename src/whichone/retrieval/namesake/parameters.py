"""Everything that changes what `namesake` answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from whichone.errors import UsageError, did_you_mean

Weight = Annotated[float, msgspec.Meta(ge=0)]


class NamesakeParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the retriever; the weights of the evidence are learned (`evidence.json`).

    `encoder` is a folder, a model's name, an installed package, "auto" (the first known package that
    is installed) or "none". `encode` says what it reads: only the sentences of pages whose name is
    shared, or "all" passages of the corpus. `judge` is the folder of an ONNX cross-encoder, or of a model of
    token vectors for late interaction, that reads the bearers' passages. `knowledge` is a knowledge
    base for further names and facts, `names` a file of records with further names and attributes. `pool` is
    how many results of ordinary retrieval are weighed beside the bearers.
    """

    encoder: str = "auto"
    encode: Literal["bearers", "all"] = "bearers"
    judge: str | None = None
    judged: Annotated[int, msgspec.Meta(ge=2, le=64)] = 10
    """The judge reads so many bearers of a name at most, the likeliest."""
    judge_words: Annotated[int, msgspec.Meta(ge=8, le=400)] = 120
    """The judge reads so many words of each one's passage: what it costs."""
    knowledge: str | None = None
    names: str | None = None
    pool: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 50
    device: str | None = None
    language: str = "auto"
    """Which words name kinds, relations and questions; "auto" takes what the corpus says it is in."""

    # among all pages: is this the page the question is about?
    named: Weight = 3.0
    """The page has a name that appears whole in the question."""
    alone: Weight = 1.0
    """... and nothing else in the question is written as a name."""
    share: Weight = 3.0
    """How much of the question that name is."""
    lexical: Weight = 6.0
    """BM25 of the whole question, relative to the best page; all bearers of a name share its part."""
    dense: Weight = 4.0
    """Closeness of question and passage, with encode=all."""

    subject: Weight = 2.0
    """In a claim with several names: the kind of evidence below, for which of them it is about."""

    # among the bearers of one name, beside the learned weights
    fact: Weight = 2.0
    """The knowledge base has a fact of the property that is asked for."""
    popularity: Weight = 0.0
    """The prior: logarithm of the bearer's popularity."""

    def changed_weights(self) -> dict[str, float]:
        """Weights of evidence that only some users have, and that is not learned."""
        return {"fact": self.fact, "popularity": self.popularity}

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> NamesakeParameters:
        """From options as a user writes them; a `UsageError` says which of them is wrong."""
        known = cls.__struct_fields__
        for name in options:
            if name not in known:
                raise UsageError(
                    f"`namesake` has no option {name!r}", hint=did_you_mean(name, known)
                )
        try:
            return msgspec.convert(options, cls, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"`namesake`: {error}") from None
