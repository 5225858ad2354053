"""Published question files over a corpus of one's own, as a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.benchmarks.gold import check_gold
from whichone.corpus.passage_files import PassageFields, read_passages, sets_from_titles
from whichone.errors import BadInput
from whichone.files.folder import file_hash
from whichone.names import title_key
from whichone.records import NameSet, Passage, Provenance, Query
from whichone.text.drqa import decomposed, is_sublist, tokens

SOURCE = "corpus"


class _Titles:
    """The pages of a corpus by what their titles name."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages: dict[str, list[Passage]] = {}
        self.titles: dict[str, str] = {}
        self.pages: dict[str, list[str]] = {}
        for passage in passages:
            if passage.page not in self.titles:
                self.titles[passage.page] = passage.title
                self.pages.setdefault(title_key(passage.title), []).append(passage.page)
            self.passages.setdefault(passage.page, []).append(passage)
        self.sets = sets_from_titles(self.titles)

    def holding(self, name: str, answers: Iterable[str]) -> list[str]:
        """Pages of that name with a passage that holds an answer (DPR's tokens)."""
        wanted = [found for answer in answers if (found := tokens(decomposed(answer)))]
        return [
            page
            for page in self.pages.get(title_key(name), ())
            if any(
                is_sublist(answer, text)
                for passage in self.passages[page]
                for text in [tokens(decomposed(passage.text))]
                for answer in wanted
            )
        ]


def import_published(
    queries: Iterable[Query],
    passages: str | Path,
    out: str | Path,
    *,
    name: str,
    files: Sequence[str | Path],
    about: str,
    passage_fields: PassageFields | None = None,
) -> Benchmark:
    """Write the benchmark. Gold is what the file says; else the pages of the name that hold an answer."""
    fields = passage_fields or PassageFields()
    held = list(read_passages(passages, fields, SOURCE))
    if not held:
        raise BadInput("there are no passages", file=passages)
    corpus = _Titles(held)
    placed = [_placed(query, corpus) for query in queries]
    gold = check_gold(placed, corpus.titles, passages)
    without = sum(not query.attributes["gold_in_corpus"] for query in placed)
    shared = sum(bool(query.attributes["shared_name"]) for query in placed)
    return save_benchmark(
        out,
        name=name,
        queries=placed,
        passages=held,
        sets=corpus.sets.values(),
        card=_card(name, about, placed, held, shared, without),
        parameters={"passage_fields": msgspec.to_builtins(fields), "source": SOURCE},
        sources=[
            {"file": Path(p).name, "sha256": file_hash(Path(p))}
            for p in (*files, passages)
            if Path(p).is_file()
        ],
        counts={"passages": len(held), "shared_names": shared, **gold},
    )


def _placed(query: Query, corpus: _Titles) -> Query:
    """The query with its gold pages, its name set and what is known of both."""
    gold = sorted(query.gold_pages())
    attributes: dict[str, Any] = dict(query.attributes)
    if gold:
        outputs = query.outputs
    else:
        pages = corpus.holding(query.name, query.answers()) if query.name else []
        gold = sorted(pages)
        evidence = tuple((Provenance(page=p, title=corpus.titles[p]),) for p in gold)
        outputs = tuple(
            msgspec.structs.replace(output, provenance=evidence) for output in query.outputs
        )
        attributes["gold_rule"] = "a page of the name that holds an answer"
    found = [page for page in gold if page in corpus.titles]
    name_set = _name_set(query, found, corpus)
    attributes["shared_name"] = name_set is not None
    attributes["gold_in_corpus"] = bool(found)
    return msgspec.structs.replace(
        query,
        outputs=outputs,
        name_set=name_set.id if name_set else None,
        attributes=attributes,
    )


def _name_set(query: Query, gold: list[str], corpus: _Titles) -> NameSet | None:
    for title in (*(corpus.titles[page] for page in gold), query.name or ""):
        if title and (found := corpus.sets.get(title_key(title))):
            return found
    return None


def _card(
    name: str,
    about: str,
    queries: Sequence[Query],
    held: Sequence[Passage],
    shared: int,
    without: int,
) -> str:
    return (
        f"# {name}\n\n{about} {len(queries):,} questions over {len(held):,} passages.\n\n"
        f"{shared:,} questions are about a name that several pages of the corpus share: titles equal "
        f"once parentheses are removed, case is folded and HTML entities are decoded. {without:,} have "
        "no gold page in the corpus.\n\nLicence and attribution: those of the files.\n"
    )
