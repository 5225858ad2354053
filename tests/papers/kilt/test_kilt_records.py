"""KILT's files in and out: nothing lost, bad lines named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, UsageError
from whichone.papers.kilt.import_kilt import KiltPlan, import_kilt, read_kilt
from whichone.papers.kilt.kilt_files import Originals, export_kilt, read_file
from whichone.papers.kilt.kilt_record import dataset, dataset_and_split, datasets, query_of, record_of

METRIC = {
    "fever": "accuracy",
    "aidayago2": "accuracy",
    "wned": "accuracy",
    "cweb": "accuracy",
    "trex": "accuracy",
    "structured_zeroshot": "accuracy",
    "nq": "em",
    "hotpotqa": "em",
    "triviaqa": "em",
    "eli5": "rougel",
    "wow": "f1",
}


def strict(value: Any) -> str:
    """JSON in which 1, 1.0 and true differ and the order of keys does not."""
    return json.dumps(value, sort_keys=True)


def test_eleven_datasets_with_the_paper_s_metrics() -> None:
    assert {name: d.metric for name, d in datasets().items()} == METRIC
    assert sum(d.splits["dev"] for d in datasets().values()) == 51_304
    assert sum(d.splits["test"] for d in datasets().values()) == 50_591
    assert [d.label for d in datasets().values() if d.multi_hop] == ["FEV", "HoPo"]


def test_file_names() -> None:
    assert dataset("zsRE").file("test") == "structured_zeroshot-test_without_answers-kilt.jsonl"
    assert dataset("triviaqa").file("dev") == "triviaqa-dev_id-kilt.jsonl"
    found = dataset_and_split("x/nq-dev-kilt.jsonl.gz")
    assert found is not None
    assert (found[0].name, found[1]) == ("nq", "dev")
    assert dataset_and_split("nq-dev.jsonl") is None
    with pytest.raises(UsageError, match="fever"):
        dataset("fevr")


def test_every_published_sample_goes_out_as_it_came_in(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "kilt-samples"
    files = sorted(folder.glob("*.jsonl"))
    assert len({file.name.split("-")[0] for file in files}) == 11
    import_kilt(files, tmp_path / "bench", KiltPlan())
    written = export_kilt(Benchmark.open(tmp_path / "bench"), tmp_path / "out")
    assert sorted(written) == [file.name for file in files]
    for file in files:
        back = (tmp_path / "out" / file.name).read_bytes().splitlines()
        own = file.read_bytes().splitlines()
        assert [strict(json.loads(b)) for b in back] == [strict(json.loads(o)) for o in own]


ODD = [
    {"id": 5, "input": "a", "output": [{"answer": None}, {"provenance": []}, {"answer": 3}, {}]},
    {"id": " x", "input": "b", "output": [], "meta": {}, "more": [1.0, 1, True]},
    {
        "id": "y",
        "input": "c",
        "output": [
            {"answer": "d", "provenance": [{"wikipedia_id": 12, "title": None, "meta": {"a": 1}}]},
            {"provenance": [{"title": "No id", "start_paragraph_id": 1.0}], "meta": {"score": 3}},
            {"provenance": None, "answer": ["a", "b"]},
        ],
    },
    {"id": "z"},
    {"id": "w", "input": None, "output": [{"answer": "a", "provenance": [{}]}]},
]


@pytest.mark.parametrize("record", ODD, ids=lambda r: str(r["id"]))
def test_odd_records_come_back(record: dict[str, Any]) -> None:
    made = query_of(record, task="qa")
    kept = msgspec.json.decode(msgspec.json.encode(made), type=type(made))
    assert strict(record_of(kept)) == strict(record)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=4,
)  # fmt: skip
_evidence = st.dictionaries(
    st.sampled_from(["wikipedia_id", "title", "start_paragraph_id", "end_character", "meta"]), _values
)
_outputs = st.fixed_dictionaries(
    {}, optional={"answer": _values, "provenance": st.lists(_evidence, max_size=2), "meta": _values}
)


@given(st.integers() | st.text("ab 1", min_size=1), st.lists(_outputs, max_size=3), _values)
def test_any_record_comes_back(identity: Any, outputs: list[Any], meta: Any) -> None:
    record = {"id": identity, "input": "q", "output": outputs, "meta": meta}
    assert strict(record_of(query_of(record, task="qa"))) == strict(record)


def test_what_a_query_knows_of_its_record() -> None:
    record = {
        "id": "1",
        "input": "the [START_ENT] Star Trek [END_ENT] films",
        "output": [{"answer": "Star Trek", "provenance": [{"wikipedia_id": "17157886"}]}],
    }
    query = query_of(record, task="el")
    assert (query.mention, query.name) == ("Star Trek", "Star Trek")
    assert query.gold_pages() == {"enwiki:17157886"}
    query = query_of({"id": "2", "input": "Star Trek [SEP] creator"}, task="sf")
    assert (query.name, query.relation, query.outputs) == ("Star Trek", "creator", ())


def lines(path: Path, *texts: str | bytes) -> Path:
    path.write_bytes(b"\n".join(t if isinstance(t, bytes) else t.encode() for t in texts) + b"\n")
    return path


GOOD = '{"id": "1", "input": "q", "output": [{"answer": "a"}]}'
BAD = {
    "blank": ("", "a blank line"),
    "json": ("{", "not the JSON"),
    "utf8": (b'{"id": "\xff", "input": "q"}', "not the JSON"),
    "no id": ('{"input": "q", "output": [{"answer": "a"}]}', "no id"),
    "no input": ('{"id": "2", "output": [{"answer": "a"}]}', r"no input \(2\)"),
    "twice": ('{"id": 1, "input": "r", "output": [{"answer": "a"}]}', r"twice.*line 1 \(1\)"),
    "no gold": ('{"id": "3", "input": "q", "output": []}', r"gold with no outputs \(3\)"),
    "no list": ('{"id": "4", "input": "q", "output": {"answer": "a"}}', r"no list \(4\)"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_line_is_named(tmp_path: Path, kind: str) -> None:
    text, message = BAD[kind]
    file = lines(tmp_path / "own.jsonl", GOOD, text)
    with pytest.raises(BadInput, match=message) as caught:
        read_file(file)
    assert (caught.value.file, caught.value.line) == (str(file), 2)
    read = read_file(file, on_error="skip")
    assert [query.id for query in read.queries] == ["1"]
    assert len(read.bad) == 1


@pytest.mark.parametrize(
    ("name", "message"), [("aida", "START_ENT"), ("trex", r"\[SEP\]"), ("fever", "SUPPORTS or REFUTES")]
)
def test_records_of_another_dataset_are_told(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_file(lines(tmp_path / "own.jsonl", GOOD), name=name)


def test_a_file_without_outputs_is_a_test_file(tmp_path: Path) -> None:
    read = read_file(lines(tmp_path / "own.jsonl", '{"id": "1", "input": "q"}'))
    assert read.split == "test"
    assert read.queries[0].attributes["split"] == "test"
    with pytest.raises(BadInput, match="gold with no outputs"):
        read_file(lines(tmp_path / "own.jsonl", '{"id": "1", "input": "q", "output": []}'))


def test_skipped_lines_lie_beside_the_benchmark(tmp_path: Path) -> None:
    file = lines(tmp_path / "own.jsonl", GOOD, "{")
    made = import_kilt([file], tmp_path / "bench", KiltPlan(on_error="skip"))
    told = made.folder.path("skipped.jsonl").read_bytes().splitlines()
    assert json.loads(told[0])["line"] == 2
    assert made.folder.manifest.counts["skipped"] == 1


def test_triviaqa_s_questions_are_joined_and_survive_export(tmp_path: Path) -> None:
    originals = tmp_path / "unfiltered-web-dev.json.gz"
    document = {"Data": [{"QuestionId": "sfq_1", "Question": "Who?", "Answer": {}}], "Version": 1.0}
    originals.write_bytes(gzip.compress(json.dumps(document).encode()))
    record = {"id": "sfq_1", "output": [{"answer": "Jim Laker"}]}
    file = lines(tmp_path / "triviaqa-dev_id-kilt.jsonl", json.dumps(record))
    read, corpus = read_kilt([file], KiltPlan(originals=(str(originals),)))
    assert corpus.queries[0].input == "Who?"
    assert read[0].without_input == 0
    assert record_of(corpus.queries[0]) == {**record, "input": "Who?"}
    assert record_of(read_kilt([file], KiltPlan())[1].queries[0]) == record
    with pytest.raises(BadInput, match="TriviaQA"):
        Originals([file])


def test_ids_that_two_datasets_share_stay_apart(tmp_path: Path) -> None:
    first = lines(tmp_path / "nq-dev-kilt.jsonl", GOOD)
    second = lines(tmp_path / "eli5-dev-kilt.jsonl", GOOD)
    made = import_kilt([first, second], tmp_path / "bench", KiltPlan())
    assert [q.id for q in made.queries] == ["1", "eli5/dev/1"]
    export_kilt(made, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "eli5-dev-kilt.jsonl").read_bytes()) == json.loads(GOOD)


def test_a_benchmark_of_another_kind_goes_out_as_kilt() -> None:
    from whichone.records import Output, Provenance, Query

    pages = tuple((Provenance(page=f"enwiki:{n}"),) for n in (1, 2))
    output = Output(answer="a", aliases=("b",), provenance=pages, attributes={"score": 1})
    query = Query(id="q", task="qa", input="?", outputs=(output,), role="tail")
    assert record_of(query) == {
        "id": "q",
        "input": "?",
        "output": [
            {"answer": "a", "provenance": [{"wikipedia_id": "1"}], "meta": {"score": 1}},
            {"answer": "a", "provenance": [{"wikipedia_id": "2"}]},
            {"answer": "b"},
        ],
        "meta": {"role": "tail"},
    }
