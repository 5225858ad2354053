"""An index of `namesake` as an HTTP service: search, updates, health and metrics, with tokens."""

import importlib.util
import json
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Depends, FastAPI, Query
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from markupsafe import Markup, escape
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from whichone.errors import UsageError
from whichone.namesake import Hit, Namesake
from whichone.versions import versions
from whichone.web.ask import LONGEST, Asker, Turns
from whichone.web.limits import REFUSED, RequestGuard, refused, run_server
from whichone.web.pages import asset_response, template_environment
from whichone.web.site_settings import SiteSettings
from whichone.web.web_site import SignedTokens, secret_in

Right = Literal["search", "change"]
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]
_COOKIE = "whichone-search"
_KEPT_TIMES = 10_000
_QUANTILES = (0.5, 0.95, 0.99)
LONGEST_QUESTION = 10_000
MOST_QUESTIONS = 1_000


class _Body(BaseModel):
    """What is sent as JSON; the page of the API says of each field what stands below it here."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class SearchRequest(_Body):
    """A question, or several."""

    text: str | None = Field(None, max_length=LONGEST_QUESTION, examples=["Where is Ada Park?"])
    """One question; send either this or `texts`."""
    texts: list[Annotated[str, Field(max_length=LONGEST_QUESTION)]] | None = Field(
        None, max_length=MOST_QUESTIONS
    )
    """Several questions, each of which gets a list of its own."""
    k: int = Field(5, ge=1, le=1000)
    """How many passages to return for a question."""
    filter: dict[str, Any] | None = Field(None, examples=[{"tenant": "acme"}])
    """Values of fields that passages must have, applied before anything is ranked."""


class Unsure(_Body):
    """A question whose name is to be resolved, and what was answered when it was asked back."""

    text: str = Field(max_length=LONGEST_QUESTION, examples=["Where was Ada Park born?"])
    """The question."""
    answer: str = Field("", max_length=LONGEST_QUESTION)
    """What somebody said to the question that came back."""
    filter: dict[str, Any] | None = None
    """Values of fields that passages must have."""


class Added(_Body):
    """Passages and names to add."""

    passages: list[dict[str, Any]] = Field(
        [], examples=[[{"id": "7", "title": "Ada Park", "text": "Ada Park works in Legal."}]]
    )
    """Records with `id`, `title`, `text`, `entity` and any further fields."""
    names: list[dict[str, Any]] = []
    """Records with `id`, `name` and `aliases`."""


class Removed(_Body):
    """Passages or pages by id, or all that is about an entity."""

    ids: list[str] = Field([], examples=[["7"]])
    """Ids of passages, or of pages with all their passages."""
    entity: str | None = None
    """The entity whose passages all go."""


class Metrics:
    """How many requests were answered how, and how long the last of them took."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count: Counter[tuple[str, int]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._last: dict[str, deque[float]] = {}

    def add(self, path: str, status: int, seconds: float) -> None:
        with self._lock:
            self._count[path, status] += 1
            self._seconds[path] += seconds  # type: ignore[assignment]
            self._last.setdefault(path, deque(maxlen=_KEPT_TIMES)).append(seconds)

    def text(self, passages: int) -> str:
        """In the text format of Prometheus."""
        with self._lock:
            lines = [
                "# TYPE whichone_passages gauge",
                f"whichone_passages {passages}",
                "# TYPE whichone_requests_total counter",
                *(
                    f'whichone_requests_total{{path="{path}",status="{status}"}} {count}'
                    for (path, status), count in sorted(self._count.items())
                ),
                "# TYPE whichone_request_seconds summary",
            ]
            for path, seconds in sorted(self._last.items()):
                label, ordered = f'path="{path}"', sorted(seconds)
                total = sum(n for (at, _), n in self._count.items() if at == path)
                lines += [
                    *(
                        f'whichone_request_seconds{{{label},quantile="{q}"}} {ordered[int(q * len(ordered))]:.6f}'
                        for q in _QUANTILES
                    ),
                    f"whichone_request_seconds_sum{{{label}}} {self._seconds[path]:.6f}",
                    f"whichone_request_seconds_count{{{label}}} {total}",
                ]
        return "\n".join(lines) + "\n"


_RIGHTS = {"search": ("index:search", "index:change"), "change": ("index:change",)}


class Doors:
    """Who may search and who may change; a token is signed for one of the two."""

    def __init__(self, secret: str, *, public: bool) -> None:
        self._tokens, self.public = SignedTokens(secret), public

    def token(self, right: Right) -> str:
        return self._tokens.sign(f"index:{right}")

    def need(self, right: Right, credentials: HTTPAuthorizationCredentials | None) -> None:
        if right == "search" and self.public:
            return
        signed = None if credentials is None else self._tokens.link(credentials.credentials)
        if signed is None:
            raise HTTPException(401, "a token is needed", {"www-authenticate": "Bearer"})
        if signed not in _RIGHTS[right]:
            raise HTTPException(403, "this token allows no changes")

    def has_token(self, cookie: str) -> bool:
        """Whether a cookie has one that lets search; it opens nothing but the page."""
        return self._tokens.link(cookie) in _RIGHTS["search"]


