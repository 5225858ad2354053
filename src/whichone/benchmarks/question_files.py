"""Questions as others keep them: files of records, BEIR folders, TREC topics with qrels, Hugging Face folders."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from whichone.benchmarks.benchmark import Benchmark, given_corpus, save_benchmark
from whichone.benchmarks.benchmark_tables import UsedSets, main_language_of
from whichone.benchmarks.exports import NAME_SETS, OWN_QUERY, split_of
from whichone.benchmarks.gold import (
    GoldCheck,
    Judgements,
    check_gold_pages,
    gold_outside_accepted,
    gold_titles,
    move_gold,
    read_beir_qrels,
    read_trec_qrels,
    states_any,
    titles_asked,
)
from whichone.corpus.corpus import Corpus, from_trec
from whichone.corpus.passage_files import (
    OURS,
    PassageFields,
    field,
    pages_by_title,
    plain_title,
    read_records,
    sets_from_titles,
)
from whichone.corpus.save import corpus_beside
from whichone.errors import BadInput, Missing, UsageError
from whichone.files.arrow_records import MappedRecords, blocks
from whichone.files.folder import file_hash
from whichone.files.lines import read_lines
from whichone.names import title_key
from whichone.records import NameSet, Provenance, Query, grouped

SPLITS = ("test", "dev", "validation", "train")


class SourceRecord(msgspec.Struct, frozen=True):
    """One question as its file has it; `gold` where judgements come from a file of their own."""

    line: int
    fields: dict[str, Any]
    file: Path
    gold: Mapping[str, int] | None = None


def kind_of(path: Path) -> str:
    """What a path is: "file", or a folder of BEIR, TREC or Hugging Face."""
    if not path.is_dir():
        return "file"
    if any((path / name).exists() for name in ("queries.jsonl", "queries.jsonl.gz")):
        return "beir"
    if (path / "topics.tsv").exists():
        return "trec"
    if (path / "queries").is_dir() or (path / "data" / "queries").is_dir():
        return "hf"
    raise Missing(
        "neither queries.jsonl (BEIR) nor topics.tsv (TREC) nor queries/ (Hugging Face) is in the folder",
        where=str(path),
    )


def read_questions(
    path: Path,
    *,
    qrels: Path | None = None,
    split: str | None = None,
    id_field: str | None = None,
    bad: list[str] | None = None,
) -> Iterator[SourceRecord]:
    """Every question; of a folder those of one split, or of all with split "all"."""
    if (kind := kind_of(path)) == "file":
        yield from _of_file(path, qrels, id_field, bad)
    elif kind == "beir":
        name = "queries.jsonl" if (path / "queries.jsonl").exists() else "queries.jsonl.gz"
        records = (SourceRecord(n, r, path / name) for n, r in read_records(path / name, bad))
        files = {f.stem: f for f in sorted((path / "qrels").glob("*.tsv"))}
        yield from _judged(records, _splits(files, split, path))
    elif kind == "trec":
        judged = [path / name for name in ("qrels.passages.txt", "qrels.txt", "qrels.pages.txt")]
        file = qrels or next((f for f in judged if f.exists()), None)
        yield from _of_file(path / "topics.tsv", file, "_id", bad)
    else:
        raise UsageError("a Hugging Face folder is imported as a whole", where=str(path))


def _of_file(
    path: Path, qrels: Path | None, id_field: str | None, bad: list[str] | None
) -> Iterator[SourceRecord]:
    records = _topics(path) if path.name.startswith("topics") else read_records(path, bad)
    if qrels is None:
        yield from (SourceRecord(line, record, path) for line, record in records)
        return
    judged = Judgements(read_trec_qrels(qrels))
    for line, record in records:
        key = field(record, id_field or ("_id" if "_id" in record else "id"), path, line)
        if (own := judged.of(str(key))) is not None:
            yield SourceRecord(line, record, path, own)


def _topics(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """TREC topics as id and text between tabs, without a header."""
    for line, text in read_lines(path):
        key, tab, question = text.decode("utf-8", "replace").partition("\t")
        if not tab:
            raise BadInput("id and question between tabs are expected", file=path, line=line)
        yield line, {"_id": from_trec(key), "question": question}


def _splits(files: dict[str, Path], split: str | None, folder: Path) -> dict[str, Path]:
    if split == "all":
        return files
    wanted = split or next((name for name in SPLITS if name in files), next(iter(files), None))
    if wanted is None:
        raise Missing("a BEIR folder has qrels/test.tsv, this one has none", where=str(folder))
    if wanted not in files:
        raise UsageError(f"there is no split {wanted!r}", hint=f"there are {', '.join(files)}, or all")
    return {wanted: files[wanted]}


def _judged(records: Iterator[SourceRecord], files: dict[str, Path]) -> Iterator[SourceRecord]:
    judged = {name: Judgements(read_beir_qrels(file)) for name, file in files.items()}
    for record in records:
        key = from_trec(str(field(record.fields, "_id", record.file, record.line)))
        golds = ((split, own.of(key)) for split, own in judged.items())
        split, gold = next((known for known in golds if known[1] is not None), ("", None))
        if gold is not None:
            fields = {**record.fields, "_id": key, "split": split}
            fields.setdefault("question", record.fields.get("text"))
            fields.pop("text", None)
            yield SourceRecord(record.line, fields, record.file, gold)


def import_beir(
    folder: Path, out: str | Path, *, name: str | None = None, split: str | None = None
) -> Benchmark:
    """The benchmark that `export_beir` wrote, of all splits or of one, in which questions may have no gold."""
    decode = msgspec.json.Decoder(NameSet).decode

    def queries() -> Iterator[Query]:
        for _, record in read_records(folder / "queries.jsonl"):
            known = {"id": from_trec(record["_id"]), "input": record["text"], **record["metadata"][OWN_QUERY]}
            query = msgspec.convert(known, Query)
            if split in (None, "all", split_of(query)):
                yield query

    made = msgspec.json.decode((folder / OURS).read_bytes())
    sets = (decode(line) for _, line in read_lines(folder / NAME_SETS) if line.strip())
    card = folder / "CARD.md"
    called = name or folder.resolve().name
    languages = Counter(query.language for query in queries())
    with (
        corpus_beside(
            out, folder, PassageFields(), "", name=called, language=main_language_of(languages) or "en"
        ) as corpus,
        gold_outside_accepted(),  # as much as there was when it was exported
    ):
        return save_benchmark(
            out,
            name=called,
            queries=queries(),
            passages=corpus,
            sets=sets,
            card=card.read_text("utf-8") if card.exists() else "",
            parameters=made["parameters"],
            counts={"passages": len(corpus), **check_gold_pages(queries(), corpus, folder)},
            allow_no_gold=True,
        )


def is_own_beir(folder: Path) -> bool:
    return all((folder / file).is_file() for file in (OURS, NAME_SETS, "queries.jsonl", "corpus.jsonl"))


# Published question files over a corpus of one's own, as a benchmark.
SOURCE = "corpus"
BLOCK = 1_024


class _Titles:
    """The pages of a corpus that some questions may mean, by what their titles name; `texts` gives those of a page's passages."""

    def __init__(self, titles: dict[str, str], texts: Callable[[str], Iterable[str]]) -> None:
        self.titles, self.texts = titles, texts
        self.pages: dict[str, list[str]] = grouped((title_key(title), page) for page, title in titles.items())
        self.by_title = pages_by_title((p, plain_title(title)) for p, title in titles.items())
        self.sets = sets_from_titles(titles)

    @classmethod
    def of_corpus(cls, corpus: Corpus, queries: Sequence[Query]) -> Self:
        gold = {page for query in queries for page in query.gold_pages()}
        names = (*gold_titles(queries), *(query.name or "" for query in queries))
        return cls(titles_asked(corpus, gold, names), corpus.texts_on)

    def moved(self, entry: Provenance) -> Provenance:
        """Gold by page id where the corpus has it, else by title."""
        page = self.by_title.get(plain_title(entry.title or ""))
        known = entry.page in self.titles or page is None
        return entry if known else msgspec.structs.replace(entry, page=page)

    def holding(self, name: str, answers: Iterable[str]) -> list[str]:
        """Pages of that name with a passage that holds an answer (DPR's tokens)."""
        listed = list(answers)
        return [page for page in self.pages.get(title_key(name), ()) if states_any(self.texts(page), listed)]


