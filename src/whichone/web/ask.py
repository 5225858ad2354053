"""The box: who each system thinks a visitor's question means, why, and what it hands over."""

import contextlib
import functools
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import Stemmer
from fastapi import APIRouter, Query
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from whichone.corpus.corpus import Corpus
from whichone.files.folder import folder_kinds
from whichone.files.manifest import MANIFEST, decode_manifest
from whichone.names import fold
from whichone.namesake import Hit, Namesake
from whichone.records import Passage, Question
from whichone.retrieval.indexes import KIND as INDEX
from whichone.retrieval.indexes import open_index_folder
from whichone.retrieval.namesake import NamesakeRetriever
from whichone.text.normalisers import stop_words
from whichone.web.explorer import explorer_views, listing
from whichone.web.explorer.explorer_index import NotReady
from whichone.web.limits import TokenBuckets
from whichone.web.pages import may_read, or_not_found, readable_benchmarks, show, visitor
from whichone.web.served_folder import ServedBenchmark
from whichone.web.web_site import Here, Site, site_of

LONGEST = 500  # Letters of a question that is taken
HITS = 3
_PATIENCE = 2.0  # Seconds to wait for a turn, and for an index that is being made
_LARGEST = 200_000  # Passages of a corpus that is indexed when somebody first comes
_OPEN = 4
_MOST_OTHERS = 6
_Search = Callable[[str, int], Sequence[Hit]]


class Turns:
    """How often may be asked, by one person or address and by all visitors without a link, and how many at a time.

    Two questions are worked on at a time, of visitors without a link one: they cannot lock out who has one.
    """

    def __init__(self) -> None:
        self._own, self._visitors = TokenBuckets(1.0, 20), TokenBuckets(5.0, 100)
        self._free, self._for_visitors = threading.BoundedSemaphore(2), threading.BoundedSemaphore(1)

    @contextmanager
    def taken(self, request: Request, person: str = "") -> Iterator[None]:
        """A turn for a person, or for an address where nobody is known."""
        address = f"host {request.client.host if request.client else ''}"
        if not self._own.take(person or address) or not (person or self._visitors.take("all")):
            raise HTTPException(429, "too many questions; wait a moment", {"retry-after": "5"})
        with contextlib.ExitStack() as held:
            for turns in (self._free,) if person else (self._for_visitors, self._free):
                if not turns.acquire(timeout=_PATIENCE):
                    raise HTTPException(503, "many are asking just now", {"retry-after": "3"})
                held.callback(turns.release)
            yield


# What words of a question a passage has, by their beginnings.

_WORD = re.compile(r"\w+")
_LENGTH = 320


@functools.lru_cache(maxsize=256)
def _stems(text: str) -> tuple[str, ...]:
    words = (w for w in _WORD.findall(fold(text)) if w not in stop_words())
    return tuple(dict.fromkeys(w if len(w) < 5 else w[: max(4, len(w) - 2)] for w in words))


