"""Plain functions and other people's objects as retrievers."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import whichone
from whichone.benchmarks.benchmark import Benchmark
from whichone.cli import whichone as command_line
from whichone.errors import BadInput, Missing, UsageError
from whichone.records import Question, Ranking
from whichone.report.show import command_of
from whichone.retrieval.adapters.adapted import FunctionRetriever, load_function, ranking
from whichone.runs.retrieve import as_retriever, make_retriever, retrieve
from whichone.runs.run import Run
from whichone.runs.run_files import import_run
from whichone.versions import code_of

QUESTIONS = [Question(id="a", text="one"), Question(id="b", text="two")]


def ask(search: Any, k: int = 2, **options: Any) -> list[Ranking]:
    return list(FunctionRetriever(search, **options).search(QUESTIONS, k))


def test_one_text_at_a_time() -> None:
    found = ask(lambda text, k: [f"{text}-{n}" for n in range(k)])
    assert [r.passages for r in found] == [("one-0", "one-1"), ("two-0", "two-1")]


def test_many_texts_by_annotation() -> None:
    def search(texts: list[str], k: int) -> list[list[str]]:
        return [[text] * k for text in texts]

    assert [r.passages for r in ask(search)] == [("one", "one"), ("two", "two")]


def test_many_texts_by_word() -> None:
    found = ask(lambda texts, k: [[t] for t in texts], batched=True)
    assert [r.passages for r in found] == [("one",), ("two",)]


def test_too_few_results_of_a_batch() -> None:
    with pytest.raises(BadInput, match="2 questions went in, 1 results came out"):
        ask(lambda texts, k: [["x"]], batched=True)


def test_k_is_passed_as_the_function_wants_it() -> None:
    def named(text: str, *, k: int) -> list[str]:
        return [str(k)]

    assert ask(named)[0].passages == ("2",)
    assert ask(lambda text, **options: [str(options["k"])])[0].passages == ("2",)
    assert ask(lambda text: ["no k"])[0].passages == ("no k",)
    assert ask(lambda *all: [str(all[1])])[0].passages == ("2",)
    with pytest.raises(UsageError, match="takes no question"):
        ask(lambda: ["x"])


@pytest.mark.parametrize(
    ("result", "passages", "scores"),
    [
        ([("a", 2), ("b", 1)], ("a", "b"), (2.0, 1.0)),
        ([["a", 2.5]], ("a",), (2.5,)),
        ({"low": 1, "high": 3}, ("high", "low"), (3.0, 1.0)),
        ([7, 8], ("7", "8"), ()),
        (np.array(["a", "b"]), ("a", "b"), ()),
        ([], (), ()),
        ((x for x in "ab"), ("a", "b"), ()),
    ],
)
def test_what_a_function_may_return(
    result: Any, passages: tuple[str, ...], scores: tuple[float, ...]
) -> None:
    found = ranking("q", result)
    assert (found.passages, found.scores) == (passages, scores)


@pytest.mark.parametrize("wrong", [None, "w:1", [("a", "b", "c")], [("a", "much")]])
def test_what_it_may_not_return(wrong: Any) -> None:
    with pytest.raises(BadInput, match="q"):
        ranking("q", wrong)


class GivesNone:
    def __init__(self, given: Any) -> None:
        self._given = given

    def search(self, questions: Sequence[Question], k: int) -> Any:
        return self._given and [self._given(question) for question in questions]


@pytest.mark.parametrize(
    ("search", "says"),
    [
        (GivesNone(None), "None came back, where a Ranking"),
        (GivesNone(lambda question: None), "None came back, where a Ranking"),
        (GivesNone(lambda question: ["a page"]), "'a page'.* came back, where a Ranking"),
        (lambda texts, k: None, "None came back, where a list of ids for each question"),
    ],
)
def test_none_for_questions_is_named(small: Benchmark, search: Any, says: str) -> None:
    batched = None if isinstance(search, GivesNone) else True
    with pytest.raises(BadInput, match=says):
        whichone.evaluate(search, small, k=1, batched=batched)


def test_more_results_than_asked_for_are_an_error_of_a_function_that_knows_k(small: Benchmark) -> None:
    pages = small.corpus.page_ids(range(small.corpus.page_count))

    def careless(text: str, k: int) -> list[str]:
        return pages[: k + 1]

    with pytest.raises(BadInput, match="2 results where at most 1") as caught:
        whichone.evaluate(careless, small, k=1)
    assert small.queries[0].id in caught.value.ids
    assert len(pages) > 1 and whichone.evaluate(lambda text: pages, small, k=1)


def test_objects_with_search_are_taken_as_they_are() -> None:
    class Own:
        def search(self, questions: Sequence[Question], k: int) -> list[Ranking]:
            return []

    own = Own()
    assert as_retriever(own) is own
    with pytest.raises(UsageError, match="function"):
        as_retriever(17)


MODULE = """
def search(text, k, prefix="w"):
    return [f"{prefix}:1#0"][:k]

