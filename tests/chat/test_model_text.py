"""What is made of a model's text, however well it kept to the form."""

from __future__ import annotations

import pytest

from whichone.chat.prompt import BrokenAnswer, is_refusal, parse_model_text


@pytest.mark.parametrize(
    ("text", "answer", "cited", "form"),
    [
        ('{"answer": "Eskby", "passages": [1, 2]}', "Eskby", (1, 2), "json"),
        ('Sure! {"answer": "Eskby", "passages": [2, 2]} Hope it helps.', "Eskby", (2,), "json"),
        ('```json\n{"answer": "Eskby", "passages": []}\n```', "Eskby", (), "json"),
        ('{"answer": null, "passages": []}', None, (), "json"),
        ('{"answer": "None", "passages": []}', None, (), "json"),
        ('{"answer": 4120}', "4120", (), "json"),
        ('{"answer": ["a", "b"], "passages": "1"}', "a; b", (), "json"),
        ('{"answer": "Esk\\"by", "passages": [1, 1, 1, 1', 'Esk"by', (), "half"),
        ('{"answer": "The mosses of Tarnh', "The mosses of Tarnh", (), "half"),
        ('{"answer": "caf\\u00', "caf", (), "half"),
        ('{"answer": null, "pass', None, (), "half"),
        ("Eskby [2]", "Eskby", (2,), "plain"),
        ("Eskby [1, 3].", "Eskby.", (1, 3), "plain"),
        ("I'm sorry, but I can't help with that.", None, (), "plain"),
        ("Not enough information.", None, (), "plain"),
    ],
)
def test_answers(text, answer, cited, form):
    said = parse_model_text(text, "qa")
    assert (said.text, said.passages, said.form) == (answer, cited, form)


@pytest.mark.parametrize("text", ['{"reply": ', "{'answer': 1", "```json\n{"])
def test_broken_json_without_an_answer_is_no_answer(text):
    with pytest.raises(BrokenAnswer):
        parse_model_text(text, "qa")


@pytest.mark.parametrize(
    ("text", "label"),
    [("supported", "SUPPORTS"), ("REFUTES.", "REFUTES"), ("Neutral", None), ("Maybe", "Maybe")],
)
def test_labels(text, label):
    assert parse_model_text(text, "fc").text == label


def test_a_refusal_is_the_whole_answer():
    assert is_refusal("I don't know.") and is_refusal("N/A")
    assert is_refusal("I cannot answer: no passage says so.")
    for title in ("The Unknown Soldier", "Sorrento", "Sorry", "I Can't Get Next to You"):
        assert not is_refusal(title)
