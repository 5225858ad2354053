"""A chat model as the judge of outcomes, and how far it agrees with a person."""

from __future__ import annotations

import pytest
from fake_server import completion

from whichone.chat.endpoint import Endpoint, EndpointOptions
from whichone.errors import BadInput
from whichone.measures.outcome_judge import agreement, judged_outcome


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
    same, kappa = agreement(
        ["right", "right", "wrong", "wrong"], ["right", "wrong", "wrong", "wrong"]
    )
    assert same == 0.75
    assert kappa == pytest.approx(0.5)  # by chance (2 * 1 + 2 * 3) / 16 = 0.5
    with pytest.raises(BadInput, match="do not compare"):
        agreement(["right"], [])
