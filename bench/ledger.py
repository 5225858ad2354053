"""The ratios that matter, in one run: a table with the commit, beside the last one in the repository.

    ./dev bench --all                 # at most twenty minutes on two quiet cores
    ./dev bench --all --resume        # after an interruption: what this commit has is kept
    ./dev bench --all --only bm25     # some of it; the rest of the table stays

Writes docs/performance/ledger.md and ledger.json after each program. What moved by more than a fifth since the commit that
is checked out is printed; a program that fails or takes longer than its limit gives rows that say so.
"""

from __future__ import annotations

import argparse
import atexit
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from measured import ROOT, measure, parsed

HERE = Path(__file__).resolve().parent
PAGE = ROOT / "docs" / "performance" / "ledger.md"
MOVED = 0.2
_NUMBER = r"([\d.,]*\d)"
_BUILT = r"\n{} +[\d.]+ +[\d.]+ +[\d.]+ +" + _NUMBER


@dataclass(frozen=True)
class Line:
    """One figure: its name, what it is measured in, whether more is better, and where a program prints it.

    Of a pattern with two numbers it is their ratio.
    """

    name: str
    pattern: str
    unit: str = "ratio"
    more: bool = False


@dataclass(frozen=True)
class Entry:
    """A program of this folder with its sizes, or a command of whichone, and the figures in what it prints.

    {place} is a folder for the time of the ledger. `limit` is how many seconds it may take.
    """

    program: str
    words: Sequence[str]
    lines: Sequence[Line]
    small: Sequence[str] = ()
    limit: int = 120


def _json_pair(name: str, place: int = 0) -> str:
    return rf'"all over the plain pass".*?"{name}": \[\s*' + (rf"[\d.]+,\s*{_NUMBER}" if place else _NUMBER)


ENTRIES = [
    Entry("whichone", ["--help"], [Line("whichone --help", rf"took {_NUMBER}", "CPU s")]),
    Entry("whichone", ["score", "{place}/run"], [Line("whichone score of a small run", rf"took {_NUMBER}", "CPU s")]),
    Entry("whichone", ["demo", "{place}/demo"], [Line("whichone demo, by the clock", rf"after {_NUMBER}", "s")]),
    Entry("amber_end_to_end", ["--pages", "bz2", "--rounds", "2", "--rules", "paper"], [
        Line("AmbER sets from dumps, by the clock, of a plain pass", _json_pair("paper, corpus none")),
        Line("AmbER sets with their corpus, by the clock, of a plain pass", _json_pair("paper, corpus all")),
        Line("AmbER sets from dumps, CPU, of a plain pass", _json_pair("paper, corpus none", 1)),
    ], ["--entities", "1500", "--words", "30", "--rounds", "1"], limit=300),
    *(
        Entry("bm25", ["--passages", str(size), "--queries", "300"], [
            Line(f"BM25, {size:,} passages: questions a CPU second, of tantivy's", rf"queries/CPU s.*?\nwhichone +[\d,]+ +{_NUMBER}", more=True),
            Line(f"BM25, {size:,} passages: CPU of the build, of tantivy's", rf"\nwhichone +[\d.]+ +{_NUMBER}"),
            Line(f"BM25, {size:,} passages: memory of the build, of tantivy's", rf"{_BUILT.format('whichone')}.*?{_BUILT.format('tantivy')}"),
        ], ["--passages", "1000", "--queries", "10"])
        for size in (10_000, 100_000)
    ),
    Entry("namesake_service", ["--passages", "50000", "--work", "{place}/service", "--clients", "2", "--questions", "300"], [
        Line("namesake, 50,000 passages, a question, 95th percentile", rf"a question, CPU:.*?percentile {_NUMBER}", "CPU ms")]),
    Entry("score_kilt", ["--records", "20000", "--rounds", "2"], [
        Line("KILT scores, by the clock, of a json.loads pass", rf"ratio +{_NUMBER}")], ["--records", "100", "--depth", "5", "--rounds", "1"]),
    Entry("score_entityquestions", ["--questions", "1000", "--rounds", "2"], [
        Line("answers in passages, worst matcher, of json.load", rf"token matcher {_NUMBER}")], ["--questions", "20", "--passages", "5", "--rounds", "1"]),
    Entry("map_spans", ["--pages", "3"], [
        Line("evidence to spans: times faster than the released search", rf"published +[\d.]+ s +{_NUMBER}", more=True)], ["--pages", "1"]),
    Entry("lookup", ["--names", "200000"], [
        Line("names in texts, of cutting the texts", rf"{_NUMBER} times cutting")], ["--names", "1000", "--asked", "10"]),
    Entry("reading", ["--questions", "500", "--calls", "320"], [
        Line("five measures of an answer", rf"five measures in a table +{_NUMBER}", "µs")], ["--questions", "20", "--calls", "16", "--wait", "0.01"]),
    Entry("report_size", ["--queries", "20000", "--systems", "3", "--passages", "100000"], [
        Line("score of 20,000 questions", rf"score: {_NUMBER} CPU s", "CPU s"),
        Line("report of 20,000 questions and three systems", rf"report: {_NUMBER} CPU s", "CPU s"),
    ], ["--queries", "200", "--systems", "1", "--passages", "800"]),
    Entry("web_load", ["--people", "50", "--clicks", "5"], [
        Line("a request to the web page", rf"used {_NUMBER} ms", "CPU ms")], ["--people", "2", "--clicks", "1"]),
]  # fmt: skip


