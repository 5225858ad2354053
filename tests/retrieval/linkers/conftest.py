"""Two men called Ono, a film, and what is known of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.corpus.page_names import Named
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query

TITLES = {"w:1": "Ken Ono", "w:2": "Ken Ono (painter)", "w:3": "Jane Roe", "w:4": "Her (film)"}


def about(page: str) -> tuple[Output, ...]:
    return (Output(answer="x", provenance=((Provenance(page=page, title=TITLES[page]),),)),)


@pytest.fixture
def onos(tmp_path: Path) -> Benchmark:
    texts = {
        "q1": ("Where was Ken Ono born?", None, "w:1"),
        "q2": ("Which style did [START_ENT] Ken Ono [END_ENT] paint in?", None, "w:2"),
        "q3": ("Did Jane Roe meet Ken Ono?", None, "w:3"),
        "q4": ("who is nobody at all?", None, "w:4"),
        "q5": ("Who directed it?", "Her", "w:4"),
    }
    bearers = (
        Bearer(entity="Q1", label="Ken Ono", popularity=97.0, pages=("w:1",), types=("Q5",)),
        Bearer(entity="Q2", label="Ken Ono", popularity=1.0, pages=("w:2",), types=("Q5",)),
    )
    return save_benchmark(
        tmp_path / "onos",
        name="onos",
        queries=[
            Query(id=i, task="qa", input=text, mention=mention, outputs=about(gold))
            for i, (text, mention, gold) in texts.items()
        ],
        passages=[
            Passage(id=f"{page}#0", page=page, title=title, text="text") for page, title in TITLES.items()
        ],
        names=[("w:1", Named("Ken Ono", "anchor", 97)), ("w:2", Named("Ken Ono", "anchor", 1))],
        sets=[NameSet(id="s", name="Ken Ono", bearers=bearers)],
    )
