"""Makes a folder and stops the process at one step of the system after another; then looks what is left.

Run as a program with a kind of folder and a place. Every opening for writing, flush, rename, truncation and
removal below the place, from the beginning of the commit on, is a step. For each step a child is stopped there, as by a power cut; another child
then opens what is left, which must be whole or say that it is not, and makes the folder again, which
must give what an undisturbed process gives.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.errors import WhichoneError
from whichone.files.folder import Folder
from whichone.files.tables import TableSchema
from whichone.records import Answer, Output, Passage, Query, Ranking
from whichone.runs.read import run_reader
from whichone.runs.runner import run_retriever
from whichone.runs.settings import Setting

STOPPED = 42
_EVENTS = {"os.rename", "os.remove", "os.truncate", "os.rmdir", "os.mkdir"}
NUMBERS = TableSchema("numbers", pa.schema([("n", pa.int64())]), ("n",))


class Search:
    def search(self, questions: Any, k: int) -> Any:
        return [Ranking(question=q.id, passages=("w:1#0",), scores=(1.0,)) for q in questions]


class Say:
    name = "say"

    def read(self, tasks: Any) -> Any:
        return [Answer(question=t.question.id, text="x") for t in tasks]


def benchmark(place: Path, count: int = 3) -> Benchmark:
    return save_benchmark(
        place,
        name="b",
        queries=[
            Query(id=f"q{n}", task="qa", input=f"Who is {n}?", outputs=(Output(answer="x"),))
            for n in range(count)
        ],
        passages=[Passage(id="w:1#0", page="w:1", title="One", text="One is x.")],
    )


def plain(place: Path, rows: int = 5) -> None:
    with Folder.create(place, "thing") as folder:
        folder.write(NUMBERS, pa.table({"n": list(range(rows))}))
        folder.write_bytes("bytes", b"x" * rows)
        folder.commit(parameters={"rows": rows})


def replaced(place: Path) -> None:
    """A finished folder takes the place of another one with other files."""
    plain(place, 7)


def _other(place: Path) -> None:
    with Folder.create(place, "thing") as folder:
        folder.write_bytes("old", b"old")
        folder.write_bytes("bytes", b"old")
        folder.commit(parameters={"rows": 0})


def run(place: Path) -> None:
    opened = Benchmark.open(place.parent / "benchmark")
    run_retriever(Search(), opened, place, k=1, name="s", block=2)


def answers(place: Path) -> None:
    opened = Benchmark.open(place.parent / "benchmark")
    run_reader(Say(), opened, place, Setting(passages="none"))


KINDS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "plain": ("thing", plain),
    "replaced": ("thing", replaced),
    "benchmark": ("benchmark", benchmark),
    "run": ("run", run),
    "answers": ("answers", answers),
}


def prepare(kind: str, place: Path) -> None:
    """What has to be there before the folder is made."""
    shutil.rmtree(place.parent, ignore_errors=True)
    place.parent.mkdir()
    if kind in ("run", "answers"):
        benchmark(place.parent / "benchmark")
    if kind == "replaced":
        _other(place)


def stop_at(place: Path, wanted: int) -> list[int]:
    """Count the steps below the place; at the wanted one, end at once."""
    steps = [0]
    below = str(place)

    committing = [False]

    def step() -> None:
        steps[0] += committing[0]
        if steps[0] == wanted:
            os._exit(STOPPED)

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        writing = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
        if (event in _EVENTS or writing) and str(arguments[0]).startswith(below):
            committing[0] = committing[0] or "next.json" in str(arguments[0])
            step()

    sys.addaudithook(heard)
    flush = os.fsync

    def flushed(handle: int) -> None:
        step()
        flush(handle)

    os.fsync = flushed
    return steps


def in_child(work: Callable[[], int]) -> int:
    child = os.fork()
    if child == 0:
        try:
            os._exit(work())
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(kind: str, root: Path) -> None:
    called, make = KINDS[kind]
    place = root / "work" / "made"

    def make_and_hash() -> int:
        prepare(kind, place)
        steps = stop_at(place, -1)
        make(place)
        count = steps[0]
        (root / "hash").write_text(f"{Folder.open(place, called).content_hash} {count}")
        return 0

    assert in_child(make_and_hash) == 0
    whole, _, count = (root / "hash").read_text().partition(" ")

    def stopped(wanted: int) -> int:
        prepare(kind, place)
        stop_at(place, wanted)
        make(place)
        return 0

    def look() -> int:
        try:
            left = Folder.open(place, called)
            left.verify()
        except WhichoneError:
            left = None
        allowed = {whole, old} if kind == "replaced" else {whole}
        if left is not None and left.content_hash not in allowed:
            print("a folder was accepted that nobody made")
            return 1
        make(place)
        made = Folder.open(place, called)
        made.verify()
        if made.content_hash != whole:
            print("made again, it is another folder")
            return 1
        return 0

    old = ""
    if kind == "replaced":

        def hash_of_old() -> int:
            prepare(kind, place)
            (root / "old").write_text(Folder.open(place, called).content_hash)
            return 0

        assert in_child(hash_of_old) == 0
        old = (root / "old").read_text()
    for wanted in range(1, int(count) + 1):
        assert in_child(functools.partial(stopped, wanted)) == STOPPED, (
            f"not stopped at {wanted} of {count}"
        )
        assert in_child(look) == 0, f"stopped at step {wanted} of {count}"
    print(f"stopped at each of {count} steps")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
