"""Invented T-REx, Zero Shot RE and FEVER of any number of records, about the same pages whatever their number."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from invented import calling, title, word

RELATIONS = 120
FREQUENT = 20
"""Relations of T-REx, which leaves out those with fewer than 1,000 facts."""
STEP = 7_919
OTHERS = 4
"""Pages of FEVER's Wikipedia that no claim refers to, for each one that does."""


def sentence(page: int, pages: int) -> str:
    return f"{title(page, pages)} is a {calling(page)} from {word(page)}."


def write(file: Path, lines: Iterable[str]) -> Path:
    if not file.exists():
        with file.open("w") as out:
            out.writelines(line + "\n" for line in lines)
    return file


def need_trex(place: Path, records: int, pages: int) -> Path:
    """A subject and relation a record, with one object that two sentences state."""
    return write(place / f"trex-{records}.json", trex_lines(records, pages))


def trex_lines(records: int, pages: int) -> Iterator[str]:
    """Documents with ten triples in two sentences; a fact is in two documents that are far apart."""
    for start in range(0, 2 * records, 10):
        numbers = [n % records for n in range(start, min(start + 10, 2 * records))]
        page = start * STEP % pages
        first, second = sentence(page, pages), f"In {word(page)} lived {title(page, pages)}."
        document = {
            "title": title(page, pages),
            "text": f"{first} {second}",
            "sentences_boundaries": [[0, len(first)], [len(first) + 1, len(first + second) + 1]],
            "triples": [
                {
                    "subject": mention(f"Q{n // 3}", word(n // 3)),
                    "predicate": mention(f"P{n % FREQUENT}", None),
                    "object": mention(f"Q{n * STEP % records}", word(n * STEP % records)),
                    "sentence_id": n % 2,
                }
                for n in numbers
            ],
        }
        yield json.dumps(document)


def mention(key: str, surface: str | None) -> dict[str, str | None]:
    return {"uri": f"http://www.wikidata.org/entity/{key}", "surfaceform": surface}


def need_zsre(place: Path, records: int, pages: int) -> Path:
    """Two questions a record, far apart; not more records than pages and relations."""
    assert records <= pages * RELATIONS
    return write(place / f"zsre-{records}.tsv", zsre_lines(records, pages))


def zsre_lines(records: int, pages: int) -> Iterator[str]:
    for asked in ("What is XXX known for?", "What was XXX?"):
        for n in range(records):
            page, relation = n * STEP % pages, f"relation {(n + n // pages) % RELATIONS}"
            fields = relation, asked, title(page, pages), sentence(page, pages), calling(page)
            yield "\t".join(fields)


def need_fever(place: Path, records: int, pages: int) -> tuple[Path, Path]:
    """Claims, and FEVER's Wikipedia: a claim has a sentence of a known page and one of a page of its own."""
    wiki = place / f"wiki-pages-{records}"
    wiki.mkdir(exist_ok=True)
    write(wiki / "wiki-001.jsonl", fever_pages(records, pages))
    return write(place / f"fever-{records}.jsonl", fever_claims(records, pages)), wiki


def fever_claims(records: int, pages: int) -> Iterator[str]:
    for n in range(records):
        page = n * STEP % pages
        sets = [[[n, n, escaped(title(page, pages)), 0]], [[n, n, f"Own_{n}", 1]]]
        record = {"id": n, "label": "SUPPORTS", "claim": sentence(page, pages), "evidence": sets}
        yield json.dumps(record)


def fever_pages(records: int, pages: int) -> Iterator[str]:
    def page(name: str, text: str) -> str:
        lines = f"0\t{text}\tlink\n1\tAnother sentence about {name}.\n2\t"
        return json.dumps({"id": name, "text": text, "lines": lines})

    for n in range(pages):
        yield page(escaped(title(n, pages)), sentence(n, pages))
    for n in range(records * (1 + OTHERS)):
        name = f"Own_{n}" if n < records else f"Other_{n}"
        yield page(name, f"{name} is a {calling(n)} from {word(n)}.")


def escaped(called: str) -> str:
    return called.replace("(", "-LRB-").replace(")", "-RRB-").replace(" ", "_")