def marked(text: str, question: str, name: str = "") -> Markup:
    """A passage with the question's words in <mark>, the name's own aside, from where they begin."""
    own = set(_WORD.findall(fold(name)))
    wanted = tuple(s for s in _stems(question) if not any(w.startswith(s) for w in own))
    found = [m for m in _WORD.finditer(text) if wanted and fold(m.group()).startswith(wanted)]
    start = 0
    if len(text) > _LENGTH and found and found[0].end() > _LENGTH:
        start = text.rfind(" ", 0, max(1, found[0].start() - _LENGTH // 3)) + 1
    end = len(text) if len(text) - start <= _LENGTH else text.rfind(" ", start, start + _LENGTH)
    parts, at = [Markup("… ") if start else Markup("")], start
    for match in found:
        if match.start() >= at and match.end() <= end:
            parts += [escape(text[at : match.start()]), Markup("<mark>{}</mark>").format(match[0])]
            at = match.end()
    return Markup("").join([*parts, escape(text[at:end]), " …" if end < len(text) else ""])


# One question, asked of `namesake` and of others over the same passages.


class Asker:
    """An index of `namesake` and other indexes of the same passages."""

    def __init__(self, namesake: Namesake, others: Mapping[str, _Search] | None = None) -> None:
        own: dict[str, _Search] = {"namesake": namesake.search, "BM25": namesake.by_words}
        self.namesake, self._systems = namesake, own | dict(others or {})
        self.open_question: str | None = None  # A question to click on that one is asked back to
        self._stems = Stemmer.Stemmer(namesake.describe()["bm25"]["stemmer"])

    def answer(self, text: str, said: str = "") -> dict[str, Any]:
        """Who is meant and how likely, with reasons, and the first passages of each system."""
        self.namesake.refresh()
        believed = self.namesake.resolve(text, answer=said)
        name, wider = believed.name or "", f"{text} {said}".strip()
        found = {system: search(wider, HITS) for system, search in self._systems.items()}
        words = self._by_stem([wider, *(h.passage.text for hits in found.values() for h in hits)])
        bearers = [
            {
                "id": b.id, "title": b.title, "probability": b.probability,
                "what": next((b.attributes[k] for k in ("is", "title") if b.attributes.get(k)), ""),
                "reasons": [("for", r) for r in _readable(b.speaks_for, words)]
                + [("against", r) for r in _readable(b.speaks_against, words)],
            }
            for b in believed.bearers[:8]
        ]  # fmt: skip
        nobody = max(0.0, 1 - sum(b.probability for b in believed.bearers)) if bearers else 0.0
        places = {b.id: n for n, b in enumerate(believed.bearers)}
        systems = []
        for system, returned in found.items():
            hits = [
                {"title": p.title, "text": marked(p.text, wider, name), "about": p.entity or p.page}
                for p in (hit.passage for hit in returned)
            ]
            systems.append({"name": system, "hits": hits, **_against(hits, places)})
        return {
            "text": text, "said": said, "name": name, "bearers": bearers, "nobody": nobody,
            "sure": believed.resolvable, "question": believed.question, "systems": systems,
        }  # fmt: skip

    def _by_stem(self, texts: Iterable[str]) -> dict[str, str]:
        words: dict[str, str] = {}
        for word in (w for text in texts for w in _WORD.findall(text.lower())):
            words.setdefault(self._stems.stemWord(fold(word)), word)
        return words


_KIND = re.compile(r"is an? .*?(?:; the question asks for|(, not what one asks for)) (.*)")


def _readable(reasons: Iterable[str], words: Mapping[str, str]) -> list[str]:
    """Reasons for readers: words in place of their stems, what is asked for in place of kinds of things."""
    readable = []
    for reason in reasons:
        if kind := _KIND.fullmatch(reason):
            reason = f"{'does not fit' if kind[1] else 'fits'} what is asked ({kind[2]})"
        elif reason.startswith("says ") and not reason.startswith("says nothing"):
            phrases = [phrase.split() for phrase in reason.removeprefix("says ").split(", ")]
            known = [" ".join(words[s] for s in p) for p in phrases if all(s in words for s in p)]
            shown = [w for w in known if not any(w != other and w in other for other in known)]
            reason = (
                "says " + ", ".join(f"“{w}”" for w in dict.fromkeys(shown))
                if shown
                else "says something of it"
            )
        readable.append(re.sub(r" \((?:BM25 )?[\d.]+\)", "", reason))
    return readable


def _against(hits: Sequence[Mapping[str, Any]], places: Mapping[str, int]) -> dict[str, str]:
    """Whether a system hands over the one who is thought to be meant, another bearer, or neither."""
    if not hits or not places:
        return {"kind": "other", "words": "" if hits else "∅ nothing"}
    if (place := places.get(hits[0]["about"])) is None:
        return {"kind": "other", "words": "– something else"}
    kind, words = ("namesake", "✗ another of the name") if place else ("gold", "✓ the likeliest one")
    return {"kind": kind, "words": words}


# Which corpora can be asked on a server: small ones at once, others where an index is below its folder.


class Askers:
    """Of each corpus the open indexes; made by one thread, the last few kept open."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache / "ask"
        self._worker = ThreadPoolExecutor(1, "ask")
        self._lock = threading.Lock()
        self._made: OrderedDict[str, Future[Asker]] = OrderedDict()

    def of(self, site: Site, served: ServedBenchmark, *, wait: bool = True) -> Asker | None:
        """None where the corpus is large and nobody has indexed it, or where it is not to be waited for."""
        corpus = served.corpus
        with self._lock:
            known = self._made.get(corpus.hash)
            if known is None or (known.done() and known.exception()):
                indexes = dict(_indexes(site, corpus.hash))
                if not indexes and len(corpus) > _LARGEST:
                    return None
                known = self._made[corpus.hash] = self._worker.submit(self._open, site, served, indexes)
            self._made.move_to_end(corpus.hash)
            while len(self._made) > _OPEN:
                self._made.popitem(last=False)
        try:
            return known.result(_PATIENCE if wait else 0)
        except NotYet:
            if not wait:
                return None
            raise NotReady(f"the passages of {served.name} are being indexed, once") from None

    def examples(self, site: Site, served: ServedBenchmark) -> list[str]:
        asker = self.of(site, served, wait=False)
        return [
            *explorer_views.example_questions(site.folder.benchmark_index(served)),
            *([asker.open_question] if asker and asker.open_question else []),
        ]

    def _open(self, site: Site, served: ServedBenchmark, indexes: Mapping[str, Path]) -> Asker:
        made_by = {n: decode_manifest(p / MANIFEST).parameters.get("retriever") for n, p in indexes.items()}
        if not (ours := [place for n, place in indexes.items() if made_by[n] == "namesake"]):
            ours = [NamesakeRetriever.over(served.corpus, self._cache, encoder="none").folder]
        others = [n for n in indexes if made_by[n] not in ("namesake", "bm25")]
        corpus = served.corpus
        searches = {
            name: functools.partial(_search, open_index_folder(indexes[name]), corpus)
            for name in others[:_MOST_OTHERS]
        }
        asker = Asker(Namesake.open(ours[0]), searches)
        with contextlib.suppress(NotReady):
            short = explorer_views.short_questions(site, served)
            asker.open_question = next((q for q in short if asker.namesake.resolve(q).question), None)
        return asker

    def close(self) -> None:
        self._worker.shutdown(wait=False, cancel_futures=True)


def _search(retriever: Any, corpus: Corpus, text: str, k: int) -> list[Hit]:
    (ranking,) = retriever.search([Question(id="asked", text=text)], k)
    own, pages = corpus.rows(ranking.passages), corpus.page_rows(ranking.passages)
    # of systems that rank pages: the first passage
    firsts = (None if page is None else corpus.rows_of(page).start for page in pages)
    rows = [first if row is None else row for row, first in zip(own, firsts, strict=True)]
    table = corpus.take([row for row in rows if row is not None], ["id", "page", "title", "text", "entity"])
    return [Hit(Passage(**row), 0.0) for row in table.to_pylist()]


def _indexes(site: Site, corpus: str) -> Iterator[tuple[str, Path]]:
    """Index folders below the served folder that are of this corpus."""
    if site.folder.root is None:
        return
    for place, kind in folder_kinds(site.folder.root):
        own = kind == INDEX and not (place.parent / MANIFEST).exists()  # not inside of another index
        if own and decode_manifest(place / MANIFEST).parents.get("corpus") == corpus:
            yield place.name, place


def asked_before(site: Site, served: ServedBenchmark, text: str) -> dict[str, Any] | None:
    """The benchmark's own question with these words, and what its runs handed over for it."""
    rows = explorer_views.search(site, served, listing.WantedRows(text=text), (), listing.find_queries).rows
    if (same := next((row for row in rows if fold(row["input"]) == fold(text)), None)) is None:
        return None
    runs = explorer_views.chosen_runs(served, (), _MOST_OTHERS)
    return explorer_views.query_view(site, served, same["q"], runs)


router = APIRouter(include_in_schema=False)


def open_to(request: Request) -> list[ServedBenchmark]:
    """The benchmarks whose passages a visitor may ask: one of each corpus, none that is hidden."""
    by_corpus: dict[str, ServedBenchmark] = {}
    for served in readable_benchmarks(site_of(request), visitor(request)):
        by_corpus.setdefault(served.corpus.hash, served)
    return list(by_corpus.values())


@router.get("/ask")
def ask(
    request: Request, site: Here, q: Annotated[str, Query(max_length=LONGEST)] = "",
    said: Annotated[str, Query(max_length=LONGEST)] = "",
    b: Annotated[str, Query(max_length=40)] = "",
) -> Response:  # fmt: skip
    person = may_read(request)
    listed = open_to(request)
    served = or_not_found(next((s for s in listed if b in ("", s.key)), None), "benchmark to ask")
    text, answer, before = q.strip(), None, None
    askers: Askers = request.app.state.askers
    if text:
        with request.app.state.turns.taken(request, person.id if person else ""):
            asker = askers.of(site, served)
            answer = asker.answer(text, said.strip()) if asker else None
            before = asked_before(site, served, text) if answer else None
    return show(
        request, "ask.html", served=served, listed=listed, q=text, answer=answer, before=before,
        examples=askers.examples(site, served) if not answer else [], action="/ask",
    )  # fmt: skip
