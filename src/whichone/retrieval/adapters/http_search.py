"""`http`: a search service that answers JSON over HTTP.

    POST URL   {"questions": [{"id": "q1", "text": "Who ...?"}], "k": 20}
    answer     {"rankings": [{"question": "q1", "hits": [{"id": "enwiki:307#0", "score": 3.1,
                                                        "metadata": {}}]}]}

Rankings come in any order, one a question; hits are best first. `score` and `metadata` may be
left out. `mention` goes along where the question has one marked.
"""

import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing, UsageError
from whichone.files.lines import NOT_JSON
from whichone.records import Question, Ranking
from whichone.retrieval.adapters.adapted import Adapted, SystemHit

_AGAIN = frozenset([408, 425, 429, 500, 502, 503, 504])


class _Found(msgspec.Struct):
    question: str
    hits: list[SystemHit]


class _Reply(msgspec.Struct):
    rankings: list[_Found]


class Http(Adapted):
    """Asks a service over HTTP, `batch` questions at once, and again after a passing failure."""

    def __init__(
        self,
        corpus: Corpus,
        url: str,
        *,
        ids: str = "passage",
        batch: int = 32,
        timeout: float = 60.0,
        tries: int = 3,
        token_variable: str | None = None,
    ) -> None:
        super().__init__(corpus, ids=ids)
        if not url.startswith(("http://", "https://")):
            raise UsageError(f"{url!r} is no http address", hint="-o url=http://HOST:PORT/search")
        if token_variable and not os.environ.get(token_variable):
            raise Missing(f"the environment has no {token_variable}", hint="set it to the token")
        self.url, self.timeout, self.tries = url, float(timeout), max(1, int(tries))
        self.batch = max(1, int(batch))
        self._token = os.environ[token_variable] if token_variable else None

    @classmethod
    def over(
        cls,
        corpus: Corpus,
        work: Path,
        *,
        url: str | None = None,
        ids: str = "passage",
        batch: int = 32,
        timeout: float = 60.0,
        tries: int = 3,
        token_variable: str | None = None,
    ) -> Self:
        if url is None:
            raise UsageError("http needs an address", hint="-o url=http://HOST:PORT/search")
        options = {"batch": batch, "timeout": timeout, "tries": tries}
        return cls(corpus, url, ids=ids, token_variable=token_variable, **options)  # type: ignore[arg-type]

    def describe(self) -> dict[str, Any]:
        return {"retriever": "http", "url": self.url.partition("?")[0], "ids": self.rule.text}

    def _ask(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        for start in range(0, len(questions), self.batch):
            part = questions[start : start + self.batch]
            hits = self._hits(part, k)
            for question in part:
                yield self._ranking(question, hits[question.id], k)

    def _hits(self, questions: Sequence[Question], k: int) -> dict[str, list[SystemHit]]:
        asked = [
            {"id": q.id, "text": q.text} | ({"mention": q.mention} if q.mention else {}) for q in questions
        ]
        raw = self._post(msgspec.json.encode({"questions": asked, "k": k}))
        try:
            reply = msgspec.json.decode(raw, type=_Reply)
        except NOT_JSON as error:
            start = raw[:80].decode("utf-8", "replace")
            raise BadInput(
                f"the service's answer is not what is documented: {error} ({start!r})", where=self.url
            ) from error
        hits_of = {ranking.question: ranking.hits for ranking in reply.rankings}
        if without := [q.id for q in questions if q.id not in hits_of]:
            raise BadInput("the service left questions unanswered", where=self.url, ids=without)
        return hits_of

    def _post(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self.url, data=body, headers=headers, method="POST")
        for attempt in range(1, self.tries + 1):
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as reply:
                    return bytes(reply.read())
            except urllib.error.HTTPError as error:
                with error:
                    bodys = error.read(200).decode("utf-8", "replace").strip()
                if error.code not in _AGAIN or attempt == self.tries:
                    raise BadInput(
                        f"the service answered {error.code} {error.reason}: {bodys}", where=self.url
                    ) from None
            except (OSError, http.client.HTTPException) as error:
                if attempt == self.tries:
                    raise Missing(
                        f"the service does not answer: {error}",
                        where=self.url,
                        hint="is it running? started again, the run goes on where it stopped",
                    ) from error
            time.sleep(0.2 * 2**attempt)
        raise UsageError("tries must be at least 1")
