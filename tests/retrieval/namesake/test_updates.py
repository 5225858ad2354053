"""Updates of an index: atomic, on disk when confirmed, and found by readers that ask."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import whichone
from whichone.retrieval.namesake import updates

BASE = [{"id": f"b{n}", "title": f"Thing {n}", "text": f"word{n} of the base"} for n in range(20)]


def made(place: Path) -> whichone.Namesake:
    namesake = whichone.Namesake.over(BASE, encoder="none")
    namesake.save(place)
    return namesake


def passage(n: int) -> dict[str, str]:
    return {"id": f"a{n}", "title": f"Added {n}", "text": f"novel{n} text"}


def test_folding_keeps_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updates, "FOLD", 3)
    place = tmp_path / "index"
    namesake = made(place)
    reader = whichone.Namesake.open(place)
    for n in range(12):
        namesake.add([passage(n)])
    namesake.remove(["a3", "b4"])
    namesake.add([{"id": "b5", "title": "Thing 5", "text": "changed entirely"}])
    assert (place / updates.UPDATES).exists()
    for opened in (namesake, whichone.Namesake.open(place)):
        assert len(opened) == 20 + 12 - 2
        for n in range(12):
            hits = opened.search(f"novel{n}", 1)
            assert [hit.id for hit in hits] == ([] if n == 3 else [f"a{n}"])
        assert opened.search("word4", 1) == [] and opened.search("word5", 1) == []
        assert opened.search("changed entirely", 1)[0].id == "b5"
    # the reader's snapshot outlives the files that folding has deleted
    assert reader.search("word4", 1)[0].id == "b4" and len(reader) == 20
    assert reader.refresh() and len(reader) == 30


def test_what_is_in_memory_is_replaced_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of the journal is a part in memory that stays; what is changed in it counts no longer."""
    monkeypatch.setattr(updates, "SEAL", 2)
    place = tmp_path / "index"
    namesake = made(place)
    for n in range(7):
        namesake.add([passage(n)])
    namesake.add([{**passage(0), "text": "another text"}])
    namesake.remove("a1")
    namesake.add([passage(1)])
    namesake.remove("a2")
    for opened in (namesake, whichone.Namesake.open(place)):
        assert len(opened) == 20 + 7 - 1
        assert opened.search("novel0", 1) == [] and opened.search("novel2", 1) == []
        assert opened.search("another text", 1)[0].id == "a0"
        for n in (1, 3, 4, 5, 6):
            assert [hit.id for hit in opened.search(f"novel{n}", 2)] == [f"a{n}"]


def test_scores_do_not_depend_on_where_a_passage_is(tmp_path: Path) -> None:
    namesake = made(tmp_path / "index")
    namesake.add([passage(n) for n in range(5)])
    whole = whichone.Namesake.over([*BASE, *map(passage, range(5))], encoder="none")
    text = "novel2 text of the base Thing 7"
    apart = {hit.id: hit.score for hit in namesake.search(text, 6)}
    together = {hit.id: hit.score for hit in whole.search(text, 6)}
    assert apart.keys() == together.keys()
    # only the mean length differs: it is the base's until an index is built anew
    assert all(apart[key] == pytest.approx(together[key], rel=0.05) for key in apart)


def test_a_torn_line_was_never_confirmed(tmp_path: Path) -> None:
    place = tmp_path / "index"
    namesake = made(place)
    namesake.add([passage(1)])
    (journal,) = place.glob("journal-*.jsonl")
    with journal.open("ab") as file:
        file.write(b'{"add":[{"id":"half')
    opened = whichone.Namesake.open(place)
    assert len(opened) == 21
    opened.add([passage(2)])
    assert len(whichone.Namesake.open(place)) == 22
    assert namesake.refresh() and namesake.search("novel2", 1)[0].id == "a2"


def test_a_kill_loses_nothing_confirmed(tmp_path: Path) -> None:
    place = tmp_path / "index"
    made(place)
    program = f"""
import sys, whichone
from whichone.retrieval.namesake import updates
updates.FOLD = 4
namesake = whichone.Namesake.open({str(place)!r})
for n in range(1000):
    namesake.add([{{"id": f"a{{n}}", "title": f"Added {{n}}", "text": f"novel{{n}} text"}}])
    print(n, flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert process.stdout is not None
    confirmed = -1
    for line in process.stdout:
        confirmed = int(line)
        if confirmed >= 9:  # in the middle of a fold as likely as between two
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    opened = whichone.Namesake.open(place)
    for n in range(confirmed + 1):
        assert [hit.id for hit in opened.search(f"novel{n}", 1)] == [f"a{n}"]
    opened.add([passage(5000)])
    assert whichone.Namesake.open(place).search("novel5000", 1)[0].id == "a5000"
