"""The part of a report that is about answers: end to end, KILT's tables, and what confusion costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whichone import registry
from whichone.benchmarks.benchmark import Benchmark, Where
from whichone.errors import BadInput
from whichone.files.folder import Folder
from whichone.measures.intervals import cluster_note
from whichone.report.answer_tables import confusion_cost_table, end_to_end_table
from whichone.report.asking import asking_section, outcome_section, trace_section
from whichone.report.page import Page, Section
from whichone.runs.run import ANSWERS_KIND, Answers, Run


def answers_among(
    places: Sequence[str | Path],
) -> tuple[list[Answers], list[str | Path]]:
    """Folders of answers apart from runs."""
    answers: list[Answers] = []
    runs: list[str | Path] = []
    for place in places:
        folder = Folder.open(place, ("run", ANSWERS_KIND))
        if folder.manifest.kind == ANSWERS_KIND:
            answers.append(Answers(folder))
        else:
            runs.append(place)
    return answers, runs


def answers_report(
    answers: Sequence[Answers],
    out: str | Path,
    *,
    benchmark: Where | None = None,
    redact: bool = False,
    study: str | Path | None = None,
) -> list[Path]:
    """A page about answers alone; a paper may have a page of its own kind for them."""
    base = answers[0].benchmark(benchmark)
    for offered in registry.every("answer_pages").values():
        own: Page | None = offered(answers, base, benchmark, redact=redact)
        if own is not None:
            return own.write(Path(out))
    page = Page(
        title=f"whichone: {base.name}",
        subtitle=f"{', '.join(a.name for a in answers)} on {base.id}",
        sections=[
            *answer_sections(answers, base, redact=redact),
            *_people_and_readers(answers, base, study),
        ],
        meta={
            "benchmark": base.id,
            "intervals": cluster_note(base.queries),
            **{f"answers {a.name}": str(a.description) for a in answers},
        },
    )
    return page.write(Path(out))


def _people_and_readers(
    answers: Sequence[Answers], benchmark: Benchmark, study: str | Path | None
) -> list[Section]:
    """Table 8 without retrievers, where a study is named."""
    from whichone.report.three_choice import three_choice_section

    section = three_choice_section({}, answers, benchmark, study) if study else None
    return [section] if section else []


def answer_sections(
    answers: Sequence[Answers],
    benchmark: Benchmark,
    runs: Sequence[Run] = (),
    *,
    redact: bool = False,
) -> list[Section]:
    """Sections for whatever answers there are; none for none."""
    if not answers:
        return []
    strangers = [a for a in answers if a.benchmark_id != benchmark.id]
    if strangers:
        raise BadInput(
            f"the answers are over {strangers[0].benchmark_id}, the rest is over {benchmark.id}",
            file=strangers[0].path,
            hint="their questions or corpora differ; make one report for each",
        )
    costs = [
        confusion_cost_table(gold, other, benchmark) for gold, other in gold_and_other(answers)
    ]
    offered = registry.every("answer_tables").values()
    return [
        Section("What the user is told", [end_to_end_table(answers, benchmark)]),
        *([Section("What confusion costs", costs)] if costs else []),
        *(s for section in _OURS if (s := section(answers, benchmark)) is not None),
        *([traces] if not redact and (traces := trace_section(answers, benchmark)) else []),
        *(s for section in offered if (s := section(answers, benchmark, runs)) is not None),
    ]


_OURS = (outcome_section, asking_section)


def gold_and_other(answers: Sequence[Answers]) -> list[tuple[Answers, Answers]]:
    """Readers that were shown gold, each with itself shown another bearer's page."""

    def of(kind: str) -> dict[str, Answers]:
        return {
            a.folder.manifest.parents["reader"]: a
            for a in answers
            if a.description["setting"]["passages"] == kind
        }

    gold, other = of("gold"), of("other-bearer")
    return [(gold[reader], other[reader]) for reader in gold if reader in other]
