from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from whichone.files.lines import read_json
from whichone.papers.ambigdocs.ambigdocs_files import BearerDocument
from whichone.papers.ambigdocs.model_builder import (
    SEED_RULES,
    SeedRules,
    longest_shared_ngram,
    passages_by_title,
    seed_pairs,
    similar_words,
)


def test_golden_pairs(shared: Path) -> None:
    golden = read_json(shared / "golden/ambigdocs/seed_pairs.json")
    passages = [BearerDocument(title=p["title"], text=p["text"], pid=p["id"]) for p in golden["passages"]]
    names = golden["disambiguation"]
    titles = frozenset(title for listed in names.values() for title in listed)
    usable = passages_by_title(passages, titles)
    assert len(usable) == golden["n_titles_kept"]
    rules = SEED_RULES
    kept = [n for n, t in names.items() if rules.least_bearers <= len(t) <= rules.most_bearers]
    assert len(kept) == golden["n_surfaces_kept"]
    found = [
        {
            "surface": pair.name,
            "pids": [int(pair.first.pid or 0), int(pair.second.pid or 0)],
            "idx": list(pair.places),
            "overlap_words": pair.shared_words,
        }
        for pair in seed_pairs(names, usable)
    ]
    assert found == golden["expect"]


def test_golden_overlaps(shared: Path) -> None:
    pairs = read_json(shared / "golden/ambigdocs/seed_pairs.json")["overlap_pairs"]
    assert pairs
    for pair in pairs:
        a, b = pair["a"].lower().split(), pair["b"].lower().split()
        assert longest_shared_ngram(a, b) == pair["longest_common_ngram_words"]
        assert similar_words(a, b, 0.4) == bool(pair["similar_words"])


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_the_longest_shared_ngram_is_the_longest(first: list[str], second: list[str]) -> None:
    def shares(n: int) -> bool:
        runs = {tuple(first[i : i + n]) for i in range(len(first) - n + 1)}
        return any(tuple(second[i : i + n]) in runs for i in range(len(second) - n + 1))

    longest = longest_shared_ngram(first, second)
    assert longest == 0 or shares(longest)
    assert not shares(longest + 1)


def test_every_passage_is_used_when_the_last_is_not_dropped() -> None:
    text = "one two three four {} and more words of its own {}"
    passages = [
        BearerDocument(title="N (a)", text=text.format("x", "y z w v"), pid="1"),
        BearerDocument(title="N (b)", text=text.format("p", "q r s t u"), pid="2"),
    ]
    names = {"N": ["N (a)", "N (b)"]}
    titles = frozenset(names["N"])
    assert seed_pairs(names, passages_by_title(passages, titles)) == []
    rules = SeedRules(drop_last_passage=False, most_jaccard=0.6)
    (pair,) = seed_pairs(names, passages_by_title(passages, titles, rules), rules)
    assert (pair.first.pid, pair.second.pid, pair.shared_words) == ("1", "2", 6)
