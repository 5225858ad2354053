"""The rules by hand, and a stated rule for every kind of odd input."""

import pytest

from whichone.papers.ambigdocs.ambigdocs_files import AmbigQuestion, BearerDocument, Prediction
from whichone.papers.ambigdocs.categories import (
    PUBLISHED,
    AnswerMention,
    Category,
    ScoringRules,
    Threshold,
    category,
    disambiguated_question,
    mention,
    never_exact,
    ramdocs_em,
    str_em,
    with_spans,
)
from whichone.papers.ambigdocs.score_answer import score_prediction
from whichone.records import Answer, ReadingTask

P, U, N = AnswerMention.PAIRED, AnswerMention.UNPAIRED, AnswerMention.ABSENT


def prediction(
    text: str,
    *documents: tuple[str, str | None],
    shown: list[int] | None = None,
    qid: str = "q",
    name: str = "Foo Bar",
    question: str = "Who wrote Foo Bar?",
    wrong: tuple[str, ...] = (),
) -> Prediction:
    gold = tuple(
        BearerDocument(title=title, text=f"about {title}", pid=str(n), answer=answer)
        for n, (title, answer) in enumerate(documents)
    )
    return Prediction(
        question=AmbigQuestion(qid=qid, ambiguous_entity=name, question=question, documents=gold),
        gen_answer=text,
        docs=gold if shown is None else tuple(gold[n] for n in shown),
        wrong_answers=wrong,
    )


@pytest.mark.parametrize(
    ("mentions", "expected"),
    [
        ([P, P], Category.COMPLETE),
        ([P, N], Category.PARTIAL),
        ([U, N], Category.AMBIGUOUS),
        ([U, U], Category.MERGED),
        ([P, U], Category.MERGED),
        ([N, N], Category.NO_ANSWER),
        ([], Category.NO_ANSWER),
    ],
)
def test_category(mentions: list[AnswerMention], expected: Category) -> None:
    assert category(mentions) is expected


def test_mention_asks_for_one_token_beside_the_bearer_and_more_alone() -> None:
    assert mention(1 / 5, 1 / 3, 5, 3) is P
    assert mention(1 / 5, 0.0, 5, 3) is N
    assert mention(2 / 5, 0.0, 5, 3) is U
    assert mention(1 / 2, 0.0, 2, 3) is U
    assert mention(0.0, 1.0, 1, 1) is N


def test_a_stricter_threshold_asks_for_more_tokens() -> None:
    assert mention(1 / 5, 1 / 3, 5, 3, Threshold(tokens=2)) is N
    assert mention(2 / 5, 2 / 3, 5, 3, Threshold(tokens=2)) is P
    assert mention(2 / 5, 2 / 3, 5, 3, Threshold(fraction=0.5)) is N
    assert Threshold(tokens=3).of(2) == 1.0


def test_scores_what_was_shown_and_the_published_rules_the_first_five() -> None:
    documents = [(f"Foo Bar (kind{n})", f"answer{n}") for n in range(6)]
    p = prediction("kind5 answer5", *documents, shown=[5])
    assert score_prediction(p).category is Category.COMPLETE
    assert score_prediction(p, PUBLISHED).category is Category.NO_ANSWER
    everything = score_prediction(p, ScoringRules(documents="all"))
    assert everything.category is Category.PARTIAL
    assert everything.answer_recall == pytest.approx(1 / 6)


def test_shown_documents_are_told_by_pid_or_else_by_title_and_text() -> None:
    gold = BearerDocument(title="T", text="x", pid="7", answer="a")
    assert gold.same_as(BearerDocument(title="other", text="other", pid="7"))
    assert not gold.same_as(BearerDocument(title="T", text="x", pid="8"))
    assert gold.same_as(BearerDocument(title="T", text="x"))


def test_title_equal_to_the_name_is_named_in_contrast_to_others() -> None:
    documents = [("Foo Bar", "Ann"), ("Foo Bar (film)", "Bob")]
    named = score_prediction(prediction("foo bar is by Ann", *documents))
    assert [b.mention for b in named.bearers] == [U, N], "both bear that name"
    contrasted = score_prediction(prediction("foo bar is by Ann, the film foo bar by Bob", *documents))
    assert [b.mention for b in contrasted.bearers] == [P, P]
    unnamed = score_prediction(prediction("It is by Ann", *documents))
    assert [b.mention for b in unnamed.bearers] == [U, N]


def test_a_title_with_only_stop_words_more_than_the_name() -> None:
    p = prediction("KSGF (AM) plays news.", ("KSGF (AM)", "news"), name="KSGF")
    assert score_prediction(p).category is Category.COMPLETE
    assert score_prediction(p, PUBLISHED).category is Category.AMBIGUOUS


def test_documents_without_an_answer_are_not_scored() -> None:
    p = prediction("film Ann", ("Foo Bar (film)", "Ann"), ("Foo Bar (novel)", None))
    for rules in (ScoringRules(), PUBLISHED):
        score = score_prediction(p, rules)
        assert score.category is Category.COMPLETE
        assert [b.title for b in score.bearers] == ["Foo Bar (film)"]