def output_of(entry: Entry, small: bool, place: Path) -> str:
    """What the program prints, and what it took."""
    chosen = entry.small if small and entry.small else entry.words
    words = [word.format(place=place) for word in chosen]
    if entry.program != "whichone":
        command = [sys.executable, str(HERE / f"{entry.program}.py"), *words]
    else:
        command = [sys.executable, "-m", "whichone", *words]
        if "score" in words and not (place / "run").exists():
            asked = ["retrieve", "builtin/ambigdocs", str(place / "run"), "-k", "20"]
            measure([*command[:3], *asked], timeout=entry.limit)
            measure(command, timeout=entry.limit)  # the first one compiles and caches
    used = measure(command, timeout=entry.limit)
    if used.code:
        last = used.output.strip().splitlines()[-1:] or [f"exit code {used.code}"]
        slow = used.code == 124
        raise RuntimeError(f"longer than {entry.limit} s" if slow else f"failed: {last[0][:200]}")
    return f"{used.output}\ntook {used.cpu:.2f} after {used.wall:.1f}"


def commit() -> str:
    """The commit, with a star where the tree differs from it."""
    git = ["git", "-C", str(ROOT)]
    said = subprocess.run([*git, "rev-parse", "--short=9", "HEAD"], capture_output=True, text=True)
    changed = subprocess.run([*git, "status", "--porcelain", "src"], capture_output=True, text=True)
    return said.stdout.strip() + ("*" if changed.stdout.strip() else "")


def last_one() -> dict[str, dict[str, object]]:
    """The ledger of the commit that is checked out."""
    shown = ["git", "-C", str(ROOT), "show", f"HEAD:{PAGE.with_suffix('.json').relative_to(ROOT)}"]
    said = subprocess.run(shown, capture_output=True, text=True)
    return {} if said.returncode else json.loads(said.stdout)


def measured(line: Line, output: str) -> float | None:
    found = re.search(line.pattern, output, re.DOTALL)
    if found is None:
        return None
    first, *second = (float(number.replace(",", "")) for number in found.groups())
    return round(first / second[0], 4) if second else first


