"""AmbER's Table 7 by readers that are trained from a small encoder that comes as a package.

    python bench/fine_tuning.py prepare SHARED WORK --models .models    # the corpus and packed weights
    python bench/table_seven.py prepare SHARED WORK --models .models    # what is learned from and what is shown
    python bench/table_seven.py run WORK/data OUT                       # trainings and answers; best on a GPU
    python bench/table_seven.py table WORK OUT                          # rows beside the paper's

Of the built-in names a reader is asked those of the half that it has not learned from; a third reader learns of neither.
"""

from __future__ import annotations

import argparse
import json
import sys
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
    parser.add_argument("--limits", default="{}", help="To try it: settings, seeds, examples, tasks.")
    if "--small" in sys.argv:
        skip("it wants a GPU and the folders of its first stage")
    options = parser.parse_args()
    if options.stage == "prepare":
        from tables.readers import prepare

        prepare(options.a, options.b, options.models / "all-MiniLM-L6-v2")
    elif options.stage == "run":
        from tables.readers import run
        from tables.weights import unpack

        model = unpack(options.a / "MiniLM", options.b / "MiniLM")
        run(options.a, model, options.b, workers=options.workers, limits=json.loads(options.limits))
    else:
        from tables.table_seven import table

        table(options.a, options.b)


if __name__ == "__main__":
    main()
