"""Fetching from a local server that drops connections, lies about sizes and serves other files."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from whichone.benchmarks.by_name import Fetched, Wanted, dataset_rows, fetch_file, find_files, published_files
from whichone.cli import whichone
from whichone.errors import BadInput, LockedFolder, Missing, UsageError
from whichone.papers.kilt.kilt_record import datasets

CONTENT = bytes(range(256)) * 2000
SHA = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Answers by the first part of the path; `log` has the range that each request asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.log: list[str | None] = []

    def url(self, behaviour: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{behaviour}/file.bin"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are what the tests are about."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.log.append(asked)
        getattr(self, "serve_" + self.path.split("/")[1], self.serve_missing)(asked)

    def serve_missing(self, asked: str | None) -> None:
        self.send_error(404)

    def serve_well(self, asked: str | None) -> None:
        self.give(asked)

    def serve_drops(self, asked: str | None) -> None:
        """At most 100,000 bytes a connection, then it breaks."""
        self.give(asked, most=100_000)

    def serve_whole(self, asked: str | None) -> None:
        """Knows no ranges."""
        self.give(None)

    def serve_lies(self, asked: str | None) -> None:
        """Says there are 5,000 bytes more than it has."""
        self.give(asked, more=5_000)

    def serve_corrupt(self, asked: str | None) -> None:
        self.give(asked, content=CONTENT[:-1] + b"!")

    def serve_short(self, asked: str | None) -> None:
        """A shorter file, honestly."""
        self.give(None, content=CONTENT[:1000])

    def serve_nothing(self, asked: str | None) -> None:
        self.connection.close()

    def serve_error(self, asked: str | None) -> None:
        self.send_error(503)

    def serve_page(self, asked: str | None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<html>please log in</html>")

    def serve_wrong_place(self, asked: str | None) -> None:
        """Goes on from another place than asked."""
        self.give("bytes=7-" if asked else None, most=100_000 if not asked else None)

    def serve_changes(self, asked: str | None) -> None:
        """A new version for every request, recognised by its tag; drops the first connection."""
        self.give(None, most=100_000 if len(self.server.log) == 1 else None, tag=str(len(self.server.log)))

    def give(
        self,
        asked: str | None,
        *,
        content: bytes = CONTENT,
        most: int | None = None,
        more: int = 0,
        tag: str = "v1",
    ) -> None:
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if asked and start >= len(content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(content) + more}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if asked else 200)
        if asked:
            end = len(content) + more
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{end}")
        self.send_header("Content-Length", str(len(content) - start + more))
        self.send_header("ETag", f'"{tag}"')
        self.end_headers()
        self.wfile.write(content[start:][:most])
        if most or more:
            self.wfile.flush()
            self.connection.close()

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def get(
    server: Server, path: Path, *behaviours: str, size: int | None = len(CONTENT), sha: str | None = SHA
) -> Fetched:
    wanted = Wanted(addresses=[server.url(b) for b in behaviours], size=size, sha256=sha)
    return fetch_file(wanted, path, sleep=lambda _: None)


def test_a_good_server(server: Server, tmp_path: Path) -> None:
    found = get(server, tmp_path / "a" / "file.bin", "well")
    assert found.path.read_bytes() == CONTENT
    assert (found.bytes, found.sha256, found.verified) == (len(CONTENT), SHA, True)
    assert sorted(p.name for p in found.path.parent.iterdir()) == ["file.bin", "file.bin.sha256"]
    again = get(server, tmp_path / "a" / "file.bin", "well")
    assert not again.downloaded
    assert len(server.log) == 1


def test_dropped_connections_go_on_where_they_stopped(server: Server, tmp_path: Path) -> None:
    found = get(server, tmp_path / "file.bin", "drops")
    assert found.path.read_bytes() == CONTENT
    starts = [int(r.removeprefix("bytes=").rstrip("-")) if r else 0 for r in server.log]
    assert starts == sorted(set(starts))
    assert len(starts) == 6


def test_a_stopped_download_goes_on_later(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:300_000])
    assert get(server, tmp_path / "file.bin", "well").path.read_bytes() == CONTENT
    assert server.log == ["bytes=300000-"]


def test_a_server_without_ranges_starts_over(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(b"x" * 300_000)
    assert get(server, tmp_path / "file.bin", "whole").path.read_bytes() == CONTENT


def test_a_part_that_is_whole_is_taken(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    assert get(server, tmp_path / "file.bin", "well").sha256 == SHA


def test_a_part_of_another_version_is_thrown_away(server: Server, tmp_path: Path) -> None:
    found = get(server, tmp_path / "file.bin", "changes")
    assert found.path.read_bytes() == CONTENT


def test_a_server_that_goes_on_from_elsewhere_is_not_believed(server: Server, tmp_path: Path) -> None:
    found = get(server, tmp_path / "file.bin", "wrong_place", "well")
    assert found.path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ("missing", "404"),
        ("error", "503"),
        ("nothing", "without anything new"),
        ("page", "web page"),
        ("lies", "offers 517,000 bytes, 512,000 are published"),
        ("short", "offers 1,000 bytes, 512,000 are published"),
        ("corrupt", "sha256"),
    ],
)
def test_what_no_address_gives_is_to_be_put_there_by_hand(
    server: Server, tmp_path: Path, behaviour: str, why: str
) -> None:
    path = tmp_path / "file.bin"
    with pytest.raises(Missing, match=why) as caught:
        get(server, path, behaviour)
    assert f"put it at {path}" in str(caught.value)
    assert server.url(behaviour) in str(caught.value)
    assert not path.exists()


@pytest.mark.parametrize("behaviour", ["missing", "nothing", "page", "lies", "short", "corrupt"])
def test_the_next_mirror_is_tried(server: Server, tmp_path: Path, behaviour: str) -> None:
    found = get(server, tmp_path / "file.bin", behaviour, "well")
    assert found.path.read_bytes() == CONTENT


def test_a_lie_about_the_size_shows_without_a_published_size(server: Server, tmp_path: Path) -> None:
    with pytest.raises(Missing, match="without anything new"):
        get(server, tmp_path / "file.bin", "lies", size=None, sha=None)


def test_a_wheel_comes_by_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "some_data-1.0-py3-none-any.whl"
    (tmp_path / "index").mkdir()
    with zipfile.ZipFile(tmp_path / "index" / name, "w") as wheel:
        metadata = "Metadata-Version: 2.1\nName: some-data\nVersion: 1.0\n"
        wheel.writestr("some_data-1.0.dist-info/METADATA", metadata)
        wheel.writestr("some_data-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    sha256 = hashlib.sha256((tmp_path / "index" / name).read_bytes()).hexdigest()
    wanted = Wanted(addresses=["pip:some-data==1.0"], sha256=sha256)
    assert fetch_file(wanted, tmp_path / name).verified
    with pytest.raises(Missing, match=r"pip does not give other\.whl: pip gave some_data"):
        fetch_file(wanted, tmp_path / "other.whl")
    with pytest.raises(Missing, match="pip does not give"):
        fetch_file(Wanted(addresses=["pip:some-data==2.0"]), tmp_path / "more.whl")


def test_without_a_checksum_it_is_not_verified_but_remembered(server: Server, tmp_path: Path) -> None:
    found = get(server, tmp_path / "file.bin", "well", size=None, sha=None)
    assert not found.verified
    assert found.sha256 == SHA
    found.path.write_bytes(CONTENT[:-1] + b"?")
    with pytest.raises(BadInput, match="sha256"):
        get(server, found.path, "well", size=None, sha=None)
    assert found.path.exists()


def test_a_wrong_file_that_lies_there_is_told_and_kept(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.bin").write_bytes(b"mine")
    with pytest.raises(BadInput, match=r"it has 4 bytes, 512,000 are published"):
        get(server, tmp_path / "file.bin", "well")
    assert (tmp_path / "file.bin").read_bytes() == b"mine"


def test_two_at_once(server: Server, tmp_path: Path) -> None:
    import fcntl

    with (tmp_path / "file.bin.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(LockedFolder, match="another process"):
            get(server, tmp_path / "file.bin", "well")


def test_the_registry_names_all_that_is_published() -> None:
    files = published_files()
    for dataset in datasets().values():
        for split in dataset.splits:
            assert files[f"kilt/{dataset.name}-{split}"].file == dataset.file(split)
    kilt = find_files("kilt")
    assert len(kilt) == 31
    assert all(file.sha256 and len(file.sha256) == 64 and file.size for file in kilt)
    assert {file.collection for file in files.values()} >= {
        "amber", "kilt", "kilt-source", "entityquestions", "ambigdocs", "popqa", "dpr",
        "wikidata", "wikipedia", "pageviews",
    }  # fmt: skip
    assert all(f.licence and f.citation and f.addresses for f in files.values())
    assert not any("{" in address for f in files.values() for address in f.addresses)
    checked = {row["name"]: row["checked"] for row in dataset_rows()}
    assert checked["popqa/test"] == "not verified"
    assert checked["kilt/nq-dev"] == "sha256"


def test_names_of_several_files() -> None:
    assert [f.name for f in find_files("kilt/nq")] == ["kilt/nq-train", "kilt/nq-dev", "kilt/nq-test"]
    assert len(find_files("amber/human")) == 4
    with pytest.raises(UsageError, match="kilt"):
        find_files("klit")


def test_the_command(tmp_path: Path, server: Server) -> None:
    words = ["fetch", "popqa", "--to", str(tmp_path), "--json"]
    offline = CliRunner().invoke(whichone, [*words, "--offline"])
    assert isinstance(offline.exception, Missing)
    assert str(tmp_path / "popqa" / "popQA.tsv") in str(offline.exception)
    mirror = f"http://127.0.0.1:{server.server_port}/well"
    result = CliRunner().invoke(whichone, [*words, "--mirror", mirror])
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)
    assert (row["sha256"], row["checked"], row["licence"]) == (SHA, "not verified", "MIT")
    again = CliRunner().invoke(whichone, [*words, "--offline"])
    assert json.loads(again.stdout)[0]["downloaded"] is False
