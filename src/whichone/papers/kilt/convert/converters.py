"""The converters by the name of their dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from whichone.papers.kilt.convert.entity_linking import (
    convert_aida,
    convert_elevant,
    convert_wned,
)
from whichone.papers.kilt.convert.fever import convert_fever
from whichone.papers.kilt.convert.nq import convert_nq
from whichone.papers.kilt.convert.original import Original
from whichone.papers.kilt.convert.questions import (
    convert_eli5,
    convert_hotpotqa,
    convert_triviaqa,
)
from whichone.papers.kilt.convert.trex import convert_trex
from whichone.papers.kilt.convert.wow import convert_wow
from whichone.papers.kilt.convert.zsre import convert_zsre
from whichone.papers.kilt.mapping.evidence import TaskRecord

CONVERTERS: dict[str, Callable[[Original], Iterator[TaskRecord]]] = {
    "fever": convert_fever,
    "aidayago2": convert_aida,
    "wned": convert_wned,
    "cweb": convert_wned,
    "trex": convert_trex,
    "structured_zeroshot": convert_zsre,
    "nq": convert_nq,
    "hotpotqa": convert_hotpotqa,
    "triviaqa": convert_triviaqa,
    "eli5": convert_eli5,
    "wow": convert_wow,
    "elevant": convert_elevant,
}
