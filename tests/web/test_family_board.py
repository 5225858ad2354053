"""KILT's challenge as KILT ran it: one archive, one row, every dataset by its own measure."""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from campaigns import as_person
from leaderboards import make_board, submitted, until_scored
from web_server import opened

from whichone.papers.amber.amber_files import import_amber
from whichone.papers.kilt.evaluate import score_kilt
from whichone.papers.kilt.import_kilt import KiltPlan, import_kilt
from whichone.papers.kilt.kilt_record import datasets
from whichone.web.site_settings import SiteSettings

OFFICIAL = {"accuracy": "accuracy", "em": "em", "f1": "f1", "rougel": "rouge_l"}


@pytest.fixture(scope="module")
def predictions(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For each dataset a file that gives every second question its gold, and the others nonsense."""
    folder = tmp_path_factory.mktemp("predictions")
    files = {}
    for gold in sorted((shared / "data/kilt-samples").glob("*-dev*.jsonl")):
        lines = []
        for n, line in enumerate(gold.read_bytes().splitlines()):
            record = json.loads(line)
            answer = next(o["answer"] for o in record["output"] if o.get("answer"))
            evidence = next(o["provenance"] for o in record["output"] if o.get("provenance"))
            pages = [{"wikipedia_id": p["wikipedia_id"]} for p in evidence]
            output = {"answer": answer, "provenance": pages}
            if n % 2:
                output = {"answer": "nonsense", "provenance": [{"wikipedia_id": "-1"}, *pages]}
            lines.append(json.dumps({"id": record["id"], "output": [output]}).encode())
        files[gold.name.partition("-")[0]] = folder / gold.name
        (folder / gold.name).write_bytes(b"\n".join(lines))
    assert set(files) == set(datasets())
    return files


@pytest.fixture(scope="module")
def challenge(
    predictions: dict[str, Path], shared: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Any, str]]:
    """A board over the eleven datasets."""
    work = tmp_path_factory.mktemp("challenge")
    for name, file in predictions.items():
        import_kilt([shared / "data/kilt-samples" / file.name], work / "served" / name, KiltPlan())
    settings = SiteSettings(folder=work / "served", database=str(work / "web.sqlite"), cache=work / "cache",
                        hosts=("testserver",), no_login=True)  # fmt: skip
    with opened(settings) as client:
        keys = [row["key"] for row in client.get("/api/benchmarks").json()]
        assert len(keys) == 11
        yield client, make_board(client, *keys)


def zipped(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def system(client: Any, board: str, name: str, kind: str) -> dict[str, Any]:
    rows = client.get(f"/api/boards/{board}").json()["systems"]
    return next(dict(r) for r in rows if r["system"] == name and r["kind"] == kind)


def test_an_archive_is_one_row_that_agrees_with_the_official_scores(
    challenge: tuple[Any, str], predictions: dict[str, Path], shared: Path
) -> None:
    client, board = challenge
    whole = zipped({f"sub/{f.name}": f.read_bytes() for f in predictions.values()})
    row = submitted(client, board, whole, "auto", "whole")
    assert row["state"] == "done", row["message"]
    downstream = system(client, board, "whole", "downstream")["measures"]
    retrieval = system(client, board, "whole", "retrieval")["measures"]
    kilt = system(client, board, "whole", "KILT scores")["measures"]
    for name, known in datasets().items():
        gold = shared / "data/kilt-samples" / predictions[name].name
        official = score_kilt(predictions[name], gold)
        own = OFFICIAL[known.metric]
        expected = official["downstream"][known.metric]
        assert downstream[f"{name} {own}"]["value"] == pytest.approx(expected, abs=1e-3), name
        assert kilt[f"{name} kilt_{own}"]["value"] == pytest.approx(
            official["kilt"][f"KILT-{known.metric}"], abs=1e-3
        ), name
        assert retrieval[f"{name} rprec"]["value"] == pytest.approx(
            official["retrieval"]["Rprec"], abs=1e-6
        ), name
        assert 0 < expected < 1
    assert len(downstream) == len(kilt) == 11
    page = client.get(f"/boards/{board}").text
    assert "partial" not in page
    retrieved = client.get(f"/boards/{board}?of=retrieval").text
    right = {
        name: n for n, name in re.findall(r"([\d,]+) (right first|something else first|not found)", retrieved)
    }
    assert (
        sum(int(right.get(what, "0")) for what in ("right first", "something else first", "not found")) == 55
    )
    assert all(f"of={tab}" in page for tab in ("downstream", "retrieval", "KILT%20scores"))
    for format in ("csv", "tex"):
        assert "nq" in client.get(f"/boards/{board}/export/{format}").text
    questions = client.get(f"/boards/{board}/questions.jsonl").text.splitlines()
    assert {json.loads(line)["benchmark"] for line in questions} == set(datasets())
    assert len(questions) == 55  # five of each


def test_a_partial_submission_has_a_row_that_says_so(
    challenge: tuple[Any, str], predictions: dict[str, Path]
) -> None:
    """Three files of a folder sent side by side, one of them packed, are what an archive of them is."""
    client, board = challenge
    chosen = {name: predictions[name].read_bytes() for name in ("nq", "fever", "wow")}
    names = {"nq": "x.jsonl", "fever": "y.jsonl.gz", "wow": "z.jsonl"}
    uploads = [("file", (names[n], gzip.compress(c) if n == "fever" else c)) for n, c in chosen.items()]
    answer = client.post(
        f"/api/boards/{board}/submissions", headers=as_person(client, "ann", "submitter", f"board:{board}"),
        files=uploads, data={"name": "three"},
    )  # fmt: skip
    assert answer.status_code == 202, answer.text
    until_scored(client, board, 60)
    row = system(client, board, "three", "downstream")
    assert set(row["measures"]) == {"nq em", "fever accuracy", "wow f1"}
    assert row["benchmarks"] == 3
    page = client.get(f"/boards/{board}?by=nq+em").text
    assert "partial: 3 of 11 benchmarks" in page
    place = f"/api/boards/{board}/submissions/{answer.json()['submission']}"
    message = client.get(place).json()["message"]
    assert message == "Partial: no file for 8 of 11 benchmarks."  # what is missing does not count as wrong


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"README.txt": b"hello"}, "README.txt answers none of this board's benchmarks"),
        ({"again/nq.jsonl": b"NQ"}, "both answer nq"),
        ({"nq-dev-kilt.jsonl": b"BROKEN"}, "nq-dev-kilt.jsonl: line 2: "),
        ({}, "submit a zip or tar archive"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_archive_is_named(
    challenge: tuple[Any, str], predictions: dict[str, Path], change: dict[str, bytes], message: str
) -> None:
    client, board = challenge
    own = predictions["nq"].read_bytes()
    broken = own.replace(b'"output"', b'"outcome"').replace(b'"outcome"', b'"output"', 1)
    made = {n: {b"NQ": own, b"BROKEN": broken}.get(c, c) for n, c in change.items()}
    content = zipped({"nq-dev-kilt.jsonl": own, **made}) if change else own
    row = submitted(client, board, content, "auto", "bad")
    assert row["state"] == "refused"
    assert message in row["message"]


def test_an_archive_reaches_no_file_of_the_server(
    challenge: tuple[Any, str], predictions: dict[str, Path], tmp_path: Path
) -> None:
    """Names that climb are only names; links are no files; what unpacks to too much is refused."""
    client, board = challenge
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        link = tarfile.TarInfo("nq-dev-kilt.jsonl")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        entry = tarfile.TarInfo("../../../../tmp/wow.jsonl")
        content = predictions["wow"].read_bytes()
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    assert submitted(client, board, packed.getvalue(), "auto", "links")["state"] == "done"
    assert set(system(client, board, "links", "downstream")["measures"]) == {"wow f1"}
    most = client.app.state.site.settings.unpacked_bytes
    bomb = gzip.compress(b"0" * (most + 1), 1)
    row = submitted(client, board, zipped({"nq.jsonl": bomb}), "auto", "bomb")
    assert "unpacked it is more than" in row["message"]


def test_collections_of_amber_are_one_family_told_apart_by_name(shared: Path, tmp_path: Path) -> None:
    """Two collections whose queries have the same ids: the names of the files decide."""
    files, expected = {}, {}
    for name, case in (("human", "a01_basic"), ("non-human", "a15_large")):
        place = shared / "golden/amber/eval" / case
        (tmp_path / f"{name}.jsonl").write_bytes((place / "amber_sets.jsonl").read_bytes())
        import_amber(tmp_path / f"{name}.jsonl", tmp_path / "served" / name, task="qa", name=name)
        files[f"{name}_predictions.jsonl"] = (place / "predictions.jsonl").read_bytes()
        metrics = json.loads((place / "expected.json").read_bytes())["metrics"]
        expected[f"{name} acc@1"] = metrics["1"]["accuracy"] / 100
    settings = SiteSettings(folder=tmp_path / "served", database=str(tmp_path / "web.sqlite"),
                        cache=tmp_path / "cache", hosts=("testserver",), no_login=True)  # fmt: skip
    with opened(settings) as client:
        keys = [row["key"] for row in client.get("/api/benchmarks").json()]
        board = make_board(client, *keys)
        row = submitted(client, board, zipped(files), "amber", "both", missing_is_wrong="true")
        assert row["state"] == "done", row["message"]
        found = system(client, board, "both", "retrieval")["measures"]
        assert {name: e["value"] for name, e in found.items()} == pytest.approx(expected)
        assert len(client.get("/api/boards").json()[0]["benchmarks"]) == 2
        assert client.get("/boards").status_code == 200
        assert client.get("/").status_code == 200
