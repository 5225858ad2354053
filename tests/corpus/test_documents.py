"""A folder of documents as people have them, and the audit of its names."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from whichone.corpus.passage_files import PassageFields, read_documents
from whichone.errors import BadInput
from whichone.files.document_formats import read_document
from whichone.files.lines import read_json, read_lines, read_text
from whichone.report.audit import audit, audit_in_words

MARKDOWN = """---
id: ada-1
title: "Ada Park"
owner: c1
---

# Contract

Ada Park works in Payroll.
"""
HTML = (
    "<html><head><title>Ada  Park</title><meta name='owner' content='c2'><style>p {}</style></head>"
    "<body><p>Ada Park works in <b>Legal</b> &amp; more.</p><script>no()</script></body></html>"
)
WORD = (
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    "<w:p><w:r><w:t>Bo Lind </w:t></w:r><w:r><w:t>sells.</w:t></w:r></w:p><w:p/></w:body></w:document>"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "docs"
    (place / "people").mkdir(parents=True)
    (place / ".git").mkdir()
    (place / ".git" / "hidden.md").write_text("no")
    (place / "people" / "ada.md").write_text(MARKDOWN)
    (place / "people" / "ada.html").write_text(HTML)
    (place / "notes_of_may.txt").write_text(" ".join(f"word{n}" for n in range(250)))
    with zipfile.ZipFile(place / "bo.docx", "w") as packed:
        packed.writestr("word/document.xml", WORD)
    return place


def test_every_kind_of_document(folder: Path) -> None:
    found = {p.id: p for p in read_documents(folder, entity="owner")}
    assert list(found) == [
        "corpus:bo.docx#0",
        "corpus:notes_of_may.txt#0",
        "corpus:notes_of_may.txt#1",
        "corpus:people/ada.html#0",
        "corpus:ada-1#0",
    ]
    ada = found["corpus:ada-1#0"]
    assert (ada.title, ada.entity, ada.source_id) == ("Ada Park", "c1", "ada-1")
    assert ada.text == "# Contract Ada Park works in Payroll."
    other = found["corpus:people/ada.html#0"]
    assert (other.title, other.entity) == ("Ada Park", "c2")
    assert other.text == "Ada Park works in Legal & more."
    assert found["corpus:bo.docx#0"].text == "Bo Lind sells."
    notes = found["corpus:notes_of_may.txt#1"]
    assert (notes.title, len(notes.text.split()), notes.entity) == ("notes of may", 50, None)


def test_the_owner_may_be_the_folder(folder: Path) -> None:
    owners = {p.page: p.entity for p in read_documents(folder, entity="path")}
    assert owners["corpus:ada-1"] == "people"
    assert owners["corpus:bo.docx"] is None


def test_a_pdf(folder: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    writer.add_blank_page(width=72, height=72)
    writer.add_metadata({"/Title": "Ada Park"})
    with (folder / "ada.pdf").open("wb") as file:
        writer.write(file)
    (found,) = (p for p in read_documents(folder) if p.page == "corpus:ada.pdf")
    assert found.title == "Ada Park"
    (folder / "broken.pdf").write_bytes(b"no pdf")
    with pytest.raises(BadInput, match="cannot be read as PDF"):
        list(read_documents(folder))


def test_nothing_found_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there are no documents"):
        list(read_documents(tmp_path))


def test_two_documents_of_one_id(folder: Path) -> None:
    (folder / "again.md").write_text(MARKDOWN)
    with pytest.raises(BadInput, match="two documents have the id 'ada-1'"):
        list(read_documents(folder))


def test_broken_documents_are_named(folder: Path) -> None:
    (folder / "bo.docx").write_bytes(b"no zip")
    with pytest.raises(BadInput, match=r"bo\.docx.*not a Word document"):
        list(read_documents(folder))
    (folder / "bo.docx").unlink()
    (folder / "latin.txt").write_bytes("Zürich".encode("latin-1"))
    with pytest.raises(BadInput, match=r"latin\.txt.*not UTF-8"):
        list(read_documents(folder))


def test_the_audit(folder: Path, tmp_path: Path) -> None:
    rows = ["Where is Ada Park's desk?", "Who is Bo Lind?", "What about ada park and Ada Park?"]
    (tmp_path / "log.jsonl").write_text("\n".join(json.dumps({"question": r}) for r in rows))
    found = audit(folder, log=tmp_path / "log.jsonl")
    assert (found.documents, found.names, found.shared, found.affected_documents) == (4, 3, 1, 2)
    assert (found.questions, found.affected_questions) == (3, 2)
    (worst,) = found.worst
    assert (worst.name, len(worst.bearers), worst.questions) == ("Ada Park", 2, 2)
    page = audit_in_words(found)
    assert "1 of 3 names belong to more than one entry" in page
    assert "2 of 3 logged questions (66.7%)" in page


def test_documents_of_one_owner_share_no_name(tmp_path: Path) -> None:
    rows = [{"id": n, "title": "Ada Park", "text": "x", "page": n, "who": "c1"} for n in range(3)]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    fields = PassageFields(page="page", entity="who")
    assert audit(tmp_path / "p.jsonl", fields=fields).shared == 0
    plain = PassageFields(page="page")
    assert audit(tmp_path / "p.jsonl", fields=plain).shared == 1


def test_a_word_document_that_unpacks_to_much_more_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bomb.docx"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("word/document.xml", b"<w>" + b"a" * (100 << 20) + b"</w>")
    assert file.stat().st_size < 1 << 20
    with pytest.raises(BadInput, match=r"document\.xml in it unpacks to 104,857,607 bytes"):
        read_document(file)


def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.txt")  # nobody writes to it: opening it would never return
    for read in (read_text, read_json, lambda file: list(read_lines(file)), read_document):
        with pytest.raises(BadInput, match="this is a pipe, not a file"):
            read(tmp_path / "x.txt")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full"])
def test_an_endless_file_is_refused(device: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").symlink_to(device)
    for read in (read_text, read_json, lambda file: list(read_lines(file)), read_document):
        with pytest.raises(BadInput, match="this is a device, not a file"):
            read(tmp_path / "x.txt")
