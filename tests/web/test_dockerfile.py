"""The steps of the Dockerfile, run in a fresh Debian root where no container engine is needed.

Make the root with `debootstrap --variant=minbase bookworm FOLDER`, then run this test as root with
WHICHONE_DEBIAN=FOLDER; the root is copied, not changed. WHICHONE_DEBIAN_CERTIFICATES names a file of
certificates that this machine needs to reach its package index, where there is one.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from web_server import free_port, wait_for

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
SPACE = ROOT / "deploy" / "space"
DEBIAN = os.environ.get("WHICHONE_DEBIAN", "")
PASSED_ON = ("PIP_CERT", "PIP_INDEX_URL", "PIP_DEFAULT_TIMEOUT", "REQUESTS_CA_BUNDLE")


def steps(file: Path = DOCKERFILE) -> list[tuple[str, str]]:
    """The instructions in order, each with what follows it."""
    text = file.read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def test_everything_that_is_copied_is_there_and_no_step_is_unknown() -> None:
    known = {"FROM", "RUN", "COPY", "ENV", "VOLUME", "USER", "EXPOSE", "HEALTHCHECK", "CMD"}
    assert {word for word, _ in steps()} <= known
    assert steps()[0][1].startswith("debian:")
    for word, rest in steps():
        if word == "COPY":
            assert all((ROOT / name).exists() for name in rest.split()[:-1]), rest
    command = json.loads(dict(steps())["CMD"])
    assert command[1] == "serve" and "--no-login" not in command


@pytest.mark.slow
def test_the_space_makes_its_index_and_answers_whoever_comes(tmp_path: Path) -> None:
    """Its steps but the installation, and its header, which says where the hub finds the port."""
    done = dict(steps(SPACE / "Dockerfile"))
    header = dict(re.findall(r"^(\w+): (.+)$", (SPACE / "README.md").read_text("utf-8"), re.M))
    assert (header["sdk"], header["app_port"], header["license"]) == ("docker", done["EXPOSE"], "apache-2.0")
    whichone = [sys.executable, "-m", "whichone"]
    words = shlex.split(done["RUN"])  # the last one
    assert words[0] == "whichone" and words[1] == "index"
    subprocess.run([*whichone, *words[1:]], cwd=tmp_path, check=True)
    port, command = str(free_port()), json.loads(done["CMD"])
    assert command[0] == "whichone" and command[-2:] == ["--port", done["EXPOSE"]]
    server = subprocess.Popen([*whichone, *command[1:-1], port], cwd=tmp_path)
    try:
        place = f"http://127.0.0.1:{port}"
        wait_for(lambda: httpx.get(place, trust_env=False), httpx.TransportError)
        asked = httpx.get(place, params={"q": "What does Abe Lincoln play?"}, trust_env=False)
        assert "Abe Lincoln (musician)" in asked.text
    finally:
        server.terminate()
        server.wait(20)


@pytest.fixture
def fresh_root(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "root"
    subprocess.run(["cp", "-a", DEBIAN, root], check=True)
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    if certificates := os.environ.get("WHICHONE_DEBIAN_CERTIFICATES"):
        trusted = root / "usr/local/share/ca-certificates"  # where Debian takes them from
        trusted.mkdir(parents=True, exist_ok=True)
        shutil.copy(certificates, trusted / "own.crt")
    for name in ("proc", "dev"):
        subprocess.run(["mount", "--bind", f"/{name}", root / name], check=True)
    try:
        yield root
    finally:
        for name in ("proc", "dev"):
            subprocess.run(["umount", "--lazy", root / name], check=True)


@pytest.mark.slow
@pytest.mark.skipif(not DEBIAN, reason="WHICHONE_DEBIAN names no fresh Debian root")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may change its root")
def test_the_steps_run_in_a_fresh_debian_and_the_server_answers(fresh_root: Path) -> None:
    environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    environment |= {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    user = "root"
    for word, rest in steps():
        if word == "RUN":
            shell = ["chroot", fresh_root, "/bin/sh", "-c", rest]
            answer = subprocess.run(shell, env=environment, capture_output=True, text=True)
            assert answer.returncode == 0, f"{rest}\n{answer.stdout}{answer.stderr}"
        elif word == "COPY":
            *sources, target = rest.split()
            place = fresh_root / target.lstrip("/")
            for source in sources:
                if (ROOT / source).is_dir():
                    shutil.copytree(ROOT / source, place)
                else:
                    place.mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / source, place)
        elif word == "ENV":
            environment |= dict(part.split("=", 1) for part in shlex.split(rest))
        elif word == "USER":
            user = rest
    last = dict(steps())
    command = ["chroot", f"--userspec={user}", fresh_root, *json.loads(last["CMD"])]
    log = fresh_root.parent / "log"
    with log.open("wb") as file:
        server = subprocess.Popen(command, env=environment, stdout=file, stderr=file)
    try:
        place = "http://127.0.0.1:8000"
        wait_for(lambda: httpx.get(f"{place}/health", trust_env=False), httpx.TransportError)
        assert httpx.get(f"{place}/health", trust_env=False).json()["database"] == "ok"
        assert httpx.get(place, trust_env=False).status_code == 401  # nobody is admin unasked
        check = json.loads(re.sub(r"^.*?CMD ", "", last["HEALTHCHECK"]))
        healthy = ["chroot", f"--userspec={user}", fresh_root, *check]
        assert subprocess.run(healthy, env=environment).returncode == 0
    finally:
        server.terminate()
        server.wait(20)
    assert "/enter?token=" in log.read_text()
