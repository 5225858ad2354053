"""The hashes of the packages that the tests run with: recorded for every pin, and compared with an index."""

from __future__ import annotations

import functools
import http.server
import threading
from pathlib import Path

import pytest
from packaging.version import Version

import pinned_hashes
from pinned_hashes import differences, fits_here, is_of, pins, recorded
from whichone.benchmarks import package_index

GOOD, BAD = "a" * 64, "b" * 64


def test_every_pin_has_a_file_that_fits_this_machine() -> None:
    known = recorded()
    for package, version in pins().items():
        assert fits_here(n for n in known if is_of(n, package, version)), (
            f"{package}=={version}: run python tests/pinned_hashes.py write"
        )


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """An index of one package, as pip would be given one."""

    def page(text: str) -> None:
        (tmp_path / "falcon").mkdir(exist_ok=True)
        (tmp_path / "falcon" / "index.html").write_text(text)

    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
        package_index.indexes.cache_clear()
        yield page
        server.shutdown()
    package_index.indexes.cache_clear()


def test_a_file_that_was_exchanged_is_named(index) -> None:
    link = '<a href="falcon-1.0-py3-none-any.whl#sha256={}">falcon-1.0-py3-none-any.whl</a>'
    wanted, known = {"falcon": Version("1.0")}, {"falcon-1.0-py3-none-any.whl": {GOOD, "c" * 64}}
    index(f"<html><body>\n{link.format(GOOD)}\n</body></html>")
    assert differences(wanted, known, []) == []
    index(f"<html><body>\n{link.format(BAD)}\n</body></html>")
    assert differences(wanted, known, []) == [
        f"falcon-1.0-py3-none-any.whl has the hash {BAD}, which is not recorded"
    ]
    index('<a href="falcon-1.0-cp39-cp39-win32.whl">x</a><a href="falcon-1.0.tar.gz">y</a>')
    assert differences(wanted, known, []) == [
        "falcon-1.0.tar.gz has the hash (none), which is not recorded"
    ]
    index('<a href="falcon-2.0.tar.gz">another version</a>')
    assert differences(wanted, known, []) == ["falcon 1.0 is on no index"]


def test_an_index_that_does_not_answer_is_no_difference(monkeypatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setattr(pinned_hashes.time, "sleep", lambda seconds: None)
    package_index.indexes.cache_clear()
    silent: list[str] = []
    assert differences({"falcon": Version("1.0")}, {}, silent) == []
    assert len(silent) == 1 and silent[0].startswith("falcon 1.0: ")
    package_index.indexes.cache_clear()
