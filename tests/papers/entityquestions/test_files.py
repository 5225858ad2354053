"""EntityQuestions' files: the release's layout, exact counts of the real ones, and back."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from whichone.errors import BadInput, Missing
from whichone.papers.entityquestions.entityquestions_files import (
    place_of,
    read_questions,
    write_questions,
    write_release,
)


def test_places_in_the_release() -> None:
    dev = place_of(Path("dev/P19.dev.json"))
    assert (dev.relation, dev.split, dev.set, dev.bucket) == ("P19", "dev", "main", None)
    seen = place_of(Path("one-off/nq-seen-buckets/P170/bucket3.test.json.gz"))
    assert (seen.relation, seen.split, seen.set, seen.bucket) == ("P170", "test", "nq-seen-buckets", 3)
    similar = place_of(Path("one-off/similar/P19/P19_similar.train.json"))
    assert (similar.relation, similar.split, similar.set) == ("P19", "train", "similar")
    assert place_of(Path("mine.jsonl")).prefix() == "mine"


def test_real_files(shared: Path) -> None:
    data = shared / "data/entityquestions"
    dev = list(read_questions(data / "dev"))
    assert len({q.relation for q in dev}) == 24
    assert len({q.id for q in dev}) == len(dev)
    assert all(q.name and q.answers() for q in dev)
    first = next(q for q in dev if q.relation == "P106")
    assert (first.id, first.name) == ("P106.dev.0", "Çandarlı Ibrahim Pasha")
    assert first.answers() == ("qadi",)
    buckets = list(read_questions(data / "one-off/common-random-buckets/P19"))
    assert {q.attributes["bucket"] for q in buckets} == set(range(8))
    assert {q.attributes["set"] for q in buckets} == {"common-random-buckets"}


def test_real_file_goes_out_as_it_came_in(shared: Path, tmp_path: Path) -> None:
    path = shared / "data/entityquestions/dev/P26.dev.json.gz"
    queries = list(read_questions(path))
    assert write_questions(tmp_path / "P26.dev.json", queries) == len(queries)
    original = gzip.decompress(path.read_bytes())
    assert json.loads((tmp_path / "P26.dev.json").read_bytes()) == json.loads(original)
    assert write_release(tmp_path, queries) == {"dev/P26.dev.json": len(queries)}


def test_json_lines_are_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "P19.test.jsonl"
    path.write_text('{"question": "Where was X born?", "answers": ["Oslo", "Christiania"]}\n')
    (query,) = read_questions(path)
    assert (query.name, query.relation, query.answers()) == ("X", "P19", ("Oslo", "Christiania"))
    write_questions(tmp_path / "again.jsonl", [query])
    assert json.loads((tmp_path / "again.jsonl").read_text()) == json.loads(path.read_text())


@pytest.mark.parametrize("text", ["[]", '[{"question": "x"}]', '[{"question": "x", "answers": []}]'])
def test_a_wrong_file_is_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "P19.dev.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=r"P19\.dev\.json"):
        list(read_questions(path))


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no question file"):
        list(read_questions(tmp_path))
