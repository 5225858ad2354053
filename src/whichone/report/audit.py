"""Before any benchmark: which names of a corpus are shared, by whom, and how much they are asked about."""

import contextlib
import re
import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import KIND as BENCHMARK
from whichone.corpus.corpus import KIND as CORPUS
from whichone.corpus.corpus import Corpus
from whichone.corpus.passage_files import FilePassages, PassageFields, read_records
from whichone.corpus.save import save_corpus
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.lines import read_text_lines
from whichone.files.manifest import MANIFEST
from whichone.measures.worst import ASKING
from whichone.names import fold, title_key, without_parentheses
from whichone.progress import talk
from whichone.retrieval.bm25.analysis import LUCENE_STOP_WORDS
from whichone.retrieval.namesake.given import pages_of, things

_WORD = re.compile(r"\w+(?:['’-]\w+)*")
MOST = 20
_LONGEST = 6


class SharedName(msgspec.Struct, kw_only=True):
    """A name, who has it, and how often it is asked about."""

    name: str
    bearers: list[str]
    documents: int
    questions: int = 0
    example: str = ""


class Audit(msgspec.Struct, kw_only=True):
    corpus: str
    documents: int
    names: int
    shared: int
    affected_documents: int
    unnamed: int
    """Entities that neither a given name nor a title names."""
    questions: int | None
    affected_questions: int | None
    worst: list[SharedName]


def audit(
    corpus: str | Path,
    *,
    log: str | Path | None = None,
    question: str = "question",
    fields: PassageFields | None = None,
    names: str | Path | None = None,
) -> Audit:
    """Names shared by two or more bearers: entities where the corpus says them, else pages.

    `names` is a file of records with an id (an entity, page or passage) and a name; where it says nothing the
    names are the titles that name somebody (`corpus.page_names`).
    """
    with _opened(corpus, fields or PassageFields()) as held:
        documents, bearers_of_pages = _documents(held)
        names_of = _given(held, names, bearers_of_pages)
        given = frozenset(names_of)
        for name, page in _titles(held):
            if bearers_of_pages[page] not in given:
                names_of.setdefault(bearers_of_pages[page], {}).setdefault(_key(name), name)
        titles = {page: held.title(page) for page in bearers_of_pages}
    of_bearer: dict[str, list[str]] = {}
    for page, bearer in bearers_of_pages.items():
        of_bearer.setdefault(bearer, []).append(page)
    bearers: dict[str, list[str]] = {}
    for bearer in sorted(names_of):
        for key in filter(None, names_of[bearer]):
            bearers.setdefault(key, []).append(bearer)
    shared = {
        key: SharedName(
            name=without_parentheses(names_of[who[0]][key]),
            bearers=[f"{_called(names_of[b][key], titles[of_bearer[b][0]])} ({b})" for b in who],
            documents=sum(documents[page] for b in who for page in of_bearer[b]),
        )
        for key, who in bearers.items()
        if len(who) > 1
    }
    affected_bearers = {b for key in shared for b in bearers[key]}
    asked, affected = _asked(log, question, shared, bearers) if log is not None else (None, None)
    worst = sorted(shared.values(), key=lambda s: (-s.questions, -len(s.bearers), s.name))[:MOST]
    return Audit(
        corpus=str(corpus),
        documents=sum(documents.values()),
        names=len(bearers),
        shared=len(shared),
        affected_documents=sum(documents[p] for b in affected_bearers for p in of_bearer[b]),
        unnamed=len(of_bearer.keys() - names_of.keys()),
        questions=asked,
        affected_questions=affected,
        worst=worst,
    )


@contextlib.contextmanager
def _opened(corpus: str | Path, fields: PassageFields) -> Iterator[Corpus]:
    if str(corpus).startswith("builtin/"):
        yield Benchmark.open(corpus).corpus
    elif (Path(corpus) / MANIFEST).exists():
        folder = Folder.open(corpus, (CORPUS, BENCHMARK))
        yield Corpus.open(corpus) if folder.manifest.kind == CORPUS else Benchmark(folder).corpus
    else:
        with tempfile.TemporaryDirectory(prefix="whichone-audit-") as place:
            yield save_corpus(Path(place) / "corpus", FilePassages(corpus, fields), remembered=False)


def _documents(corpus: Corpus) -> tuple[dict[str, int], dict[str, str]]:
    """How many documents each page is, and whose page it is: an entity's, or its own.

    A page that gathers what is about an entity is as many documents as passages; any other is one.
    """
    counts: dict[str, int] = {}
    bearers: dict[str, str] = {}
    for batch in corpus.batches(["page", "entity"]):
        for page, entity in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            gathers = entity is not None and page.endswith(f":{entity}")
            counts[page] = counts.get(page, 0) + 1 if gathers else 1
            if entity is not None or page not in bearers:
                bearers[page] = entity or page
    return counts, bearers


