"""What all adapters share: the id rule, scores best first, and a first question asked alone."""

import functools
import importlib
import inspect
import sys
import traceback
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from whichone import registry
from whichone.corpus.corpus import Corpus
from whichone.errors import BadInput, Missing, UsageError, WhichoneError, did_you_mean, sample
from whichone.records import Question, Ranking

# From what a system calls its documents to pages and passages of the corpus, by a rule that is given.
# passage           the hit's id is a passage of the corpus, such as enwiki:307#0
# page              the hit's id is a page, such as enwiki:307
# source            the corpus' own id: its passages' where it has such, else its pages' (307)
# title             the hit's id is a page's title
# metadata:FIELD    a field of the hit's metadata is a passage or a page
# metadata:FIELD:R  a field of the hit's metadata, read by one of the first four rules


KINDS = ("passage", "page", "source", "title")
METADATA = "metadata"


class SystemHit(msgspec.Struct, frozen=True):
    id: str
    score: float | None = None
    metadata: Mapping[str, Any] = {}


class CorpusIds:
    """What each rule makes of an id; None where the corpus has nothing of that name."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        # pages spread over the corpus: all pages of one source are named alike
        some = sorted({n * corpus.page_count // 100 for n in range(100)}) if corpus.page_count else []
        self._sources = sorted({page.partition(":")[0] for page in corpus.page_ids(some)})

    def find(self, kind: str, text: str) -> str | None:
        if kind == "any":
            return self.find("passage", text) or self.find("page", text)
        if kind == "title":
            return self._titled(text) or self._titled(text.replace("_", " "))
        if kind == "source":
            return self._own(text)
        known = self._corpus.row if kind == "passage" else self._corpus.page_row
        return None if known(text) is None else text

    def _own(self, text: str) -> str | None:
        """A passage by the corpus' own id; a page's id where the corpus has no own ids."""
        if (row := self._corpus.by_source_id([text])[0]) is not None:
            return self._corpus.ids([row])[0]
        if self._corpus.has_source_ids:
            return None
        pages = (f"{source}:{text}" for source in self._sources)
        return next((page for page in pages if self._corpus.page_row(page) is not None), None)

    def _titled(self, title: str) -> str | None:
        """The page of a title that one page alone has."""
        pages = self._corpus.pages_titled(title)
        return pages[0] if len(pages) == 1 else None


class IdRule:
    """The rule as it was given, ready for one corpus."""

    def __init__(self, given: str, corpus: Corpus) -> None:
        self.text = given
        self.field, self.kind = parse_rule(given)
        self._ids = CorpusIds(corpus)
        self._corpus = corpus

    def apply(self, question: str, hits: Sequence[SystemHit]) -> list[tuple[str, float | None]]:
        """Our ids in the hits' order; an id that comes again counts where it came first."""
        best: dict[str, float | None] = {}
        for hit in hits:
            if (ours := self._one(hit)) is None:
                raise self._wrong(question, hits, hit)
            best.setdefault(ours, hit.score)
        return list(best.items())

    def _one(self, hit: SystemHit) -> str | None:
        text = value(hit, self.field)
        return None if text is None else self._ids.find(self.kind, text)

    def _wrong(self, question: str, hits: Sequence[SystemHit], hit: SystemHit) -> BadInput:
        """What came back, and which rules would have fitted all of it."""
        fitting = [rule for rule in self._other_rules(hits) if rule != self.text]
        example = self._corpus.ids([0])[0] if len(self._corpus) else "nothing"
        hint = (
            f"these rules fit what came back: {', '.join(f'ids={rule}' for rule in fitting[:4])}"
            if fitting
            else f"passages of this corpus are called {example}; was this very corpus indexed?"
        )
        if self.field is not None and self.field not in hit.metadata:
            fields = sample(sorted(map(str, hit.metadata))) or "no fields"
            message = f"ids={self.text}: a hit has no {self.field!r} in its metadata ({fields})"
        else:
            text = value(hit, self.field)
            noun = "page or passage" if self.kind == "any" else f"{self.kind} id".replace("title id", "title")
            message = f"ids={self.text}: the corpus has no such {noun}: {text!r}"
            if self.kind == "title" and (several := self._corpus.pages_titled(str(text))):
                message = f"ids={self.text}: {len(several):,} pages are titled {text!r}: return page ids"
        return BadInput(message, ids=[question], hint=hint)

    def _other_rules(self, hits: Sequence[SystemHit]) -> list[str]:
        fields: list[str | None] = [None, *sorted({str(f) for hit in hits for f in hit.metadata})]
        rules = []
        for field in fields:
            for kind in KINDS:
                texts = [value(hit, field) for hit in hits]
                if all(t is not None and self._ids.find(kind, t) is not None for t in texts):
                    rules.append(kind if field is None else f"{METADATA}:{field}:{kind}")
        return rules


def value(hit: SystemHit, field: str | None) -> str | None:
    if field is None:
        return hit.id
    field_value = hit.metadata.get(field)
    return None if field_value is None else str(field_value)


