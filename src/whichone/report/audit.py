"""Before any benchmark: which names of a corpus are shared, by whom, and how much they are asked about."""

import contextlib
import math
import re
import tempfile
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from whichone.benchmarks.benchmark import Benchmark
from whichone.benchmarks.benchmark_tables import KIND as BENCHMARK
from whichone.corpus.corpus import KIND as CORPUS
from whichone.corpus.corpus import Corpus
from whichone.corpus.given import Thing, pages_of, things
from whichone.corpus.passage_files import ENTITY, CorpusFields, FilePassages, PassageFields, read_records
from whichone.corpus.save import save_corpus
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.files.lines import read_text_lines, write_atomic
from whichone.files.manifest import MANIFEST
from whichone.measures.worst import ASKING
from whichone.names import fold, title_key, without_parentheses
from whichone.options import Option, takes
from whichone.progress import progress, talk
from whichone.records import grouped
from whichone.retrieval.bm25.analysis import LUCENE_STOP_WORDS
from whichone.text import normalisers

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
    # How likely a search is to hand over somebody else of the name; the mean over its bearers.
    likely: float = 0.0
    lost: str = ""  # The bearer for whom that is likeliest, and how likely it is
    tells_apart: list[str] = []  # Attributes that every bearer has, each with values of its own
    missing: list[str] = []  # Attributes that would tell them apart if those bearers had it that lack it


class Audit(msgspec.Struct, kw_only=True):
    corpus: str
    documents: int
    names: int
    shared: int
    affected_documents: int
    unnamed: int  # Entities that neither a given name nor a title names
    questions: int | None
    affected_questions: int | None
    worst: list[SharedName]


class AuditOptions(msgspec.Struct, frozen=True, kw_only=True):
    log: Annotated[str | None, Option("Questions that were really asked.", kind="file")] = None
    question: Annotated[str, Option("The log's field of texts.")] = "question"
    out: Annotated[str | None, Option("Also write a page of Markdown.", kind="written")] = None
    fields: CorpusFields = CorpusFields()
    names: Annotated[
        str | None,
        Option(
            "Records with id (an entity, page or passage) and name, where titles do not name anybody.",
            kind="file",
        ),
    ] = None


