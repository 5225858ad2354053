"""`index --retriever dense` on a GPU beside its tokeniser alone and its model alone, in one run.

    python bench/gpu_encoding.py MODEL_FOLDER --passages 1000000 --place /data/encoding
    python bench/gpu_encoding.py MODEL_FOLDER --passages 300000 --place /data/encoding --dpr

Four rows: the tokeniser on all cores, the model on batches that are on the device already, the index made from nothing,
and that of a second model with the same tokeniser, twice as deep and with random weights, which do not change the pace.
With `--dpr` the model is half a DPR pair of BERT's size with random weights, and passages are pairs of title and text.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from measured import parsed
from whichone.retrieval.dense import sentence
from whichone.retrieval.dense.sentence import Tokeniser

SAMPLE = 32_768


def tokeniser_alone(
    tokeniser: Tokeniser, titles: Sequence[str], texts: Sequence[str]
) -> tuple[float, sentence.Tokenised]:
    """Passages a second of the library itself on all cores, texts in memory; and the tokens."""
    from tokenizers import Tokenizer

    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    own = Tokenizer.from_str(tokeniser.rules)
    own.no_padding()
    own.enable_truncation(tokeniser.longest)
    given: Any = list(zip(titles, texts, strict=True))
    if not tokeniser.pairs:
        given = [f"{title} {text}" for title, text in given]
    own.encode_batch_fast(given[:2_000])
    began = time.perf_counter()
    for start in range(0, len(given), 16_384):
        own.encode_batch_fast(given[start : start + 16_384])
    pace = len(given) / (time.perf_counter() - began)
    return pace, tokeniser.tokenised(titles, texts)


def model_alone(model: sentence.PackedModel, held: sentence.Tokenised) -> float:
    """Passages a second of the model on batches that already are on the device, two passes after a first."""
    device, pool = model._device, model._pool or sentence._pooled
    batches = []
    for rows, width in sentence.batches(held.lengths):
        ids, lengths = sentence.padded(held, rows, width, model._pad)
        batches.append((sentence._to(ids, device), sentence._to(lengths, device)))
    with torch.inference_mode():
        for turn in range(3):
            if turn == 1:
                wait(device)
                began = time.perf_counter()
            for batch in batches:
                pool(model._model, *batch)
        wait(device)
    return 2 * len(held) / (time.perf_counter() - began)


def wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def deeper(model: Path, place: Path) -> Path:
    """A model of twice as many layers with the same tokeniser."""
    from transformers import AutoConfig, AutoModel

    folder = place / "deeper"
    if folder.exists():
        return folder
    shutil.copytree(model, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.bin"))
    config = AutoConfig.from_pretrained(model)
    config.num_hidden_layers *= 2
    AutoModel.from_config(config).save_pretrained(folder)
    return folder


def dpr(model: Path, place: Path, layers: int) -> Path:
    """Both halves of a DPR pair of BERT's size, with this model's words."""
    from transformers import AutoTokenizer, DPRConfig, DPRContextEncoder, DPRQuestionEncoder

    folder = place / f"dpr-{layers}"
    for half, kind in (("questions", DPRQuestionEncoder), ("passages", DPRContextEncoder)):
        if not (folder / half).exists():
            kind(DPRConfig(num_hidden_layers=layers)).save_pretrained(folder / half)
            AutoTokenizer.from_pretrained(model).save_pretrained(folder / half)
    return folder


def measured(corpus: Any, model: Path, out: Path, options: argparse.Namespace) -> dict[str, object]:
    """One index, with whatever tokens are there."""
    from whichone.retrieval.dense import Dense
    from whichone.retrieval.dense.encoder import need_encoder

    encoder: Any = need_encoder(str(model), device=options.device)
    rows = corpus.passages.select(["title", "text"]).slice(0, SAMPLE)
    titles, texts = rows["title"].to_pylist(), rows["text"].to_pylist()
    tokenised, held = tokeniser_alone(encoder.packed.tokeniser, titles, texts)
    alone = model_alone(encoder.packed, held)
    began = time.perf_counter()
    Dense.build(corpus, out, encoder=encoder, precision=options.precision)
    pace = len(corpus) / (time.perf_counter() - began)
    shutil.rmtree(out)
    return {
        "tokens a passage": round(len(held.tokens) / len(held), 1),
        "tokeniser alone, passages/s": round(tokenised),
        "model alone, passages/s": round(alone),
        "index, passages/s": round(pace),
        "of the model": round(pace / alone, 2),
        "of the slower": round(pace / min(alone, tokenised), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--place", type=Path, required=True)
    parser.add_argument("--precision", default="float16")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dpr", action="store_true")
    parser.add_argument("--layers", type=int, default=12, help="of DPR")
    options = parsed(parser, small="{model} --passages 200 --place {place} --device cpu --precision float32")
    options.place.mkdir(parents=True, exist_ok=True)
    os.environ["INVENTED_VOCABULARY"] = f"{options.model}/vocab.txt"
    os.environ.setdefault("WHICHONE_CACHE", str(options.place / "cache"))
    from invented import reader
    from whichone.corpus.corpus import Corpus
    from whichone.corpus.save import save_corpus

    place = options.place / f"corpus-{options.passages}"
    if not (place / "manifest.json").exists():
        save_corpus(place, reader(options.passages))
    corpus = Corpus.open(place)
    models = [dpr(options.model, options.place, options.layers)] * 2
    if not options.dpr:
        models = [options.model, deeper(options.model, options.place)]
    where = torch.cuda.get_device_name() if options.device == "cuda" else options.device
    for model, what in zip(models, ("from nothing", "tokens kept"), strict=True):
        result = measured(corpus, model, options.place / "index", options)
        print(json.dumps({"on": where, "model": model.name, "index": what, **result}), flush=True)


if __name__ == "__main__":
    main()
