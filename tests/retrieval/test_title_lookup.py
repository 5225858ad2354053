"""The ceiling row: the title that the question itself names."""

from __future__ import annotations

from pathlib import Path

from whichone.benchmarks.benchmark import Benchmark
from whichone.corpus.corpus import Corpus
from whichone.corpus.save import passage_rows
from whichone.records import Passage, Question
from whichone.retrieval.baselines import TitleLookup


def ask(text: str, mention: str | None = None) -> tuple[str, ...]:
    titles = {"a": "Her (film)", "b": "Her", "c": "Him"}
    passages = [Passage(id=f"{p}#0", page=p, title=t, text="") for p, t in titles.items()]
    retriever = TitleLookup(Corpus.of_table(passage_rows(passages), hash="three"))
    (ranking,) = retriever.search([Question(id="q", text=text, mention=mention)], 5)
    return ranking.passages


def test_exact_titles_come_before_those_with_parentheses() -> None:
    assert ask("her [SEP] director") == ("b", "a")
    assert ask("Her (film) [SEP] director") == ("a", "b")
    assert ask("Who directed Him?", mention="Him") == ("c",)


def test_other_questions_get_nothing() -> None:
    assert ask("Who directed Her?") == ()
    assert ask("It [SEP] director") == ()


def test_it_is_marked_as_a_shortcut(small: Benchmark, tmp_path: Path) -> None:
    assert TitleLookup.over(small.corpus, tmp_path).describe()["shortcut"]
