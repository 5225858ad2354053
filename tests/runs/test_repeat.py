"""Asked twice: differing answers are counted; what an endpoint says of itself is part of the identity."""

from __future__ import annotations

from fake_server import completion

from whichone.experiment.execute import report_experiment, run_experiment
from whichone.runs.read import read, read_repeatedly

OPTIONS = {"model": "fake-model", "retries": 0, "structured": False}


def test_answers_that_differ_are_counted(toy, tmp_path, serve):
    """The second time every other question gets another answer."""
    asked: list[str] = []

    def says(body, n):
        text = str(body["messages"])
        asked.append(text)
        again = asked.count(text)
        return completion("Leeds" if again == 1 or len(set(asked)) % 2 else "Turin")

    server = serve(says)
    options = {**OPTIONS, "endpoint": server.url, "concurrency": 1}
    made, found = read_repeatedly(toy.folder.root, tmp_path / "a", repeat=2, reader="llm", options=options)
    questions = len(made.answers)
    assert found["times"] == 2
    assert found["questions"] == questions
    assert len(asked) >= 2 * questions
    texts = {q: a.text for q, a in made.answers.items()}
    from whichone.runs.run import Answers

    second = {q: a.text for q, a in Answers.open(tmp_path / "a-repeat-2").answers.items()}
    assert found["differing"] == sum(texts[q] != second[q] for q in texts)


def test_once_counts_nothing(toy, tmp_path):
    _, found = read_repeatedly(toy.folder.root, tmp_path / "a", repeat=1, reader="kb-lookup")
    assert found == {}
    _, found = read_repeatedly(toy.folder.root, tmp_path / "b", repeat=3, reader="kb-lookup")
    assert (found["times"], found["differing"]) == (3, 0)


def test_another_model_behind_the_same_name_is_asked_anew(toy, tmp_path, serve):
    server = serve(lambda body, n: completion("Leeds"))
    options = {**OPTIONS, "endpoint": server.url, "cache": "none"}
    server.models = [{"id": "fake-model", "created": 1, "meta": {"n_params": 7}}]
    first = read(toy.folder.root, tmp_path / "a", reader="llm", options=options)
    assert first.folder.manifest.parameters["reader"]["served"] == {"meta": {"n_params": 7}}
    assert first.folder.manifest.parameters["reader"]["temperature"] == 0
    calls = len(server.requests)
    server.models = [{"id": "fake-model", "created": 2, "meta": {"n_params": 7}}]
    read(toy.folder.root, tmp_path / "a", reader="llm", options=options)
    assert len(server.requests) == calls
    server.models = None
    read(toy.folder.root, tmp_path / "a", reader="llm", options=options)
    assert len(server.requests) == calls
    server.models = [{"id": "fake-model", "meta": {"n_params": 13}}]
    other = read(toy.folder.root, tmp_path / "b", reader="llm", options=options)
    assert other.folder.manifest.parents["reader"] != first.folder.manifest.parents["reader"]


def test_a_report_has_the_cells_of_its_own_file(toy, tmp_path):
    file = tmp_path / "study.toml"
    text = 'benchmarks = ["{toy}"]\n[[retriever]]\nretriever = "bm25"\nname = "{name}"\nk = {k}\n'
    file.write_text(text.format(toy=toy.folder.root, name="older", k=2))
    run_experiment(file)
    file.write_text(text.format(toy=toy.folder.root, name="newer", k=3))
    (page,) = report_experiment(run_experiment(file), tmp_path / "out.html")
    shown = page.read_text("utf-8")
    assert "newer" in shown
    assert "older" not in shown
