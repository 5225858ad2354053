"""T-REx files: which facts are stated by a sentence of Wikipedia."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from whichone.files.json_records import array_records

Triple = tuple[str, str, str]


class _Mention(msgspec.Struct):
    uri: str | None = None


class _Aligned(msgspec.Struct):
    subject: _Mention
    predicate: _Mention
    object: _Mention


class _Document(msgspec.Struct):
    triples: list[_Aligned]


def read_triples(paths: Iterable[str | Path]) -> set[Triple]:
    """Subject, property and object ids of every triple that is aligned with a sentence."""
    return {
        triple
        for path in paths
        for document in array_records(path, _Document)
        for aligned in document.triples
        if (triple := _triple(aligned))
    }


def _triple(aligned: _Aligned) -> Triple | None:
    ids = [_identifier(m.uri) for m in (aligned.subject, aligned.predicate, aligned.object)]
    subject, predicate, value = ids
    return (subject, predicate, value) if subject and predicate and value else None


def _identifier(uri: str | None) -> str | None:
    """`Q42` of `http://www.wikidata.org/entity/Q42`; dates and numbers have none."""
    last = uri.rpartition("/")[2] if uri else ""
    return last if last[:1] in ("Q", "P") and last[1:].isdigit() else None