class Own:
    def __init__(self, page="w:2#0"):
        self.page = page
    def search(self, questions, k):
        from whichone.records import Ranking
        return [Ranking(question=q.id, passages=(self.page,)) for q in questions]

class Made(Own):
    @classmethod
    def over(cls, corpus, work, *, page="w:3#0"):
        return cls(page)

class Broken:
    @classmethod
    def over(cls, corpus, work):
        return len(3)
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_search_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "own_search_module"


@pytest.mark.parametrize(
    ("name", "options", "first"),
    [
        ("search", {}, "w:1#0"),
        ("search", {"prefix": "v"}, "v:1#0"),
        ("Own", {}, "w:2#0"),
        ("Own", {"page": "w:9#0"}, "w:9#0"),
        ("Made", {}, "w:3#0"),
        ("Made", {"page": "w:8#0"}, "w:8#0"),
    ],
)
def test_ones_own_by_name(
    small: Benchmark, tmp_path: Path, own_module: str, name: str, options: Any, first: str
) -> None:
    retriever = make_retriever(f"{own_module}:{name}", small, tmp_path, options)
    found = list(retriever.search(QUESTIONS, 1))
    assert found[0].passages == (first,)


def test_mistakes_with_names_and_options(small: Benchmark, tmp_path: Path, own_module: str) -> None:
    with pytest.raises(Missing, match="no_such_module"):
        load_function("no_such_module:search")
    with pytest.raises(UsageError, match="serch"):
        load_function(f"{own_module}:serch")
    with pytest.raises(UsageError, match="did you mean bm25"):
        make_retriever("bm26", small, tmp_path, {})
    with pytest.raises(UsageError, match="pge"):
        make_retriever(f"{own_module}:Made", small, tmp_path, {"pge": "x"})
    with pytest.raises(UsageError, match="kk1"):
        make_retriever("bm25", small, tmp_path, {"kk1": "1"})
    with pytest.raises(TypeError, match="int"):
        make_retriever(f"{own_module}:Broken", small, tmp_path, {})


def test_options_are_part_of_the_description(own_module: str, small: Benchmark, tmp_path: Path) -> None:
    retriever = make_retriever(f"{own_module}:search", small, tmp_path, {"prefix": "v"})
    told = retriever.describe()  # type: ignore[attr-defined]
    assert told["function"] == "own_search_module:search"
    assert told["options"] == {"prefix": "v"}


@pytest.mark.parametrize("method", ["search", "__call__"])
def test_options_of_a_class_without_a_description_are_part_of_the_run(
    method: str, small: Benchmark, tmp_path: Path
) -> None:
    record = "Ranking(question=q.id, passages=(f'w:{self.first}#0',), scores=(1.0,))"
    body = {
        "search": f"questions, k):\n        return [{record} for q in questions]\n",
        "__call__": "text, k):\n        return [f'w:{self.first}#0']\n",
    }
    (tmp_path / f"optional_{method}.py").write_text(
        "from whichone.records import Ranking\n"
        "class System:\n"
        "    def __init__(self, first, api_key=''):\n"
        "        self.first = first\n"
        f"    def {method}(self, {body[method]}"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))

        def pages(**options: Any) -> set[str]:
            run = retrieve(
                small.folder.root,
                tmp_path / "run",
                retriever=f"optional_{method}:System",
                options=options,
                k=1,
            )
            return {page for ranked in run.ranked_pages().values() for page in ranked}

        assert pages(first="1") == {"w:1"}
        assert pages(first="2") == {"w:2"}
        assert pages(first="2", api_key="sk-0123456789") == {"w:2"}
    manifest = (tmp_path / "run/manifest.json").read_text()
    assert "sk-0123456789" not in manifest
    assert '"first": "2"' in manifest


