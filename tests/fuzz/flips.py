"""One flipped bit in a finished folder: the same result or an error with a message, and `verify` sees it."""

from __future__ import annotations

import random
import shutil
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx_files import WORDS, write_onnx, write_tokenizer
from seeds import prepare
from word_encoder import Words

import whichone
from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.corpus import Corpus
from whichone.corpus.save import save_corpus
from whichone.errors import WhichoneError
from whichone.files import manifest
from whichone.files.folder import Folder, verify_folders
from whichone.knowledge.knowledge_tables import KIND as KNOWLEDGE_BASE
from whichone.knowledge.lookup import Lookup
from whichone.records import Passage, Question
from whichone.retrieval.baselines import TfIdf
from whichone.retrieval.bm25 import Bm25
from whichone.retrieval.dense.dense import Dense
from whichone.retrieval.namesake import updates
from whichone.retrieval.sparse import Sparse
from whichone.retrieval.token_vectors import StoredTokens, store_tokens
from whichone.runs.read import read
from whichone.runs.run import Answers, Run

PEOPLE = ("nurse", "pilot", "baker", "red sailor", "green judge", "blue painter")
ASKED = ("Where was Jo Mill the pilot born?", "jo mill red", "J. Mill, baker of Oslo", "Kim Dahl")


@dataclass(frozen=True)
class Target:
    """A folder, and what somebody reads out of it."""

    name: str
    place: Path
    use: Callable[[Path], str]


def make(place: Path) -> list[Target]:
    """A small folder of every kind; the working folder is `place`."""
    prepare(place)
    words = ["import", "run", "run.txt", "imported", "--benchmark", "bench", "--format", "trec"]
    (place / "run.txt").write_text("".join(f"q{n} Q0 p{n} 1 2.5 mine\n" for n in range(3)))
    whichone_command(words)
    read("bench", "answers", reader="kb-lookup", passages="gold")
    save_corpus(place / "corpus", [_passage(n) for n in range(len(PEOPLE))])
    corpus = Corpus.open(place / "corpus")
    Bm25.build(corpus, place / "bm25")
    TfIdf.build(corpus, place / "tfidf")
    Dense.build(corpus, place / "dense", encoder=Words())
    _sparse(corpus, place)
    store_tokens(corpus.passages, _TokenWords(), place / "tokens", precision="int8", corpus="c")
    _namesake(place / "namesake")
    return [
        Target("corpus", place / "corpus", _of_corpus),
        Target("benchmark", place / "bench", _of_benchmark),
        Target("knowledge base", place / "kb", _of_knowledge_base),
        Target("run", place / "run", lambda folder: repr(Run.open(folder).rankings.to_pylist())),
        Target("imported run", place / "imported", _of_run),
        Target("answers", place / "answers", _of_answers),
        Target("bm25", place / "bm25", lambda folder: _asked(Bm25.open(folder))),
        Target("tfidf", place / "tfidf", lambda folder: _asked(TfIdf.open(folder))),
        Target("dense", place / "dense", lambda f: _asked(Dense.open(f, encoder=Words()))),
        Target("sparse", place / "sparse", lambda folder: _asked(Sparse.open(folder))),
        Target("token vectors", place / "tokens", _of_tokens),
        Target("namesake", place / "namesake", _of_namesake),
    ]


def whichone_command(words: list[str]) -> None:
    from click.testing import CliRunner

    from whichone.cli import whichone

    result = CliRunner().invoke(whichone, words)
    assert result.exit_code == 0, (result.output, result.exception)


def _passage(n: int) -> Passage:
    page = f"people:{n}"
    return Passage(
        id=f"{page}#0",
        page=page,
        title=f"Jo Mill ({PEOPLE[n]})",
        text=f"Jo Mill is a {PEOPLE[n]} of Oslo.",
        source_id=f"p{n}",
        entity=f"Q{n}",
    )


class _TokenWords(Words):
    def passages(self, titles: object, texts: list[str]) -> list[object]:  # type: ignore[override]
        return [self.questions(text.split()) for text in texts]


def _sparse(corpus: Corpus, place: Path) -> None:
    model = place / "model"
    model.mkdir()
    write_onnx(model / "model.onnx", np.eye(len(WORDS), dtype=np.float32), output="logits", summed=False)
    write_tokenizer(model)
    Sparse.build(corpus, place / "sparse", model=str(model))


