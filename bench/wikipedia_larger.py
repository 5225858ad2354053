"""The largest AmbER sets, EntityQuestions and AmbigDocs that a file of Wikipedia passages gives, with facts read from the pages themselves.

    python bench/wikipedia_larger.py PASSAGES.jsonl.gz WORK             # catalogue, knowledge base, corpus and three benchmarks
    python bench/wikipedia_larger.py PASSAGES.jsonl.gz WORK --sample 50 # facts with their sentences, to be read by a person

A passage has `title` and `text`; passages of one title are a page. Where there is no Wikidata, a page's own first sentence says what it is ("is a 1990
Finnish drama film directed by Tapio Suominen"), and so does the title's end in parentheses ("Kelly Clarkson song"). Only patterns that leave little doubt
are read, so that many pages have no fact: they stay in the corpus, and nobody is asked about them.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measured import parsed

HERE = Path(__file__).resolve().parent / "larger"
WORD = r"[A-ZÀ-ÞĀ-Ž](?:[\w'’-]*\w)?"
SMALL = "de|van|von|der|den|la|le|del|di|da|dos|bin|al|ibn|af"
NAME = rf"(?:[A-Z]\.|{WORD})(?: (?:[A-Z]\.|{WORD}|{SMALL}))*"
OCCUPATIONS = (
    "actor|actress|admiral|architect|artist|athlete|author|basketball player|baseball player|biologist|bishop|botanist|boxer|businessman|"
    "chemist|comedian|composer|conductor|cricketer|cyclist|dancer|diplomat|economist|engineer|explorer|film director|footballer|geologist|golfer|"
    "guitarist|historian|ice hockey player|journalist|judge|lawyer|mathematician|merchant|missionary|musician|novelist|painter|philosopher|photographer|"
    "physician|physicist|pianist|playwright|poet|politician|priest|producer|rapper|rower|rugby league footballer|rugby union player|screenwriter|"
    "sculptor|singer|singer-songwriter|soldier|songwriter|surgeon|swimmer|tennis player|theologian|wrestler|writer|zoologist"
)
SPORTS = "association|Australian rules|American|Canadian|Gaelic|rugby league|rugby union"
FILM = re.compile(
    r"^[^.]{0,160}?\b(?:is|was) an? (?:[\w-]+ ){0,2}?(1[89]\d\d|20\d\d)\b(?:(?!\b(?:game|based|soundtrack|novel|album)\b)[^.]){0,120}?\bfilm\b"
)
DIRECTED = re.compile(rf"\bfilm\b[^.]{{0,80}}? directed (?:and \w+ )?by ({NAME})")
PERSON = re.compile(
    rf"^[^.;]{{0,60}}(?:\([^()]*\))?[^.;()]{{0,30}} (?:is|was) an? ((?:(?:former|retired|professional|noted|born|and|{SPORTS}|{WORD}-?) )*)({OCCUPATIONS})\b"
)
BORN = re.compile(
    r"^[^.]{0,80}?\((?:[^()]*?\bborn\b[^()]*?(\d{4})|[^()]*?(\d{4})[^()]*?[–-][^()]*?\d{4})[^()]*\)"
)
NOVEL = re.compile(
    rf"^[^.]{{0,100}}? is an? (?:(\d{{4}}) )?(?:[\w-]+ ){{0,4}}?novel(?: written)? by (?:(?:the )?(?:{WORD} ){{0,2}}(?:author|writer|novelist) )?({NAME})"
)
RECORDED = re.compile(rf"\(({NAME}) (song|album|EP)\)$")
NOT_NATIONAL = {
    "Air", "Anglican", "Army", "Buddhist", "Catholic", "Christian", "Conservative", "Corps", "Democratic", "Force", "Gaelic", "Hollywood", "House", "Jesuit",
    "Jewish", "Labour", "Liberal", "Lutheran", "Muslim", "Navy", "Olympic", "Paralympic", "Republican", "Roman", "States", "Unionist", "World",
}  # fmt: skip
RELEASED = re.compile(r"^[^.]{0,200}?\breleased\b[^.()]{0,60}?\b(19\d\d|20\d\d)\b")
PARENTHESES = re.compile(r"\s*\([^()]*\)$")


def pages_of(file: Path) -> dict[str, list[str]]:
    pages: dict[str, list[str]] = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            pages.setdefault(html.unescape(record["title"]), []).append(record["text"])
    return pages


def lead_of(title: str, texts: list[str]) -> str:
    """The passage that a page begins with, without the title that some have before their first sentence."""
    name = PARENTHESES.sub("", title) or title
    for text in texts:
        if text.startswith(f"{title} {name}") and title != name:
            return text[len(title) + 1 :]
        if text.lstrip('" ').startswith(name.split()[0]):
            return text
    return ""


def facts_of(title: str, text: str) -> dict[str, str]:
    """What a page says it is; nothing where that is in doubt."""
    if title.endswith("(disambiguation)"):
        return {}
    if recorded := RECORDED.search(title):
        kind = "song" if recorded[2] == "song" else "album"
        facts = {"type": kind, "performer": recorded[1], "qualifier": f"the {kind} by {recorded[1]}"}
        released = RELEASED.search(text)
        return {**facts, **({"released": released[1]} if released else {})}
    if film := FILM.search(text):
        facts = {"type": "film", "released": film[1], "qualifier": f"the film of {film[1]}"}
        directed = DIRECTED.search(text)
        if directed and not directed[1].endswith("."):
            facts["director"] = directed[1]
        return facts
    if (novel := NOVEL.search(text)) and not re.search(r"film|series|game", title):
        facts = {"type": "novel", "author": novel[2], "qualifier": f"the novel by {novel[2]}"}
        return {**facts, **({"released": novel[1]} if novel[1] else {})}
    if (person := PERSON.search(text)) and (born := BORN.search(text)) and "fl." not in born[0]:
        national = [word for word in person[1].split() if word[0].isupper()]
        year = born[1] or born[2]
        facts = {"type": "person", "born": year, "occupation": person[2], "qualifier": f"born in {year}"}
        if national and "and" not in person[1].split() and not _doubtful(national):
            facts["nationality"] = " ".join(national)
        return facts
    return {}


def _doubtful(national: list[str]) -> bool:
    """Faiths, parties and towns are said where a nationality is."""
    return bool(NOT_NATIONAL & set(national)) or any(w.endswith(("-", "-based", "-born")) for w in national)


def rows_of(pages: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    for n, (title, texts) in enumerate(sorted(pages.items())):
        yield {
            "id": str(n),
            "title": title,
            "name": PARENTHESES.sub("", title) or title,
            "type": "page",
            **facts_of(title, lead_of(title, texts)),
        }


def write_catalogue(pages: dict[str, list[str]], folder: Path) -> Counter[str]:
    """Things with their facts, documents with their owners, and the TOML file that says so.

    A value is a thing too: the page of exactly that title, else one without a page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    rows = list(rows_of(pages))
    known = {row["title"]: row["id"] for row in rows}
    values: dict[str, str] = {}
    with (folder / "things.jsonl").open("w") as things, (folder / "pages.jsonl").open("w") as file:
        for row in rows:
            title = row.pop("title")
            text = "\n\n".join(pages[title])
            document = {"id": row["id"], "owner": row["id"], "title": title, "text": text}
            file.write(json.dumps(document) + "\n")
            counts.update([row["type"], *(f"fact {name}" for name in ATTRIBUTES if name in row)])
            for attribute in set(ATTRIBUTES).intersection(row) - {QUALIFIER}:
                value = row[attribute]
                values.setdefault(value, known.get(value, f"value {len(values)}"))
                row[attribute] = values[value]
            things.write(json.dumps(row) + "\n")
        for value, identity in values.items():
            if value not in known:
                things.write(json.dumps({"id": identity, "name": value, "type": "value"}) + "\n")
    parts = [
        _ATTRIBUTE.format(name=n, label=label, kind="string" if n == QUALIFIER else "entity")
        for n, label in ATTRIBUTES.items()
    ]
    (folder / "catalogue.toml").write_text(CATALOGUE + "".join(parts))
    return counts


