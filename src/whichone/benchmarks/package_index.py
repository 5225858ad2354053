"""Files of packages from the index that pip is configured for, without running anything of a package.

`pip download` of a source distribution would run its build script; the index's own list of files
(PEP 503 and 691) is read instead.
"""

from __future__ import annotations

import functools
import html.parser
import os
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import msgspec

from whichone.errors import Missing

SCHEME = "pip:"
TIMEOUT = 60.0
_JSON = "application/vnd.pypi.simple.v1+json"
_DEFAULT = re.compile(r"\(default\s+(\S+?)\)")


def package_address(address: str, file: str) -> str:
    """Where `file` of `pip:NAME==VERSION` is, by the first index that lists it."""
    name = re.sub(r"[-_.]+", "-", address.removeprefix(SCHEME).partition("==")[0]).lower()
    reasons = []
    for index in indexes():
        page = f"{index.rstrip('/')}/{name}/"
        try:
            file_address = _listed(page, file)
        except (OSError, ValueError) as error:
            reasons.append(f"{getattr(error, 'reason', None) or error}")
            continue
        if file_address is not None:
            return file_address
        reasons.append(f"{file} is not listed")
    raise Missing(
        f"pip's index does not give {address.removeprefix(SCHEME)}: {'; '.join(reasons)}",
        hint="configure pip's index (pip config set global.index-url ADDRESS), or get the file another"
        " way and name it with --file",
    )


@functools.cache
def indexes() -> tuple[str, ...]:
    """The indexes of pip's environment and configuration, its own default where none is set."""
    first = os.environ.get("PIP_INDEX_URL") or _configured("index-url") or _default()
    more = os.environ.get("PIP_EXTRA_INDEX_URL") or _configured("extra-index-url")
    return tuple(dict.fromkeys([*first.split(), *more.split()]))


def _configured(key: str) -> str:
    for section in ("global", "download", "install"):
        value = _pip("config", "get", f"{section}.{key}")
        if value:
            return value
    return ""


def _default() -> str:
    """What pip's own help names as its default."""
    text = " ".join(_pip("download", "--help").split())
    at = text.find("--index-url")
    match = _DEFAULT.search(text, at) if at >= 0 else None
    if match is None:
        raise Missing("pip does not say which index it uses", hint="set PIP_INDEX_URL")
    return match[1]


def _pip(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments],
        capture_output=True, text=True, env={**os.environ, "COLUMNS": "500"},
    )  # fmt: skip
    return done.stdout.strip() if done.returncode == 0 else ""


def _listed(page: str, file: str) -> str | None:
    """The address of a file on an index's page of a package."""
    for listed in listed_files(page):
        if listed.name == file:
            return listed.address
    return None


class ListedFile(msgspec.Struct, frozen=True):
    """A file on an index's page of a package; without `sha256` where the index gives none."""

    name: str
    address: str
    sha256: str


def listed_files(page: str, *, with_text: str = "") -> list[ListedFile]:
    """The files on an index's page of a package; quicker where only names with some text are wanted."""
    request = urllib.request.Request(
        page, headers={"Accept": f"{_JSON}, text/html;q=0.1", "User-Agent": "whichone"}
    )
    with urllib.request.urlopen(request, timeout=TIMEOUT, context=_certificates()) as response:
        content, place = response.read(), response.geturl()
        json = response.headers.get_content_type().endswith("json")
    text = content.decode("utf-8", "replace")
    links = _json_links(content) if json else _html_links(text, with_text)
    return [
        _listed_file(name, urllib.parse.urljoin(place, link))
        for name, link in links
        if with_text in name
    ]


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Read once: it takes as long as a page."""
    return ssl.create_default_context()


def _listed_file(name: str, link: str) -> ListedFile:
    address, fragment = urllib.parse.urldefrag(link)
    return ListedFile(name, address, dict(urllib.parse.parse_qsl(fragment)).get("sha256", ""))


def _json_links(content: bytes) -> list[tuple[str, str]]:
    """Names and addresses, with the hash behind the address as on a page of HTML."""
    listed = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    files = msgspec.json.decode(listed.get("files", msgspec.Raw(b"[]")), type=list[dict[str, Any]])
    return [(str(f.get("filename")), f"{f.get('url')}#{_hash(f.get('hashes'))}") for f in files]


def _hash(hashes: object) -> str:
    return f"sha256={hashes['sha256']}" if isinstance(hashes, dict) and "sha256" in hashes else ""


def _html_links(text: str, wanted: str) -> list[tuple[str, str]]:
    reader = _Links()
    before, *links = text.split("<a ")
    reader.feed("<a ".join([before, *(link for link in links if wanted in link)]))
    return reader.links


class _Links(html.parser.HTMLParser):
    """A page's links, each with the last part of its address as name."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        link = dict(attrs).get("href") if tag == "a" else None
        if link:
            path = urllib.parse.unquote(urllib.parse.urlsplit(link).path)
            self.links.append((path.rpartition("/")[2], link))
