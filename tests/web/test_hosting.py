"""What a lab needs: nginx in front, a systemd unit, backup and restore."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from campaigns import form_token
from web_server import free_port, served, visitor, wait_for

DEPLOY = Path(__file__).parents[2] / "deploy"
NGINX = os.environ.get("WHICHONE_NGINX") or shutil.which("nginx", path="/usr/sbin:/usr/bin")


@contextlib.contextmanager
def nginx(work: Path, server: str) -> Iterator[str]:
    """Debian's nginx with one server block, on a port of its own."""
    port = free_port()
    work.mkdir()
    temporary = "".join(
        f"{kind}_temp_path {work}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (work / "nginx.conf").write_text(
        f"daemon off; pid {work}/pid; error_log {work}/error.log;\nevents {{}}\n"
        f"http {{ access_log off;\n{temporary}{server.replace('LISTEN', f'127.0.0.1:{port}')} }}\n"
    )
    assert NGINX
    process = subprocess.Popen([NGINX, "-p", work, "-c", work / "nginx.conf"], stderr=subprocess.DEVNULL)
    place = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: httpx.get(place, trust_env=False), httpx.TransportError, 20)
        yield place
    finally:
        process.terminate()
        process.wait(10)


def _ours(upstream: str) -> str:
    """The file of `deploy`, without TLS."""
    block = (DEPLOY / "nginx.conf").read_text().replace("127.0.0.1:8000", upstream)
    block = re.sub(r"\n\s*ssl_\w+ [^;]*;", "", block).replace("443 ssl", "LISTEN")
    return block.replace("annotate.example.org", "localhost").replace("$host", "localhost")


@pytest.mark.slow
@pytest.mark.skipif(not NGINX, reason="nginx is not installed (WHICHONE_NGINX)")
@pytest.mark.parametrize("configuration", ["bare", "ours"])
def test_the_world_is_not_admin_behind_nginx(served_folder: Path, tmp_path: Path, configuration: str) -> None:
    folder = shutil.copytree(served_folder, tmp_path / "served")
    with served(folder, str(tmp_path / "w.sqlite"), tmp_path / "cache") as (_, place, cookies):
        upstream = place.removeprefix("http://")
        block = f"server {{ listen LISTEN; location / {{ proxy_pass http://{upstream}; }} }}"
        if configuration == "ours":
            block = _ours(upstream).replace("/var/log/nginx", str(tmp_path))
        with nginx(tmp_path / "nginx", block) as front:
            for path in ("/", "/access", "/api/benchmarks"):
                assert httpx.get(f"{front}{path}", trust_env=False).status_code == 401, path
            made = httpx.post(f"{front}/access", data={"for": "admin"}, trust_env=False)
            assert made.status_code == 401
            assert httpx.get(f"{front}/health", trust_env=False).status_code == 200
        with visitor(place, cookies) as client:
            assert client.get("/access").status_code == 200


@pytest.mark.slow
@pytest.mark.skipif(not NGINX, reason="nginx is not installed (WHICHONE_NGINX)")
def test_no_token_is_in_a_log_of_nginx(tmp_path: Path) -> None:
    """However its address is written, and where the server behind does not answer."""
    logs = tmp_path / "logs"
    logs.mkdir()
    block = _ours(f"127.0.0.1:{free_port()}").replace("/var/log/nginx", str(logs))
    with nginx(tmp_path / "nginx", block) as front:
        for place in (
            "/enter?token=abc-def",
            "/enter%3Ftoken=abc-def",
            "/b;abc-def",
            "/ENTER/abc-def",
            "/boards/abc-def",
        ):
            assert httpx.get(front + place, trust_env=False).status_code == 502
        big = {"file": b"x" * 70_000_000}
        assert httpx.post(f"{front}/boards?token=abc-def", files=big, trust_env=False).status_code == 413
        wait_for(
            lambda: _rooms(logs).index(["/boards", "413"]), ValueError
        )  # it is written when nginx is done with it
    assert sorted(_rooms(logs)[1:]) == [
        ["/boards", "413"], ["/boards", "502"], ["/enter", "502"], *[["other", "502"]] * 3
    ]  # fmt: skip
    written = [file.read_text() for place in (logs, tmp_path / "nginx") for file in place.rglob("*.log")]
    assert "abc-def" not in "".join(written)


def _rooms(logs: Path) -> list[list[str]]:
    return [line.split()[3:5] for line in (logs / "whichone.log").read_text().splitlines()]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    unit = tmp_path / "whichone.service"
    unit.write_text(
        (DEPLOY / "whichone.service").read_text().replace("/opt/whichone/bin/whichone", sys.executable)
    )  # fmt: skip
    answer = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
    ours = [line for line in answer.stderr.splitlines() if "whichone.service" in line]
    assert ours == []


def test_a_copy_made_while_the_server_runs_is_whole(served_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(served_folder, tmp_path / "served")
    database, copy, cache = tmp_path / "w.sqlite", tmp_path / "copy.sqlite", tmp_path / "cache"
    with served(folder, str(database), cache) as (_, place, cookies):
        with visitor(place, cookies) as client:
            form = {"for": "reader", "labels": "kept", "form_token": form_token(client.get("/access").text)}  # fmt: skip
            assert client.post("/access", data=form).status_code == 303
        source, target = sqlite3.connect(database), sqlite3.connect(copy)
        source.backup(target)  # what sqlite3's .backup does
        source.close()
        target.close()
    with served(folder, str(copy), cache) as (_, place, cookies), visitor(place, cookies) as client:
        assert "kept" in client.get("/access").text
