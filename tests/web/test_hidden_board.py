"""Boards that hide their gold, and submitters who try to read it out of figures."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from campaigns import as_person, form_token
from leaderboards import make_board, submitted
from small_benchmark import small_benchmark
from web_server import opened

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.measures.intervals import Estimate
from whichone.records import Bearer, NameSet, Output, Passage, Provenance, Query
from whichone.web.boards.board import rounded, step_of, withhold
from whichone.web.boards.board_scoring import ScoringJob, score
from whichone.web.boards.submissions import mixed_scripts, skeletons
from whichone.web.site_settings import SiteSettings
from whichone.web.storage import Database, open_database
from whichone.web.web_site import SignedTokens

SEASON = SiteSettings().submissions_in_all
BEARERS = 3


def trec(pages: dict[str, str]) -> bytes:
    return "\n".join(f"{q} Q0 {page} 1 1.0 tag" for q, page in pages.items()).encode()


def right_for(benchmark: Benchmark, right: Iterable[str]) -> dict[str, str]:
    """The gold page for some queries, a namesake's for the others."""
    known = set(right)
    return {
        q.id: next(iter(q.gold_pages() if q.id in known else sorted(benchmark.other_pages(q))))
        for q in benchmark.queries
    }


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """131 questions about 44 names, as many as a submitter once read out."""
    passages, queries, sets = [], [], []
    for s in range(44):
        bearers = []
        for b in range(BEARERS):
            page, name = f"p:{s}-{b}", f"Name {s}"
            passages.append(Passage(id=f"{page}#0", page=page, title=f"{name} {b}", text=name))
            bearers.append(Bearer(entity=page, label=page, role="head" if not b else "tail", pages=(page,)))  # fmt: skip
            gold = Output(answer="x", provenance=((Provenance(page=page),),))
            queries.append(Query(id=f"q{s}-{b}", task="qa", input=f"{name}? {b}", outputs=(gold,),
                                 name=name, name_set=f"s{s}", role="tail", entity=page))  # fmt: skip
        sets.append(NameSet(id=f"s{s}", name=f"Name {s}", collection="c", bearers=tuple(bearers)))
    return save_benchmark(
        tmp_path_factory.mktemp("many") / "b", name="many", queries=queries[:131], sets=sets,
        passages=passages,
    )  # fmt: skip


class Board:
    """What a submitter of a hidden board sees, without a server: scored, withheld, rounded."""

    def __init__(self, benchmark: Benchmark, work: Path, database: Database) -> None:
        self.benchmark, self._work, self._database = benchmark, work, database
        self._tokens = SignedTokens("s" * 32)
        self.used = 0

    def submit(self, pages: dict[str, str]) -> dict[str, float] | None:
        """The figures as they are shown; None where they are withheld."""
        assert self.used < SEASON, "the season is over"
        self.used += 1
        place = self._work / str(self.used)
        place.mkdir()
        (place / "file").write_bytes(trec(pages))
        outcome = score(
            ScoringJob(
                benchmarks={"b": str(self.benchmark.folder.root)}, work=str(place), key="k", format="trec",
                file=str(place / "file"), hidden=True,
            )
        )  # fmt: skip
        assert not outcome.refused, outcome.refused
        self._database.write(lambda t: withhold(t, {"b": "gold"}, "ann", outcome.parts, self._tokens))
        (part,) = outcome.parts
        if part.get("withheld"):
            return None
        return {n: float(rounded(e).value or 0.0) for n, e in part["measures"].items()}


@pytest.fixture
def board(many: Benchmark, tmp_path: Path) -> Iterator[Board]:
    database = open_database(str(tmp_path / "w.sqlite"))
    yield Board(many, tmp_path, database)
    database.close()


def gold_of(benchmark: Benchmark) -> dict[str, str]:
    return {q.id: next(iter(q.gold_pages())) for q in benchmark.queries}


def candidates(query: str) -> list[str]:
    return [f"p:{query[1:].partition('-')[0]}-{b}" for b in range(BEARERS)]


