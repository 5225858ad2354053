"""Does training with the other bearer's page as a negative help? On names never seen, three seeds.

python bench/namesake_training.py prepare SHARED WORK         # data: examples, corpus, questions
python bench/namesake_training.py run WORK OUT --checkpoint all-MiniLM-L6-v2      # best on a GPU
python bench/namesake_training.py score SHARED OUT            # the table, with paired tests
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from measured import skip

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from namesake_proof.data import prepare
from namesake_proof.table import score
from namesake_proof.trainings import run


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stage", choices=["prepare", "run", "score"])
    parser.add_argument("a", type=Path)
    parser.add_argument("b", type=Path)
    parser.add_argument("--checkpoint", default="all-MiniLM-L6-v2")
    parser.add_argument("--only", default="", help="Variants that begin so, between semicolons.")
    parser.add_argument("--workers", type=int, default=1, help="Trainings at once.")
    if "--small" in sys.argv:
        skip("it wants a GPU and the folders of its first stage")
    options = parser.parse_args()
    if options.stage == "prepare":
        prepare(options.a, options.b)
    elif options.stage == "run":
        only = tuple(options.only.split(";"))
        run(options.a, options.b, options.checkpoint, only, options.workers)
    else:
        score(options.a, options.b)


if __name__ == "__main__":
    main()
