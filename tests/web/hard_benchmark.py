"""Names that pages find hard: right to left, very long, hostile, alike, and three thousand of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query

HARD = (
    "محمد علي",
    "יוסי כהן",
    "Kim‮evil‬",
    "<img src=x onerror=alert(1)>",
    "'\"><script>alert(2)</script>",
    '=HYPERLINK("http://x")',
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 3,
    "A very long name of a very long film about a man who " + "walked and " * 30 + "came home",
    "王伟",
    "👩‍👩‍👧‍👦 Familie",
    "{{ 7 * 7 }}",
    "a/b?c=d&e=f#g",
)
WORDINGS = ("by fact", "by type", "by a description that is long enough to need two lines on a phone")


def _names(count: int) -> Iterator[str]:
    yield from HARD
    yield from (f"Name {n:04}" for n in range(len(HARD), count))


def hard_benchmark(path: Path, count: int = 3000, roles: bool = True) -> Benchmark:
    """Two bearers a name and a question about each, worded in three ways; without `roles` nobody is known to be more popular."""
    sets, queries, passages = [], [], []
    for s, name in enumerate(_names(count)):
        bearers = []
        for b, place in enumerate(("Ürümqi", "تهران")):
            page = f"hard:{s}-{b}"
            role = ("head", "tail")[b] if roles else None
            text = f"{name} was born in {place}. " + ("word " * 80 if s < len(HARD) else "")
            passages.append(Passage(id=f"{page}#0", page=page, title=f"{name} ({place})", text=text))
            known = Bearer(
                entity=f"Q{s}{b}", label=f"{name} ({place})", role=role, pages=(page,),
                popularity=10.0 ** (6 - 3 * b) if roles else None,
            )  # fmt: skip
            bearers.append(known)
            output = Output(answer=place, provenance=((Provenance(page=page),),))
            queries.append(
                Query(
                    id=f"h{s}-{b}", task="qa", input=f"Where was {name} born, {place[0]} or elsewhere?",
                    outputs=(output,), name=name, name_set=f"s{s}", role=role, relation="P19",
                    entity=known.entity,
                    attributes={"collection": "hard", "property_label": "place of birth",
                                "wording": WORDINGS[s % 3]},
                )
            )  # fmt: skip
        sets.append(NameSet(id=f"s{s}", name=name, collection="hard", bearers=tuple(bearers)))
    return save_benchmark(
        path, name="names that are hard to show", queries=queries, sets=sets, passages=passages,
        card="Hard.",
    )  # fmt: skip
