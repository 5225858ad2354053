"""Readers without a model: exact title, the looked-up fact, and a function of one's own."""

from __future__ import annotations

import pytest

from whichone.errors import BadInput, Missing, UsageError
from whichone.measures.scores import score_folder
from whichone.reading.llm import FunctionReader
from whichone.reading.seq2seq import ExactTitle
from whichone.records import Passage, Question, ReadingTask
from whichone.runs.from_runs import KbLookup
from whichone.runs.read import make_reader, read, run_reader
from whichone.runs.shown import Setting


def value(answers, measure, query):
    scores = score_folder(answers.path, [measure])
    return next(r[measure] for r in scores.rows() if r["query"] == query)


def mean(answers, measure):
    values = [r[measure] for r in score_folder(answers.path, [measure]).rows()]
    known = [v for v in values if v is not None]
    return sum(known) / len(known)


def test_exact_title():
    reader = ExactTitle({"Brightwater": "Brightwater"})
    passages = (
        Passage(id="a#0", page="a", title="Brightwater (film)", text=""),
        Passage(id="b#0", page="b", title="Brightwater", text=""),
    )
    question = Question(id="q", task="el", text="In [START_ENT] Brightwater [END_ENT] it rains.")
    other = Question(id="r", task="el", text="Orla", mention="Orla")
    tasks = [
        ReadingTask(question=question, passages=passages),
        ReadingTask(question=question, passages=passages[:1]),
        ReadingTask(question=question),
        ReadingTask(question=other),
    ]
    answers = list(reader.read(tasks))
    assert [(a.text, a.passages) for a in answers] == [
        ("Brightwater", ("b#0",)),
        (None, ()),
        ("Brightwater", ()),
        (None, ()),
    ]
    assert next(ExactTitle({}).read(tasks[2:3])).text == "Brightwater"  # no corpus


def test_kb_lookup_is_a_ceiling_on_gold_and_marked(toy, tmp_path):
    made = read(toy.folder.root, tmp_path / "a", reader="kb-lookup")
    assert made.description["reader"]["shortcut"] is True
    assert made.name == "kb-lookup (shortcut) (gold)"
    assert mean(made, "em") == 1.0 and mean(made, "accuracy") == 1.0
    assert mean(made, "kilt_em") == 1.0


def test_kb_lookup_answers_for_the_page_it_is_shown(toy, tmp_path):
    made = read(toy.folder.root, tmp_path / "a", reader="kb-lookup", passages="other-bearer")
    assert made.answers["qa:vennick-botanist:birthplace"].text == "Eskby"
    assert value(made, "answered_for_namesake", "qa:vennick-botanist:birthplace") == 1.0
    assert made.answers["qa:vennick-rower:team"].text is None  # the botanist has no team
    assert value(made, "refusal", "qa:vennick-rower:team") == 1.0
    claim = made.answers["fc:vennick-botanist:birthplace:SUPPORTS"]
    assert claim.text == "REFUTES"  # the other bearer was born elsewhere


def test_kb_lookup_on_several_bearers(toy_ambigdocs, tmp_path):
    made = read(toy_ambigdocs.folder.root, tmp_path / "a", reader="kb-lookup")
    assert mean(made, "complete") == 1.0
    closed = read(toy_ambigdocs.folder.root, tmp_path / "b", reader="kb-lookup", passages="none")
    assert closed.answers["Orla Vennick"].text == (
        "Orla Vennick (botanist): Tarnholm. Orla Vennick (rower): Eskby."
    )


def test_a_setting_that_fits_no_question(toy_ambigdocs, tmp_path):
    with pytest.raises(BadInput, match="no other bearer of the name has a page"):
        read(toy_ambigdocs.folder.root, tmp_path / "a", reader="kb-lookup", passages="other-bearer")


def last_words(text: str, passages: list[Passage]):
    return passages[0].text.split()[-1].rstrip("."), [passages[0].id]


