"""Damage every input that whichone reads, for as long as you like, and print what ends in a traceback.

python bench/fuzz.py --from 1000 --each 500
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "fuzz"))


def main() -> None:
    from harness import problems
    from seeds import prepare, seeds

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="first", type=int, default=1000, help="the first seed")
    parser.add_argument("--each", type=int, default=500, help="seeds for each input")
    parser.add_argument("--only", default="", help="inputs whose names contain this")
    options = parser.parse_args()
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        os.chdir(place)
        prepare(place)
        chosen = [seed for seed in seeds(place) if options.only in seed.name]
        numbers = range(options.first, options.first + options.each)
        for number, problem in problems(chosen, place, numbers):
            count += 1
            print(f"seed {number}: {problem}", flush=True)
        os.chdir("/")
    print(f"{len(chosen) * options.each:,} damaged inputs, {count} tracebacks")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
