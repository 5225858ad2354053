"""A small corpus in which names are shared by people, films, songs and places."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.corpus.page_names import Named
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query

PAGES = {
    "Dark River (1990 film)": "Dark River is a 1990 film directed by Malcolm Taylor about a clergyman.",
    "Dark River (song)": "Dark River is a song recorded by the band Coffinshakers, released in 1998.",
    "John Bell (surgeon)": "John Bell (1763–1820) was a Scottish anatomist. He was born in Edinburgh.",
    "John Bell (bishop)": "John Bell (died 1556) was a Bishop of Worcester who served King Henry VIII.",
    "Edinburgh": "Edinburgh is the capital city of Scotland. Many surgeons studied there.",
    "Raymond, Maine": "Raymond is a town in Cumberland County, Maine, United States.",
    "Raymond (film)": "Raymond is a 1999 film.",
    "Her": "Her is a 2013 film about a man who falls in love with a voice.",
    "Grey's Anatomy": "Grey's Anatomy is a television series created by Shonda Rhimes.",
    "Grey's Anatomy (season 8)": "The eighth season of Grey's Anatomy aired on the network.",
    "Music": "Music is the arrangement of sound to create form and harmony.",
    "Daryl Hall": "Daryl Hall (born 1946) is an American rock singer and musician.",
    "Gerry Marsden": "Gerry Marsden (1942–2021) was an English singer with the Pacemakers.",
}


def page(title: str) -> str:
    return f"t:{title}"


def query(number: int, text: str, gold: str) -> Query:
    output = Output(provenance=((Provenance(page=page(gold)),),))
    return Query(id=f"q{number}", task="qa", input=text, outputs=(output,))


QUERIES = [
    query(0, "Who was the director of Dark River?", "Dark River (1990 film)"),
    query(1, "Who performed Dark River?", "Dark River (song)"),
    query(2, "In what city was John Bell born?", "John Bell (surgeon)"),
    query(3, "Are Daryl Hall and Gerry Marsden both musicians?", "Daryl Hall"),
    query(4, "Which town has many surgeons?", "Edinburgh"),
    query(5, "Who was Grey's Anatomy created by?", "Grey's Anatomy"),
    query(6, "Where did the old physician study?", "John Bell (surgeon)"),
]


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    passages = [
        Passage(id=f"{page(title)}#0", page=page(title), title=title, text=text)
        for title, text in PAGES.items()
    ]
    sets = [
        NameSet(
            id="s",
            name="the old physician",
            bearers=(
                Bearer(entity="e1", pages=(page("John Bell (surgeon)"),), popularity=10.0),
                Bearer(entity="e2", pages=("t:not in the corpus",)),
            ),
        ),
        NameSet(
            id="bell",
            name="John Bell",
            bearers=(
                Bearer(entity="e3", pages=(page("John Bell (bishop)"),), popularity=10_000.0),
                Bearer(entity="e1", pages=(page("John Bell (surgeon)"),), popularity=10.0),
            ),
        ),
    ]
    return save_benchmark(
        tmp_path / "benchmark",
        name="small",
        queries=QUERIES,
        passages=passages,
        names=[(page("John Bell (surgeon)"), Named("the old physician", "redirect"))],
        sets=sets,
    )