def test_functions_of_ones_own(toy, tmp_path, monkeypatch):
    made = run_reader(FunctionReader(last_words), toy, tmp_path / "a", Setting())
    assert made.answers["qa:vennick-rower:birthplace"].text == "Eskby"
    assert made.answers["qa:vennick-rower:birthplace"].passages == ("p:vennick-rower#0",)
    closed = FunctionReader(lambda text: None)
    refused = run_reader(closed, toy, tmp_path / "b", Setting(passages="none"))
    assert refused.folder.manifest.counts["refused"] == len(toy.queries)
    (tmp_path / "my_reader.py").write_text("def answer(text, passages):\n    return 'x'\n")
    monkeypatch.chdir(tmp_path)
    own = read(toy.folder.root, tmp_path / "c", reader="my_reader:answer")
    assert own.name == "answer (gold)" and own.answers["lonely"].text == "x"


def test_options_reach_a_function_of_ones_own_and_are_recorded(toy, tmp_path, monkeypatch):
    (tmp_path / "styled.py").write_text(
        "def answer(text, passages, style='plain'):\n    return style\n"
        "def closed(text, style='plain'):\n    return style\n"
    )
    monkeypatch.chdir(tmp_path)
    for function in ("answer", "closed"):
        own = read(toy.folder.root, tmp_path / function, reader=f"styled:{function}", options={"style": "terse"})  # fmt: skip
        assert own.answers["lonely"].text == "terse"
        assert own.folder.manifest.parameters["reader"]["options"] == {"style": "terse"}
    with pytest.raises(BadInput, match="unexpected keyword argument 'tone'"):
        read(toy.folder.root, tmp_path / "d", reader="styled:answer", options={"tone": "x"})


@pytest.mark.parametrize("given", [7, ("a", "b", "c"), ("a", "one id as text"), {"text": "a"}])
def test_functions_that_give_something_else(toy, tmp_path, given):
    with pytest.raises(BadInput, match="an answer is a text"):
        run_reader(FunctionReader(lambda t, p: given), toy, tmp_path / "a", Setting())


def test_no_such_reader(toy):
    with pytest.raises(UsageError, match="there is no reader called 'lm'"):
        make_reader("lm", toy, {})
    with pytest.raises(Missing):
        make_reader("no_such_module:answer", toy, {})
    assert isinstance(make_reader("kb-lookup", toy, {}), KbLookup)


def test_inputs_of_kilts_t5() -> None:
    """As `encode_seq` of KILT's readers/t5/data.py makes them, before its end token, which T5's tokenizer adds."""
    from whichone.reading.seq2seq import prefixed, written

    inputs = {
        "qa": ("who wrote it?", "Question Answering: who wrote it?"),
        "fc": ("It rained.", "Fact Checking: It rained."),
        "sf": ("Nike [SEP] country", "Slot Filling: Nike [SEP] country"),
        "el": ("a [START_ENT] b [END_ENT] c", "Entity Linking: a [START_ENT] b [END_ENT] c"),
        "dialogue": ("Hello\nWell?", "Dialogue: Hello[SEP]Well?"),
    }
    for task, (text, wanted) in inputs.items():
        assert prefixed("{Task}: ", task, text) == wanted
    zero_shot = prefixed("{Task}: ", "sf", "a [SEP] b", "structured_zeroshot")
    assert zero_shot == "Relation Extraction: a [SEP] b"
    assert prefixed("{Task}: ", "sf", "a [SEP] b", "trex") == "Slot Filling: a [SEP] b"
    assert [written("{Task}: ", a) for a in ("REFUTES", "SUPPORTS", "Oslo")] == [
        "<REFUTES>",
        "<SUPPORTS>",
        "Oslo",
    ]
    assert written("{task}: ", "REFUTES") == "REFUTES"
    assert prefixed("{task}: ", "dialogue", "a\nb") == "dialogue: a\nb"
