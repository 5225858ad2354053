"""Everything that changes what `namesake` answers."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Weight = Annotated[float, msgspec.Meta(ge=0)]


class NamesakeParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of the retriever; the weights were set once, on half of the names of one corpus.

    `encoder` is a folder, a model's name, an installed package, "auto" (the first known package that
    is installed) or "none". `encode` says what it reads: only the sentences of pages whose name is
    shared, or "all" passages of the corpus. `knowledge` is a knowledge base for further names and
    facts. `pool` is how many results of ordinary retrieval are weighed beside the bearers.
    """

    encoder: str = "auto"
    encode: Literal["bearers", "all"] = "bearers"
    knowledge: str | None = None
    pool: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 50
    device: str | None = None

    # among all pages: is this the page the question is about?
    named: Weight = 3.0
    """The page bears a name that stands whole in the question."""
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

    # among the bearers of one name: which one is meant?
    remainder: Weight = 0.1
    """BM25 of the question without the name."""
    sentence: Weight = 5.0
    """Closeness of the question and the page's closest sentence."""
    kind: Weight = 0.5
    """The page is about a kind of thing that can be asked so."""
    other_kind: Weight = 1.0
    """Taken off when the page is about another kind of thing."""
    disambiguation: Weight = 3.0
    """Taken off a page that only lists who bears the name."""
    says: Weight = 2.0
    """The page uses words that state what is asked."""
    fact: Weight = 1.0
    """The knowledge base has a fact of the property that is asked for."""
    popularity: Weight = 0.0
    """The prior: logarithm of the bearer's popularity."""
