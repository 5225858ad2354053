"""Experiments from one file: crossed, keyed, resumed, estimated."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fake_server import Reply, completion, error

from whichone.cli import whichone
from whichone.errors import BadInput, Missing, UsageError
from whichone.experiment.execute import dry_run, prepare, run_experiment
from whichone.experiment.plan import read_plan
from whichone.runs.run import Answers, Run

READERS = """
[[reader]]
reader = "kb-lookup"

[[reader]]
name = "fake"
reader = "llm"
[reader.options]
endpoint = "{url}"
model = "fake-model"
prompt = "{prompt}"
retries = 0
price_prompt = 1.0
price_completion = 4.0
"""
STUDY = """
benchmarks = ["{toy}"]

[[retriever]]
retriever = "bm25"
k = 3
{readers}
[[setting]]
passages = "gold"

[[setting]]
passages = "retrieved"
depth = 2

[[setting]]
passages = "other-bearer"
"""


def write(tmp_path: Path, toy, url: str, prompt: str = "zero-shot") -> Path:
    file = tmp_path / "study.toml"
    readers = READERS.format(url=url, prompt=prompt)
    file.write_text(STUDY.format(toy=toy.folder.root, readers=readers))
    return file


def says(body: dict[str, Any], n: int) -> Reply:
    return completion('{"answer": "Eskby", "passages": [1]}')


def test_every_cell_once(toy, tmp_path, serve):
    server = serve(says)
    file = write(tmp_path, toy, server.url)
    results = run_experiment(file)
    assert [(r.kind, r.name, r.status) for r in results] == [
        ("run", "bm25", "done"),
        ("answers", "kb-lookup (gold)", "done"),
        ("answers", "kb-lookup + bm25", "done"),
        ("answers", "kb-lookup (other bearer)", "done"),
        ("answers", "fake (gold)", "done"),
        ("answers", "fake + bm25", "done"),
        ("answers", "fake (other bearer)", "done"),
    ]
    assert results[1].measures["em"]["value"] == pytest.approx(1.0)
    assert "acc@1" in results[0].measures
    calls = len(server.requests)
    again = run_experiment(file)
    assert len(server.requests) == calls
    assert [r.measures for r in again] == [r.measures for r in results]
    listed = json.loads((tmp_path / "study-cells/experiment.json").read_text())
    assert len(listed["cells"]) == 7 and listed["made"]["versions"]
    answers = Answers.open(results[5].path)
    assert answers.folder.manifest.parents.keys() == {"benchmark", "reader", "setting", "run"}


def test_a_cell_is_keyed_by_what_it_depends_on(toy, tmp_path, serve):
    prompt = tmp_path / "mine.md"
    prompt.write_text("## task qa\nBe brief.\n")
    file = write(tmp_path, toy, serve(says).url, str(prompt))
    before = {r["name"]: r["path"] for r in dry_run(file)}
    prompt.write_text("## task qa\nBe very brief.\n")
    after = {r["name"]: r["path"] for r in dry_run(file)}
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"fake (gold)", "fake + bm25", "fake (other bearer)"}
    file.write_text(file.read_text().replace("k = 3", "k = 4"))
    deeper = {r["name"]: r["path"] for r in dry_run(file)}
    changed = {name for name in after if after[name] != deeper[name]}
    assert changed == {"bm25", "kb-lookup + bm25", "fake + bm25"}
    file.write_text(file.read_text().replace("retries = 0", "retries = 3"))
    assert {r["name"]: r["path"] for r in dry_run(file)} == deeper


def test_dry_run_runs_nothing_and_estimates(toy, tmp_path, serve):
    server = serve(says)
    file = write(tmp_path, toy, server.url)
    planned = {r["name"]: r for r in dry_run(file)}
    assert server.requests == [] and not (tmp_path / "study-cells").exists()
    assert all(r["status"] == "to do" and r["questions"] == 21 for r in planned.values())
    gold, found = planned["fake (gold)"], planned["fake + bm25"]
    assert gold["basis"] == "assumed" and gold["seconds"] == pytest.approx(21 * 2.0 / 16)
    # 30 tokens of reply at 4, the rest prompt at 1, a million
    assert gold["cost"] == pytest.approx((gold["tokens"] - 21 * 30 + 4 * 21 * 30) / 1e6, rel=0.01)
    assert gold["tokens"] > 21 * 150 and found["tokens"] > 21 * 150
    run_experiment(file)
    done = {r["name"]: r for r in dry_run(file)}
    assert all(r["status"] == "done" and r["questions"] == 0 for r in done.values())
    file.write_text(f"seed = 1\n{file.read_text()}")
    seeded = {r["name"]: r for r in dry_run(file)}
    assert seeded["bm25"]["status"] == "done"
    assert seeded["fake (gold)"]["basis"] == "measured"


@pytest.mark.parametrize(
    ("named", "allow"),
    [
        ('measures = ["my_measures:early@5"]\n[[retriever]]\nretriever = "bm25"\n', "my_measures:early"),
        ('[[retriever]]\nretriever = "lucene"\noptions = { jar = "theirs.jar" }\n', "theirs.jar"),
    ],
)
def test_own_measures_and_jars_are_code(toy, tmp_path, named, allow):
    file, out = tmp_path / "code.toml", tmp_path / "out"
    file.write_text(f'benchmarks = ["{toy.folder.root}"]\n{named}')
    with pytest.raises(UsageError, match=f"would run with your rights: {allow}"):
        run_experiment(file, out=out)
    assert not out.exists()
    assert dry_run(file, out=out, allow=[allow])


def test_a_step_runs_no_code_that_only_the_file_names(toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("their_code.py").write_text("open('ran', 'w').close()\ndef search(text):\n    return []\n")
    bench = str(toy.folder.root)
    for code in (["-o", "make=their_code:search"], ["-omake=their_code:search"]):
        words = ["retrieve", bench, "stepped", "--retriever", "haystack", *code]
        file = tmp_path / "steps.toml"
        file.write_text(
            f'benchmarks = ["{bench}"]\n[[retriever]]\nretriever = "bm25"\n'
            f'[[step]]\ncommand = {json.dumps(words)}\nout = "stepped"\n'
        )
        with pytest.raises(UsageError, match="would run with your rights: their_code:search"):
            run_experiment(file)
        assert not Path("ran").exists()
        # what reads like no code in the file and turns out to be some is refused by the command itself
        plan = read_plan(file)
        with pytest.raises(BadInput, match="exit code 2"):
            prepare(plan, ["their_code:other"])
        assert not Path("ran").exists()
        with pytest.raises(BadInput, match="exit code"):
            prepare(plan, ["their_code:search"])  # which is no component of haystack
        assert Path("ran").exists()
        Path("ran").unlink()


def test_killed_it_goes_on_per_question(toy, tmp_path, serve, monkeypatch):
    file = write(tmp_path, toy, serve(says).url)
    module = tmp_path / "slow_reader.py"
    module.write_text(
        "from pathlib import Path\n"
        "asked = []\n"
        "def answer(text, passages):\n"
        "    asked.append(text)\n"
        "    if len(asked) == 9 and not Path('mended').exists():\n"
        "        raise KeyboardInterrupt\n"
        "    return 'Eskby'\n"
    )
    monkeypatch.chdir(tmp_path)
    file.write_text(
        f'benchmarks = ["{toy.folder.root}"]\n'
        '[[reader]]\nreader = "slow_reader:answer"\n[[setting]]\npassages = "gold"\n'
    )
    allow = ["slow_reader:answer"]
    for refused in (run_experiment, dry_run):
        with pytest.raises(UsageError, match="would run with your rights: slow_reader:answer"):
            refused(file)
    assert "slow_reader" not in sys.modules
    with pytest.raises(KeyboardInterrupt):
        run_experiment(file, allow=allow)
    (half,) = dry_run(file, allow=allow)
    assert (half["status"], half["questions"]) == ("begun", 21 - 8)
    Path("mended").touch()
    import slow_reader

    slow_reader.asked.clear()
    with pytest.raises(UsageError, match="slow_reader:answer"):
        run_experiment(file)
    assert slow_reader.asked == []
    (done,) = run_experiment(file, allow=allow)
    assert done.status == "done" and len(slow_reader.asked) == 13


def test_seeds_are_cells_of_their_own(toy_ambigdocs, tmp_path):
    file = tmp_path / "orders.toml"
    file.write_text(
        f'benchmarks = ["{toy_ambigdocs.folder.root}"]\n[[reader]]\nreader = "kb-lookup"\n'
        '[[setting]]\npassages = "gold"\nseeds = [0, 1, 2, 3, 4, 5]\n'
    )
    results = run_experiment(file)
    assert [r.name for r in results][:2] == ["kb-lookup (gold) seed 0", "kb-lookup (gold) seed 1"]
    orders = {Answers.open(r.path).shown["Orla Vennick"] for r in results}
    assert len(orders) == 2  # two passages, both orders


OF_RUNS = """
benchmarks = ["{toy}"]
retrieval_measures = ["acc@1"]

