"""Redirects of MediaWiki's SQL dumps over KILT's knowledge source, which has none of its own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.knowledge.formats.wiki_dumps import redirects_source, sql_columns, sql_rows
from whichone.knowledge.knowledge_tables import KIND

HEAD = "-- MySQL dump 10.16\n\nDROP TABLE IF EXISTS `{table}`;\nCREATE TABLE `{table}` (\n{columns}\n  PRIMARY KEY (`x`)\n) ENGINE=InnoDB;\n\n"
REDIRECT = HEAD.format(
    table="redirect",
    columns="  `rd_from` int(8) unsigned NOT NULL DEFAULT 0,\n  `rd_namespace` int(11) NOT NULL,\n"
    "  `rd_title` varbinary(255) NOT NULL DEFAULT '',\n  `rd_interwiki` varbinary(32) DEFAULT NULL,\n"
    "  `rd_fragment` varbinary(255) DEFAULT NULL,",
)
PAGE = HEAD.format(
    table="page",
    columns="  `page_id` int(8) unsigned NOT NULL,\n  `page_namespace` int(11) NOT NULL,\n"
    "  `page_title` varbinary(255) NOT NULL,\n  `page_is_redirect` tinyint(1) unsigned NOT NULL,\n"
    "  `page_random` double unsigned NOT NULL,\n  `page_lang` varbinary(35) DEFAULT NULL,",
)
REDIRECTS = (
    "INSERT INTO `redirect` VALUES (11,0,'Abraham_Lincoln','',''),(12,0,'O\\'Neal_(a,b)','','x'),"
    "(13,4,'Help','',''),(14,0,'Elsewhere','commons','');\n"
    "INSERT INTO `redirect` VALUES (15,0,'Honest_Abe',NULL,NULL);\n"
)
PAGES = (
    "INSERT INTO `page` VALUES (11,0,'Honest_Abe',1,0.5,NULL),(12,0,'Shaq_\\\\\"2\\\"',1,1e-5,'en'),"
    "(307,0,'Abraham_Lincoln',0,0.1,NULL),(15,0,'Old_Abe',1,0.2,NULL),(13,4,'Honest_Abe',1,0.2,NULL);\n"
)


def dumps(folder: Path) -> list[str]:
    (folder / "redirect.sql.gz").write_bytes(gzip.compress((REDIRECT + REDIRECTS).encode()))
    (folder / "page.sql").write_text(PAGE + PAGES)
    return [str(folder / "page.sql"), str(folder / "redirect.sql.gz")]


def source(folder: Path) -> str:
    pages = [
        {"_id": "307", "wikipedia_id": "307", "wikipedia_title": "Abraham Lincoln"}
        | {"text": ["Abraham Lincoln\n", "A president."], "anchors": [], "categories": ""},
        {"_id": "9", "wikipedia_id": "9", "wikipedia_title": "O'Neal (a,b)"}
        | {"text": ["O'Neal (a,b)\n", "A name."], "anchors": [], "categories": ""},
    ]
    (folder / "kilt.json").write_text("".join(json.dumps(page) + "\n" for page in pages))
    return str(folder / "kilt.json")


def test_redirects_name_pages(tmp_path: Path) -> None:
    first, second = dumps(tmp_path)
    words = ["ingest", "--pages", source(tmp_path), "--redirects", first, "--redirects", second]
    result = CliRunner().invoke(whichone, [*words, str(tmp_path / "kb")])
    assert result.exit_code == 0, result.output
    rows = Folder.open(tmp_path / "kb", KIND).table("redirects").to_pylist()
    assert [(r["title"], r["target"], r["target_page"]) for r in rows] == [
        ("Honest Abe", "Abraham Lincoln", "enwiki:307"),
        ("Old Abe", "Honest Abe", "enwiki:307"),
        ('Shaq \\"2"', "O'Neal (a,b)", "enwiki:9"),
    ]
    names = Folder.open(tmp_path / "kb", KIND).table("names").to_pylist()
    assert ("Honest Abe", "redirect") in {(n["name"], n["kind"]) for n in names}


def test_both_dumps_are_needed(tmp_path: Path) -> None:
    first, second = dumps(tmp_path)
    with pytest.raises(UsageError, match=r"add the dump of the table redirect"):
        redirects_source([first])
    with pytest.raises(UsageError, match="both dumps of the table page"):
        redirects_source([first, first])
    other = tmp_path / "langlinks.sql"
    other.write_text(HEAD.format(table="langlinks", columns="  `ll_from` int,"))
    with pytest.raises(BadInput, match="a dump of the table langlinks"):
        redirects_source([str(other), second])
    other.write_text("hello")
    with pytest.raises(BadInput, match="no CREATE TABLE"):
        redirects_source([str(other)])


def test_rows_of_a_line() -> None:
    table, columns = sql_columns(REDIRECT.encode())
    assert (table, columns[0], len(columns)) == ("redirect", "rd_from", 5)
    line = b"INSERT INTO `redirect` VALUES (1,0,'a\\'),(2','',NULL);"
    assert list(sql_rows(line, table, columns, ("rd_from", "rd_title", "rd_fragment"))) == [
        (1, b"a'),(2", None)
    ]
    assert list(sql_rows(b"LOCK TABLES `redirect` WRITE;", table, columns, ("rd_from",))) == []
    with pytest.raises(ValueError, match="rows of 5 columns"):
        list(sql_rows(b"INSERT INTO `redirect` VALUES (1,0);", table, columns, ("rd_from",)))
