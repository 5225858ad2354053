"""The KILT paper's tables over folders of prediction files, and tasks mapped in one go with its Figure 5."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np

from whichone.errors import BadInput, Missing, UsageError
from whichone.files.lines import read_json_lines, read_toml, write_atomic
from whichone.measures.intervals import Estimate, interval, interval_note
from whichone.papers.kilt.evaluate import evaluate, objects
from whichone.papers.kilt.evidence_text import Original
from whichone.papers.kilt.kilt_record import (
    END,
    PAPER,
    SPLITS,
    START,
    Dataset,
    dataset_and_split,
    datasets,
    mention_of,
)
from whichone.papers.kilt.kilt_scoring import Part
from whichone.papers.kilt.map_task import BINS, MappingAccount, MapPlan, map_original, map_task
from whichone.progress import talk
from whichone.report.page import PALETTE, Cell, Figure, ReportPage, Section, Table, drawing, finish, render

DEPTHS = (1, 5)


class System(msgspec.Struct, frozen=True):
    """A folder of predictions; what `system.toml` in it says about the system."""

    name: str
    folder: Path
    kind: str = ""
    parameters: str = ""
    index: str = ""


class Scored(msgspec.Struct, frozen=True):
    system: System
    dataset: Dataset
    split: str
    gold: Path
    guess: Path
    values: dict[str, Estimate]  # By the official names; a part that was not predicted is not there


def open_system(folder: str | Path) -> System:
    """A system by its folder; `system.toml` may give name, kind, parameters and index."""
    path = Path(folder)
    if not path.is_dir():
        raise Missing("no such folder of predictions", where=str(path))
    file = path / "system.toml"
    described: dict[str, str] = read_toml(file, dict) if file.exists() else {}
    known = {f: str(described[f]) for f in ("kind", "parameters", "index") if f in described}
    return System(str(described.get("name", path.resolve().name)), path, **known)


def score_systems(gold: str | Path, systems: Sequence[System]) -> list[Scored]:
    """Every prediction file whose gold is there, by dataset and split."""
    if not (golds := _by_dataset(Path(gold))):
        raise UsageError("no gold file of KILT in it", where=str(gold), hint="such as nq-dev-kilt.jsonl")
    scores = []
    for system in systems:
        if not (guesses := _by_dataset(system.folder)):
            talk(f"{system.folder}: no file in it has the name of one of KILT's, such as nq-dev-kilt.jsonl")
        for key, (dataset, guess) in guesses.items():
            if key not in golds:
                talk(f"{guess}: there is no gold for {' '.join(key)}")
                continue
            file = golds[key][1]
            scores.append(Scored(system, dataset, key[1], file, guess, _values(file, guess)))
    if not scores:
        raise UsageError("no prediction file has the name of a gold file", where=str(gold))
    return scores


def _by_dataset(folder: Path) -> dict[tuple[str, str], tuple[Dataset, Path]]:
    files = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if dataset_split := dataset_and_split(path):
            files[dataset_split[0].name, dataset_split[1]] = (dataset_split[0], path)
    return files


def _values(gold: Path, guess: Path) -> dict[str, Estimate]:
    answered, ranked = _predicted(guess)
    if not answered and not ranked:
        talk(f"{guess}: its predictions have neither an answer nor a ranking")
        return {}
    only: Part | None = None if answered and ranked else "downstream" if answered else "retrieval"
    scored = evaluate(gold, guess, ks=DEPTHS, only=only, on_error="skip")
    if scored.problems:
        first = scored.problems[0]
        talk(f"{guess}: {len(scored.problems)} records are odd, the first: {first.reason}")
    # What resampling draws together: the first gold page, else the record itself.
    pages: dict[str, str] = {}
    for _, record in read_json_lines(gold):
        own = str(record.get("id")).strip()
        entries = (entry for output in record.get("output", ()) for entry in output.get("provenance") or ())
        pages[own] = min((str(entry.get("wikipedia_id")) for entry in entries), default=f"id {own}")
    clusters = [pages.get(identity, identity) for identity in scored.ids]
    unranked = ("KILT-", "Rprec", "recall")
    return {
        name: interval(np.asarray(column, dtype=np.float64), clusters)
        for name, column in scored.columns.items()
        if ranked or not name.startswith(unranked)
    }


def _predicted(guess: Path) -> tuple[bool, bool]:
    """Whether any prediction has an answer of its own, and any a ranking.

    KILT's retrieval driver writes the gold answers beside a ranking: those are nobody's predictions.
    """
    empty, answered, ranked = True, False, False
    for _, record in read_json_lines(guess):
        empty = False
        listed = objects(record.get("output")) if isinstance(record, dict) else []
        answered = answered or (len(listed) == 1 and "answer" in listed[0])
        ranked = ranked or any(output.get("provenance") for output in listed)
        if answered and ranked:
            break
    if empty:
        raise BadInput("there are no predictions", file=guess)
    return answered, ranked


def map_tasks(
    tasks: Sequence[str], base: str, out: str, plan: MapPlan, figure: str | None = None
) -> list[MappingAccount]:
    """Map each task to a file of the same name in `out`, or the only one to `out` itself.

    The original files of a dataset are converted first; all of them are one task.
    """
    one_file = out.endswith((".jsonl", ".jsonl.gz"))
    if one_file and len(tasks) > 1 and not plan.original:
        raise UsageError("several tasks need a folder, not one file", where=out)
    if figure and Path(figure).suffix not in (".svg", ".pdf", ".png"):
        raise UsageError("a figure is .svg, .pdf or .png", where=figure)
    if plan.original:
        if not one_file:
            raise UsageError("the files of one dataset become one .jsonl file", where=out)
        files = Original(
            files=[Path(task) for task in tasks],
            extra=[Path(path) for path in plan.extra],
            split=plan.split or "dev",
            seed=plan.seed,
        )
        accounts = [map_original(plan.original, files, base, out, plan)]
    else:
        names = (f"{Path(task).name.split('.')[0]}.jsonl" for task in tasks)
        places = [out if one_file else Path(out) / name for name in names]
        accounts = [map_task(task, base, place, plan) for task, place in zip(tasks, places, strict=True)]
    if figure:
        drawn = bleu_figure(accounts)
        content = {".svg": drawn.svg.encode(), ".pdf": drawn.pdf, ".png": drawn.png}
        write_atomic(figure, content[Path(figure).suffix])
    return accounts


def bleu_figure(accounts: Sequence[MappingAccount]) -> Figure:
    """Figure 5: how the BLEU of the evidence is distributed, one panel a task."""
    rows = (len(accounts) + 1) // 2
    columns = min(2, len(accounts))
    with drawing(rows, columns, (3.4 * columns + 0.6, 2.6 * rows)) as (figure, axes):
        places = [n / BINS for n in range(BINS)]
        for number, account in enumerate(accounts):
            axis = axes[number // columns][number % columns]
            axis.bar(places, account.histogram, width=1 / BINS, align="edge", color=PALETTE[0])
            share = f"{100 * account.discarded:.2f} % discarded"
            axis.set_title(f"{account.file}\n{account.split}: {share}", fontsize=8)
            axis.set_xlabel("BLEU")
            axis.set_ylabel("evidence")
        for number in range(len(accounts), rows * columns):
            axes[number // columns][number % columns].set_visible(False)
        return finish(figure, "bleu", "BLEU of mapped evidence (KILT, Figure 5)")


class LinkedMention(msgspec.Struct, frozen=True):
    """A marked mention: its words, the page it means, and the page that was predicted."""

    id: str
    mention: str
    gold: str
    guess: str

    @property
    def right(self) -> bool:
        return self.gold == self.guess


class LinkedDocument(msgspec.Struct, frozen=True):
    name: str
    text: str
    mentions: list[LinkedMention]


def document_name(identity: str) -> str:
    """`uuid_947testa CRICKET:3` is the fourth mention of `947testa CRICKET`."""
    return identity.rpartition(":")[0].partition("_")[2] or identity


def documents(gold: str | Path, guess: str | Path) -> Iterator[LinkedDocument]:
    """The documents of a gold file in its order, with the answers of a prediction file."""
    answers: dict[str, str] = {}
    for _, record in read_json_lines(guess):
        outputs = [o["answer"] for o in record.get("output", ()) if o.get("answer") is not None]
        answers[str(record["id"]).strip()] = str(outputs[0]).strip() if outputs else ""
    grouped: dict[str, list[tuple[str, LinkedMention]]] = {}
    for _, record in read_json_lines(gold):
        identity = str(record["id"]).strip()
        right = [o["answer"] for o in record.get("output", ()) if o.get("answer")]
        text = str(record.get("input", ""))
        mention = LinkedMention(
            identity, mention_of(text) or "", str(right[0]) if right else "", answers.get(identity, "")
        )
        grouped.setdefault(document_name(identity), []).append((text, mention))
    for name, listed in grouped.items():
        text = listed[0][0].replace(f"{START} ", "").replace(f" {END}", "")
        yield LinkedDocument(name, text, [mention for _, mention in listed])


def mentions_section(scored: Sequence[Scored], most: int = 5) -> Section | None:
    """The first documents of each entity-linking dataset, system by system."""
    shown = [
        {"where": f"{score.system.name}, {score.dataset.title}, {score.split}", "name": document.name,
         "text": document.text, "mentions": document.mentions}
        for score in scored
        if score.dataset.task == "el" and score.dataset.metric in score.values
        for document in itertools.islice(documents(score.gold, score.guess), most)
    ]  # fmt: skip
    if not shown:
        return None
    drawn = render("mentions.html", __package__, documents=shown)
    return Section("All mentions of a document (KILT, Figure 4)", html=drawn)


SHORT = {
    "accuracy": "Accuracy",
    "em": "EM",
    "f1": "F1",
    "rougel": "Rouge-L",
    "Rprec": "R-Precision",
    "KILT-accuracy": "KILT-AC",
    "KILT-em": "KILT-EM",
    "KILT-f1": "KILT-F1",
    "KILT-rougel": "KILT-RL",
    "recall@5": "Recall@5",
}
NO_GOLD = "no gold"
NOTE = (
    f"Percent, with {interval_note('gold page')}. A dash: not predicted. {NO_GOLD.capitalize()}: the "
    "gold file has no answers or no evidence. A prediction that is "
    "missing or cannot be scored counts as wrong."
)


def kilt_report(gold: str, systems: Sequence[str], out: str | Path) -> list[Path]:
    """Score the systems and write the page with all tables beside it."""
    opened = [open_system(folder) for folder in systems]
    scored = score_systems(gold, opened)
    splits = [split for split in SPLITS if any(s.split == split for s in scored)]
    described = Table(
        key="kilt-systems",
        title="Systems (KILT, Table 2)",
        columns=("system", "kind", "parameters", "index"),
        rows=[(s.name, s.kind or None, s.parameters or None, s.index or None) for s in opened],
        note="As each system's system.toml says.",
    )
    sections = [Section("Systems (KILT, Table 2)", [described])]
    for split in reversed(splits):
        of_split = [s for s in scored if s.split == split]
        sections.append(Section(f"All datasets, {split}", overview_tables(of_split, split)))
    known = [d for d in datasets().values() if any(s.dataset is d for s in scored)]
    sections += [Section(d.title, [dataset_table(d, scored)]) for d in known]
    if mentions := mentions_section(scored):
        sections.append(mentions)
    page = ReportPage(
        title="whichone: KILT",
        subtitle=f"{', '.join(s.name for s in opened)} on {len(known)} datasets",
        sections=sections,
        meta={"source of the tables": PAPER},
    )
    return page.write(Path(out))


def overview_tables(scored: Sequence[Scored], split: str) -> list[Table]:
    """Tables 3, 4 and 5: a row a system, a column a dataset."""
    used = [d for d in datasets().values() if any(s.dataset is d for s in scored)]
    tables = []
    for number, title, metric in (
        (3, "Downstream performance", lambda d: d.metric),
        (4, "Page-level R-precision", lambda d: "Rprec"),
        (5, "KILT scores", lambda d: f"KILT-{d.metric}"),
    ):
        heads = {d.name: d.label if number == 4 else f"{d.label} ({SHORT[metric(d)]})" for d in used}
        cells = [((s.system.name,), heads[s.dataset.name], _cell(s, metric(s.dataset))) for s in scored]
        if any(cell is not None for _, _, cell in cells):
            name = f"{title}, {split} (KILT, Table {number})"
            head = ("system",)
            tables.append(Table.of(f"kilt-{number}-{split}", name, head, cells, [*heads.values()], note=NOTE))
    return tables


def _cell(scored: Scored, name: str) -> Cell:
    """A value, None where it was not predicted, or that the gold file has nothing to score it by."""
    value = scored.values.get(name)
    return NO_GOLD if value is not None and not value.n else value


def dataset_table(dataset: Dataset, scored: Sequence[Scored]) -> Table:
    """One of Tables 7 to 17: every system on one dataset, dev and test."""
    metrics = [dataset.metric]
    if dataset.task not in ("fc", "el"):  # whose tables in the paper's appendix give accuracy alone
        metrics = list(dict.fromkeys(["rougel", "f1"] if dataset.name == "wow" else [*metrics, "f1"]))
    wanted = ["Rprec", "recall@5", *metrics, *(f"KILT-{m}" for m in metrics)]
    number = 7 + list(datasets()).index(dataset.name)
    return Table(
        key=f"kilt-{number}-{dataset.name}",
        title=f"{dataset.title} (KILT, Table {number})",
        columns=("split", "system", *(SHORT[name] for name in wanted)),
        rows=[
            (s.split, s.system.name, *(_cell(s, name) for name in wanted))
            for split in reversed(SPLITS)
            for s in scored
            if s.dataset is dataset and s.split == split
        ],
        note=NOTE,
    )