def test_pages_one_by_one(board: Board) -> None:
    """The attack that once read all 131: all wrong but one guess, and whatever figure moves tells."""
    gold = gold_of(board.benchmark)
    wrong = {q: next(p for p in candidates(q) if p != gold[q]) for q in gold}
    shown = board.submit(wrong)
    read = 0
    for query in list(gold)[: SEASON - 1]:
        seen = board.submit({**wrong, query: gold[query]})
        read += seen is not None and seen != shown
    assert read == 0


def test_climbing_by_groups(board: Board) -> None:
    """Random guesses, groups exchanged, kept where the board shows something better."""
    gold, rng = gold_of(board.benchmark), random.Random(1)
    best = {q: rng.choice(candidates(q)) for q in gold}
    began = sum(best[q] == gold[q] for q in gold)
    board.submit(best)
    while board.used < SEASON:
        size = rng.choice((5, 15, 40, len(gold)))
        tried = best | {q: rng.choice(candidates(q)) for q in rng.sample(list(gold), size)}
        if board.submit(tried) is not None:
            best = tried
    gained = sum(best[q] == gold[q] for q in gold) - began
    assert gained <= 10, f"{gained} of 131"


def test_one_query_at_the_edge(board: Board) -> None:
    """Much is known already: files just below the step, so that one guess decides what is shown."""
    gold = gold_of(board.benchmark)
    ids = list(gold)
    known, unknown = ids[:70], ids[70:]
    wrong = {q: next(p for p in candidates(q) if p != gold[q]) for q in gold}
    base = 20
    board.submit(wrong | {q: gold[q] for q in known[:base]})
    rng, said = random.Random(2), []
    step = round(0.2 * len(ids))
    for query in unknown:
        if board.used >= SEASON:
            break
        guess = rng.choice(candidates(query))
        edge = min(len(known), base + step - 1)
        shown = board.submit(wrong | {q: gold[q] for q in known[:edge]} | {query: guess})
        said.append(((shown is not None), guess == gold[query]))
        if shown is not None:
            base = edge + int(guess == gold[query])
    hits = sum(a == b for a, b in said)
    chance = max(sum(b for _, b in said), sum(not b for _, b in said))
    assert hits <= chance + 6, f"{hits} of {len(said)} decided, {chance} by always saying no"


def test_figures_are_as_fine_as_the_names_allow() -> None:
    assert step_of(Estimate(0.5, 0.4, 0.6, 1000, 400)) == 0.05
    assert step_of(Estimate(0.5, 0.4, 0.6, 90_000, 30_000)) == 0.01
    assert step_of(Estimate(0.5, None, None, 131)) == 0.1
    assert rounded(Estimate(0.4567, 0.4, 0.5, 1000, 400, "jackknife t")) == Estimate(
        0.45, None, None, 1000, 400
    )


def test_deleted_submissions_count_and_stay_as_a_line(settings: SiteSettings, key: str) -> None:
    """Deleting one's submission is no way to more of them."""
    with opened(settings, submissions_in_all=3) as client:
        board = make_board(client, key, hidden=True)
        benchmark = Benchmark.open(Path(str(settings.folder)) / "small")
        content = trec(right_for(benchmark, ()))
        who = as_person(client, "ann", "submitter", f"board:{board}")
        place = f"/boards/{board}/submissions"
        for n in range(3):
            row = submitted(client, board, content, "trec", f"try {n}")
            assert row["state"] == "done"
            gone = client.post(f"{place}/{row['submission']}/delete", data={"x": "y"}, headers=who)
            assert gone.status_code == 200
        last = client.post(
            f"/api{place}", headers=who, files={"file": content}, data={"name": "n", "format": "trec"}
        )
        assert last.status_code == 429
        assert "all 3 submissions to this board are used up" in last.json()["detail"]
        document = client.get(f"/api/boards/{board}").json()
        assert [line["name"] for line in document["without_figures"]] == ["try 0", "try 1", "try 2"]
        assert "try 1" in client.get(f"/boards/{board}").text
        for submitter in client.app.state.site.links.listed(f"board:{board}"):  # type: ignore[attr-defined]
            token = form_token(client.get("/access").text)
            client.post(f"/access/{submitter.link}/forget", data={"form_token": token})
        rows = client.app.state.site.database.read("select name, person from submissions")  # type: ignore[attr-defined]
        assert [r for r in rows if r["name"].startswith("try")] == []
        assert [r for r in rows if r["person"] == "ann"] == []


