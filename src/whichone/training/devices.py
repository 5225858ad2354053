"""Where a training runs, and what is said when there is no such place or too little room."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from whichone.errors import Missing, UsageError, missing_extra


def chosen_device(given: str | None) -> str:
    """The device that is meant: a GPU where there is one, unless another is given."""
    try:
        import torch
    except ImportError:
        raise missing_extra("torch", "train") from None
    if given is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        kind = torch.device(given).type
    except RuntimeError:
        raise UsageError(
            f"there is no device called {given!r}", hint="cuda, cuda:1 or cpu"
        ) from None
    if kind == "cuda" and not torch.cuda.is_available():
        raise Missing("torch finds no GPU on this machine", hint="leave --device out, or say cpu")
    return given


def quiet_libraries() -> None:
    """No bars and notes of the model libraries between our own lines."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)


@contextlib.contextmanager
def enough_memory(batch: int, longest: int) -> Iterator[None]:
    """Memory that runs out ends in an error that says what to make smaller."""
    import torch

    try:
        yield
    except (torch.cuda.OutOfMemoryError, MemoryError) as error:
        raise _too_little(batch, longest, error) from error
    except RuntimeError as error:
        if "can't allocate memory" not in str(error):
            raise
        raise _too_little(batch, longest, error) from error


def _too_little(batch: int, longest: int, error: BaseException) -> Missing:
    first_line = next(iter(str(error).splitlines()), "")
    return Missing(
        f"too little memory for batches of {batch} with texts of up to {longest} tokens. {first_line}".strip(),
        hint="a smaller --batch, --longest or --hard, into another folder: the outcome is another one",
    )
