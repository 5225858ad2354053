"""AmbER sets, EntityQuestions and AmbigDocs of a whole Wikipedia, from the dumps in a folder; docs/wikipedia.md has the files and what to expect.

    python bench/wikipedia_full.py DUMPS WORK --expect            # what each step will take, and nothing else
    python bench/wikipedia_full.py DUMPS WORK
    python bench/wikipedia_full.py DUMPS WORK --language de --memory 16GB
    python bench/wikipedia_full.py DUMPS WORK --steps ingest,corpus

Every step is a `whichone` command that is printed, with what it is expected to take before it and what it took after it. Killed and started
again, steps that are complete are left alone and the one that was interrupted goes on. A step that finds nothing to build is
reported and the others go on; the program then ends with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measured import cpu_spent, parsed, run
from wikipedia_expected import Expected, Sizes, expected

SOURCES = {
    "pages": ("*wiki*-pages-articles*.xml*", "kilt_knowledgesource.json*"),
    "wikidata": ("*wikidata*.json*", "latest-all.json*"),
    "views": ("pageviews*", "pagecounts*", "pageview_complete*"),
    "redirects": ("*-redirect.sql*", "*-page.sql*"),
    "catalogue": ("catalogue.toml",),
}
LEFT_OUT = ("-index", ".part", ".tmp", ".md5", ".sha1", "-rss")
MEASURES = "acc@1,acc@20,confused@20"
JOURNAL = "steps.json"
NOTHING = (2, 3)
"""Exit codes of a build that has no questions in the language, or nothing left to ask."""


@dataclass(frozen=True)
class Step:
    """One command, the folder it makes, and the steps it needs."""

    name: str
    words: tuple[str, ...]
    makes: Path | None = None
    needs: tuple[str, ...] = ()
    builds: bool = False


@dataclass(frozen=True)
class Plan:
    """What is typed: dumps, places and bounds."""

    dumps: dict[str, list[Path]]
    work: Path
    language: str
    memory: str
    workers: int
    popularity: str
    collections: tuple[str, ...]
    relations: Path | None = None
    wiki: tuple[str, ...] = ()
    steps: list[Step] = field(default_factory=list)

    def benchmarks(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Names of benchmarks and what is typed after `whichone build`, but for the places."""
        for collection in self.collections:
            named = f"amber-{Path(collection).stem}"
            yield named, ("amber", "--collection", collection, "--popularity", self.popularity)
        own = ("--relations", str(self.relations)) if self.relations else ()
        yield "entityquestions", ("entityquestions", *own)
        if self.relations:
            asked = ",".join(tomllib.loads(self.relations.read_text()))
            own = ("--templates", str(self.relations), "--properties", asked, "--entailment", "none")
        yield "ambigdocs", ("ambigdocs", *own)


def find_dumps(folder: Path) -> dict[str, list[Path]]:
    """The files of each kind, by the names that Wikimedia and KILT give them."""
    kinds: dict[str, list[Path]] = {}
    for kind, patterns in SOURCES.items():
        files = {file for pattern in patterns for file in folder.glob(pattern) if file.is_file()}
        kinds[kind] = sorted(f for f in files if not any(mark in f.name for mark in LEFT_OUT))
    # a multistream dump has the same pages as the plain one beside it
    plain = [f for f in kinds["pages"] if "multistream" not in f.name]
    kinds["pages"] = plain or kinds["pages"]
    return kinds


