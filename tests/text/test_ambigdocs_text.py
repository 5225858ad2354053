import string

import pytest

from whichone.text.normalisers import content_tokens, stop_words, surface_name


def test_the_stop_words_are_the_153_that_can_match() -> None:
    assert len(stop_words()) == 153
    assert {"other", "not", "no", "same", "the"} <= stop_words()
    assert not any(set(word) & set(string.punctuation) for word in stop_words())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The  Bay\tof a Pig!", ["bay", "pig"]),
        ("rock-and-roll", ["rockandroll"]),
        ("“São Paulo” — U.S.", ["“são", "paulo”", "—", "us"]),
    ],
)
def test_hyphens_fuse_and_other_punctuation_stays(text: str, words: list[str]) -> None:
    assert content_tokens(text) == words


def test_content_tokens_leave_out_stop_words_and_the_name() -> None:
    assert content_tokens("The Lord of the Rings (1978 film)") == ["lord", "rings", "1978", "film"]
    assert content_tokens("Foo Bar (Foo club)", ["foo", "bar"]) == ["club"]
    assert content_tokens("The Who") == []


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (" Mercury ", "mercury"),
        ("Mercury (Disambiguation)", "mercury"),
        ("Mercury (disambiguation) II", "mercury (disambiguation) ii"),
    ],
)
def test_surface_name(written: str, name: str) -> None:
    assert surface_name(written) == name
