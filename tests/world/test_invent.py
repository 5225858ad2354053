"""Invented worlds: sizes, ambiguity, popularity and text as asked for, and the same bytes again."""

from __future__ import annotations

import bz2
import gzip
import json
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from whichone.errors import UsageError
from whichone.text import normalisers
from whichone.world import vocabulary
from whichone.world.invent import BLOCK, FILES, Invention, write_invented
from whichone.world.vocabulary import HUMANS, OTHERS, QUANTITIES, VALUES

PARAMETERS = Invention(entities=1500, seed=3, ambiguity=0.3, words=80)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("world")
    write_invented(PARAMETERS, out)
    return out


@pytest.fixture(scope="module")
def items(world: Path) -> dict[str, dict[str, Any]]:
    return {e["id"]: e for e in json.loads(bz2.decompress((world / FILES[0]).read_bytes()))}


@pytest.fixture(scope="module")
def pages(world: Path) -> dict[str, dict[str, Any]]:
    lines = gzip.decompress((world / FILES[2]).read_bytes()).splitlines()
    return {p["wikipedia_title"]: p for p in map(json.loads, lines)}


def entities(items: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [e for key, e in items.items() if key[0] == "Q" and 2 * 10**8 <= int(key[1:]) < 10**9]


def names_of(item: dict[str, Any]) -> list[str]:
    rows = [item["labels"]["en"], *item["aliases"].get("en", [])]
    return [row["value"] for row in rows]


def test_size_and_ambiguity_are_as_asked(items: dict[str, dict[str, Any]]) -> None:
    made = entities(items)
    assert len(made) == 1500
    bearers = Counter(name for item in made for name in set(names_of(item)))
    sharing = sum(any(bearers[name] > 1 for name in names_of(item)) for item in made)
    assert sharing == 450
    shared = [n for n in bearers.values() if n > 1]
    assert 2.3 < sum(shared) / len(shared) < 3.1


def test_all_types_and_properties_of_amber_occur(items: dict[str, dict[str, Any]]) -> None:
    pairs = {
        (t["mainsnak"]["datavalue"]["value"]["id"], prop)
        for item in entities(items)
        for t in item["claims"]["P31"]
        for prop in item["claims"]
    }
    for kind in (*HUMANS, *OTHERS):
        for prop in kind.properties:
            assert (kind.type, prop) in pairs
    assert set(VALUES) == {p for kind in (*HUMANS, *OTHERS) for p in kind.properties}


def test_most_facts_stand_in_the_text_and_some_do_not(
    items: dict[str, dict[str, Any]], pages: dict[str, dict[str, Any]]
) -> None:
    found = []
    for item in entities(items):
        text = " ".join(pages[item["sitelinks"]["enwiki"]["title"]]["text"]).split()[:350]
        tokens = normalisers.amber_tokens(" ".join(text))
        for prop, claims in item["claims"].items():
            if prop in VALUES and claims[0]["mainsnak"]["snaktype"] == "value":
                value = claims[0]["mainsnak"]["datavalue"]["value"]
                known = [value["amount"][1:]] if prop in QUANTITIES else names_of(items[value["id"]])
                found.append(
                    any(normalisers.contains_answer(tokens, normalisers.amber_tokens(n)) for n in known)
                )
    assert 0.85 < sum(found) / len(found) < 0.98


def test_views_follow_zipf(world: Path) -> None:
    lines = bz2.decompress((world / FILES[3]).read_bytes()).decode().splitlines()
    assert lines[0].startswith("#")
    views = sorted((int(line.split()[2]) for line in lines if line[0] != "#"), reverse=True)
    assert views[0] > 1000
    assert views[len(views) // 2] < 50


def test_the_export_is_well_formed_and_links_lead_to_pages(
    world: Path, pages: dict[str, dict[str, Any]]
) -> None:
    root = ET.fromstring(bz2.decompress((world / FILES[1]).read_bytes()))
    space = "{http://www.mediawiki.org/xml/export-0.10/}"
    rows = list(root.iter(f"{space}page"))
    titles = [page.findtext(f"{space}title") for page in rows]
    assert len(titles) == len(set(titles))
    assert len({page.findtext(f"{space}id") for page in rows}) == len(rows)
    redirects = [page for page in rows if page.find(f"{space}redirect") is not None]
    assert len(redirects) > 100
    assert len(rows) == len(pages) + len(redirects)
    targets = {a["href"].replace("%20", " ") for p in pages.values() for a in p["anchors"]}
    assert {t for t in targets if "%" not in t} <= set(titles)


def test_blocks_and_workers_do_not_change_the_bytes(tmp_path: Path) -> None:
    wanted = Invention(entities=BLOCK + 10, seed=5, words=20, ambiguity=0.5)
    write_invented(wanted, tmp_path / "one", workers=1)
    write_invented(wanted, tmp_path / "two", workers=2)
    for name in (*FILES, "world.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    labels = [
        e["labels"]["en"]["value"]
        for e in json.loads(bz2.decompress((tmp_path / "one" / FILES[0]).read_bytes()))
        if e["id"].startswith("Q2000") and len(e["id"]) == 10
    ]
    assert len(labels) == BLOCK + 10


def test_seeds_differ(tmp_path: Path) -> None:
    for seed in (1, 2):
        write_invented(Invention(entities=50, seed=seed), tmp_path / str(seed))
    assert (tmp_path / "1" / FILES[0]).read_bytes() != (tmp_path / "2" / FILES[0]).read_bytes()


@pytest.mark.parametrize(
    "wrong", [{"entities": 0}, {"ambiguity": 1.5}, {"bearers_mean": 1.0}, {"skew": -1.0}, {"words": 3}]
)
def test_senseless_parameters_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong)).replace("_", "-")):
        write_invented(Invention(**{"entities": 10, **wrong}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_command(tmp_path: Path) -> None:
    from whichone.cli import whichone

    done = CliRunner().invoke(
        whichone,
        ["world", "--entities", "40", "--seed", "9", "--language", "de", "--json", str(tmp_path / "w")],
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["counts"]["entities"] == 40
    assert b"de.z" in bz2.decompress((tmp_path / "w" / FILES[3]).read_bytes())
    export = bz2.decompress((tmp_path / "w" / FILES[1]).read_bytes())
    assert b"<dbname>dewiki</dbname>" in export and b"[[Kategorie:" in export


@given(st.integers(0, vocabulary.NAMES - 1), st.integers(0, vocabulary.NAMES - 1))
def test_different_numbers_give_different_names(one: int, two: int) -> None:
    assert (vocabulary.name(one) == vocabulary.name(two)) == (one == two)


@given(st.integers(1, 500), st.integers(0, 10**6))
def test_shuffle_is_a_reordering(n: int, seed: int) -> None:
    shuffle = vocabulary.Shuffle(n, seed)
    assert sorted(map(shuffle, range(n))) == list(range(n))
