"""Damage every input that whichone reads, from a seed, and print what ends in a traceback or hangs.

python bench/fuzz.py --commands 3000
python bench/fuzz.py --flips 1000
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from measured import parsed

for folder in ("fuzz", "support"):
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / folder))


def main() -> None:
    from harness import problems
    from seeds import prepare, seeds

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="first", type=int, default=1000, help="the first seed")
    parser.add_argument("--commands", type=int, default=3000, help="commands, over all inputs in turn")
    parser.add_argument("--flips", type=int, default=0, help="flipped bits in folders, instead of commands")
    parser.add_argument("--only", default="", help="inputs whose names contain this")
    options = parsed(parser, small="--commands 61")
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.chdir(place)
        prepare(place)
        if options.flips:
            os.chdir("/")
            sys.exit(_flips(place, range(options.first, options.first + options.flips)))
        chosen = [seed for seed in seeds(place) if options.only in seed.name]
        each = -(-options.commands // len(chosen))
        numbers = range(options.first, options.first + each)
        for done, seed in enumerate(chosen, 1):
            print(f"[{done}/{len(chosen)}] {seed.name}", file=sys.stderr, flush=True)
            for number, problem in problems([seed], place, numbers):
                count += 1
                print(f"seed {number}: {problem}", flush=True)
        os.chdir("/")
    print(f"{len(chosen) * each:,} commands on damaged inputs, {count} tracebacks or hangs")
    sys.exit(1 if count else 0)


def _flips(around: Path, numbers: range) -> int:
    from flips import make
    from flips import problems as silent

    place = around / "flips"
    place.mkdir()
    os.chdir(place)
    listed = list(silent(make(place), numbers))
    os.chdir("/")
    print("\n".join(f"{number}: {problem}" for number, problem in listed))
    print(f"{len(numbers):,} flipped bits, {len(listed)} silent or a traceback")
    return 1 if listed else 0


if __name__ == "__main__":
    main()
