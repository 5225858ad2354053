"""One of several processes that train together: FOLDER DIES_AT WORDS..., where 0 is a run to the end.

What it writes in FOLDER is printed, a path a line.
"""

from __future__ import annotations

import os
import sys
from typing import Any

CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "shutil.rmtree")


def main(folder: str, dies_at: int, words: list[str]) -> None:
    def written(event: str, args: tuple[Any, ...]) -> None:
        opened = (
            event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        )
        if (opened or event in CHANGES) and str(args[0]).startswith(folder) and str(args[0]) != folder:
            print(args[0], flush=True)

    sys.addaudithook(written)
    if dies_at:
        from whichone.training.trainer import Training

        real, steps = Training.must_be_finite, 0

        def dies(self: Any, what: str, value: Any, state: Any) -> None:
            nonlocal steps
            steps += what == "gradient"
            if steps == dies_at:
                raise KeyboardInterrupt
            real(self, what, value, state)

        Training.must_be_finite = dies  # type: ignore[method-assign]
    from whichone.cli import run

    sys.argv = ["whichone", *words]
    run()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
