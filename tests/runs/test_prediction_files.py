"""Other systems' output files as answers, and back."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from whichone.cli import whichone
from whichone.errors import BadInput
from whichone.measures.scores import score_folder
from whichone.papers.kilt.import_kilt import KiltPlan, import_kilt
from whichone.papers.kilt.kilt_files import export_kilt_answers as export_kilt
from whichone.runs.read import read
from whichone.runs.run_files import import_answers


def write(path, *records):
    path.write_text("".join(f"{json.dumps(r)}\n" for r in records))
    return path


def values(answers, measure):
    return {r["query"]: r[measure] for r in score_folder(answers.path, [measure]).rows()}


def test_three_kinds_of_lines(toy, tmp_path):
    claim = "fc:vennick-rower:birthplace"
    file = write(
        tmp_path / "other.jsonl",
        {
            "id": "qa:vennick-rower:birthplace",
            "output": [{"answer": "Eskby", "provenance": [{"wikipedia_id": "vennick-rower"}]}],
        },
        {
            "id": "qa:vennick-botanist:birthplace",
            "output": [{"answer": "Eskby", "provenance": [{"title": "Orla Vennick (rower)"}]}],
        },
        {"id": "qa:brightwater-film:director", "answer": "Sunniva Hale", "passages": ["p:gone#0"]},
        {
            "id": f"{claim}:REFUTES",
            "predicted_label": "NOT ENOUGH INFO",
            "predicted_evidence": [["Orla_Vennick_(rower)", 0]],
        },
        {"id": "lonely", "answer": None},
    )
    made = import_answers(toy.folder.root, file, tmp_path / "a")
    assert made.name == "other"
    assert made.answers["qa:vennick-botanist:birthplace"].passages == ("p:vennick-rower",)
    assert made.answers["qa:brightwater-film:director"].notes == {"pages_not_in_the_corpus": 1}
    assert made.answers[f"{claim}:REFUTES"].text == "REFUTES"
    assert made.answers[f"{claim}:REFUTES"].passages == ("p:vennick-rower",)
    assert made.answers["lonely"].text is None
    counts = made.folder.manifest.counts
    assert counts["failures"] == len(toy.queries) - 5
    assert values(made, "kilt_em")["qa:vennick-rower:birthplace"] == 1
    assert values(made, "answered_for_namesake")["qa:vennick-botanist:birthplace"] == 1
    assert values(made, "em")["qa:brightwater-town:population"] == 0


def test_there_and_back_as_kilt(toy, tmp_path):
    made = read(toy.folder.root, tmp_path / "a", reader="kb-lookup")
    assert export_kilt(made.path, tmp_path / "kilt.jsonl") == {str(tmp_path / "kilt.jsonl"): 21}
    record = json.loads((tmp_path / "kilt.jsonl").read_text().splitlines()[0])
    assert record["output"][0]["provenance"] == [
        {"wikipedia_id": "vennick-botanist", "title": "Orla Vennick (botanist)"}
    ]
    words = ["import", "answers", str(toy.folder.root), str(tmp_path / "kilt.jsonl")]
    done = CliRunner().invoke(whichone, [*words, str(tmp_path / "b"), "--name", "back", "--json"])
    assert json.loads(done.stdout)["counts"]["answered"] == 21
    back = score_folder(tmp_path / "b", ["em", "kilt_em"])
    assert back.system == "back"
    first = score_folder(tmp_path / "a", ["em", "kilt_em"])
    for measure in ("em", "kilt_em"):
        assert back.values[measure].tolist() == first.values[measure].tolist()


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([{"id": "lonely", "answer": "a"}] * 2, r"x\.jsonl:2: this query came before: lonely"),
        ([{"id": "stranger", "answer": "a"}], r"x\.jsonl:1: the benchmark has no such query: stranger"),
        ([], "contains no answers"),
        ([{"answer": "a"}], "an object with an id"),
        ([{"id": "lonely"}], "no output, answer or predicted_label"),
        ([{"id": "lonely", "output": [{"answer": "a"}, {"answer": "b"}]}], "2 answers where one"),
    ],
)
def test_files_that_do_not_fit(toy, tmp_path, records, told):
    file = write(tmp_path / "x.jsonl", *records)
    with pytest.raises(BadInput, match=told):
        import_answers(toy.folder.root, file, tmp_path / "a")


def test_as_the_official_kilt_program_scores_them(shared, tmp_path):
    """Imported questions and predictions score as the official program scores the files."""
    names = {"accuracy": "accuracy", "em": "em", "f1": "f1", "rougel": "rouge_l"}
    measures = [*names.values(), *(f"kilt_{name}" for name in names.values())]
    for case in sorted((shared / "golden/kilt").glob("k*")):
        expected = json.loads((case / "expected.json").read_text("utf-8"))["eval_downstream"]
        if expected is None:
            continue
        bench = tmp_path / case.name
        import_kilt([case / "gold.jsonl"], bench, KiltPlan(task="qa"))
        made = import_answers(bench, case / "guess.jsonl", tmp_path / f"{case.name}-answers", on_error="skip")
        values = score_folder(made.path, measures).values
        for official, ours in names.items():
            mean = float(np.nanmean(values[ours]))
            gated = float(np.nanmean(values[f"kilt_{ours}"]))
            assert mean == pytest.approx(expected["downstream"][official]), (case.name, ours)
            assert gated == pytest.approx(expected["kilt"][f"KILT-{official}"]), (case.name, ours)
