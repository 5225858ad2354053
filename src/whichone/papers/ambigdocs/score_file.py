"""All predictions of a system together: means with intervals, category shares, and what was odd."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from whichone.benchmarks.benchmark import Benchmark
from whichone.errors import BadInput, did_you_mean, sample
from whichone.files.lines import read_table_rows
from whichone.measures.comparison import cohen_kappa
from whichone.measures.intervals import Estimate, interval, interval_note, jackknife
from whichone.measures.scores import used_passages
from whichone.options import Option
from whichone.papers.ambigdocs.ambigdocs_files import (
    Prediction,
    check_named,
    gold_passage_ids,
    passages_by_id,
    prediction_object,
    question_of_query,
    read_ambigdocs_predictions,
    shown_document,
    write_objects,
)
from whichone.papers.ambigdocs.categories import (
    DEFAULT,
    PUBLISHED,
    Category,
    DocumentChoice,
    ScoringRules,
    Threshold,
    chosen_documents,
    distinguishing_tokens,
    never_exact,
    rules_for,
    scored_documents,
    with_spans,
)
from whichone.papers.ambigdocs.further_measures import character_trigrams, missed_paraphrases
from whichone.papers.ambigdocs.score_answer import MEASURES, PredictionScore, score_prediction
from whichone.protocols import Reader
from whichone.retrieval.adapters.adapted import load_function
from whichone.retrieval.dense.encoder import need_encoder
from whichone.runs.read import as_reader
from whichone.runs.run import Answers
from whichone.text.normalisers import content_tokens, surface_name


def score_all(predictions: Sequence[Prediction], rules: ScoringRules = DEFAULT) -> list[PredictionScore]:
    """Every prediction scored; two predictions for one question are an error, unless published."""
    if not predictions:
        raise BadInput("there are no predictions")
    twice = [qid for qid, n in Counter(p.question.qid for p in predictions).items() if n > 1]
    if twice and not rules.published:
        raise BadInput(
            f"{len(twice)} questions are answered twice: {sample(twice)}", hint="keep one prediction a qid"
        )
    return [score_prediction(prediction, rules) for prediction in predictions]


def clusters(predictions: Sequence[Prediction]) -> list[str]:
    """Questions about one name are drawn together when means are resampled."""
    return [surface_name(p.question.ambiguous_entity) for p in predictions]


def measure_values(scores: Sequence[PredictionScore], measure: str) -> list[float]:
    values = (getattr(score, measure) for score in scores)
    return [float("nan") if value is None else float(value) for value in values]


def category_values(scores: Sequence[PredictionScore], category: Category) -> list[float]:
    """1 where a question's answer is of this category, else 0; NaN where it has none."""
    return [float("nan") if score.category is None else float(score.category is category) for score in scores]


def estimates(scores: Sequence[PredictionScore], names: Sequence[str]) -> dict[str, Estimate]:
    figures = {measure: interval(measure_values(scores, measure), names) for measure in MEASURES}
    return figures | {c.value: interval(category_values(scores, c), names) for c in Category}


def summarise(
    predictions: Sequence[Prediction], scores: Sequence[PredictionScore], rules: ScoringRules = DEFAULT
) -> dict[str, Any]:
    figures = estimates(scores, clusters(predictions))
    counts = Counter(score.category for score in scores if score.category is not None)
    result: dict[str, Any] = {
        "rules": "published" if rules.published else "default",
        "documents": rules.documents,
        "questions": len(scores),
        "scored": sum(score.category is not None for score in scores),
        "intervals": interval_note("shared name", len(set(clusters(predictions)))),
        "measures": {name: figures[name].brief() for name in MEASURES if figures[name].n},
        "categories": {
            category.value: {"count": counts[category], **figures[category.value].brief()}
            for category in Category
        },
        "notes": notes(predictions, scores, rules),
    }
    if rules.published:  # under the names and with the rounding of the released scorer
        names = zip(("R", "Entity", "EWR", "KP", "DF1"), MEASURES, strict=False)
        values = {n: [v for s in scores if (v := getattr(s, m)) is not None] for n, m in names}
        result["published"] = {n: round(sum(v) / len(v), 3) if v else None for n, v in values.items()}
    return result


