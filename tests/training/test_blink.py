"""BLINK end to end on a tiny BERT: trained on marked mentions, run as a retriever, in the layout of its release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from whichone.benchmarks.benchmark import Benchmark, save_benchmark
from whichone.cli import whichone
from whichone.corpus.corpus import Corpus
from whichone.corpus.save import save_corpus
from whichone.errors import BadInput, Missing, UsageError
from whichone.measures.measure import parse_measures
from whichone.measures.scores import score_run
from whichone.records import Output, Passage, Provenance, Query, Question
from whichone.retrieval.blink_models import BlinkText, MentionText
from whichone.training.held_out import Taken

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

WORDS = [f"w{n}" for n in range(40)]
NAMES = ["ada", "ben"]
ENTITIES = 16
"""Half of them are called ada, half ben; entity n is described by the word wn, and contexts have it too."""


def title(n: int) -> str:
    return f"{NAMES[n % 2]} w{20 + n}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a tiny BERT without BLINK's marks, and KILT's files of mentions."""
    folder = tmp_path_factory.mktemp("blink")
    passages = [
        Passage(id=f"enwiki:{n}#0", page=f"enwiki:{n}", title=title(n), text=f"{title(n)} is w{n}")
        for n in range(ENTITIES)
    ]
    save_corpus(folder / "corpus", passages, name="tiny")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *NAMES, "is", "of", *WORDS]
    numbers = {word: n for n, word in enumerate(vocabulary)}
    transformers.BertTokenizerFast(vocab=numbers).save_pretrained(folder / "bert")
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=64, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, initializer_range=0.2,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.BertModel(config).save_pretrained(folder / "bert")
    for split, times in (("train", 6), ("dev", 1)):
        (folder / f"blink-{split}-kilt.jsonl").write_text(
            "".join(json.dumps(mention(n, t)) + "\n" for t in range(times) for n in range(ENTITIES))
        )
    return folder


def mention(n: int, time: int) -> dict:
    words = (
        f"w{n} of [START_ENT] {NAMES[n % 2]} [END_ENT] is"
        if time % 2
        else f"of [START_ENT] {NAMES[n % 2]} [END_ENT] is w{n}"
    )
    output = {"answer": title(n), "provenance": [{"wikipedia_id": str(n), "title": title(n)}]}
    return {"id": f"{n}-{time}", "input": words, "output": [output]}


@pytest.fixture(scope="module")
def trained(place: Path) -> Path:
    words = [
        "train", "linker", str(place / "blink-train-kilt.jsonl"), str(place / "out"),
        "--corpus", str(place / "corpus"), "--checkpoint", str(place / "bert"),
        "--held-out", str(place / "blink-dev-kilt.jsonl"), "--candidates", "6",
        "--cross-batch", "8", "--epochs", "10", "--cross-epochs", "12", "--batch", "16",
        "--learning-rate", "0.003", "--device", "cpu", "--json",
    ]  # fmt: skip
    result = CliRunner().invoke(whichone, words)
    assert result.exit_code == 0, result.output
    stages = json.loads(result.stdout)["stages"]
    held = {p: p.stat().st_mtime_ns for p in (place / "out").rglob("*") if p.is_file()}
    again = CliRunner().invoke(whichone, words)
    assert json.loads(again.stdout)["stages"] == stages
    assert {p: p.stat().st_mtime_ns for p in (place / "out").rglob("*") if p.is_file()} == held
    assert max(stages["bi"]["held_out"]) > 0.8
    assert max(stages["cross"]["held_out"]) > 0.5, "of six by chance one in six"
    return place / "out" / "model"


