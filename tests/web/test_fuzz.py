"""The API fuzzed from its own description: no server error, nothing undocumented."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import uvicorn
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from web_server import free_port, wait_for

from whichone.web.app import make_app

WANTED = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")  # fmt: skip


@pytest.fixture
def api(settings: Any, key: str) -> Iterator[httpx.Client]:
    """A real server with one of everything, and a token that may do everything."""
    free = replace(settings, writes_a_second=1e6, write_burst=10**6)
    app = make_app(free)
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="critical"))
    thread = threading.Thread(target=server.run)
    thread.start()
    links = app.state.site.links
    token = links.token(links.create("admin", person="fuzz"))
    headers = {"authorization": f"Bearer {token}"}
    place = f"http://127.0.0.1:{port}"
    wait_for(lambda: httpx.get(place, trust_env=False), httpx.TransportError)
    with httpx.Client(base_url=place, headers=headers, trust_env=False) as client:
        for room in ("/boards", "/annotate", "/study"):
            form = {"benchmark": key, "items": "4", "pilot": "0", "questions": "2"}
            assert client.post(room, data=form).status_code == 303
        yield client
    server.should_exit = True
    thread.join()


@pytest.mark.slow
def test_the_api_stands_fuzzing(api: httpx.Client, key: str) -> None:
    import schemathesis  # here, for it takes longer to import than most tests take
    from schemathesis.checks import CHECKS, load_all_checks

    load_all_checks()
    schema = schemathesis.openapi.from_url(f"{api.base_url}/openapi.json".replace("//openapi", "/openapi"))
    checks = CHECKS.get_by_names(WANTED)
    known = {
        "/api/benchmarks/": {"key": key},
        "/api/boards/": {"key": api.get("/api/boards").json()[0]["board"]},
        "/api/campaigns/": {"key": api.get("/api/campaigns").json()[0]["campaign"]},
        "/api/studies/": {"key": api.get("/api/studies").json()[0]["study"]},
    }
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        ours = next((v for start, v in known.items() if operation.path.startswith(start)), {})
        tried += fuzz(operation, ours, api.headers["authorization"], checks)
    assert tried > 100


def fuzz(operation: Any, ours: dict[str, str], token: str, checks: Any) -> int:
    """Some requests of one operation, mostly for things that are there; says how many."""
    tried = 0

    @settings(max_examples=15, deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(case=operation.as_strategy())
    def one(case: Any) -> None:
        nonlocal tried
        tried += 1
        if tried % 3:
            case.path_parameters = {**(case.path_parameters or {}), **ours}
        case.call_and_validate(headers={"authorization": token}, checks=checks)

    one()
    return tried