def _given(corpus: Corpus, names: str | Path | None, bearers: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The names that were given for each bearer with documents, by their keys."""
    listed = list(things(names))
    pages = pages_of(corpus, [thing.id for thing in listed])
    results: dict[str, dict[str, str]] = {}
    without = 0
    for thing in listed:
        known = corpus.page_ids(pages[thing.id])
        without += not known
        for bearer in {bearers[page] for page in known}:
            results.setdefault(bearer, {}).update({_key(name): name for name in thing.names})
    if without:
        talk(f"{without:,} of {len(listed):,} given names are those of no entity, page or passage here")
    return results


def _called(name: str, title: str) -> str:
    """Somebody as the page is titled, where the title is the name."""
    return title if _key(title) == _key(name) else name


def _key(name: str) -> str:
    """A list of people has both "José García" and "Jose Garcia": accents make no other name here."""
    return fold(title_key(name))


def _titles(corpus: Corpus) -> Iterator[tuple[str, str]]:
    """The titles that name somebody and what a catalogue calls somebody, with their pages."""
    for batch in corpus.names.table.batches(["name", "page", "kind"]):
        titles = batch.filter(pc.is_in(batch["kind"], pa.array(["title", "alias"])))
        yield from zip(titles["name"].to_pylist(), corpus.page_ids(titles["page"].to_pylist()), strict=True)


def _asked(
    log: str | Path, field: str, shared: dict[str, SharedName], known: Container[str]
) -> tuple[int, int]:
    """How many logged questions there are, and how many of them name a shared name."""
    total = affected = 0
    for text in _texts(log, field):
        total += 1
        shared_keys = {key for key in _named(text, known) if key in shared}
        affected += bool(shared_keys)
        for key in shared_keys:
            shared[key].questions += 1
            shared[key].example = shared[key].example or text
    if not total:
        raise BadInput("there are no questions in it", file=log)
    return total, affected


def _texts(log: str | Path, field: str) -> Iterator[str]:
    """Questions of a log: a field of records, or the lines of a plain text."""
    if Path(log).suffix == ".txt":
        yield from filter(None, (text.strip() for _, text in read_text_lines(log)))
        return
    for line, record in read_records(log):
        if field not in record:
            raise BadInput(
                f"the record has no field {field!r}", file=log, line=line, hint="name it: --question"
            )
        yield str(record[field])


def _named(text: str, known: Container[str]) -> set[str]:
    """The known names in a text, the longest first at each word: "San José" does not name "San"."""
    words = _WORD.findall(text)
    keys: set[str] = set()
    start = 0
    while start < len(words):
        for end in range(min(start + _LONGEST, len(words)), start, -1):
            key = re.sub(r"['’]s$", "", fold(" ".join(words[start:end])))
            if key in known and (end - start > 1 or _is_name(words, start)):
                keys.add(key)
                start = end - 1
                break
        start += 1
    return keys


def _is_name(words: Sequence[str], place: int) -> bool:
    """Whether a single word is used as a name: "More" is also a word, and "John" a part of many names.

    Words that are in every text never are. In a question with capitals it has one, and its neighbours
    have none.
    """
    capital = [word[:1].isupper() for word in words]
    if words[place].lower() in LUCENE_STOP_WORDS | ASKING:
        return False
    beside = capital[max(1, place - 1) : place] + capital[place + 1 : place + 2]
    return not any(capital[1:]) or (capital[place] and not any(beside))


def in_words(audit_report: Audit) -> str:
    """The audit as a page of Markdown that needs no knowledge of search."""
    share = audit_report.affected_documents / audit_report.documents
    lines = [
        f"# Shared names in {Path(audit_report.corpus).name}",
        "",
        f"**{audit_report.shared:,} of {audit_report.names:,} names belong to more than one entry.** They are on",
        f"{audit_report.affected_documents:,} of {audit_report.documents:,} documents ({share:.1%}). Whoever asks about",
        "one of these names without saying which one is meant may get an answer about somebody else.",
        "",
    ]
    if audit_report.unnamed:
        lines += [
            f"{audit_report.unnamed:,} more have no name: no title is that of all their documents or is mentioned in the",
            "others. Give their names: `--names FILE`, records with id and name.",
            "",
        ]
    if audit_report.questions is not None and audit_report.affected_questions is not None:
        asked = audit_report.affected_questions / audit_report.questions
        lines += [
            f"**{audit_report.affected_questions:,} of {audit_report.questions:,} logged questions ({asked:.1%}) name one of them.**",
            "",
        ]
    if audit_report.worst:
        lines += [
            f"## The {len(audit_report.worst)} worst",
            "",
            "| name | bearers | documents | questions | who |",
            "| --- | ---: | ---: | ---: | --- |",
        ]
        lines += [
            f"| {s.name} | {len(s.bearers):,} | {s.documents:,} | {s.questions:,} | {_who(s)} |"
            for s in audit_report.worst
        ]
    lines += [
        "",
        "What to do next: `whichone import questions` or `whichone build catalogue` makes a benchmark of",
        "these names, and `whichone check` tests your search on it.",
    ]
    return "\n".join(lines) + "\n"


def _who(shared: SharedName) -> str:
    first = "; ".join(shared.bearers[:3]).replace("|", "/")
    more = len(shared.bearers) - 3
    return f"{first}; and {more:,} more" if more > 0 else first
