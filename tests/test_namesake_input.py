"""What people hand to `Namesake`: tables with gaps, values of all kinds, and mistakes."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import whichone
from whichone.errors import BadInput, UsageError

RECORDS: list[dict[str, Any]] = [
    {"id": 1, "title": "Ada Park", "text": "in Leeds", "year": 2020, "tags": ["a", "b"]},
    {"id": 2, "title": "Ada Park", "text": "in Turin", "year": 2021, "when": "2021-01-02"},
    {"id": 3, "title": None, "text": "no title here", "year": None},
]


def over(passages: Any, **options: Any) -> whichone.Namesake:
    return whichone.Namesake.over(passages, encoder="none", **options)


@pytest.fixture(scope="module")
def frame() -> whichone.Namesake:
    """A data frame's column of whole numbers with a gap contains fractions."""
    table = pd.DataFrame(RECORDS)
    assert table.year.dtype == float
    return over(table.assign(when=pd.to_datetime(table.when)))


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ({"year": 2021}, ["2"]),
        ({"year": np.int64(2021)}, ["2"]),
        ({"year": "2021"}, ["2"]),
        ({"year": range(2019, 2021)}, ["1"]),
        ({"year": np.array([2020, 2021])}, ["1", "2"]),
        ({"when": datetime.date(2021, 1, 2)}, ["2"]),
        ({"when": pd.Timestamp("2021-01-02")}, ["2"]),
        ({"tags": "b"}, ["1"]),
        ({"year": None}, []),
        ({"year": []}, []),
    ],
)
def test_a_value_is_found_however_it_is_written(
    frame: whichone.Namesake, wanted: dict[str, Any], ids: list[str]
) -> None:
    assert sorted(hit.id for hit in frame.search("Ada Park", 5, filter=wanted)) == ids