@pytest.fixture(scope="module")
def benchmark(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """The dev mentions as an entity-linking benchmark over the corpus."""
    queries = []
    for n in range(ENTITIES):
        record = mention(n, 0)
        gold = Provenance(page=f"enwiki:{n}", title=title(n))
        queries.append(
            Query(
                id=record["id"], task="el", input=record["input"], name=NAMES[n % 2],
                outputs=(Output(answer=title(n), provenance=((gold,),)),),
            )
        )  # fmt: skip
    corpus = Corpus.open(place / "corpus")
    return save_benchmark(
        tmp_path_factory.mktemp("el") / "b", name="el", queries=queries, sets=[], corpus=corpus
    )


@pytest.mark.slow
def test_trained_and_run_as_a_retriever(trained: Path, benchmark: Benchmark, tmp_path: Path) -> None:
    from whichone.runs.run import Run

    for name, least, options in (("two", 0.5, []), ("one", 0.8, ["-o", "cross=false"])):
        words = ["retrieve", str(benchmark.folder.root), str(tmp_path / name), "--retriever", "blink"]
        words += ["-o", f"model={trained}", "-o", "candidates=6", "-k", "5", *options]
        result = CliRunner().invoke(whichone, words)
        assert result.exit_code == 0, result.output
        run = Run.open(tmp_path / name)
        scores = score_run(run, benchmark, parse_measures(["acc@1", "kilt_recall@5"]))
        assert scores.values["acc@1"].mean() > least, "a name alone is right in one of eight"
    assert run.folder.manifest.parameters["cross"] is False


@pytest.mark.slow
def test_the_published_layout(trained: Path, place: Path, tmp_path: Path) -> None:
    """Files called as the released ones, with weights only, and the words of their BERT beside."""
    from whichone.retrieval.blink_models import open_blink

    released = tmp_path / "models"
    released.mkdir()
    for kind in ("biencoder", "crossencoder"):
        for suffix in ("bin", "json"):
            data = (trained / f"{kind}.{suffix}").read_bytes()
            (released / f"{kind}_wiki_large.{suffix}").write_bytes(data)
    keys = torch.load(released / "biencoder_wiki_large.bin", weights_only=True).keys()
    assert "context_encoder.bert_model.embeddings.word_embeddings.weight" in keys
    assert "cand_encoder.bert_model.encoder.layer.0.attention.self.query.weight" in keys
    cross = torch.load(released / "crossencoder_wiki_large.bin", weights_only=True)
    assert cross["encoder.additional_linear.weight"].shape == (1, 32)
    with pytest.raises(UsageError, match="weights only"):
        open_blink(released)
    own, other = (open_blink(trained, device="cpu"), open_blink(released, base=str(trained), device="cpu"))
    said = [MentionText(left="", mention="ada", right="is w4")]
    assert (own.mentions(said) == other.mentions(said)).all()
    entity = own.entities_ids(["ada w24"], ["ada w24 is w4"])
    assert own.pairs(said[0], entity) == other.pairs(said[0], entity)
    with pytest.raises(BadInput, match="tokenizer"):
        big = transformers.AutoTokenizer.from_pretrained(trained)
        big.add_tokens([f"new{n}" for n in range(99)])
        big.save_pretrained(tmp_path / "big")
        open_blink(released, base=str(tmp_path / "big"), device="cpu")
    (released / "crossencoder_wiki_large.bin").unlink()
    with pytest.raises(Missing, match="no crossencoder"):
        open_blink(released, base=str(trained))


@pytest.mark.slow
def test_an_index_of_its_own_and_no_mention(trained: Path, place: Path, tmp_path: Path) -> None:
    from whichone.retrieval.blink import Blink

    corpus = Corpus.open(place / "corpus")
    index = Blink.build(corpus, tmp_path / "index", model=str(trained), mentions="given")
    asked = [
        Question(id="a", text="of [START_ENT] ben [END_ENT] is w5", task="el"),
        Question(id="b", text="nobody", task="qa"),
    ]
    first, none = Blink.open(tmp_path / "index", cross=False).search(asked, 3)
    assert first.passages[0] == "enwiki:5" and len(first.passages) == 3
    assert list(first.scores) == sorted(first.scores, reverse=True)
    assert none.passages == () and none.notes == {"mentions": []}
    assert index.describe()["cross"] is True


@pytest.mark.slow
def test_mentions_by_a_named_entity_recognizer(trained: Path, place: Path, tmp_path: Path) -> None:
    """Any pipeline of spaCy's, here one of two rules: its entities are linked, other words are not."""
    spacy = pytest.importorskip("spacy")
    from whichone.retrieval.blink import Blink

    pipeline = spacy.blank("en")
    rules = [{"label": "PERSON", "pattern": name} for name in NAMES]
    pipeline.add_pipe("entity_ruler").add_patterns(rules)
    pipeline.to_disk(tmp_path / "ner")
    corpus = Corpus.open(place / "corpus")
    options = {"model": str(trained), "mentions": "spacy", "ner": str(tmp_path / "ner")}
    linker = Blink.over(corpus, tmp_path / "work", **options, candidates=6, cross=False)
    asked = [Question(id="a", text="of ben is w5", task="qa"), Question(id="b", text="w3 of w5", task="qa")]
    first, none = linker.search(asked, 3)
    assert first.passages[0] == "enwiki:5"
    assert first.notes["mentions"][0]["mention"] == "ben" and none.passages == ()
    assert linker.describe()["mentions"] == "spacy"


def test_a_mention_is_cut_to_its_context(place: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(place / "bert")
    assert BlinkText.with_marks(tokenizer) == 3
    text = BlinkText(tokenizer, context=10, entity=8)
    words = tokenizer.convert_ids_to_tokens

    def cut(left: str, right: str) -> list[str]:
        return words(text.mention_ids(MentionText(left=left, mention="ada", right=right)))

    assert cut("w1 w2 w3 w4", "w5 w6 w7 w8") == [
        "[CLS]", "w3", "w4", "[unused0]", "ada", "[unused1]", "w5", "w6", "w7", "[SEP]",
    ]  # fmt: skip
    assert cut("", "w5 w6 w7 w8 w9 w10") == [
        "[CLS]", "[unused0]", "ada", "[unused1]", "w5", "w6", "w7", "w8", "w9", "[SEP]",
    ]  # fmt: skip
    assert cut("w1", "") == [
        "[CLS]", "w1", "[unused0]", "ada", "[unused1]", "[SEP]", *["[PAD]"] * 4,
    ]  # fmt: skip
    (entity,) = text.entities_ids(["ada w20"], ["w1 w2 w3 w4 w5"])
    assert words(entity) == ["[CLS]", "ada", "w20", "[unused2]", "w1", "w2", "w3", "[SEP]"]


def test_a_checkpoint_without_room_is_refused(place: Path, tmp_path: Path) -> None:
    from whichone.retrieval.blink_models import new_blink

    short = transformers.BertConfig.from_pretrained(place / "bert", max_position_embeddings=32)
    transformers.BertModel(short).save_pretrained(tmp_path / "short")
    transformers.AutoTokenizer.from_pretrained(place / "bert").save_pretrained(tmp_path / "short")
    with pytest.raises(UsageError, match="reads 32 tokens at most"):
        new_blink(str(tmp_path / "short"), "cpu")


def test_pairs_are_read_as_released(place: Path) -> None:
    """The padded context, then the entity without its first token."""
    from whichone.retrieval.blink_models import new_blink

    blink = new_blink(str(place / "bert"), "cpu")
    mention = MentionText(left="w1", mention="ada", right="")
    (pair,) = blink.pair_ids(mention, [blink.entity_ids("ada w20", "w1")])
    words = blink.text.tokenizer.convert_ids_to_tokens(pair.tolist())
    assert words[:7] == ["[CLS]", "w1", "[unused0]", "ada", "[unused1]", "[SEP]", "[PAD]"]
    assert words[32:38] == ["ada", "w20", "[unused2]", "w1", "[SEP]", "[PAD]"]


def test_the_second_stage_learns_from_the_scores_that_it_gives(place: Path, tmp_path: Path) -> None:
    """Pairs of two segments in training too: the loss is the one of the scores, which equal the original's."""
    from whichone.retrieval.blink_models import new_blink
    from whichone.training.train_linker import Candidates, CrossTraining, LinkExample
    from whichone.training.trainer import TrainingSettings

    torch.manual_seed(3)
    blink = new_blink(str(place / "bert"), "cpu")
    about = [(title(n), f"{title(n)} is w{n}") for n in range(5)]
    items = [
        Candidates(
            f"m{n}", LinkExample(f"m{n}", MentionText("w1", "ada", f"w{n}"), f"p{n}", *about[n]), wrong
        )
        for n, wrong in ((0, tuple(about[1:4])), (4, tuple(about[1:3])))
    ]
    training = CrossTraining(blink, items, (), tmp_path, TrainingSettings(batch=2, epochs=1, kinds=()), {})
    scores = [
        blink.pairs(i.example.mention, [blink.entity_ids(*e) for e in (about[n], *i.wrong)])
        for n, i in zip((0, 4), items, strict=True)
    ]
    by_hand = -sum(float(torch.tensor(s).log_softmax(0)[0]) for s in scores) / 2
    assert training.loss(items, 0).item() == pytest.approx(by_hand, abs=1e-5)


def test_files_that_teach_nothing(place: Path, tmp_path: Path) -> None:
    from whichone.training.train_linker import link_examples

    corpus = Corpus.open(place / "corpus")
    file = tmp_path / "x.jsonl"
    file.write_text(json.dumps({"id": 1, "input": "no mark", "output": []}) + "\n")
    with pytest.raises(BadInput, match=r"x.jsonl:1.*marks no mention"):
        link_examples([file], corpus)
    record = mention(0, 0)
    record["output"][0]["provenance"][0]["wikipedia_id"] = "999"
    file.write_text(json.dumps(record) + "\n")
    with pytest.raises(BadInput, match="no mention of these files means a page"):
        link_examples([file], corpus)


def test_links_marked_dev_or_test_are_refused(place: Path, tmp_path: Path) -> None:
    """A file by its name; of a benchmark with all three splits the training records are taken."""
    from whichone.training.train_linker import link_examples

    corpus = Corpus.open(place / "corpus")
    for name in ("aida-dev-kilt.jsonl", "aida-test-kilt.jsonl", "aida-train-kilt.jsonl"):
        (tmp_path / name).write_text(json.dumps(mention(0, 0)) + "\n")
    for name in ("aida-dev-kilt.jsonl", "aida-test-kilt.jsonl"):
        with pytest.raises(BadInput, match="no record is marked train"):
            link_examples([tmp_path / name], corpus, learn_from_dev=False)
        assert len(link_examples([tmp_path / name], corpus, learn_from_dev=True)) == 1
    assert link_examples([tmp_path / "aida-train-kilt.jsonl"], corpus, learn_from_dev=False)
    page = corpus.page_ids([0])[0]
    gold = Output(answer="x", provenance=((Provenance(page=page),),))
    queries = [
        Query(
            id=f"{split}{n}",
            task="el",
            input=f"{split} [START_ENT] name [END_ENT] {n}",
            outputs=(gold,),
            attributes={"split": split},
        )
        for split, count in (("train", 3), ("dev", 2), ("test", 1))
        for n in range(count)
    ]
    save_benchmark(tmp_path / "el", name="el", queries=queries, passages=corpus.passage_records())
    taken: list[Taken] = []
    examples = link_examples([tmp_path / "el"], corpus, learn_from_dev=False, taken=taken)
    assert [e.id for e in examples] == ["train0", "train1", "train2"]
    assert (taken[0].taken, taken[0].left) == (3, {"dev": 2, "test": 1})
