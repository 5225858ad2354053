"""The tools of an index, by the protocol's own client over both transports."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

import whichone

STAFF = [
    {
        "id": "1",
        "title": "Ada Park",
        "text": "Badge 17.",
        "department": "Payroll",
        "city": "Leeds",
        "ssn": "1",
    },
    {"id": "2", "title": "Ada Park", "text": "Badge 18.", "department": "Legal", "city": "Turin", "ssn": "2"},
    {"id": "3", "title": "Bo Lind", "text": "Badge 19.", "department": "Legal", "city": "Oslo", "ssn": "3"},
]
OPEN = "What is the badge of Ada Park?"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tools") / "staff"
    whichone.Namesake.over(STAFF, encoder="none", ask=["city"], never=["ssn"]).save(folder)
    return folder


async def conversation(client: Any) -> None:
    """A question that says too little, one about nobody here, and a search."""

    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        return result.structured_content

    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert sorted(tools) == ["ask", "resolve", "search"]
    assert tools["resolve"].output_schema is not None
    believed = await call("resolve", text=OPEN)
    assert believed["outcome"] == "ask"
    assert (
        believed["question"]
        == "Which Ada Park: the one from Leeds in Payroll, the one from Turin in Legal, or another?"
    )
    assert not any("ssn" in bearer["attributes"] for bearer in believed["bearers"])
    decided = await call("ask", text=OPEN, answer="the second")
    assert (decided["outcome"], decided["bearers"][0]["id"]) == ("this one", "2")
    nobody = await call("resolve", text="What is the badge of Boo Lindt?")
    assert (nobody["outcome"], nobody["close"], nobody["bearers"]) == ("nobody", ["Bo Lind"], [])
    found = await call("search", text="Ada Park in Legal", k=1, filter={"city": "Turin"})
    assert [passage["id"] for passage in found["passages"]] == ["2"]
    refused = await client.call_tool("search", {"text": "Ada Park", "k": 0})
    assert refused.is_error


def test_standard_input_and_output(index: Path) -> None:
    started = [sys.executable, "-m", "whichone", "serve", "--search", str(index), "--mcp"]

    async def talk() -> None:
        server = StdioServerParameters(command=started[0], args=started[1:])
        async with Client(stdio_client(server)) as client:
            await conversation(client)

    asyncio.run(asyncio.wait_for(talk(), 120))


@pytest.fixture
def service(index: Path) -> Iterator[tuple[str, str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "whichone", "serve", "--search", str(index), "--port", str(port)]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        assert process.stderr is not None
        token = None
        while token is None:
            line = process.stderr.readline()
            assert line, "the service ended"
            if said := re.search(r"token to search:\s+(\S+)", line):
                token = said[1]
        address = f"http://127.0.0.1:{port}"
        for _ in range(600):
            with contextlib.suppress(httpx2.TransportError):
                httpx2.get(f"{address}/health")
                break
        yield f"{address}/mcp", token
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_streamable_http_with_a_token(service: tuple[str, str]) -> None:
    address, token = service

    async def talk() -> None:
        headers = {"authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(address, http_client=http)) as client,
        ):
            await conversation(client)

    asyncio.run(asyncio.wait_for(talk(), 120))
    assert httpx2.post(address, json={}).status_code == 401
