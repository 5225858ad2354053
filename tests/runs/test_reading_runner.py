"""Answers on disk: kept one by one, resumed, checked, failures counted apart."""

from __future__ import annotations

import pytest

from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.records import Answer
from whichone.runs.read import run_reader
from whichone.runs.run import Answers
from whichone.runs.shown import Setting

GOLD = Setting()


class FirstWord:
    """Says the first word of the first passage, and rests on it."""

    name = "first-word"

    def __init__(self, breaks_at: str | None = None) -> None:
        self.asked: list[str] = []
        self.breaks_at = breaks_at

    def describe(self):
        return {"reader": "first-word"}

    def read(self, tasks):
        for task in tasks:
            self.asked.append(task.question.id)
            if task.question.id == self.breaks_at:
                raise KeyboardInterrupt
            first = task.passages[0]
            yield Answer(
                question=task.question.id,
                text=first.text.split()[0],
                passages=(first.id,),
                notes={"usage": {"seconds": 0.5, "tokens": 1}},
            )


def test_answers_name_run_reader_and_setting(toy, tmp_path):
    made = run_reader(FirstWord(), toy, tmp_path / "a", GOLD)
    assert made.name == "first-word (gold)"
    assert made.benchmark_id == toy.id
    assert set(made.folder.manifest.parents) == {"benchmark", "reader", "setting"}
    assert made.folder.manifest.counts["answered"] == len(toy.queries)
    answer = made.answers["qa:vennick-rower:team"]
    assert (answer.text, answer.passages) == ("Orla", ("p:vennick-rower#0",))
    assert answer.notes == {}  # what it took is timing, not answer
    timing = made.folder.table("timing").to_pylist()
    assert {row["seconds"] for row in timing} == {0.5} and timing[0]["tokens"] == 1
    assert {"versions", "hardware", "at", "seconds"} <= made.folder.manifest.made.keys()
    assert made.benchmark().id == toy.id


def test_killed_it_goes_on_per_question_and_gives_the_same(toy, tmp_path):
    stopped = toy.queries[7].id
    with pytest.raises(KeyboardInterrupt):
        run_reader(FirstWord(stopped), toy, tmp_path / "a", GOLD)
    with (tmp_path / "a/.partial/journal.jsonl").open("ab") as journal:
        journal.write(b'{"answer": {"question": "torn')
    reader = FirstWord()
    resumed = run_reader(reader, toy, tmp_path / "a", GOLD)
    assert reader.asked[0] == stopped and len(reader.asked) == len(toy.queries) - 7
    whole = run_reader(FirstWord(), toy, tmp_path / "b", GOLD)
    assert resumed.folder.content_hash == whole.folder.content_hash
    again = FirstWord()
    run_reader(again, toy, tmp_path / "a", GOLD)
    assert again.asked == []


class Flaky(FirstWord):
    """Fails at some questions, or says nothing, while it is `down`."""

    def __init__(self, failing: set[str], empty: set[str], down: bool) -> None:
        super().__init__()
        self.failing, self.empty, self.down = failing, empty, down

    def read(self, tasks):
        for task, answer in zip(tasks, super().read(tasks), strict=True):
            question = task.question.id
            if self.down and question in self.failing:
                yield Answer(question=question, error="the endpoint is down")
            elif self.down and question in self.empty:
                yield Answer(question=question, text="", notes={"form": "empty"})
            else:
                yield answer


def test_retry_asks_what_failed_and_nothing_else(toy, tmp_path):
    failing, empty = {toy.queries[2].id, toy.queries[5].id}, {toy.queries[3].id}
    first = run_reader(Flaky(failing, empty, down=True), toy, tmp_path / "a", GOLD)
    assert first.folder.manifest.counts["failures"] == 2
    untouched = Flaky(failing, empty, down=False)
    run_reader(untouched, toy, tmp_path / "a", GOLD)
    assert untouched.asked == []
    reader = Flaky(failing, empty, down=False)
    again = run_reader(reader, toy, tmp_path / "a", GOLD, retry=True)
    assert sorted(reader.asked) == sorted(failing | empty)
    assert again.failures == {}
    whole = run_reader(FirstWord(), toy, tmp_path / "b", GOLD)
    assert again.folder.content_hash == whole.folder.content_hash
    nothing = Flaky(failing, empty, down=False)
    run_reader(nothing, toy, tmp_path / "a", GOLD, retry=True)
    assert nothing.asked == []


