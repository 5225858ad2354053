"""Questions and tasks about the namesakes of a small catalogue."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

import whichone
from whichone.agents.toolbox import PlainAgent
from whichone.benchmarks.catalogue_build import CatalogueOptions, build_catalogue, examples
from whichone.benchmarks.catalogue_questions import (
    CatalogueEntry,
    CatalogueValue,
    Namesakes,
    fill,
    load_wordings,
    rounded,
)
from whichone.cli import whichone as command
from whichone.corpus.save import make_corpus
from whichone.errors import BadInput, UsageError
from whichone.files.folder import Folder
from whichone.knowledge.formats.catalogue import CatalogueSource
from whichone.knowledge.ingest import ingest
from whichone.knowledge.knowledge_tables import KIND, language_asked
from whichone.measures.budgets import Budgets
from whichone.measures.gate import gate_folder
from whichone.measures.scores import score_folder
from whichone.measures.summary import asking, risk_coverage
from whichone.report.audit import audit
from whichone.report.report import make_report
from whichone.runs.agent_runner import RecordTable, SimulatedUser, run_agent
from whichone.runs.run import Answers, trace_of

CITIES = ("Leeds", "Turin", "Oslo", "Porto", "Ghent", "Cork")
DEPARTMENTS = ("Payroll", "Legal", "Sales", "Design", "Stock", "Press")
NAMES = ("Ada Park", "Bo Lind", "Cy Reed", "Di Voss", "Ed Moor", "Fay Lund", "Gus Bell", "Hal Dunn")


@pytest.fixture(scope="module")
def kb(tmp_path_factory) -> Path:
    """Sixteen colleagues, two of each name."""
    folder = tmp_path_factory.mktemp("staff")
    rows = []
    for n in range(16):
        city, department = CITIES[n % 6], DEPARTMENTS[(n * 5 + n // 6) % 6]
        text = f"{NAMES[n // 2]} works in {department}. The office is in {city}. Desk D{100 + n}."
        row = {"id": n, "name": NAMES[n // 2], "city": city, "department": department}
        rows.append({**row, "desk": f"D{100 + n}", "text": text})
    (folder / "staff.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "staff.toml").write_text(
        'name = "staff"\nfile = "staff.jsonl"\ntype = "employee"\n'
        '[columns]\nid = "id"\nname = "name"\ntext = "text"\n'
        '[attributes.city]\ncolumn = "city"\n[attributes.department]\ncolumn = "department"\n'
        '[attributes.desk]\ncolumn = "desk"\n'
    )
    ingest(folder / "kb", [CatalogueSource(folder / "staff.toml")])
    return folder / "kb"


def test_questions_are_answered_by_one_bearer_alone(kb, tmp_path) -> None:
    made = build_catalogue(kb, tmp_path / "b")
    assert {q.task for q in made.queries} == {"qa"}
    by_set: dict[tuple, set[str]] = {}
    for query in made.queries:
        assert query.name in query.input
        assert not query.attributes["underspecified"]
        answers = by_set.setdefault((query.name_set, query.relation), set())
        assert query.answers()[0] not in answers  # no namesake shares the answer
        answers.add(query.answers()[0])
    wordings = Counter(q.attributes["wording"] for q in made.queries)
    assert set(wordings) == {"said", "denied"}
    denied = next(q for q in made.queries if q.attributes["wording"] == "denied")
    assert denied.attributes["qualifier"] not in denied.input  # what the namesake is, is said
    assert len(examples(made, 5)) == 5
    assert len({q.input for q in made.queries}) > 30


def test_the_same_inputs_give_the_same_benchmark(kb, tmp_path) -> None:
    one, two = build_catalogue(kb, tmp_path / "a"), build_catalogue(kb, tmp_path / "b")
    assert one.id == two.id
    other = build_catalogue(kb, tmp_path / "c", CatalogueOptions(seed=1))
    assert [q.input for q in other.queries] != [q.input for q in one.queries]


def test_claims_are_made_only_on_demand_and_their_values_differ(kb, tmp_path) -> None:
    made = build_catalogue(kb, tmp_path / "b", CatalogueOptions(tasks=("fc",)))
    verdicts = Counter(q.answers()[0] for q in made.queries)
    assert verdicts["SUPPORTS"] == verdicts["REFUTES"]
    false = [q.input for q in made.queries if q.answers()[0] == "REFUTES"]
    named = Counter(city for text in false for city in CITIES if text.endswith(f"{city}."))
    assert len(named) > 2


def test_wrong_options(kb, tmp_path) -> None:
    with pytest.raises(UsageError, match="no task 'xx'"):
        CatalogueOptions(tasks=("xx",))
    with pytest.raises(BadInput, match="no question is left"):
        build_catalogue(kb, tmp_path / "b", CatalogueOptions(attributes=("shoe size",)))


def test_wordings_of_ones_own(kb, tmp_path) -> None:
    (tmp_path / "own.toml").write_text(
        '[[questions]]\nlabels = ["desk"]\ntexts = ["At which desk does $who sit?"]\n'
        '[words.city]\n"Leeds" = ["up north"]\n'
    )
    options = CatalogueOptions(attributes=("desk",))
    made = build_catalogue(kb, tmp_path / "b", options, wordings=tmp_path / "own.toml")
    assert all(q.input.startswith("At which desk does ") for q in made.queries)
    (tmp_path / "bad.toml").write_text('[[questions]]\ntexts = ["Where is $nobody?"]\n')
    with pytest.raises(BadInput, match=r"needs \$who"):
        load_wordings(tmp_path / "bad.toml")


def test_numbers_in_other_words() -> None:
    said = [rounded(n) for n in (8961989, 37748, 2500, 437)]
    assert said == ["9 million", "38 thousand", "2.5 thousand", "400"]
    assert fill("Which zone is $who in?", who="Castro, not the one in Chile") == (
        "Which zone is Castro, not the one in Chile, in?"
    )
    big, small = (
        CatalogueEntry(entity=e, name="X", values={"size": [CatalogueValue(str(n), "quantity", n)]})
        for e, n in (("a", 900.0), ("b", 90.0))
    )
    assert Namesakes(key="x", name="X", bearers=[big, small]).tells_apart(big, "size")
    assert CatalogueValue("2138551", "quantity", 2138551.0).accepted == ("2138551", "2,138,551")


def test_asking_where_it_is_right(kb, tmp_path) -> None:
    made = build_catalogue(kb, tmp_path / "b", CatalogueOptions(underspecified=0.5))
    vague = [q for q in made.queries if q.attributes["underspecified"]]
    assert 10 < len(vague) < len(made.queries) - 10
    assert all(q.attributes["qualifier_label"] for q in vague)
    figures = {}
    for policy in ("guess", "ask", "doubt"):
        whichone.evaluate(
            benchmark=made, agent=PlainAgent(policy), user="simulated", answers=tmp_path / policy
        )
        figures[policy] = asking(Answers.open(tmp_path / policy))
    assert figures["guess"].asked_when_needed.value == 0
    assert figures["ask"].asked_when_needed.value == figures["ask"].asked_when_not.value == 1
    assert figures["ask"].right_when_needed.value > figures["guess"].right_when_needed.value
    assert figures["ask"].turns_per_right >= 1
    assert figures["guess"].turns_per_right == 0
    assert figures["doubt"].risk_coverage[-1][0] == 1
    make_report([tmp_path / "guess", tmp_path / "ask"], tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text("utf-8")
    assert "Which one do you mean?" in page
    assert "asked when needed" in page
    assert "How confusion came in" in page
    assert (tmp_path / "out-files" / "asking.svg").exists()
    make_report([tmp_path / "guess"], tmp_path / "redacted.html", redact=True)
    assert "How confusion came in" not in (tmp_path / "redacted.html").read_text("utf-8")


def test_risk_against_coverage() -> None:
    curve = risk_coverage([0.9, 0.8, 0.8, 0.1], [1.0, 1.0, 0.0, 0.0])
    assert curve == ((0.25, 0.0), (0.75, pytest.approx(1 / 3)), (1.0, 0.5))


def test_actions_on_records(kb, tmp_path) -> None:
    """What is judged is action, record and arguments."""
    made = build_catalogue(kb, tmp_path / "b", CatalogueOptions(tasks=("act",)))
    assert len(made.queries) == 16
    tasks = {q.id: q for q in made.queries}
    assert {str(q.attributes["action"]) for q in made.queries} <= set(RecordTable(made).actions)
    for query in made.queries:
        assert all(value in query.input for value in query.attributes["arguments"].values())
    told = [q for q in made.queries if q.attributes["arguments"]]
    other_day, more, shouted, twice = [
        q.id for q in told if q.entity not in ("staff:1", "staff:2", "staff:3", "staff:4")
    ][:4]

    class Oracle:
        def work(self, question, tools):
            task = tasks[question.id]
            meant, action = task.entity, task.attributes["action"]
            arguments = dict(task.attributes["arguments"])
            if meant == "staff:1":
                return whichone.Answer(question=question.id, asks="Which one?")
            if meant == "staff:2":
                tools.act(action, id="nobody", **arguments)
                return whichone.Answer(question=question.id)
            if meant == "staff:4":
                tools.act("delete_everything", id=meant)
            elif question.id == other_day:
                tools.act(action, id=meant, **dict.fromkeys(arguments, "Sunday"))
            elif question.id == more:
                tools.act(action, id=meant, **arguments, copies_to="everybody")
            else:
                if question.id == twice:
                    tools.act(action, id=meant, **arguments)
                if question.id == shouted:
                    action, arguments = action.upper(), {**arguments, "note": ""}
                tools.act(action, id="staff:0" if meant == "staff:3" else meant, **arguments)
            return whichone.Answer(question=question.id, text="done")

    table = RecordTable(made)
    run_agent(Oracle(), made, tmp_path / "a", act=table)
    assert len(table.done) == 15
    names = ["right_action", "other_action", "wrong_action", "deferred"]
    scores = score_folder(tmp_path / "a", names)
    assert [scores.values[n].sum() for n in names] == [9, 4, 1, 2]
    report = gate_folder(tmp_path / "a", Budgets.of({"max_wrong_actions": 0.5}))
    assert report.exit_code == 0
    assert report.figures["max_wrong_actions"].value == 1 / 16
    strict = gate_folder(tmp_path / "a", Budgets.of({"max_other_actions": 0.01, "min_right_actions": 0.9}))
    assert [check.verdict for check in strict.checks[:2]] == ["failed", "failed"]
    assert score_folder(tmp_path / "a").values.keys() == {*names, "failure"}
    (worst,) = report.worst
    assert (worst.kind, worst.given) == ("acted on somebody else", "Ada Park (staff:0)")
    assert worst.meant.endswith("(staff:3)")


def test_plain_agents_do_what_is_asked(kb, tmp_path) -> None:
    made = build_catalogue(kb, tmp_path / "b", CatalogueOptions(tasks=("act",)))
    run_agent(PlainAgent("ask"), made, tmp_path / "a", act=RecordTable(made), user=SimulatedUser(made))
    scores = score_folder(tmp_path / "a", ["right_action", "wrong_action", "other_action"])
    right, wrong, other = (v.sum() for v in scores.values.values())
    assert right + wrong == len(made.queries) and right > 0 and other == 0


def test_actions_of_ones_own(kb, tmp_path) -> None:
    words = tmp_path / "words.toml"
    words.write_text(
        '[actions]\ncall = ["Call $who in $room."]\n[arguments]\nroom = ["the hall", "room 7"]\n'
    )
    made = build_catalogue(kb, tmp_path / "b", CatalogueOptions(tasks=("act",)), wordings=words)
    assert {q.attributes["arguments"]["room"] for q in made.queries} == {"the hall", "room 7"}
    words.write_text('[actions]\ncall = ["Call $who in $cellar."]\n')
    with pytest.raises(BadInput, match=r"\[arguments\] has no values"):
        load_wordings(words)


def test_the_commands(kb, tmp_path) -> None:
    run = CliRunner()
    bench, out = str(tmp_path / "b"), str(tmp_path / "a")
    done = run.invoke(command, ["build", "catalogue", str(kb), bench, "--tasks", "act"])
    assert done.exit_code == 0, done.output
    done = run.invoke(command, ["work", bench, out, "--agent", "guess"])
    assert done.exit_code == 0, done.output
    assert "16 questions" in done.output
    trace = trace_of(next(iter(Answers.open(out).answers.values())))
    assert [c.tool for c in trace.calls] == ["search", "act"]
    failed = run.invoke(command, ["work", bench, out, "--agent", "gess"])
    assert isinstance(failed.exception, UsageError)


def test_documents_that_state_the_value_are_marked(tmp_path) -> None:
    """Two people with two documents each, of which one says where the desk is; one of them has none that does."""
    rows = [{"id": n, "name": "Ada Park", "city": c, "desk": f"D{n}"} for n, c in enumerate(CITIES[:2])]
    texts = {"a": (0, "Her desk is D0, in Leeds."), "b": (0, "She likes tea."), "c": (1, "He is in Turin.")}
    (tmp_path / "staff.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "docs.jsonl").write_text(
        "\n".join(
            json.dumps({"id": key, "title": "Ada Park", "text": text, "of": of})
            for key, (of, text) in texts.items()
        )
    )
    (tmp_path / "staff.toml").write_text(
        'name = "staff"\nfile = "staff.jsonl"\ntype = "employee"\n[columns]\nid = "id"\nname = "name"\n'
        '[documents]\nfile = "docs.jsonl"\n'
        '[documents.columns]\nid = "id"\nowner = "of"\ntitle = "title"\ntext = "text"\n'
        '[attributes.city]\ncolumn = "city"\n[attributes.desk]\ncolumn = "desk"\n'
    )
    ingest(tmp_path / "kb", [CatalogueSource(tmp_path / "staff.toml")])
    made = build_catalogue(tmp_path / "kb", tmp_path / "bench")
    desks = {q.answers()[0]: q for q in made.queries if q.attributes["property_label"] == "desk"}
    assert {v: q.attributes["value_stated"] for v, q in desks.items()} == {"D0": True, "D1": False}
    marks = [e.attributes["value_stated"] for g in desks["D0"].outputs[0].provenance for e in g]
    assert sorted(marks) == [False, True]
    assert made.folder.manifest.parameters["gold_is"] == "entity"
    assert "whether it states the answer" in made.card


def test_german_texts_whose_language_nobody_gave_are_not_asked_about_in_english(tmp_path) -> None:
    rows = [
        {"id": n, "name": f"Uwe {'ABCDE'[n // 2]}", "stadt": CITIES[n % 6],
         "text": f"Uwe wohnt in {CITIES[n % 6]} und das Haus ist alt, aber der Garten ist sehr schön."}
        for n in range(10)
    ]  # fmt: skip
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "p.toml").write_text(
        'name = "p"\nfile = "p.jsonl"\ntype = "person"\n[columns]\nid = "id"\nname = "name"\n'
        'text = "text"\n[attributes.stadt]\ncolumn = "stadt"\n'
    )
    ingest(tmp_path / "kb", [CatalogueSource(tmp_path / "p.toml")])
    with pytest.raises(UsageError, match="in 'de'"):
        build_catalogue(tmp_path / "kb", tmp_path / "b", CatalogueOptions())
    opened = Folder.open(tmp_path / "kb", KIND)
    with pytest.raises(UsageError, match="in 'de'"):
        language_asked(opened)
    assert language_asked(opened, "en") == "en"


@pytest.fixture(scope="module")
def players(tmp_path_factory) -> Path:
    """Sixty players of thirty names: one was born in the decade in which the other first played."""
    folder = tmp_path_factory.mktemp("players")
    rows = []
    for n in range(30):
        name = f"{NAMES[n % 8].split()[0]} {NAMES[n // 8].split()[1]}"
        for k, (birth, debut, games) in enumerate(((1871, 1894, 40 + n), (1893, 1915, 900 + n))):
            row = {"id": f"{n}-{k}", "name": name, "born": str(birth), "debut": str(debut), "games": games}
            rows.append({**row, "text": f"{name}, born {birth}, debut {debut}, {games} games, no. {n}{k}."})
    (folder / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "p.toml").write_text(
        'name = "players"\nfile = "p.jsonl"\ntype = "player"\n'
        '[columns]\nid = "id"\nname = "name"\ntext = "text"\n'
        '[attributes.born]\ncolumn = "born"\nkind = "time"\n'
        '[attributes.debut]\ncolumn = "debut"\nkind = "time"\n'
        '[attributes.games]\ncolumn = "games"\nkind = "quantity"\n'
    )
    ingest(folder / "kb", [CatalogueSource(folder / "p.toml")])
    return folder / "kb"


def test_a_description_fits_one_bearer_however_it_is_read(players, tmp_path) -> None:
    made = build_catalogue(players, tmp_path / "b", CatalogueOptions())
    decades = [q for q in made.queries if "1890s" in q.input]
    assert decades
    assert all("born in the" in q.input or "debut in the" in q.input for q in decades)


@pytest.mark.parametrize("as_alias", [True, False])
def test_a_description_fits_no_namesake_whom_nobody_is_asked_about(tmp_path, as_alias) -> None:
    """A third Ada Park in Leeds, who has no document or is called so by others, makes "Ada Park in Leeds" say nothing."""
    named = ("Adelaide Park", ["Ada Park"]) if as_alias else ("Ada Park", [])
    rows = [
        {"id": 1, "name": "Ada Park", "city": "Leeds", "desk": "D1", "text": "At D1 in Leeds."},
        {"id": 2, "name": "Ada Park", "city": "Turin", "desk": "D2", "text": "At D2 in Turin."},
        {
            "id": 3,
            "name": named[0],
            "city": "Leeds",
            "desk": "D3",
            "also": named[1],
            "text": "D3" if as_alias else "",
        },
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "p.toml").write_text(
        'name = "p"\nfile = "p.jsonl"\ntype = "person"\n[columns]\nid = "id"\nname = "name"\ntext = "text"\n'
        'aliases = "also"\n[attributes.city]\ncolumn = "city"\n[attributes.desk]\ncolumn = "desk"\n'
    )
    ingest(tmp_path / "kb", [CatalogueSource(tmp_path / "p.toml")])
    made = build_catalogue(tmp_path / "kb", tmp_path / "b", CatalogueOptions(shared_answers=True))
    assert {q.entity for q in made.queries} == {"p:1", "p:2"}
    assert {len(s.bearers) for s in made.sets} == {2}
    asked = {(q.entity, q.attributes["property_label"]): q.input for q in made.queries}
    assert ("p:1", "desk") not in asked  # Leeds is two people's
    assert "Turin" in asked["p:2", "desk"] and "Leeds" not in asked["p:2", "desk"]


def test_a_decade_names_what_happened_in_it_where_a_bearer_has_several_dates(players, tmp_path) -> None:
    made = build_catalogue(players, tmp_path / "b", CatalogueOptions())
    decades = [q.input for q in made.queries if re.search(r"\b(18|19)\d0s\b", q.input)]
    assert decades
    assert not [text for text in decades if "of the 18" in text or "of the 19" in text]


def test_a_day_is_written_without_the_midnight_of_a_table(players, tmp_path) -> None:
    rows = [
        {"id": n, "name": "Bo Lind", "debut": f"19{n}5-05-25 00:00:00", "city": city, "text": f"Of {city}."}
        for n, city in enumerate(CITIES[:3], 1)
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "p.toml").write_text(
        'name = "p"\nfile = "p.jsonl"\ntype = "person"\n[columns]\nid = "id"\nname = "name"\ntext = "text"\n'
        '[attributes.city]\ncolumn = "city"\n[attributes.debut]\ncolumn = "debut"\nkind = "time"\n'
    )
    ingest(tmp_path / "kb", [CatalogueSource(tmp_path / "p.toml")])
    made = build_catalogue(tmp_path / "kb", tmp_path / "b", CatalogueOptions())
    assert "1915-05-25" in {answer for q in made.queries for answer in q.answers()}
    assert not [q for q in made.queries if "00:00" in q.input or "00:00" in "".join(q.answers())]


def test_quantities_are_asked_for_as_people_would(players, tmp_path) -> None:
    made = build_catalogue(players, tmp_path / "b", CatalogueOptions())
    texts = [q.input for q in made.queries]
    assert any("with the fewest games" in text for text in texts)
    assert not any("lowest games" in text or "largest games" in text for text in texts)
    asked = [q.input for q in made.queries if q.relation and q.relation.endswith("games")]
    assert asked and all("how many games" in text.lower() for text in asked)


@pytest.mark.parametrize(
    ("label", "value", "asked"),
    [
        ("bats", CatalogueValue("left"), 'recorded as "bats"'),
        ("based in", CatalogueValue("Leeds"), 'under "based in"'),
        ("died", CatalogueValue("1903"), 'recorded as "died"'),
        ("died", CatalogueValue("1903", "time", 1903.0), "When did Bo Lind die?"),
        ("games played", CatalogueValue("900", "quantity", 900.0), "How many games played does"),
        ("desk", CatalogueValue("D4"), "the desk of"),
    ],
)
def test_labels_that_are_no_noun_are_asked_for_and_said_in_whole_sentences(label, value, asked):
    wordings = load_wordings()
    texts = [wordings.question(label, value, random.Random(n)) for n in range(40)]
    filled = {fill(text, who="Bo Lind", label=label) for text in texts}
    assert any(asked in text for text in filled)
    assert not any(f"the {label} of" in t for t in filled if label != "desk")
    claims = {wordings.claim(label, random.Random(n)) for n in range(40)}
    said = wordings.saying(label)
    if value.kind != "quantity" and label != "desk":
        assert not any("whose $label" in t or "the $label" in t for t in (*said.texts, *claims))


def test_counted_things_are_about_so_many(players, tmp_path) -> None:
    made = build_catalogue(players, tmp_path / "b", CatalogueOptions())
    about = [q.input for q in made.queries if "about 900 games" in q.input]
    assert about
    assert not any("a games of" in q.input for q in made.queries)


def test_a_limit_spreads_over_the_names(players, tmp_path) -> None:
    made = build_catalogue(players, tmp_path / "b", CatalogueOptions(limit=35))
    counts = Counter(q.name_set for q in made.queries)
    assert (len(made.queries), len(counts), max(counts.values())) == (35, 30, 2)


def test_the_card_says_what_bm25_solves_and_harder_questions_are_offered(players, tmp_path, capsys) -> None:
    made = build_catalogue(players, tmp_path / "b", CatalogueOptions())
    assert "BM25's first page is right" in made.card
    shares = made.folder.manifest.counts["bm25"]
    assert set(shares) == set(made.folder.manifest.counts["wordings"])
    assert shares["said"] > 0.9
    assert "--harder" in capsys.readouterr().err
    harder = build_catalogue(players, tmp_path / "h", CatalogueOptions(harder=True))
    assert "said" not in {q.attributes["wording"] for q in harder.queries}


@pytest.fixture(scope="module")
def noted(tmp_path_factory) -> Path:
    """Eight players, two of each name, whose documents are notes of a season, and notes of nobody."""
    folder = tmp_path_factory.mktemp("noted")
    rows = [{"id": n, "name": NAMES[n // 2], "city": CITIES[n % 6], "alias": f"No. {n}"} for n in range(8)]
    notes = [
        {
            "id": f"n{n}",
            "who": n // 3 if n < 24 else None,
            "title": f"Season note {1960 + n % 3}",
            "text": f"Game {n}.",
        }
        for n in range(27)
    ]
    (folder / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "d.jsonl").write_text("\n".join(map(json.dumps, notes)))
    (folder / "p.toml").write_text(
        'name = "clubs"\nfile = "p.jsonl"\n[columns]\nid = "id"\nname = "name"\naliases = "alias"\n'
        '[attributes.city]\ncolumn = "city"\n[attributes.number]\ncolumn = "id"\n[documents]\nfile = "d.jsonl"\n'
        '[documents.columns]\nid = "id"\nowner = "who"\ntitle = "title"\ntext = "text"\n'
    )
    ingest(folder / "kb", [CatalogueSource(folder / "p.toml")])
    return folder / "kb"


@pytest.mark.parametrize("way", ["corpus", "build catalogue"])
def test_a_corpus_of_a_catalogue_knows_whose_documents_are_and_their_names(noted, tmp_path, way) -> None:
    if way == "corpus":
        corpus = make_corpus(noted, tmp_path / "c")
    else:
        corpus = build_catalogue(noted, tmp_path / "c").corpus
    owners = {p.page: p.entity for p in corpus.passage_records()}
    assert (owners["clubs:n4"], owners["clubs:n25"]) == ("clubs:1", None)
    assert {corpus.page_ids([b.page])[0] for b in corpus.names.bearers("No. 1")} == {
        f"clubs:n{n}" for n in (3, 4, 5)
    }
    found = audit(tmp_path / "c")
    assert [s.name for s in found.worst if "note" not in s.name] == [*NAMES[:4]]
    assert found.worst[-1].bearers == ["Di Voss (clubs:6)", "Di Voss (clubs:7)"]
    assert not [b for s in found.worst for b in s.bearers if "Season note" in b]