def notes(
    predictions: Sequence[Prediction], scores: Sequence[PredictionScore], rules: ScoringRules
) -> dict[str, Any]:
    """What a stated rule had to decide, counted; lists are of qids."""
    scored = [(p, d) for p in predictions for d in scored_documents(p, rules)]
    return {
        "without_documents": [s.qid for s in scores if s.category is None],
        "nothing_shown": sum(
            bool(p.question.documents) and not chosen_documents(p, rules.documents) for p in predictions
        ),
        "shown_unknown": sum(p.docs is None for p in predictions),
        "empty_answers": sum(not p.gen_answer.strip() for p in predictions),
        "bearers": len(scored),
        "bearers_not_scored": sum(len(p.question.documents) for p in predictions) - len(scored),
        "documents_without_answer": sum(len(chosen_documents(p, rules.documents)) for p in predictions)
        - len(scored),
        "answers_of_stop_words": sum(
            not content_tokens(d.answer or "", language=rules_for(p, rules).language) for p, d in scored
        ),
        "titles_equal_to_the_name": sum(
            not distinguishing_tokens(
                d.title, surface_name(p.question.ambiguous_entity), rules_for(p, rules).language
            )
            for p, d in scored
        ),
        "questions_without_the_name": sum(
            surface_name(p.question.ambiguous_entity) not in p.question.question.lower() for p in predictions
        ),
        "never_exact": sum(
            never_exact([d.answers() for d in p.question.documents if d.answer is not None], p.wrong_answers)
            for p in predictions
        ),
    }


def read_labels(path: str | Path) -> dict[str, Category]:
    """A person's categories: a CSV file with the columns qid and category."""
    labels: dict[str, Category] = {}
    for line, row in read_table_rows(path, ","):
        if not {"qid", "category"} <= row.keys():
            raise BadInput("the columns qid and category are expected", file=path, line=1)
        label, known = row["category"].strip().lower(), [c.value for c in Category]
        if label not in known:
            hint = did_you_mean(label, known)
            raise BadInput(f"{label!r} is no category", file=path, line=line, hint=hint)
        if row["qid"] in labels:
            raise BadInput(f"{row['qid']} is labelled twice", file=path, line=line)
        labels[row["qid"]] = Category(label)
    return labels


def agreement(
    scores: Sequence[PredictionScore], labels: Mapping[str, Category], names: Sequence[str]
) -> dict[str, Any]:
    """Kappa with its interval by name, the confusion matrix, the disagreements."""
    rows = [
        (score.qid, score.category, labels[score.qid], name)
        for score, name in zip(scores, names, strict=True)
        if score.category is not None and score.qid in labels
    ]
    if not rows:
        raise BadInput("no labelled question is among the predictions")
    without = len(labels.keys() - {score.qid for score in scores})
    return {**compare_labels(rows), "labels_without_prediction": without}


def compare_labels(rows: Sequence[tuple[str, Category, Category, str]]) -> dict[str, Any]:
    """The same for rows of qid, automatic category, people's category, and the name asked about."""

    def kappa(without: str | None = None) -> float | None:
        kept = [row for row in rows if row[3] != without]
        return cohen_kappa([a for _, a, _, _ in kept], [p for _, _, p, _ in kept])

    names, value = Counter(name for *_, name in rows), kappa()
    left_out, sizes = [kappa(name) for name in names], np.array([*names.values()], np.float64)
    figure = Estimate(value, None, None, len(rows))
    if value is not None and None not in left_out:
        figure = jackknife(value, np.array(left_out, np.float64), sizes, n=len(rows), bounds=(-1.0, 1.0))
    matrix = Counter((people, automatic) for _, automatic, people, _ in rows)
    return {
        "questions": len(rows),
        "kappa": {"value": value, "low": figure.low, "high": figure.high, "n": len(rows)},
        "agree": sum(a is p for _, a, p, _ in rows) / len(rows),
        "confusion": {p.value: {a.value: matrix[p, a] for a in Category} for p in Category},
        "disagreements": [
            {"qid": qid, "automatic": a.value, "people": p.value} for qid, a, p, _ in rows if a is not p
        ],
    }


def read_any(place: str | Path, benchmark: str | Path | None = None) -> list[Prediction]:
    if not Path(place).is_dir():
        return list(read_ambigdocs_predictions(place))
    answers = Answers.open(place)
    said = answers.answers
    return predictions_of(
        answers.benchmark(benchmark),
        {id: answer.text for id, answer in said.items()},
        {id: used_passages(shown, said.get(id)) for id, shown in answers.shown.items()},
        left_out=answers.left_out,
    )


def predictions_of(
    benchmark: Benchmark,
    texts: Mapping[str, str | None],
    shown: Mapping[str, Sequence[str]],
    *,
    left_out: Container[str] = (),
) -> list[Prediction]:
    """What was said about every query, in the benchmark's order, and what was shown for it.

    A query that failed or was refused is an empty answer; only those that the setting does not fit
    (`left_out`) are no predictions.
    """
    asked = [query for query in benchmark.queries if query.id not in left_out]
    check_named(asked, "these measures are for questions about a name and its bearers")
    ids = {passage for listed in shown.values() for passage in listed}
    passages = passages_by_id(benchmark, ids | gold_passage_ids(asked))
    return [
        Prediction(
            question=question_of_query(query, passages.get, shown.get(query.id, ())),
            gen_answer=texts.get(query.id) or "",
            docs=tuple(shown_document(passages[p]) for p in shown.get(query.id, ()) if p in passages),
            wrong_answers=tuple(query.attributes.get("wrong_answers", ())),
        )
        for query in asked
    ]