def import_published(
    queries: Iterable[Query],
    passages: str | Path | None,
    out: str | Path,
    *,
    name: str,
    files: Sequence[str | Path],
    about: str,
    passage_fields: PassageFields | None = None,
) -> Benchmark:
    """Write the benchmark. Gold is what the file says; else the pages of the name that hold an answer.

    Without `passages` it is over the given corpus (`over_corpus`).
    """
    fields = passage_fields or PassageFields()
    given = given_corpus()
    if (passages is None) == (given is None):
        raise UsageError("give --passages or --corpus, one of the two")
    languages: Counter[str] = Counter()
    asked = MappedRecords(Query, out)
    for query in queries:
        languages[query.language] += 1
        asked.append(query)
    with contextlib.ExitStack() as stack:
        held = (
            given
            if passages is None
            else stack.enter_context(
                corpus_beside(out, passages, fields, SOURCE, name=name, language=main_language_of(languages))
            )
        )
        assert held is not None
        placed, sets, check = MappedRecords(Query, out), UsedSets(out), GoldCheck()
        without = shared = 0
        for block in blocks(asked, BLOCK):
            titles = _Titles.of_corpus(held, block)
            results = [_placed(query, titles) for query in block]
            check.add(results, titles.titles)
            sets.add(titles.sets.values())
            without += sum(not query.attributes["gold_in_corpus"] for query in results)
            shared += sum(bool(query.attributes["shared_name"]) for query in results)
            placed.extend(results)
        size = len(held)
        return save_benchmark(
            out,
            name=name,
            queries=placed,
            passages=() if passages is None else held,
            sets=sets,
            card=_card(name, about, len(placed), size, shared, without),
            parameters={"passage_fields": msgspec.to_builtins(fields), "source": SOURCE},
            sources=[
                {"file": Path(p).name, "sha256": file_hash(Path(p))}
                for p in (*files, passages)
                if p is not None and Path(p).is_file()
            ],
            counts={"passages": size, "about_shared_names": shared, **check.end(passages or files[0])},
        )