def test_twice_killed(toy, tmp_path):
    for n in (3, 9):
        with pytest.raises(KeyboardInterrupt):
            run_reader(FirstWord(toy.queries[n].id), toy, tmp_path / "a", GOLD)
        with (tmp_path / "a/.partial/journal.jsonl").open("ab") as journal:
            journal.write(b"{")
    reader = FirstWord()
    run_reader(reader, toy, tmp_path / "a", GOLD)
    assert len(reader.asked) == len(toy.queries) - 9


def test_other_work_is_not_gone_on_with(toy, tmp_path, capsys):
    with pytest.raises(KeyboardInterrupt):
        run_reader(FirstWord(toy.queries[7].id), toy, tmp_path / "a", GOLD)
    reader = FirstWord()
    run_reader(reader, toy, tmp_path / "a", Setting(depth=1))
    assert len(reader.asked) == len(toy.queries)
    assert "starting over" in capsys.readouterr().err


class Failing:
    """Fails for some questions, in one of two ways."""

    name = "failing"

    def __init__(self, ids, raises: bool) -> None:
        self.ids, self.raises = ids, raises

    def read(self, tasks):
        for task in tasks:
            if task.question.id in self.ids:
                if self.raises:
                    raise RuntimeError("out of luck")
                yield Answer(question=task.question.id, error="out of luck")
            else:
                yield Answer(question=task.question.id, text="fine")


@pytest.mark.parametrize("raises", [False, True])
def test_failures_are_kept_and_counted_apart(toy, tmp_path, raises):
    bad = {toy.queries[2].id, toy.queries[5].id}
    made = run_reader(Failing(bad, raises), toy, tmp_path / "a", GOLD)
    assert made.failures.keys() == bad
    assert all("out of luck" in error for error in made.failures.values())
    counts = made.folder.manifest.counts
    assert (counts["failures"], counts["answered"]) == (2, len(toy.queries) - 2)


def test_failures_stop_when_asked_or_when_all_fail(toy, tmp_path):
    bad = {q.id for q in toy.queries[4:]}
    with pytest.raises(BadInput, match="out of luck"):
        run_reader(Failing(bad, False), toy, tmp_path / "a", GOLD, on_error="fail")
    with pytest.raises(BadInput, match="the last 5 questions failed"):
        run_reader(Failing(bad, False), toy, tmp_path / "b", GOLD, stop_after=5)
    with pytest.raises(BadInput, match="all 21 questions failed"):
        run_reader(Failing({q.id for q in toy.queries}, True), toy, tmp_path / "c", GOLD, stop_after=99)
    mended = run_reader(Failing(set(), False), toy, tmp_path / "b", GOLD)
    assert mended.failures == {}  # those that had failed are tried again


class Says:
    name = "says"

    def __init__(self, answers) -> None:
        self.answers = answers

    def read(self, tasks):
        return self.answers(tasks)


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        (lambda tasks: [], "21 questions went in, 0 answers came out"),
        (lambda tasks: [Answer(question=t.question.id) for t in tasks][:-1], "20 answers came out"),
        (lambda tasks: [Answer(question=t.question.id) for t in [*tasks, tasks[0]]], "more answers"),
        (lambda tasks: [Answer(question="lonely") for t in tasks], "answered lonely"),
        (lambda tasks: ["Paris" for t in tasks], "not str"),
        (
            lambda tasks: [
                Answer(question=t.question.id, text="x", passages=("p:elsewhere#0",)) for t in tasks
            ],
            "not shown",
        ),
    ],
    ids=["nothing", "one short", "too much", "another id", "no answer", "not shown"],
)
def test_readers_that_break_the_rules(toy, tmp_path, answers, told):
    with pytest.raises(BadInput, match=told):
        run_reader(Says(answers), toy, tmp_path / "a", GOLD)
    with pytest.raises(BadInput, match="half-written"):
        Answers.open(tmp_path / "a")


def test_left_out_is_not_wrong_but_not_asked(toy, tmp_path):
    made = run_reader(FirstWord(), toy, tmp_path / "a", Setting(passages="other-bearer"))
    assert list(made.left_out) == ["lonely"]
    assert "lonely" not in made.answers
    few = run_reader(FirstWord(), toy, tmp_path / "b", GOLD, limit=3)
    assert len(few.answers) == 3 and len(few.left_out) == len(toy.queries) - 3


def test_is_a_folder_of_its_own_kind(toy, tmp_path):
    run_reader(FirstWord(), toy, tmp_path / "a", GOLD)
    with pytest.raises(BadInput, match=r"of the kind answers \(wanted: run\)"):
        Folder.open(tmp_path / "a", "run")
