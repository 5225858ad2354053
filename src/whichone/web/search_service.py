"""An index of `namesake` as an HTTP service: search, updates, health and metrics, with tokens."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Depends, FastAPI, Query
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from whichone.errors import WhichoneError
from whichone.namesake import Hit, Namesake
from whichone.versions import versions
from whichone.web.limits import Guard, TooLarge, TooSlow
from whichone.web.web_site import LOOPBACK, Settings, Tokens, secret_in

Right = Literal["search", "change"]
Credentials = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]
_KEPT_TIMES = 10_000
_QUANTILES = (0.5, 0.95, 0.99)
LONGEST_QUESTION = 10_000
MOST_QUESTIONS = 1_000


class Asked(BaseModel):
    """A question, or several."""

    text: str | None = Field(None, max_length=LONGEST_QUESTION, examples=["Where is Ada Park?"])
    texts: list[Annotated[str, Field(max_length=LONGEST_QUESTION)]] | None = Field(
        None, max_length=MOST_QUESTIONS
    )
    k: int = Field(5, ge=1, le=1000)
    filter: dict[str, Any] | None = Field(None, examples=[{"tenant": "acme"}])
    """Applied before anything is ranked."""


class Unsure(BaseModel):
    """A question whose name is to be resolved, and what was answered when it was asked back."""

    text: str = Field(max_length=LONGEST_QUESTION)
    answer: str = Field("", max_length=LONGEST_QUESTION)
    filter: dict[str, Any] | None = None


class Added(BaseModel):
    """Passages with id, title, text, entity and any further fields; names with id, name, aliases."""

    passages: list[dict[str, Any]] = []
    names: list[dict[str, Any]] = []


class Removed(BaseModel):
    """Passages or pages by id, or all that is about an entity."""

    ids: list[str] = []
    entity: str | None = None


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
        lines = ["# TYPE whichone_passages gauge", f"whichone_passages {passages}"]
        lines.append("# TYPE whichone_requests_total counter")
        with self._lock:
            for (path, status), count in sorted(self._count.items()):
                lines.append(f'whichone_requests_total{{path="{path}",status="{status}"}} {count}')
            lines.append("# TYPE whichone_request_seconds summary")
            for path, seconds in sorted(self._last.items()):
                ordered = sorted(seconds)
                for quantile in _QUANTILES:
                    value = ordered[min(len(ordered) - 1, int(quantile * len(ordered)))]
                    label = f'path="{path}",quantile="{quantile}"'
                    lines.append(f"whichone_request_seconds{{{label}}} {value:.6f}")
                total = sum(n for (at, _), n in self._count.items() if at == path)
                sums = f"{self._seconds[path]:.6f}"
                lines.append(f'whichone_request_seconds_sum{{path="{path}"}} {sums}')
                lines.append(f'whichone_request_seconds_count{{path="{path}"}} {total}')
        return "\n".join(lines) + "\n"


class Doors:
    """Who may search and who may change; a token is signed for one of the two."""

    def __init__(self, secret: str, *, login: bool, public: bool) -> None:
        self._tokens = Tokens(secret)
        self._open: set[Right] = {"search", "change"} if not login else set()
        if public:
            self._open.add("search")

    def token(self, right: Right) -> str:
        return self._tokens.sign(f"index:{right}")

    def need(self, right: Right, credentials: HTTPAuthorizationCredentials | None) -> None:
        if right in self._open:
            return
        rights = {"search": ("index:search", "index:change"), "change": ("index:change",)}
        signed = None if credentials is None else self._tokens.link(credentials.credentials)
        if signed is None:
            raise HTTPException(401, "a token is needed", {"www-authenticate": "Bearer"})
        if signed not in rights[right]:
            raise HTTPException(403, "this token allows no changes")


def make_search_app(index: str | Path, settings: Settings) -> FastAPI:
    """The service over one index."""
    namesake = Namesake.open(index)
    namesake.search("the name of a thing", 1)  # what is compiled is compiled before anybody waits
    place = settings.secret or Path(index) / ".search-secret"
    doors = Doors(secret_in(place), login=settings.login, public=settings.public)
    metrics = Metrics()

    def may_search(credentials: Credentials) -> None:
        doors.need("search", credentials)

    def may_change(credentials: Credentials) -> None:
        doors.need("change", credentials)

    app = FastAPI(
        title="whichone search",
        version=versions().get("whichone", "0"),
        description="Searches passages; of several things of one name the one that is meant.",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
    )
    app.state.doors = doors
    app.state.namesake = namesake
    searching, changing = [Depends(may_search)], [Depends(may_change)]

    @app.post("/search", dependencies=searching)
    def search(asked: Asked) -> dict[str, Any]:
        """The best passages for a question; for `texts` a list of such lists."""
        if (asked.text is None) == (asked.texts is None):
            raise HTTPException(422, "send either text or texts")
        namesake.refresh()
        texts = [asked.text] if asked.text is not None else asked.texts or []
        answers = namesake.search_many(texts, asked.k, filter=asked.filter)
        shown = [[_shown(hit) for hit in hits] for hits in answers]
        return {"results": shown[0] if asked.text is not None else shown}

    @app.get("/search", dependencies=searching)
    def search_by_address(
        q: Annotated[str, Query(max_length=LONGEST_QUESTION)],
        k: Annotated[int, Query(ge=1, le=1000)] = 5,
    ) -> dict[str, Any]:
        """The same for one question without a filter."""
        namesake.refresh()
        return {"results": [_shown(hit) for hit in namesake.search(q, k)]}

    @app.post("/resolve", dependencies=searching)
    def resolve(unsure: Unsure) -> dict[str, Any]:
        """Who the name in a question means, how likely, and the question back where that is open."""
        namesake.refresh()
        believed = namesake.resolve(unsure.text, answer=unsure.answer, filter=unsure.filter)
        shown: dict[str, Any] = msgspec.to_builtins(believed)
        return shown

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

    @app.middleware("http")
    async def measured(request: Request, call_next: Any) -> Response:
        began = time.perf_counter()
        response: Response = await call_next(request)
        route = request.scope.get("route")
        path = getattr(route, "path", "other")
        metrics.add(path, response.status_code, time.perf_counter() - began)
        return response

    app.add_exception_handler(WhichoneError, _own_error)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(TooLarge, _too_large)
    app.add_exception_handler(TooSlow, _too_slow)
    app.add_middleware(
        Guard,
        hosts=(*LOOPBACK, *settings.hosts) if settings.loopback else settings.hosts,
        upload_bytes=settings.upload_bytes,
        body_seconds=settings.body_seconds,
    )
    return app


def _shown(hit: Hit) -> dict[str, Any]:
    return {
        "id": hit.id,
        "score": hit.score,
        "title": hit.passage.title,
        "text": hit.passage.text,
        "page": hit.passage.page,
        "entity": hit.passage.entity,
        "fields": dict(hit.fields),
    }


async def _own_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, WhichoneError)
    hint = f" ({error.hint})" if error.hint else ""
    return JSONResponse({"detail": error.message + hint}, 422)


async def _malformed(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    return JSONResponse({"detail": f"{'.'.join(map(str, first['loc']))}: {first['msg']}"}, 422)


async def _too_large(request: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, 413)


async def _too_slow(request: Request, error: Exception) -> Response:
    return JSONResponse({"detail": str(error)}, 408, {"connection": "close"})


def serve_search(index: str | Path, settings: Settings) -> None:
    """Run until stopped; prints the address and the tokens."""
    from whichone.progress import talk
    from whichone.web.limits import run_server

    app = make_search_app(index, settings)
    shown = f"[{settings.host}]" if ":" in settings.host else settings.host
    place = f"http://{shown}:{settings.port}"
    talk(f"searching {index} at {place}/search; its API is described at {place}/openapi.json")
    if settings.login:
        talk(f"token to search:  {app.state.doors.token('search')}")
        talk(f"token to change:  {app.state.doors.token('change')}")
        talk('send it as a header: "Authorization: Bearer TOKEN"')
    else:
        talk("without login: whoever reaches this address may search and change the index")
    run_server(app, host=settings.host, port=settings.port, body_seconds=settings.body_seconds)
