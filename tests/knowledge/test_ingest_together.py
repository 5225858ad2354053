"""Wikidata, pages and views: the same tables together or one after the other, in any order."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from whichone.files.folder import Folder
from whichone.knowledge.ingest import chosen_sources, ingest
from whichone.knowledge.ingest_options import IngestOptions
from whichone.knowledge.knowledge_tables import KIND


@pytest.mark.parametrize("order", [("wikidata", "pages", "views"), ("views", "pages", "wikidata")])
def test_any_order_gives_the_same_tables(shared: Path, tmp_path: Path, order: tuple[str, ...]) -> None:
    given = shared / "golden/amber/pipeline/p03_human_small"
    files = {
        "wikidata": given / "wikidata.json.bz2",
        "pages": [given / "kilt_ks.jsonl"],
        "views": [given / "pageviews.bz2"],
    }
    ingest(tmp_path / "together", chosen_sources(**files), IngestOptions())  # type: ignore[arg-type]
    for kind in order:
        sources = chosen_sources(**{kind: files[kind]})  # type: ignore[arg-type]
        ingest(tmp_path / "apart", sources, IngestOptions())
    together = Folder.open(tmp_path / "together", KIND)
    apart = Folder.open(tmp_path / "apart", KIND)
    assert apart.manifest.files == together.manifest.files
    assert apart.manifest.counts == together.manifest.counts
    assert min(together.manifest.counts[t] for t in ("entities", "names", "pages", "views")) > 50


def test_the_command_prints_what_it_did(shared: Path, tmp_path: Path) -> None:
    given = shared / "golden/amber/pipeline/p03_human_small"
    command = [
        sys.executable, "-m", "whichone", "ingest", "--wikidata", str(given / "wikidata.json.bz2"),
        "--properties", "amber-human", "--workers", "1", "--json", str(tmp_path / "kb"),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    facts = Folder.open(tmp_path / "kb", KIND).table("facts")
    assert said["rows"]["facts"] == facts.num_rows
    assert "P19" not in facts.column("property").to_pylist()
    assert said["sources"][0]["counts"]["records"] > 100
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0
    assert "nothing to do" in again.stderr
    assert json.loads(again.stdout)["rows"]["facts"] == facts.num_rows
    assert not (tmp_path / "kb" / ".partial").exists()


def test_duplicate_pages_are_counted(tmp_path: Path) -> None:
    def page(number: int, text: str) -> bytes:
        record = {"wikipedia_id": str(number), "wikipedia_title": f"Page {number}", "text": [text]}
        return json.dumps({"_id": str(number), "anchors": [], **record}).encode() + b"\n"

    dump = tmp_path / "pages.jsonl"
    dump.write_bytes(page(1, "first") + page(2, "two") + page(1, "second") + page(1, "third"))
    manifest = ingest(tmp_path / "kb", chosen_sources(pages=[dump]), IngestOptions())
    assert manifest.sources[0]["counts"]["duplicate pages"] == 2
    pages = Folder.open(tmp_path / "kb", KIND).table("pages")
    assert [text[0] for text in pages["paragraphs"].to_pylist()] == ["first", "two"]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ((), 2, "nothing to take in"),
        (("--wikidata", "nowhere.json"), 4, "no such file"),
        (("--wikidata", "nowhere.json", "--properties", "ambre"), 2, "did you mean amber"),
    ],
)
def test_wrong_use(tmp_path: Path, options: tuple[str, ...], code: int, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "whichone", "ingest", *options, str(tmp_path / "kb")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
