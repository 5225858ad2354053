"""A real small training: it learns, it resumes exactly, it refuses what it must."""

from __future__ import annotations

from pathlib import Path

import pytest

from whichone.errors import BadInput, UsageError
from whichone.records import Output, Provenance, Query
from whichone.training.examples import Example, Negative, Text, read_examples, write_examples
from whichone.training.settings import Settings, preset
from whichone.training.splits import check_leaks, split_by_name, without_leaks

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

WORDS = [f"w{n}" for n in range(60)]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A two-layer encoder of our own, untrained, as a sentence-transformers folder."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules as models
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("model")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    numbers = {word: n for n, word in enumerate(vocabulary)}
    BertTokenizerFast(vocab=numbers).save_pretrained(folder / "bert")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        hidden_dropout_prob=0.1,
    )
    BertModel(config).save_pretrained(folder / "bert")
    words = models.Transformer(str(folder / "bert"), max_seq_length=32)
    pooling = models.Pooling(32)
    SentenceTransformer(modules=[words, pooling], device="cpu").save_pretrained(
        str(folder / "st"), create_model_card=False
    )
    return folder / "st"


def examples(count: int = 24) -> list[Example]:
    """Question and right passage share a word; the namesake's passage shares the name only."""
    made = []
    for n in range(count):
        name, fact, other = WORDS[n % 20], WORDS[20 + n % 20], WORDS[20 + (n + 7) % 20]
        made.append(
            Example(
                id=f"e{n}",
                question=f"{name} {fact}",
                name=name,
                positive=Text(name, f"{fact} {WORDS[40 + n % 20]}", f"p{n}"),
                negatives=(
                    Negative("namesake", Text(name, other, f"x{n}")),
                    Negative("bm25", Text("w59", fact, f"y{n}")),
                ),
            )
        )
    return made


def train(checkpoint: Path, folder: Path, **changes):
    from whichone.training.bi_encoder import BiEncoderTraining

    settings = Settings(
        epochs=3, batch=8, learning_rate=1e-3, longest=16, every=2, patience=0, **changes
    )
    return BiEncoderTraining(checkpoint, examples(), examples(8), folder, settings, device="cpu")


def weights(folder: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(next(folder.rglob("model.safetensors")))


@pytest.mark.slow
def test_it_learns(checkpoint: Path, tmp_path: Path) -> None:
    trained = train(checkpoint, tmp_path / "a").run()
    assert trained.losses[-1] < trained.losses[0]
    assert trained.steps == 9
    assert (tmp_path / "a" / "best" / "modules.json").exists()


@pytest.mark.slow
def test_stopped_and_resumed_gives_the_same_weights(checkpoint: Path, tmp_path: Path) -> None:
    train(checkpoint, tmp_path / "whole").run()
    stopped = train(checkpoint, tmp_path / "parts")
    real, steps = stopped._step, 0

    def dies(batch, at):
        nonlocal steps
        steps += 1
        if steps == 6:
            raise KeyboardInterrupt
        return real(batch, at)

    stopped._step = dies
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    train(checkpoint, tmp_path / "parts").run()
    whole, parts = weights(tmp_path / "whole" / "last"), weights(tmp_path / "parts" / "last")
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "learned"), [("only-questions", "questions"), ("only-passages", "passages")]
)
def test_only_one_tower_learns(checkpoint: Path, tmp_path: Path, mode: str, learned: str) -> None:
    train(checkpoint, tmp_path / mode, mode=mode).run()
    before = weights(checkpoint)
    for tower in ("questions", "passages"):
        after = weights(tmp_path / mode / "last" / tower)
        changed = any(not torch.equal(before[name], after[name]) for name in before)
        assert changed == (tower == learned)


def test_a_loss_that_is_not_finite_stops(checkpoint: Path, tmp_path: Path) -> None:
    training = train(checkpoint, tmp_path / "nan")
    with torch.no_grad():
        next(iter(training.towers.questions.parameters())).fill_(float("nan"))
    with pytest.raises(BadInput, match="not finite in epoch 1, step 1"):
        training.run()