@pytest.mark.parametrize(
    ("mistake", "error", "says"),
    [
        (lambda n: n.search("Ada Park", filter=["year"]), UsageError, "mapping"),
        (lambda n: n.search("Ada Park", filter={"year": {"above": 1}}), UsageError, "list of"),
        *(
            (lambda n, k=k: n.search("Ada Park", k), UsageError, f"k is {k!r}: give a whole number")
            for k in (-1, 0, 1.5, "3", None, True)
        ),
        (lambda n: n.by_words("Ada Park", 0), UsageError, "k is 0"),
        (lambda n: n.remove(None), UsageError, "an id is a text"),
        (lambda n: n.remove([None]), UsageError, "an id is a text"),
        (lambda n: n.remove({"entity": "c1"}), UsageError, "an id is a text"),
        (lambda n: n.remove(1.5), UsageError, "not 1.5"),
        (lambda n: n.add([{"id": 9, "text": "x"}] * 2), BadInput, "two passages have the id '9'"),
        (lambda n: n.add([], names=5), BadInput, "names are a list of records"),
        (lambda n: n.add(5), BadInput, "passages are a list of records"),
        (lambda n: over(RECORDS, names=5), BadInput, "names are a list of records"),
        (lambda n: over(5), BadInput, "passages are a list of records"),
        (lambda n: n.search(None), UsageError, "a question is a text"),
        (lambda n: n.resolve(5), UsageError, "a question is a text"),
        (lambda n: n.resolve("Ada Park", answer=5), UsageError, "an answer is a text, not 5"),
        (lambda n: n.resolve("Ada Park", answer=None), UsageError, "an answer is a text, not None"),
        (lambda n: n.search_many(5), UsageError, "list of questions, not 5"),
        (lambda n: n.search_many("Ada Park"), UsageError, "list of questions"),
        (lambda n: n.add({"id": 5, "text": "x"}), BadInput, "list of records"),
        (lambda n: n.add([{"id": 5, "text": "half \ud800"}]), BadInput, "'5'"),
        (lambda n: over([{"id": 5, "text": "half \ud800"}]), BadInput, "'5'"),
        (lambda n: over("passages.jsonl"), BadInput, "list of records"),
        (lambda n: over(RECORDS, encoders="none"), UsageError, "did you mean encode"),
    ],
)
def test_mistakes_are_named(
    frame: whichone.Namesake, mistake: Callable[[Any], Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error) as caught:
        mistake(frame)
    shown = f"{caught.value} {getattr(caught.value, 'hint', '')}"
    assert says in shown
    assert len(frame) == 3


def test_ids_may_be_numbers() -> None:
    namesake = over(RECORDS, names={"Addie": 1})
    assert namesake.resolve("Where is Addie?").bearers[0].id == "1"
    assert namesake.remove(1) == 1 and namesake.remove([2, 3]) == 2
    assert namesake.search("Ada Park") == []
    assert namesake.add(RECORDS) == 3


def test_passages_without_words() -> None:
    namesake = over([{"id": 1, "text": ""}])
    assert namesake.search("anything") == []
    namesake.add([{"id": 2, "text": "anything"}])
    assert [hit.id for hit in namesake.search("anything")] == ["2"]


def test_ids_that_are_made_are_never_made_again(frame: whichone.Namesake, tmp_path: Any) -> None:
    """A record without an id is added beside what is there, and after what was removed."""
    namesake = over([{"title": "Ada Park", "text": f"badge {n}"} for n in range(3)])
    given: set[str] = set()
    for word in ("scanner", "printer"):
        assert namesake.add([{"text": f"the {word} of the cellar"}, {"text": "a tap"}]) == 2
        (hit,) = namesake.search(f"{word} cellar", 1)
        assert word in hit.passage.text and hit.id not in given
        given |= {hit.id for hit in namesake.search("the cellar tap", 9)}
        namesake.remove(hit.id)
    assert len(namesake) == 5
    assert namesake.search("badge 1", 1)[0].passage.text == "badge 1"


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NaT, pd.NA, ""])
def test_an_id_that_is_missing_is_made(missing: Any) -> None:
    namesake = over([{"id": missing, "text": "one"}, {"id": 1, "text": "two"}, {"text": "three"}])
    for word in ("scanner", "printer"):
        namesake.add([{"id": missing, "text": f"a {word}"}])
        namesake.add([{"id": 0, "text": f"the {word}"}])
    assert len(namesake) == 6  # only id 0 was replaced


AROUND = whichone.Namesake.around(
    lambda text, k: [{**record, "title": record["title"] or ""} for record in RECORDS],
    names=[{"id": record["id"], "name": "Ada Park"} for record in RECORDS[:2]],
)


@pytest.mark.parametrize(
    "work",
    [
        lambda namesake: namesake.search("Ada Park in Leeds"),
        lambda _: AROUND.search("Ada Park in Leeds"),
        lambda _: over(RECORDS),
    ],
    ids=["search", "around", "over"],
)
def test_a_fork_while_another_thread_works_does_not_hang(work: Callable[[Any], Any]) -> None:
    namesake = over(RECORDS)
    stop = threading.Event()

    def work_on() -> None:
        while not stop.is_set():
            work(namesake)

    thread = threading.Thread(target=work_on)
    thread.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
            for _ in range(10):
                child = os.fork()
                if child == 0:
                    signal.alarm(20)  # kills a child that waits for a lock
                    found = namesake.search("Ada Park in Turin", 1)[0].id
                    around = AROUND.search("Ada Park in Turin", 1)[0]["id"]
                    os._exit(0 if (found, around) == ("2", 2) else 1)
                assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()


def test_a_child_that_ends_leaves_its_parents_index_alone() -> None:
    """A program of its own: what ends here would end pytest's fork too."""
    program = """
import os, sys, whichone
namesake = whichone.Namesake.over([{"id": 1, "text": "one"}], encoder="none")
if os.fork() == 0:
    sys.exit(0)
assert os.wait()[1] == 0
namesake.add([{"id": 2, "text": "two"}])
print(len(namesake))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("2\n", 0), done.stderr
