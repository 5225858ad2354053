"""A chat model as the judge of outcomes, and how far it agrees with a person."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from fake_server import completion

from whichone.api import evaluate
from whichone.chat.endpoint import Endpoint, EndpointOptions
from whichone.cli import whichone
from whichone.errors import BadInput, UsageError
from whichone.measures.comparison import agreement
from whichone.measures.outcomes import judged_outcome


def test_a_model_judges(serve):
    replies = ['{"outcome": "namesake"}', "Refused.", "maybe"]

    def script(request, n):
        assert "Right for namesakes: Turin" in request["messages"][1]["content"]
        return completion(replies[n])

    with Endpoint(EndpointOptions(url=serve(script).url, model="m", retries=0)) as model:
        asked = ("Where is Ada Park?", "In Turin.", ["Leeds"], ["Turin"])
        assert judged_outcome(model, *asked) == "namesake"
        assert judged_outcome(model, *asked) == "refused"
        with pytest.raises(BadInput, match="the judge says 'maybe'"):
            judged_outcome(model, *asked)


def test_agreement():
    same, kappa = agreement(["right", "right", "wrong", "wrong"], ["right", "wrong", "wrong", "wrong"])
    assert same == 0.75
    assert kappa == pytest.approx(0.5)  # by chance (2 * 1 + 2 * 3) / 16 = 0.5
    with pytest.raises(BadInput, match="do not compare"):
        agreement(["right"], [])


def in_leeds(text):
    """A reader that always says the same: right for one of the two."""
    return "Leeds, I think"


def asked_of(benchmark, **options):
    return evaluate(answer=in_leeds, benchmark=benchmark, **options).answers.to_dict()


def shares(document):
    (tasks,) = document["collections"].values()
    return {name: e["value"] for name, e in tasks["qa"]["outcomes"].items() if e["value"]}


def test_a_judge_decides_in_evaluate_score_and_check(serve, tmp_path, two_adas):
    """By the rules one answer is right and one a namesake's; the judge calls everything wrong."""
    said = []

    def script(request, n):
        said.append(request["messages"][1]["content"])
        return completion('{"outcome": "wrong"}')

    url = serve(script).url
    assert shares(asked_of(two_adas)) == {"right": 0.5, "namesake": 0.5}
    with Endpoint(EndpointOptions(url=url, model="m", retries=0)) as model:
        judged = asked_of(two_adas, judge=model, answers=tmp_path / "answers")
    assert shares(judged) == {"wrong": 1.0}
    assert sorted(said)[0].startswith("Question: ") and len(said) == 2
    named = asked_of(two_adas, judge=lambda question, text, accepted, others: "refused")
    assert shares(named) == {"refused": 1.0}
    with pytest.raises(BadInput, match="the judge says 'perhaps'"):
        asked_of(two_adas, judge=lambda *shown: "perhaps")
    with pytest.raises(UsageError, match="a judge is a chat model or a function"):
        asked_of(two_adas, judge=3)

    folder, judge = str(tmp_path / "answers"), ["--judge", "m", "--endpoint", url]
    measures = ["--measures", "answer_right,answer_wrong", "--json"]
    run = CliRunner()
    (row,) = json.loads(run.invoke(whichone, ["score", folder, *measures]).stdout)
    assert (row["answer_right"]["value"], row["answer_wrong"]["value"]) == (0.5, 0.0)
    (row,) = json.loads(run.invoke(whichone, ["score", folder, *measures, *judge]).stdout)
    assert (row["answer_right"]["value"], row["answer_wrong"]["value"]) == (0.0, 1.0)
    gate = ["check", folder, "--max-answered-for-namesake", "0.9", "--json", *judge]
    assert json.loads(run.invoke(whichone, gate).stdout)["report"]["worst"] == []
    nowhere = run.invoke(whichone, ["score", folder, "--judge", "m"], env={"WHICHONE_ENDPOINT": ""})
    assert isinstance(nowhere.exception, UsageError)


def test_a_word_list_of_ones_own(tmp_path, two_adas):
    words = tmp_path / "words.toml"
    words.write_text('refuses = ["I think"]\n')
    assert shares(asked_of(two_adas, outcome_words=words)) == {"refused": 1.0}
    with pytest.raises(UsageError, match="needs no word list"):
        asked_of(two_adas, outcome_words=words, judge=lambda *shown: "right")


def test_a_search_tool_that_returns_strangers_is_named(two_adas):
    def agent(text, tools):
        return tools.search(text, 1)[0].text

    with pytest.raises(BadInput, match="the search tool returned 'nobody', which is not in the corpus"):  # fmt: skip
        evaluate(agent=agent, search=lambda text, k: ["nobody"], benchmark=two_adas)
