"""EntityQuestions' Tables 2 and 3 over 48,048 passages of Wikipedia, from a small encoder that comes as a package.

    python bench/fine_tuning.py prepare SHARED WORK --models .models    # questions, examples, packed weights
    python bench/fine_tuning.py run WORK/data OUT                       # trainings and rankings; best on a GPU
    python bench/fine_tuning.py table WORK OUT                          # rows with intervals and paired tests

`run` writes OUT/rankings.npz as rankings come; trainings that do not begin within `--minutes` are left out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from measured import skip

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=["prepare", "run", "table"])
    parser.add_argument("a", type=Path)
    parser.add_argument("b", type=Path)
    parser.add_argument("--models", type=Path, default=Path(".models"))
    parser.add_argument("--workers", type=int, default=6, help="Trainings at once.")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--limits", default="{}", help="To try it: settings, seeds, passages, questions.")
    if "--small" in sys.argv:
        skip("it wants a GPU and the folders of its first stage")
    options = parser.parse_args()
    if options.stage == "prepare":
        from tables.fine_tuning import prepare
        from tables.weights import pack

        (options.b / "data").mkdir(parents=True, exist_ok=True)
        prepare(options.a, options.b)
        pack(options.models / "all-MiniLM-L6-v2", options.b / "data" / "MiniLM")
    elif options.stage == "run":
        from tables.fine_tuning import run
        from tables.weights import unpack

        model = unpack(options.a / "MiniLM", options.b / "MiniLM")
        run(
            options.a, model, options.b, workers=options.workers,
            until=time.time() + 60 * options.minutes, limits=json.loads(options.limits),
        )  # fmt: skip
    else:
        from tables.fine_tuning_table import table

        table(options.a, options.b)


if __name__ == "__main__":
    main()