def page(rows: Mapping[str, Mapping[str, object]]) -> str:
    """The table, with what each line was before."""
    text = [
        "# Ledger",
        "",
        "The ratios that matter, by `./dev bench --all`; *before* is what the ledger of the commit before said, ↑ means that more is better.",
        "",
        "| what | value | before | commit, date |",
        "| --- | --- | ---: | --- |",
    ]
    for name, row in rows.items():
        unit = "" if row["unit"] == "ratio" else f" {row['unit']}"
        value = f"{row['value']:.2f}{unit}" if isinstance(row["value"], float) else str(row["problem"])
        before = f"{row['before']:.2f}" if isinstance(row["before"], float) else ""
        better = " ↑" if row["more"] else ""
        text.append(
            f"| {name}{better} | {value.replace('|', '/')} | {before} | `{row['commit']}` {row['date']} |"
        )
    quality = "[The quality of namesake on its development sets](../data/namesake-sets.csv)"
    text += ["", quality, "", "What its columns mean: [namesake's page](../experiments/namesake.md).", ""]
    return "\n".join(text)


def written(rows: dict[str, dict[str, object]], into: Path) -> dict[str, dict[str, object]]:
    """Both files, in the order of the entries; each is replaced as a whole."""
    names = [line.name for entry in ENTRIES for line in entry.lines]
    ordered = {name: rows[name] for name in names if name in rows}
    texts = {
        "ledger.json": json.dumps(ordered, indent=1, ensure_ascii=False) + "\n",
        "ledger.md": page(ordered),
    }
    for name, text in texts.items():
        (into / f".{name}").write_text(text, encoding="utf-8")
        (into / f".{name}").replace(into / name)
    return ordered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", help="programs, between commas")
    parser.add_argument("--into", type=Path, default=PAGE.parent, help="where the two files are")
    parser.add_argument("--resume", action="store_true", help="keep what has been measured for this commit")
    given = parsed(parser, small="--only map_spans,bm25 --into {place}")
    kept = given.into / "ledger.json"
    rows: dict[str, dict[str, object]] = json.loads(kept.read_text()) if kept.exists() else {}
    before = last_one()
    now, today, moved = commit(), datetime.date.today().isoformat(), []
    work = given.into / ".ledger"
    shutil.rmtree(work, ignore_errors=True)  # of one that was killed
    work.mkdir(parents=True)
    atexit.register(shutil.rmtree, work, ignore_errors=True)
    os.environ.setdefault("WHICHONE_CACHE", str(work / "cache"))
    print(f"commit {now}, load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores", flush=True)
    begun = time.monotonic()
    for entry in ENTRIES:
        if given.only and entry.program not in given.only.split(","):
            continue
        known = [rows.get(line.name, {}) for line in entry.lines]
        done = all(row.get("commit") == now and row.get("value") is not None for row in known)
        output, problem, started = "", "", time.monotonic()
        if not (given.resume and done):
            try:
                output = output_of(entry, given.small, work)
            except (RuntimeError, OSError, ValueError, subprocess.SubprocessError) as error:
                problem = str(error)
        took = round(time.monotonic() - started, 1)
        for line in entry.lines:
            if not (given.resume and done):
                value = measured(line, output)
                problem = problem or ("" if value is not None else "the figure was not printed")
                rows[line.name] = {
                    "value": value, "unit": line.unit, "more": line.more, "before": before.get(line.name, {}).get("value"),
                    "commit": now, "date": today, "seconds": took, "problem": "" if value is not None else problem,
                }  # fmt: skip
            row = rows[line.name]
            value, last = row["value"], row["before"]
            said = (
                f"{value:.2f} {line.unit}" if isinstance(value, float) else f"not measured: {row['problem']}"
            )
            print(f"{line.name}: {said} ({row['seconds']} s)", flush=True)
            if (
                isinstance(value, float)
                and isinstance(last, float)
                and last
                and abs(value / last - 1) > MOVED
            ):
                moved.append(f"{line.name}: {last:.2f} -> {value:.2f}")
        rows = written(rows, given.into)
    print(
        f"{len(rows)} lines in {given.into / 'ledger.md'} after {(time.monotonic() - begun) / 60:.1f} minutes"
    )
    for text in moved:
        print(f"moved by more than a fifth: {text}")


if __name__ == "__main__":
    main()
