"""The paper's builder with scripted models in its three roles."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from whichone.errors import BadInput, Missing, UsageError
from whichone.papers.ambigdocs.ambigdocs_files import BearerDocument
from whichone.papers.ambigdocs.model_builder import (
    Generated,
    Roles,
    SeedPair,
    about,
    build_with_models,
    entails,
    expand,
    generate,
    journal_of,
    messages,
    parse_draft,
    prompt,
)
from whichone.papers.ambigdocs.properties import Draft, Status
from whichone.protocols import ChatModel, ChatReply

Say = Callable[[str], str | ChatReply]


class Scripted:
    """A chat model that says what a function of the prompt says, and remembers what it was asked."""

    def __init__(self, say: Say) -> None:
        self.say = say
        self.asked: list[str] = []

    def complete(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        max_tokens: int,
        temperature: float = 0.0,
        logprobs: bool = False,
    ) -> ChatReply:
        assert [m["role"] for m in messages] == ["system", "user"]
        prompt = messages[-1]["content"]
        self.asked.append(prompt)
        said = self.say(prompt)
        return said if isinstance(said, ChatReply) else ChatReply(text=said)


BORN = " Where was Ada Field born?\nAnswer 1: Paris\nAnswer 2: Rome\n\nName: more"


def roles(
    writer: Say = lambda _: BORN, answerer: Say = lambda _: "none", judge: Say = lambda _: "Yes."
) -> Roles:
    return Roles(Scripted(writer), Scripted(answerer), Scripted(judge))


FILM = BearerDocument(title="Ada Field (painter)", text="born in Paris", pid="1")
POET = BearerDocument(title="Ada Field (poet)", text="born in Rome", pid="2")
OTHER = [
    BearerDocument(title="Ada Field", text="from Rome Town", pid="3"),
    BearerDocument(title="Ada Field", text="from Oslo", pid="4"),
]
PAIR = SeedPair("Ada Field", FILM, POET, (0, 0), 5)
TITLES = [FILM.title, POET.title, "Ada Field"]


def run(parts: Roles) -> Generated:
    return generate(PAIR, TITLES, {"Ada Field": OTHER}, parts)


def test_the_scripted_model_is_a_chat_model() -> None:
    assert isinstance(Scripted(lambda _: ""), ChatModel)


def test_a_kept_question_is_expanded_to_the_other_bearer() -> None:
    def answer(prompt: str) -> ChatReply:
        if "Oslo" in prompt:
            return ChatReply(text="Oslo.", mean_logprob=-0.1)
        return ChatReply(text="Rome Town\nmore", mean_logprob=-0.5)

    found = run(roles(answerer=answer))
    assert (found.status, found.expanded) == (Status.KEPT, 1)
    assert found.question is not None
    assert [(d.title, d.answer, d.pid) for d in found.question.documents] == [
        ("Ada Field (painter)", "Paris", "1"),
        ("Ada Field (poet)", "Rome", "2"),
        ("Ada Field", "Oslo", "4"),
    ]


def test_without_log_probabilities_the_first_entailed_answer_is_kept() -> None:
    draft = Draft("Ada Field", (FILM.title, POET.title), "Where was Ada Field born?", ("a", "b"))
    parts = roles(
        answerer=lambda p: "Oslo" if "Oslo" in p else "Rome Town",
        judge=lambda p: "no" if p.count("Rome Town") else "yes",
    )
    best = expand(draft, OTHER, parts)
    assert best is not None and best.answer == "Oslo"
    assert expand(draft, OTHER, roles(answerer=lambda _: "None.")) is None


@pytest.mark.parametrize(
    ("parts", "status", "reason"),
    [
        (roles(writer=lambda _: "I cannot."), Status.BAD_FORMAT, "not a question and answers"),
        (
            roles(writer=lambda _: "Which entity?\nAnswer 1: a\nAnswer 2: b"),
            Status.RULE,
            "question about its making",
        ),
        (roles(judge=lambda p: "no" if "Rome" in p else "yes"), Status.NOT_ENTAILED, "answer not entailed"),
    ],
)
def test_thrown_out(parts: Roles, status: Status, reason: str) -> None:
    found = run(parts)
    assert (found.status, found.reason, found.question) == (status, reason, None)


def test_a_failing_model_leaves_a_failure_not_a_question() -> None:
    def fail(_: str) -> str:
        raise Missing("the endpoint is down")

    found = run(roles(judge=fail))
    assert found.error is not None and "endpoint is down" in found.error
    assert found.status is None


def test_long_texts_are_not_judged() -> None:
    model = Scripted(lambda _: "yes")
    long = BearerDocument(title="T", text="word " * 400)
    assert not entails(model, long, "?", "a")
    assert model.asked == []


def test_the_question_about_one_bearer() -> None:
    assert about("Where was ADA FIELD born?", "Ada Field", "Ada Field (poet)") == (
        "Where was Ada Field (poet) born?"
    )
    assert about("Where?", "Ada Field", "X \\1") == "X \\1: Where?"


@pytest.mark.parametrize(
    "reply",
    [
        " When?\nAnswer 1: 12 May\nAnswer 2: June\n\nAnswer 1: other",
        "QUESTION: When?\nAnswer 1:  12 May \nanswer 2: June",
        "**Question:** When?\n\n- **Answer 1 (Ada Field):** 12 May\n- **Answer2**: June",
    ],
)
def test_replies_of_the_writer(reply: str) -> None:
    found = parse_draft(reply)
    assert found is not None
    assert (found["question"], found["answer 1"], found["answer 2"]) == ("When?", "12 May", "June")


@pytest.mark.parametrize(
    "reply", ["", "I cannot.", "When?\nAnswer 1: b", "When?\nAnswer: a", "?\nAnswer 1: b\nAnswer 2:"]
)
def test_replies_that_are_no_draft(reply: str) -> None:
    assert parse_draft(reply) is None


@pytest.mark.parametrize(
    ("said", "verdict"), [("**Yes**, it does", True), (" yes", True), ("yesterday", False), ("No", False)]
)
def test_what_a_judge_says(said: str, verdict: bool) -> None:
    assert entails(Scripted(lambda _: said), FILM, "Where?", "Paris") is verdict


def test_prompts_are_files() -> None:
    for role in ("question_writer", "answerer", "judge"):
        system, user = prompt(role)
        assert system and "$" in user.template
    with pytest.raises(KeyError):
        messages("judge", FILM, question="Where?")


def test_a_stopped_build_goes_on(alike: Path, tmp_path: Path) -> None:
    def fail(_: str) -> str:
        raise Missing("the endpoint is down")

    with pytest.raises(BadInput, match="no question was kept"):
        build_with_models(alike, tmp_path / "bench", roles(judge=fail))
    parts = roles(answerer=lambda p: "Rome Town" if "Rome Town is" in p else "none")
    benchmark, funnel = build_with_models(alike, tmp_path / "bench", parts)
    (query,) = benchmark.queries
    assert query.input == "Where was Ada Field born?"
    assert {(o.entity, o.answer) for o in query.outputs} == {
        ("Q10", "Paris"), ("Q11", "Rome"), ("Q12", "Rome Town"),
    }  # fmt: skip
    assert (funnel["seed pairs"], funnel["questions"]) == (1, 1)
    writer = roles(writer=lambda _: pytest.fail("a finished name is not asked again"))
    again, _ = build_with_models(alike, tmp_path / "bench", writer)
    assert again.id == benchmark.id
    with pytest.raises(UsageError, match="other options, models"):
        build_with_models(alike, tmp_path / "bench", parts, description={"writer": "another"})
    assert len(journal_of(tmp_path / "bench").read()) == 3