def test_another_training_in_the_folder_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    first = train(checkpoint, tmp_path / "a")
    first.folder.mkdir()
    from whichone.training.checkpoints import Progress

    first._save(Progress())
    with pytest.raises(UsageError, match="other data or settings"):
        train(checkpoint, tmp_path / "a", seed=5).run()


def test_negatives_that_are_not_there(checkpoint: Path, tmp_path: Path) -> None:
    from whichone.training.bi_encoder import BiEncoderTraining

    bare = [Example(id=str(n), question="w1", positive=Text("w1", "w2", str(n))) for n in range(8)]
    with pytest.raises(BadInput, match="no example has bm25 or namesake"):
        BiEncoderTraining(checkpoint, bare, [], tmp_path, Settings(batch=4), device="cpu")
    with pytest.raises(BadInput, match="do not fill one batch"):
        BiEncoderTraining(checkpoint, bare, [], tmp_path, Settings(batch=16), device="cpu")


def test_gold_of_another_is_not_wrong() -> None:
    from whichone.training.bi_encoder import also_gold

    first = examples(1)[0]
    batch = [first, Example(id="z", question="q", positive=first.positive, gold=("x0",))]
    mask = also_gold(batch, [e.positive for e in batch] + [first.negatives[0].passage])
    assert mask.tolist() == [[False, True, False], [True, False, True]]


def test_examples_go_to_disk_and_back(tmp_path: Path) -> None:
    write_examples(tmp_path / "e.jsonl.gz", examples())
    assert read_examples(tmp_path / "e.jsonl.gz") == examples()


def test_dpr_training_files(tmp_path: Path) -> None:
    file = tmp_path / "dpr.json"
    file.write_text(
        '[{"question": "who’s that", "answers": ["a"], "positive_ctxs": [{"title": "T", "text": "x"}],'
        '"hard_negative_ctxs": [{"title": "N", "text": "y"}]}, {"question": "q", "positive_ctxs": []}]'
    )
    (found,) = read_examples(file)
    assert found.question == "who's that"
    assert found.negatives == (Negative("given", Text("N", "y", "N")),)
    file.write_text('[{"question": "q"}]')
    with pytest.raises(BadInput, match="record 0 is not one of DPR's"):
        read_examples(file)


def query(n: int, name: str) -> Query:
    gold = (Output(provenance=((Provenance(page=f"p{n}"),),)),)
    return Query(id=f"q{n}", task="qa", input=f"question {n}", name=name, outputs=gold)


def test_splits_share_no_name() -> None:
    queries = [query(n, f"Name {n % 40}") for n in range(200)]
    train_part, test_part = split_by_name(queries, 0.3, seed=1)
    assert len(train_part) + len(test_part) == 200
    assert not {q.name for q in train_part} & {q.name for q in test_part}
    assert 20 < len(test_part) < 120


def test_leaks_are_named() -> None:
    leaky = [
        Example(id="a", question="other", positive=Text("t", "x"), name="name 1", gold=("p9",))
    ]
    with pytest.raises(BadInput, match="1 names stand in both training and test data: name 1"):
        check_leaks(leaky, [query(1, "Name 1")])
    with pytest.raises(BadInput, match="gold pages"):
        check_leaks(leaky, [query(9, "Name 2")])
    assert without_leaks(leaky, [query(9, "Name 2")]) == []
    check_leaks(leaky, [query(3, "Name 3")])


def test_presets() -> None:
    assert preset("eq-finetune").epochs == 10
    assert preset("eq-finetune", epochs=2).warmup == 1237
    with pytest.raises(UsageError, match="did you mean eq-scratch"):
        preset("eq-scrach")
    with pytest.raises(UsageError, match="at least 2"):
        preset("default", batch=1)