def export_predictions(
    answers: str | Path, out: str | Path, benchmark: str | Path | None = None
) -> dict[str, int]:
    return {Path(out).name: write_objects(out, map(prediction_object, read_any(answers, benchmark)))}


THRESHOLDS = {
    "1 token (the paper's)": Threshold(), "2 tokens": Threshold(tokens=2), "3 tokens": Threshold(tokens=3),
    "a quarter": Threshold(fraction=0.25), "half": Threshold(fraction=0.5), "all": Threshold(fraction=1.0),
}  # fmt: skip


def means_within_categories(
    scores: Sequence[PredictionScore], names: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """The mean of each measure within each category: a valid category orders them as it should."""
    all_means: dict[str, dict[str, Any]] = {}
    for category in Category:
        inside = [score for score in scores if score.category is category]
        groups = [n for n, s in zip(names, scores, strict=True) if s.category is category]
        means = ((measure, interval(measure_values(inside, measure), groups)) for measure in MEASURES)
        briefs = {measure: mean.brief() for measure, mean in means if mean.n}
        all_means[category.value] = {"n": len(inside), **briefs}
    return all_means


def threshold_sensitivity(
    predictions: Sequence[Prediction], rules: ScoringRules = DEFAULT
) -> dict[str, dict[str, Any]]:
    """The category shares under other thresholds, and the share of answers that change category."""
    paper = [score_prediction(p, rules).category for p in predictions]
    scored = sum(category is not None for category in paper)
    sensitivity: dict[str, dict[str, Any]] = {}
    for name, threshold in THRESHOLDS.items():
        other = msgspec.structs.replace(rules, threshold=threshold)
        categories = [score_prediction(p, other).category for p in predictions]
        changed = sum(a is not b for a, b in zip(paper, categories, strict=True))
        sensitivity[name] = {
            "changed": changed / scored if scored else None,
            "categories": {c.value: categories.count(c) for c in Category},
        }
    return sensitivity


class ScorePlan(msgspec.Struct, frozen=True, kw_only=True):
    rules: Annotated[
        Literal["default", "published"],
        Option("published: exactly the released scorer, on the first five documents."),
    ] = "default"
    documents: Annotated[
        DocumentChoice | None,
        Option(
            "The gold documents to score: those that were shown (default), the first five, or all.",
            flags=("--docs",),
        ),
    ] = None
    benchmark: Annotated[str | None, Option("Where the benchmark is stored now, if it was moved.")] = None
    reader: Annotated[
        str | None, Option("Finds the spans for Disambig-F1: a question-answering model, or module:function.")
    ] = None
    validity: Annotated[bool, Option("Also means within categories, other thresholds.")] = False
    semantic: Annotated[
        str | None,
        Option(
            "Count paraphrases that tokens miss: trigrams, or a sentence-transformers model.",
            metavar="ENCODER",
        ),
    ] = None
    people: Annotated[
        str | None,
        Option("A CSV file (qid, category) of a person's labels: agreement as Cohen's kappa.", kind="file"),
    ] = None

    def scoring_rules(self) -> ScoringRules:
        rules = PUBLISHED if self.rules == "published" else DEFAULT
        return msgspec.structs.replace(rules, documents=self.documents or rules.documents)


def score_file(
    path: str | Path, plan: ScorePlan | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    plan = plan or ScorePlan()
    predictions, rules = read_any(path, plan.benchmark), plan.scoring_rules()
    if plan.reader is not None:
        predictions = with_spans(predictions, find_reader(plan.reader), published=plan.rules == "published")
    scores, names = score_all(predictions, rules), clusters(predictions)
    result = summarise(predictions, scores, rules)
    if plan.validity:
        result["means_within_categories"] = means_within_categories(scores, names)
        result["threshold_sensitivity"] = threshold_sensitivity(predictions, rules)
    if plan.people is not None:
        result["agreement"] = agreement(scores, read_labels(plan.people), names)
    if plan.semantic is not None:
        trigrams = plan.semantic == "trigrams"
        encode = character_trigrams if trigrams else need_encoder(plan.semantic).questions
        result["semantic"] = missed_paraphrases(predictions, encode, rules)
    return result, [msgspec.to_builtins(score) for score in scores]


def find_reader(name: str) -> Reader:
    """`module:function` of the user's own, or a question-answering model by name or folder.

    The paper's is roberta-base-squad2, with windows of 384 tokens and the threshold 0.
    """
    if ":" in name:
        return as_reader(load_function(name))
    from whichone.reading.extractive import Extractive

    return Extractive(name)