def test_answers_of_stop_words_are_found_by_default_and_never_by_the_published_rules() -> None:
    p = prediction("The song is by The Who.", ("Foo Bar (song)", "The Who"))
    assert score_prediction(p).category is Category.COMPLETE
    assert score_prediction(p, PUBLISHED).category is Category.NO_ANSWER
    partial_word = prediction("The song is wholesome.", ("Foo Bar (song)", "The Who"))
    assert score_prediction(partial_word).bearers[0].answer_recall == 0.0


def test_answers_without_any_word_make_a_document_without_an_answer() -> None:
    p = prediction("film Ann", ("Foo Bar (film)", "Ann"), ("Foo Bar (novel)", "the !"))
    assert len(score_prediction(p).bearers) == 1
    assert len(score_prediction(p, PUBLISHED).bearers) == 2


def test_a_question_without_documents_is_not_scored() -> None:
    for rules in (ScoringRules(), PUBLISHED):
        score = score_prediction(prediction("anything"), rules)
        assert (score.category, score.answer_recall, score.str_em) == (None, None, None)


def test_a_question_of_which_nothing_was_shown_counts_as_not_answered() -> None:
    p = prediction("film Ann", ("Foo Bar (film)", "Ann"), shown=[])
    score = score_prediction(p)
    assert (score.category, score.answer_recall) == (Category.NO_ANSWER, 0.0)


def test_a_qid_may_hold_an_underscore() -> None:
    p = prediction("film Ann", ("Foo Bar (film)", "Ann"), qid="12_3")
    assert score_prediction(p, PUBLISHED).qid == "12_3"


def test_questions_without_the_name_get_the_title_in_front() -> None:
    title = "Foo Bar (film)"
    assert disambiguated_question("Who made FOO BAR, foo bar?", "foo bar", title) == (
        "Who made Foo Bar (film), foo bar?"
    )
    assert disambiguated_question("Who made it?", "foo bar", title) == "Foo Bar (film): Who made it?"
    assert disambiguated_question("Who made it?", "foo bar", title, published=True) == "Who made it?"


class LastWord:
    """A reader that answers with the last word of its passage, and refuses novels."""

    def read(self, tasks: list[ReadingTask]) -> list[Answer]:
        return [
            Answer(
                question=t.question.id,
                text=None if "novel" in t.question.text else t.passages[0].text.split()[-1],
            )
            for t in tasks
        ]


def test_disambig_f1_with_any_reader() -> None:
    p = prediction("The film is by Ann Lee", ("Foo Bar (film)", "Ann Lee"), ("Foo Bar (novel)", "Bo"))
    assert score_prediction(p).disambig_f1 is None
    (read,) = with_spans([p], LastWord())
    assert [d.span for d in read.question.documents] == ["Lee", ""]
    score = score_prediction(read)
    assert [b.disambig_f1 for b in score.bearers] == [pytest.approx(2 / 3), 0.0]
    assert score.disambig_f1 == pytest.approx(1 / 3)


def test_str_em_and_ramdocs_exact_match() -> None:
    text = "The film is by Ann; the novel by Bob."
    assert str_em(text, [["ann"], ["Robert", "Bob"], ["Carl"]]) == pytest.approx(2 / 3)
    assert str_em(text, []) == 0.0
    assert ramdocs_em(text, [["Ann"], ["Bob"]], ["Carl"])
    assert not ramdocs_em(text, [["Ann"], ["Bob"]], ["novel"])
    assert not ramdocs_em(text, [["Ann"], ["Carl"]], [])
    assert str_em(text, [["the"]]) == 0.0, "an answer that normalises to nothing is not found"


def test_some_questions_can_never_be_exact() -> None:
    assert never_exact([["Professional wrestling"], ["Boxing"]], ["Wrestling"])
    assert not never_exact([["Professional wrestling", "catch"], ["Boxing"]], ["Wrestling"])


def test_wrong_answers_count_in_the_prediction() -> None:
    documents = [("Foo Bar (film)", "Ann")]
    right = score_prediction(prediction("film Ann", *documents, wrong=("Carl",)))
    assert right.ramdocs_em == 1.0
    assert score_prediction(prediction("film Ann Carl", *documents, wrong=("Carl",))).ramdocs_em == 0.0


def test_an_alias_is_as_good_as_the_answer_but_not_published() -> None:
    gold = BearerDocument(title="Foo Bar (film)", pid="1", answer="United States", aliases=("US", "the"))
    asked = prediction("x", ("Foo Bar (film)", "y")).question
    question = AmbigQuestion(qid="q", ambiguous_entity="Foo Bar", question=asked.question, documents=(gold,))
    p = Prediction(question=question, gen_answer="A film from the U.S.", docs=(gold,))
    score = score_prediction(p)
    assert (score.category, score.answer_recall, score.str_em) == (Category.COMPLETE, 1.0, 1.0)
    assert score_prediction(p, PUBLISHED).category is Category.NO_ANSWER


def test_unknown_shown_documents_leave_knowledge_precision_open() -> None:
    p = prediction("film Ann", ("Foo Bar (film)", "Ann"))
    unknown = Prediction(question=p.question, gen_answer=p.gen_answer)
    assert score_prediction(unknown).knowledge_precision is None
    assert score_prediction(unknown).category is Category.COMPLETE