def parse_rule(given: str) -> tuple[str | None, str]:
    head, _, rest = given.partition(":")
    if head == METADATA and rest:
        field, mark, kind = rest.rpartition(":")
        if mark and kind in KINDS:
            return field, kind
        return rest, "any"
    if given not in KINDS:
        raise UsageError(
            f"ids={given} is no rule",
            hint=did_you_mean(given, KINDS) if head != METADATA else "write ids=metadata:FIELD",
        )
    return None, given


# What all adapters share: the id rule, scores best first, and a first question asked alone.


class Adapted:
    """A retriever whose `hits` come from elsewhere.

    The first question goes alone, so that a wrong rule or a service that does not answer is found
    at once, not after a block of questions.
    """

    def __init__(self, corpus: Corpus, *, ids: str) -> None:
        self.rule = IdRule(ids, corpus)
        self._tried = False

    def hits(self, texts: list[str], k: int) -> Sequence[Sequence[SystemHit]]:
        """The documents found for each text, best first."""
        raise UsageError(f"{type(self).__name__} has no hits(texts, k)")

    def details(self) -> dict[str, Any]:
        """Everything besides the rule that decides what is found; no secrets."""
        return {}

    def describe(self) -> dict[str, Any]:
        return {"retriever": type(self).__name__, **self.details(), "ids": self.rule.text}

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        if (rest := list(questions)) and not self._tried:
            yield from self._ask(rest[:1], k)
            self._tried, rest = True, rest[1:]
        if rest:
            yield from self._ask(rest, k)

    def _ask(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        all_hits = list(self.hits([question.text for question in questions], k))
        if len(all_hits) != len(questions):
            raise BadInput(f"{len(questions)} questions went in, {len(all_hits)} results came out")
        for question, hits in zip(questions, all_hits, strict=True):
            yield self._ranking(question, list(hits), k)

    def _ranking(self, question: Question, hits: list[SystemHit], k: int) -> Ranking:
        kept = self.rule.apply(question.id, hits)
        repeated = len(hits) - len(kept)
        return Ranking(
            question=question.id,
            passages=tuple(identity for identity, _ in kept[:k]),
            scores=best_first([score for _, score in kept[:k]]),
            notes={"several_hits_of_one_id": repeated} if repeated else {},
        )


def best_first(scores: Sequence[float | None]) -> tuple[float, ...]:
    """Scores that rise are distances and become negative; none at all where some are missing."""
    given = [score for score in scores if score is not None]
    if len(given) != len(scores):
        return ()
    rising = len(given) > 1 and given[-1] > given[0]
    return tuple(-float(s) if rising else float(s) for s in given)


def yes(value: Any) -> bool:
    """An option that is yes or no, as the command line gives it."""
    if isinstance(value, bool):
        return value
    if (text := str(value).strip().lower()) in ("yes", "true", "1", "no", "false", "0"):
        return text in ("yes", "true", "1")
    raise UsageError(f"{value!r} is neither yes nor no")


def user_object(make: Any, corpus: Corpus, what: str) -> Any:
    """What the user named as module:attribute; a function is called, with the corpus if it takes one."""
    import inspect

    if not make:
        raise UsageError(
            f"{what} needs the object to ask",
            hint="-o make=MODULE:NAME names it, or a function that makes it of the corpus",
        )
    value = load_function(make) if isinstance(make, str) else make
    if not (inspect.isfunction(value) or inspect.isclass(value)):
        return value
    build: Any = value
    try:
        inspect.signature(build).bind(corpus)
    except TypeError:
        return build()
    return build(corpus)


@contextmanager
def needs_adapter(package: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise Missing(
            f"the package {package} is not installed ({error.name or error})",
            hint=f"pip install 'whichone[adapters]', or only {package}",
        ) from error


# A plain function as a retriever: one text or a list in, ids or (id, score) pairs out.


_Search = Callable[..., Any]
MEND_IT = "fix it and start again: finished blocks are kept; or --on-error skip keeps it as a failure"


class FunctionRetriever:
    """Calls `search(text, k)`, or `search(texts, k)` when the function takes many at once.

    It takes many when `batched` says so or when its first parameter is annotated as a list or
    sequence; `k` is passed when the function has a second parameter, or one that is called k.
    """

    def __init__(self, search: _Search, *, batched: bool | None = None, name: str | None = None) -> None:
        if not callable(search):
            raise UsageError(
                f"a retriever is a function or has a search method, not {search!r}",
                hint="those of whichone are run by name: whichone retrieve BENCH RUN --retriever NAME",
            )
        if inspect.iscoroutinefunction(search):
            raise UsageError(
                f"{search.__qualname__} is async, and its result would never be waited for",
                hint="wrap it: def search(text, k): return asyncio.run(my_search(text, k))",
            )
        self._search = self.own_code = search
        self._batched = _takes_many(search) if batched is None else batched
        self._k = _how_k_is_passed(search)
        inner = search.func if isinstance(search, functools.partial) else search
        self.name = name or getattr(inner, "__qualname__", type(inner).__name__)
        self._options = search.keywords if isinstance(search, functools.partial) else {}
        self._module = getattr(inner, "__module__", "")

    def describe(self) -> dict[str, Any]:
        description = {"retriever": "function", "function": f"{self._module}:{self.name}"}
        return {**description, "options": dict(self._options)} if self._options else description

    def search(self, questions: Sequence[Question], k: int) -> Iterator[Ranking]:
        if not self._batched:
            for question in questions:
                yield self._one(question, k)
            return
        given = self._call([q.text for q in questions], k)
        if not isinstance(given, Iterable):
            raise BadInput(f"{given!r:.60} came back, where a list of ids for each question is expected")
        results = list(given)
        if len(results) != len(questions):
            raise BadInput(f"{len(questions)} questions went in, {len(results)} results came out")
        for question, result in zip(questions, results, strict=True):
            yield self._cut(ranking(question.id, result), k)

    def _one(self, question: Question, k: int) -> Ranking:
        """One question's ranking; an error, or an attempt to leave, names the question."""
        try:
            return self._cut(ranking(question.id, self._call(question.text, k)), k)
        except WhichoneError:
            raise
        except (Exception, SystemExit) as error:
            raise BadInput(
                f"{self.name} failed: {type(error).__name__}: {error}", ids=[question.id], hint=MEND_IT
            ) from error

    def _cut(self, given: Ranking, k: int) -> Ranking:
        """A function that does not know k may return more; of any other that is an error."""
        if self._k != "not":
            return given
        return msgspec.structs.replace(given, passages=given.passages[:k], scores=given.scores[:k])

    def _call(self, text: str | list[str], k: int) -> Any:
        if self._k == "name":
            return self._search(text, k=k)
        return self._search(text, k) if self._k == "place" else self._search(text)


def ranking(question: str, result: Any) -> Ranking:
    """Ids, or (id, score) pairs, or a mapping of id to score, as a ranking."""
    if result is None:
        raise BadInput(
            "None came back, where a list of ids is expected",
            ids=[question],
            hint="return [] where nothing is found",
        )
    if isinstance(result, str | bytes):
        raise BadInput(f"a text came back ({result[:40]!r}), where a list of ids is expected", ids=[question])
    if isinstance(result, set | frozenset):
        raise BadInput("a set came back, which has no order", ids=[question], hint="give a list, best first")
    if isinstance(result, dict):
        result = sorted(result.items(), key=lambda pair: -pair[1])
    if (items := list(result)) and isinstance(items[0], dict):
        raise BadInput(
            f"records came back ({items[0]!r:.60}), where ids are expected",
            ids=[question],
            hint="give the id of each, or (id, score)",
        )
    if not items or not isinstance(items[0], tuple | list):
        return Ranking(question=question, passages=tuple(map(str, items)))
    try:
        return Ranking(
            question=question,
            passages=tuple(str(identity) for identity, _ in items),
            scores=tuple(float(score) for _, score in items),
        )
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"(id, score) pairs are expected, not {items[0]!r:.60}: {error}",
            ids=[question],
            hint="a function that takes many questions at once says so: search(texts: list[str], k)",
        ) from error


def _how_k_is_passed(search: _Search) -> Literal["place", "name", "not"]:
    """In second place, by name where it can only be named, or not at all."""
    try:
        parameters = inspect.signature(search).parameters
    except (TypeError, ValueError):
        return "place"
    kinds = [p.kind for p in parameters.values()]
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return "place"
    if not any(kind in places for kind in kinds):
        raise UsageError(f"{search!r} takes no question", hint="write it as search(text, k)")
    by_name = parameters.get("k")
    if by_name is not None and by_name.kind is inspect.Parameter.KEYWORD_ONLY:
        return "name"
    if sum(kind in places for kind in kinds) > 1:
        return "place"
    return "name" if inspect.Parameter.VAR_KEYWORD in kinds else "not"


def _takes_many(search: _Search) -> bool:
    try:
        hints = typing.get_type_hints(search)
        first = next(iter(inspect.signature(search).parameters))
    except (TypeError, ValueError, NameError, StopIteration):
        return False
    hint = hints.get(first)
    origin = typing.get_origin(hint) or hint
    return isinstance(origin, type) and origin is not str and issubclass(origin, Sequence)


def load_function(place: str) -> Any:
    """What `module:attribute` means, looked up in the current folder first."""
    registry.refuse_unnamed(place)
    module, _, attribute = place.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        loaded: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise Missing(
            f"there is no module {error.name!r}", hint="is it in this folder, or installed?"
        ) from error
    except Exception as error:
        raise BadInput(
            f"{module} fails when it is imported: {type(error).__name__}: {error}", where=_raised_at(error)
        ) from error
    for part in attribute.split("."):
        if not hasattr(loaded, part):
            raise UsageError(f"{module} has no {attribute!r}")
        loaded = getattr(loaded, part)
    return loaded


def _raised_at(error: Exception) -> str | None:
    """File and line of the user's code where an error comes from."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None
