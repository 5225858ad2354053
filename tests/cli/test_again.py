"""One rule for doing something again: nothing to do, an error that names the change, or --overwrite."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from whichone.cli import whichone
from whichone.errors import UsageError
from whichone.files.output import OutputPlace, check_places, making
from whichone.files.tables import TableSchema


def run(*words: object) -> Result:
    return CliRunner().invoke(whichone, [str(word) for word in words])


def refused(*words: object) -> str:
    result = run(*words)
    assert isinstance(result.exception, UsageError), result.output
    return str(result.exception)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    passages = [{"id": f"p{n}", "title": f"Title {n}", "text": f"text {n}"} for n in range(5)]
    questions = [{"question": f"Which {n}?", "gold": f"Title {n}", "answer": "x"} for n in range(5)]
    for name, records in (("passages", passages), ("questions", questions)):
        lines = "\n".join(map(json.dumps, records))
        (tmp_path / f"{name}.jsonl").write_text(lines)
    return tmp_path


def importing(files: Path, out: Path, *more: object) -> tuple[object, ...]:
    passages = files / "passages.jsonl"
    words = ("import", "questions", files / "questions.jsonl", out, "--passages", passages)
    return (*words, "--gold", "gold", *more)


def test_the_same_again_is_nothing_to_do(files: Path) -> None:
    first = run(*importing(files, files / "bench"))
    assert first.exit_code == 0, first.output
    before = contents(files / "bench")
    again = run(*importing(files, files / "bench"))
    assert again.exit_code == 0
    assert "nothing to do" in again.output
    assert "5 queries" in first.output and "5 queries" in again.output
    assert contents(files / "bench") == before
    (files / "elsewhere").mkdir()
    (files / "questions.jsonl").rename(files / "elsewhere/questions.jsonl")
    (files / "passages.jsonl").rename(files / "elsewhere/passages.jsonl")
    assert "nothing to do" in run(*importing(files / "elsewhere", files / "bench")).output


def test_changes_are_named_and_nothing_is_touched(files: Path) -> None:
    run(*importing(files, files / "bench"))
    before = contents(files / "bench")
    message = refused(*importing(files, files / "bench", "--answers", "answer"))
    assert 'answers is "answer", was not given' in message
    assert "--overwrite" in message
    with (files / "questions.jsonl").open("a") as file:
        file.write('\n{"question": "One more?", "gold": "Title 1"}\n')
    assert "questions has changed" in refused(*importing(files, files / "bench"))
    assert contents(files / "bench") == before
    replaced = run(*importing(files, files / "bench", "--overwrite", "--json"))
    assert replaced.exit_code == 0
    assert json.loads(replaced.stdout)["counts"]["queries"] == 6
    assert "nothing to do" in run(*importing(files, files / "bench")).output


def test_a_run_of_other_options_is_not_replaced(files: Path) -> None:
    run(*importing(files, files / "bench"))
    retrieve = ("retrieve", files / "bench", files / "run", "--retriever", "bm25")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHICHONE_CACHE", str(files / "cache"))
        assert run(*retrieve, "-k", 3).exit_code == 0
        before = contents(files / "run")
        assert run(*retrieve, "-k", 3).exit_code == 0
        assert "k is 2, was 3" in refused(*retrieve, "-k", 2)
        assert contents(files / "run") == before
        assert run(*retrieve, "-k", 2, "--overwrite").exit_code == 0
    assert '"k": 2' in (files / "run/manifest.json").read_text()


def test_an_input_is_never_an_output(files: Path) -> None:
    run(*importing(files, files / "bench"))
    bench, before = files / "bench", contents(files / "bench")
    export = ("export", bench, "--format", "beir")
    assert "both input and output" in refused("export", bench, bench, "--format", "beir")
    assert "part of the finished folder" in refused(*export, bench / "queries.parquet")
    assert "both input and output" in refused("build", "splits", bench, bench)
    questions = files / "questions.jsonl"
    text = questions.read_text()
    assert "both input and output" in refused(*importing(files, questions))
    assert questions.read_text() == text
    assert contents(bench) == before


def test_exports_follow_the_rule_file_by_file(files: Path) -> None:
    run(*importing(files, files / "bench"))
    export = ("export", files / "bench", files / "out", "--format", "beir")
    assert run(*export).exit_code == 0
    before = {name: Path(name).stat().st_ino for name in contents(files / "out")}
    assert run(*export).exit_code == 0
    assert {name: Path(name).stat().st_ino for name in before} == before
    (files / "out/corpus.jsonl").write_text("mine\n")
    assert "with other content" in refused(*export)
    assert (files / "out/corpus.jsonl").read_text() == "mine\n"
    assert run(*export, "--overwrite").exit_code == 0
    assert (files / "out/corpus.jsonl").read_text() != "mine\n"


def test_worlds_follow_the_rule(tmp_path: Path) -> None:
    world = ("world", tmp_path / "world", "--entities", 20, "--workers", 1)
    assert run(*world, "--seed", 1).exit_code == 0
    before = contents(tmp_path / "world")
    assert "nothing to do" in run(*world, "--seed", 1).output
    assert "seed is 2, was 1" in refused(*world, "--seed", 2)
    assert contents(tmp_path / "world") == before
    assert run(*world, "--seed", 2, "--overwrite").exit_code == 0
    assert contents(tmp_path / "world") != before


def test_callers_from_python_replace_freely(tmp_path: Path) -> None:
    import pyarrow as pa

    from whichone.files.folder import Folder

    schema = TableSchema("t", pa.schema([("n", pa.int64())]), ("n",))
    for n in (1, 2):
        with Folder.create(tmp_path / "f", "thing") as folder:
            folder.write(schema, pa.table({"n": [n]}))
            folder.commit()
    assert Folder.open(tmp_path / "f", "thing").table("t")["n"].to_pylist() == [2]
    with (
        making(OutputPlace(tmp_path / "f", changes="n is 3, was 2")),
        pytest.raises(UsageError, match="n is 3, was 2"),
    ):
        Folder.create(tmp_path / "f", "thing")


def test_an_input_inside_the_output(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    (tmp_path / "input").write_text("")
    with pytest.raises(UsageError, match="is inside the output"):
        check_places(tmp_path, [tmp_path / "input"])