def part_of(folder: Path, name: str, queries: int) -> str:
    """A benchmark of the first questions of the small one; its key."""
    old = Benchmark.open(folder / "small")
    made = save_benchmark(
        folder / name, name=name, queries=old.queries[:queries], passages=old.passages, sets=old.sets
    )
    return made.folder.content_hash[:12]


@pytest.mark.parametrize("copied", [12, 5])
@pytest.mark.parametrize(("first", "second"), [(True, False), (False, True), (True, True)])
def test_hidden_gold_has_one_board(
    client: Any, key: str, settings: Any, first: bool, second: bool, copied: int
) -> None:
    """A second board over it, over a copy or a part, or of a family with it, would be a way round the limits."""
    others = [part_of(settings.folder, "copy", copied)]
    boss = as_person(client, "boss", "admin")
    make_board(client, key, *(others if first else ()), hidden=first)
    client.app.state.site.folder.look_again()
    other = part_of(settings.folder, "later", copied)
    client.app.state.site.folder.look_again()
    for family in ([key], [other], [other, key], [others[0]]):
        form = {"benchmark": family[0], **{f"family {k}": "yes" for k in family[1:]}}
        answer = client.post("/boards", data=form | {"hidden": "yes" if second else ""}, headers=boss)
        assert answer.status_code == 422, family
        assert "of these questions" in answer.text
    assert len(client.get("/api/boards").json()) == 1


def test_a_board_over_a_copy_that_comes_back_is_hidden_too(client: Any, key: str, settings: Any) -> None:
    """Made while the original was elsewhere."""
    small, away = settings.folder / "small", settings.folder.parent / "away"
    copy = part_of(settings.folder, "copy", 12)
    site = client.app.state.site
    small.rename(away)
    site.folder.look_again()
    open_one = make_board(client, copy)
    benchmark = Benchmark.open(settings.folder / "copy")
    right = right_for(benchmark, [q.id for q in benchmark.queries][:5])
    assert submitted(client, open_one, trec(right), "trec")["state"] == "done"
    (settings.folder / "copy").rename(settings.folder.parent / "copy")
    away.rename(small)
    site.folder.look_again()
    make_board(client, key, hidden=True)
    (settings.folder.parent / "copy").rename(settings.folder / "copy")
    site.folder.look_again()
    document = client.get(f"/api/boards/{open_one}").json()
    (mine,) = [s for s in document["systems"] if s["system"] == "mine"]
    assert all(e["low"] is None for e in mine["measures"].values())
    assert mine["measures"]["acc@1"]["value"] == 0.5  # 5 of 12, as coarse as four names allow
    assert mine["p_against_best"] is None


def test_a_season_outlives_its_board(settings: SiteSettings, key: str) -> None:
    with opened(settings, submissions_in_all=1) as client:
        content = trec(right_for(Benchmark.open(Path(str(settings.folder)) / "small"), ()))
        board = make_board(client, key, hidden=True)
        assert submitted(client, board, b"only two", "trec")["state"] == "refused"  # weighs a fifth
        assert submitted(client, board, content, "trec")["state"] == "done"
        boss = as_person(client, "boss", "admin")
        client.post(f"/boards/{board}/delete", data={"title": "Board"}, headers=boss)
        again = make_board(client, key, hidden=True)
        answer = client.post(
            f"/api/boards/{again}/submissions", headers=as_person(client, "ann", "submitter", f"board:{again}"),
            files={"file": content}, data={"name": "n", "format": "trec"},
        )  # fmt: skip
        assert answer.status_code == 429 and "used up" in answer.text


def test_neither_tests_nor_intervals_are_given(client: Any, key: str, settings: Any) -> None:
    board = make_board(client, key, hidden=True)
    benchmark = Benchmark.open(settings.folder / "small")
    ids = [q.id for q in benchmark.queries]
    for name, right in (("a", ids[:2]), ("b", ids[:3])):
        row = submitted(client, board, trec(right_for(benchmark, right)), "trec", name)
        assert row["state"] == "done"
    document = client.get(f"/api/boards/{board}").json()
    assert [line["name"] for line in document["without_figures"]] == ["b"]
    for system in document["systems"]:
        assert system["p_against_best"] is None
        for estimate in system["measures"].values():
            assert estimate["low"] is None and estimate["high"] is None and not estimate["kind"]
    page = client.get(f"/boards/{board}").text
    assert "†" not in page
    mine = client.get(f"/api/boards/{board}/submissions/{row['submission']}").json()
    assert "does not exceed your best submission by more than noise" in mine["message"]