[[retriever]]
retriever = "bearers"
k = 5

[[retriever]]
retriever = "bm25"
k = 5
{options}
[[retriever]]
name = "both"
retriever = "fusion"
k = 5
of = ["bearers", "bm25"]
"""


def test_runs_of_runs(toy, tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(OF_RUNS.format(toy=toy.folder.root, options=""))
    bearers, bm25, both = run_experiment(file)
    assert [c.status for c in (bearers, bm25, both)] == ["done"] * 3
    fused = Run.open(both.path)
    assert [each["run"] for each in fused.description["fused"]] == ["bearers", "bm25"]
    listed = Run.open(bearers.path)
    assert listed.description["sees"] == ["corpus", "the bearers of the name asked about"]
    assert fused.description["sees"] == listed.description["sees"]
    sets = {s.id: s for s in toy.sets}
    for query in toy.queries:
        if query.name_set:
            pages = [p for b in sets[query.name_set].bearers for p in b.pages]
            assert listed.ranked_pages()[query.id] == pages
    assert listed.folder.manifest.made["cpu_seconds"] >= 0
    file.write_text(OF_RUNS.format(toy=toy.folder.root, options="options = { k1 = 2.0 }\n"))
    again = run_experiment(file)
    assert again[0].key == bearers.key
    assert again[1].key != bm25.key
    assert again[2].key != both.key, "what it fuses has changed"


def test_one_failing_cell_does_not_stop_the_others(toy, tmp_path, serve):
    server = serve(lambda body, n: error(401, "no"))
    file = write(tmp_path, toy, server.url)
    result = CliRunner().invoke(whichone, ["experiment", str(file)])
    assert isinstance(result.exception, BadInput)
    assert "3 of 7 cells failed" in str(result.exception)
    listed = json.loads((tmp_path / "study-cells/experiment.json").read_text())["cells"]
    assert [c["status"] for c in listed].count("done") == 4
    assert "does not let us in" in listed[-1]["error"]


def test_as_typed(toy, tmp_path, serve):
    file = write(tmp_path, toy, serve(says).url)
    shown = CliRunner().invoke(whichone, ["experiment", str(file), "--dry-run"])
    assert shown.exit_code == 0 and "7 of 7 cells to do" in shown.stdout
    done = CliRunner().invoke(whichone, ["experiment", str(file), "--json"])
    assert done.exit_code == 0
    paths = [c["path"] for c in json.loads(done.stdout) if c["kind"] == "answers"]
    compared = CliRunner().invoke(
        whichone, ["compare", *paths, "--measures", "em", "--baseline", "kb-lookup (gold)", "--json"]
    )
    assert len(json.loads(compared.stdout)) == 5


@pytest.mark.parametrize(
    ("text", "kind", "told"),
    [
        ("benchmarks = [", BadInput, "not an experiment: "),
        ("benchmark = []", BadInput, "not an experiment"),
        ("benchmarks = []", BadInput, "no benchmark"),
        ('benchmarks = ["b"]', BadInput, "neither"),
        ('benchmarks = ["b"]\n[[reader]]\nreader = "llm"', BadInput, r"no \[\[setting\]\]"),
        (
            'benchmarks = ["b"]\n[[reader]]\nreader = "llm"\n[[setting]]\npassages = "silver"',
            UsageError,
            "silver",
        ),
        (
            'benchmarks = ["b"]\n[[reader]]\nreader = "llm"\n[[setting]]\npassages = "retrieved"',
            BadInput,
            r"no \[\[retriever\]\]",
        ),
        ('benchmarks = ["b"]\n' + '[[retriever]]\nretriever = "bm25"\n' * 2, BadInput, "two"),
        ('benchmarks = ["b"]\n[[retriever]]\nretriver = "bm25"', BadInput, "not an experiment"),
        ('benchmarks = ["b"]\n[[retriever]]\nretriever = "bm25"\nof = ["x"]', BadInput, "no finished"),
        (
            'benchmarks = ["b"]\n[[retriever]]\nretriever = "fusion"\nof = ["bm25"]',
            BadInput,
            "no .* above it has this name",
        ),
    ],
)
def test_files_that_are_no_experiment(tmp_path, text, kind, told):
    file = tmp_path / "x.toml"
    file.write_text(text)
    with pytest.raises(kind, match=told):
        read_plan(file)


def test_names_nobody_knows(toy, tmp_path):
    with pytest.raises(Missing):
        read_plan(tmp_path / "nothing.toml")
    file = tmp_path / "x.toml"
    file.write_text(f'benchmarks = ["{toy.folder.root}"]\n[[retriever]]\nretriever = "bm26"\n')
    with pytest.raises(UsageError, match="did you mean bm25"):
        run_experiment(file)