def steps_of(plan: Plan) -> Iterator[Step]:
    kb, corpus, bm25 = (plan.work / name for name in ("kb", "corpus", "bm25"))
    bound = ("--memory", plan.memory)
    files = [
        word for kind, paths in plan.dumps.items() for path in paths for word in (f"--{kind}", str(path))
    ]
    yield Step(
        "ingest",
        ("ingest", *files, "--language", plan.language, *plan.wiki, "--workers", str(plan.workers), *bound, str(kb)),
        kb,
    )  # fmt: skip
    yield Step("corpus", ("corpus", str(kb), str(corpus), *bound), corpus, ("ingest",))
    over = ("--corpus", str(corpus), "--language", plan.language, *bound)
    for name, (verb, *options) in plan.benchmarks():
        place = plan.work / name
        words = ("build", verb, str(kb), str(place), *options, *over)
        yield Step(name, words, place, ("corpus",), builds=True)
    yield Step("bm25", ("index", str(corpus), str(bm25), "--retriever", "bm25"), bm25, ("corpus",))
    for name, _ in plan.benchmarks():
        run = plan.work / "runs" / name
        words = ("retrieve", str(plan.work / name), str(run), "--index", str(bm25), "-k", "20")
        yield Step(f"check {name}", words, run, (name, "bm25"))
        yield Step(f"score {name}", ("score", str(run), "--measures", MEASURES), None, (f"check {name}",))
    yield Step("verify", ("verify", str(plan.work)), None, ("corpus",))


class Journal:
    """What each step took, written after every one, so that a killed program knows what is complete."""

    def __init__(self, work: Path) -> None:
        self._file = work / JOURNAL
        self.steps: dict[str, dict[str, Any]] = {}
        if self._file.exists():
            self.steps = json.loads(self._file.read_text())

    def complete(self, step: Step) -> bool:
        """Whether a step was finished by the same command and its result is still that one."""
        known = self.steps.get(step.name, {})
        if not known.get("done") or known.get("words") != list(step.words):
            return False
        return step.makes is None or known.get("content") == content(step.makes)

    def write(self, name: str, **values: Any) -> None:
        self.steps[name] = {**self.steps.get(name, {}), **values}
        beside = self._file.with_suffix(".part")
        beside.write_text(json.dumps(self.steps, indent=1, sort_keys=True) + "\n")
        beside.replace(self._file)


def content(folder: Path) -> str | None:
    """What says that a folder is complete, and which one it is."""
    manifest = folder / "manifest.json"
    return str(manifest.stat().st_mtime_ns) if manifest.exists() else None


def counts_of(folder: Path | None) -> dict[str, int]:
    """The numbers of a folder's manifest, and the rows of its tables."""
    if folder is None or not (folder / "manifest.json").exists():
        return {}
    manifest = json.loads((folder / "manifest.json").read_text())
    rows = {
        Path(name).stem: entry["rows"]
        for name, entry in manifest.get("files", {}).items()
        if isinstance(entry, dict) and entry.get("rows")
    }
    counts = {k: v for k, v in manifest.get("counts", {}).items() if isinstance(v, int)}
    return {**rows, **counts}


def disk_of(folder: Path | None) -> int:
    if folder is None or not folder.exists():
        return 0
    files = [f.stat() for f in folder.rglob("*") if f.is_file() and not f.is_symlink()]
    return sum(f.st_size for f in files if f.st_nlink == 1)  # an index links the corpus it is over


def run_step(step: Step, journal: Journal, call: Callable[..., int]) -> bool:
    """Whether the step is complete now."""
    before = journal.steps.get(step.name, {})
    same = before.get("words") == list(step.words) and not before.get("done")
    spent = before.get("seconds", 0.0) if same else 0.0
    journal.write(step.name, words=list(step.words), done=False, seconds=spent, problem="")
    began, cpu = time.monotonic(), cpu_spent()
    code = call(step.words)
    seconds = round(spent + time.monotonic() - began, 1)
    used = round(cpu_spent() - cpu, 1)
    counts, disk = counts_of(step.makes), disk_of(step.makes)
    made = content(step.makes) if step.makes is not None else None
    problem = f"exit code {code}" if code else ""
    journal.write(
        step.name, done=code == 0, seconds=seconds, cpu=used, disk=disk, counts=counts, content=made, problem=problem
    )  # fmt: skip
    if code and not (code in NOTHING and step.builds):
        sys.exit(f"{step.name} ended with {code}: mend what it says and start the same command again")
    print(f"   took {shown(Expected(seconds=seconds, disk=disk, counts=counts))}, {used:,.0f} CPU s")
    return code == 0