def _placed(query: Query, corpus: _Titles) -> Query:
    """The query with its gold pages, its name set and what is known of both."""
    query = move_gold(query, corpus.moved)
    gold = sorted(query.gold_pages())
    attributes: dict[str, Any] = dict(query.attributes)
    if gold:
        outputs = query.outputs
    else:
        gold = sorted(corpus.holding(query.name, query.answers()) if query.name else [])
        evidence = tuple((Provenance(page=p, title=corpus.titles[p]),) for p in gold)
        outputs = tuple(msgspec.structs.replace(output, provenance=evidence) for output in query.outputs)
        attributes["gold_rule"] = "a page of the name that holds an answer"
    known_pages = [page for page in gold if page in corpus.titles]
    name_set = _name_set(query, known_pages, corpus)
    attributes["shared_name"] = name_set is not None
    attributes["gold_in_corpus"] = bool(known_pages)
    return msgspec.structs.replace(
        query, outputs=outputs, name_set=name_set.id if name_set else None, attributes=attributes
    )


def _name_set(query: Query, gold: list[str], corpus: _Titles) -> NameSet | None:
    for title in (*(corpus.titles[page] for page in gold), query.name or ""):
        if title and (name_set := corpus.sets.get(title_key(title))):
            return name_set
    return None


def _card(name: str, about: str, queries: int, size: int, shared: int, without: int) -> str:
    return (
        f"# {name}\n\n{about} {queries:,} questions over {size:,} passages.\n\n"
        f"{shared:,} questions are about a name that several pages of the corpus share: titles equal "
        f"once parentheses are removed, case is folded and HTML entities are decoded. {without:,} have "
        "no gold page in the corpus.\n\nLicence and attribution: those of the files.\n"
    )