@takes(AuditOptions)
def audit(corpus: str | Path, plan: AuditOptions) -> Audit:
    """Names shared by two or more bearers: entities where the corpus says them, else pages.

    Where the file of names says nothing, the names are the titles that name somebody (`corpus.page_names`).
    """
    with _opened(corpus, plan.fields) as held:
        documents, bearers_of_pages = _documents(held)
        listed = list(things(plan.names))
        names_of = _given(held, listed, bearers_of_pages)
        given = frozenset(names_of)
        for name, page in _titles(held):
            if bearers_of_pages[page] not in given:
                names_of.setdefault(bearers_of_pages[page], {}).setdefault(_key(name), name)
        of_bearer = grouped((bearer, page) for page, bearer in bearers_of_pages.items())
        bearers = grouped(
            (key, bearer) for bearer in sorted(names_of) for key in filter(None, names_of[bearer])
        )
        records = [] if Path(corpus).is_dir() or not Path(corpus).exists() else read_records(corpus)
        attributes = _attributes(held, [*listed, *_records(records, plan.fields)], bearers_of_pages)
        shared = {
            key: SharedName(
                name=without_parentheses(names_of[who[0]][key]),
                bearers=[f"{_called(names_of[b][key], held.title(of_bearer[b][0]))} ({b})" for b in who],
                documents=sum(documents[page] for b in who for page in of_bearer[b]),
            )
            for key, who in bearers.items()
            if len(who) > 1
        }
        stop = normalisers.stop_words(held.language or "en")
        with progress("reading", len(shared), "names") as advance:
            for key, name_of in shared.items():
                pages = [[p for page in of_bearer[b] for p in held.passages_of(page)] for b in bearers[key]]
                texts = [[f"{p.title} {p.text}" for p in held.get(own[:READ]).values()] for own in pages]
                chances = likelihoods(name_of.name, texts, stop)
                name_of.likely = fmean(chances)
                chance, who_is_lost = max(zip(chances, name_of.bearers, strict=True))
                name_of.lost = f"{who_is_lost}: {chance:.2f}"
                known = [attributes.get(bearer, {}) for bearer in bearers[key]]
                name_of.tells_apart, name_of.missing = _telling(known)
                advance(1)
    affected_bearers = {b for key in shared for b in bearers[key]}
    asked, affected = (
        _asked(plan.log, plan.question, shared, bearers) if plan.log is not None else (None, None)
    )
    worst = sorted(
        shared.values(),
        key=lambda s: (-s.questions * s.likely, -s.questions, -len(s.bearers), -s.likely, s.name),
    )[:MOST]
    account = Audit(
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
    if plan.out:
        write_atomic(Path(plan.out), audit_in_words(account).encode())
    return account


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


# How likely a name is to be confused, from the documents alone.
READ = 200  # Documents of one bearer that are read
_K1, _B = 0.9, 0.4  # BM25's
_MOVED = 0.05  # By about so much the rest of a question moves a score
_TOKEN = re.compile(r"\w+")


def likelihoods(name: str, texts: Sequence[Sequence[str]], stop: Container[str] = ()) -> list[float]:
    """For each bearer of a name, by the texts of its documents, how likely a search is to hand over another.

    The mean of two questions: one that says the name alone, and one that says a word of the documents of
    the one meant, too, of which any is equally likely. The search is BM25 to which all words are equally rare; who scores
    a little less may come first by what else is said. `bench/audit_likelihood.py` compares it with what searches do.
    """
    counted = [[Counter(map(str.lower, _TOKEN.findall(text))) for text in own] for own in texts]
    said = {word.lower() for word in _TOKEN.findall(name)}
    mean = fmean(document.total() for own in counted for document in own) or 1.0
    scored = [_scores(own, said, mean) for own in counted]
    chances = []
    for n, (alone, by_word) in enumerate(scored):
        others = scored[:n] + scored[n + 1 :]
        by_name = _lost(alone, [other for other, _ in others])
        words = [
            _lost(score, [max(other, more.get(word, 0.0)) for other, more in others])
            for word, score in by_word.items()
            if word not in said and word not in stop
        ]
        chances.append((by_name + (fmean(words) if words else by_name)) / 2)
    return chances


def _scores(documents: Sequence[Counter[str]], name: set[str], mean: float) -> tuple[float, dict[str, float]]:
    """The best score of some documents for the name alone, and for the name and each word that they have."""
    alone, by_word = 0.0, dict[str, float]()
    for document in documents:
        length = _K1 * (1 - _B + _B * document.total() / mean)
        gains = {word: n / (n + length) for word, n in document.items()}
        own = sum(gains.get(word, 0.0) for word in sorted(name))
        alone = max(alone, own)
        for word, gain in gains.items():
            by_word[word] = max(by_word.get(word, 0.0), own + gain)
    return alone, by_word


def _lost(own: float, others: Sequence[float]) -> float:
    """How likely one of the others comes first; equal ones are drawn."""
    return 1 - 1 / (1 + sum(math.exp(min((other - own) / _MOVED, 500.0)) for other in others))


def _records(records: Iterable[tuple[int, dict[str, Any]]], fields: PassageFields) -> Iterator[Thing]:
    """The further fields of a file of passages, each record by its passage's id."""
    own = {fields.id, fields.title, fields.text, fields.page, fields.entity or ENTITY}
    for _, record in records:
        said = {
            key: str(v) for key, v in record.items() if key not in own and isinstance(v, str | int | float)
        }
        if said and fields.id in record:
            yield Thing(str(record[fields.id]), (), said)


def _attributes(
    corpus: Corpus, listed: Sequence[Thing], bearers: Mapping[str, str]
) -> dict[str, dict[str, set[str]]]:
    """For each bearer its attributes with their values."""
    pages = pages_of(corpus, [thing.id for thing in listed])
    known: dict[str, dict[str, set[str]]] = {}
    for thing in listed:
        for bearer in {bearers[page] for page in corpus.page_ids(pages[thing.id])}:
            for name, value in thing.attributes.items():
                known.setdefault(bearer, {}).setdefault(name, set()).add(value)
    return known


def _telling(known: Sequence[Mapping[str, set[str]]]) -> tuple[list[str], list[str]]:
    """The attributes that tell bearers apart, and those that would if it were not missing for some of them."""
    apart, missing = list[str](), list[str]()
    for name in dict.fromkeys(name for own in known for name in own):
        values = [own[name] for own in known if name in own]
        if all(len(v) == 1 for v in values) and len(set.union(*values)) == len(values):
            lacking = len(known) - len(values)
            (missing if lacking else apart).append(f"{name} ({lacking} of {len(known)})" if lacking else name)
    return apart, missing


def _given(corpus: Corpus, listed: Sequence[Thing], bearers: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The names that were given for each bearer with documents, by their keys."""
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


def audit_in_words(audit_report: Audit) -> str:
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
            f"## The worst {len(audit_report.worst)}" if len(audit_report.worst) > 1 else "## The worst",
            "",
            "| name | bearers | documents | questions | confused | who is lost | told apart by | missing | who |",
            "| --- | ---: | ---: | ---: | ---: | --- | --- | --- | --- |",
        ]
        lines += [
            "| " + " | ".join(cell.replace("|", "/") for cell in _cells(s)) + " |" for s in audit_report.worst
        ]
        lines += [
            "",
            "*Confused* is how likely a search by words is to hand over somebody else of the name, where a question says the",
            "name alone or with one word of the documents that are meant; *who is lost* is the one for whom that is likeliest.",
            "It ranks, and weakly: its rank correlation with what BM25 confused was .16 to .50 on three collections.",
            "*Told apart by* are the fields that every one has with another value, *missing* those that some lack: fill them in.",
        ]
    lines += [
        "",
        "What to do next: `whichone import questions` or `whichone build catalogue` makes a benchmark of",
        "these names, and `whichone check` tests your search on it.",
    ]
    return "\n".join(lines) + "\n"


def _cells(shared: SharedName) -> list[str]:
    first, more = "; ".join(shared.bearers[:3]), len(shared.bearers) - 3
    return [
        shared.name,
        *(f"{n:,}" for n in (len(shared.bearers), shared.documents, shared.questions)),
        f"{shared.likely:.2f}",
        shared.lost,
        ", ".join(shared.tells_apart) or "–",
        ", ".join(shared.missing) or "–",
        f"{first}; and {more:,} more" if more > 0 else first,
    ]
