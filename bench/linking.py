"""The knowledge base of real pages that BLINK can be trained and tried on: pages, hyperlinks, linking sets.

    python bench/linking.py SHARED WORK

SHARED has `wikipedia-48k` (passages with titles), two cuts of Wikipedia's XML dump and Elevant's linking sets. Written into WORK:
`source.jsonl`, the passages as pages in KILT's layout, with the Wikidata ids of pages that the linking sets name by their label, and
`en.wiki.xml`, the second cut without the pages of the first. Then:

    whichone ingest --pages WORK/source.jsonl --pages enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2 --pages WORK/en.wiki.xml KB
    whichone corpus KB CORPUS
    whichone export KB links --format kilt-el
    whichone map kore50.benchmark.jsonl.gz KB kore50.jsonl --original elevant --task el
    whichone import kilt kore50.jsonl KORE50 --task el --corpus CORPUS
    whichone train linker links OUT --corpus CORPUS --checkpoint BERT --held-out links/blink-dev-kilt.jsonl --epochs 3 --cross-epochs 2 --cross-batch 8 --learning-rate 5e-5
    whichone retrieve KORE50 RUN --retriever blink -o model=FOLDER -k 20
    whichone score RUN --measures acc@1,acc@20
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measured import parsed

FIRST = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
SECOND = "en.wiki.xml.bz2"
OTHERS = {"Q1148740", "Q371938", "Q7569089", "Q31305", "Q49111", "Q63537266"}
"""Entities whose label is the title of another one's page, by hand: Q49111 is Cambridge in Massachusetts."""
MADE_UP = 900_000_000
"""Page ids from here on are ours: the passages do not say them."""


def records(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def dump_pages(file: Path) -> tuple[str, set[str], set[str]]:
    """A dump's text with the ids and the titles of its pages."""
    text = bz2.decompress(file.read_bytes()).decode()
    pages = re.findall(r"<page>(.*?)</page>", text, re.DOTALL)
    ids = {m[1] for page in pages if (m := re.search(r"<id>(\d+)</id>", page))}
    return text, ids, {m[1] for page in pages if (m := re.search(r"<title>(.*?)</title>", page))}


def entity_ids(folder: Path) -> dict[str, str]:
    """Wikidata ids by label, of what the linking sets mention."""
    found: dict[str, str] = {}
    for file in sorted(folder.glob("*.jsonl.gz")):
        for record in records(file):
            for label in record["labels"]:
                entity = str(label["entity_id"])
                if entity.startswith("Q") and entity not in OTHERS:
                    found.setdefault(label["name"], entity)
    return found


def write_source(shared: Path, out: Path, known: set[str]) -> int:
    """The passages as pages; those that the dumps have are left to them."""
    texts: dict[str, list[str]] = {}
    given: dict[str, str] = {}
    for passage in records(shared / "wikipedia-48k" / "passages.jsonl.gz"):
        texts.setdefault(passage["title"], []).append(passage["text"])
        if passage.get("wikipedia_id"):
            given.setdefault(passage["title"], str(passage["wikipedia_id"]))
    entities, used, count = entity_ids(shared / "entity-linking"), set(known), 0
    with out.open("w", encoding="utf-8") as file:
        for number, (title, paragraphs) in enumerate(texts.items()):
            page = given.get(title, "")
            if title in known or page in known:
                continue
            if not page or page in used:
                page = str(MADE_UP + number)
            used.add(page)
            entity = {"wikidata_id": entities[title]} if title in entities else {}
            record = {
                "_id": page, "wikipedia_id": page, "wikipedia_title": title, "anchors": [],
                "text": [f"{title}\n", *(f"{text}\n" for text in paragraphs)],
                "categories": "", "wikidata_info": entity,
            }  # fmt: skip
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("shared", type=Path)
    parser.add_argument("work", type=Path)
    options = parsed(parser, small="{shared}/data {place}")
    options.work.mkdir(parents=True, exist_ok=True)
    dumps = options.shared / "dumps"
    _, first, titles = dump_pages(dumps / FIRST)
    text, second, more = dump_pages(dumps / SECOND)

    def kept(page: re.Match[str]) -> str:
        number = re.search(r"<id>(\d+)</id>", page[0])
        return "" if number and number[1] in first else page[0]

    rest = re.sub(r"\s*<page>.*?</page>", kept, text, flags=re.DOTALL)
    (options.work / "en.wiki.xml").write_text(rest, encoding="utf-8")
    count = write_source(options.shared, options.work / "source.jsonl", first | second | titles | more)
    print(f"{count:,} pages of passages, {len(first | second):,} of dumps")


if __name__ == "__main__":
    main()
