"""Prompts as files."""

from __future__ import annotations

import pytest

from whichone.chat.prompt import find_prompt, own_prompts, parse_prompt
from whichone.errors import BadInput, Missing
from whichone.records import Passage

PASSAGES = [
    Passage(id="p#0", page="p", title="Brightwater (town)", text="It has\n4,120 inhabitants."),
    Passage(id="q#0", page="q", title="Price", text="It costs $5 or ${question}."),
]


def test_own_prompts_serve_every_task():
    assert own_prompts() == ["few-shot", "one-by-one", "which-one", "zero-shot"]
    for name in own_prompts():
        for task in ("qa", "sf", "fc", "el", "ambigdocs"):
            messages = find_prompt(name).messages(task, "Which one?", PASSAGES)
            assert [m["role"] for m in messages][:1] == ["system"]
            assert "$" not in messages[0]["content"]
            assert "[1] Brightwater (town) | It has 4,120 inhabitants." in messages[-1]["content"]
            assert messages[-1]["content"].endswith("Which one?")
            # what a passage says is text, never filled in
            assert "$5 or ${question}" in messages[-1]["content"]


def test_few_shot_has_two_examples_of_the_task():
    messages = find_prompt("few-shot").messages("fc", "A claim.", PASSAGES)
    assert [m["role"] for m in messages] == ["system", *["user", "assistant"] * 2, "user"]
    assert "REFUTES" in messages[4]["content"]
    assert len(find_prompt("zero-shot").messages("fc", "A claim.", PASSAGES)) == 2


def test_prompts_differ_in_what_they_ask():
    texts = {n: find_prompt(n).messages("ambigdocs", "?", [])[0]["content"] for n in own_prompts()}
    assert len(set(texts.values())) == 3  # few-shot instructs as zero-shot does
    assert texts["few-shot"] == texts["zero-shot"]
    assert len({find_prompt(n).hash for n in own_prompts()}) == 4


def test_a_file_says_only_what_it_wants_otherwise(tmp_path):
    file = tmp_path / "mine.md"
    file.write_text("Mine.\n\n## task qa\nAnswer in Latin.\n")
    mine = find_prompt(str(file))
    assert mine.name == "mine"
    messages = mine.messages("qa", "Which one?", [])
    assert "Answer in Latin." in messages[0]["content"] and "JSON" in messages[0]["content"]
    assert "No passages are given." in messages[1]["content"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no headings", "has parts under headings"),
        ("## user\nanything", r"\$question"),
        ("## user\n$question $name", "name"),
        ("## user\n$question costs 5 $", "slot"),
        ("## users\n$question", "no part of a prompt"),
        ("## example qa\n### assistant\nx", "needs '### user'"),
    ],
)
def test_prompts_that_are_none(text, told):
    with pytest.raises(BadInput, match=told):
        parse_prompt(text, "mine", "mine.md")


def test_no_such_prompt():
    with pytest.raises(Missing, match="did you mean zero-shot"):
        find_prompt("zero-shots")


def test_a_plain_text_is_asked_as_it_is_written(tmp_path):
    """The line about a document comes once for every document; what question and documents say is never filled in."""
    file = tmp_path / "mine.txt"
    file.write_text("Be brief. {x}\n---\nQ: {question}\n* {title}: {text}\nA:\n")
    prompt = find_prompt(str(file))
    system, user = prompt.messages("ambigdocs", "Which {text}?", PASSAGES)
    assert system == {"role": "system", "content": "Be brief. {x}"}
    assert user["content"].splitlines() == [
        "Q: Which {text}?",
        "* Brightwater (town): It has 4,120 inhabitants.",
        "* Price: It costs $5 or ${question}.",
        "A:",
    ]
    assert prompt.plain and not find_prompt("zero-shot").plain
    file.write_text("Q: {question}\n{title} {text}")
    assert len(find_prompt(str(file)).messages("qa", "?", [])) == 1
    file.write_text("Q: {question}")
    with pytest.raises(BadInput, match=r"a line with \{text\}"):
        find_prompt(str(file))


def test_the_strings_of_a_program(tmp_path):
    """Its instruction, and a text of examples before the question; the program is not run."""
    file = tmp_path / "ask.py"
    file.write_text(
        "import nothing_of_this_name\nexamples = '''Question: a?\nAnswer: b.\n'''\n"
        "for n in data:\n    instruction = 'Use the context.'\n"
    )
    asked = "Question: Who?\nContext: Price | It costs $5 or ${question}.\nAnswer:"
    zero = find_prompt(str(file)).messages("ambigdocs", "Who?", PASSAGES[1:])
    assert [m["content"] for m in zero] == ["Use the context.", asked]
    few = find_prompt(f"{file}:examples").messages("ambigdocs", "Who?", PASSAGES[1:])
    assert few[1]["content"] == f"Question: a?\nAnswer: b.\n\n{asked}"
    with pytest.raises(BadInput, match=r"no text called shots; it has examples, instruction"):
        find_prompt(f"{file}:shots")
    with pytest.raises(Missing, match="no prompt"):
        find_prompt(str(tmp_path / "other.py:examples"))
