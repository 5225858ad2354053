"""The ratios that matter, in one run: a table with the commit, beside what it was the last time.

    ./dev bench --all                 # about fifteen minutes on two quiet cores
    ./dev bench --all --only bm25     # some of it; the rest of the table stays

Writes docs/performance/ledger.md and ledger.json. What moved by more than a fifth is printed; a line that could not be
measured says why and keeps its last value.
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from measured import ROOT, measure, parsed

HERE = Path(__file__).resolve().parent
PAGE = ROOT / "docs" / "performance" / "ledger.md"
MOVED = 0.2
_NUMBER = r"([\d.]+)"


@dataclass(frozen=True)
class Line:
    """One figure: its name, what it is measured in, whether more is better, and where a program prints it."""

    name: str
    pattern: str
    unit: str = "ratio"
    more: bool = False


@dataclass(frozen=True)
class Entry:
    """A program of this folder with its sizes, or a command of whichone, and the figures in what it prints."""

    program: str
    words: Sequence[str]
    lines: Sequence[Line]
    small: Sequence[str] = ()


def _json_pair(name: str, place: int = 0) -> str:
    return rf'"all over the plain pass".*?"{name}": \[\s*' + (rf"[\d.]+,\s*{_NUMBER}" if place else _NUMBER)


ENTRIES = [
    Entry("amber_end_to_end", ["--pages", "bz2", "--rounds", "2"], [
        Line("AmbER sets from dumps, by the clock, of a plain pass", _json_pair("paper, corpus none")),
        Line("the same with their corpus", _json_pair("paper, corpus all")),
        Line("AmbER sets from dumps, CPU, of a plain pass", _json_pair("paper, corpus none", 1)),
    ], ["--entities", "1500", "--words", "30", "--rounds", "1"]),
    *(
        Entry("bm25", ["--passages", str(size), "--queries", "300"], [
            Line(f"BM25, {size:,} passages: questions a CPU second, of tantivy's", rf"whichone-numba +[\d,]+ +{_NUMBER}", more=True),
            Line(f"BM25, {size:,} passages: CPU of the build, of tantivy's", rf"whichone +[\d.]+ +{_NUMBER}"),
        ], ["--passages", "1000", "--queries", "10"])
        for size in (10_000, 100_000)
    ),
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
    Entry("whichone", ["--help"], [Line("whichone --help", rf"took {_NUMBER}", "CPU s")]),
    Entry("whichone", ["score", "RUN"], [Line("whichone score of a small run", rf"took {_NUMBER}", "CPU s")]),
    Entry("whichone", ["demo", "DEMO"], [Line("whichone demo, by the clock", rf"after {_NUMBER}", "s")]),
]  # fmt: skip


def output_of(entry: Entry, small: bool, place: Path) -> str:
    """What the program prints; of a command what it took."""
    if entry.program != "whichone":
        words = entry.small if small and entry.small else entry.words
        used = measure([sys.executable, str(HERE / f"{entry.program}.py"), *words])
    else:
        named = {"RUN": str(place / "run"), "DEMO": str(place / "demo")}
        whichone = [sys.executable, "-m", "whichone"]
        if "RUN" in entry.words and not (place / "run").exists():
            asked = ["retrieve", "builtin/ambigdocs", str(place / "run"), "-k", "20"]
            measure([*whichone, *asked])
            measure([*whichone, "score", str(place / "run")])  # the first one compiles and caches
        used = measure([*whichone, *(named.get(word, word) for word in entry.words)])
    if used.code:
        raise RuntimeError(used.output.strip().splitlines()[-1] if used.output.strip() else "failed")
    return f"{used.output}\ntook {used.cpu:.2f} after {used.wall:.1f}"


def commit() -> str:
    """The commit, with a star where the tree differs from it."""
    git = ["git", "-C", str(ROOT)]
    said = subprocess.run([*git, "rev-parse", "--short=9", "HEAD"], capture_output=True, text=True)
    changed = subprocess.run([*git, "status", "--porcelain", "src"], capture_output=True, text=True)
    return said.stdout.strip() + ("*" if changed.stdout.strip() else "")


def page(rows: Mapping[str, Mapping[str, object]]) -> str:
    """The table, with what each line was before."""
    text = [
        "# Ledger",
        "",
        "The ratios that matter, measured by `./dev bench --all` on two cores. *Before* is the line's last value with another commit.",
        "",
        "| what | value | unit | better is | before | commit | date |",
        "| --- | ---: | --- | --- | ---: | --- | --- |",
    ]
    for name, row in rows.items():
        value = f"{row['value']:.2f}" if isinstance(row["value"], float) else "not measured"
        before = f"{row['before']:.2f}" if isinstance(row.get("before"), float) else ""
        better = "more" if row["more"] else "less"
        text.append(
            f"| {name} | {value} | {row['unit']} | {better} | {before} | `{row['commit']}` | {row['date']} |"
        )
    text += ["", "The quality of `namesake` stands in [its table](../experiments/namesake.md).", ""]
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", help="programs, between commas")
    parser.add_argument("--into", type=Path, default=PAGE.parent, help="where the two files are")
    given = parsed(parser, small="--only map_spans,bm25 --into {place}")
    wanted = given.only.split(",") if given.only else None
    kept = given.into / "ledger.json"
    rows: dict[str, dict[str, object]] = json.loads(kept.read_text()) if kept.exists() else {}
    now, today, moved = commit(), datetime.date.today().isoformat(), []
    work = given.into / ".ledger"
    work.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("WHICHONE_CACHE", str(work / "cache"))
    atexit.register(shutil.rmtree, work, ignore_errors=True)
    for entry in ENTRIES:
        if wanted is not None and entry.program not in wanted:
            continue
        try:
            output, problem = output_of(entry, given.small, work), ""
        except RuntimeError as error:
            output, problem = "", str(error)
        for line in entry.lines:
            found = re.search(line.pattern, output, re.DOTALL)
            old = rows.get(line.name, {})
            if found is None:
                print(f"{line.name}: not measured: {problem or 'the figure was not printed'}")
                continue
            value, last = float(found[1]), old.get("value")
            before = last if old.get("commit") != now else old.get("before")
            rows[line.name] = {
                "value": value, "unit": line.unit, "more": line.more, "before": before,
                "commit": now, "date": today,
            }  # fmt: skip
            print(f"{line.name}: {value:.2f} {line.unit}", flush=True)
            if isinstance(before, float) and before and abs(value / before - 1) > MOVED:
                moved.append(f"{line.name}: {before:.2f} -> {value:.2f}")
    order = [line.name for entry in ENTRIES for line in entry.lines]
    rows = {name: rows[name] for name in order if name in rows}
    kept.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    (given.into / "ledger.md").write_text(page(rows))
    print(f"{len(rows)} lines in {given.into / 'ledger.md'}")
    for text in moved:
        print(f"moved by more than a fifth: {text}")


if __name__ == "__main__":
    main()