def shown(values: Expected) -> str:
    numbers = ", ".join(f"{n:,} {what}" for what, n in values.counts.items() if n)
    hours = values.seconds / 3600
    took = f"{hours:.1f} h" if hours >= 1 else f"{values.seconds:,.0f} s"
    return ", ".join(filter(None, [took, f"{values.disk / 1e6:,.1f} MB" if values.disk else "", numbers]))


def whichone(words: tuple[str, ...]) -> int:
    return run([sys.executable, "-m", "whichone", *words])


def run_plan(plan: Plan, *, only_expect: bool, call: Callable[..., int] = whichone) -> int:
    plan.work.mkdir(parents=True, exist_ok=True)
    journal = Journal(plan.work)
    sizes = Sizes.of(plan.dumps)
    every = {step.name: expected(step.name, sizes, plan.workers) for step in plan.steps}
    total = Expected(sum(e.seconds for e in every.values()), int(sum(e.disk for e in every.values())))
    free = shutil.disk_usage(plan.work).free
    print(
        f"all of it: expected {shown(total)} on {plan.workers} cores; {free / 1e6:,.1f} MB of disk are free"
    )
    if total.disk * 1.5 > free:
        print("   that may not suffice: sorting takes half as much again for a while", file=sys.stderr)
    missed: set[str] = set()
    for n, step in enumerate(plan.steps, 1):
        print(f"{n}/{len(plan.steps)} {step.name}: expected {shown(every[step.name])}", flush=True)
        if only_expect:
            continue
        if lacking := [name for name in step.needs if name in missed]:
            print(f"   left out: there is no {' and no '.join(lacking)}")
            missed.add(step.name)
        elif journal.complete(step):
            known = journal.steps[step.name]
            taken = Expected(known["seconds"], known["disk"], known["counts"])
            print(f"   complete: took {shown(taken)}, {known['cpu']:,.0f} CPU s")
        else:
            print(f"   whichone {' '.join(step.words)}", flush=True)
            if not run_step(step, journal, call):
                missed.add(step.name)
    return 1 if missed else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dumps", type=Path, help="folder with pages-articles, Wikidata's JSON and page views")
    parser.add_argument("work", type=Path, help="folder for everything that is made")
    parser.add_argument("--language", default="en")
    parser.add_argument("--wiki", help="if it is not that of the language, such as simplewiki")
    parser.add_argument("--memory", default="8GB", help="bound on sorting and joining")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--popularity", help="views, sitelinks, links or none; views where there are any, else sitelinks"
    )
    parser.add_argument(
        "--collections", default="human,nonhuman", help="of AmbER; TOML files of your own too"
    )
    parser.add_argument("--relations", type=Path, help="a TOML file instead of the published 24")
    parser.add_argument("--steps", help="only these, with commas between")
    parser.add_argument("--expect", action="store_true", help="print what each step will take, and stop")
    given = parsed(parser, small="{world} {place} --memory 500MB")
    dumps = find_dumps(given.dumps)
    if not dumps["pages"] and not dumps["catalogue"]:
        sys.exit(f"{given.dumps} has no pages: {' or '.join(SOURCES['pages'])}")
    facts = bool(dumps["wikidata"] or dumps["catalogue"])
    if not facts:
        print(
            "no Wikidata dump: without facts there is nothing to ask; pages and corpus alone", file=sys.stderr
        )
    plan = Plan(
        dumps, given.work, given.language, given.memory, given.workers,
        given.popularity or ("views" if dumps["views"] else "sitelinks"),
        tuple(given.collections.split(",")), given.relations,
        ("--wiki", given.wiki) if given.wiki else (),
    )  # fmt: skip
    wanted = given.steps.split(",") if given.steps else None
    plan.steps.extend(
        step
        for step in steps_of(plan)
        if (wanted is None or step.name in wanted)
        and (facts or step.name in ("ingest", "corpus", "bm25", "verify"))
    )
    sys.exit(run_plan(plan, only_expect=given.expect))


if __name__ == "__main__":
    main()