def _namesake(place: Path) -> None:
    """With given names, a segment, removed rows and a journal."""
    records = [
        {"id": f"p{n}", "title": "Jo Mill", "text": f"Jo Mill is a {what}.", "city": f"town {n}"}
        for n, what in enumerate(PEOPLE)
    ]
    names = [{"id": "p1", "name": "Captain Mill", "city": "Oslo"}]
    before, updates.FOLD = updates.FOLD, 2
    try:
        namesake = whichone.Namesake.over(records, names=names, encoder="none")
        namesake.save(place)
        for n in range(5):
            namesake.add([{"id": f"a{n}", "title": "Kim Dahl", "text": f"Kim Dahl, {n}."}])
        namesake.remove(["p2", "a1"])
        namesake.add([{"id": "p3", "title": "Jo Mill", "text": "Jo Mill is a sailor."}])
        namesake.remove("a2")
        namesake.add([{"id": "p4", "title": "Jo Mill", "text": "Jo Mill is a fiddler."}])
    finally:
        updates.FOLD = before


def _asked(retriever: object) -> str:
    questions = [Question(id=f"q{n}", text=text) for n, text in enumerate(ASKED)]
    return repr(list(retriever.search(questions, 5)))  # type: ignore[attr-defined]


def _of_corpus(folder: Path) -> str:
    corpus = Corpus.open(folder)
    return repr((
        list(corpus.passage_records()),
        corpus.titles(),
        corpus.rows([f"people:{n}#0" for n in range(8)]),
        corpus.by_source_id([f"p{n}" for n in range(8)]),
        [corpus.names.bearers(name) for name in ("Jo Mill", "jo mill nurse", "nobody")],
    ))  # fmt: skip


def _of_benchmark(folder: Path) -> str:
    benchmark = Benchmark.open(folder)
    return repr((list(benchmark.queries), list(benchmark.sets), benchmark.card)) + _of_corpus(
        benchmark.corpus.folder.root  # type: ignore[union-attr]
    )


def _of_knowledge_base(folder: Path) -> str:
    opened = Folder.open(folder, KNOWLEDGE_BASE)
    tables = sorted({name.partition(".")[0] for name in opened.manifest.files if "parquet" in name})
    with Lookup.open(folder) as lookup:
        named = lookup.rows("select * from names order by 1, 2")
    return repr((named, [opened.table(name).to_pylist() for name in tables]))


def _of_run(folder: Path) -> str:
    run = Run.open(folder)
    return repr((run.rankings.to_pylist(), run.failures, dict(run.ranked_pages()), run.depth))


def _of_answers(folder: Path) -> str:
    answers = Answers.open(folder)
    return repr((dict(answers.answers), dict(answers.shown)))


def _of_tokens(folder: Path) -> str:
    tokens = StoredTokens(Folder.open(folder, "token vectors"))
    return repr([tokens.read(row).tolist() for row in range(len(tokens))])


def _of_namesake(folder: Path) -> str:
    namesake = whichone.Namesake.open(folder)
    asked = [namesake.search(text, 5) for text in (*ASKED, "Captain Mill", "jo mil")]
    return repr((len(namesake), asked, namesake.search("Jo Mill", 3, filter={"city": "town 4"})))


def problems(targets: list[Target], numbers: range) -> Iterator[tuple[int, str]]:
    """A flipped bit for every number, and what is wrong with what came of it."""
    results = {target.name: target.use(target.place) for target in targets}
    for number in numbers:
        target = targets[number % len(targets)]
        for problem in _flipped(target, number, results[target.name]):
            yield number, problem


def _flipped(target: Target, number: int, whole: str) -> Iterator[str]:
    chance = random.Random(number)
    folder = target.place.with_name("flipped")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(target.place, folder)
    files = sorted(f for f in folder.rglob("*") if f.is_file() and f.stat().st_size)
    file = chance.choice([f for f in files if not f.name.startswith(".")])
    data = bytearray(file.read_bytes())
    at, bit = chance.randrange(len(data)), chance.randrange(8)
    data[at] ^= 1 << bit
    file.write_bytes(data)
    where = f"{target.name}: bit {bit} of byte {at:,} of {file.relative_to(folder)}"
    manifest._compared.clear()
    if not _verify_sees(folder):
        yield f"{where}: verify sees nothing"
    try:
        if target.use(folder) != whole:
            yield f"{where}: another result, in silence"
    except WhichoneError:
        pass
    except Exception as error:
        trace = "".join(traceback.format_exception(error)[-4:])
        yield f"{where}: {type(error).__name__}: {error}\n{trace}"


def _verify_sees(folder: Path) -> bool:
    try:
        return any(report.damage for report in verify_folders([folder]))
    except WhichoneError:
        return True
