from pathlib import Path
from typing import Any

import msgspec
import pytest

from whichone.errors import BadInput, UsageError
from whichone.papers.ambigdocs.ambigdocs_files import (
    export_ambigdocs,
    read_ambigdocs_predictions,
    read_questions,
)
from whichone.papers.ambigdocs.import_ambigdocs import import_ambigdocs, read_passage_file


def document(title: str, pid: str | None, answer: str | None, text: str = "") -> dict[str, Any]:
    row = {"title": title, "text": text or f"{title} is a thing.", "pid": pid}
    return row if answer is None else {**row, "answer": answer}


def questions(*qids: str) -> list[dict[str, Any]]:
    return [
        {
            "qid": qid,
            "ambiguous_entity": "Her",
            "question": "Who made Her?",
            "documents": [
                document("Her (film)", "41", "Spike Jonze"),
                document("Her (novel)", "42", "H. D."),
                document("Her", None, None, text=f"a page of {qid}"),
            ],
            "difficulty": 3,
        }
        for qid in qids
    ]


def write(path: Path, rows: Any) -> Path:
    path.write_bytes(msgspec.json.encode(rows))
    return path


def read(path: Path) -> Any:
    return msgspec.json.decode(path.read_bytes())


def test_files_come_back_as_they_went_in(tmp_path: Path) -> None:
    dev = write(tmp_path / "dev.json", questions("0_1", "2"))
    test = write(tmp_path / "test.json", questions("3"))
    benchmark, counts = import_ambigdocs([dev, test], tmp_path / "bench")
    assert benchmark is not None
    assert counts["splits"] == {"dev": 2, "test": 1}
    assert counts["documents_without_answer"] == 3
    assert export_ambigdocs(benchmark, tmp_path / "out") == {"dev.json": 2, "test.json": 1}
    for path in (dev, test):
        assert read(tmp_path / "out" / path.name) == read(path)
    assert export_ambigdocs(benchmark, tmp_path / "all.json") == {"all.json": 3}


def test_one_query_has_an_output_for_each_bearer(tmp_path: Path) -> None:
    benchmark, _ = import_ambigdocs([write(tmp_path / "test.json", questions("7"))], tmp_path / "b")
    assert benchmark is not None
    (query,) = benchmark.queries
    assert (query.id, query.name, query.attributes["split"]) == ("7", "Her", "test")
    assert [(o.entity, o.answer) for o in query.outputs] == [
        ("Her (film)", "Spike Jonze"),
        ("Her (novel)", "H. D."),
        ("Her", None),
    ]
    assert query.outputs[0].provenance[0][0].passage == "ambigdocs:Her (film)#41"
    (names,) = benchmark.sets
    assert [b.entity for b in names.bearers] == ["Her (film)", "Her (novel)", "Her"]
    assert "extra" not in repr(query.question())


