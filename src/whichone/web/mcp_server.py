"""The tools of an index for assistants that speak the Model Context Protocol: `resolve`, `ask` and `search`."""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import msgspec
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from whichone.namesake import Namesake
from whichone.retrieval.namesake.asking import Outcome, Resolution
from whichone.versions import versions

INSTRUCTIONS = (
    "People and things here share names. Call `resolve` before you answer about somebody or act on a record. Outcome "
    "`this one`: use the first bearer's id. Outcome `ask`: put `question` to the user as it is, and call `ask` with the reply; "
    "never choose yourself. Outcome `nobody`: say that nobody here is meant, and do nothing."
)
_MOST_BEARERS = 8
_LONGEST = 10_000
Text = Annotated[
    str, Field(description="The user's question or request, in the user's own words.", max_length=_LONGEST)
]
Filter = Annotated[
    dict[str, Any] | None, Field(description='Values of fields that records must have: {"tenant": "acme"}.')
]


class BearerFound(BaseModel):
    """Somebody or something that has the name."""

    id: str
    title: str
    probability: float
    speaks_for: list[str]
    speaks_against: list[str]
    attributes: dict[str, str]


class Resolved(BaseModel):
    """Who is meant: the outcome decides what to do."""

    outcome: Outcome
    name: str | None
    question: str | None
    nobody: float
    confidence: float
    close: list[str]
    bearers: list[BearerFound]


class PassageFound(BaseModel):
    """A passage, and whom it is about."""

    id: str
    title: str
    text: str
    score: float
    entity: str | None
    fields: dict[str, Any]


class Found(BaseModel):
    """Passages, best first."""

    passages: list[PassageFound]


def mcp_server(namesake: Namesake) -> MCPServer:
    """A server of the three tools over an index; transports are the caller's choice."""
    server = MCPServer("whichone", instructions=INSTRUCTIONS, version=versions().get("whichone", ""))

    @server.tool()
    def resolve(text: Text, filter: Filter = None) -> Resolved:
        """Who is meant by the name in a text: one bearer, a question back to ask the user, or nobody here."""
        namesake.refresh()
        return _resolved(namesake.resolve(text, filter=filter))

    @server.tool()
    def ask(
        text: Text,
        answer: Annotated[
            str, Field(description="What the user replied to `question`.", max_length=_LONGEST)
        ],
        filter: Filter = None,
    ) -> Resolved:
        """The same once the user has answered the question that `resolve` gave for this text."""
        namesake.refresh()
        return _resolved(namesake.resolve(text, answer=answer, filter=filter))

    @server.tool()
    def search(text: Text, k: Annotated[int, Field(ge=1, le=100)] = 5, filter: Filter = None) -> Found:
        """The best passages for a question; of several things of one name the one that is meant first."""
        namesake.refresh()
        hits = namesake.search(text, k, filter=filter)
        return Found(
            passages=[
                PassageFound(
                    id=hit.id, title=hit.passage.title, text=hit.passage.text, score=hit.score,
                    entity=hit.passage.entity, fields=dict(hit.fields),
                )
                for hit in hits
            ]
        )  # fmt: skip

    return server


def _resolved(believed: Resolution) -> Resolved:
    fields = msgspec.to_builtins(believed)
    fields["bearers"] = fields["bearers"][:_MOST_BEARERS]
    return Resolved.model_validate(fields)


class HttpEndpoint:
    """The tools over streamable HTTP as a part of another app; `lifespan` must be that app's."""

    def __init__(self, namesake: Namesake, check: Callable[[Request], None]) -> None:
        server, self._check = mcp_server(namesake), check
        # the app around it refuses foreign hosts; every call stands alone, so that several processes may serve
        server.streamable_http_app(
            stateless_http=True,
            json_response=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self._sessions = server.session_manager

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        async with self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._check(Request(scope))
        await self._sessions.handle_request(scope, receive, send)