def test_a_retriever_is_closed_at_the_end(small: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "closing_system.py").write_text(
        "from whichone.records import Ranking\n"
        "closed = []\n"
        "class System:\n"
        "    def search(self, questions, k):\n"
        "        for q in questions:\n"
        "            yield Ranking(question=q.id, passages=('w:1#0',), scores=(1.0,))\n"
        "    def close(self):\n"
        "        closed.append(True)\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        retrieve(small.folder.root, tmp_path / "run", retriever="closing_system:System", k=1)
        import closing_system  # type: ignore[import-not-found]

        assert closing_system.closed == [True]


def test_the_failing_question_and_function_are_named() -> None:
    def search(text: str, k: int) -> list[str]:
        if text == "two":
            raise SystemExit(0)
        return ["x"]

    with pytest.raises(BadInput, match=r"search failed: SystemExit: 0 \(b\)"):
        ask(search)


def test_what_has_no_order_or_is_no_id_is_refused() -> None:
    with pytest.raises(BadInput, match="no order"):
        ranking("q", {"a", "b"})
    with pytest.raises(BadInput, match="records came back") as caught:
        ranking("q", [{"id": "a", "score": 1.0}])
    assert "the id of each" in str(caught.value)
    with pytest.raises(BadInput, match=r"texts: list\[str\]"):
        ranking("q", [["a", "b", "c"]])


def test_an_async_function_is_refused() -> None:
    async def search(text: str, k: int) -> list[str]:
        return []

    with pytest.raises(UsageError, match="async"):
        FunctionRetriever(search)


def test_a_changed_function_is_asked_again(
    small: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run of a function that was edited since is not the run of the function as it is now."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)

    def first(page: str) -> str:
        Path("edited_search.py").write_text(f"def search(text, k):\n    return ['{page}']\n")
        monkeypatch.delitem(sys.modules, "edited_search", raising=False)
        importlib.invalidate_caches()
        place = small.folder.root
        made = retrieve(place, "run", retriever="edited_search:search", k=1)
        return made.ranked_pages()["q0"][0]

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert first("w:1") == "w:1"
    assert first("w:2") == "w:2"


def test_what_is_not_ones_own_has_no_code_and_modules_have(tmp_path: Path) -> None:
    class Store:
        """A store may have an `own` of its own."""

        own = True

    Store.__module__ = "whichone.retrieval.store"
    assert code_of(Store()) is None
    store = Store()
    store.own_code = sys.modules[__name__]  # type: ignore[attr-defined]
    assert code_of(store) == code_of(ask) is not None


def test_an_object_of_an_edited_module_is_asked_again(
    small: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langchain_core")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def first(page: str, name: str = "store") -> str:
        Path("edited_store.py").write_text(STORE.format(page=page))
        monkeypatch.delitem(sys.modules, "edited_store", raising=False)
        importlib.invalidate_caches()
        options = {"make": f"edited_store:{name}", "ids": "page"}
        made = retrieve(small.folder.root, "run", retriever="langchain", options=options, k=1)
        told = str(command_of(made.folder.manifest, Path("run")))
        assert told.endswith(f"--returns page -o ids=page -o make=edited_store:{name}")
        return made.ranked_pages()["q0"][0]

    assert first("w:1") == "w:1"
    assert first("w:2") == "w:2"
    assert first("w:2", "other") == "w:3"


STORE = """
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

class Store(BaseRetriever):
    page: str = "{page}"
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document("x", id=self.page)]

store, other = Store(), Store(page="w:3")
"""


def test_the_command_that_makes_a_run_again(
    small: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("with_option.py").write_text("def search(text, k, page='w:1'):\n    return [page]\n")
    place = str(small.folder.root)
    run = retrieve(place, "run", retriever="with_option:search", options={"page": "w:2"}, k=1)
    command = f"whichone retrieve {small.folder.root.resolve()} run --retriever with_option:search"
    told = command_of(run.folder.manifest, Path("run"))
    assert told == f"{command} -k 1 --returns page -o page=w:2"
    explained = retrieve(place, "named", retriever="namesake", options={"encoder": "none", "pool": 9}, k=1)
    words = shlex.split(str(command_of(explained.folder.manifest, Path("again as told"))))
    assert CliRunner().invoke(command_line, words[1:], catch_exceptions=False).exit_code == 0
    assert Run.open("again as told").folder.manifest.parameters == explained.folder.manifest.parameters
    Path("run.txt").write_text("".join(f"q{n} Q0 w:{n} 1 1 t\n" for n in range(10)))
    brought = import_run("run.txt", "again", small, place=place, format="trec")
    told = command_of(brought.folder.manifest, Path("again"))
    assert told == f"whichone import run run.txt again --benchmark {place} --format trec"