QUALIFIER = "qualifier"
ATTRIBUTES = {
    "occupation": "occupation", "nationality": "nationality", "born": "year of birth", "director": "director",
    "released": "year of release", "performer": "performer", "author": "author", "qualifier": "qualifier",
}  # fmt: skip
_ATTRIBUTE = '\n[attributes.{name}]\ncolumn = "{name}"\nlabel = "{label}"\nkind = "{kind}"\n'
CATALOGUE = """name = "wikipedia"
file = "things.jsonl"
language = "en"

[columns]
id = "id"
name = "name"
type = "type"

[documents]
file = "pages.jsonl"

[documents.columns]
id = "id"
owner = "owner"
title = "title"
text = "text"
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("passages", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sample", type=int, help="print the facts of so many pages, and stop")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    given = parsed(parser, small="{shared}/data/wikipedia-48k/passages.jsonl.gz {place} --sample 3")
    pages = pages_of(given.passages)
    if given.sample:
        rows = [r for r in rows_of(pages) if r["type"] != "page"]
        for row in random.Random(given.seed).sample(rows, given.sample):
            known = {k: v for k, v in row.items() if k in ATTRIBUTES and k != "qualifier"}
            print(f"{row['title']} | {row['type']} {known}\n    {pages[row['title']][0][:220]}")
        return
    counts = write_catalogue(pages, given.work / "catalogue")
    print(f"{len(pages):,} pages; " + ", ".join(f"{n:,} {what}" for what, n in counts.most_common()))
    words = [str(HERE.parent / "wikipedia_full.py"), str(given.work / "catalogue"), str(given.work)]
    own = ["--collections", str(HERE / "pages.toml"), "--relations", str(HERE / "relations.toml")]
    sys.exit(subprocess.run([sys.executable, *words, *own, "--popularity", "none"]).returncode)


if __name__ == "__main__":
    main()