def test_splits_that_share_qids_get_ids_of_their_own(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{split}.json", questions("1")) for split in ("dev", "test")]
    benchmark, _ = import_ambigdocs(files, tmp_path / "bench")
    assert benchmark is not None
    assert [q.id for q in benchmark.queries] == ["dev/1", "test/1"]
    export_ambigdocs(benchmark, tmp_path / "out")
    assert read(tmp_path / "out/test.json") == read(files[1])


def test_a_pid_with_two_texts_is_kept_apart_and_counted(tmp_path: Path) -> None:
    rows = questions("1", "2")
    rows[1]["documents"][0]["text"] = "another text"
    benchmark, counts = import_ambigdocs([write(tmp_path / "t.json", rows)], tmp_path / "bench")
    assert benchmark is not None
    assert counts["pids_of_two_texts"] == 1
    export_ambigdocs(benchmark, tmp_path / "t2.json")
    assert read(tmp_path / "t2.json") == rows


PASSAGES = (
    "id\ttext\ttitle\n"
    '41\t"Her (film) is a thing."\tHer (film)\n'
    '42\t"Her (novel) is ""another"" thing."\tHer (novel)\n'
    '43\t"More of the novel."\tHer (novel)\n'
    '44\t"Elsewhere."\tElsewhere\n'
)


def test_pids_are_checked_against_the_passage_file(tmp_path: Path) -> None:
    (tmp_path / "psgs.tsv").write_text(PASSAGES)
    rows = questions("1")
    rows[0]["documents"][0]["text"] = ""
    rows[0]["documents"].append(document("Nowhere", "99", "x"))
    benchmark, counts = import_ambigdocs(
        [write(tmp_path / "test.json", rows)],
        tmp_path / "bench",
        passage_file=tmp_path / "psgs.tsv",
        corpus="titles",
    )
    assert benchmark is not None
    assert counts["pids"] == {
        "agree": 0,
        "missing": 2,
        "other_title": 0,
        "other_text": 1,
        "filled": 1,
        "examples": ["1: no pid", "99", "42"],
    }
    texts = {p.id: p.text for p in benchmark.passage_records()}
    assert texts["ambigdocs:Her (film)#41"] == "Her (film) is a thing."
    assert texts["ambigdocs:Her (novel)#43"] == "More of the novel."
    assert not any("Elsewhere" in id for id in texts)


def test_the_passage_file_is_read_as_dpr_reads_it(tmp_path: Path) -> None:
    (tmp_path / "psgs.tsv").write_text(PASSAGES)
    rows = list(read_passage_file(tmp_path / "psgs.tsv"))
    assert [r.pid for r in rows] == ["41", "42", "43", "44"]
    assert rows[1].text == 'Her (novel) is "another" thing.'
    (tmp_path / "bad.tsv").write_text("1\tonly two\n")
    with pytest.raises(BadInput, match="2 columns"):
        list(read_passage_file(tmp_path / "bad.tsv"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qid": None, "documents": "x"}, "documents are wrong: a list is expected"),
        ({"documents": [{"text": "no title"}]}, "missing required field `title`"),
        ({"documents": ["x"]}, "a document is an object"),
    ],
)
def test_broken_questions_say_where(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "test.json", [questions("1")[0], questions("2")[0] | change])
    with pytest.raises(BadInput, match=message) as error:
        list(read_questions(path))
    assert "test.json:2" in str(error.value)


def test_missing_fields_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "test.json", [{"qid": "a", "question": "?"}])
    with pytest.raises(BadInput, match="no 'ambiguous_entity'"):
        list(read_questions(path))
    with pytest.raises(BadInput, match="an object is expected"):
        list(read_questions(write(tmp_path / "list.json", [1])))


def test_qids_may_not_occur_twice_in_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "test.json", questions("1", "1"))
    with pytest.raises(BadInput, match="occur twice"):
        import_ambigdocs([path], tmp_path / "bench")
    with pytest.raises(UsageError, match="passage file"):
        import_ambigdocs([path], tmp_path / "bench", corpus="titles")


def test_predictions_as_a_list_or_as_lines(tmp_path: Path) -> None:
    row = questions("1")[0] | {"gen_answer": None, "docs": [document("Her", "7", None)]}
    as_list = write(tmp_path / "p.json", [row])
    as_lines = write(tmp_path / "p.jsonl", row)
    assert list(read_ambigdocs_predictions(as_list)) == list(read_ambigdocs_predictions(as_lines))
    (prediction,) = read_ambigdocs_predictions(as_list)
    assert (prediction.gen_answer, prediction.docs and prediction.docs[0].pid) == ("", "7")
    with pytest.raises(BadInput, match="gen_answer"):
        list(read_ambigdocs_predictions(write(tmp_path / "q.json", questions("1"))))
    many = row | {"span_predictions": ["a", "b", "c", "d"]}
    with pytest.raises(BadInput, match="4 spans for 3 documents"):
        list(read_ambigdocs_predictions(write(tmp_path / "r.json", [many])))


def test_numbers_and_missing_titles_of_shown_passages(tmp_path: Path) -> None:
    row = questions("1")[0] | {"gen_answer": "x", "docs": [{"text": "a page", "id": 7}]}
    row["documents"] = [{"title": "Her (film)", "text": "x", "pid": 41, "answer": 2013}]
    (prediction,) = read_ambigdocs_predictions(write(tmp_path / "p.json", [row]))
    assert prediction.docs is not None
    assert (prediction.docs[0].title, prediction.docs[0].pid) == ("", "7")
    (gold,) = prediction.question.documents
    assert (gold.pid, gold.answer) == ("41", "2013")