def test_of_many_at_once_no_more_than_the_limit_get_in(client: Any, key: str) -> None:
    board = make_board(client, key)
    client.app.state.scorer.stop()
    who = as_person(client, "ann", "submitter", f"board:{board}")
    answers: list[int] = []

    def send(n: int) -> None:
        answers.append(
            client.post(
                f"/api/boards/{board}/submissions", headers=who, files={"file": b"q Q0 x 1 1 t"},
                data={"name": f"system {n}", "format": "trec"},
            ).status_code
        )  # fmt: skip

    threads = [threading.Thread(target=send, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [202] * 3 + [429] * 9  # three may wait at a time


@pytest.mark.parametrize(
    ("name", "imitation"),
    [
        ("Big Model", "Big Model"), ("Big Model", "BigModel "), ("Big Model", "big model"),
        ("Big Model", "ＢＩＧ Model"), ("Big Model", "Big Mode1"), ("Big Model", "Bıg Modél"),
        ("Big Model", "biɡ modeI"), ("BM25", "ꓐꓟ25"), ("DPR", "ᎠᏢᎡ"), ("namesake", "nɑmesake"), ("ModeI", "modeӏ"),
        ("T5", "Ƭ5"), ("corn 0il", "com oil"), ("АВС", "ABC"), ("BIG", "big"),
    ],
)  # fmt: skip
def test_a_name_that_looks_like_anothers_is_refused(
    small_board: tuple[Any, str], name: str, imitation: str
) -> None:
    client, board = small_board
    client.app.state.scorer.stop()
    database = client.app.state.site.database
    database.write(lambda t: t.execute("delete from submissions"))
    sent = {"files": {"file": b"q Q0 x 1 1 t"}}
    for person, called, statuses in (("ann", name, {202}), ("bob", imitation, {409, 422})):
        who = as_person(client, person, "submitter", f"board:{board}")
        answer = client.post(
            f"/api/boards/{board}/submissions", headers=who, data={"name": called, "format": "trec"},
            **sent,
        )  # fmt: skip
        assert answer.status_code in statuses, answer.text


@pytest.mark.parametrize("name", ["Bіg Model", "Big Моdel", "Вig Model", "νortex", "ϲolbert", "modeӏ"])
def test_a_word_of_several_scripts_is_refused(client: Any, key: str, name: str) -> None:
    board = make_board(client, key)
    answer = client.post(
        f"/api/boards/{board}/submissions", headers=as_person(client, "bob", "submitter", f"board:{board}"),
        data={"name": name, "format": "trec"}, files={"file": b"x"},
    )  # fmt: skip
    assert answer.status_code == 422 and "letters of one script" in answer.text


def test_names_that_look_different_are_different() -> None:
    names = (
        "BM25",
        "BM25+",
        "BM25-L",
        "DPR",
        "DPR (v2)",
        "Größe",
        "модель",
        "モデル",
        "モデルBERT",
        "μ-BERT",
    )
    looks = [skeletons(name) for name in names]
    assert all(a.isdisjoint(b) for n, a in enumerate(looks) for b in looks[:n])
    assert not any(map(mixed_scripts, names))


def test_an_export_runs_nothing_in_a_spreadsheet(client: Any, key: str, tmp_path: Path) -> None:
    board = make_board(client, key)
    benchmark = small_benchmark(tmp_path / "b")
    content = trec(right_for(benchmark, ()))
    said = {"team": "=HYPERLINK(1)", "sees": "@SUM(1)", "missing_is_wrong": "true"}
    assert submitted(client, board, content, "trec", "mine", **said)["state"] == "done"
    csv = client.get(f"/boards/{board}/export/csv").text
    assert "'=HYPERLINK(1)" in csv and "'@SUM(1)" in csv
