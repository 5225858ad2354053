"""Two benchmarks over one corpus: `--corpus` in builders and importers."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.files.output import cache_folder


def typed(*words: object) -> str:
    done = CliRunner().invoke(whichone, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def kb() -> Path:
    return Benchmark.open("builtin/amber").folder.root.parent / "kb"


def test_builders_name_one_corpus(kb: Path, tmp_path: Path) -> None:
    typed("corpus", kb, tmp_path / "corpus")
    given = ["--corpus", tmp_path / "corpus"]
    typed("build", "amber", kb, tmp_path / "amber", "--collection", "human", *given)
    typed("build", "ambigdocs", kb, tmp_path / "ambigdocs", *given)
    opened = [Benchmark.open(tmp_path / name) for name in ("amber", "ambigdocs")]
    assert len({benchmark.corpus.hash for benchmark in opened}) == 1
    for benchmark in opened:
        assert not (benchmark.folder.root / "corpus").exists()
        assert benchmark.folder.manifest.parents["corpus"] == benchmark.corpus.hash
    (tmp_path / "corpus").rename(tmp_path / "moved")
    typed("show", tmp_path / "moved")  # seen once at its new place, it is found there
    assert len(Benchmark.open(tmp_path / "amber").corpus) == len(opened[0].corpus)


def test_another_corpus_is_refused(kb: Path, tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"id": "1", "title": "A", "text": "b"}\n')
    typed("corpus", tmp_path / "one.jsonl", tmp_path / "corpus")
    words = ["build", "amber", kb, tmp_path / "out", "--collection", "human"]
    done = CliRunner().invoke(whichone, list(map(str, [*words, "--corpus", tmp_path / "corpus"])))
    assert isinstance(done.exception, BadInput)
    assert "gold pages are not in the corpus" in str(done.exception)
    assert not (tmp_path / "out").exists()


OF_OTHERS = {"import run", "import answers", "build absent", "build noise", "build small", "build splits"}
"""What is over a benchmark that is there already, and asked of its corpus."""


def test_every_builder_and_importer_takes_a_corpus() -> None:
    context = click.Context(whichone)
    for verb in ("build", "import"):
        group = whichone.get_command(context, verb)
        assert isinstance(group, click.Group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            options = {option for parameter in command.params for option in parameter.opts}
            assert ("--corpus" in options) is (f"{verb} {name}" not in OF_OTHERS), f"{verb} {name}"


PASSAGES = [
    {"id": "7", "title": "Abe Lincoln (musician)", "text": "A trombonist born in Lancaster, Ohio."},
    {"id": "8", "title": "Abe Lincoln", "text": "A president born in Kentucky."},
    {"id": "9", "title": "Ohio", "text": "A state with a Lancaster."},
]
POPQA = {
    "id": 1, "subj": "Abe Lincoln", "prop": "occupation", "obj": "musician", "question": "What is Abe Lincoln?",
    "s_wiki_title": "Abe Lincoln (musician)", "s_pop": 100, "possible_answers": '["musician"]',
}  # fmt: skip
AMBIGDOCS = {
    "qid": "1", "ambiguous_entity": "Abe Lincoln", "question": "Where was Abe Lincoln born?",
    "documents": [
        {"pid": "7", "title": "Abe Lincoln (musician)", "text": PASSAGES[0]["text"], "answer": "Lancaster"},
        {"pid": "8", "title": "Abe Lincoln", "text": PASSAGES[1]["text"], "answer": "Kentucky"},
    ],
}  # fmt: skip
KILT = {
    "id": "k", "input": "Who was a trombonist?",
    "output": [{"answer": "Abe", "provenance": [{"wikipedia_id": "5", "title": "Abe Lincoln (musician)"}]}],
}  # fmt: skip
EQ = {"question": "Where was Abe Lincoln born?", "answers": ["Lancaster"]}
NQ = {"question": "where is lancaster", "answer": ["Ohio"]}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    encode = msgspec.json.encode
    (tmp_path / "passages.jsonl").write_bytes(b"\n".join(map(encode, PASSAGES)))
    (tmp_path / "P19.dev.json").write_bytes(encode([EQ]))
    (tmp_path / "popqa.jsonl").write_bytes(encode(POPQA))
    (tmp_path / "nq.jsonl").write_bytes(encode(NQ))
    (tmp_path / "test.json").write_bytes(encode([AMBIGDOCS]))
    for name, gold in (("by-title", "Abe Lincoln (musician)"), ("by-id", "7")):
        own = {"question": "Who was the trombonist?", "gold": [gold], "answers": ["Abe"]}
        (tmp_path / f"{name}.jsonl").write_bytes(encode(own))
    (tmp_path / "nq-dev-kilt.jsonl").write_bytes(encode(KILT))
    typed("corpus", tmp_path / "passages.jsonl", tmp_path / "corpus")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "gold"),
    [
        (["entityquestions", "P19.dev.json"], {"corpus:Abe Lincoln (musician)"}),
        (["popqa", "popqa.jsonl"], {"corpus:Abe Lincoln (musician)"}),
        (["open-questions", "nq.jsonl", "--format", "nq-open"], set()),
        (["kilt", "nq-dev-kilt.jsonl"], {"corpus:Abe Lincoln (musician)"}),
        (["questions", "by-title.jsonl", "--gold", "gold"], {"corpus:Abe Lincoln (musician)"}),
        (["questions", "by-id.jsonl", "--gold", "gold"], {"corpus:Abe Lincoln (musician)"}),
    ],
)
def test_imports_over_a_corpus_are_those_over_its_passages(
    words: list[str], gold: set[str], files: Path
) -> None:
    named = ["import", words[0], files / words[1]]
    typed(*named, files / "own", *words[2:], "--passages", files / "passages.jsonl")
    typed(*named, files / "over", *words[2:], "--corpus", files / "corpus")
    own, over = Benchmark.open(files / "own"), Benchmark.open(files / "over")
    assert not (over.folder.root / "corpus").exists()
    assert over.corpus.hash == Benchmark.open(files / "over").folder.manifest.parents["corpus"]
    (query,) = over.queries
    assert query.gold_pages() == gold
    (alone,) = own.queries
    if words[0] == "kilt":  # its passages have KILT's source, and its gold the id of the file
        assert query.attributes["shared_name"] is True and query.name_set == "title:abe lincoln"
        assert query.outputs[0].provenance[0][0].attributes["wikipedia_id"] == "5"
    else:
        assert query == alone
    assert over.other_pages(query) == (frozenset({"corpus:Abe Lincoln"}) if gold else frozenset())


def test_ambigdocs_finds_its_passages_in_a_corpus_by_pid(files: Path) -> None:
    typed("import", "ambigdocs", files / "test.json", files / "over", "--corpus", files / "corpus")
    benchmark = Benchmark.open(files / "over")
    places = [p for o in benchmark.queries[0].outputs for group in o.provenance for p in group]
    assert [(p.page, p.passage) for p in places] == [
        ("corpus:Abe Lincoln (musician)", "corpus:Abe Lincoln (musician)#0"),
        ("corpus:Abe Lincoln", "corpus:Abe Lincoln#0"),
    ]
    assert {page for s in benchmark.sets for b in s.bearers for page in b.pages} == {p.page for p in places}


def test_passages_or_a_corpus_but_one_of_them(files: Path) -> None:
    words = ["import", "popqa", files / "popqa.jsonl", files / "out"]
    both = ["--corpus", files / "corpus", "--passages", files / "passages.jsonl"]
    for more in ([], both):
        done = CliRunner().invoke(whichone, list(map(str, [*words, *more])))
        assert isinstance(done.exception, UsageError)
        assert "--passages or --corpus" in str(done.exception)


def indexes() -> dict[str, int]:
    """The files of all indexes in the cache, with when each was written."""
    files = [p for p in (cache_folder() / "indexes").rglob("*") if p.is_file()]
    return {str(p): p.stat().st_mtime_ns for p in files if p.suffix != ".building"}


def test_two_benchmarks_over_one_corpus_share_its_indexes(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHICHONE_CACHE", str(files / "cache"))
    over = ["--corpus", files / "corpus"]
    typed("import", "popqa", files / "popqa.jsonl", files / "popqa", *over)
    typed("import", "ambigdocs", files / "test.json", files / "ambigdocs", *over)
    typed("retrieve", files / "popqa", files / "run1", "--retriever", "bm25")
    built = indexes()
    assert built
    typed("retrieve", files / "ambigdocs", files / "run2", "--retriever", "bm25")
    typed("retrieve", files / "popqa", files / "ambigdocs", files / "run3", "--retriever", "bm25")
    assert indexes() == built
    typed("index", files / "corpus", files / "index", "--retriever", "bm25")
    typed("retrieve", files / "ambigdocs", files / "run4", "--index", files / "index")


def test_passages_of_all_pages_as_a_file(kb: Path, tmp_path: Path) -> None:
    typed("corpus", kb, tmp_path / "psgs.tsv")
    lines = (tmp_path / "psgs.tsv").read_text().splitlines()
    assert lines[0] == "id\ttext\ttitle" and len(lines) == 506
    typed("corpus", kb, tmp_path / "psgs.tsv")  # the same file again
    done = CliRunner().invoke(whichone, ["corpus", str(kb), str(tmp_path / "psgs.tsv"), "--size", "50"])
    assert isinstance(done.exception, UsageError) and "other content" in str(done.exception)
