"""Wikipedia XML to tables: pages a second on one core, beside the wikitext parser alone.

    python bench/wikipedia.py DUMP.xml.bz2 [DUMP ...]

Everything runs in one process on the same pages, one after the other; decompression is timed apart.
wikitextparser is measured too where it is installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import mwparserfromhell

from measured import parsed
from whichone.files.lines import open_binary, read_bytes
from whichone.knowledge.formats.wiki_site import WikiSite, read_site
from whichone.knowledge.formats.wikipedia import RawPage, raw_page, read_part
from whichone.knowledge.formats.wikitext import parse_wikitext, strip_wikitext


def measured(name: str, work: Callable[[], object], pages: int, characters: int) -> float:
    """The best of three."""
    times = []
    for _ in range(3):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    took = min(times)
    print(
        f"{name:44} {took:7.2f} s CPU {pages / took:9,.0f} pages/s {characters / took / 1e6:7.2f} M characters/s"
    )
    return took


def each(work: Callable[[str], object], texts: Sequence[str]) -> None:
    """Results are dropped at once, as a reader drops them."""
    for text in texts:
        work(text)


def pages_of(elements: Sequence[bytes]) -> list[RawPage]:
    """Articles: no redirects, no other namespaces."""
    found = [raw_page(element) for element in elements]
    return [p for p in found if p.namespace == 0 and p.redirect is None and p.model == "wikitext"]


def bench(files: Sequence[Path]) -> None:
    elements: list[bytes] = []
    site = WikiSite()
    for file in files:
        with open_binary(file) as stream:
            site = read_site(stream.read(1 << 18), file=str(file))
        began = time.process_time()
        elements += re.findall(rb"<page>.*?</page>", read_bytes(file, 8 << 30), re.DOTALL)
        print(f"decompressing and cutting {file.name[:40]}: {time.process_time() - began:.2f} s CPU")
    pages = pages_of(elements)
    texts = [page.text for page in pages]
    size = len(pages), sum(map(len, texts))
    print(f"{len(elements):,} pages, {size[0]:,} of them articles with {size[1]:,} characters\n")

    measured("XML alone", lambda: pages_of(elements), *size)
    alone = measured("mwparserfromhell.parse alone", lambda: each(mwparserfromhell.parse, texts), *size)
    plain = measured(
        "mwparserfromhell, parse and strip_code",
        lambda: each(lambda text: mwparserfromhell.parse(text).strip_code(), texts),
        *size,
    )
    if importlib.util.find_spec("wikitextparser"):
        import wikitextparser

        measured(
            "wikitextparser, parse and plain_text",
            lambda: each(lambda text: wikitextparser.parse(text).plain_text(), texts),
            *size,
        )
    measured("whichone, stripping", lambda: each(lambda t: strip_wikitext(t, site), texts), *size)
    measured(
        "whichone, paragraphs and anchors",
        lambda: each(lambda text: parse_wikitext("", text, site), texts),
        *size,
    )
    everything = b"".join(elements)
    whole = measured("whichone, XML to tables", lambda: read_part(everything, site).tables(), *size)
    print(
        f"\nXML to tables takes {whole / alone:.2f} of the parser alone, {whole / plain:.2f} of its plain text"
    )
    counts = read_part(everything, site).counts
    lost = Counter({k.removeprefix("dropped "): n for k, n in counts.items() if "dropped" in k})
    print("not kept: " + ", ".join(f"{n:,} {what}" for what, n in lost.most_common()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dumps", nargs="+", type=Path)
    bench(parsed(parser, small="{shared}/data/dumps/en.wiki.xml.bz2").dumps)


if __name__ == "__main__":
    main()