def make_search_app(index: str | Path, settings: SiteSettings) -> FastAPI:
    if settings.no_login:
        raise UsageError(
            "an index is not served without tokens: whoever reaches a proxy in front could change it",
            hint="--public lets anybody search; changes need the token that is printed",
        )
    namesake = Namesake.open(index)
    namesake.search("the name of a thing", 1)  # what is compiled is compiled before anybody waits
    folder = Path(index).resolve()  # beside it, so that the secret does not travel with a copy
    place = Path(settings.secret) if settings.secret else folder.with_name(f"{folder.name}.secret")
    doors = Doors(secret_in(place), public=settings.public)
    metrics = Metrics()

    def check(request: Request) -> None:
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        sent = HTTPAuthorizationCredentials(scheme=kind, credentials=token.strip())
        doors.need("search", sent if kind.casefold() == "bearer" else None)

    tools = None
    if importlib.util.find_spec("mcp") is not None:
        from whichone.web.mcp_server import HttpEndpoint

        tools = HttpEndpoint(namesake, check)
    app = FastAPI(
        lifespan=tools.lifespan if tools is not None else None,
        title="whichone search",
        version=versions().get("whichone", "0"),
        description="Searches passages; of several things of one name the one that is meant.",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    if tools is not None:
        app.router.routes.append(Route("/mcp", tools, include_in_schema=False))
    app.state.doors = doors
    app.state.namesake = namesake

    def needing(right: Right) -> list[Any]:
        def check(credentials: Credentials) -> None:
            doors.need(right, credentials)

        return [Depends(check)]

    searching, changing = needing("search"), needing("change")

    @app.post("/search", dependencies=searching)
    def search(asked: SearchRequest) -> dict[str, Any]:
        """The best passages for a question; for `texts` a list of such lists."""
        if (asked.text is None) == (asked.texts is None):
            raise HTTPException(422, "send either text or texts")
        namesake.refresh()
        texts = [asked.text] if asked.text is not None else asked.texts or []
        answers = namesake.search_many(texts, asked.k, filter=asked.filter)
        shown = [list(map(_shown, hits)) for hits in answers]
        return {"results": shown[0] if asked.text is not None else shown}

    @app.get("/search", dependencies=searching)
    def search_by_address(
        q: Annotated[str, Query(max_length=LONGEST_QUESTION, description="The question.")],
        k: Annotated[int, Query(ge=1, le=1000, description="How many passages to return.")] = 5,
    ) -> dict[str, Any]:
        """The same for one question without a filter."""
        namesake.refresh()
        return {"results": [_shown(hit) for hit in namesake.search(q, k)]}

    @app.post("/resolve", dependencies=searching)
    def resolve(unsure: Unsure) -> dict[str, Any]:
        """Who the name in a question means, how likely, and the question back where that is open."""
        namesake.refresh()
        believed = namesake.resolve(unsure.text, answer=unsure.answer, filter=unsure.filter)
        return msgspec.to_builtins(believed)

    @app.post("/passages", dependencies=changing)
    def add(added: Added) -> dict[str, int]:
        """Add passages, or replace those of the same id: on disk, and found, when this answers."""
        return {"added": namesake.add(added.passages, names=added.names)}

    @app.post("/passages/remove", dependencies=changing)
    def remove(removed: Removed) -> dict[str, int]:
        """Remove passages."""
        return {"removed": namesake.remove(removed.ids, entity=removed.entity)}

    @app.get("/about", dependencies=searching)
    def about() -> dict[str, Any]:
        """Of which corpus, versions and models the index was made."""
        return {"passages": len(namesake), **namesake.describe()}

    @app.get("/health")
    def health() -> dict[str, Any]:
        """200 when the index answers; it names no data."""
        namesake.search("health", 1)
        return {"index": "ok"}

    @app.get("/metrics", response_class=PlainTextResponse)
    def show_metrics() -> str:
        """For Prometheus."""
        return metrics.text(len(namesake))

    asker, turns = Asker(namesake), Turns()
    shared = {
        "person": None, "contact": settings.contact, "form_token": "",
        "rooms": [("/", "Search"), ("/docs", "API")],
    }  # fmt: skip

    def page(name: str, request: Request, status: int = 200, **values: Any) -> Response:
        template = template_environment().get_template(name)
        return HTMLResponse(template.render(here=request.url.path, **shared, **values), status)

    @app.get("/", include_in_schema=False)
    def box(
        request: Request, q: Annotated[str, Query(max_length=LONGEST)] = "",
        said: Annotated[str, Query(max_length=LONGEST)] = "",
    ) -> Response:  # fmt: skip
        known = doors.has_token(request.cookies.get(_COOKIE, ""))
        if not (known or doors.public):
            return page("search.html", request, 401, open=False, q="", answer=None)
        answer = None
        if text := q.strip():
            with turns.taken(request, "who has the token" if known else ""):
                answer = asker.answer(text, said.strip())
        return page("search.html", request, open=True, q=text, answer=answer)

    @app.post("/enter", include_in_schema=False)
    async def enter(request: Request) -> Response:
        """Keeps a token in a cookie that only the page reads."""
        token = str((await request.form(max_files=0, max_fields=1)).get("token", "")).strip()
        response = RedirectResponse("/", 303)
        response.set_cookie(_COOKIE, token, httponly=True, samesite="strict", path="/")
        return response

    @app.get("/docs", include_in_schema=False)
    def docs(request: Request) -> Response:
        return page("api.html", request, calls=list(api_calls(app.openapi())))

    app.add_api_route("/assets/{name}", asset_response, include_in_schema=False)

    @app.middleware("http")
    async def measured(request: Request, call_next: Any) -> Response:
        began = time.perf_counter()
        response: Response = await call_next(request)
        path = getattr(request.scope.get("route"), "path", "other")
        metrics.add(path, response.status_code, time.perf_counter() - began)
        return response

    async def refusal(request: Request, error: Exception) -> Response:
        """As a page for a browser; as JSON for programs."""
        status, message, headers = refused(error)
        if "text/html" not in request.headers.get("accept", ""):
            return JSONResponse({"detail": message}, status, headers)
        response = page("refusal.html", request, status, code=status, message=message)
        response.headers.update(headers or {})
        return response

    for kind in REFUSED:
        app.add_exception_handler(kind, refusal)
    app.add_middleware(
        RequestGuard, hosts=settings.names, upload_bytes=settings.upload_bytes, body_seconds=settings.body_seconds, refusal=refusal,
    )  # fmt: skip
    return app


def api_calls(described: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each call of an API: how it is made, what it takes, and a line for a terminal."""
    schemas = described.get("components", {}).get("schemas", {})
    for path, methods in described["paths"].items():
        for method, call in methods.items():
            content = call.get("requestBody", {}).get("content", {})
            named = content.get("application/json", {}).get("schema", {}).get("$ref", "")
            body_fields = schemas.get(named.rpartition("/")[2], {}).get("properties", {})
            parameters = {p["name"]: {**p["schema"], **p} for p in call.get("parameters", [])}
            fields = [
                (name, _kind(field), _with_code(field.get("description", "")))
                for name, field in (body_fields | parameters).items()
            ]
            examples = {n: field["examples"][0] for n, field in body_fields.items() if field.get("examples")}
            body = f" --json '{json.dumps(examples)}'" if method == "post" else ""
            secret = " -H 'Authorization: Bearer TOKEN'" if call.get("security") else ""
            yield {
                "method": method.upper(), "path": path, "about": _with_code(call.get("description", "")),
                "fields": fields, "example": f"curl{secret}{body} ADDRESS{path}",
            }  # fmt: skip


def _with_code(text: str) -> Markup:
    """What stands between backticks as code."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))


def _kind(schema: dict[str, Any]) -> str:
    kinds = [schema, *schema.get("anyOf", [])]
    return next((str(k["type"]) for k in kinds if k.get("type") not in (None, "null")), "any")


def _shown(hit: Hit) -> dict[str, Any]:
    passage = hit.passage
    return {"id": hit.id, "score": hit.score, "title": passage.title, "text": passage.text,
            "page": passage.page, "entity": passage.entity, "fields": dict(hit.fields)}  # fmt: skip


def serve_search(index: str | Path, settings: SiteSettings) -> None:
    app, place = make_search_app(index, settings), settings.address
    tokens = {right: app.state.doors.token(right) for right in ("search", "change")}
    places = {"address": place, "api": f"{place}docs", "index": str(index), "tokens": tokens}
    lines = [f"searching {index}: a page at {place}, its API at {place}docs"]
    if importlib.util.find_spec("mcp") is not None:
        places["mcp"] = f"{place}mcp"
        lines.append(f"tools for assistants (Model Context Protocol, streamable HTTP) at {place}mcp")
    lines += [f"token to {right}:  {token}" for right, token in tokens.items()]
    lines.append('send it as a header: "Authorization: Bearer TOKEN", or give it to the page')
    run_server(app, settings, places, lines)
